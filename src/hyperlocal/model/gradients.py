"""Gradients of scores with respect to the row, the gate and the normalization included.

With the lifted row ``g_j(x) [φ(x), B]``, ``g = γ`` or ``g = γ / (‖γ‖ r)`` and ``r = ‖[φ, B]‖``, a
score is ``f_c = Σ_j a_jc`` (without the global intercept), ``a_jc = g_j (w_jc · φ + B b_jc)``, and

    ∂f_c/∂x = Jᵀ (Σ_j g_j w_jc − f_c φ / r²)  +  Σ_j (a_jc − q_j f_c) t_j (v_j − x)

``J`` is the derivative of φ, ``t_j (v_j − x)`` that of ``log γ_j`` before the weights are scaled
(:meth:`hyperlocal.gates.gate.Gate.slopes`). The term with ``r`` belongs to normalized rows; ``q``
is ``γ`` for weights that sum to one, and ``γ² / ‖γ‖²`` for those of normalized rows. Levels of
anchors, each of unit length, have such a ``q`` and an ``f_c`` of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..gates.codes import Codes
from ..maps.linear import InputMap
from ..runtime.threads import Workers, row_blocks
from .lifting import LiftedRows
from .local_model import LocalModel

NUMBERS_PER_BLOCK = 1 << 20


def score_gradients(
    model: LocalModel,
    X: Any,
    workers: Workers,
    *,
    hold_gate: bool = False,
    numbers_per_block: int = NUMBERS_PER_BLOCK,
) -> np.ndarray:
    """``∂f_c/∂x`` at each row.

    Exact where the active anchors do not change, which is almost everywhere. The weights of the
    codings "lle", "llc" and "lcc", and those on a transformer's output, are held fixed
    (:func:`gate_is_included`).

    Parameters
    ----------
    model : LocalModel
        Trained; its map is the identity, quadratic, without features, or states its gradients.
    X : ndarray or CSR of shape (n_rows, n_features)
    workers : Workers
    hold_gate : bool
        Hold the weights of all gates fixed.
    numbers_per_block : int
        The size of what is computed at a time.

    Returns
    -------
    ndarray of shape (n_rows, n_columns, n_features)
    """
    codes = model.encode(X, workers)
    stored = model.feature_map.stored_with(X, workers)
    gradients = np.empty((X.shape[0], model.n_columns, model.n_features_in), model.dtype)
    include_gate = not hold_gate and gate_is_included(model)

    def fill(block: tuple[int, int]) -> None:
        part = slice(*block)
        gradients[part] = _block(model, X[part], stored[part], codes.take(part), include_gate)

    per_row = model.n_columns * (model.feature_map.n_features_out + model.n_features_in)
    blocks = row_blocks(X.shape[0], max(1, numbers_per_block // max(1, per_row)))
    workers.map(fill, blocks)
    return gradients


def gate_is_included(model: LocalModel) -> bool:
    """Whether gradients include how the gate changes, where it changes at all."""
    known = model.gate.coding in ("soft", "inverse_distance", "hard")
    source = model.code_on.source
    return known and (isinstance(source, InputMap) or not hasattr(source, "transform"))


def _block(model: LocalModel, X: Any, stored: Any, codes: Codes, include_gate: bool) -> np.ndarray:
    lifted = model.lift_stored(stored, codes, Workers(1))
    coef, intercept = lifted.local_models(model.weights)
    phi = lifted.features(0, lifted.n_rows)
    scores = np.einsum("ncv,nv->nc", coef, phi) + intercept - model.global_intercept
    if model.normalize:
        norms = lifted.row_norms[:, None]
        relative = np.divide(phi, norms, out=np.zeros_like(phi), where=norms > 0)
        coef -= scores[:, :, None] * relative[:, None, :]
    steps = _gate_steps(model, lifted, codes, scores) if include_gate else None
    if steps is None:
        return model.feature_map.gradients(stored, coef)
    space = phi if model.code_on.uses_map else model.space(X)
    moved = _toward_anchors(steps, codes.anchors, model.gate.anchors, space)
    if model.code_on.uses_map:
        return model.feature_map.gradients(stored, coef + moved)
    gradients, source = model.feature_map.gradients(stored, coef), model.code_on.source
    if isinstance(source, InputMap):
        moved = source.pull_back(moved)
    elif isinstance(source, np.ndarray):
        moved = moved @ np.eye(model.n_features_in, dtype=moved.dtype)[source]
    return gradients + moved


def _gate_steps(
    model: LocalModel, lifted: LiftedRows, codes: Codes, scores: np.ndarray
) -> np.ndarray | None:
    """``(a_jc − q_j f_c) t_j``, ``(n_rows, k, n_columns)``; None where the gate is fixed."""
    slopes = model.gate.slopes(codes)
    if slopes is None:
        return None
    bounds = model.gate.active_bounds
    steps = lifted.all_anchor_scores(model.weights)
    for begin, end in bounds:
        part = slice(begin, end)
        shares = codes.weights[:, part]
        if model.normalize or len(bounds) > 1:
            squares = shares * shares
            shares = squares / squares.sum(axis=1, keepdims=True)
        own = steps[:, part].sum(axis=1) if len(bounds) > 1 else scores
        steps[:, part] -= shares[:, :, None] * own[:, None, :]
    return steps * slopes[:, :, None]


def _toward_anchors(
    steps: np.ndarray, active: np.ndarray, anchors: np.ndarray, rows: Any
) -> np.ndarray:
    """``Σ_j h_ijc (v_j − x_i)``, of shape (n_rows, n_columns, width)."""
    n_rows, n_active, n_columns = steps.shape
    # Around a common origin, so that differences of distant points keep their digits.
    origin = np.zeros_like(anchors[0]) if sp.issparse(rows) else anchors.mean(axis=0)
    starts = np.arange(0, n_rows * n_columns * n_active + 1, n_active)
    values = np.ascontiguousarray(steps.transpose(0, 2, 1)).ravel()
    indices = np.repeat(active, n_columns, axis=0).ravel()
    shape = (n_rows * n_columns, len(anchors))
    moved = sp.csr_array((values, indices, starts), shape=shape) @ (anchors - origin)
    dense = rows.toarray() if sp.issparse(rows) else rows - origin
    total = steps.sum(axis=1)
    return moved.reshape(n_rows, n_columns, -1) - total[:, :, None] * dense[:, None, :]


def gradient_products(
    model: LocalModel,
    X: Any,
    sample_weight: np.ndarray,
    workers: Workers,
    *,
    diagonal: bool = False,
) -> np.ndarray:
    """``M = Σ_ic s_i g_ic g_icᵀ / (Σ_i s_i · n_columns)`` of gradients ``g``, in double precision.

    Feature i is relevant where ``M_ii`` is large; eigenvectors of M are directions in which scores
    change. Of many features, ``diagonal`` needs less memory: only ``M_ii``.
    """
    width = model.n_features_in
    products = np.zeros(width if diagonal else (width, width))
    per_row = model.n_columns * model.n_features_in
    for begin, end in row_blocks(X.shape[0], max(1, NUMBERS_PER_BLOCK // max(1, per_row))):
        gradients = score_gradients(model, X[begin:end], workers).astype(np.float64)
        gradients *= np.sqrt(sample_weight[begin:end])[:, None, None]
        flat = gradients.reshape(-1, width)
        products += np.einsum("ni,ni->i", flat, flat) if diagonal else flat.T @ flat
    return products / (float(sample_weight.sum()) * model.n_columns)
