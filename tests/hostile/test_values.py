"""Weights, fitted attributes and numbers of rows at the ends of what is allowed."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons

from hyperlocal import LocallyLinearSVC
from hyperlocal.data.checks import LARGEST_WEIGHT
from hyperlocal.papers import LocalCodingSVC
from hyperlocal.preprocessing import LocalCoder

from .estimators import CLASSIFIERS, ESTIMATORS, make

X, y = make_moons(120, noise=0.2, random_state=0)
WEIGHTLESS = ("AdditiveKernelMap", "MEGM")
# What a model is made of; other fitted arrays are records of the training.
PARTS = ("coef_", "intercept_", "anchors_", "global_coef_", "global_intercept_", "landmarks_")


@pytest.mark.parametrize("weight", [1e300, 1e-300, 1e16, np.array([1e300, 1e-300] * 60)])
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name not in WEIGHTLESS])
def test_weights_that_overflow_are_refused(name, weight):
    """Costs would be infinite, or zero: the message names the range and the remedy."""
    with pytest.raises(ValueError, match=r"sample_weight has weights from .* by their mean"):
        make(name).fit(X, y, sample_weight=np.full(120, weight))


def test_products_of_weights_that_overflow_are_refused():
    """Weights of rows and of classes are checked together, too."""
    model = make("LocallyLinearSVC", class_weight={0: 1e10, 1: 1.0})
    with pytest.raises(ValueError, match="sample_weight times class_weight has weights"):
        model.fit(X, y, sample_weight=np.full(120, 1e10))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weight", [LARGEST_WEIGHT, 1 / LARGEST_WEIGHT])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_allowed_weights_give_finite_scores(name, weight, dtype):
    """The largest and the least weight are no reason for NaN, or for a probability above one."""
    model = make(name)
    if "loss" in model.get_params() and name != "PegasosSVC":
        model.set_params(loss="log")
    if name == "LocallyLinearSVCCV":
        model.set_params(Cs=(1.0,), n_anchors=(1,))
    rows = X.astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such costs take more epochs than allowed
        model.fit(rows, y, sample_weight=np.full(120, weight))
    assert np.isfinite(model.decision_function(rows)).all()
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_what_is_written_into_a_model_is_not_lost(name):
    """A part of the model can be changed in place, or refuses it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(name).fit(X, y)
    scores = model.decision_function(X)
    for part in PARTS:
        values = getattr(model, part, np.zeros(0))
        if not values.size or (part == "anchors_" and len(values) == 1):
            continue
        before = values.copy()
        try:
            values += 1.5
        except ValueError as error:
            assert "read-only" in str(error)  # noqa: PT017
            continue
        assert (model.decision_function(X) != scores).any(), part
        values[...] = before


@pytest.mark.parametrize("coding", ["soft", "inverse_distance", "lle", "llc", "lcc", "hard"])
@pytest.mark.parametrize("offset", [1e3, 1e6, 1e15])
def test_codes_of_sparse_rows_far_from_the_origin(coding, offset):
    """Products of such rows cancel: codes are finite all the same, and sum to one."""
    coder = LocalCoder(8, coding=coding, sparse_output=False, random_state=0)
    codes = coder.fit_transform(sp.csr_array(X + offset))
    assert np.isfinite(codes).all()
    np.testing.assert_allclose(codes.sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_rows_whose_products_vanish_are_refused(name):
    """All distances would be zero; a query of such rows is a row of zeros."""
    with pytest.raises(ValueError, match="all products vanish in float32"):
        make(name).fit((X * 1e-25).astype(np.float32), y)


@pytest.mark.parametrize("n_rows", range(2, 18))
def test_codes_of_few_rows_tell_them_apart(n_rows):
    """With any number of rows there are two anchors or more: predictions are not constant."""
    rows = np.random.default_rng(0).normal(size=(n_rows, 2))
    labels = rows[:, 0] > np.median(rows[:, 0])
    assert LocalCodingSVC(random_state=0).fit(rows, labels).score(rows, labels) > 0.8
    assert np.ptp(LocalCoder(random_state=0).fit_transform(rows).toarray(), axis=0).max() > 0


@pytest.mark.parametrize("intercept_scaling", [0.0, 1.0])
@pytest.mark.parametrize("factor", [1e-20, 1.0, 1e19, 1e60])
def test_contributions_of_rows_of_any_size(factor, intercept_scaling):
    """They are finite and add up to the scores, also where squares are beyond single precision."""
    rows = factor * X
    model = LocallyLinearSVC(
        8, C=1.0, n_neighbors=8, scale=None, intercept_scaling=intercept_scaling, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the solver
        explanations = model.fit(rows, y).explain(rows[:5])
    for explanation in explanations:
        assert np.isfinite(explanation.contributions).all()
        # Without a constant, ways past the origin bend sharply there; cubes of 1e120 overflow.
        if intercept_scaling and factor < 1e50:
            sizes = np.abs(explanation.scores) + np.abs(explanation.references)
            assert (np.abs(explanation.remainders) <= 0.02 * sizes).all()
