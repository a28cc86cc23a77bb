"""Plain twins of the neighbor search, the local SVMs and the local metrics; LIBSVM solves."""

import numpy as np
from sklearn.svm import SVC


def squared_distances(X, queries):
    """Between all queries and rows, from differences."""
    return ((queries[:, None] - X[None]) ** 2).sum(axis=2)


def nearest_rows(X, queries, k):
    """The k nearest rows of each query; equal distances by the row's index."""
    distances = squared_distances(X, queries)
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(distances, order, axis=1)


def kernel_matrix(rows, query, kernel, gamma, degree=3, coef0=1.0):
    """Kernel values of neighbors and, as the last row, of the query itself."""
    differences = np.vstack([rows - query, np.zeros_like(query)])
    if gamma == "local":
        gamma = 1 / (differences[:-1] ** 2).sum(axis=1).mean() / (2 if kernel == "rbf" else 1)
    if kernel == "rbf":
        return np.exp(-gamma * squared_distances(differences, differences))
    products = gamma * differences @ differences.T
    return products if kernel == "linear" else (products + coef0) ** degree


def solve(gram, y, costs):
    """LIBSVM's signed dual variables and bias for labels ±1."""
    model = SVC(kernel="precomputed", C=1.0, tol=1e-7, shrinking=False)
    model.fit(gram, y, sample_weight=costs)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    return beta, float(model.intercept_[0])


def dual_objective(gram, y, beta):
    """Σα − ½ βᵀKβ."""
    return y @ beta - 0.5 * beta @ gram @ beta


def local_scores(gram, labels, costs, n_classes):
    """Scores of the query by one SVM against the rest per class present."""
    if len(np.unique(labels)) == 1:
        scores = np.where(np.arange(n_classes) == labels[0], 1.0, -1.0)
        return scores[1:] if n_classes == 2 else scores
    scores = np.full(n_classes, np.nan)
    for label in np.unique(labels):
        beta, bias = solve(gram[:-1, :-1], np.where(labels == label, 1, -1), costs)
        scores[label] = beta @ gram[-1, :-1] + bias
    scores[np.isnan(scores)] = min(-1.0, np.nanmin(scores) - 1)
    return scores[1:] if n_classes == 2 else scores


def scores(X, target, costs, n_classes, queries, neighbors, kernel, gamma, **options):
    """Scores of queries, each on its own neighbors."""
    out = []
    for query, near in zip(queries, neighbors, strict=True):
        gram = kernel_matrix(X[near], query, kernel, gamma, **options)
        out.append(local_scores(gram, target[near], costs[near], n_classes))
    return np.array(out)


def megm_loss(A, X, target, n_classes, neighbors=None):
    """The loss of MEGM by loops over pairs of rows."""
    A = np.diag(A) if A.ndim == 1 else A
    Y = np.eye(n_classes)[target]
    loss = 0.0
    for i in range(len(X)):
        others = [j for j in range(len(X)) if j != i] if neighbors is None else neighbors[i]
        weights = np.array([np.exp(-(((A @ (X[i] - X[j])) ** 2).sum())) for j in others])
        predicted = weights @ Y[others] / weights.sum()
        loss += ((predicted - Y[i]) ** 2).sum()
    return loss / len(X)


def megm_gradient(A, X, target, n_classes):
    """2 A Xᵀ (diag(S1) − S) X with S = −(G + Gᵀ), over all pairs at once."""
    Y = np.eye(n_classes)[target]
    similar = np.exp(-squared_distances(X @ A.T, X @ A.T))
    np.fill_diagonal(similar, 0)
    P = similar / similar.sum(axis=1, keepdims=True)
    predicted = P @ Y
    R = predicted - Y
    G = 2 / len(X) * P * (R @ Y.T - (R * predicted).sum(axis=1, keepdims=True))
    S = -(G + G.T)
    return 2 * A @ X.T @ (np.diag(S.sum(axis=1)) - S) @ X


def dann_metric(pool, query, target, ridge, roundness):
    """W^{-1/2} (W^{-1/2} B W^{-1/2} + ε I) W^{-1/2} of one query."""
    X = pool - query
    distances = np.sqrt((X**2).sum(axis=1))
    weights = (1 - (distances / distances.max()) ** 3) ** 3 + 1e-3
    weights /= weights.sum()
    mean = weights @ X
    within, between = np.zeros((X.shape[1],) * 2), np.zeros((X.shape[1],) * 2)
    for label in np.unique(target):
        own = target == label
        mass = weights[own].sum()
        center = weights[own] @ X[own] / mass
        between += mass * np.outer(center - mean, center - mean)
        for x, weight in zip(X[own], weights[own], strict=True):
            within += weight * np.outer(x - center, x - center)
    within += ridge * np.trace(within) / X.shape[1] * np.eye(X.shape[1])
    values, vectors = np.linalg.eigh(within)
    root = vectors / np.sqrt(values) @ vectors.T
    return root @ (root @ between @ root + roundness * np.eye(X.shape[1])) @ root
