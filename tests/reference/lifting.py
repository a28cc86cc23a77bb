"""The lifted matrix as a full array."""

import numpy as np


def lifted_matrix(phi, anchors, gate, n_anchors, bias, offset=0.0):
    """``Z_i = γ_i ⊗ [φ_i, B]``, shape ``(n_rows, n_anchors, p + 1)``.

    An offset is the last number of one more block, whatever the gate.
    """
    blocks = np.column_stack([phi, np.full(len(phi), bias)])
    Z = np.zeros((len(phi), n_anchors + (offset != 0), blocks.shape[1]))
    for i, (row_anchors, row_gate) in enumerate(zip(anchors, gate, strict=True)):
        for anchor, weight in zip(row_anchors, row_gate, strict=True):
            Z[i, anchor] += float(weight) * blocks[i]
    if offset:
        Z[:, -1, -1] = offset
    return Z


def scores(Z, weights):
    """``s_ic = Σ_jv Z_ijv W_jcv``."""
    return np.einsum("ijv,jcv->ic", Z, np.asarray(weights, np.float64))


def added(Z, steps, weights):
    """``W_jcv + Σ_i a_ic Z_ijv``."""
    return weights + np.einsum("ic,ijv->jcv", np.asarray(steps, np.float64), Z)


def squared_norms(Z):
    """``Σ_jv Z_ijv²``."""
    return np.einsum("ijv,ijv->i", Z, Z)


def unit_gate(phi, gate, bias):
    """The gate scaled so that lifted rows have norm one; rows of zeros stay zero."""
    scaled = np.zeros(gate.shape)
    for i, (row, weights) in enumerate(zip(phi, gate, strict=True)):
        length = np.linalg.norm(weights) * np.linalg.norm([*row, bias])
        if length > 0:
            scaled[i] = weights / length
    return scaled


def rows_of_anchors(anchors, gate, n_anchors):
    """For each anchor, the rows in which it has weight, ascending."""
    return [np.flatnonzero(((anchors == a) & (gate != 0)).any(axis=1)) for a in range(n_anchors)]
