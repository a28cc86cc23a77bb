"""Contributions of features to scores: gradients averaged on the way from references to rows.

With ``u = x − x₀``, the contribution of feature i is ``u_i ∫₀¹ ∂_i f(x₀ + t u) dt``, averaged over
the references. Gate and normalization are differentiated too. The contributions add up to
``f(x) − f(x₀)`` but for the places where ``f`` jumps (an anchor becomes active or inactive) and the
error of the quadrature: both are stated as the remainder.

Along the line, logits of a soft gate are linear and scores of the local models are polynomials. So
each is computed at the ends alone; ``cpp/gate_paths.hpp`` integrates what is between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..gates.gate import ConstantGate, Gate
from ..gates.levels import LevelsGate
from ..maps.linear import InputMap
from ..runtime.threads import Workers

if TYPE_CHECKING:
    from .background import Background
    from .local_model import LocalModel

# Nodes of the quadrature, and those of lines that need more: whose averages miss the change of the
# score by this share of its size. With them, contributions differ from those of 200 nodes by 2 to
# 9 %; the eight references are as good as 128 random rows, which differ from another 128 by more.
PATH_NODES, FINE_NODES = 4, 12
TOLERANCE = 0.01
ROWS_TO_COMPARE = 64


@cache
def path_rule(n_nodes: int) -> np.ndarray:
    """Nodes and weights of Gauss–Legendre between 0 and 1, as two rows."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes) if n_nodes else np.empty((2, 0))
    rule = np.array([(nodes + 1) / 2, weights / 2])
    rule.flags.writeable = False
    return rule


def averaged_gradients(
    gradients: Callable[[np.ndarray], np.ndarray],
    X: np.ndarray,
    references: np.ndarray,
    n_nodes: int = 6,
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
        parts = (w * gradients(reference + t * (X - reference)) for t, w in path_rule(n_nodes).T)
        yield sum(parts, start=np.zeros(()))


def local_path_weights(
    model: LocalModel,
    X: Any,
    references: np.ndarray,
    workers: Workers,
    n_nodes: tuple[int, int] = (PATH_NODES, FINE_NODES),
) -> Iterator[np.ndarray]:
    """Path averages of the gradients of a local model's scores.

    Parameters
    ----------
    model : LocalModel
    X : ndarray or CSR of shape (n_rows, n_features)
    references : ndarray of shape (n_references, n_features)
    workers : Workers
    n_nodes : (int, int)
        Of the quadrature, and of the finer one; zero for none.

    Yields
    ------
    ndarray of shape (n_rows, n_columns, n_values)
        For one reference after the other.
    """
    lines = _Lines(model, _Ends.of(model, X), _Ends.of(model, references), workers)
    inner = np.zeros((X.shape[0], len(references), model.n_columns, lines.rows.inner.shape[1]))
    pulls = sum((lines.add(level, n_nodes, inner) for level in local_levels(model)), np.zeros(()))
    for number in range(len(references)):
        weights = model.feature_map.path_weights(
            inner[:, number], lines.rows.rows, lines.starts.rows[number : number + 1], workers
        )
        yield weights if pulls.ndim == 0 else _moved(model, weights, pulls[:, number])


def local_contributions(
    model: LocalModel, X: Any, background: Background, workers: Workers
) -> np.ndarray | None:
    """Contributions of features, ``(n_rows, n_columns, n_features)``, without the weights.

    The same as differences times :func:`local_path_weights`, averaged over the references, in one
    compiled pass. None where the map, or what distances are measured on, mixes features.

    Parameters
    ----------
    model : LocalModel
    X : ndarray or CSR of shape (n_rows, n_features)
    background : Background
    workers : Workers
    """
    factors = _factors(model)
    if factors is None:
        return None
    lines = _Lines(model, _Ends.of(model, X), _Ends.of(model, background.rows), workers)
    out = np.zeros((X.shape[0], model.n_columns, model.n_features_in))
    for level in local_levels(model):
        lines.contribute(level, factors, background.weights, out)
    return out


def _factors(model: LocalModel) -> np.ndarray | None:
    """What weights of inner numbers and of coded features are multiplied by: those of features."""
    back = model.feature_map.feature_factors
    if back is None:
        return None
    code_on, width = model.code_on, model.n_features_in
    if isinstance(model.gate, ConstantGate):
        return np.array([back, np.zeros(width)])
    if code_on.uses_input:
        return np.array([back, np.ones(width)])
    if isinstance(code_on.source, InputMap) and code_on.source.is_diagonal:
        return np.array([back, code_on.source.slopes])
    return None


def local_levels(model: LocalModel) -> list[tuple[Gate, slice]]:
    """Gates whose weights are scaled by themselves, and the places of their anchors."""
    gates = model.gate.levels if isinstance(model.gate, LevelsGate) else [model.gate]
    ends = list(accumulate(gate.n_anchors for gate in gates))
    return [(gate, slice(end - gate.n_anchors, end)) for gate, end in zip(gates, ends, strict=True)]


@dataclass(frozen=True)
class _Ends:
    """What the lines need of rows at one of their ends."""

    rows: np.ndarray
    inner: np.ndarray
    scores: np.ndarray
    slopes: np.ndarray
    coded: Any

    @classmethod
    def of(cls, model: LocalModel, X: Any) -> _Ends:
        feature_map, coef = model.feature_map, model.coef.astype(np.float64)
        inner = feature_map.inner_rows(X)
        at_zero = feature_map.slopes(np.zeros((1, inner.shape[1])), coef)
        slopes = feature_map.slopes(inner, coef) if is_curved(model) else at_zero
        scores = np.tensordot(inner, at_zero[0], axes=(1, 2))
        if is_curved(model):  # of the second degree, without a constant
            flat = slopes.reshape(len(inner), -1, inner.shape[1]) @ inner[:, :, None]
            scores = 0.5 * (scores + flat.reshape(scores.shape))
        rows = np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
        return cls(rows, inner, scores + model.intercept, slopes, model.space(X))

    def logits(self, gate: Gate) -> np.ndarray:
        """``2β x·v_j − β‖v_j‖²``, whose softmax over the nearest anchors are the gate's weights."""
        if isinstance(gate, ConstantGate) or not is_soft(gate):
            return np.zeros((len(self.inner), gate.n_anchors))
        anchors = gate.anchors.astype(np.float64)
        origin = anchors.mean(axis=0)
        half = 0.5 * ((anchors * anchors).sum(axis=1) - origin @ origin)
        return 2 * gate.beta * (self.coded @ (anchors - origin).T - half)


def is_curved(model: LocalModel) -> bool:
    """Whether slopes of the local models change with the row."""
    return model.feature_map.lengths[1] != 0


def is_soft(gate: Gate) -> bool:
    """Whether weights are a softmax of linear functions."""
    return isinstance(gate, ConstantGate) or (
        type(gate) is Gate and (gate.coding in ("soft", "hard") or gate.n_neighbors == 1)
    )


class _Lines:
    """The ways from references to rows."""

    def __init__(self, model: LocalModel, rows: _Ends, starts: _Ends, workers: Workers):
        self.model, self.rows, self.starts, self.workers = model, rows, starts, workers

    def add(
        self, level: tuple[Gate, slice], n_nodes: tuple[int, int], inner: np.ndarray
    ) -> np.ndarray:
        """Add the averages of one level's local models to ``inner``.

        Returns what they add by the weights of the gate, on what distances are measured on; a
        number where that is nothing.
        """
        gate, anchors = level
        rules = self._rules(gate, n_nodes)
        paths = self._paths(gate, anchors, rules[0])
        moments = np.empty((*inner.shape[:2], paths.width))
        paths.moments(self._options(gate), *rules, moments)
        return self._spread(gate, anchors, moments, inner)

    def contribute(
        self,
        level: tuple[Gate, slice],
        factors: np.ndarray,
        shares: np.ndarray,
        out: np.ndarray,
    ) -> None:
        """Add the contributions of one level's local models to ``out``."""
        gate, anchors = level
        rules = self._rules(gate, (PATH_NODES, FINE_NODES))
        paths = self._paths(gate, anchors, rules[0])
        is_soft_here = is_soft(gate) and gate.n_neighbors > 1
        # Sums over anchors are zero, so a shift changes nothing, but far anchors keep their digits.
        away = gate.anchors - gate.anchors.mean(axis=0, dtype=np.float64)
        pull = 2 * gate.beta * away if is_soft_here else np.zeros((gate.n_anchors, 1))
        rows, starts, unit = _near_one(self.rows, self.starts)
        features = _core.path_features(
            rows,
            starts,
            _part(self.rows.slopes, anchors) if is_curved(self.model) else np.empty((0, 0, 0, 0)),
            _part(self.starts.slopes, anchors),
            np.broadcast_to(pull, (gate.n_anchors, out.shape[2])).astype(np.float64, order="C"),
            np.ldexp(factors.astype(np.float64), unit),
            shares,
            self.model.feature_map.lengths[2],
        )
        paths.contributions(self._options(gate), *rules, features, out)

    def _rules(self, gate: Gate, n_nodes: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        if gate.n_anchors == 1 and not self.model.normalize:
            n_nodes = (1, 0)  # which is exact
        elif not is_soft(gate) or (gate.n_neighbors == 1 and not self.model.normalize):
            n_nodes = (n_nodes[0], 0)
        return path_rule(n_nodes[0]), path_rule(n_nodes[1])

    def _paths(self, gate: Gate, anchors: slice, rule: np.ndarray) -> Any:
        return _core.gate_paths(
            self.rows.logits(gate),
            np.ascontiguousarray(self.starts.logits(gate).T),
            _part(self.rows.scores, anchors),
            np.ascontiguousarray(self.starts.scores[:, anchors].transpose(1, 2, 0)),
            self._linear(anchors),
            self._squares(),
            np.empty((0, 0, 0, 0)) if is_soft(gate) else self._gates(gate, rule[0]),
        )

    def _options(self, gate: Gate) -> Any:
        alpha, beta, _ = self.model.feature_map.lengths
        n_levels = self.model.n_anchors != gate.n_anchors and len(self.model.gate.active_bounds)
        return _core.PathOptions(
            n_active=gate.n_neighbors,
            is_unit=self.model.normalize or bool(n_levels),
            factor=n_levels**-0.5 if n_levels else 1.0,
            alpha=alpha,
            beta=beta,
            bias=float(self.model.bias.value),
            tolerance=TOLERANCE,
        )

    def _linear(self, anchors: slice) -> np.ndarray:
        """``slope(x₀) · (x − x₀)`` of curved local models, ``(n_rows, m, n_columns, n_starts)``."""
        if not is_curved(self.model):
            return np.empty((0, 0, 0, 0))
        slopes = np.ascontiguousarray(self.starts.slopes[:, anchors].transpose(3, 1, 2, 0))
        own = np.einsum("vjcr,rv->jcr", slopes, self.starts.inner)
        found = self.rows.inner @ slopes.reshape(len(slopes), -1)
        return found.reshape(-1, *own.shape) - own

    def _squares(self) -> np.ndarray:
        """``‖u₀‖², u₀·u, ‖u‖²`` of all inner numbers and of those that are multiplied."""
        if not self.model.normalize:
            return np.empty((0, 0, 0))
        squares = np.zeros((len(self.rows.inner), 6, len(self.starts.inner)))
        n_inner, n_paired = self.rows.inner.shape[1], self.model.feature_map.lengths[2]
        for first, width in ((0, n_inner), (3, n_paired)):
            if width == 0:
                continue
            if first > 0 and width == n_inner:
                squares[:, 3:] = squares[:, :3]
                continue
            rows, starts = self.rows.inner[:, :width], self.starts.inner[:, :width]
            squares[:, first] = np.einsum("nv,nv->n", starts, starts)
            squares[:, first + 1] = rows @ starts.T
            squares[:, first + 2] = np.einsum("nv,nv->n", rows, rows)[:, None]
        return squares

    def _gates(self, gate: Gate, nodes: np.ndarray) -> np.ndarray:
        """Weights of gates of other forms at the nodes, ``(n_rows, n_nodes, m, n_starts)``."""
        rows, starts = self.rows.rows, self.starts.rows
        gates = np.zeros((len(rows), len(nodes), len(starts), gate.n_anchors))
        for node, t in enumerate(nodes):
            for number, start in enumerate(starts):
                points = (start + t * (rows - start)).astype(self.model.dtype)
                codes = gate.encode(self.model.space(points), self.workers)
                where = codes.anchors.astype(np.intp)
                np.put_along_axis(gates[:, node, number], where, codes.weights, axis=1)
        return np.ascontiguousarray(gates.transpose(0, 1, 3, 2))

    def _spread(
        self, gate: Gate, anchors: slice, moments: np.ndarray, inner: np.ndarray
    ) -> np.ndarray:
        """Averages over anchors as averages on inner numbers."""
        m, n_columns = gate.n_anchors, inner.shape[2]
        n_lengths = 4 * n_columns if self.model.normalize else 0
        start, end = moments[..., :m], moments[..., m : 2 * m]
        on_gate = moments[..., m * (1 + is_curved(self.model)) :][..., : m * n_columns]
        slopes = self.starts.slopes[:, anchors]
        if is_curved(self.model):
            for number in range(len(slopes)):
                inner[:, number] += np.tensordot(start[:, number], slopes[number], axes=1)
            ends = self.rows.slopes[:, anchors]
            flat = end @ ends.reshape(len(ends), m, -1)
            inner += flat.reshape(inner.shape)
        else:
            inner += np.tensordot(start, slopes[0], axes=1)
        if n_lengths:
            n_paired = self.model.feature_map.lengths[2]
            parts = moments[..., -n_lengths:].reshape(*moments.shape[:2], 4, n_columns, 1)
            for part, width in ((0, inner.shape[3]), (2, n_paired)):
                own = inner[..., :width]
                own += parts[:, :, part] * self.starts.inner[:, None, :width]
                own += parts[:, :, part + 1] * self.rows.inner[:, None, None, :width]
        if not (is_soft(gate) and gate.n_neighbors > 1 and self._attributes_gate()):
            return np.zeros(())
        on_logits = np.ascontiguousarray(on_gate).reshape(-1, m)
        return (on_logits @ (2 * gate.beta * gate.anchors)).reshape(*inner.shape[:3], -1)

    def _attributes_gate(self) -> bool:
        """Whether what the gate measures distances on is linear in features that are explained."""
        return self.model.feature_map.attributes_input and self.model.code_on.is_linear


def _near_one(rows: _Ends, starts: _Ends) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows and references around their mean, in units that single precision can hold; inner ones.

    Only differences count. Far from zero these would lose their digits there, and features of 1e-60
    would vanish. Units are powers of two, returned as exponents, so that nothing is rounded. Some
    rows tell which.
    """
    origin = starts.rows.mean(axis=0)
    some = rows.rows[:: 1 + len(rows.rows) // ROWS_TO_COMPARE]
    size = np.abs(np.concatenate([some, starts.rows]) - origin).max(axis=0)
    unit = np.clip(np.frexp(size)[1], -1_000, 1_000)
    scale, found = np.ldexp(1.0, -unit), []
    for ends in (rows, starts):
        both = np.empty((2, *ends.rows.shape))
        np.subtract(ends.rows, origin, out=both[0])
        both[0] *= scale
        both[1] = ends.inner
        found.append(both)
    return found[0], found[1], unit


def _part(array: np.ndarray, anchors: slice) -> np.ndarray:
    return np.ascontiguousarray(array[:, anchors])


def _moved(model: LocalModel, weights: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """With what features add by changing the weights of the gate."""
    source = model.code_on.source
    if model.code_on.uses_input:
        return weights + pull
    if isinstance(source, InputMap):
        return weights + source.pull_back(pull)
    weights = weights.copy()
    weights[..., source] += pull
    return weights
