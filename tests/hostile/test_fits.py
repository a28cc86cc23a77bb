"""Hostile rows, labels, weights and parameters: a fit works, or is one clear error."""

import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .estimators import CLASSIFIERS, ESTIMATORS, REGRESSORS, make

N_FITS = 500  # of all estimators together
SECONDS = 60  # far more than any fit here takes on a busy machine; those that hang take for ever

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


def pick(rng, values):
    """One of some values, of any types."""
    return values[rng.integers(len(values))]


def column(rng, n_rows):
    """One feature: of any scale and origin, constant, with few values, or mostly zero."""
    values = rng.standard_normal(n_rows)
    kind = pick(rng, ["normal", "normal", "constant", "few", "rare", "steps"])
    if kind == "constant":
        values[:] = 1
    elif kind == "few":
        values = np.round(values)
    elif kind == "rare":
        values[1:] = 0
    elif kind == "steps":
        values = np.arange(n_rows) * 1e9 + 1.6e9  # time stamps
    scale = pick(rng, [*[1] * 9, 1e-310, 1e-30, 1e-10, 1e-5, 1e3, 1e5, 1e10])
    return values * scale + pick(rng, [*[0] * 9, 1e-5, 1e3, -1e6, 1e15])


def make_problem(rng):
    """Rows in any storage, labels and weights."""
    n_rows = rng.integers(2, 60)
    X = np.column_stack([column(rng, n_rows) for _ in range(rng.integers(1, 5))])
    if rng.random() < 0.2:
        X = X[rng.integers(n_rows, size=n_rows)]  # equal rows
    huge = pick(rng, [1e38, 1e70, 1e150, 1e300]) if rng.random() < 0.05 else 1.0
    y = rng.integers(rng.integers(2, 5), size=n_rows)
    if rng.random() < 0.5:
        y = np.where(X[:, 0] > np.median(X[:, 0]), y, 0)
    weights = [None, None, rng.uniform(0, 2, n_rows), rng.integers(0, 3, n_rows),
               10.0 ** rng.uniform(-15, 15, n_rows)]  # fmt: skip
    with np.errstate(over="ignore"):
        X = (X * huge).astype(pick(rng, [np.float64, np.float64, np.float32]))
    return pick(rng, [np.asarray, sp.csr_array])(X), y, pick(rng, weights)


def make_parameters(rng, name):
    """A few parameters of an estimator with other values, now and then with nonsense."""
    names = sorted(set(make(name).get_params(deep=False)) & set(VALUES))
    chosen = [one for one in names if rng.random() < 0.25]
    changed = {one: pick(rng, VALUES[one]) for one in chosen}
    if chosen and rng.random() < 0.1:
        changed[pick(rng, chosen)] = pick(rng, NONSENSE)
    return changed


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


@pytest.mark.parametrize("name", [*CLASSIFIERS, *REGRESSORS])
@settings(max_examples=N_FITS // len([*CLASSIFIERS, *REGRESSORS]) + 1,
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(seed=st.integers(0, 2**32))
def test_fits_work_or_raise(name, seed):
    """Any rows and parameters: finite predictions in bounded time, or an error with a message."""
    rng = np.random.default_rng(seed)
    X, y, weights = make_problem(rng)
    model = make(name, **make_parameters(rng, name))
    begin = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y, sample_weight=weights)
        except (ValueError, TypeError) as error:
            assert len(str(error)) > 20  # noqa: PT017
        else:
            check_predictions(model, X, y)
    assert time.monotonic() - begin < SECONDS


def test_every_estimator_that_predicts_is_fuzzed():
    """No kind of estimator is forgotten."""
    predicting = {name for name, (kind, _) in ESTIMATORS.items() if hasattr(kind, "predict")}
    assert predicting == {*CLASSIFIERS, *REGRESSORS}
