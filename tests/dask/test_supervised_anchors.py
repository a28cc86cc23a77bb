"""DaskSupervisedAnchorSVC: learned anchors lower the objective."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from hyperlocal import SupervisedAnchorSVC
from hyperlocal.dask import DaskLocallyLinearSVC, DaskSupervisedAnchorSVC


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(1500, noise=0.15, random_state=0)
    return X, y


def test_learned_anchors_beat_those_they_started_from(client, moons):
    """Moved anchors have a lower objective."""
    X, y = moons
    few = {"n_anchors": 5, "n_neighbors": 2, "feature_map": None, "random_state": 2}
    model = DaskSupervisedAnchorSVC(client, **few).fit(X, y)
    fixed = DaskLocallyLinearSVC(client, **few).fit(X, y)
    assert model.anchors_learned_
    assert model.objectives_["learned"] < 0.95 * model.objectives_["started"]
    assert model.objectives_["started"] == pytest.approx(fixed.objective_, rel=2e-3)
    assert not np.array_equal(model.anchors_, model.initial_anchors_)
    local = model.to_local()
    assert isinstance(local, SupervisedAnchorSVC)
    assert local.score(X, y) > 0.98
    np.testing.assert_array_equal(local.initial_anchors_, model.initial_anchors_)


def test_anchors_that_do_not_help_are_not_kept(client, moons):
    """Steps that are too long are discarded."""
    X, y = moons
    model = DaskSupervisedAnchorSVC(
        client, n_anchors=5, n_neighbors=2, anchor_step=0.0, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(model.anchors_, model.initial_anchors_, rtol=1e-6)


def test_several_classes_and_no_guard(client):
    """Three classes, without a comparison to the start."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 2))
    y = np.digitize(np.hypot(*X.T), [0.8, 1.5])
    model = DaskSupervisedAnchorSVC(
        client, n_anchors=10, n_neighbors=4, keep_if_better=False, anchor_rounds=2, random_state=0
    ).fit(X, y)
    assert set(model.objectives_) == {"learned"}
    assert model.score(X, y) > 0.9


def test_arguments_are_checked(client, moons):
    """A parameter that makes no sense is refused by its name."""
    with pytest.raises(ValueError, match="anchor_rounds must be"):
        DaskSupervisedAnchorSVC(client, anchor_rounds=0).fit(*moons)
    with pytest.raises(TypeError, match="keep_if_better must be"):
        DaskSupervisedAnchorSVC(client, keep_if_better=1).fit(*moons)
