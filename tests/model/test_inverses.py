"""Tests of hyperlocal.model.inverses: references before a transformer."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import Normalizer, PolynomialFeatures, StandardScaler

from hyperlocal.model.inverses import inverse

X = np.random.default_rng(0).normal(size=(40, 4))
Y = np.arange(40) % 2


@pytest.mark.parametrize(
    "transformer", [StandardScaler(), PCA(2), SelectKBest(k=2), Normalizer()], ids=str
)
def test_rows_return_where_they_came_from(transformer):
    """A transformer turns what was found into the rows again."""
    rows = transformer.fit(X, Y).transform(X[:5])
    np.testing.assert_allclose(transformer.transform(inverse(transformer, rows)), rows, atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_kernel_values_have_rows_of_their_own(kernel):
    """References are made of the rows that the map keeps."""
    nystroem = Nystroem(kernel, n_components=10, random_state=0).fit(X)
    found = inverse(nystroem, nystroem.transform(X[:3]))
    np.testing.assert_allclose(found.mean(axis=0), nystroem.components_.mean(axis=0))


def test_others_are_not_known():
    """Without a formula there is nothing to return."""
    assert inverse(PolynomialFeatures().fit(X), np.zeros((1, 15))) is None
