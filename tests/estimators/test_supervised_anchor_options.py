"""Options of SupervisedAnchorSVC: those refused, and every combination of the others."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from estimators.data import make_data, make_ring
from estimators.supervised_models import LOSSES, every_solver, model, unjudged
from hyperlocal.data.rows import quadratic_width

# Arguments ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("solver", "qp", ValueError),
        ("solver", None, ValueError),
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
        ("n_anchors", 0, ValueError),
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
        (
            {"feature_map": "bias_only", "intercept_scaling": 0},
            "intercept_scaling must be positive",
        ),
        ({"feature_map": "bias_only", "code_on": "features"}, "code_on='features' needs"),
        ({"loss": "log", "multi_class": "crammer_singer"}, "'crammer_singer' is a margin loss"),
    ],
)
def test_options_that_do_not_go_together(options, message):
    """An impossible pair of options is refused with the reason."""
    with pytest.raises(ValueError, match=message):
        model(**options).fit(*make_data())


def test_numpy_numbers_are_numbers():
    """Arguments may be numpy scalars, as a grid search gives them."""
    X, y = make_data()
    options = {"anchor_epochs": np.int64(3), "anchor_step": np.float32(0.1), "t0": np.float64(9)}
    flags = {"keep_if_better": np.False_, "skip": np.int32(4)}
    assert model(**options, **flags).fit(X, y).score(X, y) > 0.8


# Every combination of options ---------------------------------------------------------------------


@pytest.mark.parametrize(("loss", "multi_class"), LOSSES)
@every_solver
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("normalize", [True, False])
def test_options_combine(loss, multi_class, solver, dtype, convert, normalize):
    """Options that go together give finite scores in the input's dtype, and exact explanations."""
    n_classes = 3 if normalize else 2
    X, y = make_data(n_classes, dtype=dtype)
    fitted = model(
        loss=loss, multi_class=multi_class, solver=solver, normalize=normalize, C=1.0
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
def test_biases_alone(solver, convert, loss):
    """The map "bias_only" has one number per anchor and class; explanations are all intercept."""
    X, y = make_ring(200)
    fitted = model(n_anchors=20, feature_map="bias_only", solver=solver, loss=loss)
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
def test_feature_maps(feature_map, width, solver):
    """Local models may see any map of the row; anchors move among the rows themselves."""
    X, y = make_data(3)
    fitted = model(feature_map=feature_map, solver=solver, C=1.0).fit(X, y)
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
def test_anchors_move_where_codes_look(options, width, convert, solver):
    """Anchors live, and learn, in the space that ``code_on`` names."""
    X, y = make_data(3)
    fitted = model(solver=solver, **options).fit(convert(X), y)
    assert fitted.anchors_.shape == fitted.initial_anchors_.shape == (6, width)
    if solver == "dual":  # "sgd" returns to the start where no epoch was better
        assert not np.array_equal(fitted.anchors_, fitted.initial_anchors_)
    assert fitted.score(convert(X), y) > 0.6


@pytest.mark.parametrize("anchors", ["kmeans", "random", make_data()[0][:7]])
def test_anchors_start_where_they_are_told(anchors):
    """``initial_anchors_`` is where anchors started; an array of anchors stays as it was."""
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


def test_a_pipeline_of_scaler_and_code_space():
    """Features of a transformer that keeps rows sparse serve codes and maps alike."""
    X, y = make_data(3)
    X[np.abs(X) < 0.5] = 0
    scaler = StandardScaler(with_mean=False)
    fitted = model(code_on=scaler, feature_map=clone(scaler)).fit(sp.csr_array(X), y)
    assert fitted.score(sp.csr_array(X), y) > 0.7
