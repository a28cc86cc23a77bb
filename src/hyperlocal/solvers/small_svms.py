"""One kernel SVM per query, on its nearest training rows (LSVM, SVM-KNN).

The compiled kernel solves a block of queries at a time; blocks are spread over threads. From a list
of neighbors per query it computes the scores of all classes, or trains models of a few centers that
score many queries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..data.rows import core_rows
from ..kernels import Kernel, gamma_value
from ..neighbors.base import Neighbors
from ..runtime.threads import Workers, row_blocks

KERNELS = ("rbf", "linear", "poly")


# Small enough that the few queries for which cached models have low margins occupy all threads.
QUERIES_PER_BLOCK = 8
CENTERS_PER_BLOCK = 64
QUERIES_OF_MODELS_PER_BLOCK = 256
NUMBERS_PER_GRAM_BLOCK = 1 << 21


@dataclass(frozen=True)
class SvmOptions:
    """The kernel of the local SVMs, and when their solver stops.

    Attributes
    ----------
    kernel : Kernel
        "rbf", "linear" and "poly" are ``exp(−γ‖x − x'‖²)``, ``γ x·x'`` and
        ``(γ x·x' + coef0)^degree`` of rows less the query (or the center). (Here the linear kernel
        has a γ too, so that ``C`` does not depend on the units of the rows.) A function gets rows
        as they are.
    has_local_gamma : bool
        Take γ from each neighborhood, not from the kernel: with ``s²`` the mean squared distance
        from the query to its neighbors, ``1/(2s²)`` for "rbf" and ``1/s²`` for the others.
    tol : float
        Tolerance of the optimality conditions.
    max_iter : int
        The most steps of one SVM.
    """

    kernel: Kernel
    has_local_gamma: bool
    tol: float
    max_iter: int

    @classmethod
    def of(cls, estimator: Any, X: Any) -> SvmOptions:
        """From the parameters of an estimator, for training rows."""
        is_local = isinstance(estimator.gamma, str) and estimator.gamma == "local"
        gamma = 1.0 if is_local else gamma_value(estimator.gamma, estimator.kernel, X)
        kernel = Kernel(estimator.kernel, gamma, int(estimator.degree), float(estimator.coef0))
        return cls(kernel, is_local, float(estimator.tol), int(estimator.max_iter))

    def core(self) -> Any:
        """The same for the compiled solver."""
        kernel = self.kernel
        name = "linear" if callable(kernel.name) else kernel.name
        return _core.NeighborhoodOptions(
            kernel=getattr(_core.Kernel, name), sigma=self.scale**-0.5 if self.scale else 0.0,
            degree=kernel.degree, coef0=kernel.coef0, tol=self.tol, max_steps=self.max_iter,
        )  # fmt: skip

    @property
    def scale(self) -> float:
        """What the compiled solver multiplies products of rows by; 0 stands for ``1/s²``.

        It computes a Gaussian as ``exp(scale (x·x' − ½‖x‖² − ½‖x'‖²))``.
        """
        if self.has_local_gamma or callable(self.kernel.name):
            return 0.0
        return self.kernel.gamma * (2 if self.kernel.name == "rbf" else 1)

    def scaled_kernel(self, scale: float) -> Kernel:
        """The kernel of rows less the query at a scale, in the library's convention."""
        if self.kernel.name == "linear":
            return Kernel("poly", scale, 1, 0.0)
        return replace(self.kernel, gamma=scale / 2 if self.kernel.name == "rbf" else scale)

    def scales(self, squared_distances: np.ndarray) -> np.ndarray:
        """That of each neighborhood; 0 where all rows lie on the query."""
        if self.scale:
            return np.full(len(squared_distances), self.scale)
        # As the compiled solver does, to the last bit: one after the other, then the division.
        total = np.cumsum(squared_distances, axis=1, dtype=np.float64)[:, -1]
        k = float(squared_distances.shape[1])
        return np.divide(k, total, out=np.zeros_like(total), where=total > 0)


@dataclass(frozen=True)
class LocalSvms:
    """The trained models of centers: their support vectors.

    Attributes
    ----------
    neighbors : ndarray of int32, shape (n_centers, k)
        The rows that each center was trained on, nearest first. The first one lies on it.
    scales : ndarray of shape (n_centers,)
        ``2γ`` for "rbf", else ``γ``.
    starts : ndarray of int64, shape (n_centers + 1,)
        Center ``i`` owns the columns ``starts[i] … starts[i+1] − 1``: one per class present, one in
        all for two-class data, none where one class is present.
    classes : ndarray of int32, shape (n_columns,)
    bias : ndarray of shape (n_columns,)
    support_starts : ndarray of int64, shape (n_centers + 1,)
        Where each center's support vectors begin.
    support : ndarray of int32, shape (n_support,)
        Training rows with a dual variable in any column of the center.
    beta : ndarray of shape (n_numbers,)
        Signed dual variables ``y_i α_i``: for one center after the other, columns × support
        vectors.
    """

    neighbors: np.ndarray
    scales: np.ndarray
    starts: np.ndarray
    classes: np.ndarray
    bias: np.ndarray
    support_starts: np.ndarray
    support: np.ndarray
    beta: np.ndarray

    @property
    def n_centers(self) -> int:
        """Number of centers."""
        return len(self.scales)


class NeighborhoodSolver:
    """Local SVMs over training rows.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
    target : ndarray of int32, shape (n_rows,)
    costs : ndarray of float64, shape (n_rows,)
        The largest dual variable of each row, ``C s_i``.
    n_classes : int
    options : SvmOptions
    """

    def __init__(
        self, X: Any, target: np.ndarray, costs: np.ndarray, n_classes: int, options: SvmOptions
    ):
        self.X, self.target, self.n_classes, self.options = X, target, n_classes, options
        self._core = self._made_core(costs)
        self._bound_models: tuple[LocalSvms, Any] | None = None

    def _made_core(self, costs: np.ndarray) -> Any:
        options = self.options.core()
        return _core.neighborhood(core_rows(self.X), self.target, costs, self.n_classes, options)

    @property
    def n_columns(self) -> int:
        """Columns of scores: one for two classes, else one per class."""
        return 1 if self.n_classes == 2 else self.n_classes

    def scores(
        self,
        queries: Any,
        found: Neighbors,
        workers: Workers,
        candidates: np.ndarray | None = None,
    ) -> tuple[np.ndarray, int]:
        """Scores of queries, each by SVMs on its own neighbors.

        Parameters
        ----------
        queries : ndarray or CSR of shape (n_queries, n_features)
        found : Neighbors
        workers : Workers
        candidates : ndarray of bool, shape (n_queries, n_classes), or None
            Where at least two of the candidate classes are among a query's neighbors, their rows
            alone are trained on, and the other classes count as absent. (A kernel that is a
            function ignores this.)

        Returns
        -------
        scores : ndarray of shape (n_queries, n_columns)
        n_unsolved : int
            Problems that did not converge within ``max_iter`` steps.
        """
        if callable(self.options.kernel.name):
            return self._callable_scores(queries, found, workers)
        out = np.empty((queries.shape[0], self.n_columns), self.X.dtype)
        rows = core_rows(queries)
        flags = None if candidates is None else candidates.view(np.uint8)

        def score_block(block: tuple[int, int]) -> int:
            begin, end = block
            return self._core.scores(
                rows, begin, end, found.indices[begin:end], found.distances[begin:end],
                None if flags is None else flags[begin:end], out[begin:end],
            )  # fmt: skip

        counts = workers.map(score_block, row_blocks(queries.shape[0], QUERIES_PER_BLOCK))
        return out, sum(counts)

    def gram_scores(
        self,
        n_queries: int,
        k: int,
        measure: Callable[[int, int], tuple[np.ndarray, np.ndarray]],
        workers: Workers,
        width: int = 0,
    ) -> tuple[np.ndarray, int]:
        """Scores from neighbors and Gram matrices, which are computed for blocks of queries.

        Parameters
        ----------
        n_queries : int
        k : int
            Neighbors per query.
        measure : function of (begin, end)
            Neighbors of those queries, ``(end − begin, k)``, and their Gram matrices,
            ``(end − begin, k + 1, k + 1)``; the last row of each belongs to the query itself.
        workers : Workers
        width : int
            How many numbers ``measure`` holds per query, besides the Gram matrix.
        """
        out = np.empty((n_queries, self.n_columns), self.X.dtype)

        def score_block(block: tuple[int, int]) -> int:
            indices, grams = measure(*block)
            return self._core.gram_scores(
                np.ascontiguousarray(indices), np.ascontiguousarray(grams), out[slice(*block)]
            )

        size = max(1, NUMBERS_PER_GRAM_BLOCK // ((k + 1) ** 2 + width))
        return out, sum(workers.map(score_block, row_blocks(n_queries, size)))

    def _callable_scores(
        self, queries: Any, found: Neighbors, workers: Workers
    ) -> tuple[np.ndarray, int]:
        """A kernel that is a Python function is called once per query: slow, but any kernel."""
        is_solved = self._are_solved(found.indices)
        k = found.indices.shape[1]

        def measure(begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
            values = np.zeros((end - begin, k + 1, k + 1))
            for i in np.flatnonzero(is_solved[begin:end]):
                rows = _stacked(self.X[found.indices[begin + i]], queries[[begin + i]])
                values[i] = self.options.kernel.values(rows, rows)
            return found.indices[begin:end], values

        return self.gram_scores(queries.shape[0], k, measure, workers)

    def _are_solved(self, indices: np.ndarray) -> np.ndarray:
        """Which queries need an SVM: those whose neighbors are of several classes."""
        labels = self.target[indices]
        return (labels != labels[:, :1]).any(axis=1)

    def train(
        self,
        centers: Any,
        found: Neighbors,
        workers: Workers,
        scales: np.ndarray | None = None,
    ) -> tuple[LocalSvms, int]:
        """Train the SVMs of centers.

        Parameters
        ----------
        centers : ndarray or CSR of shape (n_centers, n_features)
        found : Neighbors
            The rows to train on; the first of each list lies on the center.
        workers : Workers
        scales : ndarray of shape (n_centers,), optional
            Of the kernels; by default those of the distances.
        """
        n_centers, k = found.indices.shape
        scales = self.options.scales(found.distances) if scales is None else scales
        starts = self._column_starts(found.indices, scales)
        classes, bias = np.zeros(starts[-1], np.int32), np.zeros(starts[-1])
        rows = core_rows(centers)

        def train_block(block: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
            part, columns = slice(*block), slice(*starts[list(block)])
            own = starts[block[0] : block[1] + 1] - starts[block[0]]
            beta, near = np.zeros((own[-1], k)), found.indices[part]
            models = _core.trained_svms(scales[part], own, classes[columns], beta, bias[columns])
            unsolved = self._core.train(rows, *block, near, models)
            counts, support, weights = _support(beta, np.diff(own), near)
            return counts, support, weights.astype(self.X.dtype, copy=False), unsolved

        blocks = row_blocks(n_centers, CENTERS_PER_BLOCK)
        counts, support, beta, unsolved = zip(*workers.map(train_block, blocks), strict=True)
        models = LocalSvms(
            found.indices, scales, starts, classes, bias,
            np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64),
            np.concatenate(support), np.concatenate(beta),
        )  # fmt: skip
        return models, sum(unsolved)

    def center_scores(
        self, models: LocalSvms, queries: Any, centers: np.ndarray, workers: Workers
    ) -> np.ndarray:
        """Scores of queries by the models of the centers named.

        Parameters
        ----------
        models : LocalSvms
        queries : ndarray or CSR of shape (n_queries, n_features)
        centers : ndarray of int32, shape (n_queries,)
            The center whose model scores each query.
        workers : Workers

        Returns
        -------
        ndarray of shape (n_queries, n_columns)
        """
        own = np.ascontiguousarray(centers)
        out = np.empty((queries.shape[0], self.n_columns), self.X.dtype)
        rows, core = core_rows(queries), self._bound(models)

        def score_block(block: tuple[int, int]) -> None:
            begin, end = block
            core.scores(rows, begin, end, own[begin:end], out[begin:end])

        workers.map(score_block, row_blocks(queries.shape[0], QUERIES_OF_MODELS_PER_BLOCK))
        return out

    def _bound(self, models: LocalSvms) -> Any:
        """The models in the core, which checks all of their indices once."""
        if self._bound_models is None or self._bound_models[0] is not models:
            support = _core.support_vectors(models.support_starts, models.support, models.beta)
            on_center = np.ascontiguousarray(models.neighbors[:, 0])
            self._bound_models = models, _core.cached_svms(
                self._core, on_center, models.scales, models.starts, models.classes, models.bias,
                support,
            )  # fmt: skip
        return self._bound_models[1]

    def _column_starts(self, indices: np.ndarray, scales: np.ndarray) -> np.ndarray:
        """Where each center's columns begin; it has none where the nearest row decides."""
        labels = np.sort(self.target[indices], axis=1)
        n_present = 1 + np.count_nonzero(np.diff(labels, axis=1), axis=1)
        n_columns = np.ones_like(n_present) if self.n_classes == 2 else n_present.copy()
        n_columns[(n_present == 1) | (scales == 0)] = 0
        return np.concatenate([[0], np.cumsum(n_columns)]).astype(np.int64)


def _support(
    beta: np.ndarray, n_columns: np.ndarray, neighbors: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per center the number of support vectors; all of them; their dual variables, column-wise."""
    owner = np.repeat(np.arange(len(n_columns)), n_columns)
    is_support = np.zeros(neighbors.shape, bool)
    has_columns = n_columns > 0
    if has_columns.any():
        first = (np.cumsum(n_columns) - n_columns)[has_columns]
        is_support[has_columns] = np.logical_or.reduceat(beta != 0, first, axis=0)
    return is_support.sum(axis=1), neighbors[is_support], beta[is_support[owner]]


def kernel_matrices(options: SvmOptions, rows: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Kernel values within each of several small sets of rows, the query's own row last.

    Parameters
    ----------
    options : SvmOptions
    rows : ndarray of shape (n_sets, k + 1, n_features)
    distances : ndarray of shape (n_sets, k)
        Squared, from the query to its neighbors.
    """
    kernel = options.kernel
    if callable(kernel.name):
        return np.stack([kernel.values(one, one) for one in rows])
    products = rows @ rows.transpose(0, 2, 1) * options.scales(distances)[:, None, None]
    if kernel.name == "linear":
        return products
    if kernel.name == "poly":
        return (products + kernel.coef0) ** kernel.degree
    norms = np.einsum("qii->qi", products)
    return np.exp(products - 0.5 * (norms[:, :, None] + norms[:, None, :]))


def _stacked(rows: Any, last: Any) -> Any:
    return sp.vstack([rows, last], format="csr") if sp.issparse(rows) else np.vstack([rows, last])
