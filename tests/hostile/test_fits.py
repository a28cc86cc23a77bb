"""Hostile rows, labels, weights and parameters: a fit works, or is one clear error."""

import os
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .estimators import CLASSIFIERS, ESTIMATORS, REGRESSORS, make

N_FITS = int(os.environ.get("HYPERLOCAL_FUZZ_FITS", "500"))  # of all estimators together
SECONDS = 20  # of the processor: far more than any fit here takes; those that hang take for ever

# Values that a parameter of this name may have, at the ends of what makes sense and beyond.
VALUES = {
    "C": [1e-12, 1.0, 1e12, "auto"],
    "Cs": [(1e-9,), (1.0, 1e9)],
    "anchors": ["kmeans", "random"],
    "anchor_step": ["auto", 0.0, 1e9],
    "beta": ["auto", 1e-300, 1e-90, 1.0, 1e90, 1e300],
    "class_weight": [None, "balanced", {0: 1e-9, 1: 1e9}],
    "coding": ["soft", "inverse_distance", "lle", "llc", "lcc", "hard"],
    "degree": [1, 9],
    "depth": ["auto", 0, 3],
    "feature_map": ["auto", None, "quadratic", "additive_chi2", "nystroem", "bias_only"],
    "gamma": ["auto", "scale", "local", 1e-90, 1e9],
    "global_penalty": [1e-9, 1e9],
    "intercept_scaling": [0, 1e-9, 1e9],
    "jitter": [0.0, 1e9],
    "kernel": ["linear", "poly", "rbf", "sigmoid"],
    "loss": ["hinge", "squared_hinge", "log"],
    "max_iter": [1, 3],
    "metric": ["euclidean", "dann", "megm"],
    "multi_class": ["ovr", "crammer_singer", "multinomial"],
    "n_anchors": ["auto", 1, 2, 50],
    "n_neighbors": [1, 2, 50],
    "n_stages": [1, 3],
    "normalize": [False, True],
    "p": [1.0, 50.0, np.inf],
    "projection": [None, "rbf"],
    "smoothing": [0.0, 1e9],
    "solver": ["dual", "sgd", "qp"],
    "tol": [0.0, 1e-3, 1e9],
}
NONSENSE = [None, -1, 0, 2**70, np.nan, np.inf, "what", [], (), {}, object(), np.zeros((2, 2))]


COLUMNS = ["normal", "normal", "constant", "few", "rare", "steps"]
SCALES = [1, 1, 1, 1, 1e-310, 1e-30, 1e-10, 1e-5, 1e3, 1e5, 1e10]
OFFSETS = [0, 0, 0, 0, 1e-5, 1e3, -1e6, 1e15]
HUGE = [1.0] * 60 + [1e38, 1e70, 1e150, 1e300]


def column(values, kind, scale, offset):
    """One feature: of any scale and origin, constant, with few values, or mostly zero."""
    if kind == "constant":
        values = np.ones_like(values)
    elif kind == "few":
        values = np.round(values)
    elif kind == "rare":
        values = np.where(np.arange(len(values)) == 0, values, 0)
    elif kind == "steps":
        values = np.arange(len(values)) * 1e9 + 1.6e9  # time stamps
    return values * scale + offset


@st.composite
def problems(draw):
    """Rows in any storage, labels and weights. Hypothesis draws, and shrinks, what is odd about
    them; the numbers themselves are of a seed."""
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    n_rows = draw(st.integers(2, 60))
    kinds = st.tuples(*map(st.sampled_from, (COLUMNS, SCALES, OFFSETS)))
    columns = draw(st.lists(kinds, min_size=1, max_size=4))
    X = np.column_stack([column(rng.standard_normal(n_rows), *one) for one in columns])
    if draw(st.integers(0, 4)) == 4:
        X = X[rng.integers(n_rows, size=n_rows)]  # equal rows
    y = rng.integers(draw(st.integers(2, 4)), size=n_rows)
    if draw(st.booleans()):
        y = np.where(X[:, 0] > np.median(X[:, 0]), y, 0)
    weights = draw(st.sampled_from(["none", "none", "uniform", "whole", "extreme"]))
    weights = {"none": None, "uniform": rng.uniform(0, 2, n_rows),
               "whole": rng.integers(0, 3, n_rows),
               "extreme": 10.0 ** rng.uniform(-15, 15, n_rows)}[weights]  # fmt: skip
    with np.errstate(over="ignore"):
        X = X * draw(st.sampled_from(HUGE))
        X = X.astype(draw(st.sampled_from([np.float64, np.float64, np.float32])))
    return (sp.csr_array(X) if draw(st.booleans()) else X), y, weights


def parameters(name):
    """A few parameters of an estimator with other values, now and then with nonsense."""
    names = sorted(set(make(name).get_params(deep=False)) & set(VALUES))
    values = {one: st.sampled_from(VALUES[one]) for one in names}
    some = st.lists(st.sampled_from(names), max_size=4, unique=True)
    sensible = some.flatmap(lambda chosen: st.fixed_dictionaries({n: values[n] for n in chosen}))
    wrong = st.tuples(st.sampled_from(names), st.sampled_from(NONSENSE))
    odd = st.tuples(sensible, wrong).map(lambda pair: {**pair[0], pair[1][0]: pair[1][1]})
    return st.integers(0, 9).flatmap(lambda number: odd if number == 9 else sensible)


def check_predictions(model, X, y):
    """Scores are finite, of one shape, and their labels are those of the training rows."""
    predicted = model.predict(X)
    assert predicted.shape == (X.shape[0],)
    if not hasattr(model, "decision_function"):
        assert np.isfinite(predicted).all()
        return
    n_classes = len(model.classes_)
    scores = model.decision_function(X)
    assert scores.shape == ((len(y),) if n_classes == 2 else (len(y), n_classes))
    assert np.isfinite(scores).all()
    assert set(predicted) <= set(y)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-4)


def check_explanations(model, X):
    """Contributions are finite and add up to the scores; what cannot be explained is said."""
    try:
        explained = list(model.explain(X[:2]))
    except ValueError as error:
        assert "cannot be explained" in str(error)  # noqa: PT017
        return
    for one in explained:
        parts = [one.references, one.contributions.sum(axis=1), one.remainders]
        assert np.isfinite(parts).all()
        sizes = np.abs(parts).sum(axis=0) + np.abs(one.contributions).sum(axis=1)
        assert (np.abs(np.sum(parts, axis=0) - one.scores) <= 1e-6 * sizes).all()
        assert str(one)


@pytest.mark.parametrize("name", [*CLASSIFIERS, *REGRESSORS])
@settings(max_examples=N_FITS // len([*CLASSIFIERS, *REGRESSORS]) + 1,
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(data=st.data())
def test_fits_work_or_raise(name, data):
    """Any rows and parameters: finite scores and explanations in bounded time, or a clear error."""
    X, y, weights = data.draw(problems(), "X, y, sample_weight")
    model = make(name, **data.draw(parameters(name), "parameters"))
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y, sample_weight=weights)
        except (ValueError, TypeError) as error:
            assert len(str(error)) > 20  # noqa: PT017
        else:
            check_predictions(model, X, y)
            check_explanations(model, X)
    assert time.process_time() - begin < SECONDS


def test_every_estimator_that_predicts_is_fuzzed():
    """No kind of estimator is forgotten."""
    predicting = {name for name, (kind, _) in ESTIMATORS.items() if hasattr(kind, "predict")}
    assert predicting == {*CLASSIFIERS, *REGRESSORS}
