"""MEGM: a linear map in which a row's neighbours tell its class.

With ``z = A x``, each row is predicted from all others by ``ŷ_i = Σ_j P_ij y_j`` over one-hot
classes, ``P_i`` the softmax of ``−‖z_i − z_j‖²`` over ``j ≠ i``, and ``A`` minimises
``L = Σ_i ‖ŷ_i − y_i‖²/N``:

    G_ij = (2/N) P_ij (r_i·y_j − r_i·ŷ_i),  r = ŷ − y;   rows of G sum to zero
    ∂L/∂Z = 2 (G Z + Gᵀ Z − diag(Gᵀ1) Z),   ∂L/∂A = (∂L/∂Z)ᵀ X

in blocks of rows, or over each row's nearest neighbours alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .neighbors import ExactSearch, without_self
from .progress import CallbackSupportMixin, EpochMonitor, with_callbacks
from .rows import take_rows
from .threads import Workers, row_blocks
from .validation import (
    LabelledRows,
    canonical,
    check_choice,
    check_labelled_rows,
    check_n_jobs,
    check_number,
    check_rows,
    make_generator,
    warn_about_scales,
)

TRANSFORMATIONS = ("full", "diagonal")

NUMBERS_PER_BLOCK = 1 << 20
BLOCKS_AT_ONCE = 8
# n_neighbors="auto": all rows count up to this many, else each row's nearest few.
MOST_ROWS_FOR_EXACT = 2_000
NEIGHBORS_OF_LARGE_DATA = 50
# Neighbours are found anew, under the metric learned so far, after so many iterations.
ITERATIONS_PER_ROUND = 20
MOST_VALIDATION_ROWS = 1_000
NEIGHBORS_FOR_SCALE = 10
ROWS_FOR_SCALE = 5_000
WIDEST_FULL_MAP = 4_096
ROWS_PER_PRODUCT = 256


class _Stop(Exception):
    """Raised inside L-BFGS to end it."""


class MEGM(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Metric learning by the mean squared error of a kernel classifier (MEGM).

    Learns a linear map ``A`` such that each row's class is well predicted by the classes of the
    others, weighted by ``exp(−‖A x_i − A x_j‖²)``. Rows mapped by it suit methods of neighbours.

    Parameters
    ----------
    n_components : int or None, default=None
        Dimensions to map to; None keeps as many as there are features.
    transformation : {"full", "diagonal"}, default="full"
        "diagonal" learns one factor per feature.
    n_neighbors : "auto", int or None, default="auto"
        Rows that each row is predicted from: None is all of them, exactly; a number is that many of
        the nearest, found anew every 20 iterations. "auto" is all up to 2,000 rows, else 50.
    max_iter : int, default=200
        The most iterations of L-BFGS.
    tol : float, default=1e-5
        Training ends when an iteration lowers the loss by less than this share of it.
    validation_fraction : float, default=0.2
        Share of each class's rows (1,000 rows at most) on which it is decided when to stop: more
        iterations always lower the loss on training rows, and often raise it on others. The map is
        then learned from all rows, with the number of iterations found. 0 switches this off.
    n_iter_no_change : int, default=10
        Iterations without progress on the validation rows after which training ends.
    n_jobs : int or None, default=None
        Threads over blocks of rows. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Chooses the validation rows.
    verbose : int, default=0
        1 writes progress to stderr now and then, 2 every iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features), or (n_features,) if diagonal
        The map ``A``.
    n_iter_ : int
        Iterations of the final run.
    loss_ : float
        ``L`` on the training rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    See Also
    --------
    AdaptiveNeighborhoodSVC : Local SVMs in the learned metric.

    References
    ----------
    N. A. Zaidi, D. McG. Squire and D. Suter. A gradient-based metric learning algorithm for k-NN
    classifiers. AI 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal import MEGM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 4))
    >>> y = (X[:, 0] > 0).astype(int)  # one feature matters
    >>> A = MEGM(transformation="diagonal", random_state=0).fit(X, y).components_
    >>> int(np.abs(A).argmax())
    0
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        transformation: str = "full",
        n_neighbors: Any = "auto",
        max_iter: int = 200,
        tol: float = 1e-5,
        validation_fraction: float = 0.2,
        n_iter_no_change: int = 10,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.transformation = transformation
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any) -> MEGM:
        """Learn the map.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Class labels.

        Returns
        -------
        self
        """
        self._check_arguments()
        data = check_labelled_rows(self, X, y)
        warn_about_scales(data.X)
        self._check_width(data.X.shape[1])
        rng = make_generator(self.random_state)
        monitor = EpochMonitor(self, 2 * self.max_iter, self.verbose)
        try:
            with Workers(self.n_jobs) as workers:
                start = self._start(data.X, rng, workers)
                n_iter, searched = self._find_n_iter(data, start, rng, workers, monitor)
                run = _Descent(self, data, start, workers, monitor)
                run.descend(max(1, n_iter))
        finally:
            monitor.close()
        self.components_ = run.map.astype(data.X.dtype)
        self.n_iter_, self.loss_ = max(1, run.n_iter), run.loss
        if not searched and not run.converged:
            warnings.warn(
                f"MEGM was stopped after max_iter={self.max_iter} iterations before the loss "
                f"settled to tol={self.tol:g}; raise max_iter or tol, or stop early by a "
                "validation_fraction above 0.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def transform(self, X: Any) -> Any:
        """Rows mapped by ``A``; a diagonal map keeps sparse rows sparse."""
        check_is_fitted(self, "components_")
        X = check_rows(self, X, reset=False).astype(self.components_.dtype, copy=False)
        if sp.issparse(X) or self.components_.ndim == 1:
            return _mapped(X, self.components_)
        return _mapped_one_by_one(X, self.components_)

    def score(self, X: Any, y: Any) -> float:
        """Share of rows whose class the other rows given predict rightly, in the learned metric.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        """
        check_is_fitted(self, "components_")
        data = check_labelled_rows(self, X, y, reset=False)
        Z = _dense(_mapped(data.X.astype(self.components_.dtype, copy=False), self.components_))
        Y = _one_hot(data)
        right = 0
        for begin, end in _blocks(len(Z), len(Z)):
            P = _probabilities(Z[begin:end], Z, np.arange(begin, end))
            right += int(np.count_nonzero((P @ Y).argmax(axis=1) == data.target[begin:end]))
        return right / len(Z)

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ---- the steps of fit ----------------------------------------------------------------------

    def _check_arguments(self) -> None:
        check_choice("transformation", self.transformation, TRANSFORMATIONS)
        if self.n_components is not None:
            check_number("n_components", self.n_components, integer=True, above=1, inclusive=True)
            if self.transformation == "diagonal":
                raise ValueError(
                    "n_components needs transformation='full'; a diagonal map keeps all features."
                )
        if isinstance(self.n_neighbors, str):
            check_choice("n_neighbors", self.n_neighbors, ["auto"])
        elif self.n_neighbors is not None:
            check_number("n_neighbors", self.n_neighbors, integer=True, above=1, inclusive=True)
        check_number("max_iter", self.max_iter, integer=True, above=1, inclusive=True)
        check_number("tol", self.tol, inclusive=True)
        check_number("validation_fraction", self.validation_fraction, inclusive=True)
        if self.validation_fraction >= 1:
            raise ValueError(
                f"validation_fraction must be below 1, not {self.validation_fraction!r}."
            )
        check_number(
            "n_iter_no_change", self.n_iter_no_change, integer=True, above=1, inclusive=True
        )
        check_n_jobs(self.n_jobs)
        if not isinstance(self.verbose, bool):
            check_number("verbose", self.verbose, integer=True, inclusive=True)

    def _check_width(self, n_features: int) -> None:
        if self.n_components is not None and self.n_components > n_features:
            raise ValueError(
                f"n_components={self.n_components} is larger than the number of features, "
                f"{n_features}."
            )
        if self.transformation == "full" and (self.n_components or n_features) > WIDEST_FULL_MAP:
            raise ValueError(
                f"a full map of {n_features} features would have {n_features}² numbers; give "
                "n_components, or transformation='diagonal'."
            )

    def _start(self, X: Any, rng: np.random.Generator, workers: Workers) -> np.ndarray:
        """The identity (or principal axes) over the typical distance of near rows.

        From the identity itself, descent ends in much worse maps.
        """
        n_features = X.shape[1]
        if self.transformation == "diagonal":
            start = np.ones(n_features)
        elif self.n_components is None or self.n_components == n_features:
            start = np.eye(n_features)
        else:
            seed = int(rng.integers(np.iinfo(np.int32).max))
            axes = TruncatedSVD if sp.issparse(X) else PCA
            n_axes = min(self.n_components, *X.shape)
            start = np.eye(self.n_components, n_features)
            start[:n_axes] = axes(n_axes, random_state=seed).fit(X).components_
        Z = _mapped(X, start.astype(X.dtype))
        chosen = np.arange(X.shape[0])
        if len(chosen) > ROWS_FOR_SCALE:
            chosen = np.sort(rng.choice(len(chosen), ROWS_FOR_SCALE, replace=False))
        k = min(NEIGHBORS_FOR_SCALE, X.shape[0] - 1)
        found = ExactSearch(Z).query(take_rows(Z, chosen), k + 1, workers)
        typical = float(np.mean(without_self(found, chosen).distances, dtype=np.float64))
        return start / np.sqrt(typical) if typical > 0 else start

    def _find_n_iter(
        self,
        data: LabelledRows,
        start: np.ndarray,
        rng: np.random.Generator,
        workers: Workers,
        monitor: EpochMonitor,
    ) -> tuple[int, bool]:
        """After how many iterations rows that were held out are predicted best."""
        kept, held_out = _split(data.target, self.validation_fraction, rng)
        if not len(held_out) or len(np.unique(data.target[kept])) < 2:
            return self.max_iter, False
        run = _Descent(self, _taken(data, kept), start, workers, monitor)
        return run.descend(self.max_iter, _taken(data, held_out), self.n_iter_no_change), True


class _Descent:
    """L-BFGS from a start; keeps the last map, its loss, and how many iterations there were."""

    def __init__(
        self,
        options: MEGM,
        data: LabelledRows,
        start: np.ndarray,
        workers: Workers,
        monitor: EpochMonitor,
    ):
        self.data, self.map, self.workers, self.monitor = data, start, workers, monitor
        self.tol = options.tol
        self.one_hot = _one_hot(data)
        self.n_neighbors = _n_neighbors(options.n_neighbors, data.X.shape[0])
        self.n_iter, self.loss, self.converged = 0, np.inf, False

    def descend(
        self, max_iter: int, held_out: LabelledRows | None = None, patience: int = 0
    ) -> int:
        """Run; returns the iteration at which held-out rows were predicted best."""
        best, best_loss = 0, np.inf
        if held_out is not None:
            best_loss = _held_out_loss(self.map, self.data, self.one_hot, held_out)

        def watch(intermediate_result: Any) -> None:
            nonlocal best, best_loss
            self._take(intermediate_result.x, float(intermediate_result.fun))
            facts = {"loss": self.loss}
            if held_out is not None:
                loss = _held_out_loss(self.map, self.data, self.one_hot, held_out)
                facts["held_out_loss"] = loss
                if loss < best_loss:
                    best, best_loss = self.n_iter, loss
            asked = self.monitor.epoch(self.n_iter, **facts)
            if asked or (held_out is not None and self.n_iter - best >= patience):
                self.converged = True
                raise _Stop

        try:
            while self.n_iter < max_iter and not self.converged:
                self._round(max_iter - self.n_iter, watch)
        except _Stop:
            pass
        return best if held_out is not None else self.n_iter

    def _round(self, max_iter: int, watch: Callable[[Any], None]) -> None:
        """All iterations at once, or some with the neighbours as they are now."""
        neighbors = None
        if self.n_neighbors is not None:
            max_iter = min(max_iter, ITERATIONS_PER_ROUND)
            neighbors = self._neighbors()
        before, shape = self.n_iter, self.map.shape

        def evaluate(flat: np.ndarray) -> tuple[float, np.ndarray]:
            A = flat.reshape(shape)
            loss, gradient = loss_and_gradient(
                A, self.data.X, self.data.target, self.one_hot, self.workers, neighbors
            )
            return loss, gradient.ravel()

        options = {"maxiter": max_iter, "ftol": self.tol, "gtol": 1e-12}
        result = minimize(
            evaluate, self.map.ravel(), jac=True, method="L-BFGS-B", callback=watch, options=options
        )
        if self.n_iter == before:
            self._take(result.x, float(result.fun), moved=False)
        self.converged = result.success and self.n_iter - before < max_iter

    def _take(self, flat: np.ndarray, loss: float, moved: bool = True) -> None:
        self.map, self.loss = flat.reshape(self.map.shape).copy(), loss
        self.n_iter += moved

    def _neighbors(self) -> np.ndarray:
        assert self.n_neighbors is not None
        X = self.data.X
        Z = canonical(_mapped(X, self.map.astype(X.dtype)))
        found = ExactSearch(Z).query(Z, self.n_neighbors + 1, self.workers)
        return without_self(found, np.arange(X.shape[0])).indices


def loss_and_gradient(
    A: np.ndarray,
    X: Any,
    target: np.ndarray,
    one_hot: np.ndarray,
    workers: Workers,
    neighbors: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """``L`` and ``∂L/∂A`` of rows, over all pairs or over given neighbours.

    Parameters
    ----------
    A : ndarray of shape (n_components, n_features), or (n_features,) if diagonal
    X : ndarray or CSR of shape (n_rows, n_features)
    target : ndarray of shape (n_rows,)
        Class of each row.
    one_hot : ndarray of shape (n_rows, n_classes)
        The same, in the dtype of ``X``.
    workers : Workers
    neighbors : ndarray of shape (n_rows, n_neighbors), default=None
        The rows that each row is predicted from.
    """
    Z = _dense(_mapped(X, A.astype(X.dtype)))
    if neighbors is None:
        loss, pull, mass = _all_pairs(Z, target, one_hot, workers)
    else:
        loss, pull, mass = _near_pairs(Z, target, one_hot, neighbors, workers)
    slope = (pull - mass[:, None] * Z) * (4 / len(Z))
    if A.ndim == 1:
        product = X.multiply(slope) if sp.issparse(X) else X * slope
        gradient = np.asarray(product.sum(axis=0)).ravel()
    else:
        gradient = (X.T @ slope).T
    return loss / len(Z), np.asarray(gradient, np.float64)


Pulls = tuple[float, np.ndarray, np.ndarray]


def _all_pairs(Z: np.ndarray, target: np.ndarray, one_hot: np.ndarray, workers: Workers) -> Pulls:
    """``Σ‖r‖²``, ``(H + Hᵀ) Z`` and ``Hᵀ1`` for ``H = G N/2``, in blocks of rows."""

    def block_terms(block: tuple[int, int]) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        begin, end = block
        H = _probabilities(Z[begin:end], Z, np.arange(begin, end))
        predicted = H @ one_hot
        R = predicted - one_hot[begin:end]
        advantage = np.take(R, target, axis=1)
        advantage -= np.einsum("ic,ic->i", R, predicted)[:, None]
        H *= advantage
        return _squared_sum(R), H @ Z, H.T @ Z[begin:end], H.sum(axis=0)

    loss, pull, mass = 0.0, np.zeros_like(Z), np.zeros_like(Z[:, 0])
    blocks = list(_blocks(len(Z), len(Z)))
    for first in range(0, len(blocks), BLOCKS_AT_ONCE):
        some = blocks[first : first + BLOCKS_AT_ONCE]
        terms = workers.map(block_terms, some)
        for (begin, end), (block_loss, own, others, block_mass) in zip(some, terms, strict=True):
            loss += block_loss
            pull[begin:end] += own
            pull += others
            mass += block_mass
    return loss, pull, mass


def _near_pairs(
    Z: np.ndarray, target: np.ndarray, one_hot: np.ndarray, neighbors: np.ndarray, workers: Workers
) -> Pulls:
    """The same, where each row is predicted from its neighbours alone."""
    n_rows, n_neighbors = neighbors.shape
    H = np.empty((n_rows, n_neighbors), Z.dtype)

    def fill_block(block: tuple[int, int]) -> float:
        begin, end = block
        near = neighbors[begin:end]
        differences = Z[near] - Z[begin:end, None]
        P = _softmax(-np.einsum("itd,itd->it", differences, differences))
        predicted = np.einsum("it,itc->ic", P, one_hot[near])
        R = predicted - one_hot[begin:end]
        advantage = np.take_along_axis(R, target[near].astype(np.intp), axis=1)
        H[begin:end] = P * (advantage - np.einsum("ic,ic->i", R, predicted)[:, None])
        return _squared_sum(R)

    width = n_neighbors * (Z.shape[1] + one_hot.shape[1])
    loss = sum(workers.map(fill_block, _blocks(n_rows, width)))
    starts = np.arange(0, H.size + 1, n_neighbors)
    matrix = sp.csr_array((H.ravel(), neighbors.ravel(), starts), shape=(n_rows, n_rows))
    return loss, matrix @ Z + matrix.T @ Z, np.asarray(matrix.sum(axis=0)).ravel()


def _probabilities(Z: np.ndarray, others: np.ndarray, own: np.ndarray | None) -> np.ndarray:
    """Softmax over ``others`` of minus the squared distance; ``own`` places are left out."""
    products = Z @ others.T
    products *= 2
    products -= np.einsum("jd,jd->j", others, others)
    if own is not None:
        products[np.arange(len(own)), own] = -np.inf
    return _softmax(products)


def _softmax(values: np.ndarray) -> np.ndarray:
    values -= values.max(axis=1, keepdims=True)
    np.exp(values, out=values)
    values /= values.sum(axis=1, keepdims=True)
    return values


def _held_out_loss(
    A: np.ndarray, data: LabelledRows, one_hot: np.ndarray, held_out: LabelledRows
) -> float:
    """The loss of rows that are predicted from the training rows."""
    A = A.astype(data.X.dtype)
    Z, others = _dense(_mapped(held_out.X, A)), _dense(_mapped(data.X, A))
    Y = _one_hot(held_out)
    loss = 0.0
    for begin, end in _blocks(len(Z), len(others)):
        loss += _squared_sum(_probabilities(Z[begin:end], others, None) @ one_hot - Y[begin:end])
    return loss / len(Z)


def _split(
    target: np.ndarray, fraction: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rows to keep and to hold out: a share of each class, 1,000 rows at most."""
    fraction = min(fraction, MOST_VALIDATION_ROWS / len(target))
    is_held_out = np.zeros(len(target), bool)
    for label in np.unique(target):
        members = rng.permutation(np.flatnonzero(target == label))
        is_held_out[members[: int(fraction * len(members))]] = True
    return np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)


def _taken(data: LabelledRows, chosen: np.ndarray) -> LabelledRows:
    return LabelledRows(
        take_rows(data.X, chosen), data.target[chosen], data.classes, data.sample_weight[chosen]
    )


def _n_neighbors(wanted: Any, n_rows: int) -> int | None:
    if wanted == "auto":
        wanted = None if n_rows <= MOST_ROWS_FOR_EXACT else NEIGHBORS_OF_LARGE_DATA
    return None if wanted is None or wanted >= n_rows - 1 else int(wanted)


def _one_hot(data: LabelledRows) -> np.ndarray:
    return np.eye(len(data.classes), dtype=data.X.dtype)[data.target]


def _mapped(X: Any, A: np.ndarray) -> Any:
    if A.ndim == 2:
        return X @ A.T
    return sp.csr_array(X.multiply(A)) if sp.issparse(X) else X * A


def _mapped_one_by_one(X: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Products in blocks of one size: a row's last digits do not depend on the rows beside it."""
    Z = np.empty((X.shape[0], A.shape[0]), X.dtype)
    block = np.zeros((ROWS_PER_PRODUCT, X.shape[1]), X.dtype)
    for begin, end in row_blocks(X.shape[0], ROWS_PER_PRODUCT):
        block[: end - begin] = X[begin:end]
        Z[begin:end] = (block @ A.T)[: end - begin]
    return Z


def _dense(Z: Any) -> np.ndarray:
    return Z.toarray() if sp.issparse(Z) else Z


def _squared_sum(values: np.ndarray) -> float:
    return float(np.einsum("ij,ij->", values, values, dtype=np.float64))


def _blocks(n_rows: int, width: int) -> Iterator[tuple[int, int]]:
    return row_blocks(n_rows, max(1, NUMBERS_PER_BLOCK // max(1, width)))
