"""LocallyLinearSVC equals other models where it should, dense rows and CSR alike."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from estimators.data import PLAIN, make_data
from hyperlocal import LocallyLinearSVC


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", ["dual", "qp"])
def test_one_anchor_is_a_linear_svm(n_classes, loss, solver):
    """One anchor, no map, no normalisation: LIBLINEAR's weights."""
    X, y = make_data(n_classes)
    one = LocallyLinearSVC(
        1, n_neighbors=1, feature_map=None, normalize=False, C=0.5, loss=loss, solver=solver,
        tol=1e-9, max_iter=100_000, random_state=0, global_intercept=False,
    )  # fmt: skip
    if solver == "qp":
        one.set_params(tol=1e-7)
    one.fit(X, y)
    linear = LinearSVC(loss=loss, C=0.5, dual=True, tol=1e-9, max_iter=1_000_000, random_state=0)
    linear.fit(X, y)
    np.testing.assert_allclose(one.coef_[0], linear.coef_, atol=1e-4)
    np.testing.assert_allclose(one.intercept_[0], linear.intercept_, atol=1e-4)
    np.testing.assert_array_equal(one.predict(X), linear.predict(X))


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")  # to so small a tolerance
def test_one_anchor_is_a_crammer_singer_svm():
    """One anchor and the joint loss: LIBLINEAR's Crammer–Singer scores."""
    X, y = make_data(3)
    one = LocallyLinearSVC(
        1, n_neighbors=1, feature_map=None, normalize=False, C=0.5, loss="hinge",
        multi_class="crammer_singer", tol=1e-9, max_iter=100_000, random_state=0,
        global_intercept=False,
    ).fit(X, y)  # fmt: skip
    linear = LinearSVC(multi_class="crammer_singer", C=0.5, tol=1e-9, max_iter=1_000_000)
    linear.fit(X, y)
    np.testing.assert_allclose(one.decision_function(X), linear.decision_function(X), atol=1e-3)


def test_one_anchor_is_a_logistic_regression():
    """One anchor and log loss: logistic regression on the rows and a constant feature."""
    X, y = make_data()
    one = LocallyLinearSVC(
        1, n_neighbors=1, feature_map=None, normalize=False, C=0.5, loss="log", tol=1e-9,
        max_iter=10_000, random_state=0, global_intercept=False,
    ).fit(X, y)  # fmt: skip
    with_constant = np.column_stack([X, np.ones(len(X))])
    logistic = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-9, max_iter=1000)
    expected = logistic.fit(with_constant, y).predict_proba(with_constant)
    np.testing.assert_allclose(one.predict_proba(X), expected, atol=1e-4)


def test_hard_coding_is_one_model_per_cell():
    """With hard codes, each cell's model is that of its own rows alone."""
    X, y = make_data(n_rows=200)
    options = {"feature_map": None, "tol": 1e-9, "max_iter": 10_000, "random_state": 0, **PLAIN}
    anchors = X[[0, 50, 100]]
    whole = LocallyLinearSVC(coding="hard", anchors=anchors, **options).fit(X, y)
    nearest = ((X[:, None] - anchors) ** 2).sum(axis=2).argmin(axis=1)
    for cell in range(3):
        inside = nearest == cell
        alone = LocallyLinearSVC(1, n_neighbors=1, **options).fit(X[inside], y[inside])
        np.testing.assert_allclose(whole.coef_[cell], alone.coef_[0], atol=1e-4)


def test_identity_is_another_name_of_none():
    """``feature_map="identity"`` and ``None`` are the same."""
    X, y = make_data()
    first, second = (
        LocallyLinearSVC(feature_map=feature_map, random_state=0).fit(X, y).decision_function(X)
        for feature_map in (None, "identity")
    )
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("feature_map", [None, "quadratic", "additive_chi2", "intersection"])
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_sparse_rows_are_dense_rows(feature_map, multi_class):
    """CSR and dense rows give the same model on the same anchors."""
    X, y = make_data(3)
    X[np.abs(X) < 0.5] = 0
    model = LocallyLinearSVC(
        anchors=X[:10], feature_map=feature_map, multi_class=multi_class, tol=1e-8,
        max_iter=20_000, random_state=0,
    )  # fmt: skip
    dense, sparse = clone(model).fit(X, y), clone(model).fit(sp.csr_array(X), y)
    assert sparse.beta_ == pytest.approx(dense.beta_)
    for rows in (X, sp.csr_array(X)):
        expected = dense.decision_function(X)
        np.testing.assert_allclose(sparse.decision_function(rows), expected, atol=1e-5)
        np.testing.assert_allclose(dense.decision_function(rows), expected, atol=1e-10)


def test_wide_dense_models_take_sparse_rows():
    """A model on principal axes scores CSR rows as dense ones."""
    X, y = make_data(n_features=80)
    model = LocallyLinearSVC(random_state=0).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(sp.csr_array(X)), model.decision_function(X), atol=1e-10
    )
