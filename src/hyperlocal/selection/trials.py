"""Held-out rows: candidates are trained on a part of the rows, and evaluated on the others.

Solves stop early, at a larger gap than the final one, and start from the dual variables of the last
C. How rows are stored for them is in :mod:`~hyperlocal.selection.fold_rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from ..data.labelled import LabelledRows, part_of
from ..data.splits import deal_folds
from ..model.chain_settings import ChainSettings
from ..model.lifting import LiftedRows
from ..model.local_model import LocalModel
from ..model.multiclass import joined_columns, predicted_codes
from ..model.problem import Problem
from ..model.residuals import RegressionLoss
from ..runtime.threads import Workers
from ..solvers.training import Training
from .fold_rows import FoldRows, LiftedFold, PathSolver, rows_of_folds

# Where rows are too few to hold some out.
FEWEST_ROWS = 20
# Of large data a sample is used. One fold of five is held out, or more of them until there are
# so many held-out rows: with fewer, the choice would be random.
N_FOLDS = 5
ENOUGH_HELD_OUT_ROWS = 1_000
# Of more classes, the rows of so many are used: a candidate solves a problem for each.
MOST_CLASSES = 200
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
        rows = rows_of_folds(chains[0], solver.training, data.X, folds, workers)
    return [
        Path(solver, chain, part, own, np.random.default_rng(seed))
        for chain, part, own in zip(chains, parts, rows, strict=True)
    ]


class Fold(NamedTuple):
    """Training and held-out rows."""

    train: LabelledRows
    test: LabelledRows


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


def criteria_for(training: Training, *, with_errors: bool = True) -> Criteria:
    """The criteria of a task: losses of a regression, or errors and log losses of classes.

    Log losses alone vary less from row to row: they tell small differences.
    """
    loss = training.loss
    if isinstance(loss, RegressionLoss):
        return loss.row_losses
    return row_criteria if with_errors else row_log_losses


def evaluated(paths: Sequence[Path], *, with_errors: bool = True) -> np.ndarray:
    """The criterion of each held-out row, one fold after the other."""
    parts = [(path.scores, path.target, path.sample_weight) for path in paths]
    criteria = criteria_for(paths[0].solver.training, with_errors=with_errors)
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
    wrong = predicted_codes(scores) != target
    log_losses = row_log_losses(scores, target, sample_weight)
    return sample_weight / sample_weight.mean() * wrong + log_losses


def row_log_losses(scores: np.ndarray, target: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
    """The log loss of each row after the best scaling of all scores, times the row's weight."""
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
    return weights * log_losses(best.x)


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


def repeated_rows(data: LabelledRows) -> LabelledRows:
    """Rows that stand for several equal ones, as several again: folds then share them.

    New rows are often equal to known ones where old ones are equal to each other, as those of a few
    columns of categories are; held out as a whole, such rows would be new to every model. A row
    stands for as many as its weight is times the unit of its class (the largest that divides whole
    numbers, otherwise the smallest weight), if that is a whole number for all rows; more copies
    than folds are not needed.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.data.labelled import LabelledRows
    >>> from hyperlocal.selection.trials import repeated_rows
    >>> weights = np.array([1.0, 3.0, 2.0, 20.0])
    >>> data = LabelledRows(np.eye(4), np.array([0, 0, 1, 1]), np.arange(2), weights)
    >>> repeated_rows(data).sample_weight
    array([1., 1., 1., 1., 2., 4., 4., 4., 4., 4.])
    """
    weights, strata = data.sample_weight, data.strata
    n_strata = int(strata.max()) + 1
    if weights.max() < 2**53 and np.array_equal(weights, np.rint(weights)):
        unit = np.zeros(n_strata, np.int64)
        np.gcd.at(unit, strata, weights.astype(np.int64))
    else:
        unit = np.full(n_strata, np.inf)
        np.minimum.at(unit, strata, weights)
    times = weights / unit[strata]
    counts = np.rint(times)
    if counts.max() == 1 or not np.allclose(times, counts, rtol=1e-9, atol=0):
        return data
    copies = np.minimum(counts, N_FOLDS).astype(np.intp)
    repeated = part_of(data, np.repeat(np.arange(len(copies)), copies))
    return replace(
        repeated, sample_weight=np.repeat(weights / copies, copies), population=data.n_represented
    )


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
