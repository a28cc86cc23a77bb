"""Runs stopped before they have converged leave the best weights: objectives fall with max_iter."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hyperlocal import LocallyLinearSVC, LocallyLinearSVR
from hyperlocal.linear import SDCASVC, KernelPegasosSVC, PegasosSVC
from hyperlocal.papers import ClusteredSVC, LandmarkSVC, LocalCodingSVC

LOCAL = {"n_anchors": 4, "n_neighbors": 2, "feature_map": None}
CASES = [
    *(
        (LocallyLinearSVC, {**LOCAL, "loss": loss, "multi_class": joint, "solver": solver})
        for loss in ("hinge", "squared_hinge")
        for joint in ("ovr", "crammer_singer")
        for solver in ("dual", "sgd")
    ),
    (LocallyLinearSVC, {**LOCAL, "loss": "log"}),
    *((SDCASVC, {"loss": loss}) for loss in ("hinge", "squared_hinge", "log")),
    (LandmarkSVC, {"loss": "squared_hinge", "n_landmarks": 20}),
    (LocalCodingSVC, {"n_anchors": 8, "loss": "hinge"}),
    (ClusteredSVC, {"n_anchors": 3, "loss": "hinge"}),
    (PegasosSVC, {"loss": "hinge"}),
    (KernelPegasosSVC, {}),
    *(
        (LocallyLinearSVR, {**LOCAL, "loss": loss})
        for loss in ("epsilon_insensitive", "huber", "squared_epsilon_insensitive")
    ),
]
STOPS = (1, 2, 3, 4, 6, 9, 14, 20, 30, 41, 45, 77, 130)


def name_of(case):
    """The estimator and what is special about it."""
    kind, parameters = case
    return "-".join([kind.__name__, *(str(value) for value in parameters.values())])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=name_of)
@settings(max_examples=6, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 999),
    n_rows=st.integers(10, 80),
    C=st.sampled_from([0.1, 1.0, 100.0]),
    noise=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_objectives_fall_with_max_iter(case, seed, n_rows, C, noise):
    """Up to rounding, for random rows with labels from certain to random."""
    kind, parameters = case
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 3))
    y = X[:, 0] + X[:, 1] ** 2
    if kind is not LocallyLinearSVR:
        y = np.digitize(y, np.quantile(y, [0.4, 0.7]))
        y = np.where(rng.random(n_rows) < noise, rng.integers(3, size=n_rows), y)
        y[:3] = 0, 1, 2
    models = [
        kind(**parameters, C=C, tol=0.0, max_iter=stop, random_state=0).fit(X, y) for stop in STOPS
    ]
    objectives = np.array([np.sum(model.objective_) for model in models])
    assert np.isfinite(objectives).all()
    assert (np.diff(objectives) <= 1e-6 * objectives[:-1]).all(), objectives
    if hasattr(models[0], "duality_gap_"):  # what is stated as optimal at least is no more
        bounds = [np.sum(model.objective_) - np.sum(model.duality_gap_) for model in models]
        assert np.nanmax([*bounds, -np.inf]) <= objectives[-1] * (1 + 1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("joint", ["ovr", "crammer_singer"])
def test_long_runs_are_no_worse_than_their_checks(joint):
    """A run returns the best weights that were checked, with their gap."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120, 4)), rng.integers(3, size=120)
    fixed = {**LOCAL, "loss": "hinge", "multi_class": joint, "C": 100.0, "tol": 0.0}
    model = LocallyLinearSVC(**fixed, max_iter=200, random_state=0).fit(X, y)
    best = min(objective for _, objective, _ in model.history_)
    # Columns have their own best, so that the sum may be less.
    assert model.objective_ <= best * (1 + 1e-9)
    exact = LocallyLinearSVC(**{**fixed, "tol": 1e-6}, max_iter=100_000, random_state=0).fit(X, y)
    assert model.objective_ - model.duality_gap_ <= exact.objective_
