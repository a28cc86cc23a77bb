"""Arguments and results of the training of cluster-wise models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.arguments import check_choice
from ..data.labelled import LabelledRows
from ..model.kernel_model import KernelModel
from ..model.local_model import LocalModel
from ..model.problem import Problem
from ..solvers.libsvm import KernelResult
from ..solvers.result import SolverResult
from ..solvers.training import Training

# "auto" C is this over the mean squared length of the lifted rows. In units of one over that length
# the best values by validation lay between 3 and 100 (benchmarks/landmark.py).
TYPICAL_COST = 10.0


@dataclass(frozen=True)
class ClusterTraining:
    """Loss, its weight and when to stop; ``C`` may be "auto".

    Attributes
    ----------
    C : float or "auto"
    loss : {"hinge", "squared_hinge", "log"}
    tol : float
    max_iter : int
    """

    C: Any
    loss: str
    tol: float
    max_iter: int

    def check(self) -> None:
        """Raise unless the parameters make sense."""
        if isinstance(self.C, str):
            check_choice("C", self.C, ["auto"])
        self._with(1.0 if isinstance(self.C, str) else self.C).check()

    def for_rows(self, squared_norms: np.ndarray, data: LabelledRows) -> Training:
        """With a number for ``C``; "auto" does not depend on the scale of the lifted rows.

        Parameters
        ----------
        squared_norms : ndarray
            Of the lifted rows, or of the first of them.
        data : LabelledRows
        """
        if not isinstance(self.C, str):
            return self._with(float(self.C))
        weights = data.sample_weight[: len(squared_norms)]
        typical = float(np.average(squared_norms.astype(np.float64), weights=weights))
        return self._with(TYPICAL_COST / typical if typical > 0 else TYPICAL_COST)

    def _with(self, C: float) -> Training:
        return Training(C, self.loss, tol=self.tol, max_iter=self.max_iter)


@dataclass(frozen=True)
class ClusterFit:
    """The result of training.

    Attributes
    ----------
    model : LocalModel or KernelModel
    training : Training
        With the ``C`` that was used.
    result : SolverResult
    dual_coef : ndarray of shape (n_rows, n_columns)
        ``α_i y_i`` of the training rows.
    """

    model: LocalModel | KernelModel
    training: Training
    result: SolverResult
    dual_coef: np.ndarray


def linear_fit(
    model: LocalModel, training: Training, problem: Problem, result: SolverResult
) -> ClusterFit:
    """A fit by the dual solver."""
    assert result.alpha is not None
    return ClusterFit(model, training, result, problem.signed(result.alpha))


def kernel_fit(
    model: KernelModel, training: Training, parts: list[KernelResult], dual_coef: np.ndarray
) -> ClusterFit:
    """A fit by one or several runs of LIBSVM."""
    result = SolverResult(
        weights=np.empty((0, dual_coef.shape[1], 0), model.dtype),
        n_iter=max(part.n_iter for part in parts),
        objective=sum(part.objective for part in parts),
        duality_gap=sum(part.duality_gap for part in parts),
        converged=True,
    )
    return ClusterFit(model, training, result, dual_coef)
