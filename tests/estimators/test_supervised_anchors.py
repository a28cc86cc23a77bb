"""Fits of SupervisedAnchorSVC: known equals, history, held-out comparison, weights, threads."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.svm import LinearSVC
from sklearn.utils import compute_sample_weight

from estimators.data import PLAIN, make_data, make_stripes
from estimators.supervised_models import LOSSES, every_solver, model, streaming, unjudged
from hyperlocal import LocallyLinearSVC, SupervisedAnchorSVC

# Known equals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("loss", "multi_class"), LOSSES)
@pytest.mark.parametrize("still", [{"anchor_step": 0}, {"anchor_epochs": 0}], ids=str)
def test_anchors_that_stay_are_a_fixed_gate(loss, multi_class, still):
    """Without steps, or without epochs, it is LocallyLinearSVC with the same gate."""
    X, y = make_data(3)
    options = {"loss": loss, "multi_class": multi_class, "C": 0.5, "tol": 1e-13,
               "max_iter": 50_000, "n_neighbors": 3, "random_state": 0}  # fmt: skip
    still = SupervisedAnchorSVC(6, keep_if_better=False, **still, **options).fit(X, y)
    np.testing.assert_array_equal(still.anchors_, still.initial_anchors_)
    gate = {"anchors": still.anchors_, "beta": still.beta_, "feature_map": None}
    fixed = LocallyLinearSVC(**gate, global_intercept=False, **options).fit(X, y)
    np.testing.assert_allclose(still.decision_function(X), fixed.decision_function(X), atol=1e-6)
    assert still.objective_ == pytest.approx(fixed.objective_, rel=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_anchors_learn_without_products_of_features(n_classes):
    """Anchors of quadratic local models are those of linear ones; the final models differ."""
    X, y = make_data(n_classes)
    linear, quadratic = (unjudged(feature_map=name).fit(X, y) for name in (None, "quadratic"))
    assert not np.array_equal(linear.anchors_, linear.initial_anchors_)
    np.testing.assert_array_equal(quadratic.anchors_, linear.anchors_)
    assert quadratic.coef_.shape[-1] > linear.coef_.shape[-1]
    assert quadratic.history_[:-1] == linear.history_[:-1]


@every_solver
def test_the_start_is_that_of_the_fixed_gate(solver):
    """Anchors and sharpness start as those of LocallyLinearSVC; the sharpness stays."""
    X, y = make_data()
    learned = model(solver=solver).fit(X, y)
    fixed = LocallyLinearSVC(6, n_neighbors=3, feature_map=None, random_state=0, **PLAIN).fit(X, y)
    np.testing.assert_array_equal(learned.initial_anchors_, fixed.anchors_)
    assert learned.beta_ == fixed.beta_


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_one_anchor_is_a_linear_svm(n_classes, loss):
    """One anchor has nothing to learn: it stays, and the weights are LIBLINEAR's."""
    X, y = make_data(n_classes)
    one = SupervisedAnchorSVC(
        1, n_neighbors=1, normalize=False, C=0.5, loss=loss, tol=1e-9, max_iter=100_000,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    linear = LinearSVC(loss=loss, C=0.5, dual=True, tol=1e-9, max_iter=1_000_000, random_state=0)
    np.testing.assert_array_equal(one.anchors_, one.initial_anchors_)
    np.testing.assert_allclose(one.coef_[0], linear.fit(X, y).coef_, atol=1e-4)
    np.testing.assert_array_equal(one.predict(X), linear.predict(X))


def test_one_anchor_of_sgd_stays():
    """Nor does stochastic gradient move a single anchor."""
    X, y = make_data()
    one = streaming(n_anchors=1, n_neighbors=1).fit(X, y)
    np.testing.assert_array_equal(one.anchors_, one.initial_anchors_)
    assert one.score(X, y) > 0.8


def test_final_weights_are_best_for_the_final_anchors():
    """The reported objective is the least there is for the learned anchors at the C asked for."""
    X, y = make_data(3)
    learned = model(C=20.0, tol=1e-6, max_iter=20_000).fit(X, y)
    fixed = LocallyLinearSVC(
        anchors=learned.anchors_, beta=learned.beta_, n_neighbors=3, feature_map=None, C=20.0,
        tol=1e-6, max_iter=20_000, random_state=1, global_intercept=False,
    ).fit(X, y)  # fmt: skip
    assert learned.objective_ == pytest.approx(fixed.objective_, rel=1e-5)
    assert 0 <= learned.duality_gap_ <= 1e-6 * learned.objective_


def test_sparse_rows_are_dense_rows():
    """CSR and dense rows learn the same anchors, to rounding."""
    X, y = make_data(3)
    X[np.abs(X) < 0.5] = 0
    given = unjudged(n_anchors="auto", anchors=X[:8], tol=1e-8, max_iter=20_000)
    dense, sparse = clone(given).fit(X, y), clone(given).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.anchors_, dense.anchors_, atol=1e-6)
    expected = dense.decision_function(X)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), expected, atol=1e-4)


# What it is for -----------------------------------------------------------------------------------


@every_solver
def test_few_learned_anchors_do_the_work_of_many(solver):
    """Six values on k-means' anchors do not see a stripe along the middle; learned, they do."""
    options = {"n_neighbors": 6, "feature_map": "bias_only", "anchor_epochs": 30}
    learned = model(solver=solver, **options).fit(*make_stripes())
    fixed = model(anchor_step=0, **options).fit(*make_stripes())
    unseen = make_stripes(seed=1)
    assert fixed.score(*unseen) < 0.65
    assert learned.score(*unseen) > (0.9 if solver == "dual" else 0.75)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("normalize", [True, False])
@every_solver
def test_learning_does_no_harm(solver, normalize, scale):
    """Rows in any units: no run ends with a higher objective than it began with."""
    X, y = make_stripes()
    options = {"n_anchors": 4, "n_neighbors": 4, "anchor_epochs": 15, "normalize": normalize}
    fitted = unjudged(solver=solver, max_iter=5000, **options).fit(scale * X, y)
    assert fitted.objective_ <= fitted.history_[0].objective
    assert fitted.history_[-1].accuracy > 0.8


# History ------------------------------------------------------------------------------------------


@every_solver
@pytest.mark.parametrize("keep_if_better", [False, True])
def test_history(solver, keep_if_better):
    """A record before each epoch of learning and one of the final model, which is what it says."""
    X, y = make_data(3, n_rows=300)
    fitted = model(solver=solver, keep_if_better=keep_if_better).fit(X, y)
    assert [record.epoch for record in fitted.history_] == [0, 1, 2, 3, 4]
    assert np.isfinite([record.objective for record in fitted.history_]).all()
    assert np.isnan(fitted.history_[0].duality_gap) == (solver == "sgd")
    last = fitted.history_[-1]
    assert last.objective == fitted.objective_
    assert last.accuracy == pytest.approx(fitted.score(X, y))
    np.testing.assert_equal(last.duality_gap, fitted.duality_gap_)


def test_history_counts_weights_of_rows():
    """Accuracy is by weight."""
    X, y = make_data(3)
    weights = np.random.default_rng(0).uniform(0.1, 5, len(y))
    fitted = model().fit(X, y, sample_weight=weights)
    expected = fitted.score(X, y, sample_weight=weights)
    assert fitted.history_[-1].accuracy == pytest.approx(expected)


# Comparison on held-out rows ----------------------------------------------------------------------


def test_absurd_steps_are_not_kept():
    """Steps that throw the anchors far away lose: the start is kept, and used."""
    X, y = make_data(3, n_rows=300)
    fitted = model(anchor_step=1e3).fit(X, y)
    assert not fitted.anchors_learned_
    np.testing.assert_array_equal(fitted.anchors_, fitted.initial_anchors_)
    accuracy = fitted.held_out_accuracy_
    assert set(accuracy) == {"started", "learned"}
    assert 0 <= accuracy["learned"] <= accuracy["started"] <= 1
    fixed = LocallyLinearSVC(6, n_neighbors=3, feature_map=None, random_state=0, **PLAIN).fit(X, y)
    assert fitted.objective_ == pytest.approx(fixed.objective_, rel=2e-3)


def test_good_steps_are_kept():
    """Where learning helps on rows not learned from, the learned anchors are kept."""
    fitted = model(n_neighbors=6, feature_map="bias_only", anchor_epochs=30).fit(*make_stripes())
    assert fitted.anchors_learned_
    assert fitted.held_out_accuracy_["learned"] > fitted.held_out_accuracy_["started"] + 0.2
    assert (fitted.anchors_ != fitted.initial_anchors_).any(axis=1).all()


@pytest.mark.parametrize(
    ("options", "n_rows"),
    [({}, 150), ({"keep_if_better": False}, 300), ({"solver": "sgd"}, 300)],
    ids=["few rows", "not asked for", "sgd"],
)
def test_learned_anchors_are_kept_unseen(options, n_rows):
    """Too few rows, and stochastic gradient, leave no held-out rows: what was learned is kept."""
    X, y = make_data(3, n_rows=n_rows)
    fitted = model(**options).fit(X, y)
    assert fitted.anchors_learned_
    assert fitted.held_out_accuracy_ is None
    assert not np.array_equal(fitted.anchors_, fitted.initial_anchors_)


@pytest.mark.parametrize("step", [0.1, 1e3])
def test_judged_models_are_trained_on_all_rows(step):
    """Whoever wins, the final weights are the best for all rows."""
    X, y = make_data(3, n_rows=300)
    fitted = model(anchor_step=step, tol=1e-6, max_iter=20_000).fit(X, y)
    fixed = LocallyLinearSVC(
        anchors=fitted.anchors_, beta=fitted.beta_, n_neighbors=3, feature_map=None, tol=1e-6,
        max_iter=20_000, **PLAIN,
    ).fit(X, y)  # fmt: skip
    assert fitted.objective_ == pytest.approx(fixed.objective_, rel=1e-5)


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_judging_keeps_rows_of_every_class(multi_class):
    """Rare classes are not held out as a whole: all classes are predicted."""
    X, y = make_data(3, n_rows=400)
    keep = (y != 2) | (np.cumsum(y == 2) <= 9)
    fitted = model(multi_class=multi_class).fit(X[keep], y[keep])
    assert fitted.held_out_accuracy_ is not None
    assert set(fitted.predict(X)) == {0, 1, 2}


# Weights ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"solver": "sgd"},
        {"loss": "hinge", "multi_class": "crammer_singer"},
        {"loss": "log", "feature_map": "bias_only"},
    ],
    ids=str,
)
@pytest.mark.parametrize("n_rows", [90, 300])
def test_integer_weights_are_repeated_rows(options, n_rows):
    """A row of weight two is the same as the row twice, and a row of weight zero is no row."""
    X, y = make_data(3, n_rows=n_rows)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = model(**options).fit(X, y, sample_weight=weights)
    repeated = model(**options).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.anchors_, repeated.anchors_, atol=1e-10)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-10
    )
    assert weighted.held_out_accuracy_ == repeated.held_out_accuracy_


@every_solver
@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 2: 0.2}], ids=str)
def test_class_weights_are_sample_weights(class_weight, solver):
    """A class weight is a weight on each of the class's rows."""
    X, y = make_data(3)
    weights = compute_sample_weight(class_weight, y)
    by_class = model(class_weight=class_weight, solver=solver).fit(X, y)
    by_row = model(solver=solver).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(by_class.decision_function(X), by_row.decision_function(X))


# Small data ---------------------------------------------------------------------------------------


@every_solver
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("n_rows", [2, 4])
@pytest.mark.parametrize("n_neighbors", [1, 2])
def test_one_row_per_class(solver, multi_class, n_rows, n_neighbors):
    """The smallest training sets there are: one row per class."""
    X, y = np.eye(n_rows, 3) * 2, np.arange(n_rows)
    fitted = model(n_anchors=n_rows, n_neighbors=n_neighbors, multi_class=multi_class,
                   solver=solver)  # fmt: skip
    np.testing.assert_array_equal(fitted.fit(X, y).predict(X), y)


@every_solver
def test_rows_on_their_anchors(solver):
    """Where every row lies on an anchor, and few rows are distinct, it learns all the same."""
    X, y = np.repeat(np.eye(4, 3), 20, axis=0), np.repeat(np.arange(4), 20)
    fitted = model(n_anchors=4, solver=solver).fit(X, y)
    assert fitted.score(X, y) == 1
    assert np.isfinite(fitted.anchors_).all()


@every_solver
def test_constant_features_and_equal_rows(solver):
    """Rows that differ by their labels alone have nothing to teach, and do no harm."""
    X, y = np.ones((40, 3)), np.arange(40) % 2
    fitted = model(n_anchors=1, n_neighbors=1, solver=solver).fit(X, y)
    assert np.isfinite(fitted.decision_function(X)).all()


# Reproducibility and threads ----------------------------------------------------------------------


@every_solver
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_do_not_change_a_bit(solver, multi_class, dtype):
    """One thread, two and three learn the same model."""
    X, y = make_data(3, n_rows=400, dtype=dtype)
    fits = [
        model(solver=solver, multi_class=multi_class, n_jobs=n_jobs).fit(X, y)
        for n_jobs in (1, 2, 3)
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.anchors_, fits[0].anchors_)
        np.testing.assert_array_equal(other.coef_, fits[0].coef_)
        assert other.held_out_accuracy_ == fits[0].held_out_accuracy_


@every_solver
def test_the_order_of_rows_does_not_matter(solver):
    """Rows in another order give the same model, to the last bit."""
    X, y = make_data(3, n_rows=250)
    order = np.random.default_rng(0).permutation(len(y))
    first = model(solver=solver).fit(X, y)
    second = model(solver=solver).fit(X[order], y[order])
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


@every_solver
def test_equal_seeds_give_equal_models(solver):
    """The seed decides everything."""
    X, y = make_data()
    fits = [model(solver=solver, random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0].anchors_, fits[1].anchors_)
    assert not np.array_equal(fits[0].anchors_, fits[2].anchors_)


@every_solver
def test_input_is_left_alone(solver):
    """Neither rows, labels, weights nor anchors are written to."""
    X, y = make_data()
    given = (X, y, np.ones(len(y)), X[:6].copy())
    kept = [array.copy() for array in given]
    for array in given:
        array.flags.writeable = False
    fitted = model(anchors=given[3], solver=solver)
    fitted.fit(X, y, sample_weight=given[2]).predict(X)
    for array, before in zip(given, kept, strict=True):
        np.testing.assert_array_equal(array, before)
