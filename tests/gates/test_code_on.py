"""Tests of hyperlocal.gates.code_on: what codes are computed on."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler

from hyperlocal.gates.code_on import CodeOn, check_code_on
from hyperlocal.maps.base import BiasOnlyMap, FeatureMap
from hyperlocal.maps.quadratic import QuadraticMap
from reference.problems import every_storage, make_rows
from reference.rows import written_out


def fitted_map(kind, X):
    return kind().fit(X, None, np.ones(X.shape[0]), np.random.default_rng(0))


def code_rows(code_on, X, feature_map=None):
    feature_map = fitted_map(FeatureMap, X) if feature_map is None else feature_map
    return CodeOn(code_on).fit(X, None).transform(X, feature_map)


@every_storage
def test_input(dtype, storage):
    """``"input"`` codes on the rows themselves."""
    X = make_rows(dtype, storage)
    assert code_rows("input", X) is X


@every_storage
def test_features(dtype, storage):
    """``"features"`` codes on the mapped rows."""
    X = make_rows(dtype, storage)
    np.testing.assert_allclose(
        code_rows("features", X, fitted_map(QuadraticMap, X)), written_out(X, True), rtol=1e-5
    )


def test_features_of_a_map_without_features():
    """A map without features cannot be coded on."""
    X = make_rows()
    with pytest.raises(ValueError, match="needs a feature map that has features"):
        code_rows("features", X, fitted_map(BiasOnlyMap, X))


@every_storage
@pytest.mark.parametrize(
    ("code_on", "columns"),
    [
        ([3, 0], [3, 0]),
        (np.array([-1, 1]), [4, 1]),
        ([True, False, False, True, False], [0, 3]),
        ((2,), [2]),
    ],
)
def test_columns(dtype, storage, code_on, columns):
    """Indices, also negative ones, and masks choose columns in the form that kernels read."""
    X = make_rows(dtype, storage)
    chosen = code_rows(code_on, X)
    np.testing.assert_array_equal(written_out(chosen), written_out(X)[:, columns])
    assert chosen.dtype == X.dtype
    if storage == "csr":
        assert chosen.format == "csr"
        assert chosen.has_canonical_format
    else:
        assert chosen.flags.c_contiguous


@pytest.mark.parametrize("code_on", [[5], [-6], [], [0.5, 1.0], [True, False], ["a", "b"]], ids=str)
def test_columns_that_do_not_exist(code_on):
    """Columns outside the rows, or what is no column, raise an error that names code_on."""
    with pytest.raises(ValueError, match="code_on must hold column indices between 0 and 4"):
        code_rows(code_on, make_rows())


@every_storage
def test_a_transformer(dtype, storage):
    """A transformer is cloned, fitted and applied; its output has the dtype of the rows."""
    X = make_rows(dtype, storage)
    scaler = MaxAbsScaler()
    scaled = code_rows(scaler, X)
    assert not hasattr(scaler, "scale_")
    assert scaled.dtype == X.dtype
    assert sp.issparse(scaled) == sp.issparse(X)
    np.testing.assert_allclose(
        written_out(scaled), written_out(MaxAbsScaler().fit_transform(X)), rtol=1e-6
    )


def test_a_transformer_is_fitted_once():
    """New rows are transformed by what was learned from the first."""
    X, other = make_rows(), make_rows(seed=5)
    space = CodeOn(PCA(2, svd_solver="full")).fit(X, None)
    expected = PCA(2, svd_solver="full").fit(X).transform(other)
    np.testing.assert_allclose(space.transform(other, FeatureMap()), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X: X[:3], "code_on turned 40 rows into 3"),
        (lambda X: X / 0.0, "output of code_on contains"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
def test_a_transformer_that_breaks_rows(function, message):
    """Lost rows and non-finite output are refused by name."""
    with pytest.raises(ValueError, match=message):
        code_rows(FunctionTransformer(function), make_rows())


@pytest.mark.parametrize(
    ("code_on", "error"), [("inputs", ValueError), (None, TypeError), (3, TypeError)]
)
def test_what_names_no_space_is_refused(code_on, error):
    """Other values of code_on raise an error that says what it may be."""
    with pytest.raises(error, match="code_on must be 'input', 'features'"):
        check_code_on(code_on)


@pytest.mark.parametrize("code_on", ["input", "features", [0, 1], np.array([True]), PCA()])
def test_what_names_a_space_passes(code_on):
    """Names, columns and transformers are accepted."""
    check_code_on(code_on)
