"""Regions of the page: what models predict on a plane of rows, as colors of classes or values."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from ..datasets import is_sparse
from ..estimators.table_encoder import TableEncoder
from .experiment import Experiment
from .png import data_url
from .run import Outcome, rows_for
from .targets import in_short

GRID_WIDTH, GRID_HEIGHT = 120, 90  # pixels of the decision regions
WIDTH, HEIGHT = 480, 360
LEFT, BOTTOM = 60, 38  # for the axes
POINTS_SHOWN = 250
ROWS_FOR_AXES = 5_000
MAX_NUMBERS = 2**24  # of rows that are made dense to draw a picture
MOST_FEATURES = 30  # of arrays, whose single features rather mean something than the many of images
REGION_ALPHA = 90
ALIKE = 0.9  # correlation with the first feature from which a picture would be a diagonal
# Distinguishable for most people, on white and on black; from Okabe and Ito, without black.
COLORS = [
    (0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (213, 94, 0), (86, 180, 233),
    (240, 228, 66), (120, 94, 240), (150, 150, 150), (148, 80, 40),
]  # fmt: skip


# From low to high values: all can distinguish both ends, on white and on black.
LOW, HIGH = (0, 114, 178), (240, 200, 66)
STEPS = 24  # of the colors of values


class ClassColors:
    """A color for each class; more than ten go round the circle of hues."""

    def __init__(self, classes: np.ndarray):
        self.classes = classes
        n_classes = len(classes)
        hues = (colorsys.hls_to_rgb(j / n_classes, 0.55, 0.65) for j in range(n_classes))
        circle = [(round(255 * r), round(255 * g), round(255 * b)) for r, g, b in hues]
        self.palette = COLORS[:n_classes] if n_classes <= len(COLORS) else circle

    def codes(self, labels: np.ndarray) -> np.ndarray:
        """The number of the color of each label."""
        return np.searchsorted(self.classes, labels)

    def legend(self) -> list[tuple[str, str]]:
        """Colors and what they mean."""
        pairs = zip(self.classes, self.palette, strict=True)
        return [(css_color(color), str(label)) for label, color in pairs]


class ValueColors:
    """Colors from low to high values; the few most extreme ones have those of the ends."""

    def __init__(self, values: np.ndarray):
        self.low, self.high = np.quantile(values, [0.01, 0.99])
        if self.low == self.high:
            self.low, self.high = values.min(), values.max()
        shares = np.linspace(0, 1, STEPS)[:, None]
        mixed = np.round((1 - shares) * np.array(LOW) + shares * np.array(HIGH)).astype(int)
        self.palette = [tuple(color) for color in mixed.tolist()]

    def codes(self, values: np.ndarray) -> np.ndarray:
        """The number of the color of each value."""
        part = (values - self.low) / (self.high - self.low)
        return np.clip(np.floor(STEPS * part), 0, STEPS - 1).astype(int)

    def legend(self) -> list[tuple[str, str]]:
        """The ends and the middle."""
        places = ((0, self.low), (STEPS // 2, (self.low + self.high) / 2), (-1, self.high))
        return [(css_color(self.palette[j]), in_short(value)) for j, value in places]


def colors_of(experiment: Experiment) -> ClassColors | ValueColors:
    """The colors of what is predicted."""
    y = np.concatenate([experiment.y_train, experiment.y_test])
    return ValueColors(y) if experiment.is_regression else ClassColors(np.unique(y))


def css_color(color: tuple[int, int, int]) -> str:
    """A color as style sheets write it."""
    return "#{:02x}{:02x}{:02x}".format(*color)


@dataclass(frozen=True)
class Axis:
    """One side of the picture: its name, and what stands at its ends."""

    name: str
    first: float
    last: float


@dataclass(frozen=True)
class Plane:
    """Rows of a plane, and some test rows on it."""

    grid: np.ndarray  #: encoded rows of the plane, one for each pixel, line by line from the top
    points: np.ndarray  #: places of the test rows in the picture, between 0 and 1
    shown: np.ndarray  #: numbers of those test rows
    axes: tuple[Axis, Axis]  #: across and upwards
    caption: str


def find_plane(
    experiment: Experiment, outcomes: Sequence[Outcome] = (), seed: int = 0
) -> Plane | None:
    """The plane of the pictures: of two features, or of the first two principal components.

    The features are those that add most to the scores of the first model that explains its
    predictions. None if there is no plane, or the rows are too wide for one.
    """
    n_features = experiment.X_train.shape[1]
    n_grid = GRID_WIDTH * GRID_HEIGHT
    if n_features < 2 or n_features * n_grid > MAX_NUMBERS or experiment.X_train.shape[0] < 3:
        return None
    rng = np.random.default_rng(seed)
    train = _some_rows(experiment.X_train, min(ROWS_FOR_AXES, MAX_NUMBERS // n_features), rng)[0]
    test, shown = _some_rows(experiment.X_test, POINTS_SHOWN, rng)
    pair = _two_features(experiment, outcomes, test)
    if pair is None:
        return _components(experiment, train, test, shown, seed)
    return _features(experiment, train, test, shown, pair)


def _two_features(
    experiment: Experiment, outcomes: Sequence[Outcome], test: np.ndarray
) -> list[int] | None:
    """The numeric feature that adds most to the scores, and the next that is not like it."""
    encoder, n_features = experiment.encoder, test.shape[1]
    numeric = np.arange(n_features)
    if isinstance(encoder, TableEncoder):
        numeric = numeric[[_is_number(encoder, j) for j in range(n_features)]]
    elif n_features > MOST_FEATURES:
        return None
    if len(numeric) < 2:
        return None
    for outcome in outcomes:
        try:
            explained = outcome.model.explain(test)
            sizes = np.mean([np.abs(one.contributions).sum(axis=0) for one in explained], axis=0)
        except (AttributeError, TypeError, ValueError, NotImplementedError):
            continue
        if len(sizes) == n_features:
            first, *others = np.argsort(-sizes[numeric], kind="stable")
            with np.errstate(invalid="ignore"):  # of constant features
                alike = np.abs(np.corrcoef(test[:, numeric], rowvar=False)[first]) > ALIKE
            second = next((j for j in others if not alike[j]), others[0])
            return [int(numeric[first]), int(numeric[second])]
    return None


def _is_number(encoder: TableEncoder, j: int) -> bool:
    kind = encoder.kinds_[str(encoder.columns_[j])]
    name = str(encoder.get_feature_names_out()[j])
    return kind == "number" and not name.endswith(" missing")


def _features(
    experiment: Experiment, train: np.ndarray, test: np.ndarray, shown: np.ndarray, pair: list[int]
) -> Plane:
    names = experiment.feature_names or [f"x{j}" for j in range(train.shape[1])]
    # Few extreme rows would leave the others a corner of the picture.
    low, high = np.quantile(train[:, pair], [0.01, 0.99], axis=0)
    low, high = _wider(low, high)
    typical = train[np.argmin(((train - np.median(train, axis=0)) ** 2).sum(axis=1))]
    grid = np.tile(typical, (GRID_WIDTH * GRID_HEIGHT, 1))
    grid[:, pair] = _pixels(low, high)
    ends = np.array([low, high]) * experiment.scale[pair] + experiment.center[pair]
    axes = tuple(Axis(str(names[j]), *ends[:, k]) for k, j in enumerate(pair))
    inside = ((test[:, pair] >= low) & (test[:, pair] <= high)).all(axis=1)
    caption = (
        "What the model predicts if two features change and all others stay as in a typical "
        "training row: the feature that matters most, and the next that is not strongly correlated "
        "with it. "
        f"Test rows have {_color_of_rows(experiment)}, and other "
        "values in the other features."
    )
    points = _places(test[inside][:, pair], low, high)
    return Plane(grid, points, shown[inside], (axes[0], axes[1]), caption)


def _color_of_rows(experiment: Experiment) -> str:
    if experiment.is_regression:
        return "the color of their true value"
    return "the color of their class, and a ring where the model gets them wrong"


def _components(
    experiment: Experiment, train: np.ndarray, test: np.ndarray, shown: np.ndarray, seed: int
) -> Plane:
    pca = PCA(2, svd_solver="full" if train.shape[1] < 500 else "randomized", random_state=seed)
    pca.fit(train)
    found = pca.transform(test)
    low, high = _wider(found.min(axis=0), found.max(axis=0))
    grid = pca.inverse_transform(_pixels(low, high))
    parts = zip(("first", "second"), pca.explained_variance_ratio_, low, high, strict=True)
    axes = tuple(
        Axis(f"{which} principal component ({part:.0%})", first, last)
        for which, part, first, last in parts
    )
    caption = (
        "What the model predicts on the plane of the first two principal components, with their "
        f"parts of the variance. Test rows are projected to it; they have "
        f"{_color_of_rows(experiment)}."
    )
    points = _places(found, low, high)
    return Plane(grid.astype(train.dtype), points, shown, (axes[0], axes[1]), caption)


def _wider(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    margin = 0.06 * np.maximum(high - low, 1e-9)
    return low - margin, high + margin


def _pixels(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Coordinates of the pixels, line by line from the top."""
    across, down = np.meshgrid(
        low[0] + (high[0] - low[0]) * (np.arange(GRID_WIDTH) + 0.5) / GRID_WIDTH,
        high[1] - (high[1] - low[1]) * (np.arange(GRID_HEIGHT) + 0.5) / GRID_HEIGHT,
    )
    return np.column_stack([across.ravel(), down.ravel()])


def _places(rows: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    points = (rows - low) / (high - low)
    points[:, 1] = 1 - points[:, 1]
    return points


def _some_rows(X: Any, most: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    chosen = np.arange(X.shape[0])
    if len(chosen) > most:
        chosen = np.sort(rng.choice(len(chosen), most, replace=False))
    rows = X[chosen]
    return (rows.toarray() if is_sparse(rows) else rows), chosen


def boundary_chart(
    number: int,
    outcome: Outcome,
    experiment: Experiment,
    plane: Plane,
    colors: ClassColors | ValueColors,
) -> str:
    """Predictions on the plane, and test rows on it; wrong classes have a ring."""
    if outcome.predicted is None:
        return ""
    grid = rows_for(plane.grid, outcome.needs_dense)
    regions = colors.codes(outcome.model.predict(grid))
    picture = data_url(regions.reshape(GRID_HEIGHT, GRID_WIDTH), colors.palette, REGION_ALPHA)
    truth = colors.codes(experiment.y_test)
    right = experiment.is_regression | (outcome.predicted == experiment.y_test)
    across, upwards = plane.axes
    width, height = WIDTH - LEFT, HEIGHT - BOTTOM
    lines = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="plane-{number}">',
        f'<title id="plane-{number}">Predictions of {escape(outcome.row.method)} over '
        f"{escape(across.name)} and {escape(upwards.name)}, with {len(plane.shown)} test rows."
        "</title>",
        f'<image href="{picture}" x="{LEFT}" width="{width}" height="{height}" '
        'preserveAspectRatio="none"/>',
        *_axis_texts(across, upwards),
    ]
    for place, row in zip(plane.points, plane.shown, strict=True):
        color = css_color(colors.palette[truth[row]])
        kind = "" if right[row] else ' class="wrong"'
        lines.append(
            f'<circle{kind} cx="{LEFT + width * place[0]:.1f}" cy="{height * place[1]:.1f}" '
            f'r="{3.5 if right[row] else 5}" fill="{color}"/>'
        )
    return "\n".join([*lines, "</svg>"])


def _axis_texts(across: Axis, upwards: Axis) -> list[str]:
    bottom, middle = HEIGHT - BOTTOM, (LEFT + WIDTH) / 2
    turned = f'transform="translate(14 {bottom / 2:.0f}) rotate(-90)" text-anchor="middle"'
    left = f'x="{LEFT - 5}" text-anchor="end"'
    return [
        f'<text class="tick" x="{LEFT}" y="{bottom + 16}">{in_short(across.first)}</text>',
        f'<text class="tick" x="{WIDTH - 2}" y="{bottom + 16}" text-anchor="end">'
        f"{in_short(across.last)}</text>",
        f'<text class="axis" x="{middle}" y="{HEIGHT - 5}" text-anchor="middle">'
        f"{escape(across.name)}</text>",
        f'<text class="tick" {left} y="12">{in_short(upwards.last)}</text>',
        f'<text class="tick" {left} y="{bottom - 2}">{in_short(upwards.first)}</text>',
        f'<text class="axis" {turned}>{escape(upwards.name)}</text>',
    ]
