"""What becomes of scores as features are removed, and of contributions beside a row."""

from __future__ import annotations

from typing import Any

import numpy as np

from hyperlocal import explain

from .attributions import kernel_shap


def score_change(
    model: Any, X: np.ndarray, contributions: np.ndarray, background: np.ndarray
) -> float:
    """Mean change of the score towards the other side, over steps of one feature."""
    signs = np.sign(model.decision_function(X))
    order = np.argsort(-signs[:, None] * contributions, axis=1)
    start = signs * model.decision_function(X)
    rows, falls = np.arange(len(X)), []
    points = np.repeat(X[None], len(background), axis=0)
    for step in range(X.shape[1]):
        points[:, rows, order[:, step]] = background[:, order[:, step]]
        scores = np.mean([model.decision_function(one) for one in points], axis=0)
        falls.append(start - signs * scores)
    return float(np.mean(falls))


def instability(model: Any, X: np.ndarray, background: np.ndarray, method: str, seed: int) -> float:
    """Median of ``Σ|Δ contribution|`` over the sum of ``|contribution|``, per 1 % of change."""
    near = X + 0.01 * np.random.default_rng(seed).normal(size=X.shape)
    if method == "exact":
        one, other = (explain(model, rows, background).contributions[:, 0] for rows in (X, near))
    else:
        one, other = (kernel_shap(model, rows, background) for rows in (X, near))
    return float(np.median(np.abs(one - other).sum(axis=1) / np.abs(one).sum(axis=1)))
