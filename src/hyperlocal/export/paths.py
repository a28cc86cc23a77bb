"""What exported models need to explain rows: the lines from references to rows, as arrays.

Steps and maps are folded: the numbers that local models are polynomials of, and the logits of the
gate, are affine functions of the input's features, and of their pieces where the map has some. A
piece goes straight from its value at the reference to that at the row, as a feature does; what it
adds is added to its feature. The formulas are those of ``cpp/gate_paths.hpp``;
``numpy_predict.py`` and ``onnx_paths.py`` write them in their own terms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..gates.gate import Gate
from ..maps.linear import MappedInput
from ..maps.piecewise import PiecewiseMap
from ..maps.plain import NotPlain
from ..model.background import Background
from ..model.local_model import LocalModel
from ..model.paths import FINE_NODES, PATH_NODES, TOLERANCE, is_soft, local_levels, path_rule
from ..model.through import affine_parts, background_before, fitted_parts, transformed_rows

ADVICE = "explain in Python, or export without contributions."


@dataclass(frozen=True)
class Pieces:
    """Pieces of features, ``clip(x[columns] · factors + shifts, 0, 1)``; none for most maps.

    Attributes
    ----------
    columns, factors, shifts : ndarray of shape (n_pieces,)
    """

    columns: np.ndarray
    factors: np.ndarray
    shifts: np.ndarray

    def beside(self, points: np.ndarray) -> np.ndarray:
        """Features, and beside them their pieces."""
        passed = points[:, self.columns] * self.factors + self.shifts
        return np.hstack([points, np.clip(passed, 0, 1)])


@dataclass(frozen=True)
class LevelPaths:
    """The local models whose weights are scaled together.

    Attributes
    ----------
    logits, logit_shift : ndarray of shape (n_features + n_pieces, m) and (m,)
        The gate is the softmax of ``x @ logits + logit_shift`` over the largest.
    n_active : int
    factor : float
        The length of the weights; zero where they sum to one.
    slopes : ndarray of shape (m, n_columns, e)
        Of the scores at ``u = 0``.
    curvature : ndarray of shape (m, n_columns, p, p), p = 0 where scores are linear
        Their second derivatives, with respect to the first p inner numbers.
    intercept : ndarray of shape (m, n_columns)
    """

    logits: np.ndarray
    logit_shift: np.ndarray
    n_active: int
    factor: float
    slopes: np.ndarray
    curvature: np.ndarray
    intercept: np.ndarray


@dataclass(frozen=True)
class PlainPaths:
    """The lines of all references.

    Attributes
    ----------
    n_features : int
    pieces : Pieces
        In what follows, ``x`` are features with their pieces beside them.
    references, shares : ndarray of shape (n_references, n_features + n_pieces) and (n_references,)
    reference_scores : ndarray of shape (n_columns,)
        Their mean scores.
    inner, inner_shift : ndarray of shape (n_features + n_pieces, e) and (e,)
        ``u = x @ inner + inner_shift``.
    lengths : list of four numbers, or empty
        ``α, β, p, B`` of ``‖φ‖² + B² = α‖u‖² + β‖u_p‖⁴ + B²``, where rows are normalized.
    levels : list of LevelPaths
    coarse, fine : ndarray of shape (2, n_nodes)
        Nodes and weights of the quadratures; the finer one is for lines of which the other misses
        the change of a score by more than ``tolerance`` times the scores.
    tolerance : float
    """

    n_features: int
    pieces: Pieces
    references: np.ndarray
    shares: np.ndarray
    reference_scores: np.ndarray
    inner: np.ndarray
    inner_shift: np.ndarray
    lengths: list[float]
    levels: list[LevelPaths]
    coarse: np.ndarray
    fine: np.ndarray
    tolerance: float


def plain_paths(estimator: Any, background: Any = None) -> PlainPaths:
    """The lines of a fitted model or pipeline; ``NotPlain`` gives the reason for none.

    Parameters
    ----------
    estimator : classifier or regressor of this library with local models, or Pipeline of one
    background : rows or None
        The references; None are those kept with the model.
    """
    steps, last = fitted_parts(estimator)
    model = getattr(last, "model_", None)
    if not isinstance(model, LocalModel):
        raise NotPlain(f"contributions of {type(last).__name__} cannot be exported; {ADVICE}")
    _check(model)
    given = (
        background_before(steps, last.background)
        if background is None
        else Background.of(background)
    )
    if given is None:
        raise NotPlain(f"a step of the pipeline cannot be undone; {ADVICE}")
    starts = np.asarray(given.rows, np.float64)
    pieces, inner_numbers = _inner_numbers(model, steps, starts)
    references = pieces.beside(starts)
    n_features, width = starts.shape[1], references.shape[1]
    inner, inner_shift = _affine(inner_numbers, references, "feature_map")
    levels = []
    n_levels = len(model.gate.active_bounds)
    factor = n_levels**-0.5 if model.normalize or n_levels > 1 else 0.0
    for gate, anchors in local_levels(model):
        logits, shift = np.zeros((width, 1)), np.zeros(1)
        if gate.n_anchors > 1:
            function = partial(_logits, gate, steps, model, n_features)
            logits, shift = _affine(function, references, "code_on")
        own = (logits, shift, gate.n_neighbors, factor)
        levels.append(LevelPaths(*own, *_local_models(model, anchors, inner.shape[1])))
    alpha, beta, n_paired = model.feature_map.lengths
    lengths = [alpha, beta, n_paired, float(model.bias.value)] if model.normalize else []
    scores = last.decision_function if hasattr(last, "decision_function") else last.predict
    at_references = np.asarray(scores(_rows(steps, starts).astype(model.dtype)), np.float64)
    means = given.weights @ at_references.reshape(len(references), -1)
    return PlainPaths(
        n_features, pieces, references, given.weights, means, inner, inner_shift, lengths, levels,
        path_rule(PATH_NODES), path_rule(FINE_NODES), TOLERANCE,
    )  # fmt: skip


def _check(model: LocalModel) -> None:
    if not all(is_soft(gate) for gate, _ in local_levels(model)):
        raise NotPlain(
            f"contributions of coding={model.gate.coding!r} cannot be exported; {ADVICE}"
        )
    if not (model.n_anchors == 1 or model.code_on.is_linear):
        raise NotPlain(f"contributions with this code_on cannot be exported; {ADVICE}")


def _rows(steps: list[Any], points: np.ndarray) -> np.ndarray:
    return np.asarray(transformed_rows(steps, points), np.float64)


def _inner_numbers(
    model: LocalModel, steps: list[Any], starts: np.ndarray
) -> tuple[Pieces, Callable[[np.ndarray], np.ndarray]]:
    """The pieces of the map, and its inner numbers as a function of features beside them."""
    own, width = model.feature_map, starts.shape[1]
    before = own.before if isinstance(own, MappedInput) else None
    own = own.inner if isinstance(own, MappedInput) else own

    def seen(points: np.ndarray) -> np.ndarray:
        rows = _rows(steps, points[:, :width])
        return rows if before is None else before.transform(rows)

    if not isinstance(own, PiecewiseMap):
        nothing = np.empty(0)
        return Pieces(np.empty(0, np.int64), nothing, nothing), lambda points: _some(
            own.inner_rows(seen(points))
        )
    matrix, shift = _affine(seen, starts, "feature_map")
    scale = np.diagonal(matrix)
    if matrix.shape != (width, width) or np.any(matrix != np.diag(scale)):
        raise NotPlain(
            f"contributions of feature_map={own.name!r} after steps that mix features cannot be "
            f"exported; {ADVICE}"
        )
    factors = scale[own.columns] / own.widths
    pieces = Pieces(own.columns, factors, (shift[own.columns] - own.starts) / own.widths)

    def of_pieces(points: np.ndarray) -> np.ndarray:
        return _some(own.inner.inner_rows(np.hstack([seen(points), points[:, width:] - 0.5])))

    return pieces, of_pieces


def _some(numbers: np.ndarray) -> np.ndarray:
    """Numbers, or a zero: not every runtime takes tensors without columns."""
    return numbers if numbers.shape[1] else np.zeros((len(numbers), 1))


def _logits(
    gate: Gate, steps: list[Any], model: LocalModel, n_features: int, points: np.ndarray
) -> np.ndarray:
    """``2β x·v_j − β‖v_j‖²``."""
    coded = np.asarray(model.space(_rows(steps, points[:, :n_features])), np.float64)
    origin = gate.anchors.mean(axis=0)
    half = 0.5 * ((gate.anchors**2).sum(axis=1) - origin @ origin)
    return 2 * gate.beta * (coded @ (gate.anchors - origin).T.astype(np.float64) - half)


def _affine(
    function: Callable[[np.ndarray], np.ndarray], references: np.ndarray, name: str
) -> tuple[np.ndarray, np.ndarray]:
    found = affine_parts(function, references)
    if found is None:
        raise NotPlain(
            f"contributions of this {name}, or of steps before, cannot be exported, because it is "
            f"neither linear nor quadratic; {ADVICE}"
        )
    return found


def _local_models(
    model: LocalModel, anchors: slice, n_inner: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slopes at zero, curvature and intercepts."""
    coef = model.coef[anchors].astype(np.float64)
    coef = coef if coef.shape[2] else np.zeros((*coef.shape[:2], 1))
    slopes, curvature = model.feature_map.curvature(n_inner, coef)
    return slopes, curvature, model.intercept[anchors].astype(np.float64)
