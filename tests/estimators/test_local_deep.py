"""Tests of hyperlocal.estimators.local_deep: trees of gates, by hand along their paths."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from estimators.data import make_data, make_ring
from hyperlocal.estimators.local_deep import JITTERS
from hyperlocal.papers import LocalDeepSVC


def model(**options):
    """A small tree with a seed."""
    return LocalDeepSVC(**{"depth": 3, "C": 11.0, "random_state": 0, "max_iter": 10, **options})


def by_hand(tree, X):
    """Scores of a tree, row by row along its paths."""
    Z = np.column_stack([X, np.ones(len(X))])
    out = np.zeros((len(X), tree.weights.shape[1]))
    for i, path in enumerate(tree.paths(X)):
        for node in path:
            out[i] += np.tanh(tree.gates[node] @ Z[i]) * (tree.weights[node] @ Z[i])
    return out


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_the_tree_predicts_what_the_model_predicts(depth):
    """``tree_`` holds all that prediction needs; depth 0 is ``tanh(θ'·x)(w·x)``."""
    X, y = make_data()
    fitted = model(depth=depth).fit(X, y)
    tree = fitted.tree_
    assert (tree.depth, tree.n_nodes) == (depth, 2 ** (depth + 1) - 1)
    np.testing.assert_allclose(fitted.decision_function(X), by_hand(tree, X)[:, 0], atol=1e-12)
    if depth == 0:
        Z = np.column_stack([X, np.ones(len(X))])
        expected = np.tanh(Z @ tree.gates[0]) * (Z @ tree.weights[0, 0])
        np.testing.assert_allclose(fitted.decision_function(X), expected, atol=1e-12)


def test_a_tree_per_class_or_one_for_all():
    """One-vs-rest has a tree per class, in their order; a shared tree has weights for all."""
    X, y = make_data(3)
    own = model().fit(X, y)
    assert len(own.tree_) == 3
    scores = np.column_stack([by_hand(tree, X)[:, 0] for tree in own.tree_])
    np.testing.assert_allclose(own.decision_function(X), scores, atol=1e-12)
    shared = model(share_tree=True).fit(X, y)
    assert shared.tree_.weights.shape == (15, 3, 6)
    np.testing.assert_allclose(shared.decision_function(X), by_hand(shared.tree_, X), atol=1e-12)


@pytest.mark.parametrize("depth", [0, 1, 2, 4])
@pytest.mark.parametrize("share_tree", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_are_dense_rows(depth, share_tree, dtype):
    """CSR rows give the model and the scores of dense rows, bit for bit."""
    X, y = make_data(3, dtype=dtype)
    X[np.abs(X) < 0.5] = 0
    tree = model(depth=depth, share_tree=share_tree, C=0.1)
    dense, sparse = clone(tree).fit(X, y), clone(tree).fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(sparse.model_.nodes, dense.model_.nodes)
    np.testing.assert_array_equal(sparse.decision_function(sp.csr_array(X)),
                                  dense.decision_function(X))  # fmt: skip


def test_two_classes_have_one_tree():
    """Sharing makes no difference for two classes."""
    X, y = make_data()
    own, shared = model().fit(X, y), model(share_tree=True).fit(X, y)
    np.testing.assert_array_equal(own.decision_function(X), shared.decision_function(X))


def test_explanations_name_the_path():
    """The active models are the nodes of the row's path, in the predicted class's tree."""
    X, y = make_data(3)
    fitted = model().fit(X, y)
    explanation = fitted.explain(X[0])
    tree = fitted.tree_[int(explanation.prediction)]
    np.testing.assert_array_equal(explanation.anchors, tree.paths(X[:1])[0])


def test_local_weights_are_those_of_the_path():
    """``local_coef`` sums ``tanh(θ'·x) w`` over the path."""
    X, y = make_data()
    fitted = model().fit(X, y)
    tree, Z = fitted.tree_, np.column_stack([X, np.ones(len(X))])
    for i, path in enumerate(tree.paths(X)[:10]):
        expected = sum(np.tanh(tree.gates[n] @ Z[i]) * tree.weights[n, 0] for n in path)
        np.testing.assert_allclose(fitted.local_coef(X[i : i + 1])[0, 0], expected[:-1], atol=1e-12)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_noise_on_rows_is_the_same_for_any_threads(storage):
    """``jitter`` changes the fit, in dense and sparse rows, and not with the number of threads."""
    X, y = make_data(3)
    X = storage(X)
    plain, noisy = model().fit(X, y), model(jitter=0.3).fit(X, y)
    assert not np.array_equal(noisy.decision_function(X), plain.decision_function(X))
    again = model(jitter=0.3, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), noisy.decision_function(X))


def test_noise_is_chosen_on_held_out_rows():
    """``jitter="auto"`` takes one of the values tried; what was given stays."""
    X, y = make_ring(200)
    assert model(jitter="auto", max_iter=2).fit(X, y).jitter_ in JITTERS
    assert model(jitter=0.25, max_iter=2).fit(X, y).jitter_ == 0.25
    with pytest.raises(ValueError, match="jitter"):
        model(jitter=-1.0).fit(X, y)
