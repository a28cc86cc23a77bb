"""Tests of LocallyLinearSVC: every combination of options, exact explanations, known equals."""

import random

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC

from estimators.data import PLAIN, make_data, make_ring
from hyperlocal import LocallyLinearSVC
from hyperlocal.data.rows import quadratic_width
from hyperlocal.gates.anchors import default_n_anchors
from hyperlocal.maps.named import N_PRINCIPAL_AXES, WIDEST_QUADRATIC_INPUT

OPTIONS = {
    "solver": ["dual", "sgd", "qp"],
    "loss": ["squared_hinge", "hinge", "log"],
    "multi_class": ["ovr", "crammer_singer"],
    "coding": ["soft", "inverse_distance", "lle", "llc", "lcc", "hard"],
    "feature_map": [
        *("auto", None, "identity", "quadratic", "additive_chi2", "intersection", "nystroem"),
        *("bias_only", PolynomialFeatures(2)),
    ],
    "code_on": [
        *("input", "features", [0, 3, 4], np.array([True, False, True, True, False])),
        PCA(3, random_state=0),
    ],
    "anchors": ["kmeans", "random"],
    "normalize": [True, False],
    "class_weight": [None, "balanced", {1: 2.0}],
}
DATA = {
    "n_classes": [2, 3],
    "convert": [np.asarray, sp.csr_array, sp.csr_matrix],
    "dtype": [np.float32, np.float64],
    "weighted": [False, True],
}


def is_possible(loss, solver, multi_class, feature_map, code_on, **_):
    """Whether the options go together; those that do not have their own test."""
    if loss == "log" and (solver == "qp" or multi_class == "crammer_singer"):
        return False
    return not (feature_map == "bias_only" and isinstance(code_on, str) and code_on == "features")


def sampled_combinations(n_wanted):
    """Independent choices of every option, the same at every run."""
    choose = random.Random(0).choice
    while n_wanted:
        options = {name: choose(values) for name, values in OPTIONS.items()}
        data = {name: choose(values) for name, values in DATA.items()}
        if is_possible(**options):
            n_wanted -= 1
            yield options, data


COMBINATIONS = list(sampled_combinations(200))


def label(value):
    """A short name of an option's value."""
    if isinstance(value, (str, dict, list)) or np.isscalar(value) or value is None:
        return str(value)
    return getattr(value, "__name__", type(value).__name__)


def name_of(combination):
    options, data = combination
    return "-".join(label(value) for value in [*options.values(), *data.values()])


def explained(model, X):
    """Scores by the explanation: local weights times the features they are of, and intercepts."""
    feature_map = model.model_.feature_map
    values = X if feature_map.explains_input else feature_map.mapped(X)
    values = values.toarray() if sp.issparse(values) else values
    scores = np.einsum("ncp,np->nc", model.local_coef(X), values) + model.local_intercept(X)
    return scores[:, 0] if scores.shape[1] == 1 else scores


# Every combination of options ---------------------------------------------------------------------


@pytest.mark.parametrize("combination", COMBINATIONS, ids=name_of)
def test_options_combine(combination):
    """Options that go together give finite scores in the input's dtype, and exact explanations."""
    options, data = combination
    n_classes, dtype = data["n_classes"], data["dtype"]
    X, y = make_data(n_classes, dtype=dtype)
    X = data["convert"](X)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y)) if data["weighted"] else None
    model = LocallyLinearSVC(8, n_neighbors=3, max_iter=5000, random_state=0, **options)
    model.fit(X, y, sample_weight=weights)
    scores = model.decision_function(X)
    assert scores.shape == ((90,) if n_classes == 2 else (90, 3))
    assert scores.dtype == model.coef_.dtype == model.intercept_.dtype == dtype
    assert np.isfinite(scores).all()
    assert model.score(X, y) > (0.75 if n_classes == 2 else 0.6)
    rough = 2e-3 if dtype == np.float32 else 1e-8
    np.testing.assert_allclose(explained(model, X), scores, rtol=rough, atol=rough)
    assert model.local_coef(X).dtype == model.local_intercept(X).dtype == dtype


def test_the_sample_of_combinations_pairs_all_values():
    """Every two values of different options that go together meet in the sample."""
    met = set()
    for options, data in COMBINATIONS:
        values = [(name, str(value)) for name, value in {**options, **data}.items()]
        met |= {(a, b) for a in values for b in values if a < b}
    all_values = [(name, str(v)) for name, vs in {**OPTIONS, **DATA}.items() for v in vs]
    wanted = {(a, b) for a in all_values for b in all_values if a < b and a[0] != b[0]}
    impossible = {
        (("loss", "log"), ("solver", "qp")),
        (("loss", "log"), ("multi_class", "crammer_singer")),
        (("code_on", "features"), ("feature_map", "bias_only")),
    }
    assert len(wanted - met - impossible) <= 0.01 * len(wanted)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "log", "solver": "qp"}, "solver='qp' cannot use loss='log'"),
        ({"loss": "log", "multi_class": "crammer_singer"}, "'crammer_singer' is a margin loss"),
        ({"feature_map": "bias_only", "code_on": "features"}, "code_on='features' needs"),
        ({"feature_map": "bias_only", "intercept_scaling": 0}, "intercept_scaling must be pos"),
    ],
)
def test_options_that_do_not_go_together(options, message):
    """An impossible pair of options is refused by name."""
    with pytest.raises(ValueError, match=message):
        LocallyLinearSVC(**options).fit(*make_data())


# Explanations -------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("feature_map", [None, "quadratic"])
def test_local_weights_are_exact(feature_map, convert, normalize):
    """``local_coef(x)·x + local_intercept(x)`` is the score, in the input's own features."""
    X, y = make_data(3)
    model = LocallyLinearSVC(
        8, n_neighbors=3, feature_map=feature_map, normalize=normalize, random_state=0
    ).fit(convert(X), y)
    unseen, _ = make_data(3, seed=1)
    coef, intercept = model.local_coef(convert(unseen)), model.local_intercept(convert(unseen))
    assert coef.shape == (90, 3, 5)
    scores = np.einsum("ncd,nd->nc", coef, unseen) + intercept
    np.testing.assert_allclose(scores, model.decision_function(convert(unseen)), atol=1e-10)


@pytest.mark.parametrize("n_features", [WIDEST_QUADRATIC_INPUT + 1, 100, 2000])
def test_local_weights_are_exact_on_principal_axes(n_features):
    """Local models on principal components still have weights of the input features."""
    X, y = make_data(n_rows=120, n_features=n_features)
    model = LocallyLinearSVC(C=3.0, random_state=0).fit(X, y)
    n_axes = len(model.model_.feature_map.axes)
    assert n_axes <= N_PRINCIPAL_AXES
    assert model.coef_.shape[2] == quadratic_width(n_axes + n_features, n_axes)
    coef, intercept = model.local_coef(X), model.local_intercept(X)
    assert coef.shape == (120, 1, n_features)
    scores = np.einsum("ncd,nd->nc", coef, X) + intercept
    np.testing.assert_allclose(scores[:, 0], model.decision_function(X), atol=1e-9)


def test_quadratic_scores_are_what_they_say():
    """A quadratic local model scores ``Σ_j γ_j (w_j·φ(x) + b_j)`` with all products of pairs."""
    X, y = make_data()
    options = {"feature_map": "quadratic", "normalize": False, **PLAIN}
    model = LocallyLinearSVC(1, n_neighbors=1, **options).fit(X, y)
    products = PolynomialFeatures(2, include_bias=False).fit_transform(X)
    upper, lower = np.triu_indices(5)
    scale = np.r_[np.full(5, np.sqrt(2)), np.where(upper == lower, 1, np.sqrt(2))]
    expected = (products * scale) @ model.coef_[0, 0] + model.intercept_[0, 0]
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-10)


def test_explanations_do_not_depend_on_blocks(workers):
    """Rows explained in small blocks get the same weights."""
    X, y = make_data(3)
    model = LocallyLinearSVC(8, random_state=0).fit(X, y)
    blocks = list(model.model_.local_rows(X, workers, numbers_per_block=500))
    assert len(blocks) > 3
    coef, intercept = (
        np.concatenate([getattr(block, part) for block in blocks]) for part in ("coef", "intercept")
    )
    np.testing.assert_allclose(coef, model.local_coef(X), atol=1e-12)
    np.testing.assert_allclose(intercept, model.local_intercept(X), atol=1e-12)


def test_predictions_do_not_depend_on_blocks(workers):
    """Rows predicted in small blocks get the same scores."""
    X, y = make_data(3)
    model = LocallyLinearSVC(8, random_state=0).fit(X, y)
    scores = model.model_.scores(X, workers, rows_per_block=7)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-12)


# What it is for -----------------------------------------------------------------------------------


@pytest.mark.parametrize("feature_map", ["auto", None, "nystroem"])
def test_bends_where_a_linear_svm_cannot(feature_map):
    """A disc in a ring is learned; a linear SVM is near chance there."""
    X, y = make_ring()
    model = LocallyLinearSVC(feature_map=feature_map, random_state=0)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.95
    assert cross_val_score(LinearSVC(), X, y, cv=3).mean() < 0.65


def test_digits_with_defaults():
    """Defaults do well on real rows: small digits in ten classes."""
    X, y = load_digits(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = LocallyLinearSVC(random_state=0).fit(X[:1200], y[:1200])
    assert model.score(X[1200:], y[1200:]) > 0.93


# Feature maps and what codes look at --------------------------------------------------------------


def test_a_transformer_as_feature_map_is_cloned():
    """The user's transformer is left unfitted; its output is what local models see."""
    X, y = make_data()
    mine = PolynomialFeatures(3, include_bias=False)
    model = LocallyLinearSVC(feature_map=mine, random_state=0).fit(X, y)
    assert not hasattr(mine, "n_output_features_")
    assert model.coef_.shape[2] == mine.fit(X).n_output_features_


def test_code_on_names_what_is_coded():
    """``code_on`` columns, mask and transformer: anchors have the width of what is coded."""
    X, y = make_data()
    widths = {
        LocallyLinearSVC(code_on=code_on, random_state=0).fit(X, y).anchors_.shape[1]
        for code_on in ([0, 4], [True, False, False, False, True], (0, -1), PCA(2, random_state=0))
    }
    assert widths == {2}
    by_index, by_mask, from_the_end = (
        LocallyLinearSVC(code_on=code_on, random_state=0).fit(X, y).decision_function(X)
        for code_on in ([0, 4], [True, False, False, False, True], (0, -1))
    )
    np.testing.assert_array_equal(by_index, by_mask)
    np.testing.assert_array_equal(by_index, from_the_end)


def test_code_on_features_codes_on_the_map():
    """``code_on="features"`` measures distances between mapped rows."""
    X, y = make_data()
    model = LocallyLinearSVC(feature_map=PCA(2), code_on="features", random_state=0).fit(X, y)
    assert model.anchors_.shape[1] == 2
    model = LocallyLinearSVC(feature_map="quadratic", code_on="features").fit(X, y)
    assert model.anchors_.shape[1] == quadratic_width(5)


# Anchors ------------------------------------------------------------------------------------------


def test_given_anchors_are_used():
    """Anchors may come from anywhere, such as rows without labels; they are kept as they are."""
    X, y = make_data(dtype=np.float32)
    unlabelled, _ = make_data(seed=1)
    for anchors in (unlabelled[:12], unlabelled[:12].tolist()):
        model = LocallyLinearSVC(anchors=anchors).fit(X, y)
        assert model.anchors_.dtype == np.float32
        np.testing.assert_allclose(model.anchors_, unlabelled[:12], rtol=1e-3, atol=1e-3)
        assert model.coef_.shape[0] == 12
        assert model.score(X, y) > 0.8


def test_given_anchors_live_where_codes_do():
    """Anchors are given in the space that ``code_on`` names."""
    X, y = make_data()
    model = LocallyLinearSVC(anchors=X[:9, [1, 2]], code_on=[1, 2]).fit(X, y)
    np.testing.assert_array_equal(model.anchors_, X[:9, [1, 2]])
    with pytest.raises(ValueError, match="anchors have 5 columns, but rows are coded on 2"):
        LocallyLinearSVC(anchors=X[:9], code_on=[1, 2]).fit(X, y)


def test_random_anchors_are_rows():
    """``anchors="random"`` puts local models on distinct training rows."""
    X, y = make_data()
    anchors = LocallyLinearSVC(10, C=1.0, anchors="random", random_state=0).fit(X, y).anchors_
    assert len({tuple(anchor) for anchor in anchors} & {tuple(row) for row in X}) == 10


def test_more_anchors_than_distinct_rows():
    """Too many anchors are reduced to the distinct rows there are, with a warning."""
    X, y = make_data(n_rows=20)
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    with pytest.warns(UserWarning, match=r"n_anchors=40 is larger .* distinct rows, 20"):
        model = LocallyLinearSVC(40, random_state=0).fit(X, y)
    assert model.anchors_.shape == (20, 5)


@pytest.mark.parametrize("n_rows", [2, 16, 90, 400])
def test_automatic_number_of_anchors(n_rows):
    """The number of distinct rows decides; no warning is due where it is small."""
    X, y = np.random.default_rng(0).normal(size=(n_rows, 3)), np.arange(n_rows) % 2
    X, y = np.tile(X, (2, 1)), np.tile(y, 2)
    model = LocallyLinearSVC(C=3.0, random_state=0).fit(X, y)
    assert len(model.anchors_) == default_n_anchors(n_rows)


def test_beta_sharpens_the_gate():
    """A large ``beta`` is the nearest anchor alone; ``beta_`` is what was used."""
    X, y = make_data()
    options = {"n_anchors": 8, "random_state": 0, "tol": 1e-8, "max_iter": 10_000, "C": 3.0}
    sharp = LocallyLinearSVC(beta=1e9, **options).fit(X, y)
    hard = LocallyLinearSVC(coding="hard", **options).fit(X, y)
    np.testing.assert_allclose(sharp.decision_function(X), hard.decision_function(X), atol=1e-4)
    assert sharp.beta_ == 1e9
    assert LocallyLinearSVC(**options).fit(X, y).beta_ > 0


@pytest.mark.parametrize("given", [{"n_anchors": 3}, {"anchors": np.eye(3, 5)}, {"n_anchors": 1}])
def test_all_anchors_are_active_where_they_are_fewer_than_neighbors(given):
    """The default of n_neighbors needs no change for few anchors."""
    X, y = make_data()
    n_anchors = given.get("n_anchors", 3)
    models = [
        LocallyLinearSVC(**given, **more, C=1.0, random_state=0).fit(X, y)
        for more in ({}, {"n_neighbors": n_anchors})
    ]
    np.testing.assert_array_equal(*(model.decision_function(X) for model in models))
