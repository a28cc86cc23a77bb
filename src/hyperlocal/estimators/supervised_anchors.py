"""SupervisedAnchorSVC: anchors learned with the classifier, LLC-SAPL of Mao et al. (2015)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.arguments import check_choice, check_flag, check_number
from ..data.labelled import LabelledRows, part_of
from ..data.rows import core_rows
from ..data.splits import hold_out
from ..gates.codes import anchor_masses
from ..gates.gate import Gate
from ..runtime.progress import EpochMonitor, JoinedEpochs
from ..runtime.threads import Workers
from ..solvers import Problem, SolverResult, anchor_descent, anchor_sgd, dual, sgd
from ..solvers.anchor_descent import AnchorEpoch, LearnedAnchors, RightRows
from .base import LocallyLinearClassifier
from .recoded_rows import RecodedRows

# While anchors move, C is at most this (lifted rows as they are, or of norm one): a large C makes
# them chase single rows. The weights for the final anchors are found with C itself.
MOST_COST, MOST_COST_NORMALIZED = 1.0, 3.0
# Epochs with fixed anchors before they start to move.
FIRST_EPOCHS = 3
# The part of the rows that judges whether learning helped, and the fewest rows that can.
HELD_OUT = 0.1
FEWEST_HELD_OUT = 20


class SupervisedAnchorSVC(LocallyLinearClassifier):
    """Locally linear SVM whose anchors are learned from the labels.

    The model is that of :class:`LocallyLinearSVC`; the anchors ``v`` join the weights as unknowns
    of ``min ½‖W‖² + C Σ_i s_i ℓ_i``. They start at k-means' and move to where they serve the
    classifier best: a few learned anchors do the work of many fixed ones, so that models are small
    and prediction is fast. All classes share the anchors.

    Parameters
    ----------
    n_anchors : int or "auto", default="auto"
        Number of local models ``m``; "auto" is ``max(8, √N/4)``, at most N/8, of N distinct rows.
    n_neighbors : int, default=8
        Active local models per row, ``k``.
    coding : {"soft"}, default="soft"
        The gate; only the soft assignment has a gradient.
    beta : float or "auto", default="auto"
        Sharpness of the gate; it does not change while anchors move.
    anchors : {"kmeans", "random"} or array of shape (n_anchors, width), default="kmeans"
        Where anchors start.
    feature_map : None, str or transformer, default=None
        What a local model sees, as in :class:`LocallyLinearSVC`; the row itself by default.
    bias_only : bool, default=False
        Local models are one number per class (LLC-SAPL_lcc).
    code_on : {"input", "features"}, column indices or transformer, default="input"
        What distances to anchors are measured on, and where anchors move. For sparse rows of many
        features a transformer to fewer, dense ones is much faster.
    normalize : bool, default=True
        Scale each lifted row to norm one; False is the paper's form.
    C : float, default=3.0
        Weight of the losses. While anchors move it is at most 3 (1 without ``normalize``).
    loss : {"squared_hinge", "hinge", "log"}, default="squared_hinge"
        "log" gives ``predict_proba``.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
    anchor_solver : {"dual", "sgd"}, default="dual"
        "dual" codes each row anew at its visit and optimises its dual variables exactly; when the
        anchors rest, the weights are trained to ``tol``. "sgd" is the paper's Algorithm 1, started
        from the weights for fixed anchors; it alone has ``partial_fit``.
    anchor_epochs : int or "auto", default="auto"
        Epochs in which anchors move; "auto" makes 4,000 batches of 128 rows, in 12 to 30 epochs.
    anchor_step : float or "auto", default="auto"
        Length of the first anchor steps of "dual", in units of the coded rows; 0 keeps the anchors.
        "auto" is a tenth of the typical distance to the nearest anchor, or less where that would
        change the gate by more than 3 %.
    t0 : float or "auto", default="auto"
        Delay of the steps ``1/(λ(t + t0))`` of "sgd"; "auto" tries several on a sample.
    skip : int or "auto", default="auto"
        Visits between two decays of the weights in "sgd".
    keep_if_better : bool, default=True
        Hold out a tenth of the rows, and keep the learned anchors only if they serve these better
        than the anchors they started from. Costs about one more fit. Needs 200 rows; below, and
        with "sgd", the learned anchors are kept unseen.
    max_iter : int, default=1000
        The most epochs of training weights for given anchors.
    tol : float, default=1e-3
    intercept_scaling : float, default=1.0
    class_weight : dict, "balanced" or None, default=None
    n_jobs : int or None, default=None
        Threads share each batch of rows; the result does not depend on their number.
    random_state : int, RandomState instance or None, default=None
    warm_start : bool, default=False
        Go on from the anchors and dual variables of the last fit.
    verbose : int, default=0
        The rest as in :class:`LocallyLinearSVC`.

    Attributes
    ----------
    anchors_, initial_anchors_ : ndarray of shape (n_anchors, width)
        Where anchors are, and where they started.
    anchors_learned_ : bool
        Whether the anchors in use are the learned ones.
    held_out_accuracy_ : dict or None
        Accuracy on the held-out rows with the anchors as "started" and as "learned".
    history_ : list of AnchorEpoch
        ``(epoch, objective, duality_gap, accuracy)`` before each epoch of anchor learning, on the
        rows it learned from, at the C used meanwhile; and at the end, of the final model.
    beta_ : float
    coef_ : ndarray of shape (n_anchors, n_columns, p)
    intercept_ : ndarray of shape (n_anchors, n_columns)
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Epochs of the final training of weights, at least one.
    objective_, duality_gap_ : float
        Of the weights, for the anchors as they are.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    LocallyLinearSVC : The same with anchors that stay.

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

    _solver_argument = "anchor_solver"
    _solvers = ("dual", "sgd")
    initial_anchors_: np.ndarray
    anchors_learned_: bool
    held_out_accuracy_: dict[str, float] | None
    _t0: float

    def __init__(
        self,
        n_anchors: Any = "auto",
        *,
        n_neighbors: int = 8,
        coding: str = "soft",
        beta: Any = "auto",
        anchors: Any = "kmeans",
        feature_map: Any = None,
        bias_only: bool = False,
        code_on: Any = "input",
        normalize: bool = True,
        C: float = 3.0,
        loss: str = "squared_hinge",
        multi_class: str = "ovr",
        anchor_solver: str = "dual",
        anchor_epochs: Any = "auto",
        anchor_step: Any = "auto",
        t0: Any = "auto",
        skip: Any = "auto",
        keep_if_better: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-3,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ):
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.coding = coding
        self.beta = beta
        self.anchors = anchors
        self.feature_map = feature_map
        self.bias_only = bias_only
        self.code_on = code_on
        self.normalize = normalize
        self.C = C
        self.loss = loss
        self.multi_class = multi_class
        self.anchor_solver = anchor_solver
        self.anchor_epochs = anchor_epochs
        self.anchor_step = anchor_step
        self.t0 = t0
        self.skip = skip
        self.keep_if_better = keep_if_better
        self.max_iter = max_iter
        self.tol = tol
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    # ---- arguments -----------------------------------------------------------------------------

    def _check_arguments(self) -> None:
        check_flag("bias_only", self.bias_only)
        check_flag("keep_if_better", self.keep_if_better)
        super()._check_arguments()
        if self.coding != "soft":
            raise ValueError(
                f"coding={self.coding!r} has no gradient by its anchors; use coding='soft', or "
                "LocallyLinearSVC, whose anchors stay."
            )
        if self.bias_only and self.feature_map is not None:
            raise ValueError("bias_only=True leaves nothing to map; use feature_map=None.")
        _check_auto("anchor_epochs", self.anchor_epochs, integer=True, inclusive=True)
        _check_auto("anchor_step", self.anchor_step, inclusive=True)
        _check_auto("t0", self.t0)
        _check_auto("skip", self.skip, integer=True, above=1, inclusive=True)

    def _feature_map_argument(self) -> Any:
        return "bias_only" if self.bias_only else self.feature_map

    def _epochs(self, n_rows: int) -> int:
        auto = isinstance(self.anchor_epochs, str)
        return anchor_descent.default_epochs(n_rows) if auto else int(self.anchor_epochs)

    def _most_epochs(self, data: LabelledRows) -> int:
        return self._epochs(data.X.shape[0]) + 4 * self.max_iter

    # ---- training ------------------------------------------------------------------------------

    def _train(
        self,
        data: LabelledRows,
        rng: np.random.Generator,
        workers: Workers,
        monitor: EpochMonitor,
        keep: bool,
    ) -> SolverResult:
        rows, told = RecodedRows(self, data, workers), JoinedEpochs(monitor)
        if self.anchor_solver == "sgd":
            result, outcome = self._train_by_sgd(rows, rng, told, keep)
        else:
            result, outcome = self._train_by_dual(rows, rng, told, keep)
        # Only now: an interrupted fit leaves the last model whole.
        self.initial_anchors_ = self._gate.anchors
        self._gate = outcome.gate
        self.anchors_learned_ = outcome.learned
        self.held_out_accuracy_ = outcome.held_out_accuracy
        return result

    def _train_by_dual(
        self, rows: RecodedRows, rng: np.random.Generator, told: JoinedEpochs, keep: bool
    ) -> tuple[SolverResult, _Outcome]:
        alpha = self._last_alpha(rows.problem(self._gate, self.C)) if keep else None
        held_out = self._choose_held_out(rows.data, rng)
        if held_out.any():
            outcome = self._learn_and_judge(rows, held_out, rng, told, alpha)
        else:
            learned = self._learn(rows, rng, told, alpha)
            outcome = _Outcome(learned.gate, learned.alpha, learned.history)
        problem = rows.problem(outcome.gate, self.C)
        right = RightRows(problem)
        result = self._solve_weights(problem, rng, told, outcome.alpha, right)
        result.stopped = result.stopped or told.stop
        end = AnchorEpoch(len(outcome.history), result.objective, result.duality_gap, right.share())
        result.history = [*outcome.history, end]
        result.n_iter = max(1, result.n_iter)  # the last anchors' weights may be good enough
        return result, outcome

    def _learn(
        self,
        rows: RecodedRows,
        rng: np.random.Generator,
        told: JoinedEpochs,
        alpha: np.ndarray | None,
        n_epochs: int | None = None,
        shorter: float = 1.0,
    ) -> LearnedAnchors:
        """Let the anchors move, from dual variables for the gate as it is."""
        cost = min(self.C, MOST_COST_NORMALIZED if self._unit_rows else MOST_COST)
        if alpha is None or cost < self.C:
            most = 1 if told.stop else min(FIRST_EPOCHS, self.max_iter)
            alpha = dual.first_variables(
                rows.look(self._gate, cost).problem, n_epochs=most, rng=rng, monitor=told.epoch
            )
        step = self.anchor_step
        if isinstance(step, str):
            codes = rows.codes(self._gate)
            step = anchor_descent.default_step(codes, rows.data.sample_weight, self._gate.beta)
        return anchor_descent.learn_by_dual(
            rows.space, self._gate, lambda gate: rows.look(gate, cost),
            n_epochs=0 if told.stop else n_epochs or self._epochs(rows.data.X.shape[0]),
            step=shorter * float(step), rng=rng, monitor=told.epoch, alpha=alpha,
        )  # fmt: skip

    def _move_anchors(
        self,
        data: LabelledRows,
        rng: np.random.Generator,
        workers: Workers,
        n_epochs: int,
        shorter: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Where some rows want the anchors, and how much they listen to each, ``Σ_i γ_ij²``."""
        rows = RecodedRows(self, data, workers)
        codes = rows.codes(self._gate)
        learned = self._learn(rows, rng, JoinedEpochs(None), None, n_epochs, shorter)
        masses = anchor_masses(codes.anchors, codes.weights, self._gate.n_anchors)
        return learned.gate.anchors, masses

    def _learn_and_judge(
        self,
        rows: RecodedRows,
        held_out: np.ndarray,
        rng: np.random.Generator,
        told: JoinedEpochs,
        alpha: np.ndarray | None,
    ) -> _Outcome:
        """Train on a part, judge on the rest; returns the winner and variables for all rows."""
        part = RecodedRows(self, part_of(rows.data, np.flatnonzero(~held_out)), rows.workers)
        judges = RecodedRows(self, part_of(rows.data, np.flatnonzero(held_out)), rows.workers)
        part_alpha = None if alpha is None else np.ascontiguousarray(alpha[~held_out])
        started = self._solve_weights(part.problem(self._gate, self.C), rng, told, part_alpha)
        learned = self._learn(part, rng, told, started.alpha)
        finished = self._solve_weights(part.problem(learned.gate, self.C), rng, told, learned.alpha)
        before = judges.verdict(self._gate, started.weights)
        after = judges.verdict(learned.gate, finished.weights)
        better = after > before
        everyone = np.zeros((len(held_out), finished.weights.shape[1]), rows.data.X.dtype)
        everyone[~held_out] = finished.alpha if better else started.alpha
        return _Outcome(
            learned.gate if better else self._gate, everyone, learned.history, better,
            {"started": before[0], "learned": after[0]},
        )  # fmt: skip

    def _choose_held_out(self, data: LabelledRows, rng: np.random.Generator) -> np.ndarray:
        """A tenth of each class, or nobody where that is too few."""
        share = HELD_OUT if self.keep_if_better else 0.0
        chosen = hold_out(data.target, share, rng)
        return chosen if chosen.sum() >= FEWEST_HELD_OUT else np.zeros_like(chosen)

    def _solve_weights(
        self,
        problem: Problem,
        rng: np.random.Generator,
        told: JoinedEpochs,
        alpha: np.ndarray | None,
        see_scores: dual.SeeScores | None = None,
    ) -> SolverResult:
        """The weights for anchors that stand still."""
        return dual.solve(
            problem, tol=self.tol, max_iter=1 if told.stop else self.max_iter, rng=rng,
            monitor=told.epoch, alpha=alpha, see_scores=see_scores,
        )  # fmt: skip

    def _train_by_sgd(
        self, rows: RecodedRows, rng: np.random.Generator, told: JoinedEpochs, keep: bool
    ) -> tuple[SolverResult, _Outcome]:
        if keep:
            weights = self._weights_for(rows.problem(self._gate, self.C))
        else:
            problem = rows.problem(self._gate, self.C)
            weights = self._solve_weights(problem, rng, told, None).weights
        state = self._sgd_start(rows, weights, rng)
        learned = anchor_sgd.learn_by_sgd(
            rows.space, self._gate, lambda gate: rows.problem(gate, self.C),
            n_epochs=0 if told.stop else self._epochs(rows.data.X.shape[0]),
            state=state, skip=self._skip(), penalize_intercept=self._penalizes_intercept(),
            rng=rng, monitor=told.epoch,
        )  # fmt: skip
        assert learned.weights is not None
        self._t0 = state.t0
        best = min(learned.history, key=lambda record: record.objective)
        n_epochs = len(learned.history) - 1
        history = [*learned.history[:-1], best._replace(epoch=n_epochs)]
        result = SolverResult(
            learned.weights, n_epochs, best.objective, np.nan, True,
            learned.stopped, history=history,
        )  # fmt: skip
        return result, _Outcome(learned.gate, None, learned.history)

    def _sgd_start(
        self, rows: RecodedRows, weights: np.ndarray, rng: np.random.Generator
    ) -> sgd.SgdState:
        t0 = None if isinstance(self.t0, str) else float(self.t0)
        return anchor_sgd.start_sgd(
            rows.space, self._gate, lambda gate: rows.problem(gate, self.C), weights, t0,
            self._penalizes_intercept(), rng,
        )  # fmt: skip

    def _skip(self) -> int | None:
        return None if isinstance(self.skip, str) else int(self.skip)

    # ---- streams -------------------------------------------------------------------------------

    def _first_state(
        self, problem: Problem, data: LabelledRows, rng: np.random.Generator
    ) -> sgd.SgdState:
        rows = RecodedRows(self, data, problem.lifted.workers)
        return self._sgd_start(rows, problem.lifted.zero_weights(problem.n_columns), rng)

    def _resumed_state(self, problem: Problem) -> sgd.SgdState:
        state = super()._resumed_state(problem)
        known = getattr(self, "_t0", state.t0)
        state.t0 = known if isinstance(self.t0, str) else float(self.t0)
        return state

    def _visit_batch(self, problem: Problem, data: LabelledRows, rng: np.random.Generator) -> float:
        """Algorithm 1 over one batch: anchors and weights move together."""
        state, penalize = self._sgd_state, self._penalizes_intercept()
        state.average = state.weights
        if not hasattr(self, "initial_anchors_"):
            self.initial_anchors_ = self._gate.anchors
        self.anchors_learned_, self.held_out_accuracy_ = True, None
        rows = RecodedRows(self, data, problem.lifted.workers)
        self._gate = replace(self._gate, anchors=self._gate.anchors.copy())
        anchor_sgd.visit_and_move(
            problem, state, core_rows(rows.space), self._gate, self._skip(), penalize, rng
        )
        moved = rows.problem(self._gate, self.C)
        return moved.objective(state.weights, penalize_intercept=penalize)


@dataclass
class _Outcome:
    """The gate to use, dual variables for it, how it came about."""

    gate: Gate
    alpha: np.ndarray | None
    history: list[AnchorEpoch]
    learned: bool = True
    held_out_accuracy: dict[str, float] | None = None


def _check_auto(name: str, value: Any, **bounds: Any) -> None:
    if isinstance(value, str):
        check_choice(name, value, ["auto"])
    else:
        check_number(name, value, **bounds)
