"""Tests of hyperlocal.plots: what they compute, and that they draw it."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from estimators.data import make_data, make_ring
from hyperlocal import (
    SDCASVC,
    ClusteredSVC,
    LatentLocallyLinearSVC,
    LocalDeepSVC,
    LocallyLinearSVC,
    SupervisedAnchorSVC,
)
from hyperlocal.plots import (
    AnchorCurveDisplay,
    AnchorMotionDisplay,
    ConvergenceDisplay,
    LocalBoundaryDisplay,
    PrototypeDisplay,
    WeightMapDisplay,
)

pytest.importorskip("matplotlib").use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def local(n_anchors=8, **options):
    return LocallyLinearSVC(n_anchors, n_neighbors=3, random_state=0, **options)


def moving(**options):
    return SupervisedAnchorSVC(
        6, n_neighbors=3, anchor_epochs=2, keep_if_better=False, random_state=0, **options
    )


# Boundaries ---------------------------------------------------------------------------------------


def test_local_lines_lie_on_the_boundary():
    """The middle of each line is a point at which a linear local model says zero."""
    X, y = make_ring()
    model = local(feature_map=None).fit(X, y)
    display = LocalBoundaryDisplay.from_estimator(model, X, y, n_points=40)
    assert len(display.lines) > 4
    middles = display.lines.mean(axis=1)
    assert np.abs(model.decision_function(middles)).max() < 1e-3
    assert display.regions.shape == (40, 40)
    assert display.ax_.figure is display.figure_


def test_boundary_of_one_anchor_has_no_local_line():
    """With one anchor the boundary is its line."""
    X, y = make_ring()
    model = LocallyLinearSVC(1, n_neighbors=1, random_state=0).fit(X, y)
    assert LocalBoundaryDisplay.from_estimator(model, X, y, n_points=20).lines.shape == (0, 2, 2)


def test_boundaries_through_a_pipeline():
    """Anchors and lines are drawn where the given rows are, whatever the steps did."""
    X, y = make_ring()
    frame = pd.DataFrame(100 + 7 * X, columns=["a", "b"])
    model = make_pipeline(StandardScaler(), local(feature_map=None)).fit(frame, y)
    display = LocalBoundaryDisplay.from_estimator(model, frame, y, n_points=40)
    low, high = frame.to_numpy().min(axis=0), frame.to_numpy().max(axis=0)
    assert (display.anchors > low).all()
    assert (display.anchors < high).all()
    middles = pd.DataFrame(display.lines.mean(axis=1), columns=["a", "b"])
    assert np.abs(model.decision_function(middles)).max() < 1e-3


@pytest.mark.parametrize(
    "model",
    [SDCASVC(), ClusteredSVC(4, random_state=0), LocalDeepSVC(2, C=10.0, random_state=0)],
    ids=lambda model: type(model).__name__,
)
def test_boundaries_of_other_models(model):
    """Models without anchors have boundaries too, and so have three classes without labels."""
    X, y = make_data(3, n_features=4)
    X = X[:, :2]
    model.fit(X, y)
    display = LocalBoundaryDisplay.from_estimator(model, X, n_points=30)
    assert set(np.unique(display.regions)) <= {0, 1, 2}
    with pytest.raises(ValueError, match="two features only"):
        LocalBoundaryDisplay.from_estimator(model, X[:, :1])


# Convergence --------------------------------------------------------------------------------------


def test_convergence_ends_at_the_fitted_objective():
    """The last point is what the model tells of itself; the gap is drawn where there is one."""
    X, y = make_data()
    model = local().fit(X, y)
    display = ConvergenceDisplay.from_estimator(make_pipeline(model).fit(X, y))
    assert display.objectives[-1] == model.objective_
    assert display.gaps[-1] == model.duality_gap_
    assert display.gap_line_ is not None
    assert display.ax_.get_yscale() == "log"


def test_convergence_without_a_gap():
    """Losses of learned gates have no bound; models without epochs have no history."""
    X, y = make_data()
    tree = LocalDeepSVC(1, C=10.0, max_iter=4, random_state=0).fit(X, y)
    display = ConvergenceDisplay.from_estimator(tree)
    assert display.gap_line_ is None
    assert display.name == "mean loss"
    assert len(display.epochs) == 4
    with pytest.raises(ValueError, match="kept no history"):
        ConvergenceDisplay.from_estimator(local(solver="qp").fit(X, y))


def test_convergence_of_learned_anchors():
    """Their history has a column more, which is left out."""
    assert ConvergenceDisplay.from_estimator(moving().fit(*make_data())).gap_line_ is not None


# Anchors ------------------------------------------------------------------------------------------


def test_error_against_anchors():
    """More anchors fit a ring better than one; two curves share axes."""
    X, y = make_ring(200)
    model = make_pipeline(StandardScaler(), LocallyLinearSVC(feature_map=None, random_state=0))
    first = AnchorCurveDisplay.from_estimator(model, X, y, n_anchors=(1, 8), cv=3)
    assert first.errors.shape == (2, 3)
    assert first.errors[1].mean() < first.errors[0].mean() / 2
    other = AnchorCurveDisplay.from_estimator(
        ClusteredSVC(random_state=0), X, y, n_anchors=(1, 8), cv=3, name="clusters", ax=first.ax_
    )
    assert other.argument == "n_anchors"
    assert len(first.ax_.lines) == 2
    with pytest.raises(ValueError, match="none of the arguments"):
        AnchorCurveDisplay.from_estimator(SDCASVC(), X, y)


def test_moving_anchors():
    """Arrows go from the first to the learned anchors, in the rows' own units."""
    X, y = make_ring()
    model = make_pipeline(StandardScaler(), moving()).fit(100 + X, y)
    display = AnchorMotionDisplay.from_estimator(model, 100 + X, y)
    scaler, last = model
    np.testing.assert_allclose(display.end, scaler.inverse_transform(last.anchors_))
    np.testing.assert_allclose(display.start, scaler.inverse_transform(last.initial_anchors_))
    assert len(display.arrows_) == 6


def test_moving_anchors_of_many_features():
    """They are projected on principal axes, of the rows or of the anchors."""
    X, y = make_data()
    model = moving().fit(X, y)
    display = AnchorMotionDisplay.from_estimator(model, X)
    np.testing.assert_allclose(display.end, PCA(2).fit(X).transform(model.anchors_))
    assert AnchorMotionDisplay.from_estimator(model).rows is None
    with pytest.raises(ValueError, match="do not move"):
        AnchorMotionDisplay.from_estimator(local().fit(X, y))


def test_prototypes_and_weights():
    """A picture per anchor, or a line per anchor with names; labels are what the model says."""
    X, y = make_data(3, n_features=6)
    model = local(feature_map=None).fit(X, y)
    prototypes = PrototypeDisplay.from_estimator(model, image_shape=(2, 3), n_shown=5)
    np.testing.assert_array_equal(prototypes.values, model.anchors_[:5])
    said = [f"{i}: {label}" for i, label in enumerate(model.predict(model.anchors_[:5]))]
    assert prototypes.titles == said
    assert prototypes.axes_.shape == (2, 3)
    weights = WeightMapDisplay.from_estimator(model, label=1)
    np.testing.assert_array_equal(weights.values, model.coef_[:, 1])
    assert [t.get_text() for t in weights.axes_.get_xticklabels()] == [f"x{i}" for i in range(6)]
    with pytest.raises(ValueError, match="no weights for 'cow'"):
        WeightMapDisplay.from_estimator(model, label="cow")


def test_prototypes_in_the_rows_own_units():
    """The steps before the model are undone; colour pictures are drawn too."""
    X, y = make_data(3, n_features=12)
    frame = pd.DataFrame(50 + X, columns=[f"pixel {i}" for i in range(12)])
    model = make_pipeline(StandardScaler(), local()).fit(frame, y)
    display = PrototypeDisplay.from_estimator(model, image_shape=(2, 2, 3))
    assert abs(display.values.mean() - 50) < 1
    assert display.feature_names[3] == "pixel 3"
    lines = WeightMapDisplay.from_estimator(model)
    assert lines.feature_names[3] == "pixel 3"
    with pytest.raises(ValueError, match="cannot be undone"):
        PrototypeDisplay.from_estimator(make_pipeline(Normalizer(), local()).fit(X, y))


def test_models_without_anchors():
    """They have weights, but no prototypes."""
    X, y = make_data()
    model = LatentLocallyLinearSVC(4, C=10.0, max_iter=2, random_state=0).fit(X, y)
    assert WeightMapDisplay.from_estimator(model).values.shape == (4, 5)
    for other in (model, local(code_on=[0, 1]).fit(X, y)):
        with pytest.raises(ValueError, match="no anchors among the rows"):
            PrototypeDisplay.from_estimator(other)


def test_without_matplotlib(monkeypatch):
    """The error names the extra to install."""
    X, y = make_data()
    model = local().fit(X, y)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"hyperlocal\[plot\]"):
        ConvergenceDisplay.from_estimator(model)
