"""Tests of hyperlocal.estimators.latent: scores, gates and local weights of fitted models."""

import numpy as np
import pytest

from estimators.data import make_data
from hyperlocal.estimators.latent import dual_exponent
from hyperlocal.papers import LatentLocallyLinearSVC
from reference import latent as reference


def model(n_anchors=5, **options):
    """A small model with a seed."""
    given = {"C": 11.0, "random_state": 0, "max_iter": 5, **options}
    return LatentLocallyLinearSVC(n_anchors, **given)


def class_scores(fitted, X, q):
    """``‖[W_c x]_+‖_q`` from the public attributes."""
    z = np.einsum("mcv,iv->icm", fitted.coef_, X) + fitted.intercept_.T
    return np.array([[reference.score(of_class, q) for of_class in row] for row in z]), z


@pytest.mark.parametrize(("p", "q"), [(1.5, 3), (2.0, 2), (np.inf, 1), (4, 4 / 3), (1.2, 6)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_norms(p, q, n_classes):
    """Scores are the norms of the positive products; two classes give their difference."""
    X, y = make_data(n_classes)
    fitted = model(p=p).fit(X, y)
    scores, _ = class_scores(fitted, X, q)
    expected = scores[:, 1] - scores[:, 0] if n_classes == 2 else scores
    np.testing.assert_allclose(fitted.decision_function(X), expected, atol=1e-9)
    assert fitted.score(X, y) > 0.7


def test_local_weights_are_mixed_by_the_best_gate():
    """``local_coef`` is ``Σ_m β_m W_cm`` with ``‖β‖_p = 1``, per row and class."""
    X, y = make_data(3)
    fitted = model().fit(X, y)
    _, z = class_scores(fitted, X, 3)
    coef = fitted.local_coef(X)
    for i in range(10):
        for c in range(3):
            if not (z[i, c] > 0).any():
                assert not coef[i, c].any()
                continue
            beta = reference.gate(z[i, c], 3)
            np.testing.assert_allclose(np.sum(beta**1.5), 1)
            np.testing.assert_allclose(coef[i, c], beta @ fitted.coef_[:, c], atol=1e-9)


def test_one_model_without_limit():
    """p = ∞ with one model scores ``[w·x]_+``."""
    X, y = make_data(3)
    fitted = model(1, p=np.inf).fit(X, y)
    linear = X @ fitted.coef_[0].T + fitted.intercept_[0]
    np.testing.assert_allclose(fitted.decision_function(X), np.maximum(linear, 0), atol=1e-12)


def test_explanations_name_the_active_models():
    """The models named are those of the predicted class with a positive product."""
    X, y = make_data()
    fitted = model().fit(X, y)
    explanation = fitted.explain(X[0])
    _, z = class_scores(fitted, X[:1], 3)
    best = int(explanation.prediction)
    np.testing.assert_array_equal(explanation.anchors, np.flatnonzero(z[0, best] > 0))
    np.testing.assert_allclose(np.sum(explanation.anchor_weights**1.5), 1)


@pytest.mark.parametrize("p", [1.01, 1.5, 2, 7, 1e9, np.inf])
def test_exponents_are_dual(p):
    """``1/p + 1/q = 1``."""
    q = dual_exponent(p)
    np.testing.assert_allclose(1 / p + 1 / q, 1)
