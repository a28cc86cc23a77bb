"""Rows written out."""

import numpy as np
import scipy.sparse as sp


def written_out(X, quadratic=False):
    """φ of all rows as a dense float64 array."""
    dense = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    return quadratic_map(dense) if quadratic else dense


def quadratic_map(X):
    """``[√2 x_i; then for each i: x_i², √2 x_i x_j for j > i]``, row by row."""
    n_features = X.shape[1]
    columns = [np.sqrt(2) * X[:, i] for i in range(n_features)]
    for i in range(n_features):
        columns.append(X[:, i] ** 2)
        columns += [np.sqrt(2) * X[:, i] * X[:, j] for j in range(i + 1, n_features)]
    return np.column_stack(columns) if columns else np.empty((len(X), 0))


def group_sums(phi, groups, row_weights, n_groups):
    """Weighted sums of the rows of each group, and the groups' weights."""
    sums, masses = np.zeros((n_groups, phi.shape[1])), np.zeros(n_groups)
    for row, group, weight in zip(phi, groups, row_weights, strict=True):
        sums[group] += weight * row
        masses[group] += weight
    return sums, masses
