"""Families of rows that no rule was chosen on: other effects, links, numbers and kinds of features.

Each is a function of its first features; further features have no effect, but some are correlated
with those that have. Labels are drawn from a logistic link, so that the best possible model errs.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
from sklearn.preprocessing import StandardScaler

from .attributions import N_TEST, exact_shapley

# The share of the latent scale's spread that the logistic link adds.
LINK_SCALE = 0.15


def _sine(S: np.ndarray) -> np.ndarray:
    return np.sin(1.5 * S[:, 0]) + 0.5 * S[:, 1]


def _steps(S: np.ndarray) -> np.ndarray:
    return 1.5 * (S[:, 0] > 0.5) + 2.0 * (S[:, 1] > 0) * (S[:, 2] < 0.3)


def _ridges(S: np.ndarray) -> np.ndarray:
    return np.abs(S[:, 0]) - 0.7 * np.abs(S[:, 1]) + 0.4 * S[:, 2]


def _slopes_by_group(S: np.ndarray) -> np.ndarray:
    return S[:, 0] * (2.0 * S[:, 1] - 1.0) + 0.5 * S[:, 2]


def _four_parts(S: np.ndarray) -> np.ndarray:
    return S[:, 0] * S[:, 1] + np.exp(0.7 * S[:, 2]) - 0.8 * S[:, 3]


# The effect, how many features it has, which of them are binary, and how many normal ones, levels
# of one-hot columns and copies (correlation .6) of the first features are added without effect.
FAMILIES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], int, tuple[int, ...], list[int]]] = {
    "sine": (_sine, 2, (), [4, 4, 0]),
    "steps": (_steps, 3, (), [8, 5, 0]),
    "ridges": (_ridges, 3, (), [2, 0, 2]),
    "slopes by group": (_slopes_by_group, 3, (1,), [3, 3, 1]),
    "four parts": (_four_parts, 4, (), [12, 3, 2]),
}


def make_other(
    name: str, kind: str, n_train: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Standardized rows, targets, and the true size of each feature's effect.

    That is its mean absolute Shapley value over the effect without noise. ``kind`` is "50 %",
    "3 %" (of positive rows) or "value", the effect with normal noise.
    """
    effect_of, n_with, binary, (n_normal, n_levels, n_copies) = FAMILIES[name]
    rng = np.random.default_rng([seed, len(name), n_train])
    n_rows = n_train + N_TEST
    S = rng.normal(size=(n_rows, n_with))
    for column in binary:
        S[:, column] = S[:, column] > 0
    effect = effect_of(S)
    noise = [rng.normal(size=(n_rows, n_normal)), rng.integers(0, 2, (n_rows, 1))]
    noise.append(np.exp(rng.normal(size=(n_rows, 1))))
    if n_levels:
        noise.append(np.eye(n_levels)[rng.integers(0, n_levels, n_rows)])
    noise.append(0.6 * S[:, :n_copies] + 0.8 * rng.normal(size=(n_rows, n_copies)))
    if kind == "value":
        y = effect + 0.3 * effect.std() * rng.normal(size=n_rows)
    else:
        latent = effect + LINK_SCALE * effect.std() * rng.logistic(size=n_rows)
        y = (latent > np.quantile(latent, 0.5 if kind == "50 %" else 0.97)).astype(int)
    model = SimpleNamespace(decision_function=effect_of)
    sizes = np.abs(exact_shapley(model, S[-N_TEST:], S[:50])).mean(axis=0)
    X = np.hstack([S, *noise])
    truth = np.r_[sizes, np.zeros(X.shape[1] - n_with)]
    return StandardScaler().fit_transform(X), y, truth
