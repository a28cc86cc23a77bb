"""How the rows of a fold are stored, for solutions of moderate accuracy for one C after the other.

Wide rows are stored as coordinates in a basis of what they nearly span
(:mod:`~hyperlocal.solvers.coordinates`), which makes visits short. If losses are squares and rows
few, one system of the products of all rows has the solution.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from ..data.rows import take_rows
from ..model.lifting import LiftedRows
from ..model.local_model import LocalModel
from ..model.residuals import RegressionLoss
from ..runtime.threads import Workers
from ..solvers import dual
from ..solvers.coordinates import MOST_PIVOTS, as_lifted, coordinates
from ..solvers.newton import takes_products
from ..solvers.newton_rows import MOST_NUMBERS, raised
from ..solvers.training import Training

if TYPE_CHECKING:
    from .trials import Path

# Solves stop at a larger gap than the final one, or after so many epochs. No larger C is tried
# then, and this one counts if the gap is not much larger: all rows would take too many epochs.
PATH_TOL, PATH_TOL_OF_REGRESSION = 3e-2, 1e-2
MOST_EPOCHS = 30
MOST_TIMES_LONGER = 10
LARGEST_GAP = 0.1
# A system of the products of N rows takes less time than dual descent where N² is less than so many
# times the numbers that a visit takes (60 epochs; they take 30 to 200).
SQUARE_PER_NUMBER = 3_000
# Up to such costs, single precision is enough for it.
MOST_COST_IN_SINGLE = 1e3
# How many coordinates there are, about, for each row: .2 on covtype, .4 on letter.
COORDINATES_PER_ROW = 1 / 3


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

    def epochs_over(self, lifted: LiftedRows) -> int:
        """The most epochs: more over rows of which most numbers are zero, which take less time."""
        longer = min(MOST_TIMES_LONGER, (lifted.width + 1) / (lifted.row_length + 1))
        return min(int(self.most_epochs * longer), self.training.max_iter)

    @property
    def largest_gap(self) -> float:
        """A solution counts up to this gap."""
        return LARGEST_GAP if self.by_newton else self.tol


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
        solver, problem = path.solver, path.problem(C, self.train)
        newton_after = None if solver.by_newton else np.inf
        if solver.by_newton and takes_products(problem):
            newton_after = 0.0  # the products serve every C
        result = dual.solve(
            problem, tol=solver.tol, rng=path.rng, alpha=path.alpha, newton_after=newton_after,
            max_iter=solver.epochs_over(self.train), keep_best=False,
        )  # fmt: skip
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
        alpha = np.ascontiguousarray(roots * found)  # several columns are in the order of LAPACK
        return alpha.astype(rows.X.dtype), self.test @ alpha, 0.0


def rows_of_folds(
    chain: LocalModel,
    training: Training,
    X: Any,
    folds: Sequence[np.ndarray],
    workers: Workers,
) -> Sequence[FoldRows]:
    """Training and held-out rows of each fold; all rows are encoded once."""
    codes = chain.encode(X, workers)
    parts = [(np.flatnonzero(~held), np.flatnonzero(held)) for held in folds]
    if _is_one_system(chain, training.loss, X.shape[0]):
        lifted = chain.lift(X, workers, codes)
        products = raised(chain.products(X, lifted, np.arange(lifted.n_rows)))
        return [
            ProductsFold(products[np.ix_(train, train)], products[np.ix_(test, train)])
            for train, test in parts
        ]
    lifted = chain.lift(X, workers, codes)
    found = coordinates(chain, X, lifted) if is_wide(lifted) else None

    def lift(rows: np.ndarray) -> LiftedRows:
        if found is None:
            return chain.lift(take_rows(X, rows), workers, codes.take(rows))
        return as_lifted(found[rows], workers)

    return [LiftedFold(lift(train), lift(test)) for train, test in parts]


def _is_one_system(chain: LocalModel, loss: str | RegressionLoss, n_rows: int) -> bool:
    """Whether losses are squares, and a system of the rows' products is the fastest way."""
    if not (isinstance(loss, RegressionLoss) and loss.is_quadratic):
        return False
    width = chain.feature_map.n_features_out + 1
    is_wide = n_rows <= chain.n_anchors * width  # else there is a smaller system
    return is_wide and n_rows**2 <= SQUARE_PER_NUMBER * chain.gate.n_neighbors * width


def is_wide(lifted: LiftedRows) -> bool:
    """Whether a visit of a lifted row takes longer than one of its coordinates."""
    has_all = lifted.n_rows**2 < MOST_NUMBERS
    n_coordinates = COORDINATES_PER_ROW * lifted.n_rows if has_all else MOST_PIVOTS
    return lifted.visit_length > n_coordinates
