"""Tests of hyperlocal.estimators.pegasos: PegasosSVC."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from estimators.data import every_coupling, make_data
from hyperlocal.linear import SDCASVC, PegasosSVC

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@every_coupling
def test_pegasos_approaches_the_dual(loss, multi_class):
    """It minimizes what SDCASVC minimizes for the same C, to half a percent."""
    X, y = make_data(3, n_rows=400)
    options = {"loss": loss, "multi_class": multi_class, "random_state": 0}
    best = SDCASVC(tol=1e-6, max_iter=10_000, **options).fit(X, y).objective_ / 400
    found = PegasosSVC(tol=None, max_iter=300, **options).fit(X, y)
    assert best * (1 - 1e-6) <= found.objective_ <= 1.005 * best


def test_multinomial_is_logistic_regression():
    """The multinomial loss gives the probabilities of scikit-learn's logistic regression."""
    X, y = make_data(3, n_rows=400)
    Z = np.column_stack([X, np.ones(400)])
    best = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8, max_iter=1000).fit(Z, y)
    model = PegasosSVC(
        loss="log", multi_class="multinomial", tol=None, max_iter=400, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), best.predict_proba(Z), atol=0.02)
    two = PegasosSVC(loss="log", multi_class="multinomial", random_state=0).fit(X, y > 0)
    np.testing.assert_allclose(two.predict_proba(X).sum(axis=1), 1)
    assert (two.predict_proba(X).argmax(axis=1) == two.predict(X)).all()


def test_what_partial_fit_refuses():
    """Labels must be known, stay the same, and cannot be balanced batch by batch."""
    X, y = make_data()
    with pytest.raises(ValueError, match="classes must be given"):
        PegasosSVC().partial_fit(X, y)
    model = PegasosSVC().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="differ"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="not in classes"):
        model.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="balanced"):
        PegasosSVC(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
