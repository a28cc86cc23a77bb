"""Tests of hyperlocal.maps.transformer: any transformer as a map."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from hyperlocal.maps.transformer import TransformerMap
from maps.fitting import fitted, read_rows
from reference.problems import make_rows


def test_any_transformer_is_a_map():
    """A transformer is cloned and fitted; φ is its output in the dtype of the rows."""
    X = make_rows("float32")
    scaler = StandardScaler()
    feature_map = fitted(TransformerMap(scaler), X)
    assert not hasattr(scaler, "mean_")
    assert not feature_map.explains_input
    phi = read_rows(feature_map, X)
    assert phi.dtype == np.float32
    np.testing.assert_allclose(phi, StandardScaler().fit_transform(X), atol=1e-6)


def test_a_transformer_with_sparse_output():
    """Sparse output is read as CSR rows."""
    X = np.array([[0.0], [1.0], [2.0], [1.0]])
    feature_map = fitted(TransformerMap(OneHotEncoder()), X)
    assert sp.issparse(feature_map.stored(X))
    np.testing.assert_array_equal(read_rows(feature_map, X), np.eye(3)[[0, 1, 2, 1]])


def test_names_of_a_transformer():
    """Explanations use the transformer's names, or φ0, φ1, … where it has none."""
    X = make_rows()
    own = fitted(TransformerMap(Nystroem(n_components=2, random_state=0)), X)
    assert own.feature_names(None).tolist() == ["nystroem0", "nystroem1"]
    none = fitted(TransformerMap(FunctionTransformer(lambda X: X[:, :2])), X)
    assert none.feature_names(None).tolist() == ["φ0", "φ1"]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X: np.vstack([X, X]), "feature_map turned 1 rows into 2"),
        (lambda X: X * np.nan, "output of feature_map contains NaN"),
    ],
)
def test_a_transformer_that_breaks_rows(function, message):
    """Rows too many and non-finite output are refused by name."""
    with pytest.raises(ValueError, match=message):
        fitted(TransformerMap(FunctionTransformer(function)), make_rows())
