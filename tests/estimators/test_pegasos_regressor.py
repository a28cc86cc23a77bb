"""Tests of hyperlocal.estimators.pegasos_regressor: PegasosRegressor."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.svm import LinearSVR

from hyperlocal.linear import PegasosRegressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_epsilon_insensitive_is_linear_svr(epsilon):
    """The regression reaches LinearSVR's objective to half a percent."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = X @ [1, -2, 0.5, 0] + 0.3 * rng.standard_t(3, 400)
    Z = np.column_stack([X, np.ones(400)])
    svr = LinearSVR(
        epsilon=epsilon, C=1.0, fit_intercept=False, tol=1e-8, max_iter=200_000, random_state=0
    ).fit(Z, y)
    losses = np.maximum(0, np.abs(y - Z @ svr.coef_) - epsilon)
    best = 0.5 / 400 * svr.coef_ @ svr.coef_ + losses.mean()
    model = PegasosRegressor(epsilon=epsilon, tol=None, max_iter=300, random_state=0)
    model.fit(X, y)
    assert best * (1 - 1e-6) <= model.objective_ <= 1.005 * best
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)
    sparse = clone(model).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, model.coef_, atol=1e-6)
