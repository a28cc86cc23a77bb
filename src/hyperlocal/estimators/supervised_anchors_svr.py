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
    n_anchors, n_neighbors, beta, anchors : as for classes
        They are those of :class:`SupervisedAnchorSVC`.
    feature_map : as for classes, default=None
        Linear local models, because learned anchors make up for what products of features add.
    code_on, normalize : as for classes
        They are those of :class:`SupervisedAnchorSVC`.
    C : float, default=10.0
        Weight of the losses; a number, because a choice would learn the anchors several times, and
        larger than for classes, whose labels have more noise. While anchors move it is at most 3
        (1 without ``normalize``).
    loss : as for fixed anchors, default="squared"
        That of :class:`LocallyLinearSVR`, because values have no margin.
    anchor_epochs, anchor_step, keep_if_better, max_iter, tol, intercept_scaling : as for classes
        They are those of :class:`SupervisedAnchorSVC`; training is by dual descent.
    n_jobs, random_state, warm_start, verbose : as for classes
        They are those of :class:`SupervisedAnchorSVC`.
    epsilon, quantiles : as for fixed anchors
        They are those of :class:`LocallyLinearSVR`.

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

    _: KW_ONLY
    C: float = 10.0
    loss: str = "squared"
    epsilon: float = 0.1
    quantiles: Any = 0.5

    def _training(self, settings: ChainSettings) -> Training:
        return Training(self.C, **self._task.loss(self), tol=self.tol, max_iter=self.max_iter)

    def _keep_outcome(self, outcome: Outcome) -> None:
        scores = outcome.held_out_scores
        self.held_out_loss_ = scores and {name: -score for name, score in scores.items()}
