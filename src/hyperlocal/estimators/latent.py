"""LatentLocallyLinearSVC: latent locally linear models of Fornoni et al. (2013), ML3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any

import numpy as np

from ..data.arguments import check_number
from ..data.labelled import LabelledRows
from ..model.latent_model import LatentModel
from ..runtime.progress import Monitor
from ..runtime.threads import Workers
from ..solvers import latent
from .learned_choice import GateSettings
from .learned_gate import (
    LearnedGateClassifier,
    costs_of,
    is_auto,
    passes_per_epoch,
)

FIRST_ANCHORS, FIRST_PENALTY = 48, 1e-4
ANCHORS = (8, 48, 96)
PENALTIES = (1e-6, 1e-5, 1e-4, 1e-3)
FEWEST_VISITS = 30_000
MOST_WEIGHTS = 2**31


@dataclass(frozen=True)
class LatentSettings(GateSettings):
    """Linear models per class; see :class:`LatentLocallyLinearSVC`."""

    n_anchors: int


@dataclass(eq=False, repr=False)
class LatentLocallyLinearSVC(LearnedGateClassifier[LatentSettings]):
    """Latent locally linear support vector classifier (ML3).

    Each class has ``n_anchors`` linear models ``W_c`` and scores a row by the best mix of them:
    ``s_c(x) = max {β·W_c x : β ≥ 0, ‖β‖_p ≤ 1}``. The best gate ``β`` has a closed form, and the
    score is ``‖[W_c x]_+‖_q`` with ``1/p + 1/q = 1``. The multi-class hinge
    ``max(0, 1 − s_y + max_{c≠y} s_c)`` trains all classes together. (``x`` carries a constant 1.)

    Parameters
    ----------
    n_anchors : int or "auto", default="auto"
        Linear models per class. They have no place: the best mix is found from their products with
        the row. "auto" is chosen on a held-out part of the training rows.
    C : float or "auto", default="auto"
        Weight of the losses against ``½‖W‖²``; ``1/(λN)`` in the terms of the paper. "auto" is
        chosen like ``n_anchors``, because the best value depends on their number and on the scale
        of the rows.
    max_iter : int, default=30
        Epochs; 30 because the schedule, in which the step falls to zero, is always run to its end.
        An epoch visits each row once, or more often where all epochs would visit less than
        30,000 rows.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.
    n_jobs : int or None, default=None
        Threads over rows for scores; training is sequential. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the first weights, the order of visits and the held-out part.
    verbose : int, default=0
        1 writes progress to stderr now and then, 2 every epoch.
    p : float, default=1.5
        The gate's norm, above 1; ``numpy.inf`` gives weight one to all models with a positive
        score. Exponents other than 1.5, 2 and infinity are slower.

    Attributes
    ----------
    n_anchors_, C_ : int, float
        As given or chosen.
    coef_ : ndarray of shape (n_anchors, n_classes, n_features)
        The linear models; two classes have two columns as well, and the decision function is the
        difference of their scores.
    intercept_ : ndarray of shape (n_anchors, n_classes)
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Epochs run.
    objective_ : float
        ``λ`` times half the squared norm, plus the mean loss of the last epoch (each row's loss as
        it was visited).
    history_ : list of (epoch, mean loss)
    model_ : LatentModel
        All that prediction needs.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    LocalDeepSVC : A tree of gates.
    LocallyLinearSVC : A fixed gate, and a convex problem.

    References
    ----------
    M. Fornoni, B. Caputo and F. Orabona. Multiclass latent locally linear support vector machines.
    ACML 2013.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hyperlocal.papers import LatentLocallyLinearSVC
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = LatentLocallyLinearSVC(20, C=50.0, random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.95)
    True
    >>> model.local_coef(X[200:201]).shape
    (1, 1, 2)
    """

    n_anchors: Any = "auto"
    _: KW_ONLY
    p: float = 1.5
    max_iter: int = 30

    def _check_arguments(self) -> None:
        super()._check_arguments()
        if not is_auto(self.n_anchors):
            check_number("n_anchors", self.n_anchors, integer=True, above=1, inclusive=True)
        if isinstance(self.p, Real) and not isinstance(self.p, bool) and np.isposinf(self.p):
            return
        check_number("p", self.p, above=1)

    def _first_settings(self, data: LabelledRows) -> LatentSettings:
        n_anchors = FIRST_ANCHORS if is_auto(self.n_anchors) else int(self.n_anchors)
        weights_each = len(data.classes) * (data.X.shape[1] + 1)
        if n_anchors * weights_each > MOST_WEIGHTS:
            raise ValueError(
                f"n_anchors={n_anchors} would make {float(n_anchors * weights_each):.0e} weights; "
                f"give at most {MOST_WEIGHTS // weights_each} for {len(data.classes)} classes and "
                f"{data.X.shape[1]} features."
            )
        return LatentSettings(self._penalty(data, FIRST_PENALTY), n_anchors)

    def _variations(self, data: LabelledRows) -> dict[str, Sequence[float]]:
        every = {"n_anchors": (self.n_anchors, ANCHORS), "penalty": (self.C, PENALTIES)}
        return {name: values for name, (given, values) in every.items() if is_auto(given)}

    def _train(
        self,
        data: LabelledRows,
        settings: LatentSettings,
        n_epochs: int,
        rng: np.random.Generator,
        workers: Workers,
        monitor: Monitor | None = None,
    ) -> tuple[LatentModel, latent.LatentResult]:
        exponent = dual_exponent(self.p)
        problem = latent.LatentProblem(
            data.X, data.target, costs_of(data), len(data.classes), exponent
        )
        result = latent.solve(
            problem, n_models=settings.n_anchors, alpha=settings.penalty, n_epochs=n_epochs,
            n_passes=passes_per_epoch(data.X.shape[0], self.max_iter, FEWEST_VISITS),
            rng=rng, monitor=monitor,
        )  # fmt: skip
        return LatentModel(result.weights, settings.n_anchors, exponent), result

    def _keep_settings(self, settings: LatentSettings) -> None:
        self.n_anchors_ = settings.n_anchors


def dual_exponent(p: float) -> float:
    """``q`` with ``1/p + 1/q = 1``.

    Examples
    --------
    >>> from hyperlocal.estimators.latent import dual_exponent
    >>> dual_exponent(1.5), dual_exponent(float("inf"))
    (3.0, 1.0)
    """
    return 1.0 if np.isinf(p) else float(p / (p - 1))
