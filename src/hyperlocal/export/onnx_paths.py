"""Contributions of features as tensor operations: the formulas of ``numpy_predict.explain``.

In the comments, n are rows, r references, j local models, c columns of scores, v inner numbers, d
features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .graph import Graph, Value
from .paths import LevelPaths, PlainPaths


def explained(rows: Value, paths: PlainPaths) -> dict[str, Any]:
    """Adds contributions and the references' scores; returns their types and shapes."""
    graph = rows.graph
    graph.op("Identity", contributions(rows, paths), name="contributions")
    graph.op("Identity", paths.reference_scores, name="reference")
    shape = (len(paths.reference_scores), paths.n_features)
    return {"contributions": (graph.dtype, shape), "reference": (graph.dtype, None)}


def contributions(rows: Value, paths: PlainPaths) -> Value:
    """What each feature adds to each score, ``(n, n_columns, n_features)``."""
    columns = paths.pieces.columns
    if len(columns):
        passed = rows.take(columns) * paths.pieces.factors + paths.pieces.shifts
        rows = rows.graph.op("Concat", rows, passed.clipped(), axis=1)
    change = rows.with_axis(1) - paths.references[None]  # nrd
    weights = [_weights(change, paths, level) for level in paths.levels]  # nrcd
    total = weights[0] if len(weights) == 1 else rows.graph.op("Sum", *weights)
    found = _einsum("nrcd,nrd->ncd", total, change * paths.shares[None, :, None])
    features = np.eye(paths.n_features)
    return found @ np.vstack([features, features[columns]]) if len(columns) else found


def _einsum(equation: str, first: Value, second: Any) -> Value:
    return first.graph.op("Einsum", first, second, equation=equation)


def _weights(change: Value, paths: PlainPaths, level: LevelPaths) -> Value:
    """Gradients averaged on the ways, by the finer rule where the other does not add up."""
    graph, lines = change.graph, _Lines.of(change, paths, level)
    coarse, total, jumps = lines.averages(paths.coarse)
    fine, _, _ = lines.averages(paths.fine)
    before, after = lines.scores(0.0), lines.scores(1.0)
    error = graph.op("Abs", after - before - total)
    size = graph.op("Abs", before) + graph.op("Abs", after)
    worst = graph.reduce("ReduceMax", error - size * paths.tolerance, 2)
    # More than any error where active models change: such lines stay as they are.
    worst = worst - jumps * np.sqrt(np.finfo(graph.dtype).max)
    return graph.op("Where", worst.with_axis(3) > 0, fine, coarse)


@dataclass(frozen=True)
class _Lines:
    """Values along the ways from all references to rows, at ``t`` between 0 and 1."""

    graph: Graph
    paths: PlainPaths
    level: LevelPaths
    logit_change: Value  # nrj
    inner_change: Value  # nrv
    linear: Value  # nrjc
    bend: Value | None  # nrjcv, of the numbers that are multiplied

    @classmethod
    def of(cls, change: Value, paths: PlainPaths, level: LevelPaths) -> _Lines:
        inner = change @ paths.inner
        linear = _einsum("nrv,rjcv->nrjc", inner, _start_slopes(paths, level))
        bend, n_paired = None, level.curvature.shape[2]
        if n_paired:
            paired = inner.take(range(n_paired), axis=2)
            bend = _einsum("nrv,jcvw->nrjcw", paired, level.curvature)
        return cls(change.graph, paths, level, change @ level.logits, inner, linear, bend)

    def gate(self, t: float) -> tuple[Value, Value]:
        """Weights of the local models, and ones for those that are active."""
        graph, level = self.graph, self.level
        start = self.paths.references @ level.logits + level.logit_shift
        logits = self.logit_change * t + start[None]
        largest, _ = graph.top(logits, level.n_active, 2, largest=True)
        first, last = (largest.take([i], axis=2) for i in (0, level.n_active - 1))
        # One where a logit is at least the last of the largest.
        active = 1 - graph.cast(last > logits)
        weights = graph.op("Exp", logits - first) * active
        if not level.factor:
            return weights / weights.sum(2), active
        length = graph.op("Sqrt", (weights * weights).sum(2))
        return weights / length * level.factor, active

    def models(self, t: float) -> Value:
        """Scores of the local models, nrjc."""
        level, start = self.level, self._inner_starts()
        slopes = _start_slopes(self.paths, level) + level.slopes
        first = 0.5 * np.einsum("rjcv,rv->rjc", slopes, start) + level.intercept
        change = self.linear
        if self.bend is not None:
            paired = self.inner_change.take(range(level.curvature.shape[2]), axis=2)
            change = change + _einsum("nrjcv,nrv->nrjc", self.bend, paired) * (0.5 * t)
        return change * t + first[None]

    def lengths(self, t: float) -> tuple[Value, Value] | None:
        """``1/‖[φ, B]‖``, nr1, and how it shrinks along u, nrv; None where rows keep their size."""
        if not self.paths.lengths:
            return None
        graph, start = self.graph, self._inner_starts()
        alpha, beta, n_paired, bias = self.paths.lengths
        u = self.inner_change * t + start[None]
        is_paired = (np.arange(start.shape[1]) < n_paired).astype(float)
        squares = u * u
        paired = (squares * is_paired).sum(2)
        length = squares.sum(2) * alpha + paired * paired * beta + bias**2
        length = graph.op("Max", length, graph.tiny())
        half = (paired * is_paired * (2 * beta) + alpha) * u
        return 1 / graph.op("Sqrt", length), half / length

    def scores(self, t: float) -> Value:
        """Scores of the level, nrc."""
        gate, lengths = self.gate(t)[0], self.lengths(t)
        mean = _einsum("nrj,nrjc->nrc", gate, self.models(t))
        return mean if lengths is None else mean * lengths[0]

    def averages(self, rule: np.ndarray) -> tuple[Value, Value, Value]:
        """Weights of features, nrcd; their sums, nrc; changes of the active local models, nr1."""
        graph, nodes, weights, totals = self.graph, [], [], []
        for t, share in rule.T:
            gate, active = self.gate(float(t))
            nodes.append(active)
            on_inner, on_logits = self._steps(float(t), float(share), gate)
            weights.append(on_inner @ self.paths.inner.T + on_logits @ self.level.logits.T)
            along = _einsum("nrcv,nrv->nrc", on_inner, self.inner_change)
            totals.append(along + _einsum("nrcj,nrj->nrc", on_logits, self.logit_change))
        jumps = [graph.op("Abs", active - nodes[0]).sum(2) for active in nodes[1:]]
        return graph.op("Sum", *weights), graph.op("Sum", *totals), graph.op("Sum", *jumps)

    def _steps(self, t: float, share: float, gate: Value) -> tuple[Value, Value]:
        """Weighted gradients with respect to inner numbers, nrcv, and to logits, nrcj."""
        graph, level = self.graph, self.level
        models = self.models(t)
        mean = _einsum("nrj,nrjc->nrc", gate, models)
        if level.factor:
            shared = _einsum("nrj,nrc->nrjc", gate * (1 / level.factor**2), mean)
        else:
            shared = mean.with_axis(2)
        on_logits = _einsum("nrj,nrjc->nrcj", gate, models - shared)
        on_inner = _einsum("nrj,rjcv->nrcv", gate, _start_slopes(self.paths, level))
        if self.bend is not None:
            bent = _einsum("nrj,nrjcv->nrcv", gate, self.bend)
            missing = self._inner_starts().shape[1] - level.curvature.shape[2]
            if missing:
                bent = graph.op("Pad", bent, graph.integers(0, 0, 0, 0, 0, 0, 0, missing))
            on_inner = on_inner + bent * t
        lengths = self.lengths(t)
        if lengths is None:
            return on_inner * share, on_logits * share
        on_inner = on_inner - _einsum("nrc,nrv->nrcv", mean, lengths[1])
        size = (lengths[0] * share).with_axis(3)
        return on_inner * size, on_logits * size

    def _inner_starts(self) -> np.ndarray:
        return self.paths.references @ self.paths.inner + self.paths.inner_shift


def _start_slopes(paths: PlainPaths, level: LevelPaths) -> np.ndarray:
    """Gradients of the local models' scores at the references, rjcv."""
    start, n_paired = paths.references @ paths.inner + paths.inner_shift, level.curvature.shape[2]
    slopes = np.repeat(level.slopes[None], len(start), axis=0)
    slopes[..., :n_paired] += np.einsum("jcvw,rv->rjcw", level.curvature, start[:, :n_paired])
    return slopes
