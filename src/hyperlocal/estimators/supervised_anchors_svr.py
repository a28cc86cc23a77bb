"""SupervisedAnchorSVR: anchors learned with the regressor."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from ..model.chain_settings import ChainSettings
from ..solvers.anchor_learning import Outcome
from ..solvers.training import Training
from .chain_regressor import ChainRegressor
from .intervals import IntervalMixin
from .learned_anchors import LearnedAnchorsMixin


@dataclass(eq=False, repr=False)
class SupervisedAnchorSVR(LearnedAnchorsMixin, IntervalMixin, ChainRegressor):
    """Locally linear regression whose anchors are learned from the values.

    The model is that of :class:`LocallyLinearSVR`, but the problem
    ``min ½‖W‖² + C Σ_i s_i L(y_i − f(x_i))`` is minimized over the anchors too, by the descent of
    :class:`SupervisedAnchorSVC`. A few learned anchors reach the error of many fixed ones, so that
    models are small. All targets and quantiles share the anchors. Values are centered and scaled
    while the model is trained.

    Parameters
    ----------
    n_anchors, n_neighbors, beta, anchors, feature_map, code_on, normalize, anchor_epochs, \
anchor_step, keep_if_better, max_iter, tol, intercept_scaling, n_jobs, random_state, warm_start, \
verbose
        As in :class:`SupervisedAnchorSVC`. Weights and anchors are trained by dual descent.
    C : float, default=10.0
        Weight of the losses, larger than for classes: values are less noisy. While anchors move it
        is at most 3 (1 without ``normalize``).
    loss, epsilon, quantiles
        As in :class:`LocallyLinearSVR`.

    Attributes
    ----------
    anchors_, initial_anchors_ : ndarray of shape (n_anchors, width)
        The anchors in use, and the initial ones.
    anchors_learned_ : bool
        Whether the anchors in use are the learned ones.
    best_epoch_ : int
        After how many epochs the anchors in use were there; 0 for the initial ones.
    held_out_loss_ : dict or None
        Mean loss of held-out rows with the initial ("started") and the "learned" anchors.
    history_ : list of AnchorEpoch
        As in :class:`SupervisedAnchorSVC`, without accuracies.
    model_, target_scale_, quantiles_, conformal_, beta_, coef_, intercept_, C_, n_iter_, \
objective_, duality_gap_, n_features_in_, feature_names_in_
        As in :class:`LocallyLinearSVR`.

    See Also
    --------
    LocallyLinearSVR : The same with fixed anchors, and with everything chosen on held-out rows.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.papers import SupervisedAnchorSVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (900, 2))
    >>> y = np.sin(X[:, 0]) * X[:, 1]
    >>> model = SupervisedAnchorSVR(12, n_neighbors=4, random_state=0).fit(X[:600], y[:600])
    >>> bool(model.anchors_learned_ and model.score(X[600:], y[600:]) > 0.9)
    True
    """

    n_anchors: Any = "auto"
    _: KW_ONLY
    n_neighbors: int = 8
    beta: Any = "auto"
    anchors: Any = "kmeans"
    feature_map: Any = None
    code_on: Any = "input"
    normalize: bool = True
    C: float = 10.0
    loss: str = "squared"
    epsilon: float = 0.1
    quantiles: Any = 0.5
    anchor_epochs: Any = "auto"
    anchor_step: Any = "auto"
    keep_if_better: bool = True
    max_iter: int = 1000
    tol: float = 1e-3
    intercept_scaling: float = 1.0
    n_jobs: int | None = None
    random_state: Any = None
    warm_start: bool = False
    verbose: int = 0

    def _training(self, settings: ChainSettings) -> Training:
        return Training(self.C, **self._task.loss(self), tol=self.tol, max_iter=self.max_iter)

    def _keep_outcome(self, outcome: Outcome) -> None:
        scores = outcome.held_out_scores
        self.held_out_loss_ = scores and {name: -score for name, score in scores.items()}
