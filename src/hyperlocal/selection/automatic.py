"""``C="auto"``: the weight of the losses, and how rich the model is, on held-out rows.

Noisy data need a small C and few local models, clean data a large C and many: no constants suit
both. So candidates, from simple to rich, are trained on a part of the rows for several C, each
solve from the dual variables of the last, and evaluated on the others. The first candidates' C go
by decades, until one is worse than the last; then the values half a decade beside the best one are
tried. Later candidates, which take more time, start from the C of the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ..data.labelled import LabelledRows, part_of
from ..data.rows import core_rows
from ..data.splits import deal_folds
from ..gates.gate import ConstantGate
from ..gates.levels import LevelsGate
from ..maps.base import FeatureMap
from ..model.lifting import LiftedRows
from ..model.local_model import ChainSettings, LocalModel
from ..model.multiclass import joined_columns, predicted_codes
from ..model.problem import Problem
from ..model.residuals import RegressionLoss
from ..runtime.threads import Workers
from ..solvers import dual
from ..solvers.newton_rows import MOST_NUMBERS, written_out
from ..solvers.result import SolverResult
from ..solvers.training import Training

# The log loss is flatter near zero than the hinge losses, and needs ten times as much.
COSTS = (0.1, 1.0, 10.0, 100.0)
HALF_A_DECADE = 3.0
FACTOR_FOR_LOG_LOSS = 10.0
# Where rows are too few to hold some out.
DEFAULT_COST = 1.0
FEWEST_ROWS = 20
# Of large data a sample is used. One fold of five is held out, or more of them until there are
# so many held-out rows: with fewer, the choice would be random.
MOST_ROWS = 20_000
N_FOLDS = 5
ENOUGH_HELD_OUT_ROWS = 1_000
# Candidates whose C are tried by decades: a linear and a quadratic model take little time.
N_SIMPLE = 2
# A richer candidate must be better by so many standard errors of the difference; by more where it
# would replace the linear model. With 1, two of ten noisy tables left it by chance and lost 0.02 of
# AUC; with 2, sets of 200 rows stayed linear that should not (glass: 33 % error instead of 29).
ERRORS_TO_LEAVE_LINEAR = 1.5
ERRORS_TO_GAIN = 1.0
# Richer candidates are not tried after so many in a row that are not better; one is given up at its
# first C if it is worse by so many standard errors.
MOST_IN_VAIN = 2
N_ERRORS_TO_GIVE_UP = 2.0
# Solves stop at a larger gap than the final one, or after so many epochs. No larger C is tried
# then, and this one counts if the gap is not much larger: all rows would take too many epochs.
PATH_TOL = 1e-2
MOST_EPOCHS = 50
# Values of little noise need a larger C. Validated within training rows: 200 leave 2 to 55 % less
# variance of three smooth functions unexplained than 50, and change R² of four real sets by -0.001
# to +0.005, in 1 to 5 times the time; 400 take up to twice as long for at most 0.002 of R².
MOST_EPOCHS_OF_REGRESSION = 200
LARGEST_GAP = 0.1


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Attributes
    ----------
    settings : ChainSettings
        One of the candidates.
    C : float
    """

    settings: ChainSettings
    C: float


def candidates_of(settings: ChainSettings, normalize_linear: bool = False) -> list[ChainSettings]:
    """What to choose among, from simple to rich; settings that are not automatic stay.

    Rows of the linear model are normalized if ``normalize_linear``; as they are, it is what any
    linear classifier fits.
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
    linear = replace(
        settings, n_anchors=1, feature_map=None, normalize=normalize_linear, before=None
    )
    return [linear, *(replace(settings, n_anchors=size) for size in (1, "auto", "levels"))]


def parameters_of(model: LocalModel, settings: ChainSettings) -> dict[str, Any]:
    """The settings of a fitted model as parameters, of which none needs a choice."""
    gate = model.gate
    n_anchors, n_neighbors = gate.n_anchors, gate.n_neighbors
    is_linear = type(model.feature_map) is FeatureMap
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
    solver = _PathSolver(training, by_newton and training.solver != "sgd")
    best: _Trials | None = None
    first: _Trials | None = None
    last: _Trials | None = None
    n_in_vain = 0
    for number, settings in enumerate(candidates):
        paths = [_Path(settings, solver, data, held, seed, workers) for held in folds]
        trials = _Trials(settings, paths)
        if best is None or last is None or number < N_SIMPLE:
            trials.by_decades(costs)
        else:
            trials.climb(last.C, best, costs[0], costs[-1])
        last, first = trials, first or trials
        n_errors = ERRORS_TO_LEAVE_LINEAR if best is first else ERRORS_TO_GAIN
        if best is None or trials.is_better_than(best, n_errors):
            best, n_in_vain = trials, 0
        else:
            n_in_vain += 1
        if n_in_vain == MOST_IN_VAIN:
            break
    assert best is not None
    return Choice(best.settings, best.C)


def is_less(values: np.ndarray, others: np.ndarray, n_errors: float = 1.0) -> bool:
    """Whether the mean is less by more than so many standard errors of the difference."""
    gains = others - values
    return float(gains.mean()) > n_errors * float(gains.std(ddof=1) / np.sqrt(len(gains)))


@dataclass(frozen=True)
class _PathSolver:
    """Dual descent in few epochs; Newton's steps only where the final solver takes them."""

    training: Training
    by_newton: bool

    @property
    def tol(self) -> float:
        return max(PATH_TOL, self.training.tol)

    @property
    def largest_gap(self) -> float:
        """A solution counts up to this gap."""
        return LARGEST_GAP if self.by_newton else self.tol

    def solve(
        self, problem: Problem, rng: np.random.Generator, alpha: np.ndarray | None
    ) -> SolverResult:
        """A solution, as far as the epochs go."""
        is_regression = isinstance(self.training.loss, RegressionLoss)
        most = MOST_EPOCHS_OF_REGRESSION if is_regression else MOST_EPOCHS
        return dual.solve(
            problem, tol=self.tol, max_iter=min(most, self.training.max_iter), rng=rng,
            alpha=alpha, newton_after=None if self.by_newton else np.inf,
        )  # fmt: skip


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

    def __init__(self, settings: ChainSettings, paths: list[_Path]):
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
        solver = self.paths[0].solver
        parts = [(path.scores, path.target, path.sample_weight) for path in self.paths]
        loss = solver.training.loss
        criteria = loss.row_losses if isinstance(loss, RegressionLoss) else row_criteria
        values = criteria(*map(np.concatenate, zip(*parts, strict=True)))
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
        if to_beat.is_solved and is_less(to_beat.values, self.values, N_ERRORS_TO_GIVE_UP):
            return
        is_better = True
        while is_better and is_easy and most > self.C:
            is_better, is_easy = self.at(HALF_A_DECADE * self.C)
        is_better = C == self.C
        while is_better and least < self.C:
            is_better, _ = self.at(self.C / HALF_A_DECADE)


class _Path:
    """One fold: a chain fitted to its training rows, and solutions for increasing C."""

    def __init__(
        self,
        settings: ChainSettings,
        solver: _PathSolver,
        data: LabelledRows,
        held: np.ndarray,
        seed: int,
        workers: Workers,
    ):
        self.solver = solver
        self.rng = np.random.default_rng(seed)
        kept = np.flatnonzero(~held)
        self.rows = replace(part_of(data, kept), population=data.n_represented)
        test = part_of(data, np.flatnonzero(held))
        self.target = test.labels if test.is_numeric else test.target
        self.sample_weight = test.sample_weight
        self.chain: LocalModel = settings.fit(self.rows, self.rng, workers)
        self.lifted, self.test_rows = (
            _in_basis(self.chain.lift(data.X, workers), [kept, np.flatnonzero(held)])
            if _is_wide(self.chain, len(held))
            else (self.chain.lift(part.X, workers) for part in (self.rows, test))
        )
        self.alpha: np.ndarray | None = None
        self.scores = np.zeros(0)

    def advance(self, C: float) -> float:
        """Solve for the next C, as far as the epochs go; the relative duality gap."""
        training = self.solver.training
        problem = self.chain.problem(
            self.rows, C, training.loss, joint=training.joint, lifted=self.lifted
        )
        result = self.solver.solve(problem, self.rng, self.alpha)
        self.alpha = result.alpha
        self.scores = self.test_rows.scores(result.weights)
        if not self.rows.is_numeric:
            self.scores = joined_columns(self.scores, len(self.rows.classes))
        return result.duality_gap / max(result.objective, np.finfo(float).tiny)


def _is_wide(chain: LocalModel, n_rows: int) -> bool:
    """Whether a visit of a lifted row takes longer than one of a row of as many numbers as rows."""
    width = chain.feature_map.n_features_out + 1
    return chain.gate.n_neighbors * width > n_rows and n_rows * max(width, n_rows) < MOST_NUMBERS


def _in_basis(lifted: LiftedRows, parts: Sequence[np.ndarray]) -> tuple[LiftedRows, ...]:
    """Parts of the rows as coordinates in a basis of what all of them span."""
    coordinates = written_out(lifted).astype(lifted.dtype)

    def lift(rows: np.ndarray) -> LiftedRows:
        own = coordinates[rows]
        codes = ConstantGate().encode(own, lifted.workers)
        return LiftedRows(core_rows(own), codes, 1, 0.0, False, lifted.workers)

    return tuple(map(lift, parts))


def row_criteria(scores: np.ndarray, target: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
    """For each row, 1 if it is predicted wrongly, plus its log loss after the best scaling.

    Values are multiplied by the rows' weights, of mean one.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.selection.automatic import row_criteria
    >>> scores, weights = np.array([[-2.0], [1.0], [3.0]]), np.ones(3)
    >>> right, wrong = np.array([0, 1, 1]), np.array([0, 0, 1])
    >>> means = [row_criteria(scores, target, weights).mean() for target in (right, wrong)]
    >>> bool(means[0] < means[1])
    True
    """
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    scores = scores.astype(np.float64)
    weights = sample_weight / sample_weight.mean()
    margins = scores - scores[np.arange(len(target)), target][:, None]
    margins /= margins.std() or 1.0

    def log_losses(log_scale: float) -> np.ndarray:
        return np.logaddexp.reduce(margins * np.exp(log_scale), axis=1)

    best = minimize_scalar(
        lambda log_scale: float(weights @ log_losses(log_scale)), bounds=(-4, 6), method="bounded"
    )
    return weights * ((predicted_codes(scores) != target) + log_losses(best.x))


def sample(data: LabelledRows, most_rows: int, rng: np.random.Generator) -> LabelledRows:
    """At most so many random rows, which represent all."""
    n_rows = data.X.shape[0]
    if n_rows <= most_rows:
        return data
    sample = part_of(data, rng.choice(n_rows, most_rows, replace=False))
    return replace(sample, population=data.n_represented)


def held_out_rows(data: LabelledRows, rng: np.random.Generator) -> list[np.ndarray]:
    """Which rows each evaluated fold holds out; none where the rows are too few.

    Each class keeps a row to train on.
    """
    target = data.strata
    if len(target) < FEWEST_ROWS:
        return []
    fold = deal_folds(target, N_FOLDS, rng)
    counts = np.bincount(target)
    fold[counts[target] == 1] = N_FOLDS
    n_folds = int(np.clip(np.ceil(ENOUGH_HELD_OUT_ROWS * N_FOLDS / len(target)), 1, N_FOLDS))
    held = [fold == number for number in range(n_folds)]
    return [one for one in held if one.any()]
