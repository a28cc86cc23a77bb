"""LocalDeepSVC: local deep kernel learning of Jose et al. (2013), LDKL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import _core
from ..data.arguments import check_flag, check_number
from ..data.checks import check_values
from ..data.labelled import LabelledRows
from ..data.rows import core_rows
from ..gates import tree as trees
from ..maps.plain import Step
from ..runtime.threads import Workers, row_blocks
from ..solvers import trees as local_deep
from .learned_gate import (
    LearnedGateClassifier,
    Monitor,
    Settings,
    costs_of,
    is_auto,
    passes_per_epoch,
)
from .old_local_model import NUMBERS_PER_EXPLANATION_BLOCK, LearnedModel

DEEPEST = 16
FIRST_DEPTH, FIRST_ALPHA = 4, 1e-3
DEPTHS = (1, 2, 3, 4, 6)
ALPHAS = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3)
JITTERS = (0.0, 0.1, 0.2)
# A leaf should be reached by so many rows.
ROWS_PER_LEAF = 8
FEWEST_VISITS = 32_000


class LocalDeepSVC(LearnedGateClassifier):
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
    alpha : float or "auto", default="auto"
        Weight ``λ`` of ``½(‖W‖² + ‖Θ‖² + ‖Θ'‖²)`` against the mean hinge loss. "auto" is chosen
        like ``depth``.
    jitter : float or "auto", default=0.0
        Noise on the rows, new in each epoch, in standard deviations of each feature (of sparse
        rows on stored values only). It keeps deep trees from learning single rows, where classes
        hardly overlap and rows are few; it wants more epochs. "auto" is chosen like ``depth``.
    share_tree : bool, default=False
        More than two classes: one tree for all of them, with weights per class at its nodes,
        instead of one tree per class. Smaller and faster, mostly less accurate.
    max_iter : int, default=50
        Epochs, the last fifth of them with hard routing. An epoch visits each row once, or more
        often where all epochs would visit less than 32,000 rows.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.
    n_jobs : int or None, default=None
        Threads: over classes for training, over rows for scores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the first tree, the order of visits and the held-out part.
    verbose : int, default=0
        1 writes progress to stderr now and then, 2 every epoch.

    Attributes
    ----------
    tree_ : Tree or list of Tree
        The tree, or the trees of all classes in their order; see
        :class:`hyperlocal.gates.tree.Tree`.
    depth_, alpha_, jitter_ : int, float, float
        As given or chosen.
    coef_ : ndarray of shape (n_nodes, n_columns, n_features)
        Weights of the nodes; one column per class, or one for two classes.
    intercept_ : ndarray of shape (n_nodes, n_columns)
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
    >>> from hyperlocal import LocalDeepSVC
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = LocalDeepSVC(depth=3, random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.95)
    True
    >>> model.tree_.n_nodes
    15
    """

    _nodes: np.ndarray

    def __init__(
        self,
        depth: Any = "auto",
        *,
        alpha: Any = "auto",
        jitter: Any = 0.0,
        share_tree: bool = False,
        max_iter: int = 50,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.depth = depth
        self.alpha = alpha
        self.jitter = jitter
        self.share_tree = share_tree
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- fit -----------------------------------------------------------------------------------

    def _check_arguments(self) -> None:
        super()._check_arguments()
        if not is_auto(self.depth):
            check_number("depth", self.depth, integer=True, inclusive=True)
            if self.depth > DEEPEST:
                raise ValueError(
                    f"depth={self.depth} would make {2.0 ** (self.depth + 1):.0e} nodes; give at "
                    f"most {DEEPEST}."
                )
        if not is_auto(self.jitter):
            check_number("jitter", self.jitter, inclusive=True)
        check_flag("share_tree", self.share_tree)

    def _first_settings(self, data: LabelledRows) -> Settings:
        return {
            "depth": min(FIRST_DEPTH, max(self._depths(data)))
            if is_auto(self.depth)
            else self.depth,
            "alpha": FIRST_ALPHA if is_auto(self.alpha) else float(self.alpha),
            "jitter": JITTERS[0] if is_auto(self.jitter) else float(self.jitter),
        }

    def _variations(self, data: LabelledRows) -> list[list[Settings]]:
        rounds = []
        if is_auto(self.alpha):
            rounds.append([{"alpha": alpha} for alpha in ALPHAS])
        if is_auto(self.jitter):
            rounds.append([{"jitter": jitter} for jitter in JITTERS])
        if is_auto(self.depth):
            rounds.append([{"depth": depth} for depth in self._depths(data)])
        return rounds

    def _depths(self, data: LabelledRows) -> list[int]:
        n_leaves = data.X.shape[0] / ROWS_PER_LEAF
        return [depth for depth in DEPTHS if 2**depth <= n_leaves] or [0]

    def _train(
        self,
        data: LabelledRows,
        settings: Settings,
        n_epochs: int,
        rng: np.random.Generator,
        workers: Workers,
        monitor: Monitor | None = None,
    ) -> local_deep.TreeResult:
        target, n_columns = data.target, len(data.classes)
        if n_columns == 2:
            target, n_columns = np.where(target == 1, 0, -1).astype(np.int32), 1
        problem = local_deep.TreeProblem(
            data.X, target, costs_of(data), n_columns, bool(self.share_tree)
        )
        return local_deep.solve(
            problem, depth=settings["depth"], alpha=settings["alpha"], jitter=settings["jitter"],
            n_epochs=n_epochs, n_passes=passes_per_epoch(len(target), self.max_iter, FEWEST_VISITS),
            rng=rng, workers=workers, monitor=monitor,
        )  # fmt: skip

    def _take(self, result: local_deep.TreeResult, settings: Settings) -> None:
        self._nodes = result.nodes
        self.depth_, self.alpha_ = settings["depth"], settings["alpha"]
        self.jitter_ = settings["jitter"]

    # ---- prediction ----------------------------------------------------------------------------

    def _block_scores(self, X: Any, begin: int, end: int) -> np.ndarray:
        n_trees, _, n_vectors, _ = self._nodes.shape
        scores = np.empty((end - begin, n_trees * (n_vectors - local_deep.FIRST_COLUMN)), X.dtype)
        rows = core_rows(X[begin:end])
        if not _core.tree_scores(rows, 0, end - begin, self._nodes, self.depth_, scores):
            check_values(X[begin:end])
        return scores

    # ---- explanation ---------------------------------------------------------------------------

    def _local_models_of(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Weights and intercepts of blocks of rows, ``Σ tanh(θ'_n·x) w_n`` along the paths."""
        weights = self._weights
        _, n_columns, width = weights.shape
        size = max(1, NUMBERS_PER_EXPLANATION_BLOCK // (n_columns * width))
        for begin, end in row_blocks(X.shape[0], size):
            local = np.zeros((end - begin, n_columns, width), self._nodes.dtype)
            for tree, columns in self._columns_of_trees():
                paths, gates = trees.encode(X[begin:end], self._nodes[tree], self.depth_)
                for nodes, gate in zip(paths.T, gates.T, strict=True):
                    local[:, columns] += gate[:, None, None] * weights[nodes, columns]
            yield local[..., :-1], local[..., -1]

    def _columns_of_trees(self) -> list[tuple[int, slice]]:
        n_trees, _, n_vectors, _ = self._nodes.shape
        per_tree = n_vectors - local_deep.FIRST_COLUMN
        return [(t, slice(t * per_tree, (t + 1) * per_tree)) for t in range(n_trees)]

    def _active_models(self, X: Any, best: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The path in the tree of class ``best``, its gates, and what its nodes say."""
        tree = best if len(self._nodes) > 1 else 0
        paths, gates = trees.encode(X, self._nodes[tree], self.depth_)
        column = best if self._weights.shape[1] > 1 else 0
        weights = self._weights[paths[0], column]
        said = (X @ weights[:, :-1].T).ravel() + weights[:, -1]
        return paths[0], gates[0], gates[0] * said

    # ---- fitted attributes ---------------------------------------------------------------------

    @property
    def model_(self) -> Any:
        """The fitted trees."""
        fitted = self.tree_ if isinstance(self.tree_, list) else [self.tree_]
        names = ("routes", "gates", "weights")
        parts = {name: np.stack([getattr(tree, name) for tree in fitted]) for name in names}
        step = Step("tree", {**parts, "depth": int(self.depth_)})
        return LearnedModel(self._feature_map, self._weights, step)

    @property
    def _weights(self) -> np.ndarray:  # type: ignore[override]
        """Weights of the nodes, ``(n_nodes, n_columns, n_features + 1)``: a view where possible."""
        used = self._nodes[:, :, local_deep.FIRST_COLUMN :, : self.n_features_in_ + 1]
        n_trees, n_nodes, per_tree, width = used.shape
        return used.transpose(1, 0, 2, 3).reshape(n_nodes, n_trees * per_tree, width)

    @property
    def tree_(self) -> Any:
        """The fitted tree, or a list of the trees of all classes."""
        used = self._nodes[..., : self.n_features_in_ + 1]
        fitted = [
            trees.Tree(
                routes=nodes[: 2**self.depth_ - 1, local_deep.ROUTE],
                gates=nodes[:, local_deep.GATE],
                weights=nodes[:, local_deep.FIRST_COLUMN :],
            )
            for nodes in used
        ]
        return fitted[0] if len(fitted) == 1 else fitted
