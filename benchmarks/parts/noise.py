"""How much of the contributions is on features without effect, and how the others are ordered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from ..common import Row
from .attributions import N_TEST

# Rows, targets and the true sizes of effects.
Family = tuple[np.ndarray, np.ndarray, np.ndarray]


def noise_share(contributions: np.ndarray, truth: np.ndarray) -> float:
    """The share of all ``|contribution|`` on features without effect."""
    sizes = np.abs(contributions).mean(axis=0)
    return float(sizes[truth == 0].sum() / sizes.sum())


def rank_correlation(sizes: np.ndarray, truth: np.ndarray) -> float:
    """Spearman's, over the largest that any order can have: equal effects are ties."""
    ideal = np.lexsort((sizes, truth)).argsort()
    largest = spearmanr(ideal, truth).statistic
    return min(1.0, float(spearmanr(sizes, truth).statistic / largest))  # sizes may be ties too


def noise_of(
    make: Callable[[int], Any],
    contributions_of: Callable[..., np.ndarray],
    families: Iterable[tuple[int, Family]],
) -> Row:
    """Means over seeds, and the largest share of noise, of models of all but the last rows."""
    shares, ranks, scores = [], [], []
    for seed, (X, y, truth) in families:
        train, test = slice(0, len(X) - N_TEST), slice(len(X) - N_TEST, None)
        model = make(seed).fit(X[train], y[train])
        found = contributions_of(model, X[test])
        shares.append(noise_share(found, truth))
        ranks.append(rank_correlation(np.abs(found).mean(axis=0), truth))
        scores.append(model.score(X[test], y[test]))
    return {
        "noise share": np.mean(shares), "largest": max(shares),
        "rank correlation": np.mean(ranks), "accuracy": np.mean(scores),
    }  # fmt: skip
