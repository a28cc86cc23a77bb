"""``C="auto"``: the weight of the losses, and how rich the model is, on held-out rows.

Noisy data need a small C and few local models, clean data a large C and many: no constants suit
both. So candidates, from simple to rich, are trained on a part of the rows for several C, each
solve from the dual variables of the last, and evaluated on the others. The first candidates' C go
by decades, until one is worse than the last; then the values half a decade beside the best one are
tried. Later candidates, which take more time, start from the C of the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..data.labelled import LabelledRows
from ..gates.levels import LevelsGate
from ..maps.base import FeatureMap
from ..maps.linear import MappedInput
from ..model.chain_settings import ChainSettings
from ..model.local_model import LocalModel
from ..model.residuals import RegressionLoss
from ..runtime.threads import Workers
from ..solvers.training import Training
from .trials import (
    MOST_EPOCHS,
    STANDARD_ERRORS_OVER_LINEAR,
    Choice,
    Path,
    PathSolver,
    evaluated,
    held_out_rows,
    is_less,
    paths_of,
    sample,
)

# The log loss is flatter near zero than the hinge losses, and needs ten times as much.
COSTS = (0.1, 1.0, 10.0, 100.0)
HALF_A_DECADE = 3.0
FACTOR_FOR_LOG_LOSS = 10.0
# Where rows are too few to hold some out.
DEFAULT_COST = 1.0
# Of large data a sample is used.
MOST_ROWS = 20_000
# Candidates whose C are tried by decades: a linear and a quadratic model take little time.
N_SIMPLE = 2
# A richer candidate must be better by so many standard errors of the difference; by more where it
# would replace the linear model.
STANDARD_ERRORS_TO_GAIN = 1.0
# Richer candidates are not tried after so many in a row that are not better; no other C is tried
# with a candidate whose first is worse by so many standard errors.
MOST_WITHOUT_GAIN = 2
STANDARD_ERRORS_TO_SKIP = 2.0
# Values of little noise need a larger C. Validated within training rows: 200 leave 2 to 55 % less
# variance of three smooth functions unexplained than 50, and change R² of four real sets by -0.001
# to +0.005, in 1 to 5 times the time; 400 take up to twice as long for at most 0.002 of R².
MOST_EPOCHS_OF_REGRESSION = 200


def candidates_of(settings: ChainSettings, normalize_linear: bool = False) -> list[ChainSettings]:
    """What to choose among, from simple to rich; settings that are not automatic stay.

    The linear model has features in their units: a relevance that was given is for the others. (A
    caller that has learned scales of features, and chooses again, sets them for all candidates.)
    Its rows are normalized if ``normalize_linear``; as they are, it is what any linear classifier
    fits.
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
    return [linear, *(replace(settings, n_anchors=size) for size in (1, "auto", "levels"))]


def parameters_of(model: LocalModel, settings: ChainSettings) -> dict[str, Any]:
    """The settings of a fitted model as parameters, of which none needs a choice."""
    gate = model.gate
    n_anchors, n_neighbors = gate.n_anchors, gate.n_neighbors
    own = model.feature_map
    is_linear = type(own.inner if isinstance(own, MappedInput) else own) is FeatureMap
    return {
        "n_anchors": gate.sizes[::-1] if isinstance(gate, LevelsGate) else n_anchors,
        "n_neighbors": settings.n_neighbors if isinstance(gate, LevelsGate) else n_neighbors,
        "feature_map": None if is_linear else settings.feature_map,
        "normalize": model.normalize,
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
    """
    data = sample(data, most_rows, rng)
    folds = held_out_rows(data, rng)
    if not folds:
        return Choice(candidates[0], DEFAULT_COST)
    costs = [cost * (FACTOR_FOR_LOG_LOSS if training.loss == "log" else 1.0) for cost in COSTS]
    seed = int(rng.integers(2**63))
    is_regression = isinstance(training.loss, RegressionLoss)
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
        if best is None or number < N_SIMPLE:
            trials.by_decades(costs)
        else:
            trials.climb(tried[-1].C, best, costs[0], costs[-1])
        tried.append(trials)
        n_errors = STANDARD_ERRORS_OVER_LINEAR if best is tried[0] else STANDARD_ERRORS_TO_GAIN
        if best is None or trials.is_better_than(best, n_errors):
            best, n_without_gain = trials, 0
        else:
            n_without_gain += 1
        if n_without_gain == MOST_WITHOUT_GAIN:
            break
    assert best is not None
    richer = None
    if best is tried[0] and len(tried) > 1:
        second = min(tried[1:], key=lambda one: float(one.values.mean()))
        richer = Choice(second.settings, second.C) if second.is_solved else None
    return Choice(best.settings, best.C, richer)


class _Trials:
    """One candidate at several C.

    Attributes
    ----------
    settings : ChainSettings
    C : float
        The best so far.
    values : ndarray of shape (n_held_out,)
        Its criterion of each held-out row.
    """

    def __init__(self, settings: ChainSettings, paths: list[Path]):
        self.settings, self.paths = settings, paths
        n_held_out = sum(len(path.target) for path in paths)
        self.C, self.values = DEFAULT_COST, np.full(n_held_out, np.inf)

    @property
    def is_solved(self) -> bool:
        """Whether some C took few epochs."""
        return bool(np.isfinite(self.values).all())

    def is_better_than(self, other: _Trials, n_errors: float) -> bool:
        """Whether this candidate is to be preferred."""
        if not (self.is_solved and other.is_solved):
            return self.is_solved
        return is_less(self.values, other.values, n_errors)

    def at(self, C: float) -> tuple[bool, bool]:
        """Try another C: whether it is the best so far, and whether a larger one may be tried."""
        gap = max(path.advance(C) for path in self.paths)
        solver, values = self.paths[0].solver, evaluated(self.paths)
        is_best = gap <= solver.largest_gap and bool(values.mean() < self.values.mean())
        if is_best:
            self.C, self.values = C, values
        return is_best, gap <= solver.tol

    def by_decades(self, costs: Sequence[float]) -> None:
        """Try increasing C."""
        self.C = costs[0]
        for C in costs:
            if self.at(C) != (True, True):
                break
        if self.is_solved:
            for C in (self.C / HALF_A_DECADE, self.C * HALF_A_DECADE):
                self.at(C)

    def climb(self, start: float, to_beat: _Trials, least: float, most: float) -> None:
        """Go up or down from a C while that is better; end at once where it is much worse."""
        C = min(start, most)
        _, is_easy = self.at(C)
        while not self.is_solved and least < C:
            C /= HALF_A_DECADE**2
            _, is_easy = self.at(C)
        if not self.is_solved:
            return
        if to_beat.is_solved and is_less(to_beat.values, self.values, STANDARD_ERRORS_TO_SKIP):
            return
        is_better = True
        while is_better and is_easy and most > self.C:
            is_better, is_easy = self.at(HALF_A_DECADE * self.C)
        is_better = C == self.C
        while is_better and least < self.C:
            is_better, _ = self.at(self.C / HALF_A_DECADE)
