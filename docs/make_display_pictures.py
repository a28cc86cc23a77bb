"""Draws the pictures of docs/explaining.md: one of each display, and an explanation."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hyperlocal import LocallyLinearSVC, SupervisedAnchorSVC
from hyperlocal.datasets import make_banana, make_sines
from hyperlocal.plots import (
    AnchorCurveDisplay,
    AnchorMotionDisplay,
    BoundaryDisplay,
    ConvergenceDisplay,
    ExplanationDisplay,
    MeanContributionsDisplay,
    PrototypeDisplay,
    WeightMapDisplay,
)

IMAGES = Path(__file__).parent / "images"


def draw_plane() -> None:
    """The banana with anchors and local lines; convergence; error; learned anchors."""
    X, y = make_banana(700, noise=0.15, random_state=3)
    model = make_pipeline(
        StandardScaler(),
        LocallyLinearSVC(12, n_neighbors=6, feature_map=None, tol=1e-6, random_state=0),
    ).fit(X, y)
    figure, panels = plt.subplots(2, 2, figsize=(9.6, 7.6), layout="constrained")
    BoundaryDisplay.from_estimator(model, X, y, ax=panels[0, 0])
    panels[0, 0].set_title("boundary, anchors and local lines", fontsize=10)
    ConvergenceDisplay.from_estimator(model, ax=panels[0, 1])
    panels[0, 1].set_title("convergence", fontsize=10)
    for feature_map, name in ((None, "linear"), ("quadratic", "quadratic")):
        local = LocallyLinearSVC(feature_map=feature_map, random_state=0)
        AnchorCurveDisplay.from_estimator(
            make_pipeline(StandardScaler(), local), X, y, n_anchors=(1, 2, 4, 8, 16, 32),
            name=name, ax=panels[1, 0],
        )  # fmt: skip
    panels[1, 0].set_title("error against anchors", fontsize=10)
    waves, sign = make_sines(1000, random_state=0)
    learned = make_pipeline(StandardScaler(), SupervisedAnchorSVC(4, n_neighbors=3, random_state=0))
    AnchorMotionDisplay.from_estimator(learned.fit(waves, sign), waves, sign, ax=panels[1, 1])
    panels[1, 1].set_title("learned anchors", fontsize=10)
    figure.savefig(IMAGES / "displays.png", dpi=80)


def draw_digits() -> None:
    """Anchors of digits as prototypes, and the weights of their local models."""
    X, y = load_digits(return_X_y=True)
    model = LocallyLinearSVC(12, feature_map=None, random_state=0).fit(X / 16, y)
    PrototypeDisplay.from_estimator(model, image_shape=(8, 8)).figure_.savefig(
        IMAGES / "prototypes.png", dpi=85
    )
    WeightMapDisplay.from_estimator(model, label=3, image_shape=(8, 8)).figure_.savefig(
        IMAGES / "weight_maps.png", dpi=85
    )


def draw_explanation() -> None:
    """One row of breast cancer, and all of them."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), LocallyLinearSVC(random_state=0)).fit(X, y)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    ExplanationDisplay.from_estimator(model, X.iloc[[81]], ax=left)
    MeanContributionsDisplay.from_estimator(model, X, ax=right)
    figure.savefig(IMAGES / "explanation.png", dpi=80)


if __name__ == "__main__":
    draw_plane()
    draw_digits()
    draw_explanation()
