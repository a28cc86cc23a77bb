"""How the weights of a chain are trained: the parameters that estimators share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.arguments import check_choice, check_number
from ..data.labelled import LabelledRows
from ..model.local_model import LocalModel
from ..model.losses import LOSSES
from ..model.problem import Problem
from ..model.residuals import RegressionLoss
from ..runtime.progress import Monitor
from ..runtime.threads import Workers
from . import dual, qp, sgd
from .result import SolverResult

SOLVERS = ("dual", "sgd", "qp")
MULTI_CLASS = ("ovr", "crammer_singer")


@dataclass(frozen=True)
class Training:
    """Loss, its weight, and the solver.

    Attributes
    ----------
    C : float
        Weight of the losses against ``½‖W‖²``.
    loss : {"hinge", "squared_hinge", "log"} or RegressionLoss
    multi_class : {"ovr", "crammer_singer"}
    solver : {"dual", "sgd", "qp"}
    tol : float
    max_iter : int
    penalize_intercept : bool
        Whether "sgd" penalizes intercepts, as the other solvers do.
    """

    C: float
    loss: str | RegressionLoss
    multi_class: str = "ovr"
    solver: str = "dual"
    tol: float = 1e-3
    max_iter: int = 1000
    penalize_intercept: bool = False

    @property
    def joint(self) -> bool:
        """Whether all classes are trained as one problem."""
        return self.multi_class == "crammer_singer"

    def check(self, solvers: tuple[str, ...] = SOLVERS) -> None:
        """Raise unless the parameters make sense, alone and together."""
        check_number("C", self.C)
        check_number("tol", self.tol, inclusive=True)
        check_number("max_iter", self.max_iter, integer=True, above=1, inclusive=True)
        check_choice("solver", self.solver, solvers)
        if isinstance(self.loss, RegressionLoss):
            self.loss.check()
            return
        check_choice("loss", self.loss, LOSSES)
        check_choice("multi_class", self.multi_class, MULTI_CLASS)
        if self.loss == "log" and self.solver == "qp":
            raise ValueError("solver='qp' cannot use loss='log'; use solver='dual' or 'sgd'.")
        if self.loss == "log" and self.joint:
            raise ValueError(
                "multi_class='crammer_singer' is a margin loss; use loss='hinge' or "
                "'squared_hinge', or multi_class='ovr' with loss='log'."
            )

    def problem(self, model: LocalModel, data: LabelledRows, workers: Workers) -> Problem:
        """The problem of labelled rows for a model's gate and map."""
        return model.problem(data, self.C, self.loss, joint=self.joint, workers=workers)

    def solve(
        self,
        problem: Problem,
        rng: np.random.Generator,
        monitor: Monitor | None = None,
        *,
        alpha: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ) -> SolverResult:
        """Minimize the objective, from dual variables ("dual") or weights ("sgd") if given."""
        if self.solver == "qp":
            return qp.solve(problem, tol=self.tol, max_iter=self.max_iter)
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "rng": rng}
        options["monitor"] = monitor
        if self.solver == "sgd":
            return sgd.solve(
                problem, start=weights, penalize_intercept=self.penalize_intercept, **options
            )
        return dual.solve(problem, alpha=alpha, **options)

    def advice(self, result: SolverResult) -> str:
        """The warning for a result that did not converge."""
        if self.solver == "sgd":
            return (
                f"SGD was stopped after {result.n_iter} epochs before the objective settled to "
                f"tol={self.tol:g}; raise max_iter or tol."
            )
        share = result.duality_gap / result.objective if result.objective else np.nan
        unit = "iterations" if self.solver == "qp" else "epochs"
        return (
            f"stopped after {result.n_iter} {unit} at a relative duality gap of {share:.1e}, above "
            f"tol={self.tol:g}; raise max_iter or tol, lower C, or scale the features."
        )
