"""Tests of hyperlocal.maps.named: the maps that arguments name."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from hyperlocal.maps.base import FeatureMap
from hyperlocal.maps.named import FEATURE_MAPS, check_feature_map
from maps.fitting import named, positive_rows, read_rows
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
