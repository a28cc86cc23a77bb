"""Tests of hyperlocal.solvers.coordinates."""

import numpy as np
import pytest

from hyperlocal import LocallyLinearSVC
from hyperlocal.data.labelled import LabelledRows
from hyperlocal.model.chain_settings import ChainSettings
from hyperlocal.solvers import coordinates


def labelled(n_rows=300, n_features=6):
    X = np.random.default_rng(0).normal(size=(n_rows, n_features))
    target = (X[:, 0] * X[:, 1] > 0).astype(np.int32)
    return LabelledRows(X, target, np.arange(2), np.ones(n_rows))


@pytest.mark.parametrize("room", [300**2 + 1, 0], ids=["all rows", "a part"])
@pytest.mark.parametrize("feature_map", [None, "quadratic", "bias_only"])
def test_coordinates_have_the_products_of_lifted_rows(feature_map, room, workers, monkeypatch):
    """Nearly, whether all rows may give pivots or a part of them."""
    monkeypatch.setattr(coordinates, "MOST_NUMBERS", room)
    monkeypatch.setattr(coordinates, "MOST_PIVOTS", 250)
    data = labelled()
    settings = ChainSettings(5, feature_map=feature_map, global_intercept=True)
    model = settings.fit(data, np.random.default_rng(0), workers)
    lifted = model.lift(data.X, workers)
    products = model.products(data.X, lifted, np.arange(300))
    found = coordinates.coordinates(model, data.X, lifted)
    assert found.shape[1] < 250
    apart = found @ found.T - products
    assert np.abs(apart).max() < 0.1 * products.diagonal().max()
    assert np.abs(apart).mean() < 5e-3 * products.diagonal().max()


@pytest.mark.parametrize(
    ("loss", "multi_class"),
    [
        ("squared_hinge", "ovr"),
        ("hinge", "ovr"),
        ("log", "ovr"),
        ("squared_hinge", "crammer_singer"),
        ("hinge", "crammer_singer"),
    ],
)
def test_a_start_in_coordinates_saves_epochs(loss, multi_class, monkeypatch):
    """The optimum is the same, and reached in fewer epochs of the lifted rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    y = np.digitize(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=400), [-0.5, 0.5])
    settings = {"C": 3.0, "loss": loss, "multi_class": multi_class, "relevance": None}
    found = []
    for numbers in (np.inf, 0):
        monkeypatch.setattr(coordinates, "ENOUGH_NUMBERS", numbers)
        monkeypatch.setattr(coordinates, "TIMES_AS_WIDE", 0)
        found.append(LocallyLinearSVC(8, tol=1e-4, random_state=0, **settings).fit(X, y))
    cold, warm = found
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-4)
    assert warm.n_iter_ < cold.n_iter_
