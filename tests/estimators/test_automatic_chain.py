"""Tests of hyperlocal.estimators.automatic_chain."""

import numpy as np
import pytest
import scipy.sparse as sp

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


def few_of_many(n_rows=400):
    """Classes by the sign of the product of two features of eight."""
    X = np.random.default_rng(0).normal(size=(n_rows, 8))
    return X, X[:, 0] * X[:, 1] > 0


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_relevance_inside_is_explained_in_the_features_as_given(convert):
    """Weights times features and the intercept are the score; irrelevant features weigh less."""
    X, y = few_of_many()
    plain, scaled = (
        LocallyLinearSVC(
            8, C=10.0, feature_map="quadratic", relevance=relevance, random_state=0
        ).fit(convert(X), y)
        for relevance in (None, "gradient")
    )
    assert plain.relevance_ is None
    assert scaled.relevance_.shape in ((8,), (8, 8))
    coef, intercept = scaled.local_coef(convert(X)), scaled.local_intercept(convert(X))
    sums = np.einsum("ni,ni->n", coef[:, 0], X) + intercept[:, 0]
    np.testing.assert_allclose(sums, scaled.decision_function(convert(X)), atol=1e-9)
    share = [
        np.abs(one.local_coef(convert(X))[:, 0, 2:]).mean()
        / np.abs(one.local_coef(convert(X))).mean()
        for one in (plain, scaled)
    ]
    assert share[1] < share[0]


@pytest.mark.parametrize("kind", [LocallyLinearSVC, LocallyLinearSVR])
def test_scales_of_relevance_come_after_the_units(kind):
    """Rows in other units keep these beside their relevance, and are fitted again with both."""
    X, y = few_of_many()
    units = 10.0 ** np.arange(-4, 4)
    rows = (X + 5) * units
    model = kind(relevance="gradient", random_state=0).fit(rows, y)
    np.testing.assert_allclose(1 / model.model_.input_map.unit, rows.std(axis=0))
    lengths = np.linalg.norm(model.relevance_.reshape(8, -1), axis=1)
    assert set(lengths.argsort()[-2:]) == {0, 1}
    again = kind(**model.chosen_, random_state=0).fit(rows, y)
    np.testing.assert_allclose(again.predict(rows), model.predict(rows), rtol=1e-9)


def test_relevance_in_streams():
    """A stream finds the two features that matter, as ``fit`` does."""
    X, y = few_of_many()
    fitted = LocallyLinearSVC(random_state=0).fit(X, y)
    stream = LocallyLinearSVC(random_state=0).fit_stream([(X, y)])
    for model in (fitted, stream):
        scales = model.relevance_
        lengths = scales if scales.ndim == 1 else np.sqrt((scales**2).sum(axis=0))
        assert set(lengths.argsort()[-2:]) == {0, 1}


def test_an_unknown_relevance_is_refused():
    """The error names the argument."""
    with pytest.raises(ValueError, match="relevance"):
        LocallyLinearSVC(relevance="trees").fit(*few_of_many(50))


@pytest.mark.parametrize("kind", [LocallyLinearSVC, LocallyLinearSVR])
def test_given_scales(kind):
    """Scales that are given, or their matrix, are as if the rows were multiplied by them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    scales = np.array([2.0, 1.0, 0.1])
    given = kind(8, C=1.0, relevance=scales, random_state=0).fit(X, y)
    matrix = kind(8, C=1.0, relevance=np.diag(scales), random_state=0).fit(X, y)
    scaled = kind(8, C=1.0, random_state=0).fit(X * scales, y)
    for model in (given, matrix):
        np.testing.assert_allclose(model.predict(X), scaled.predict(X * scales), rtol=1e-6)
    with pytest.raises(ValueError, match="relevance has the shape"):
        kind(8, C=1.0, relevance=scales[:2]).fit(X, y)
