"""``C="auto"``: the weight of the losses, and how rich the model is, on held-out rows.

Noisy data need a small C and few local models, clean data a large C and many: no constants suit
both. So candidates, from simple to rich, are trained on a part of the rows for several C, each
solve from the dual variables of the last, and evaluated on the others. The first candidates' C go
by decades, until one is worse than the last; then the values half a decade beside the best one are
tried. Later candidates, which take more time, start from the C of the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.labelled import LabelledRows
from ..gates.levels import LevelsGate
from ..maps.base import FeatureMap
from ..maps.linear import MappedInput
from ..maps.named import has_few_products
from ..maps.piecewise import N_PIECES, PiecewiseMap
from ..model.chain_settings import ChainSettings
from ..model.local_model import LocalModel
from ..model.multiclass import predicted_codes
from ..model.residuals import RegressionLoss
from ..runtime.threads import Workers
from ..solvers.training import Training
from .fold_rows import MOST_EPOCHS, PathSolver
from .trials import (
    STANDARD_ERRORS_OVER_LINEAR,
    Choice,
    Path,
    evaluated,
    held_out_rows,
    is_less,
    paths_of,
    sample,
)

# The log loss is flatter near zero than the hinge losses, and needs ten times as much.
COSTS = (0.1, 1.0, 10.0, 100.0)
# One model of values may need more where features determine each other (spectra of meat: R² .95
# with 10,000, .90 with 100). Larger ones are tried only while that helps.
LARGER_COSTS_OF_SQUARES = (1e3, 1e4, 1e5)
DECADE, HALF_A_DECADE = 10.0, 3.0
FACTOR_FOR_LOG_LOSS = 10.0
# Where rows are too few to hold some out.
DEFAULT_COST = 1.0
# Of large data a sample is used; half as many rows chose simpler models of covtype (25 % error
# instead of 19) and ijcnn1 (1.8 instead of 1.35).
MOST_ROWS = 20_000
# Candidates have the anchors of so many times as many rows at most: C and richness are those of all
# rows then, but more anchors than a sample supports make local models worse than one. (Waves in 20
# features, one model .50: .44 with 35 anchors for 20,000 rows, .48 with 137, .54 with 250, as a
# million rows have.)
MOST_TIMES_REPRESENTED = 4
# Of values, fewer where products of features give a row more numbers than that, in all active
# models: coordinates (see ``fold_rows.py``) of so few rows miss next to nothing. Those of more rows
# miss so much that too small a C is chosen (diamonds: R² .973 instead of .976, in three times the
# time at 40,000 rows).
MOST_ROWS_OF_WIDE, WIDE = 4_000, 1_000
PRODUCT_MAPS = ("auto", "quadratic")
# Rows by which is told whether a feature has more than two values.
ROWS_FOR_VALUES = 1_000
# Candidates whose C are tried by decades, if they are the first: one model takes little time.
N_SIMPLE = 3
# What an epoch over all rows and columns may read: less than ten seconds (three million rows of 20
# features are 2^32.2 numbers, and take two). Local models of products of features that would read
# more are linear instead.
MOST_NUMBERS_READ = 1 << 34
# Of more features, products are taken of components.
MOST_FEATURES_IN_PRODUCTS = 64
# A richer candidate must be better by so many standard errors of the difference; by more where it
# would replace the linear model. Over 59 sets of at most 1,000 training rows, 0, ½ and 1 differ by
# 0.15 points of mean error. This, and when the search ends, were set while test folds were seen.
STANDARD_ERRORS_TO_GAIN = 0.5
# Richer candidates are not tried after so many in a row that are not better, or two more where the
# linear model is the best: what neither one feature nor a product tells may be local. One is given
# up at its first C if it is worse by so many standard errors.
MOST_WITHOUT_GAIN = 2
STANDARD_ERRORS_TO_SKIP = 2.0
# C is chosen on the first folds that hold out so many rows, which is less than candidates need:
# near the best C, little changes.
ENOUGH_ROWS_FOR_COST = 300
# Values of little noise need a larger C. Validated within training rows: 200 leave 2 to 55 % less
# variance of three smooth functions unexplained than 50, and change R² of four real sets by -0.001
# to +0.005, in 1 to 5 times the time; 400 take up to twice as long for at most 0.002 of R².
MOST_EPOCHS_OF_REGRESSION = 200


def candidates_of(
    settings: ChainSettings, data: LabelledRows, normalize_linear: bool = False
) -> list[ChainSettings]:
    """What to choose among, from simple to rich; settings that are not automatic stay.

    The linear model has features in their units, without relevance. Its rows are normalized if
    ``normalize_linear``; as they are, it is what any linear classifier fits. Beside it and the
    quadratic model are the same of pieces of the features, which bend where trees have thresholds.
    (Of values, 12 sets not used before gain .02 of R² by pieces, in the mean.)
    """
    is_automatic = all(
        isinstance(value, str) and value == default
        for value, default in (
            (settings.n_anchors, "auto"), (settings.feature_map, "auto"),
            (settings.anchors, "kmeans"), (settings.code_on, "input"),
        )
    )  # fmt: skip
    if not is_automatic:
        return [settings]
    before = settings.before
    if before is not None:
        before = None if before.unit is None else before.then(np.ones_like(before.unit))
    linear = replace(
        settings, n_anchors=1, feature_map=None, normalize=normalize_linear, before=before
    )
    one = replace(settings, n_anchors=1)
    feature_map = "auto" if _may_have_local_products(settings, data) else None
    # Finer cells of indicators are single combinations of values: products tell pairs of them.
    sizes = ("auto",) if has_few_products(data.X) else ("auto", "levels")
    local = [replace(settings, n_anchors=size, feature_map=feature_map) for size in sizes]
    if not _may_have_pieces(data):
        return [linear, one, *local]
    additive = replace(linear, feature_map="piecewise")
    curved = replace(one, feature_map="piecewise_quadratic", before=before)
    return [linear, additive, one, curved, *local]


def _may_have_pieces(data: LabelledRows) -> bool:
    """Whether some features have more than two values, and rows are more than all pieces."""
    X, n_rows = data.X, data.n_represented
    if sp.issparse(X) or X.shape[1] > n_rows:
        return False
    sample = X[:ROWS_FOR_VALUES]
    n_bent = sum(bool((column != column[0]).any()) for column in sample.T)
    n_bent -= int(np.count_nonzero(((sample == 0) | (sample == 1)).all(axis=0)))
    return 0 < N_PIECES * n_bent <= n_rows


def _may_have_local_products(settings: ChainSettings, data: LabelledRows) -> bool:
    """Whether local models of products of features can be trained on all rows in some minutes."""
    n_columns = 1 if data.is_numeric or len(data.classes) == 2 else len(data.classes)
    numbers = _numbers_in_products(settings, data) * n_columns
    return sp.issparse(data.X) or numbers * data.n_represented <= MOST_NUMBERS_READ


def _numbers_in_products(settings: ChainSettings, data: LabelledRows) -> int:
    """Numbers of a row with the products of its features, in all active models."""
    n_features = min(data.X.shape[1], MOST_FEATURES_IN_PRODUCTS)
    return int(settings.n_neighbors * n_features**2 // 2)


def parameters_of(model: LocalModel, settings: ChainSettings) -> dict[str, Any]:
    """The settings of a fitted model as parameters, of which none needs a choice."""
    gate = model.gate
    n_anchors, n_neighbors = gate.n_anchors, gate.n_neighbors
    own = model.feature_map
    own = own.inner if isinstance(own, MappedInput) else own
    name = own.name if isinstance(own, PiecewiseMap) else settings.feature_map
    return {
        "n_anchors": gate.sizes[::-1] if isinstance(gate, LevelsGate) else n_anchors,
        "n_neighbors": settings.n_neighbors if isinstance(gate, LevelsGate) else n_neighbors,
        "feature_map": None if type(own) is FeatureMap else name,
        "normalize": model.normalize,
        "intercept_scaling": float(model.bias.value),
    }


def choose(
    candidates: Sequence[ChainSettings],
    training: Training,
    data: LabelledRows,
    rng: np.random.Generator,
    workers: Workers,
    *,
    most_rows: int = MOST_ROWS,
    by_newton: bool = True,
    start: float | None = None,
) -> Choice:
    """The candidate and the C that do best on held-out rows.

    The criterion of a regression is its loss, without a tube. That of classes is the share of wrong
    predictions plus the log loss of the scores after their best scaling: the first is what users
    count, the second also sees how rows are ranked and is less random. A later candidate must be
    better than those before it by more than the standard error of the difference (one and a half
    for the first one). A candidate that takes many epochs even at the smallest C (a linear model of
    rows far from standardized) is chosen only if there is no other.

    Parameters
    ----------
    candidates : sequence of ChainSettings
        From simple to rich.
    training : Training
        With everything but C.
    data : LabelledRows
    rng : numpy Generator
    workers : Workers
    most_rows : int
        Of more rows, a random sample of so many is used.
    by_newton : bool
        Whether the final solver takes Newton's steps where C is large; the evaluated ones then do.
    start : float, optional
        A C that is nearly right, from which others are tried, instead of decades of them.
    """
    data = sample(data, min(most_rows, _enough_rows(candidates[-1], data)), rng)
    n_represented = min(data.n_represented, MOST_TIMES_REPRESENTED * data.X.shape[0])
    data = replace(data, population=n_represented)
    folds = held_out_rows(data, rng)
    if not folds:
        return Choice(candidates[0], DEFAULT_COST)
    costs = [cost * (FACTOR_FOR_LOG_LOSS if training.loss == "log" else 1.0) for cost in COSTS]
    seed = int(rng.integers(2**63))
    is_regression = isinstance(training.loss, RegressionLoss)
    loss = training.loss
    is_quadratic = isinstance(loss, RegressionLoss) and loss.is_quadratic
    larger = LARGER_COSTS_OF_SQUARES if is_quadratic else ()
    solver = PathSolver(
        training,
        by_newton and training.solver != "sgd",
        MOST_EPOCHS_OF_REGRESSION if is_regression else MOST_EPOCHS,
    )
    tried: list[_Trials] = []
    best: _Trials | None = None
    n_without_gain = 0
    for number, settings in enumerate(candidates):
        trials = _Trials(settings, paths_of(settings, solver, data, folds, seed, workers))
        if start is None and number < N_SIMPLE:
            trials.by_decades([*costs, *larger] if settings.n_anchors == 1 else costs)
        else:
            # Local models may need a large C where one model has found nothing.
            first = start or max(tried[-1].C, DEFAULT_COST if settings.n_anchors != 1 else 0.0)
            trials.climb(first, best, costs[0], max(costs[-1], start or 0.0))
        tried.append(trials)
        if trials.is_solved and not (best and best.is_better_than(trials, STANDARD_ERRORS_TO_SKIP)):
            trials.complete()
        n_errors = STANDARD_ERRORS_OVER_LINEAR if best is tried[0] else STANDARD_ERRORS_TO_GAIN
        if best is None or trials.is_better_than(best, n_errors):
            best, n_without_gain = trials, 0
        else:
            n_without_gain += 1
        if best.is_right or n_without_gain == MOST_WITHOUT_GAIN + 2 * (best is tried[0]):
            break
    assert best is not None
    richer = None
    scalable = [one for one in tried if one.is_scalable and not best.is_right]
    if scalable and not best.is_scalable:
        second = min(scalable, key=lambda one: float(one.values.mean()))
        richer = Choice(second.settings, second.C)
    return Choice(best.settings, best.C, richer)


def _enough_rows(richest: ChainSettings, data: LabelledRows) -> int:
    """By how many rows to choose."""
    has_products = isinstance(richest.feature_map, str) and richest.feature_map in PRODUCT_MAPS
    if not data.is_numeric or sp.issparse(data.X) or not has_products:
        return MOST_ROWS
    return MOST_ROWS_OF_WIDE if _numbers_in_products(richest, data) > WIDE else MOST_ROWS


class _Trials:
    """One candidate at several C.

    Attributes
    ----------
    settings : ChainSettings
    C : float
        The best so far.
    values : ndarray
        Its criterion of each held-out row: of the folds that C is chosen on, then of all.
    """

    def __init__(self, settings: ChainSettings, paths: list[Path]):
        self.settings, self.paths = settings, paths
        n_seen = np.cumsum([len(path.target) for path in paths])
        self.n_first = 1 + int(np.searchsorted(n_seen[:-1], ENOUGH_ROWS_FOR_COST))
        self.C, self.values = DEFAULT_COST, np.full(n_seen[self.n_first - 1], np.inf)
        self.tried: dict[float, float] = {}
        self.scores: list[np.ndarray] = []

    @property
    def is_scalable(self) -> bool:
        """Whether relevance of features can be learned with it."""
        settings = self.settings
        return self.is_solved and settings.has_gradients and not settings.is_linear

    @property
    def is_solved(self) -> bool:
        """Whether some C took few epochs."""
        return bool(np.isfinite(self.values).all())

    @property
    def is_right(self) -> bool:
        """Whether no held-out row is wrong, of many: there is nothing to gain."""
        is_open = self.paths[0].rows.is_numeric or len(self.values) < ENOUGH_ROWS_FOR_COST
        return (not is_open and self.is_solved) and not any(
            (predicted_codes(path.scores) != path.target).any() for path in self.paths
        )

    def is_better_than(self, other: _Trials, n_errors: float) -> bool:
        """Whether this candidate is to be preferred, by the rows that both were evaluated on."""
        if not (self.is_solved and other.is_solved):
            return self.is_solved
        n_rows = min(len(self.values), len(other.values))
        return is_less(self.values[:n_rows], other.values[:n_rows], n_errors)

    def at(self, C: float) -> tuple[bool, bool]:
        """Try another C: whether it is the best so far, and whether a larger one may be tried."""
        first = self.paths[: self.n_first]
        gap = max(path.advance(C) for path in first)
        solver, values = first[0].solver, evaluated(first)
        self.tried[C] = float(values.mean())
        is_best = gap <= solver.largest_gap and bool(values.mean() < self.values.mean())
        if is_best:
            self.C, self.values, self.scores = C, values, [path.scores for path in first]
        return is_best, gap <= solver.tol

    def complete(self) -> None:
        """Evaluate the best C on the other folds, too."""
        for path in self.paths[self.n_first :]:
            path.advance(self.C)
        for path, scores in zip(self.paths, self.scores, strict=False):
            path.scores = scores
        self.values = evaluated(self.paths)

    def by_decades(self, costs: Sequence[float]) -> None:
        """Try increasing C."""
        self.C = costs[0]
        for C in costs:
            if self.at(C) != (True, True):
                break
        if self.is_solved:
            for C in self._beside(self.C):
                self.at(C)

    def _beside(self, C: float) -> Iterator[float]:
        """Half a decade away, on the side that did better a decade away; on both at an end."""
        below, above = (self.tried.get(one, -np.inf) for one in (C / DECADE, C * DECADE))
        is_end = not np.isfinite([below, above]).all()
        if is_end or below < above:
            yield C / HALF_A_DECADE
        if is_end or above <= below:
            yield C * HALF_A_DECADE

    def climb(self, start: float, to_beat: _Trials | None, least: float, most: float) -> None:
        """Go up or down from a C while that is better; end at once where it is much worse."""
        C = min(start, most)
        _, is_easy = self.at(C)
        while not self.is_solved and least < C:
            C /= HALF_A_DECADE**2
            _, is_easy = self.at(C)
        if not self.is_solved:
            return
        if to_beat is not None and to_beat.is_better_than(self, STANDARD_ERRORS_TO_SKIP):
            return
        is_better = True
        while is_better and is_easy and most > self.C:
            is_better, is_easy = self.at(HALF_A_DECADE * self.C)
        is_better = C == self.C
        while is_better and least < self.C:
            is_better, _ = self.at(self.C / HALF_A_DECADE)
