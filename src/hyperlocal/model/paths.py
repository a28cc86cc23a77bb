"""Contributions of features to scores: gradients averaged on the way from references to rows.

With ``u = x − x₀``, the contribution of feature i is ``u_i ∫₀¹ ∂_i f(x₀ + t u) dt``, averaged over
the references. Gate and normalization are differentiated too. The contributions add up to
``f(x) − f(x₀)`` but for the places where ``f`` jumps (an anchor becomes active or inactive) and the
error of the quadrature: both are stated as the remainder.

Along the line, logits of a soft gate are linear and scores of the local models are polynomials. So
each is computed at the ends alone, and the quadrature costs a few numbers per anchor and node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..gates.codes import Codes
from ..gates.gate import ConstantGate, Gate
from ..maps.linear import InputMap
from ..runtime.threads import Workers

if TYPE_CHECKING:
    from .local_model import LocalModel

PATH_NODES = 6


def path_nodes(n_nodes: int = PATH_NODES) -> list[tuple[float, float]]:
    """Nodes and weights of Gauss–Legendre between 0 and 1."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return list(zip(((nodes + 1) / 2).tolist(), (weights / 2).tolist(), strict=True))


def averaged_gradients(
    gradients: Callable[[np.ndarray], np.ndarray],
    X: np.ndarray,
    references: np.ndarray,
    n_nodes: int = PATH_NODES,
) -> Iterator[np.ndarray]:
    """Path averages of any gradients, by quadrature.

    Parameters
    ----------
    gradients : callable rows → ndarray of shape (n_rows, n_columns, n_features)
    X : ndarray of shape (n_rows, n_features)
    references : ndarray of shape (n_references, n_features)
    n_nodes : int

    Yields
    ------
    ndarray of shape (n_rows, n_columns, n_features)
        For one reference after the other.
    """
    for reference in references:
        parts = (w * gradients(reference + t * (X - reference)) for t, w in path_nodes(n_nodes))
        yield sum(parts, start=np.zeros(()))


def local_path_weights(
    model: LocalModel, X: Any, references: np.ndarray, workers: Workers, n_nodes: int = PATH_NODES
) -> Iterator[np.ndarray]:
    """Path averages of the gradients of a local model's scores.

    Parameters
    ----------
    model : LocalModel
    X : ndarray or CSR of shape (n_rows, n_features)
    references : ndarray of shape (n_references, n_features)
    workers : Workers
    n_nodes : int
        Of the quadrature.

    Yields
    ------
    ndarray of shape (n_rows, n_columns, n_values)
        For one reference after the other.
    """
    if type(model.gate) not in (Gate, ConstantGate) and model.feature_map.explains_input:
        yield from _by_gradients(model, X, references, workers, n_nodes)
        return
    rows, starts = _Ends.of(model, X), _Ends.of(model, references)
    nodes = path_nodes(n_nodes) if _is_curved(model) else path_nodes(1)
    for number in range(len(references)):
        yield _Line(model, rows, starts.one(number), workers).weights(nodes)


def _by_gradients(
    model: LocalModel, X: Any, references: np.ndarray, workers: Workers, n_nodes: int
) -> Iterator[np.ndarray]:
    """The same from gradients at every node, for gates of other forms, such as levels."""
    from .gradients import score_gradients  # it needs LocalModel, which needs this module

    rows = X.toarray() if sp.issparse(X) else X

    def gradients(points: np.ndarray) -> np.ndarray:
        return score_gradients(model, points.astype(model.dtype, copy=False), workers)

    return averaged_gradients(gradients, rows, references, n_nodes)


def _is_curved(model: LocalModel) -> bool:
    """Whether one node in the middle of the path is not enough."""
    return model.normalize or model.n_anchors > 1


@dataclass(frozen=True)
class _Ends:
    """What the lines need of rows at one of their ends."""

    rows: np.ndarray
    inner: np.ndarray
    scores: np.ndarray
    slopes: np.ndarray
    logits: np.ndarray | None

    @classmethod
    def of(cls, model: LocalModel, X: Any) -> _Ends:
        feature_map, coef = model.feature_map, model.coef.astype(np.float64)
        inner = feature_map.inner_rows(X)
        slopes = feature_map.slopes(inner, coef)
        phi = inner if slopes.shape[3] == coef.shape[2] else feature_map.mapped(X)
        flat = coef.reshape(coef.shape[0] * coef.shape[1], coef.shape[2])
        scores = np.asarray(phi @ flat.T)
        scores = scores.reshape(-1, *coef.shape[:2]) + model.intercept
        rows = X.toarray() if sp.issparse(X) else X
        return cls(rows.astype(np.float64), inner, scores, slopes, _logits(model, X))

    def one(self, number: int) -> _Ends:
        """One row alone."""
        part = slice(number, number + 1)
        return _Ends(
            self.rows[part],
            self.inner[part],
            self.scores[part],
            self.slopes if len(self.slopes) == 1 else self.slopes[part],
            None if self.logits is None else self.logits[part],
        )


def _logits(model: LocalModel, X: Any) -> np.ndarray | None:
    """``2β x·v_j − β‖v_j‖²``, whose softmax over the nearest anchors are the weights of the gate.

    None where the gate has no such form.
    """
    gate = model.gate
    if type(gate) is not Gate or gate.coding not in ("soft", "hard"):
        return None
    anchors = gate.anchors.astype(np.float64)
    origin = anchors.mean(axis=0)
    coded = model.space(X)
    products = coded @ (anchors - origin).T
    half = 0.5 * ((anchors * anchors).sum(axis=1) - origin @ origin)
    return 2 * gate.beta * (products - half)


class _Line:
    """The way from one reference to rows."""

    def __init__(self, model: LocalModel, rows: _Ends, reference: _Ends, workers: Workers):
        self.model, self.rows, self.reference, self.workers = model, rows, reference, workers
        self.inner_change = rows.inner - reference.inner
        n_models, n_columns, width = reference.slopes.shape[1:]
        flat = reference.slopes[0].reshape(n_models * n_columns, width)
        # Scores of the local models are c0 + t c1 + t² c2.
        self.linear = (self.inner_change @ flat.T).reshape(-1, n_models, n_columns)
        self.curved = rows.scores - reference.scores - self.linear

    def weights(self, nodes: list[tuple[float, float]]) -> np.ndarray:
        """Path averages of the gradients, ``(n_rows, n_columns, n_values)``."""
        shape = self.linear.shape
        on_start, on_end = np.zeros((2, *shape[:2]))
        on_logits = np.zeros(shape)
        length_start, length_end = np.zeros((2, shape[0], shape[2]))
        for t, weight in nodes:
            gate = self._gate(t)
            scores = self.reference.scores + t * (self.linear + t * self.curved)
            total = np.einsum("nm,nmc->nc", gate, scores)
            scale, squares = self._scale(t, gate)
            on_start += (weight * (1 - t)) * scale * gate
            on_end += (weight * t) * scale * gate
            share = gate / squares[:, None] if self.model.normalize else 1.0
            share = np.broadcast_to(share, gate.shape)
            on_logits += (weight * scale * gate)[..., None] * (
                scores - share[..., None] * total[:, None]
            )
            if self.model.normalize:
                shrink = -weight * total * self._shrinkage(t, scale[:, 0])[:, None]
                length_start += (1 - t) * shrink
                length_end += t * shrink
        weights = np.einsum("nm,mcv->ncv", on_start, self.reference.slopes[0])
        if len(self.rows.slopes) == 1:
            weights += np.einsum("nm,mcv->ncv", on_end, self.rows.slopes[0])
        else:
            weights += np.einsum("nm,nmcv->ncv", on_end, self.rows.slopes)
        weights += length_start[..., None] * self.reference.inner[:, None]
        weights += length_end[..., None] * self.rows.inner[:, None]
        weights = self.model.feature_map.path_weights(
            weights, self.rows.rows, self.reference.rows, self.workers
        )
        return self._with_gate(on_logits, weights)

    def _gate(self, t: float) -> np.ndarray:
        gate = self.model.gate
        if gate.n_anchors == 1:
            return np.ones((len(self.linear), 1))
        if self.rows.logits is None:
            points = self.reference.rows + t * (self.rows.rows - self.reference.rows)
            return _dense_weights(
                self.model.encode(points.astype(self.model.dtype), self.workers), gate.n_anchors
            )
        logits = self.reference.logits + t * (self.rows.logits - self.reference.logits)
        if gate.coding == "hard":
            return np.eye(gate.n_anchors)[logits.argmax(axis=1)]
        largest = logits.max(axis=1, keepdims=True)
        weights = np.exp(logits - largest)
        k = gate.n_neighbors
        if k < gate.n_anchors:
            weights[logits < np.partition(logits, -k, axis=1)[:, -k, None]] = 0
        return weights / weights.sum(axis=1, keepdims=True)

    def _scale(self, t: float, gate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        squares = np.einsum("nm,nm->n", gate, gate)
        if not self.model.normalize:
            return np.ones((len(gate), 1)), squares
        lengths, _ = self._lengths(t)
        return 1 / np.sqrt(squares * lengths)[:, None], squares

    def _lengths(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """``‖[φ, B]‖²`` and its derivative with respect to ``‖inner‖²``."""
        points = self.reference.inner + t * self.inner_change
        lengths, slopes = self.model.feature_map.squared_lengths(
            np.einsum("ni,ni->n", points, points)
        )
        return lengths + self.model.bias.value**2, slopes

    def _shrinkage(self, t: float, scale: np.ndarray) -> np.ndarray:
        """The scale's derivative along the inner row, over the inner row."""
        lengths, slopes = self._lengths(t)
        return scale * slopes / lengths

    def _with_gate(self, on_logits: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """With what features add by changing the weights of the gate."""
        gate, code_on = self.model.gate, self.model.code_on
        if self.rows.logits is None or gate.coding == "hard":
            return weights
        if not self.model.feature_map.attributes_input:
            return weights
        pull = 2 * gate.beta * np.einsum("nmc,mv->ncv", on_logits, gate.anchors)
        if code_on.uses_input:
            return weights + pull
        if isinstance(code_on.source, InputMap):
            return weights + code_on.source.pull_back(pull)
        if isinstance(code_on.source, np.ndarray):
            weights = weights.copy()
            weights[..., code_on.source] += pull
        return weights


def _dense_weights(codes: Codes, n_anchors: int) -> np.ndarray:
    gate = np.zeros((len(codes.anchors), n_anchors))
    np.put_along_axis(gate, codes.anchors.astype(np.intp), codes.weights, axis=1)
    return gate
