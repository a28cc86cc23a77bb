"""``max_iter`` bounds every fit: so many epochs, each of at most a visit to each row."""

import warnings

import numpy as np
import pytest

from hyperlocal import _core

from .estimators import ESTIMATORS, make

N_ROWS, N_CLASSES, FEW, MORE = 150, 3, 1, 6
# Methods of the compiled core that visit rows in an order that they are given.
EPOCHS = ("DualState", "SgdProblem", "PegasosProblem", "LatentProblem", "TreeProblem")
# Parameters that are fixed, because choosing them is another fit, and solvers.
CASES = [
    ("LocallyLinearSVC", {"C": 1e3}),
    ("LocallyLinearSVC", {"C": 1e3, "loss": "hinge"}),
    ("LocallyLinearSVC", {"C": 1e3, "loss": "log"}),
    ("LocallyLinearSVC", {"C": 1e3, "multi_class": "crammer_singer"}),
    ("LocallyLinearSVC", {"C": 1e3, "solver": "sgd"}),
    ("LocallyLinearSVC", {"C": 1e3, "solver": "qp"}),
    ("LocallyLinearSVR", {"C": 1e3, "loss": "epsilon_insensitive"}),
    ("SupervisedAnchorSVC", {"C": 1e3}),
    ("SupervisedAnchorSVC", {"C": 1e3, "solver": "sgd", "anchor_epochs": 1}),
    ("SupervisedAnchorSVR", {"C": 1e3, "anchor_epochs": 1}),
    ("LocalCodingSVC", {"C": 1e3}),
    ("LandmarkSVC", {"C": 1e3}),
    ("ClusteredSVC", {"C": 1e3}),
    ("ProfileSVC", {}),
    ("LocalDeepSVC", {"C": 1e3, "depth": 2}),
    ("LatentLocallyLinearSVC", {"C": 1e3, "n_anchors": 4}),
    ("SDCASVC", {"C": 1e3}),
    ("PegasosSVC", {"C": 1e3}),
    ("PegasosRegressor", {"C": 1e3}),
    ("KernelPegasosSVC", {"C": 1.0}),
    ("AdaptiveNeighborhoodSVC", {}),
    ("NeighborhoodSVC", {}),
    ("NeighborhoodSVR", {}),
    ("MEGM", {}),
    # Squares are solved by systems, or by Newton's steps.
    ("LocallyLinearSVCCV", {"loss": "hinge"}),
    ("LocallyLinearSVRCV", {"loss": "epsilon_insensitive"}),
]

# Their iterations are no visits to rows one by one.
NOT_COUNTED = (
    "LocalCodingSVC",
    "ProfileSVC",
    "KernelPegasosSVC",
    "AdaptiveNeighborhoodSVC",
    "NeighborhoodSVC",
    "NeighborhoodSVR",
    "MEGM",
)


@pytest.fixture
def visits(monkeypatch):
    """How many rows of how many columns the epochs of the compiled core visit."""
    seen = []

    def counted(epoch):
        def run(self, *arguments):
            orders = [one for one in arguments if getattr(one, "dtype", None) == np.int64]
            seen.append(max(order.size for order in orders))
            return epoch(self, *arguments)

        return run

    module = _core.rows(np.zeros((1, 1))).__class__.__module__
    core = __import__(module, fromlist=["rows"])
    for kind in EPOCHS:
        one = getattr(core, f"{kind}Float64")
        monkeypatch.setattr(one, "epoch", counted(one.epoch))
    return seen


def fit_for(name, changed, max_iter):
    """A fit to random labels of rows on very different scales, which never converges."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 4)) * [1.0, 1e3, 1e-3, 1.0]
    model = make(name, **changed, max_iter=max_iter)
    if "tol" in model.get_params():
        model.set_params(tol=1e-15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, rng.integers(N_CLASSES, size=N_ROWS))


@pytest.mark.parametrize(("name", "changed"), CASES, ids=str)
def test_epochs_are_bounded(name, changed, visits):
    """``n_iter_`` is at most ``max_iter``, and each epoch more visits a row once per column, or
    fewer."""
    numbers = []
    for max_iter in (FEW, MORE):
        visits.clear()
        model = fit_for(name, changed, max_iter)
        numbers.append(sum(visits))
        n_iter = getattr(model, "n_iter_", None)
        assert n_iter is None or np.max(n_iter) <= max_iter
    assert visits or name in NOT_COUNTED or changed.get("solver") == "qp"
    if not name.endswith("CV"):  # these choose among as many fits as they like
        assert numbers[1] - numbers[0] <= (MORE - FEW) * N_ROWS * N_CLASSES


def test_every_max_iter_is_tried():
    """No estimator that has it is forgotten."""
    having = {name for name in ESTIMATORS if "max_iter" in make(name).get_params()}
    assert having == {name for name, _ in CASES}
