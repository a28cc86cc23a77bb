"""``C="auto"``: the weight of the losses, and whether one linear model is better, on held-out rows.

Noisy data need a small C and few local models, clean data a large C: no constant suits both. So a
path of increasing C is trained on a part of the rows, each solve from the dual variables of the
last, and evaluated on the others. The path goes by decades, until one is worse than the last; then
the values half a decade beside the best one are tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from ..data.labelled import LabelledRows, part_of
from ..data.splits import deal_folds
from ..model.lifting import LiftedRows
from ..model.local_model import ChainSettings, LocalModel
from ..model.multiclass import joined_columns, predicted_codes
from ..runtime.threads import Workers
from ..solvers import dual
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
# Solves stop at a larger gap than the final one, and a path where they take many epochs.
PATH_TOL = 1e-2
MOST_EPOCHS = 50


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

    The criterion is the share of wrong predictions plus the log loss of the scores after their best
    scaling: the first is what users count, the second also sees how rows are ranked and is less
    random. A later candidate must be better than those before it by more than the standard error of
    the difference, so that a richer model is not chosen by chance. A candidate that takes many
    epochs even at the smallest C (a linear model of rows far from standardized) is chosen only if
    there is no other.

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
    costs = np.array(COSTS) * (FACTOR_FOR_LOG_LOSS if training.loss == "log" else 1.0)
    seed = int(rng.integers(2**63))
    newton_after = None if by_newton and training.solver != "sgd" else np.inf
    training = replace(
        training, solver="dual", tol=max(PATH_TOL, training.tol),
        max_iter=min(MOST_EPOCHS, training.max_iter),
    )  # fmt: skip
    chosen, least = Choice(candidates[0], DEFAULT_COST), np.array([np.inf])
    for settings in candidates:
        paths = [
            _Path(settings, training, data, held, seed, workers, newton_after) for held in folds
        ]
        C, values = _best_cost(paths, costs)
        if np.isinf(least).any() or (np.isfinite(values).all() and is_less(values, least)):
            chosen, least = Choice(settings, C), values
    return chosen


def is_less(values: np.ndarray, others: np.ndarray, n_errors: float = 1.0) -> bool:
    """Whether the mean is less by more than some standard errors of the difference."""
    gains = others - values
    return float(gains.mean()) > n_errors * float(gains.std(ddof=1) / np.sqrt(len(gains)))


def _best_cost(paths: list[_Path], costs: np.ndarray) -> tuple[float, np.ndarray]:
    """The best C, and the criterion of each held-out row; infinite if no C takes few epochs."""
    tried: list[tuple[float, float, np.ndarray]] = []

    def advance(C: float) -> bool:
        easy = [path.advance(C) for path in paths]
        parts = [(path.scores, path.target, path.sample_weight) for path in paths]
        values = row_criteria(*map(np.concatenate, zip(*parts, strict=True)))
        # A C that takes many epochs here would take too many for all rows.
        if all(easy):
            tried.append((float(values.mean()), C, values))
        return all(easy)

    if not advance(float(costs[0])):
        return float(costs[0]), np.full(sum(len(path.target) for path in paths), np.inf)
    for C in costs[1:]:
        if not advance(float(C)) or tried[-1][0] > min(tried, key=_mean)[0]:
            break
    best = min(tried, key=_mean)[1]
    for C in (best / HALF_A_DECADE, best * HALF_A_DECADE):
        advance(C)
    _, C, values = min(tried, key=_mean)
    return C, values


def _mean(one: tuple[float, float, np.ndarray]) -> float:
    return one[0]


class _Path:
    """One fold: a chain fitted to its training rows, and solutions for increasing C."""

    def __init__(
        self,
        settings: ChainSettings,
        training: Training,
        data: LabelledRows,
        held: np.ndarray,
        seed: int,
        workers: Workers,
        newton_after: float | None,
    ):
        self.training, self.newton_after = training, newton_after
        self.rng = np.random.default_rng(seed)
        self.rows = replace(part_of(data, np.flatnonzero(~held)), population=data.n_represented)
        test = part_of(data, np.flatnonzero(held))
        self.target, self.sample_weight = test.target, test.sample_weight
        self.chain: LocalModel = settings.fit(self.rows, self.rng, workers)
        self.lifted: LiftedRows = self.chain.lift(self.rows.X, workers)
        self.test_rows: LiftedRows = self.chain.lift(test.X, workers)
        self.alpha: np.ndarray | None = None
        self.scores = np.zeros(0)

    def advance(self, C: float) -> bool:
        """Solve for the next C; whether that took fewer epochs than allowed."""
        problem = self.chain.problem(
            self.rows, C, self.training.loss, joint=self.training.joint, lifted=self.lifted
        )
        result = dual.solve(
            problem, tol=self.training.tol, max_iter=self.training.max_iter, rng=self.rng,
            alpha=self.alpha, newton_after=self.newton_after,
        )  # fmt: skip
        self.alpha = result.alpha
        scores = self.test_rows.scores(result.weights)
        self.scores = joined_columns(scores, len(self.rows.classes))
        return result.converged


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
