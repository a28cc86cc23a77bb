"""Contributions of features as tensor operations: the formulas of ``numpy_predict.explain``.

In the comments, n are rows, r references, j local models, c columns of scores, v inner numbers, d
features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .graph import Graph
from .paths import LevelPaths, PlainPaths


def explained(graph: Graph, rows: str, paths: PlainPaths) -> dict[str, Any]:
    """Adds contributions and the references' scores; returns their types and shapes."""
    graph.op("Identity", contributions(graph, rows, paths), name="contributions")
    graph.op("Identity", graph.number(paths.reference_scores), name="reference")
    shape = (len(paths.reference_scores), paths.references.shape[1])
    return {"contributions": (graph.dtype, shape), "reference": (graph.dtype, None)}


def contributions(graph: Graph, rows: str, paths: PlainPaths) -> str:
    """What each feature adds to each score, ``(n, n_columns, n_features)``."""
    rows = graph.op("Unsqueeze", rows, graph.integers(1))
    change = graph.op("Sub", rows, graph.number(paths.references[None]))  # nrd
    weights = [_weights(graph, change, paths, level) for level in paths.levels]  # nrcd
    total = weights[0] if len(weights) == 1 else graph.op("Sum", *weights)
    moved = graph.op("Mul", change, graph.number(paths.shares[None, :, None]))
    return graph.op("Einsum", total, moved, equation="nrcd,nrd->ncd")


def _weights(graph: Graph, change: str, paths: PlainPaths, level: LevelPaths) -> str:
    """Gradients averaged on the ways, by the finer rule where the other does not add up."""
    lines = _Lines.of(graph, change, paths, level)
    coarse, total, jumps = lines.averages(paths.coarse)
    fine, _, _ = lines.averages(paths.fine)
    before, after = lines.scores(0.0), lines.scores(1.0)
    error = graph.op("Abs", graph.op("Sub", graph.op("Sub", after, before), total))
    size = graph.op("Add", graph.op("Abs", before), graph.op("Abs", after))
    beyond = graph.op("Sub", error, graph.op("Mul", size, graph.number(paths.tolerance)))
    worst = graph.op("Sub", graph.reduce("ReduceMax", beyond, 2), lines.huge(jumps))
    is_rough = graph.op("Greater", graph.op("Unsqueeze", worst, graph.integers(3)), graph.number(0))
    return graph.op("Where", is_rough, fine, coarse)


@dataclass(frozen=True)
class _Lines:
    """Values along the ways from all references to rows, at ``t`` between 0 and 1."""

    graph: Graph
    paths: PlainPaths
    level: LevelPaths
    logit_change: str  # nrj
    inner_change: str  # nrv
    linear: str  # nrjc
    bend: str | None  # nrjcv, of the numbers that are multiplied

    @classmethod
    def of(cls, graph: Graph, change: str, paths: PlainPaths, level: LevelPaths) -> _Lines:
        inner = graph.op("MatMul", change, graph.number(paths.inner))
        first = graph.number(_start_slopes(paths, level))
        linear = graph.op("Einsum", inner, first, equation="nrv,rjcv->nrjc")
        bend, n_paired = None, level.curvature.shape[2]
        if n_paired:
            paired = graph.op("Gather", inner, graph.integers(*range(n_paired)), axis=2)
            curvature = graph.number(level.curvature)
            bend = graph.op("Einsum", paired, curvature, equation="nrv,jcvw->nrjcw")
        logits = graph.op("MatMul", change, graph.number(level.logits))
        return cls(graph, paths, level, logits, inner, linear, bend)

    def at(self, t: float, start: np.ndarray, change: str) -> str:
        """``start + t change``, of an array with a first axis of references."""
        moved = self.graph.op("Mul", change, self.graph.number(t))
        return self.graph.op("Add", moved, self.graph.number(start[None]))

    def gate(self, t: float) -> tuple[str, str]:
        """Weights of the local models, and ones for those that are active."""
        graph, level = self.graph, self.level
        start = self.paths.references @ level.logits + level.logit_shift
        logits = self.at(t, start, self.logit_change)
        largest, _ = graph.op(
            "TopK", logits, graph.integers(level.n_active), outputs=2, axis=2, largest=1, sorted=1
        )
        first, last = (
            graph.op("Gather", largest, graph.integers(i), axis=2) for i in (0, level.n_active - 1)
        )
        # One where a logit is at least the last of the largest.
        below = graph.cast(graph.op("Less", logits, last))
        active = graph.op("Sub", graph.number(1), below)
        weights = graph.op("Mul", graph.op("Exp", graph.op("Sub", logits, first)), active)
        if not level.factor:
            return graph.op("Div", weights, graph.sum(weights, 2)), active
        length = graph.op("Sqrt", graph.sum(graph.op("Mul", weights, weights), 2))
        unit = graph.op("Div", weights, length)
        return graph.op("Mul", unit, graph.number(level.factor)), active

    def models(self, t: float) -> str:
        """Scores of the local models, nrjc."""
        graph, level, start = self.graph, self.level, self._inner_starts()
        slopes = _start_slopes(self.paths, level) + level.slopes
        first = 0.5 * np.einsum("rjcv,rv->rjc", slopes, start) + level.intercept
        if self.bend is None:
            return self.at(t, first, self.linear)
        paired = graph.op(
            "Gather", self.inner_change, graph.integers(*range(level.curvature.shape[2])), axis=2
        )
        curved = graph.op("Einsum", self.bend, paired, equation="nrjcv,nrv->nrjc")
        curved = graph.op("Mul", curved, graph.number(0.5 * t))
        return self.at(t, first, graph.op("Add", self.linear, curved))

    def lengths(self, t: float) -> tuple[str, str] | None:
        """``1/‖[φ, B]‖``, nr1, and how it shrinks along u, nrv; None where rows keep their size."""
        if not self.paths.lengths:
            return None
        graph = self.graph
        alpha, beta, n_paired, bias = self.paths.lengths
        u = self.at(t, self._inner_starts(), self.inner_change)
        width = self._inner_starts().shape[1]
        is_paired = (np.arange(width) < n_paired).astype(float)
        squares = graph.op("Mul", u, u)
        paired = graph.sum(graph.op("Mul", squares, graph.number(is_paired)), 2)
        length = graph.op("Mul", graph.sum(squares, 2), graph.number(alpha))
        bent = graph.op("Mul", graph.op("Mul", paired, paired), graph.number(beta))
        length = graph.op("Add", graph.op("Add", length, bent), graph.number(bias**2))
        length = graph.op("Max", length, graph.number(np.finfo(graph.dtype).tiny))
        slope = graph.op(
            "Mul", graph.op("Mul", paired, graph.number(is_paired)), graph.number(2 * beta)
        )
        half = graph.op("Mul", graph.op("Add", slope, graph.number(alpha)), u)
        scale = graph.op("Div", graph.number(1), graph.op("Sqrt", length))
        return scale, graph.op("Div", half, length)

    def scores(self, t: float) -> str:
        """Scores of the level, nrc."""
        gate, lengths = self.gate(t)[0], self.lengths(t)
        mean = self.graph.op("Einsum", gate, self.models(t), equation="nrj,nrjc->nrc")
        return mean if lengths is None else self.graph.op("Mul", mean, lengths[0])

    def averages(self, rule: np.ndarray) -> tuple[str, str, str]:
        """Weights of features, nrcd; their sums, nrc; changes of the active local models, nr1."""
        graph, first, jumps = self.graph, "", []
        weights, totals = [], []
        for t, share in rule.T:
            gate, active = self.gate(float(t))
            if first:
                jumps.append(graph.sum(graph.op("Abs", graph.op("Sub", active, first)), 2))
            first = first or active
            on_inner, on_logits = self._steps(float(t), float(share), gate)
            step = graph.op("MatMul", on_inner, graph.number(self.paths.inner.T))
            by_gate = graph.op("MatMul", on_logits, graph.number(self.level.logits.T))
            weights.append(graph.op("Add", step, by_gate))
            along = graph.op("Einsum", on_inner, self.inner_change, equation="nrcv,nrv->nrc")
            moved = graph.op("Einsum", on_logits, self.logit_change, equation="nrcj,nrj->nrc")
            totals.append(graph.op("Add", along, moved))
        return graph.op("Sum", *weights), graph.op("Sum", *totals), graph.op("Sum", *jumps)

    def _steps(self, t: float, share: float, gate: str) -> tuple[str, str]:
        """Weighted gradients with respect to inner numbers, nrcv, and to logits, nrcj."""
        graph, level = self.graph, self.level
        models = self.models(t)
        mean = graph.op("Einsum", gate, models, equation="nrj,nrjc->nrc")
        if level.factor:
            own = graph.op("Mul", gate, graph.number(1 / level.factor**2))
            shared = graph.op("Einsum", own, mean, equation="nrj,nrc->nrjc")
        else:
            shared = graph.op("Unsqueeze", mean, graph.integers(2))
        on_logits = graph.op(
            "Einsum", gate, graph.op("Sub", models, shared), equation="nrj,nrjc->nrcj"
        )
        slopes = graph.number(_start_slopes(self.paths, level))
        on_inner = graph.op("Einsum", gate, slopes, equation="nrj,rjcv->nrcv")
        if self.bend is not None:
            bent = graph.op("Einsum", gate, self.bend, equation="nrj,nrjcv->nrcv")
            missing = self._inner_starts().shape[1] - level.curvature.shape[2]
            if missing:
                bent = graph.op("Pad", bent, graph.integers(0, 0, 0, 0, 0, 0, 0, missing))
            on_inner = graph.op("Add", on_inner, graph.op("Mul", bent, graph.number(t)))
        size, lengths = graph.number(share), self.lengths(t)
        if lengths is not None:
            shrink = graph.op("Einsum", mean, lengths[1], equation="nrc,nrv->nrcv")
            on_inner = graph.op("Sub", on_inner, shrink)
            size = graph.op("Unsqueeze", graph.op("Mul", lengths[0], size), graph.integers(3))
        return graph.op("Mul", on_inner, size), graph.op("Mul", on_logits, size)

    def huge(self, jumps: str) -> str:
        """Zero where nothing jumps, and more than any error where something does."""
        return self.graph.op(
            "Mul", jumps, self.graph.number(np.sqrt(np.finfo(self.graph.dtype).max))
        )

    def _inner_starts(self) -> np.ndarray:
        return self.paths.references @ self.paths.inner + self.paths.inner_shift


def _start_slopes(paths: PlainPaths, level: LevelPaths) -> np.ndarray:
    """Gradients of the local models' scores at the references, rjcv."""
    start, n_paired = paths.references @ paths.inner + paths.inner_shift, level.curvature.shape[2]
    slopes = np.repeat(level.slopes[None], len(start), axis=0)
    slopes[..., :n_paired] += np.einsum("jcvw,rv->rjcw", level.curvature, start[:, :n_paired])
    return slopes
