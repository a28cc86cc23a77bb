"""LocalDeepSVC: local deep kernel learning of Jose et al. (2013), LDKL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..data.arguments import check_flag, check_number
from ..data.labelled import LabelledRows
from ..gates.tree import Tree
from ..model.multiclass import column_targets, n_columns
from ..model.tree_model import TreeModel
from ..runtime.progress import Monitor
from ..runtime.threads import Workers
from ..solvers import trees
from .learned_choice import GateSettings
from .learned_gate import (
    LearnedGateClassifier,
    costs_of,
    is_auto,
    passes_per_epoch,
)

DEEPEST = 16
FIRST_DEPTH, FIRST_PENALTY = 2, 3e-4
DEPTHS = (1, 2, 3, 4, 6)
PENALTIES = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3)
JITTERS = (0.0, 0.1, 0.2)
# A leaf should be reached by so many rows.
ROWS_PER_LEAF = 8
FEWEST_VISITS = 32_000


@dataclass(frozen=True)
class TreeSettings(GateSettings):
    """Depth and noise of trees; see :class:`LocalDeepSVC`."""

    depth: int
    jitter: float


@dataclass(eq=False, repr=False)
class LocalDeepSVC(LearnedGateClassifier[TreeSettings]):
    """Support vector classifier with a tree of gates (local deep kernel learning, LDKL).

    A complete binary tree sends a row down one path. Each node ``n`` on it adds a gated linear
    model: ``f(x) = Σ_{n on the path} tanh(θ'_n·x) · (w_n·x)``. So a row meets ``depth + 1`` of the
    ``2^(depth + 1) - 1`` nodes: prediction takes time in proportion to the depth. Routes ``θ``,
    gates ``θ'`` and weights ``w`` are learned together, with routing that is soft at first and hard
    at last. (``x`` carries a constant 1.)

    Parameters
    ----------
    depth : int or "auto", default="auto"
        Levels of routing; 0 is one node, ``tanh(θ'·x)(w·x)``. "auto" is chosen on a held-out
        part of the training rows.
    C : float or "auto", default="auto"
        Weight of the hinge losses against ``½(‖W‖² + ‖Θ‖² + ‖Θ'‖²)``; ``1/(λN)`` in the terms of
        the paper. "auto" is chosen like ``depth``, because the best value depends on the depth and
        on the scale of the rows.
    max_iter : int, default=50
        Epochs, the last fifth of them with hard routing; 50 because the schedule of steps is always
        run to its end. An epoch visits each row once, or more often where all epochs
        would visit less than 32,000 rows.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.
    n_jobs : int or None, default=None
        Threads: over classes for training, over rows for scores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the first tree, the order of visits and the held-out part.
    verbose : int, default=0
        1 writes progress to stderr now and then, 2 every epoch.
    jitter : float or "auto", default=0.0
        Noise on the rows, new in each epoch, in standard deviations of each feature (of sparse
        rows on stored values only). It keeps deep trees from fitting single rows, where classes
        hardly overlap and rows are few; it needs more epochs. "auto" is chosen like ``depth``.
    share_tree : bool, default=False
        More than two classes: one tree for all of them, with weights per class at its nodes,
        instead of one tree per class. Smaller and faster, mostly less accurate.

    Attributes
    ----------
    tree_ : Tree or list of Tree
        The tree, or the trees of all classes in their order; see
        :class:`hyperlocal.gates.tree.Tree`.
    depth_, jitter_, C_ : int, float, float
        As given or chosen.
    coef_ : ndarray of shape (n_nodes, n_columns, n_features)
        Weights of the nodes; one column per class, or one for two classes.
    intercept_ : ndarray of shape (n_nodes, n_columns)
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Epochs run.
    objective_ : float
        ``λ`` times half the squared norms, plus the mean loss of the last epoch (each row's loss as
        it was visited).
    history_ : list of (epoch, mean loss)
    model_ : TreeModel
        All that prediction needs.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    LatentLocallyLinearSVC : The best mix of linear models per class.
    LocallyLinearSVC : A fixed gate, and a convex problem.

    Notes
    -----
    A step costs time in proportion to all features times all nodes, also for sparse rows. With tens
    of thousands of features, reduce them first.

    References
    ----------
    C. Jose, P. Goyal, P. Aggrwal and M. Varma. Local deep kernel learning for efficient non-linear
    SVM prediction. ICML 2013.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hyperlocal.papers import LocalDeepSVC
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = LocalDeepSVC(depth=3, random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.95)
    True
    >>> model.tree_.n_nodes
    15
    """

    depth: Any = "auto"
    _: KW_ONLY
    jitter: Any = 0.0
    share_tree: bool = False
    max_iter: int = 50

    def _check_arguments(self) -> None:
        super()._check_arguments()
        if not is_auto(self.depth):
            check_number("depth", self.depth, integer=True, inclusive=True)
            if self.depth > DEEPEST:
                raise ValueError(
                    f"depth={self.depth} would make 2**{self.depth + 1} nodes; give at most "
                    f"{DEEPEST}."
                )
        if not is_auto(self.jitter):
            check_number("jitter", self.jitter, inclusive=True)
        check_flag("share_tree", self.share_tree)

    def _first_settings(self, data: LabelledRows) -> TreeSettings:
        first_depth = min(FIRST_DEPTH, max(self._depths(data)))
        return TreeSettings(
            penalty=self._penalty(data, FIRST_PENALTY),
            depth=first_depth if is_auto(self.depth) else int(self.depth),
            jitter=JITTERS[0] if is_auto(self.jitter) else float(self.jitter),
        )

    def _variations(self, data: LabelledRows) -> dict[str, Sequence[float]]:
        # The depth first, from shallow to deep: time doubles with each level.
        every = {"depth": (self.depth, self._depths(data)), "penalty": (self.C, PENALTIES),
                 "jitter": (self.jitter, JITTERS)}  # fmt: skip
        return {name: values for name, (given, values) in every.items() if is_auto(given)}

    def _depths(self, data: LabelledRows) -> list[int]:
        n_leaves = data.X.shape[0] / ROWS_PER_LEAF
        return [depth for depth in DEPTHS if 2**depth <= n_leaves] or [0]

    def _train(
        self,
        data: LabelledRows,
        settings: TreeSettings,
        n_epochs: int,
        rng: np.random.Generator,
        workers: Workers,
        monitor: Monitor | None = None,
    ) -> tuple[TreeModel, trees.TreeResult]:
        n_classes = len(data.classes)
        problem = trees.TreeProblem(
            data.X, column_targets(data.target, n_classes), costs_of(data), n_columns(n_classes),
            bool(self.share_tree),
        )  # fmt: skip
        result = trees.solve(
            problem, depth=settings.depth, alpha=settings.penalty, jitter=settings.jitter,
            n_epochs=n_epochs,
            n_passes=passes_per_epoch(data.X.shape[0], self.max_iter, FEWEST_VISITS),
            rng=rng, workers=workers, monitor=monitor,
        )  # fmt: skip
        return TreeModel(result.nodes, data.X.shape[1]), result

    def _keep_settings(self, settings: TreeSettings) -> None:
        self.depth_, self.jitter_ = settings.depth, settings.jitter

    @property
    def tree_(self) -> Tree | list[Tree]:
        """The fitted tree, or a list of the trees of all classes."""
        fitted = self.model_.trees
        return fitted[0] if len(fitted) == 1 else fitted
