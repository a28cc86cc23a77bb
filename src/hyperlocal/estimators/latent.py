"""LatentLocallyLinearSVC: latent locally linear models of Fornoni et al. (2013), ML3."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np

from ..data.arguments import check_number
from ..data.checks import check_values
from ..data.labelled import LabelledRows
from ..maps.plain import Step
from ..runtime.threads import Workers, row_blocks
from ..solvers import latent
from .learned_gate import (
    LearnedGateClassifier,
    Monitor,
    Settings,
    costs_of,
    is_auto,
    passes_per_epoch,
)
from .old_local_model import NUMBERS_PER_EXPLANATION_BLOCK, LearnedModel

FIRST_MODELS, FIRST_ALPHA = 48, 1e-4
MODELS = (8, 48, 96)
ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3)
FEWEST_VISITS = 30_000


class LatentLocallyLinearSVC(LearnedGateClassifier):
    """Latent locally linear support vector classifier (ML3).

    Each class has ``n_models`` linear models ``W_c`` and scores a row by the best mix of them:
    ``s_c(x) = max {β·W_c x : β ≥ 0, ‖β‖_p ≤ 1}``. The best gate ``β`` has a closed form, and the
    score is ``‖[W_c x]_+‖_q`` with ``1/p + 1/q = 1``. The multi-class hinge
    ``max(0, 1 − s_y + max_{c≠y} s_c)`` trains all classes together. (``x`` carries a constant 1.)

    Parameters
    ----------
    n_models : int or "auto", default="auto"
        Linear models per class. "auto" is chosen on a held-out part of the training rows.
    p : float, default=1.5
        The gate's norm, above 1; ``numpy.inf`` lets all models with a positive score speak fully.
        Exponents other than 1.5, 2 and infinity are slower.
    alpha : float or "auto", default="auto"
        Weight ``λ`` of ``½‖W‖²`` against the mean loss. "auto" is chosen like ``n_models``.
    max_iter : int, default=30
        Epochs; the step falls to zero over them. An epoch visits each row once, or more often
        where all epochs would visit less than 30,000 rows.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.
    n_jobs : int or None, default=None
        Threads over rows for scores; training is sequential. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the first weights, the order of visits and the held-out part.
    verbose : int, default=0
        1 writes progress to stderr now and then, 2 every epoch.

    Attributes
    ----------
    n_models_, alpha_ : int, float
        As given or chosen.
    coef_ : ndarray of shape (n_models, n_classes, n_features)
        The linear models; two classes have two columns as well, and the decision function is the
        difference of their scores.
    intercept_ : ndarray of shape (n_models, n_classes)
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Epochs run.
    objective_ : float
        Penalty and mean loss of the last epoch (each row's loss as it was visited).
    history_ : list of (epoch, mean loss)
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
    >>> from hyperlocal import LatentLocallyLinearSVC
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = LatentLocallyLinearSVC(20, alpha=1e-4, random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.95)
    True
    >>> model.local_coef(X[200:201]).shape
    (1, 1, 2)
    """

    _stored: np.ndarray

    def __init__(
        self,
        n_models: Any = "auto",
        *,
        p: float = 1.5,
        alpha: Any = "auto",
        max_iter: int = 30,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_models = n_models
        self.p = p
        self.alpha = alpha
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- fit -----------------------------------------------------------------------------------

    def _check_arguments(self) -> None:
        super()._check_arguments()
        if not is_auto(self.n_models):
            check_number("n_models", self.n_models, integer=True, above=1, inclusive=True)
        if isinstance(self.p, Real) and not isinstance(self.p, bool) and np.isposinf(self.p):
            return
        check_number("p", self.p, above=1)

    def _first_settings(self, data: LabelledRows) -> Settings:
        return {
            "n_models": FIRST_MODELS if is_auto(self.n_models) else int(self.n_models),
            "alpha": FIRST_ALPHA if is_auto(self.alpha) else float(self.alpha),
        }

    def _variations(self, data: LabelledRows) -> list[list[Settings]]:
        rounds = []
        if is_auto(self.alpha):
            rounds.append([{"alpha": alpha} for alpha in ALPHAS])
        if is_auto(self.n_models):
            rounds.append([{"n_models": n_models} for n_models in MODELS])
        return rounds

    def _train(
        self,
        data: LabelledRows,
        settings: Settings,
        n_epochs: int,
        rng: np.random.Generator,
        workers: Workers,
        monitor: Monitor | None = None,
    ) -> latent.LatentResult:
        problem = latent.LatentProblem(
            data.X, data.target, costs_of(data), len(data.classes), dual_exponent(self.p)
        )
        return latent.solve(
            problem, n_models=settings["n_models"], alpha=settings["alpha"],
            n_epochs=n_epochs,
            n_passes=passes_per_epoch(len(data.target), self.max_iter, FEWEST_VISITS), rng=rng,
            monitor=monitor,
        )  # fmt: skip

    def _take(self, result: latent.LatentResult, settings: Settings) -> None:
        self._stored = result.weights
        self._exponent = dual_exponent(self.p)
        self.n_models_, self.alpha_ = settings["n_models"], settings["alpha"]

    # ---- prediction ----------------------------------------------------------------------------

    def _block_scores(self, X: Any, begin: int, end: int) -> np.ndarray:
        check_values(X[begin:end])
        scores = latent.class_scores(X[begin:end], *self._model())
        return scores[:, 1:] - scores[:, :1] if scores.shape[1] == 2 else scores

    def _model(self) -> tuple[np.ndarray, int, float]:
        return self._stored, self.n_models_, self._exponent

    # ---- explanation ---------------------------------------------------------------------------

    def _local_models_of(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Weights and intercepts of blocks of rows, ``Σ_m β_m W_cm``."""
        width, n_classes, n_stored = self._stored.shape
        size = max(1, NUMBERS_PER_EXPLANATION_BLOCK // (n_classes * max(width, n_stored)))
        for begin, end in row_blocks(X.shape[0], size):
            gates = latent.best_gates(X[begin:end], *self._model())
            local = np.empty((end - begin, n_classes, width), gates.dtype)
            for c in range(n_classes):
                np.matmul(gates[:, c], self._stored[:, c].T, out=local[:, c])
            if n_classes == 2:
                local = local[:, 1:] - local[:, :1]
            yield local[..., :-1], local[..., -1]

    def _active_models(self, X: Any, best: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The models of class ``best`` that speak, how loudly, and what they say.

        It adds up to the score ``‖[W_c x]_+‖_q`` of their class; with two classes the decision
        function is the difference of two such scores.
        """
        gates = latent.best_gates(X, *self._model())
        models = np.flatnonzero(gates[0, best])
        weights = self._weights[models, best]
        said = (X @ weights[:, :-1].T).ravel() + weights[:, -1]
        return models, gates[0, best, models], gates[0, best, models] * said

    # ---- fitted attributes ---------------------------------------------------------------------

    @property
    def model_(self) -> Any:
        """The fitted weights."""
        step = Step("latent", {"weights": self._weights, "exponent": float(self._exponent)})
        return LearnedModel(self._feature_map, self._weights, step)

    @property
    def _weights(self) -> np.ndarray:  # type: ignore[override]
        """The linear models, ``(n_models, n_classes, n_features + 1)``, as a view."""
        return self._stored[..., : self.n_models_].transpose(2, 1, 0)


def dual_exponent(p: float) -> float:
    """``q`` with ``1/p + 1/q = 1``.

    Examples
    --------
    >>> from hyperlocal.estimators.latent import dual_exponent
    >>> dual_exponent(1.5), dual_exponent(float("inf"))
    (3.0, 1.0)
    """
    return 1.0 if np.isinf(p) else float(p / (p - 1))
