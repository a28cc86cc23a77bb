"""Tests of SupervisedAnchorSVC: arguments, options, known equals, judging, streams and starts."""

import pickle
from itertools import pairwise, product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import compute_sample_weight

from estimators.data import Recorder, interrupt, make_data, make_ring, make_stripes
from hyperlocal import LocallyLinearSVC, SupervisedAnchorSVC
from hyperlocal.rows import quadratic_width
from hyperlocal.solvers import dual

every_solver = pytest.mark.parametrize("anchor_solver", ["dual", "sgd"])


def model(**options):
    """A small model with a seed that learns for a few epochs."""
    small = {"n_anchors": 6, "n_neighbors": 3, "anchor_epochs": 4, "random_state": 0}
    return SupervisedAnchorSVC(**{**small, **options})


def unjudged(**options):
    """A model that keeps what it learned."""
    return model(keep_if_better=False, **options)


def streaming(**options):
    """A model for ``partial_fit``."""
    return model(anchor_solver="sgd", **options)


# Arguments ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        *(("coding", coding, ValueError) for coding in ("lle", "hard", "hazy", None)),
        ("anchor_solver", "qp", ValueError),
        ("anchor_solver", None, ValueError),
        ("anchor_epochs", -1, ValueError),
        ("anchor_epochs", 2.5, TypeError),
        ("anchor_epochs", "many", ValueError),
        ("anchor_epochs", None, TypeError),
        ("anchor_step", -0.1, ValueError),
        ("anchor_step", np.nan, ValueError),
        ("anchor_step", np.inf, ValueError),
        ("anchor_step", "long", ValueError),
        ("anchor_step", None, TypeError),
        ("t0", 0, ValueError),
        ("t0", -1.0, ValueError),
        ("t0", "late", ValueError),
        ("t0", None, TypeError),
        ("skip", 0, ValueError),
        ("skip", 1.5, TypeError),
        ("skip", "some", ValueError),
        ("skip", None, TypeError),
        ("keep_if_better", "maybe", TypeError),
        ("keep_if_better", 1, TypeError),
        ("bias_only", "yes", TypeError),
        ("bias_only", 0, TypeError),
        ("n_anchors", 0, ValueError),
        ("n_neighbors", 7, ValueError),
        ("beta", -1.0, ValueError),
        ("C", 0, ValueError),
        ("loss", "exponential", ValueError),
        ("multi_class", "ovo", ValueError),
        ("max_iter", 0, ValueError),
        ("tol", -1.0, ValueError),
        ("normalize", "yes", TypeError),
        ("warm_start", 1, TypeError),
        ("code_on", "output", ValueError),
        ("feature_map", "cubic", ValueError),
        ("n_jobs", 0, ValueError),
        ("verbose", -1, ValueError),
    ],
    ids=str,
)
def test_bad_arguments_are_named(name, value, error):
    """An argument that makes no sense raises at ``fit``, by its name."""
    with pytest.raises(error, match=name):
        model(**{name: value}).fit(*make_data())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coding": "lle"}, "coding='lle' has no gradient.*LocallyLinearSVC"),
        ({"bias_only": True, "feature_map": "quadratic"}, "bias_only=True leaves nothing to map"),
        ({"bias_only": True, "intercept_scaling": 0}, "intercept_scaling must be positive"),
        ({"bias_only": True, "code_on": "features"}, "code_on='features' needs"),
        ({"loss": "log", "multi_class": "crammer_singer"}, "'crammer_singer' is a margin loss"),
    ],
)
def test_options_that_do_not_go_together(options, message):
    """An impossible pair of options is refused, and why is told."""
    with pytest.raises(ValueError, match=message):
        model(**options).fit(*make_data())


def test_numpy_numbers_are_numbers():
    """Arguments may be numpy scalars, as a grid search gives them."""
    X, y = make_data()
    options = {"anchor_epochs": np.int64(3), "anchor_step": np.float32(0.1), "t0": np.float64(9)}
    flags = {"keep_if_better": np.False_, "bias_only": np.False_, "skip": np.int32(4)}
    assert model(**options, **flags).fit(X, y).score(X, y) > 0.8


# Every combination of options ---------------------------------------------------------------------

LOSSES = [
    (loss, multi_class)
    for loss, multi_class in product(["squared_hinge", "hinge", "log"], ["ovr", "crammer_singer"])
    if (loss, multi_class) != ("log", "crammer_singer")
]


@pytest.mark.parametrize(("loss", "multi_class"), LOSSES)
@every_solver
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("normalize", [True, False])
def test_options_combine(loss, multi_class, anchor_solver, dtype, convert, normalize):
    """Options that go together give finite scores in the input's dtype, and exact explanations."""
    n_classes = 3 if normalize else 2
    X, y = make_data(n_classes, dtype=dtype)
    fitted = model(
        loss=loss, multi_class=multi_class, anchor_solver=anchor_solver, normalize=normalize, C=1.0
    ).fit(convert(X), y)
    scores = fitted.decision_function(convert(X))
    assert scores.shape == ((90,) if n_classes == 2 else (90, 3))
    assert scores.dtype == fitted.coef_.dtype == fitted.anchors_.dtype == dtype
    assert np.isfinite(scores).all()
    assert fitted.score(convert(X), y) > 0.7
    assert not np.array_equal(fitted.anchors_, fitted.initial_anchors_)
    explained = np.einsum("ncp,np->nc", fitted.local_coef(convert(X)), X)
    explained += fitted.local_intercept(convert(X))
    rough = 2e-3 if dtype == np.float32 else 1e-8
    np.testing.assert_allclose(explained.reshape(scores.shape), scores, rtol=rough, atol=rough)


@every_solver
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
def test_biases_alone(anchor_solver, convert, loss):
    """``bias_only`` has one number per anchor and class; explanations are all intercept."""
    X, y = make_ring(200)
    fitted = model(n_anchors=20, bias_only=True, anchor_solver=anchor_solver, loss=loss)
    fitted.fit(convert(X), y)
    assert fitted.coef_.shape == (20, 1, 0)
    assert fitted.intercept_.shape == (20, 1)
    assert fitted.score(convert(X), y) > 0.9
    np.testing.assert_allclose(fitted.local_intercept(X)[:, 0], fitted.decision_function(X))


@every_solver
@pytest.mark.parametrize(
    ("feature_map", "width"),
    [
        (None, 5),
        ("quadratic", quadratic_width(5)),
        ("nystroem", None),
        (PolynomialFeatures(2, include_bias=False), 20),
        (PCA(2, random_state=0), 2),
    ],
    ids=str,
)
def test_feature_maps(feature_map, width, anchor_solver):
    """Local models may see any map of the row; anchors move among the rows themselves."""
    X, y = make_data(3)
    fitted = model(feature_map=feature_map, anchor_solver=anchor_solver, C=1.0).fit(X, y)
    assert width is None or fitted.coef_.shape[2] == width
    assert fitted.anchors_.shape == (6, 5)
    assert fitted.score(X, y) > 0.6


@every_solver
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("options", "width"),
    [
        ({"code_on": [0, 3]}, 2),
        ({"code_on": np.array([True, False, False, True, False])}, 2),
        ({"code_on": PCA(3, random_state=0)}, 3),
        ({"code_on": "features", "feature_map": "quadratic"}, quadratic_width(5)),
        ({"code_on": "features", "feature_map": PCA(2, random_state=0)}, 2),
    ],
    ids=str,
)
def test_anchors_move_where_codes_look(options, width, convert, anchor_solver):
    """Anchors live, and learn, in the space that ``code_on`` names."""
    X, y = make_data(3)
    fitted = model(anchor_solver=anchor_solver, **options).fit(convert(X), y)
    assert fitted.anchors_.shape == fitted.initial_anchors_.shape == (6, width)
    assert not np.array_equal(fitted.anchors_, fitted.initial_anchors_)
    assert fitted.score(convert(X), y) > 0.6


@pytest.mark.parametrize("anchors", ["kmeans", "random", make_data()[0][:7]])
def test_anchors_start_where_they_are_told(anchors):
    """``initial_anchors_`` tells where anchors started; an array of anchors stays as it was."""
    X, y = make_data(dtype=np.float32)
    kept = np.array(anchors)
    fitted = unjudged(n_anchors="auto", anchors=anchors).fit(X, y)
    np.testing.assert_array_equal(np.array(anchors), kept)
    assert fitted.initial_anchors_.dtype == np.float32
    if not isinstance(anchors, str):
        np.testing.assert_array_equal(fitted.initial_anchors_, anchors.astype(np.float32))
    assert (fitted.initial_anchors_ != fitted.anchors_).any()


def test_probabilities():
    """Log loss has probabilities; no other loss has."""
    X, y = make_data(3)
    probabilities = model(loss="log").fit(X, y).predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert not hasattr(model().fit(X, y), "predict_proba")


@pytest.mark.parametrize("feature_map", [None, "quadratic"])
def test_explanations_add_up(feature_map):
    """The contributions of ``explain`` and its intercept sum to the scores."""
    X, y = make_data(3)
    fitted = model(feature_map=feature_map).fit(X, y)
    explanation = fitted.explain(X[4])
    sums = explanation.contributions.sum(axis=1) + explanation.intercepts
    np.testing.assert_allclose(sums, fitted.decision_function(X[4:5])[0], atol=1e-10)
    assert explanation.prediction == fitted.predict(X[4:5])[0]
    assert explanation.anchor_weights.sum() == pytest.approx(1)


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
    fixed = LocallyLinearSVC(**gate, **options).fit(X, y)
    np.testing.assert_allclose(still.decision_function(X), fixed.decision_function(X), atol=1e-6)
    assert still.objective_ == pytest.approx(fixed.objective_, rel=1e-9)


@every_solver
def test_the_start_is_that_of_the_fixed_gate(anchor_solver):
    """Anchors and sharpness start as those of LocallyLinearSVC; the sharpness stays."""
    X, y = make_data()
    learned = model(anchor_solver=anchor_solver).fit(X, y)
    fixed = LocallyLinearSVC(6, n_neighbors=3, feature_map=None, random_state=0).fit(X, y)
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
        tol=1e-6, max_iter=20_000, random_state=1,
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
def test_few_learned_anchors_do_the_work_of_many(anchor_solver):
    """Six values on k-means' anchors do not see a stripe along the middle; learned, they do."""
    options = {"n_neighbors": 6, "bias_only": True, "anchor_epochs": 30}
    learned = model(anchor_solver=anchor_solver, **options).fit(*make_stripes())
    fixed = model(anchor_step=0, **options).fit(*make_stripes())
    unseen = make_stripes(seed=1)
    assert fixed.score(*unseen) < 0.65
    assert learned.score(*unseen) > (0.95 if anchor_solver == "dual" else 0.75)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("normalize", [True, False])
@every_solver
def test_learning_does_no_harm(anchor_solver, normalize, scale):
    """Rows in any units: no run ends with a higher objective than it began with."""
    X, y = make_stripes()
    options = {"n_anchors": 4, "n_neighbors": 4, "anchor_epochs": 15, "normalize": normalize}
    fitted = unjudged(anchor_solver=anchor_solver, max_iter=5000, **options).fit(scale * X, y)
    assert fitted.objective_ <= fitted.history_[0].objective
    assert fitted.history_[-1].accuracy > 0.8


# History ------------------------------------------------------------------------------------------


@every_solver
@pytest.mark.parametrize("keep_if_better", [False, True])
def test_history(anchor_solver, keep_if_better):
    """A record before each epoch of learning and one of the final model, which is what it says."""
    X, y = make_data(3, n_rows=300)
    fitted = model(anchor_solver=anchor_solver, keep_if_better=keep_if_better).fit(X, y)
    assert [record.epoch for record in fitted.history_] == [0, 1, 2, 3, 4]
    assert np.isfinite([record.objective for record in fitted.history_]).all()
    assert np.isnan(fitted.history_[0].duality_gap) == (anchor_solver == "sgd")
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


# Judging ------------------------------------------------------------------------------------------


def test_absurd_steps_are_not_kept():
    """Steps that throw the anchors far away lose: the start is kept, and used."""
    X, y = make_data(3, n_rows=300)
    judged = model(anchor_step=1e3).fit(X, y)
    assert not judged.anchors_learned_
    np.testing.assert_array_equal(judged.anchors_, judged.initial_anchors_)
    accuracy = judged.held_out_accuracy_
    assert set(accuracy) == {"started", "learned"}
    assert 0 <= accuracy["learned"] <= accuracy["started"] <= 1
    fixed = LocallyLinearSVC(6, n_neighbors=3, feature_map=None, random_state=0).fit(X, y)
    assert judged.objective_ == pytest.approx(fixed.objective_, rel=2e-3)


def test_good_steps_are_kept():
    """Where learning helps on rows not learned from, the learned anchors are kept."""
    judged = model(n_neighbors=6, bias_only=True, anchor_epochs=30).fit(*make_stripes())
    assert judged.anchors_learned_
    assert judged.held_out_accuracy_["learned"] > judged.held_out_accuracy_["started"] + 0.2
    assert (judged.anchors_ != judged.initial_anchors_).any(axis=1).all()


@pytest.mark.parametrize(
    ("options", "n_rows"),
    [({}, 150), ({"keep_if_better": False}, 300), ({"anchor_solver": "sgd"}, 300)],
    ids=["few rows", "not asked for", "sgd"],
)
def test_learned_anchors_are_kept_unseen(options, n_rows):
    """Too few rows, and stochastic gradient, leave nobody to judge: what was learned is kept."""
    X, y = make_data(3, n_rows=n_rows)
    fitted = model(**options).fit(X, y)
    assert fitted.anchors_learned_
    assert fitted.held_out_accuracy_ is None
    assert not np.array_equal(fitted.anchors_, fitted.initial_anchors_)


@pytest.mark.parametrize("step", [0.1, 1e3])
def test_judged_models_are_trained_on_all_rows(step):
    """Whoever wins, the final weights are the best for all rows."""
    X, y = make_data(3, n_rows=300)
    judged = model(anchor_step=step, tol=1e-6, max_iter=20_000).fit(X, y)
    fixed = LocallyLinearSVC(
        anchors=judged.anchors_, beta=judged.beta_, n_neighbors=3, feature_map=None, tol=1e-6,
        max_iter=20_000,
    ).fit(X, y)  # fmt: skip
    assert judged.objective_ == pytest.approx(fixed.objective_, rel=1e-5)


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_judging_keeps_rows_of_every_class(multi_class):
    """Rare classes are not held out as a whole: all classes are predicted."""
    X, y = make_data(3, n_rows=400)
    keep = (y != 2) | (np.cumsum(y == 2) <= 9)
    judged = model(multi_class=multi_class).fit(X[keep], y[keep])
    assert judged.held_out_accuracy_ is not None
    assert set(judged.predict(X)) == {0, 1, 2}


# Weights ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"anchor_solver": "sgd"},
        {"loss": "hinge", "multi_class": "crammer_singer"},
        {"loss": "log", "bias_only": True},
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
def test_class_weights_are_sample_weights(class_weight, anchor_solver):
    """A class weight is a weight on each of the class's rows."""
    X, y = make_data(3)
    weights = compute_sample_weight(class_weight, y)
    by_class = model(class_weight=class_weight, anchor_solver=anchor_solver).fit(X, y)
    by_row = model(anchor_solver=anchor_solver).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(by_class.decision_function(X), by_row.decision_function(X))


# Small data ---------------------------------------------------------------------------------------


@every_solver
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("n_rows", [2, 4])
@pytest.mark.parametrize("n_neighbors", [1, 2])
def test_one_row_per_class(anchor_solver, multi_class, n_rows, n_neighbors):
    """The smallest training sets there are: one row per class."""
    X, y = np.eye(n_rows, 3) * 2, np.arange(n_rows)
    fitted = model(n_anchors=n_rows, n_neighbors=n_neighbors, multi_class=multi_class,
                   anchor_solver=anchor_solver)  # fmt: skip
    np.testing.assert_array_equal(fitted.fit(X, y).predict(X), y)


@every_solver
def test_rows_on_their_anchors(anchor_solver):
    """Where every row lies on an anchor, and few rows are distinct, it learns all the same."""
    X, y = np.repeat(np.eye(4, 3), 20, axis=0), np.repeat(np.arange(4), 20)
    fitted = model(n_anchors=4, anchor_solver=anchor_solver).fit(X, y)
    assert fitted.score(X, y) == 1
    assert np.isfinite(fitted.anchors_).all()


@every_solver
def test_constant_features_and_equal_rows(anchor_solver):
    """Rows that differ by their labels alone have nothing to teach, and do no harm."""
    X, y = np.ones((40, 3)), np.arange(40) % 2
    fitted = model(n_anchors=1, n_neighbors=1, anchor_solver=anchor_solver).fit(X, y)
    assert np.isfinite(fitted.decision_function(X)).all()


# Reproducibility and threads ----------------------------------------------------------------------


@every_solver
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_do_not_change_a_bit(anchor_solver, multi_class, dtype):
    """One thread, two and three learn the same model."""
    X, y = make_data(3, n_rows=400, dtype=dtype)
    fits = [
        model(anchor_solver=anchor_solver, multi_class=multi_class, n_jobs=n_jobs).fit(X, y)
        for n_jobs in (1, 2, 3)
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.anchors_, fits[0].anchors_)
        np.testing.assert_array_equal(other.coef_, fits[0].coef_)
        assert other.held_out_accuracy_ == fits[0].held_out_accuracy_


@every_solver
def test_the_order_of_rows_does_not_matter(anchor_solver):
    """Rows in another order give the same model, to the last bit."""
    X, y = make_data(3, n_rows=250)
    order = np.random.default_rng(0).permutation(len(y))
    first = model(anchor_solver=anchor_solver).fit(X, y)
    second = model(anchor_solver=anchor_solver).fit(X[order], y[order])
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


@every_solver
def test_equal_seeds_give_equal_models(anchor_solver):
    """The seed decides everything."""
    X, y = make_data()
    fits = [model(anchor_solver=anchor_solver, random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0].anchors_, fits[1].anchors_)
    assert not np.array_equal(fits[0].anchors_, fits[2].anchors_)


@every_solver
def test_input_is_left_alone(anchor_solver):
    """Neither rows, labels, weights nor anchors are written to."""
    X, y = make_data()
    given = (X, y, np.ones(len(y)), X[:6].copy())
    kept = [array.copy() for array in given]
    for array in given:
        array.flags.writeable = False
    fitted = model(anchors=given[3], anchor_solver=anchor_solver)
    fitted.fit(X, y, sample_weight=given[2]).predict(X)
    for array, before in zip(given, kept, strict=True):
        np.testing.assert_array_equal(array, before)


# Warm starts --------------------------------------------------------------------------------------


@every_solver
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_a_warm_start_goes_on(anchor_solver, multi_class):
    """A second fit starts from the anchors and the weights that the first left."""
    X, y = make_data(3)
    warm = unjudged(anchor_solver=anchor_solver, multi_class=multi_class, warm_start=True, C=1.0)
    warm.fit(X, y)
    anchors, records = warm.anchors_.copy(), warm.history_
    warm.fit(X, y)
    np.testing.assert_array_equal(warm.initial_anchors_, anchors)
    assert not np.array_equal(warm.anchors_, anchors)
    middle = 0.5 * (records[0].objective + records[-1].objective)
    assert warm.history_[0].objective < middle
    assert warm.history_[-1].objective <= 1.02 * records[-1].objective


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"C": 1.0}, {"C": 10.0}),
        ({"C": 10.0}, {"C": 0.1}),
        ({"loss": "hinge"}, {"loss": "log"}),
        ({"multi_class": "crammer_singer"}, {"multi_class": "ovr"}),
        ({"anchor_solver": "sgd"}, {"anchor_solver": "dual"}),
        ({"anchor_solver": "dual"}, {"anchor_solver": "sgd"}),
        ({"n_anchors": 6}, {"n_anchors": 9}),
        ({"normalize": True}, {"normalize": False}),
        ({"feature_map": None}, {"feature_map": "quadratic"}),
        ({"keep_if_better": True}, {"keep_if_better": False}),
        ({"bias_only": False}, {"bias_only": True}),
    ],
    ids=str,
)
def test_warm_starts_take_other_arguments(before, after):
    """Whatever argument changes between two fits, the second is a model of its own problem."""
    X, y = make_data(3, n_rows=250)
    warm = model(warm_start=True, max_iter=5000, **before).fit(X, y).set_params(**after).fit(X, y)
    cold = clone(warm).set_params(warm_start=False).fit(X, y)
    assert warm.coef_.shape == cold.coef_.shape
    assert warm.score(X, y) > cold.score(X, y) - 0.06


def test_a_cold_start_forgets():
    """Without ``warm_start`` a second fit is the first fit."""
    X, y = make_data()
    fitted = model().fit(X, y)
    scores = fitted.decision_function(X)
    fitted.set_params(C=100.0).fit(X, y)
    np.testing.assert_array_equal(fitted.set_params(C=3.0).fit(X, y).decision_function(X), scores)


@every_solver
def test_an_interrupted_warm_start_keeps_the_model(anchor_solver, monkeypatch):
    """Ctrl-C in a warm start leaves the last model in use, wherever it strikes."""
    X, y = make_data(3)
    fitted = unjudged(warm_start=True, anchor_solver=anchor_solver).fit(X, y)
    scores = fitted.decision_function(X)
    if anchor_solver == "dual":  # the anchors have moved when the last weights are found
        monkeypatch.setattr(dual, "solve", lambda *args, **options: interrupt())
    else:
        fitted.set_callbacks(Recorder(act_at=2, act=interrupt))
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X, y)
    np.testing.assert_array_equal(fitted.decision_function(X), scores)


# partial_fit --------------------------------------------------------------------------------------


def test_only_sgd_streams():
    """``partial_fit`` exists with ``anchor_solver="sgd"`` alone, and says so."""
    assert hasattr(streaming(), "partial_fit")
    assert not hasattr(model(), "partial_fit")
    with pytest.raises(AttributeError) as raised:
        model().partial_fit(*make_data())
    assert "needs anchor_solver='sgd'" in str(raised.value.__cause__)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_a_stream_learns(n_classes, convert, multi_class):
    """Batches move anchors and weights; the model is nearly as good as one of all rows at once."""
    X, y = make_data(n_classes, n_rows=300)
    streamed = streaming(multi_class=multi_class)
    anchors = []
    for rows in np.array_split(np.arange(1500) % 300, 15):
        streamed.partial_fit(convert(X[rows]), y[rows], classes=np.arange(n_classes))
        anchors.append(streamed.anchors_.copy())
    assert streamed.n_iter_ == 15
    assert all((a != b).any() for a, b in pairwise(anchors))
    assert (streamed.initial_anchors_ != anchors[0]).any()
    assert streamed.anchors_learned_
    assert streamed.held_out_accuracy_ is None
    fitted = streaming(multi_class=multi_class).fit(convert(X), y)
    assert streamed.score(convert(X), y) > fitted.score(convert(X), y) - 0.05


def test_streams_need_classes():
    """The first batch must name its classes; later ones must keep to them."""
    X, y = make_data()
    with pytest.raises(ValueError, match="classes must be given at the first call"):
        streaming().partial_fit(X, y)
    streamed = streaming().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"labels that are not in classes: \[2\]"):
        streamed.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="differ from those of the first"):
        streamed.partial_fit(X, y, classes=[0, 1, 2])


@every_solver
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_a_stream_goes_on_after_fit(anchor_solver, multi_class):
    """After ``fit``, a batch moves the fitted model a little; classes need not be told again."""
    X, y = make_data(n_rows=300)
    fitted = model(anchor_solver=anchor_solver, multi_class=multi_class).fit(X, y)
    anchors, scores = fitted.anchors_.copy(), fitted.decision_function(X)
    fitted.set_params(anchor_solver="sgd").partial_fit(X[:20], y[:20])
    assert 0 < np.abs(fitted.anchors_ - anchors).max() < 0.5
    moved = np.abs(fitted.decision_function(X) - scores)
    assert 0 < moved.max() < 0.5 * np.abs(scores).max()


def test_a_stream_after_a_kept_start_is_learned():
    """Where judging kept the start, a batch moves the anchors: they are learned then."""
    X, y = make_data(3, n_rows=300)
    fitted = model(anchor_step=1e3).fit(X, y)
    assert not fitted.anchors_learned_
    fitted.set_params(anchor_solver="sgd").partial_fit(X, y)
    assert not np.array_equal(fitted.anchors_, fitted.initial_anchors_)
    assert fitted.anchors_learned_


def test_fit_after_a_stream_starts_anew():
    """``fit`` forgets the stream."""
    X, y = make_data(n_rows=200)
    fresh = streaming().fit(X, y)
    used = streaming().partial_fit(X[:50, :3], y[:50], classes=[0, 1]).fit(X, y)
    np.testing.assert_array_equal(used.coef_, fresh.coef_)
    np.testing.assert_array_equal(used.initial_anchors_, fresh.initial_anchors_)


def test_a_stream_after_an_interrupted_fit_starts_anew():
    """A stream tells where its own anchors started, whatever was interrupted before."""
    pytest.importorskip("sklearn.callback")
    X, y = make_data(3)
    used = streaming().set_callbacks(Recorder(act_at=2, act=interrupt))
    with pytest.raises(KeyboardInterrupt):
        used.fit(X, y)
    used.set_callbacks().set_params(n_anchors=4).partial_fit(X, y, classes=[0, 1, 2])
    assert used.initial_anchors_.shape == used.anchors_.shape == (4, 5)


def test_the_delay_is_that_of_the_stream_too():
    """``t0`` delays the steps of a stream: the longer, the smaller they are."""
    X, y = make_data(3)
    sizes = [
        np.abs(streaming(t0=t0).partial_fit(X, y, classes=[0, 1, 2]).coef_).max()
        for t0 in (1e3, 1e9)
    ]
    assert sizes[1] < 1e-3 * sizes[0]


def test_streams_have_weights():
    """A batch of weight-two rows is the batch twice over."""
    X, y = make_data()
    weights = np.arange(len(y)) % 3
    weighted = streaming().partial_fit(X, y, classes=[0, 1], sample_weight=weights)
    X, y = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    repeated = streaming().partial_fit(X, y, classes=[0, 1])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-12)
    np.testing.assert_allclose(weighted.anchors_, repeated.anchors_, atol=1e-12)


def test_float32_streams_stay_float32():
    """Later batches are read in the precision of the first."""
    X, y = make_data(dtype=np.float32)
    streamed = streaming().partial_fit(X[:50], y[:50], classes=[0, 1])
    streamed.partial_fit(X[50:].astype(np.float64), y[50:])
    assert streamed.anchors_.dtype == streamed.coef_.dtype == np.float32


def test_streams_of_biases():
    """Biases alone stream too; their anchors stay among the rows."""
    X, y = make_ring(400)
    streamed = streaming(n_anchors=20, bias_only=True)
    for rows in np.array_split(np.arange(4000) % 400, 20):
        streamed.partial_fit(X[rows], y[rows], classes=[0, 1])
    assert np.abs(streamed.anchors_).max() < 2 * np.abs(X).max()
    assert streamed.score(X, y) > 0.9


# Schedules of stochastic gradient -----------------------------------------------------------------


@pytest.mark.parametrize(("t0", "skip"), [(500.0, "auto"), ("auto", 1), (500, 7)])
def test_schedules(t0, skip):
    """A delay and a skip may be given, or found."""
    X, y = make_data(3)
    fitted = streaming(t0=t0, skip=skip).fit(X, y)
    assert fitted.score(X, y) > 0.7
    assert fitted.n_iter_ == 4


# Copies -------------------------------------------------------------------------------------------


@every_solver
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_pickled_models_predict_the_same(anchor_solver, convert):
    """A model survives pickling with all it tells, and can be fitted on."""
    X, y = make_data(3, n_rows=250)
    fitted = model(anchor_solver=anchor_solver, warm_start=True).fit(convert(X), y)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.decision_function(X), fitted.decision_function(X))
    np.testing.assert_array_equal(copy.initial_anchors_, fitted.initial_anchors_)
    assert [tuple(r)[:2] for r in copy.history_] == [tuple(r)[:2] for r in fitted.history_]
    assert copy.held_out_accuracy_ == fitted.held_out_accuracy_
    for each in (copy, fitted):
        each.fit(convert(X), y)
    np.testing.assert_array_equal(copy.anchors_, fitted.anchors_)


def test_pickled_streams_go_on():
    """A pickled stream model takes the next batch as the original does."""
    X, y = make_data(3)
    fitted = streaming().partial_fit(X[:60], y[:60], classes=[0, 1, 2])
    copy = pickle.loads(pickle.dumps(fitted))
    for each in (fitted, copy):
        each.partial_fit(X[60:], y[60:])
    np.testing.assert_array_equal(copy.coef_, fitted.coef_)
    np.testing.assert_array_equal(copy.anchors_, fitted.anchors_)


def test_clones_are_unfitted():
    """A clone has the arguments and nothing learned."""
    X, y = make_data()
    copy = clone(model(anchor_step=0.2).fit(X, y))
    assert copy.anchor_step == 0.2
    with pytest.raises(NotFittedError):
        copy.predict(X)
    assert not hasattr(copy, "initial_anchors_")


# Convergence, progress and interrupts -------------------------------------------------------------


def test_a_short_run_warns():
    """Too few epochs for the final weights give a warning, and a model all the same."""
    X, y = make_data(3)
    short = unjudged(max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="after 1 epochs.*raise max_iter or tol"):
        short.fit(X, y)
    assert short.n_iter_ == 1
    assert short.score(X, y) > 0.7


def test_silent_by_default(capfd):
    """Nothing is written unless asked for."""
    model().fit(*make_data())
    assert capfd.readouterr() == ("", "")


@every_solver
@pytest.mark.parametrize("verbose", [1, 2])
def test_progress_goes_to_stderr(capfd, anchor_solver, verbose):
    """``verbose`` tells of epochs on stderr, numbered as one run."""
    model(anchor_solver=anchor_solver, verbose=verbose).fit(*make_data())
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("[SupervisedAnchorSVC] epoch 1  objective ")
    if verbose == 2:
        numbers = [int(line.split()[2]) for line in err.splitlines()]
        assert numbers == list(range(1, len(numbers) + 1))
        assert "accuracy" in err


@every_solver
@pytest.mark.parametrize("n_rows", [90, 300])
def test_callbacks_are_told_of_every_epoch(anchor_solver, n_rows):
    """scikit-learn's callbacks see the fit begin, every epoch of all its parts, and the fit end."""
    pytest.importorskip("sklearn.callback")
    recorder = Recorder()
    model(anchor_solver=anchor_solver).set_callbacks(recorder).fit(*make_data(3, n_rows=n_rows))
    n_epochs = recorder.log.count("end epoch")
    assert n_epochs > 4
    epochs = ["begin epoch", "end epoch"] * n_epochs
    assert recorder.log == ["setup", "begin fit", *epochs, "end fit", "teardown"]


@pytest.mark.parametrize("C", [1.0, 30.0])
def test_callbacks_have_room_for_all_epochs(C):
    """Short runs of all parts: the callbacks' count of epochs is never too small."""
    pytest.importorskip("sklearn.callback")
    short = model(C=C, max_iter=1, anchor_epochs=1).set_callbacks(Recorder())
    with pytest.warns(ConvergenceWarning):
        short.fit(*make_data(3, n_rows=300))


@every_solver
@pytest.mark.parametrize("act_at", [1, 5, 12])
def test_callbacks_stop_a_fit(anchor_solver, act_at):
    """A callback may end the fit in any of its parts, without a warning; a model is left."""
    pytest.importorskip("sklearn.callback")
    X, y = make_data(n_rows=300)
    recorder = Recorder(act_at=act_at)
    stopped = model(anchor_solver=anchor_solver, anchor_epochs=20, tol=1e-10, max_iter=10_000)
    stopped.set_callbacks(recorder).fit(X, y)
    assert act_at <= recorder.log.count("end epoch") <= act_at + 4
    assert stopped.score(X, y) > 0.8
    assert np.isfinite(stopped.objective_)


@every_solver
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_by_a_callback(anchor_solver, n_jobs):
    """Ctrl-C between epochs propagates; the estimator is unfitted, and good for a new fit."""
    pytest.importorskip("sklearn.callback")
    X, y = make_data(3)
    fitted = model(anchor_solver=anchor_solver, n_jobs=n_jobs).fit(X, y)
    fitted.set_params(n_anchors=9).set_callbacks(Recorder(act_at=5, act=interrupt))
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X, y)
    with pytest.raises(NotFittedError):
        fitted.predict(X)
    assert fitted.set_callbacks().fit(X, y).coef_.shape[0] == 9


def test_a_pipeline_of_scaler_and_code_space():
    """Features of a transformer that keeps rows sparse serve codes and maps alike."""
    X, y = make_data(3)
    X[np.abs(X) < 0.5] = 0
    scaler = StandardScaler(with_mean=False)
    fitted = model(code_on=scaler, feature_map=clone(scaler)).fit(sp.csr_array(X), y)
    assert fitted.score(sp.csr_array(X), y) > 0.7
