"""MEGM as a transformer: arguments, where the descent starts, and when it stops."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..data.arguments import check_choice, check_n_jobs, check_number, make_generator
from ..data.checks import check_labelled_rows, check_rows, warn_about_scales
from ..data.labelled import LabelledRows, part_of
from ..data.rows import take_rows
from ..data.splits import hold_out
from ..maps.plain import Step, product, scaling
from ..runtime.progress import CallbackSupportMixin, EpochMonitor, with_callbacks
from ..runtime.stamp import stamped
from ..runtime.threads import Workers, row_blocks
from .base import without_self
from .exact import ExactSearch
from .megm_descent import Descent, dense, mapped, one_hot_rows, pair_blocks, probabilities

TRANSFORMATIONS = ("full", "diagonal")

# n_neighbors="auto": all rows count up to this many, else each row's nearest few.
MOST_ROWS_FOR_EXACT = 2_000
NEIGHBORS_OF_LARGE_DATA = 50
MOST_VALIDATION_ROWS = 1_000
NEIGHBORS_FOR_SCALE = 10
ROWS_FOR_SCALE = 5_000
WIDEST_FULL_MAP = 4_096
ROWS_PER_PRODUCT = 256


@dataclass(eq=False, repr=False)
@stamped
class MEGM(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Metric learning by the mean squared error of a kernel classifier (MEGM).

    Learns a linear map ``A`` such that each row's class is well predicted by the classes of the
    others, weighted by ``exp(−‖A x_i − A x_j‖²)``. Rows mapped by it suit methods of neighbors.

    Parameters
    ----------
    n_components : int or None, default=None
        Dimensions to map to; None keeps as many as there are features.
    transformation : {"full", "diagonal"}, default="full"
        "diagonal" learns one factor per feature.
    n_neighbors : "auto", int or None, default="auto"
        Rows that each row is predicted from: None is all of them, exactly; a number is that many of
        the nearest, found anew every 20 iterations. "auto" is all up to 2,000 rows, else 50,
        because the time for all pairs grows with the square of the rows.
    max_iter : int, default=200
        The most iterations of L-BFGS. Other estimators count epochs; here there are none, because
        the loss is one of all pairs of rows.
    tol : float, default=1e-5
        Training ends when an iteration lowers the loss by less than this share of it. It is smaller
        than a duality gap, because a slow iteration is not yet the last.
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
    feature_names_in_ : ndarray of shape (n_features,)

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
    >>> from hyperlocal.preprocessing import MEGM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 4))
    >>> y = (X[:, 0] > 0).astype(int)  # one feature matters
    >>> A = MEGM(transformation="diagonal", random_state=0).fit(X, y).components_
    >>> int(np.abs(A).argmax())
    0
    """

    n_components: int | None = None
    _: KW_ONLY
    transformation: str = "full"
    n_neighbors: Any = "auto"
    max_iter: int = 200
    tol: float = 1e-5
    validation_fraction: float = 0.2
    n_iter_no_change: int = 10
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

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
            The fitted estimator.
        """
        self._check_arguments()
        data = check_labelled_rows(self, X, y)
        warn_about_scales(data.X)
        self._check_width(data.X.shape[1])
        rng = make_generator(self.random_state)
        with (
            EpochMonitor(self, 2 * self.max_iter, self.verbose) as monitor,
            Workers(self.n_jobs) as workers,
        ):
            start = self._start(data.X, rng)
            data, scale = in_typical_distances(data, start, rng, workers)
            n_iter, searched = self._find_n_iter(data, start, rng, workers, monitor)
            run = self._descent(data, start, workers, monitor)
            run.descend(max(1, n_iter))
        self.components_ = (run.map * scale).astype(data.X.dtype)
        self.n_iter_, self.loss_ = max(1, run.n_iter), run.loss
        self._warn_unless_converged(run, searched)
        return self

    def transform(self, X: Any) -> Any:
        """Map rows by ``A``; a diagonal map keeps sparse rows sparse.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_components)
            The mapped rows.
        """
        check_is_fitted(self, "components_")
        X = check_rows(self, X, reset=False).astype(self.components_.dtype, copy=False)
        if sp.issparse(X) or self.components_.ndim == 1:
            return mapped(X, self.components_)
        return _mapped_one_by_one(X, self.components_)

    def plain(self) -> list[Step]:
        """The map as a plain step, for export.

        Returns
        -------
        list of Step
            One step.
        """
        if self.components_.ndim == 1:
            return [scaling(self.components_)]
        return [product(self.components_.T)]

    def score(self, X: Any, y: Any) -> float:
        """Share of rows whose class the other rows given predict rightly, in the learned metric.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels.

        Returns
        -------
        float
            Between zero and one.
        """
        check_is_fitted(self, "components_")
        data = check_labelled_rows(self, X, y, reset=False)
        X = _centered(data.X.astype(self.components_.dtype, copy=False))
        Z = dense(mapped(X, self.components_))
        Y = one_hot_rows(data)
        right = 0
        for begin, end in pair_blocks(len(Z), len(Z)):
            P = probabilities(Z[begin:end], Z, np.arange(begin, end))
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

    def _start(self, X: Any, rng: np.random.Generator) -> np.ndarray:
        """The identity, or principal axes."""
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
        return start

    def _find_n_iter(
        self,
        data: LabelledRows,
        start: np.ndarray,
        rng: np.random.Generator,
        workers: Workers,
        monitor: EpochMonitor,
    ) -> tuple[int, bool]:
        """After how many iterations rows that were held out are predicted best."""
        share = min(self.validation_fraction, MOST_VALIDATION_ROWS / len(data.target))
        is_held_out = hold_out(data.target, share, rng)
        train, held_out = np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
        if not len(held_out) or len(np.unique(data.target[train])) < 2:
            return self.max_iter, False
        run = self._descent(part_of(data, train), start, workers, monitor)
        return run.descend(self.max_iter, part_of(data, held_out), self.n_iter_no_change), True

    def _descent(
        self, data: LabelledRows, start: np.ndarray, workers: Workers, monitor: EpochMonitor
    ) -> Descent:
        n_neighbors = self._neighbors_of_each(data.X.shape[0])
        return Descent(data, start, n_neighbors, self.tol, workers, monitor)

    def _warn_unless_converged(self, run: Descent, searched: bool) -> None:
        if run.stalled:
            reason = (
                f"after {run.n_iter} iterations, because rounding errors exceed what a step gains; "
                "scale the features, or give rows in float64."
            )
        elif not searched and not run.converged:
            reason = (
                f"after max_iter={self.max_iter} iterations before the loss settled to "
                f"tol={self.tol:g}; raise max_iter or tol, or stop early by a validation_fraction "
                "above 0."
            )
        else:
            return
        warnings.warn(f"MEGM was stopped {reason}", ConvergenceWarning, stacklevel=3)

    def _neighbors_of_each(self, n_rows: int) -> int | None:
        """How many rows each row is predicted from; None is all."""
        wanted = self.n_neighbors
        if isinstance(wanted, str):
            wanted = None if n_rows <= MOST_ROWS_FOR_EXACT else NEIGHBORS_OF_LARGE_DATA
        return None if wanted is None or wanted >= n_rows - 1 else int(wanted)


def in_typical_distances(
    data: LabelledRows, start: np.ndarray, rng: np.random.Generator, workers: Workers
) -> tuple[LabelledRows, float]:
    """Rows around zero, times a factor that makes the mean squared distance of near rows 1.

    Distances stay what they are when all rows move, but lose their digits in rows far from zero.
    With the factor, which is returned too, the descent is the same in any unit; from the identity
    in the units of the features it ends in much worse maps.
    """
    X = _centered(data.X)
    largest = float(abs(X).max()) or 1.0  # its squares neither overflow nor vanish
    X = X / X.dtype.type(largest)
    Z = mapped(X, start.astype(X.dtype))
    chosen = np.arange(X.shape[0])
    if len(chosen) > ROWS_FOR_SCALE:
        chosen = np.sort(rng.choice(len(chosen), ROWS_FOR_SCALE, replace=False))
    k = min(NEIGHBORS_FOR_SCALE, X.shape[0] - 1)
    found = ExactSearch(Z).query(take_rows(Z, chosen), k + 1, workers)
    typical = float(np.mean(without_self(found, chosen).distances, dtype=np.float64))
    factor = 1 / np.sqrt(typical) if typical > 0 else 1.0
    return replace(data, X=X * X.dtype.type(factor)), factor / largest


def _centered(X: Any) -> Any:
    """Dense rows minus their mean; sparse rows as they are."""
    return X if sp.issparse(X) else X - X.mean(axis=0, dtype=np.float64).astype(X.dtype)


def _mapped_one_by_one(X: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Products in blocks of one size: a row's last digits do not depend on the rows beside it."""
    Z = np.empty((X.shape[0], A.shape[0]), X.dtype)
    block = np.zeros((ROWS_PER_PRODUCT, X.shape[1]), X.dtype)
    for begin, end in row_blocks(X.shape[0], ROWS_PER_PRODUCT):
        block[: end - begin] = X[begin:end]
        Z[begin:end] = (block @ A.T)[: end - begin]
    return Z
