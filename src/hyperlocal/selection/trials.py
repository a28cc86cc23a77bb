"""Held-out rows: candidates are trained on a part of the rows, and evaluated on the others.

Solves stop early, at a larger gap than the final one, and start from the dual variables of the last
C. Where lifted rows are wide and few, they are written as coordinates in a basis of what they span;
if losses are squares, one system of their products has the solution.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.optimize import minimize_scalar

from ..data.labelled import LabelledRows, part_of
from ..data.rows import core_rows, take_rows
from ..data.splits import deal_folds
from ..gates.gate import ConstantGate
from ..model.chain_settings import ChainSettings
from ..model.lifting import LiftedRows
from ..model.local_model import LocalModel
from ..model.multiclass import joined_columns, predicted_codes
from ..model.problem import Problem
from ..model.residuals import RegressionLoss
from ..runtime.threads import Workers
from ..solvers import dual
from ..solvers.newton_rows import MOST_NUMBERS, raised, rows_of_products
from ..solvers.result import SolverResult
from ..solvers.training import Training

# Where rows are too few to hold some out.
FEWEST_ROWS = 20
# Of large data a sample is used. One fold of five is held out, or more of them until there are
# so many held-out rows: with fewer, the choice would be random.
N_FOLDS = 5
ENOUGH_HELD_OUT_ROWS = 1_000
# Of more classes, the rows of so many are used: a candidate solves a problem for each.
MOST_CLASSES = 200
# Solves stop at a larger gap than the final one, or after so many epochs. No larger C is tried
# then, and this one counts if the gap is not much larger: all rows would take too many epochs.
PATH_TOL, PATH_TOL_OF_REGRESSION = 3e-2, 1e-2
MOST_EPOCHS = 30
LARGEST_GAP = 0.1
# A system of the products of N rows takes less time than dual descent where N² is less than so many
# times the numbers that a visit takes (60 epochs; they take 30 to 200).
SQUARE_PER_NUMBER = 3_000
# Up to such costs, single precision is enough for it.
MOST_COST_IN_SINGLE = 1e3
# What a wide lifted row may miss of its square.
MISSED = 1e-2
# What a model must gain, in standard errors of the difference, to replace a linear one. With 1, two
# of ten noisy tables left it by chance and lost 0.02 of AUC; with 2, sets of 200 rows stayed linear
# that should not (glass: 33 % error instead of 29).
STANDARD_ERRORS_OVER_LINEAR = 1.5

# From scores, targets and weights of rows to one number per row, lower is better.
Criteria = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Attributes
    ----------
    settings : ChainSettings
        One of the candidates.
    C : float
    richer : Choice or None
        The best of those candidates whose relevance of features can be learned, where that of
        the chosen one cannot.
    """

    settings: ChainSettings
    C: float
    richer: Choice | None = None


@dataclass(frozen=True)
class PathSolver:
    """Dual descent in few epochs; Newton's steps only where the final solver takes them."""

    training: Training
    by_newton: bool
    most_epochs: int = MOST_EPOCHS

    @property
    def tol(self) -> float:
        is_regression = isinstance(self.training.loss, RegressionLoss)
        return max(PATH_TOL_OF_REGRESSION if is_regression else PATH_TOL, self.training.tol)

    @property
    def largest_gap(self) -> float:
        """A solution counts up to this gap."""
        return LARGEST_GAP if self.by_newton else self.tol

    def solve(
        self, problem: Problem, rng: np.random.Generator, alpha: np.ndarray | None
    ) -> SolverResult:
        """A solution, as far as the epochs go."""
        return dual.solve(
            problem, tol=self.tol, max_iter=min(self.most_epochs, self.training.max_iter), rng=rng,
            alpha=alpha, newton_after=None if self.by_newton else np.inf,
        )  # fmt: skip


def paths_of(
    settings: ChainSettings,
    solver: PathSolver,
    data: LabelledRows,
    folds: Sequence[np.ndarray],
    seed: int,
    workers: Workers,
) -> list[Path]:
    """The folds of a candidate. Gate and map are fitted once, to all rows, but for their labels.

    Only a transformer may use labels: it is fitted to the training rows of each fold.
    """

    def fit(rows: LabelledRows) -> LocalModel:
        rows = replace(rows, population=data.n_represented)
        return settings.fit(rows, np.random.default_rng(seed), workers)

    parts = [
        Fold(*(part_of(data, np.flatnonzero(rows)) for rows in (~held, held))) for held in folds
    ]
    rows: Sequence[FoldRows]
    if settings.may_use_labels:
        chains = [fit(part.train) for part in parts]
        rows = [
            LiftedFold(chain.lift(part.train.X, workers), chain.lift(part.test.X, workers))
            for chain, part in zip(chains, parts, strict=True)
        ]
    else:
        chains = [fit(data)] * len(folds)
        rows = _rows_of_folds(chains[0], solver, data, folds, workers)
    return [
        Path(solver, chain, part, own, np.random.default_rng(seed))
        for chain, part, own in zip(chains, parts, rows, strict=True)
    ]


class Fold(NamedTuple):
    """Training and held-out rows."""

    train: LabelledRows
    test: LabelledRows


class FoldRows(ABC):
    """What training and held-out rows of a fold are stored as."""

    @abstractmethod
    def solve(self, path: Path, C: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Dual variables, scores of held-out rows, and the relative duality gap."""


@dataclass(frozen=True)
class LiftedFold(FoldRows):
    """Lifted rows, for dual descent from the last variables, as far as the epochs go."""

    train: LiftedRows
    test: LiftedRows

    def solve(self, path: Path, C: float) -> tuple[np.ndarray, np.ndarray, float]:
        """See the base class."""
        result = path.solver.solve(path.problem(C, self.train), path.rng, path.alpha)
        gap = result.duality_gap / max(result.objective, np.finfo(float).tiny)
        assert result.alpha is not None  # dual descent has them
        return result.alpha, self.test.scores(result.weights), gap


@dataclass(frozen=True)
class ProductsFold(FoldRows):
    """Products ``K`` of lifted rows, for losses ``C_i r²``: ``(K + diag(1/2C_i)) α = y``."""

    train: np.ndarray
    test: np.ndarray

    def solve(self, path: Path, C: float) -> tuple[np.ndarray, np.ndarray, float]:
        """See the base class."""
        rows = path.rows
        # Times the roots of 2C_i on both sides: no eigenvalue is below one, and C_i may be zero.
        roots = np.sqrt(2 * C * rows.sample_weight)
        is_single = roots.max() ** 2 <= 2 * MOST_COST_IN_SINGLE
        roots = roots.astype(np.float32 if is_single else np.float64)[:, None]
        matrix = self.train * roots
        matrix *= roots.T
        matrix.flat[:: len(matrix) + 1] += 1
        values = rows.labels.reshape(len(roots), -1)
        (posv,) = get_lapack_funcs(("posv",), (matrix,))
        # The transposed matrix is the same in the order of LAPACK.
        _, found, _ = posv(matrix.T, roots * values.astype(roots.dtype), overwrite_a=True)
        alpha = roots * found
        return alpha.astype(rows.X.dtype), self.test @ alpha, 0.0


class Path:
    """One fold of a chain: solutions for increasing C.

    Attributes
    ----------
    rows : LabelledRows
        Those to train on.
    target, sample_weight : ndarray of shape (n_held_out,)
    scores : ndarray of shape (n_held_out, n_columns)
        Of the last C.
    """

    def __init__(
        self,
        solver: PathSolver,
        chain: LocalModel,
        fold: Fold,
        stored: FoldRows,
        rng: np.random.Generator,
    ):
        self.solver, self.chain, self.rng = solver, chain, rng
        self.rows, self.stored = fold.train, stored
        self.target = fold.test.labels if fold.test.is_numeric else fold.test.target
        self.sample_weight = fold.test.sample_weight
        self.alpha: np.ndarray | None = None
        self.scores = np.zeros(0)

    def advance(self, C: float) -> float:
        """Solve for the next C; the relative duality gap."""
        self.alpha, self.scores, gap = self.stored.solve(self, C)
        if not self.rows.is_numeric:
            self.scores = joined_columns(self.scores, len(self.rows.classes))
        return gap

    def problem(self, C: float, lifted: LiftedRows) -> Problem:
        """The problem of the fold's training rows."""
        training = self.solver.training
        return self.chain.problem(self.rows, C, training.loss, joint=training.joint, lifted=lifted)

    def model(self, workers: Workers) -> LocalModel:
        """The trained model of the last C: the weights that belong to its dual variables."""
        assert self.alpha is not None
        lifted = self.chain.lift(self.rows.X, workers)
        problem = self.problem(1.0, lifted)
        weights = lifted.zero_weights(problem.n_columns)
        lifted.add(problem.signed(self.alpha.astype(lifted.dtype)), weights)
        return self.chain.trained(weights)


def _rows_of_folds(
    chain: LocalModel,
    solver: PathSolver,
    data: LabelledRows,
    folds: Sequence[np.ndarray],
    workers: Workers,
) -> Sequence[FoldRows]:
    """Training and held-out rows of each fold; all rows are encoded once."""
    codes = chain.encode(data.X, workers)
    parts = [(np.flatnonzero(~held), np.flatnonzero(held)) for held in folds]
    if _is_one_system(chain, solver.training.loss, len(data.target)):
        products = raised(chain.products(data.X, codes, workers).astype(np.float32))
        return [
            ProductsFold(products[np.ix_(train, train)], products[np.ix_(test, train)])
            for train, test in parts
        ]
    is_wide = _is_wide(chain, len(data.target))
    if is_wide:
        # Coordinates in a basis of what all rows span, nearly: far fewer numbers than the lifted
        # rows have. Single precision is enough to compare models.
        products = chain.products(data.X, codes, workers).astype(np.float32)
        coordinates = rows_of_products(products, MISSED)

    def lift(rows: np.ndarray) -> LiftedRows:
        if not is_wide:
            return chain.lift(take_rows(data.X, rows), workers, codes.take(rows))
        own = coordinates[rows]
        constant = ConstantGate().encode(own, workers)
        return LiftedRows(core_rows(own), constant, 1, 0.0, False, workers)

    return [LiftedFold(lift(train), lift(test)) for train, test in parts]


def _is_one_system(chain: LocalModel, loss: str | RegressionLoss, n_rows: int) -> bool:
    """Whether losses are squares, and a system of the rows' products is the fastest way."""
    if not (isinstance(loss, RegressionLoss) and loss.is_quadratic):
        return False
    width = chain.feature_map.n_features_out + 1
    is_wide = n_rows <= chain.n_anchors * width  # else there is a smaller system
    return is_wide and n_rows**2 <= SQUARE_PER_NUMBER * chain.gate.n_neighbors * width


def _is_wide(chain: LocalModel, n_rows: int) -> bool:
    """Whether a visit of a lifted row takes longer than one of a row of as many numbers as rows."""
    width = chain.feature_map.n_features_out + 1
    return chain.gate.n_neighbors * width > n_rows and n_rows**2 < MOST_NUMBERS


def criteria_for(training: Training) -> Criteria:
    """The criteria of a task: losses of a regression, or errors and log losses of classes."""
    loss = training.loss
    return loss.row_losses if isinstance(loss, RegressionLoss) else row_criteria


def evaluated(paths: Sequence[Path]) -> np.ndarray:
    """The criterion of each held-out row, one fold after the other."""
    parts = [(path.scores, path.target, path.sample_weight) for path in paths]
    criteria = criteria_for(paths[0].solver.training)
    return criteria(*map(np.concatenate, zip(*parts, strict=True)))


def is_less(values: np.ndarray, others: np.ndarray, n_errors: float = 1.0) -> bool:
    """Whether the mean is less by more than so many standard errors of the difference."""
    gains = others - values
    return float(gains.mean()) > n_errors * float(gains.std(ddof=1) / np.sqrt(len(gains)))


def row_criteria(scores: np.ndarray, target: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
    """For each row, 1 if it is predicted wrongly, plus its log loss after the best scaling.

    Values are multiplied by the rows' weights, of mean one.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.selection.trials import row_criteria
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
    """At most so many random rows, of at most ``MOST_CLASSES`` classes, which represent all."""
    n_all, n_classes = data.n_represented, len(data.classes)
    if not data.is_numeric and n_classes > MOST_CLASSES:
        kept = np.sort(rng.choice(n_classes, MOST_CLASSES, replace=False))
        data = part_of(data, np.flatnonzero(np.isin(data.target, kept)))
        codes = np.searchsorted(kept, data.target).astype(data.target.dtype)
        data = replace(data, target=codes, classes=data.classes[kept], population=n_all)
    if data.X.shape[0] <= most_rows:
        return data
    sample = part_of(data, rng.choice(data.X.shape[0], most_rows, replace=False))
    return replace(sample, population=n_all)


def held_out_rows(
    data: LabelledRows,
    rng: np.random.Generator,
    enough: int = ENOUGH_HELD_OUT_ROWS,
) -> list[np.ndarray]:
    """Which rows each evaluated fold holds out; none where the rows are too few.

    There are as many folds as hold out enough rows. Each class keeps a row to train on.
    """
    target = data.strata
    if len(target) < FEWEST_ROWS:
        return []
    fold = deal_folds(target, N_FOLDS, rng)
    counts = np.bincount(target)
    fold[counts[target] == 1] = N_FOLDS
    n_folds = int(np.clip(np.ceil(enough * N_FOLDS / len(target)), 1, N_FOLDS))
    held = [fold == number for number in range(n_folds)]
    return [one for one in held if one.any()]
