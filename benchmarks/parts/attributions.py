"""Rows of which it is known what matters, and methods that attribute scores to features."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from hyperlocal import explain
from hyperlocal.model.gradients import score_gradients
from hyperlocal.runtime.threads import Workers

N_TRAIN, N_TEST = 4_000, 300


def make_family(name: str, rare: bool, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Standardized rows, classes, and the true size of each feature's effect.

    Three features have effects; a normal, a binary, three one-hot and a correlated one have none.
    """
    rng = np.random.default_rng(seed)
    n_rows = N_TRAIN + N_TEST
    S = rng.normal(size=(n_rows, 3))
    parts = {
        "linear": [S[:, 0], 0.6 * S[:, 1], 0.3 * S[:, 2]],
        "squared": [S[:, 0] ** 2, 0.6 * S[:, 1] ** 2, 0.3 * S[:, 2]],
        "product": [S[:, 0] * S[:, 1] / 2, S[:, 0] * S[:, 1] / 2, 0.3 * S[:, 2]],
        "local": [0.5 * S[:, 0], S[:, 1] * (S[:, 0] > 0), -S[:, 2] * (S[:, 0] <= 0)],
    }[name]
    effect = np.sum(parts, axis=0)
    effect = effect + 0.2 * effect.std() * rng.normal(size=n_rows)
    y = (effect > np.quantile(effect, 0.964 if rare else 0.5)).astype(int)
    noise = [rng.normal(size=n_rows), rng.integers(0, 2, n_rows)]
    noise += list(np.eye(3)[rng.integers(0, 3, n_rows)].T)
    noise.append(0.7 * noise[0] + 0.7 * rng.normal(size=n_rows))
    sizes = np.array([np.abs(part - part.mean()).mean() for part in parts] + [0.0] * len(noise))
    return StandardScaler().fit_transform(np.c_[S, np.array(noise).T]), y, sizes


def make_example(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One feature that matters and two that do not, 3.6 % positive."""
    rng = np.random.default_rng(seed)
    n_rows = 5_000
    signal, noise = rng.normal(size=(2, n_rows))
    binary = rng.integers(0, 2, n_rows)
    y = (signal + 0.5 * rng.normal(size=n_rows) > 2).astype(int)
    return np.c_[signal, noise, binary], y, np.array([1.0, 0.0, 0.0])


def make_credit(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Standardized balance, income and student; 3 % of 10,000 people default.

    The odds rise with the balance and are lower for students, who have higher balances and lower
    incomes. The income itself has no effect.
    """
    rng = np.random.default_rng(seed)
    n_rows = 10_000
    student = rng.random(n_rows) < 0.3
    balance = np.maximum(rng.normal(np.where(student, 990, 770), 470), 0)
    income = np.where(student, rng.normal(18_000, 5_500, n_rows), rng.normal(40_000, 9_900, n_rows))
    odds = -10.9 + 0.0057 * balance - 0.65 * student
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-odds))).astype(int)
    sizes = np.array([0.0057 * balance.std(), 0.0, 0.65 * student.std()])
    return StandardScaler().fit_transform(np.c_[balance, income, student]), y, sizes


def exact(model: Any, X: np.ndarray) -> np.ndarray:
    """Contributions of this library to the only score."""
    return explain(model, X).contributions[:, 0]


def weights_times_values(model: Any, X: np.ndarray) -> np.ndarray:
    """The products of the local linear model: the former definition."""
    return model.local_coef(X)[:, 0] * X


def centered(model: Any, X: np.ndarray) -> np.ndarray:
    """Local weights times differences from the training mean."""
    return model.local_coef(X)[:, 0] * (X - model.background.mean)


def exact_shapley(model: Any, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Interventional Shapley values over rows by all orders, for few features."""
    orders = list(permutations(range(X.shape[1])))
    total = np.zeros(X.shape)
    for row in rows:
        scores: dict[frozenset[int], np.ndarray] = {}
        for order in orders:
            for place, feature in enumerate(order):
                before, after = (frozenset(order[: place + more]) for more in (0, 1))
                for chosen in {before, after} - scores.keys():
                    points = np.repeat(row[None], len(X), axis=0)
                    points[:, list(chosen)] = X[:, list(chosen)]
                    scores[chosen] = model.decision_function(points)
                total[:, feature] += scores[after] - scores[before]
    return total / (len(orders) * len(rows))


def path_from_mean(model: Any, X: np.ndarray) -> np.ndarray:
    """The path average from the mean alone."""
    return explain(model, X, model.background.mean[None]).contributions[:, 0]


def fixed_gate(model: Any, X: np.ndarray) -> np.ndarray:
    """Path averages with the gates held fixed at the points of the path."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    total = np.zeros_like(X)
    with Workers(1) as workers:
        for reference in model.background.rows:
            for t, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
                points = reference + t * (X - reference)
                slopes = score_gradients(model.model_, points, workers, hold_gate=True)[:, 0]
                total += weight * slopes * (X - reference) / len(model.background.rows)
    return total


def shapley(model: Any, X: np.ndarray, rows: np.ndarray, seed: int = 0) -> np.ndarray:
    """Interventional Shapley values over background rows, by pairs of opposite orders."""
    rng = np.random.default_rng(seed)
    total, n_features = np.zeros(X.shape), X.shape[1]
    for row in rows:
        order = rng.permutation(n_features)
        for one in (order, order[::-1]):
            points = np.repeat(row[None], len(X), axis=0)
            before = model.decision_function(points)
            for feature in one:
                points[:, feature] = X[:, feature]
                after = model.decision_function(points)
                total[:, feature] += after - before
                before = after
    return total / (2 * len(rows))


def tree_shap(model: Any, X: np.ndarray) -> np.ndarray:
    """TreeSHAP of a LightGBM classifier, by LightGBM itself."""
    return model.predict(X, pred_contrib=True)[:, :-1]


def coefficients(model: Any, X: np.ndarray) -> np.ndarray:
    """A linear model's weights times differences from the mean."""
    return model.coef_[0] * (X - X.mean(axis=0))


def kernel_shap(model: Any, X: np.ndarray, background: np.ndarray) -> np.ndarray:
    """KernelExplainer with its default number of samples."""
    import shap

    explainer = shap.KernelExplainer(model.decision_function, background)
    return np.asarray(explainer.shap_values(X, silent=True))


def sampled_shap(model: Any, X: np.ndarray) -> np.ndarray:
    """KernelExplainer on twenty rows, relative to ten others: more take minutes."""
    return kernel_shap(model, X[:20], X[-10:])
