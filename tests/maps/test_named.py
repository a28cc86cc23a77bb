"""Tests of hyperlocal.maps.named: the maps that arguments name."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from hyperlocal.maps.base import FeatureMap
from hyperlocal.maps.named import FEATURE_MAPS, check_feature_map
from hyperlocal.maps.quadratic import QuadraticMap
from maps.fitting import indicators, named, positive_rows, read_rows
from reference.problems import make_rows, stored


def test_automatic_map():
    """Quadratic up to 64 features, beyond on some principal axes, identity for sparse rows."""
    rng = np.random.default_rng(0)
    narrow, wide = rng.standard_normal((50, 64)), rng.standard_normal((50, 65))
    assert named("auto", narrow).n_features_out == 64 * 67 // 2
    n_axes = len(named("auto", wide).axes)
    assert n_axes <= 40
    assert named("auto", wide).n_features_out == 65 + n_axes * (n_axes + 3) // 2
    assert type(named("auto", stored(wide, "float64", "csr"))) is FeatureMap


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_automatic_map_of_indicators(kind):
    """One model of few non-zero numbers has all products; local ones, and wider rows, none."""
    X, wide = indicators(), indicators(n_columns=26)
    if kind == "csr":
        X, wide = sp.csr_array(X), sp.csr_array(wide)
    assert named("auto", X, is_local=False).n_features_out == 80 * 83 // 2
    assert type(named("auto", X)) is FeatureMap
    products = named("auto", wide, is_local=False)
    assert type(products) is (FeatureMap if kind == "csr" else QuadraticMap)
    assert products.n_features_out < 260 * 50


def test_mostly_zero_rows_are_stored_as_csr():
    """Wide rows with few numbers that are not zero; neither narrow nor dense ones."""
    X = indicators()
    for name in (None, "quadratic"):
        assert sp.issparse(named(name, X).stored(X))
        for rows in (X[:, :60], X + 1):
            assert not sp.issparse(named(name, rows).stored(rows))


@pytest.mark.parametrize("name", FEATURE_MAPS)
def test_every_name_makes_a_map(name):
    """Each documented name passes the check and gives a map that fits."""
    check_feature_map(name)
    X = positive_rows()
    assert read_rows(named(name, X), X).shape[0] == 40


def test_what_is_no_map_is_refused():
    """Unknown names and objects without transform raise an error that lists the choices."""
    with pytest.raises(ValueError, match="feature_map must be one of"):
        check_feature_map("cubic")
    with pytest.raises(TypeError, match=r"feature_map must be one of .* or a transformer"):
        check_feature_map(3)
    check_feature_map(StandardScaler())


def test_nystroem_map_uses_the_scale_of_the_rows():
    """Nyström's γ is one over features times variance, also for sparse rows."""
    X = make_rows(n_rows=60)
    for rows in (X, sp.csr_array(X)):
        feature_map = named("nystroem", rows)
        assert feature_map.transformer.gamma == pytest.approx(1 / (5 * X.var()))
        assert feature_map.n_features_out == 60
    assert np.isfinite(named("nystroem", np.ones((4, 2))).transformer.gamma)
