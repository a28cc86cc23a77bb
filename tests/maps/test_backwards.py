"""Tests of hyperlocal.maps.backwards: weights through transformers keep their sums."""

import numpy as np
import pytest
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)

from hyperlocal.maps.additive import AdditiveKernelMap
from hyperlocal.maps.backwards import can_go_back, weights_before
from hyperlocal.neighbors.megm import MEGM

TRANSFORMERS = [
    StandardScaler(),
    MinMaxScaler(),
    PCA(2, whiten=True),
    TruncatedSVD(2),
    Normalizer(),
    Nystroem(gamma=0.2, n_components=6, random_state=0),
    AdditiveKernelMap(),
    PowerTransformer(),
    QuantileTransformer(n_quantiles=20),
    MEGM(max_iter=3, random_state=0),
    make_pipeline(StandardScaler(), PCA(3), Normalizer(), Nystroem(n_components=4, random_state=0)),
]


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=str)
def test_sums_are_kept(transformer):
    """``w · (T(x) − T(x₀)) = v · (x − x₀)``, also for a row on the reference."""
    rng = np.random.default_rng(0)
    X = rng.gamma(2.0, size=(60, 4))
    transformer.fit(X, X[:, 0] > 1)
    rows, reference = X[:8], X[3:4]
    assert can_go_back(transformer)
    after = transformer.transform(rows) - transformer.transform(reference)
    weights = rng.normal(size=(8, 2, after.shape[1]))
    before = weights_before(transformer, weights, rows, reference)
    np.testing.assert_allclose(
        np.einsum("ncd,nd->nc", before, rows - reference),
        np.einsum("ncd,nd->nc", weights, after),
        atol=1e-10,
    )


def test_others_are_not_known():
    """Transformers without a plain form that mix features are not passed."""
    X = np.random.default_rng(0).gamma(2.0, size=(20, 3))
    assert not can_go_back(OneHotEncoder().fit(X.round()))
    assert not can_go_back(make_pipeline(StandardScaler(), OneHotEncoder()).fit(X.round()))
    assert not can_go_back(Normalizer("l1").fit(X))
