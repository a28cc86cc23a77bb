"""Tests of hyperlocal.estimators.automatic_chain."""

import numpy as np
import pytest

from hyperlocal import LocallyLinearSVC, LocallyLinearSVR


@pytest.mark.parametrize("kind", [LocallyLinearSVC, LocallyLinearSVR])
def test_chosen_parameters_give_the_same_model(kind):
    """A fit with the chosen parameters, of which none is automatic, predicts the same."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(float)
    model = kind(random_state=0).fit(X, y)
    again = kind(**model.chosen_, random_state=0).fit(X, y)
    assert again.C_ == model.C_
    np.testing.assert_allclose(again.predict(X), model.predict(X), atol=1e-6)
