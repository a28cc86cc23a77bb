"""Tests of hyperlocal.maps.nystroem: the approximation of a Gaussian kernel."""

import numpy as np
import pytest
import scipy.sparse as sp

from maps.fitting import named
from reference.problems import make_rows


def test_nystroem_map_uses_the_scale_of_the_rows():
    """Nyström's γ is one over features times variance, also for sparse rows."""
    X = make_rows(n_rows=60)
    for rows in (X, sp.csr_array(X)):
        feature_map = named("nystroem", rows)
        assert feature_map.transformer.gamma == pytest.approx(1 / (5 * X.var()))
        assert feature_map.n_features_out == 60
    assert np.isfinite(named("nystroem", np.ones((4, 2))).transformer.gamma)
