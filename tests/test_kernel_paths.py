"""Tests of hyperlocal.kernel_paths: averages of gradients against numerical integration."""

import numpy as np
import pytest
from scipy.integrate import quad

from hyperlocal.kernel_paths import kernel_gradients, path_averages
from hyperlocal.kernels import Kernel


def make_rows(scale=1.0):
    """Rows at a distance from a reference; one lies on it, and two others are equal."""
    rng = np.random.default_rng(0)
    reference, Z, coef = rng.normal(size=4), rng.normal(size=(5, 4)), rng.normal(size=(5, 2))
    X = reference + scale * rng.normal(size=(3, 4))
    X[0], Z[2], Z[4] = reference, reference, Z[3]
    return X, reference, Z, coef


@pytest.mark.parametrize("name", ["rbf", "poly", "linear", "sigmoid"])
@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0, 30.0])
@pytest.mark.parametrize("gamma", [1e-6, 1e-3, 0.1, 1.0, 1e3])
def test_averages_give_the_change_of_the_score(name, scale, gamma):
    """Average gradient times ``x − x₀`` is ``f(x) − f(x₀)``, for closed forms up to rounding."""
    X, reference, Z, coef = make_rows(scale)
    kernel = Kernel(name, gamma, coef0=0.5)
    values, at_reference = kernel.values(X, Z), kernel.values(reference[None], Z)
    averages = path_averages(kernel, X, reference, Z, coef)
    change = np.einsum("ncd,nd->nc", averages, X - reference)
    size = np.abs(coef).sum() * max(np.abs(values).max(), np.abs(at_reference).max())
    np.testing.assert_allclose(change, (values - at_reference) @ coef, atol=1e-10 * size)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 10.0])
@pytest.mark.parametrize("gamma", [1e-3, 0.1, 1.0, 10.0])
def test_gaussian_averages_are_integrals(gamma, scale):
    """The closed form is the integral of the gradient along the path."""
    X, reference, Z, coef = make_rows(scale)
    averages = path_averages(Kernel("rbf", gamma), X, reference, Z, coef)

    def slope(t, row, column, feature):
        away = Z - (reference + t * (row - reference))
        values = np.exp(-gamma * (away**2).sum(axis=1))
        return 2 * gamma * (coef[:, column] * values) @ away[:, feature]

    for i, row in enumerate(X):
        expected, _ = quad(slope, 0, 1, args=(row, 1, 2), limit=500, epsabs=1e-13, epsrel=1e-12)
        assert averages[i, 1, 2] == pytest.approx(expected, rel=1e-9, abs=1e-11)


def test_factors_multiply_coefficients():
    """Factors of each row act as other coefficients."""
    X, reference, Z, coef = make_rows()
    kernel, factors = Kernel("rbf", 0.3), np.random.default_rng(1).random((3, 5))
    averages = path_averages(kernel, X, reference, Z, coef, factors)
    for i in range(3):
        own = path_averages(kernel, X[i : i + 1], reference, Z, factors[i][:, None] * coef)
        np.testing.assert_allclose(averages[i], own[0], atol=1e-12)


def test_kernels_without_a_closed_form():
    """A function is integrated numerically; of a smooth one little is left over."""
    X, reference, Z, coef = make_rows()

    def rational(A, B):
        return 1 / (1 + ((A[:, None] - B[None]) ** 2).sum(axis=2))

    kernel = Kernel(rational)
    averages = path_averages(kernel, X, reference, Z, coef)
    change = (kernel.values(X, Z) - kernel.values(reference[None], Z)) @ coef
    np.testing.assert_allclose(np.einsum("ncd,nd->nc", averages, X - reference), change, atol=1e-6)


@pytest.mark.parametrize("name", ["chi2", "intersection"])
def test_kernels_of_histograms(name):
    """They take no negative numbers, also where features are zero; minima are exact."""
    rng = np.random.default_rng(0)
    X, Z = (np.maximum(rng.normal(size=(n, 4)), 0) for n in (6, 5))
    reference, coef = np.maximum(rng.normal(size=4), 0), rng.normal(size=(5, 2))
    X[0, 1] = reference[1]
    kernel = Kernel(name, 0.7)
    averages = path_averages(kernel, X, reference, Z, coef)
    change = (kernel.values(X, Z) - kernel.values(reference[None], Z)) @ coef
    atol = 1e-3 if name == "chi2" else 1e-14
    np.testing.assert_allclose(np.einsum("ncd,nd->nc", averages, X - reference), change, atol=atol)
    inner, step = X + 0.1, 1e-6
    gradients = kernel_gradients(kernel, inner, Z, coef)
    for v, way in enumerate(step * np.eye(4)):
        slopes = (kernel.values(inner + way, Z) - kernel.values(inner - way, Z)) @ coef / (2 * step)
        np.testing.assert_allclose(gradients[:, :, v], slopes, atol=1e-8)
