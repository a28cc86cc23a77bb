"""Kernel SVMs with a gate, one per cluster: what prediction needs of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from ..gates.codes import Codes
from ..gates.gate import Gate
from ..kernel_paths import path_averages
from ..kernels import Kernel
from ..maps.base import FeatureMap
from ..runtime.threads import Workers, row_blocks
from .explanation import LocalRows

VALUES_PER_BLOCK = 1 << 22
ROWS_PER_EXPLANATION_BLOCK = 1024


@dataclass(frozen=True)
class KernelModel:
    """``f_c(x) = Σ_i (γ(x)·g_i) k(φ(x), φ_i) a_ic + b_c(x)`` over support vectors ``φ_i``.

    Attributes
    ----------
    feature_map : FeatureMap
    gate : Gate
        Gives the codes ``γ(x)``.
    kernel : Kernel
    support : ndarray of shape (n_support, p)
        Mapped support vectors ``φ_i``.
    starts, members, shares : ndarray
        ``g_i`` by anchor: those of anchor ``j`` are ``shares[starts[j] : starts[j + 1]]``, of the
        support vectors ``members[starts[j] : starts[j + 1]]``. A support vector that has no anchor
        in common with a row adds nothing to its scores.
    dual_coef : ndarray of shape (n_support, n_columns)
        ``a_ic = α_ic y_ic``.
    intercept : ndarray of shape (n_columns,) or (n_anchors, n_columns)
        One for all anchors, or ``b(x) = Σ_j γ_j(x) b_j``.
    """

    feature_map: FeatureMap
    gate: Gate
    kernel: Kernel
    support: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    shares: np.ndarray
    dual_coef: np.ndarray
    intercept: np.ndarray

    @property
    def anchors(self) -> np.ndarray:
        """Anchors of the gate."""
        return self.gate.anchors

    @property
    def n_anchors(self) -> int:
        """Number of clusters."""
        return self.gate.n_anchors

    @property
    def n_columns(self) -> int:
        """Columns of scores: one per class, or one for two classes."""
        return self.dual_coef.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """Precision of the scores: that of the rows."""
        return self.support.dtype

    @property
    def n_features_in(self) -> int:
        """Features of a row."""
        return self.feature_map.n_features_in

    @property
    def coef(self) -> NoReturn:
        """Raise: there are none."""
        raise no_weights()

    def scores(
        self, X: Any, workers: Workers, *, values_per_block: int = VALUES_PER_BLOCK
    ) -> np.ndarray:
        """Scores of checked rows, ``(n_rows, n_columns)``, in blocks of so many kernel values."""
        codes, mapped = self.gate.encode(X, workers), self.feature_map.stored(X)
        scores = np.empty((X.shape[0], self.n_columns), self.dtype)
        most_near = self.gate.n_neighbors * np.diff(self.starts).max()
        size = max(1, values_per_block // max(1, min(len(self.support), most_near)))

        def fill(rows: np.ndarray) -> None:
            scores[rows] = self._block_scores(mapped[rows], codes.take(rows))

        workers.map(fill, _blocks_by_anchor(codes.anchors[:, 0], size))
        return scores

    def _block_scores(self, mapped: Any, codes: Codes) -> np.ndarray:
        gate, used, shares, bias = self._active_parts(codes)
        values = self.kernel.values(_in_double(mapped), _in_double(self.support[used]))
        coef = self.dual_coef[used]
        if gate.shape[1] == 1:  # (γ g_i) k a_i = γ (k (g_i a_i)): no product for each kernel value
            return gate * (values @ (shares * coef)) + bias
        values *= gate @ shares.T
        return values @ coef + bias

    def _active_parts(self, codes: Codes) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Weights of the active anchors, their support vectors and shares, and the biases."""
        active = np.unique(codes.anchors)
        gate = np.zeros((len(codes.anchors), len(active)))
        np.put_along_axis(gate, np.searchsorted(active, codes.anchors), codes.weights, axis=1)
        used, shares = self._support_near(active)
        bias = self.intercept if self.intercept.ndim == 1 else gate @ self.intercept[active]
        return gate, used, shares, bias

    def _support_near(self, anchors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The support vectors of some anchors, and ``g_i`` of these, ``(n_used, n_anchors)``."""
        parts = [slice(self.starts[anchor], self.starts[anchor + 1]) for anchor in anchors]
        if len(parts) == 1:
            return self.members[parts[0]], self.shares[parts[0], None]
        used = np.unique(np.concatenate([self.members[part] for part in parts]))
        near = np.zeros((len(used), len(parts)))
        for column, part in enumerate(parts):
            near[np.searchsorted(used, self.members[part]), column] = self.shares[part]
        return used, near

    def local_rows(self, X: Any, workers: Workers) -> Iterator[LocalRows]:
        """The linear model at each row: gradients averaged from ``φ = 0`` on, the gate fixed."""
        origin = np.zeros((1, self.feature_map.n_features_out))
        for begin, end in row_blocks(X.shape[0], ROWS_PER_EXPLANATION_BLOCK):
            rows = X[begin:end]
            codes = self.gate.encode(rows, workers)
            coef, intercept = self._frozen(rows, codes, origin)
            coef, shift = self.feature_map.pull_back(rows, coef)
            seen = rows if self.feature_map.explains_input else self.feature_map.mapped(rows)
            values = seen.toarray() if sp.issparse(seen) else seen
            yield LocalRows(coef, intercept + shift, values, self._active(rows, codes))

    def path_weights(
        self, X: Any, references: np.ndarray, workers: Workers
    ) -> Iterator[np.ndarray]:
        """Gradients averaged on the way from each reference to rows, with the gate of the row."""
        codes, rows = self.gate.encode(X, workers), X.toarray() if sp.issparse(X) else X
        for reference in references:
            start = self.feature_map.inner_rows(reference[None])
            weights, _ = self._frozen(X, codes, start)
            yield self.feature_map.path_weights(weights, rows, reference[None], workers)

    def _frozen(self, X: Any, codes: Codes, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Path averages in mapped features with the gates of the rows, and scores at the start."""
        mapped = self.feature_map.inner_rows(X)
        weights = np.empty((len(mapped), self.n_columns, mapped.shape[1]))
        scores = np.empty((len(mapped), self.n_columns))
        for rows in _blocks_by_anchor(codes.anchors[:, 0], ROWS_PER_EXPLANATION_BLOCK):
            gate, used, shares, bias = self._active_parts(codes.take(rows))
            support, coef = _in_double(self.support[used]), self.dual_coef[used]
            factors = gate @ shares.T
            weights[rows] = path_averages(
                self.kernel, mapped[rows], start[0], support, coef, factors
            )
            scores[rows] = (self.kernel.values(start, support) * factors) @ coef + bias
        return weights, scores

    def _active(
        self, X: Any, codes: Codes
    ) -> Callable[[np.ndarray], Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]]:
        """What each cluster adds to the deciding score."""

        def active(best: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
            mapped = self.feature_map.stored(X)
            columns = best if self.n_columns > 1 else np.zeros_like(best)
            for i, column in enumerate(columns):
                parts = []
                for anchor, weight in zip(codes.anchors[i], codes.weights[i], strict=True):
                    one = Codes(*(np.array([[value]]) for value in (anchor, weight, 0.0)))
                    parts.append(self._block_scores(mapped[i : i + 1], one)[0, column])
                shared = self.intercept[column] if self.intercept.ndim == 1 else 0.0
                yield codes.anchors[i], codes.weights[i], np.array(parts) - shared

        return active


def make_kernel_model(
    feature_map: FeatureMap,
    gate: Gate,
    kernel: Kernel,
    rows: Any,
    row_gate: Any,
    dual_coef: np.ndarray,
    intercept: np.ndarray,
) -> KernelModel:
    """The model of training rows' dual variables: the rows that have some are its support.

    Parameters
    ----------
    feature_map, gate, kernel : as in :class:`KernelModel`
    rows : ndarray or CSR of shape (n_rows, p)
        Mapped training rows.
    row_gate : ndarray or CSR of shape (n_rows, n_anchors)
        ``g_i`` of each.
    dual_coef : ndarray of shape (n_rows, n_columns)
    intercept : ndarray of shape (n_columns,) or (n_anchors, n_columns)

    Returns
    -------
    KernelModel
    """
    used = np.flatnonzero(dual_coef.any(axis=1))
    support = rows[used].toarray() if sp.issparse(rows) else rows[used]
    by_anchor = sp.csc_array(row_gate[used])
    return KernelModel(
        feature_map, gate, kernel, support, by_anchor.indptr, by_anchor.indices, by_anchor.data,
        dual_coef[used], intercept,
    )  # fmt: skip


def no_weights() -> AttributeError:
    """The error for weights that a kernel model does not have."""
    return AttributeError("a kernel has no weights per feature; fit with kernel='linear'.")


def _blocks_by_anchor(nearest: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Blocks of rows that have the nearest anchor in common."""
    for anchor in np.unique(nearest):
        rows = np.flatnonzero(nearest == anchor)
        for begin, end in row_blocks(len(rows), size):
            yield rows[begin:end]


def _in_double(rows: Any) -> np.ndarray:
    rows = rows.toarray() if sp.issparse(rows) else rows
    return rows.astype(np.float64, copy=False)
