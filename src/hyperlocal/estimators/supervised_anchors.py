"""SupervisedAnchorSVC: anchors learned with the classifier, LLC-SAPL of Mao et al. (2015)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from ..data.arguments import check_auto
from ..model.chain_settings import ChainSettings
from ..model.local_model import LocalModel
from ..model.problem import Problem
from ..solvers.anchor_learning import AnchorLearner, AnchorSchedule, Outcome
from ..solvers.result import SolverResult
from ..solvers.sgd import SgdState
from ..solvers.training import Training
from .chain import FitCall, LastFit
from .chain_classifier import ChainClassifier
from .learned_anchors import LearnedAnchorsMixin


@dataclass(eq=False, repr=False)
class SupervisedAnchorSVC(LearnedAnchorsMixin, ChainClassifier):
    """Locally linear SVM whose anchors are learned from the labels.

    The model is that of :class:`LocallyLinearSVC`, but the problem
    ``min ½‖W‖² + C Σ_i s_i ℓ_i`` is minimized over the anchors too. They start at the centers of
    k-means. A few learned anchors reach the error of many fixed ones, so that models are small and
    prediction is fast. All classes share the anchors.

    Parameters
    ----------
    n_anchors : int or "auto", default="auto"
        Number of local models ``m``; "auto" is ``max(8, √N/4)``, at most N/8, of N distinct rows.
    n_neighbors : int, default=8
        Active local models per row, ``k``; all, where there are fewer.
    beta : float or "auto", default="auto"
        Sharpness of the soft gate; it does not change while anchors move.
    anchors : {"kmeans", "random"} or array of shape (n_anchors, width), default="kmeans"
        The initial anchors.
    feature_map : None, str or transformer, default=None
        The features of the local models, as in :class:`LocallyLinearSVC`. The default is the row
        itself, because learned anchors make products of features unnecessary; "bias_only" is
        LLC-SAPL_lcc. Anchors of "quadratic" models learn with linear ones, unless by "sgd".
    code_on : {"input", "features"}, column indices or transformer, default="input"
        What distances to anchors are measured on: the space of the anchors. For sparse rows of many
        features a transformer to fewer, dense ones is much faster.
    normalize : bool, default=True
        Scale each lifted row to norm one; False is the form of the paper.
    C : float, default=3.0
        Weight of the losses; a number, because learned anchors are not searched. While anchors
        move it is at most 3 (1 without ``normalize``).
    loss : {"squared_hinge", "hinge", "log"}, default="squared_hinge"
        "log" gives ``predict_proba``.
    anchor_epochs : int or "auto", default="auto"
        Epochs in which anchors move. "auto" moves each anchor by 20,000 rows on average, in 8 to 30
        epochs: many anchors among few rows need most.
    anchor_step : float or "auto", default="auto"
        Length of the first anchor steps of "dual", in units of the rows; 0: anchors are fixed.
        "auto" is a tenth of the typical distance to the nearest anchor, or less where that would
        change the gate by more than 3 %.
    keep_if_better : bool, default=True
        Hold out a tenth of the rows, and use the anchors that predict these rows best: those after
        every third epoch, or the initial ones. Costs about one more fit. With fewer than 200 rows,
        and with "sgd", the learned anchors are used without this test.
    max_iter : int, default=1000
        The most epochs of training weights for given anchors.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    intercept_scaling : float, default=1.0
        The constant feature; the intercept is penalized like the weights.
    n_jobs : int or None, default=None
        Threads; they share each batch of rows. The result does not depend on their number.
    random_state : int, RandomState instance or None, default=None
        Seeds whatever is drawn.
    warm_start : bool, default=False
        Start from the anchors and dual variables of the last fit.
    verbose : int, default=0
        All others as in :class:`LocallyLinearSVC`.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
    solver : {"dual", "sgd"}, default="dual"
        "dual" encodes each row again at its visit and optimizes its dual variables exactly; at the
        end, the weights for the final anchors are trained to ``tol``. "sgd" is Algorithm 1 of the
        paper, started from the weights for fixed anchors; ``partial_fit`` needs it.
    t0 : float or "auto", default="auto"
        Delay of the steps ``1/(λ(t + t0))`` of "sgd"; "auto" tries several on a sample.
    skip : int or "auto", default="auto"
        Visits between two decays of the weights in "sgd".
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.

    Attributes
    ----------
    anchors_, initial_anchors_ : ndarray of shape (n_anchors, width)
        The anchors in use, and the initial ones.
    anchors_learned_ : bool
        Whether the anchors in use are learned ones.
    best_epoch_ : int
        After how many epochs the anchors in use were there; 0 for the initial ones.
    held_out_accuracy_ : dict or None
        Accuracy on the held-out rows with the initial ("started") and the "learned" anchors.
    history_ : list of AnchorEpoch
        ``(epoch, objective, duality_gap, accuracy)`` before each epoch of anchor learning, on the
        rows used for it, with the C used for it, of local models without products; and at the end,
        of the final model.
    beta_ : float
    coef_ : ndarray of shape (n_anchors, n_columns, p)
    intercept_ : ndarray of shape (n_anchors, n_columns)
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Epochs of the final training of weights, at least one.
    objective_, duality_gap_ : float
        Of the weights, for the final anchors.
    C_ : float
        The weight of the losses that was used.
    model_ : LocalModel
        All that prediction needs.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    LocallyLinearSVC : The same with fixed anchors.

    References
    ----------
    X. Mao, Z. Fu, O. Wu and W. Hu. Optimizing locally linear classifiers with supervised anchor
    point learning. IJCAI 2015.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hyperlocal import SupervisedAnchorSVC
    >>> X, y = make_moons(600, noise=0.1, random_state=0)
    >>> model = SupervisedAnchorSVC(4, n_neighbors=2, random_state=0).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.97)
    True
    """

    _: KW_ONLY
    multi_class: str = "ovr"
    solver: str = "dual"
    t0: Any = "auto"
    skip: Any = "auto"
    class_weight: Any = None

    def _solvers(self) -> tuple[str, ...]:
        return ("dual", "sgd")

    def _checked_arguments(self) -> tuple[ChainSettings, Training]:
        check_auto("t0", self.t0)
        check_auto("skip", self.skip, integer=True, above=1, inclusive=True)
        return super()._checked_arguments()

    def _schedule(self) -> AnchorSchedule:
        return replace(super()._schedule(), t0=self.t0, skip=self.skip)

    # ---- training ------------------------------------------------------------------------------

    def _learn(
        self, learner: AnchorLearner, chain: LocalModel, last: LastFit | None
    ) -> tuple[Outcome, SolverResult]:
        if self.solver == "dual":
            return super()._learn(learner, chain, last)
        weights = None if last is None else self.model_.weights
        outcome, result, self._t0 = learner.learn_by_sgd(weights)
        return outcome, result

    def _keep_outcome(self, outcome: Outcome) -> None:
        self.held_out_accuracy_ = outcome.held_out_scores

    def _first_state(self, chain: LocalModel, problem: Problem, call: FitCall) -> SgdState:
        self.initial_anchors_ = chain.gate.anchors
        weights = problem.lifted.zero_weights(problem.n_columns)
        return self._learner(chain, call).first_state(weights)

    def _resumed_state(self, problem: Problem) -> SgdState:
        state, given = super()._resumed_state(problem), self._schedule().given_t0
        return replace(state, t0=getattr(self, "_t0", state.t0) if given is None else given)

    def _visit_batch(
        self, chain: LocalModel, problem: Problem, state: SgdState, call: FitCall
    ) -> tuple[LocalModel, float]:
        """Algorithm 1 over one batch: anchors and weights move together."""
        state.average = state.weights
        self.anchors_learned_, self.held_out_accuracy_ = True, None
        return self._learner(chain, call).visit(problem, state)
