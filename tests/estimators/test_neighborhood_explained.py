"""Tests of hyperlocal.estimators.neighborhood_explained: exact explanations of neighborhoods."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer

from estimators.data import make_data
from hyperlocal import NeighborhoodSVC, explain
from hyperlocal.papers import AdaptiveNeighborhoodSVC

MODELS = {
    "rbf": NeighborhoodSVC(15),
    "linear": NeighborhoodSVC(15, kernel="linear"),
    "poly": NeighborhoodSVC(15, kernel="poly", gamma=0.3),
    "cached": NeighborhoodSVC(15, cache_neighborhoods=True),
    "metric": AdaptiveNeighborhoodSVC(15, random_state=0),
    "cached metric": AdaptiveNeighborhoodSVC(15, random_state=0, cache_neighborhoods=True),
}


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", MODELS)
def test_contributions_are_relative_to_the_neighborhood(name, n_classes):
    """Reference and contributions are the score, without remainder."""
    X, y = make_data(n_classes)
    model, rows = MODELS[name].fit(X, y), X[:25] + 0.1
    found = model.explain(rows)
    scores = model.decision_function(rows).reshape(25, -1)
    np.testing.assert_allclose(found.scores, scores, atol=1e-9)
    np.testing.assert_allclose(
        found.references + found.contributions.sum(axis=2), scores, atol=1e-9
    )
    assert [one.prediction for one in found] == model.predict(rows).tolist()
    local = np.einsum("ncd,nd->nc", model.local_coef(rows), rows) + model.local_intercept(rows)
    np.testing.assert_allclose(local, scores, atol=1e-9)


@pytest.mark.parametrize("name", ["rbf", "metric"])
def test_given_backgrounds(name):
    """The SVM of the row is held fixed; what it says elsewhere is the remainder."""
    X, y = make_data(3)
    model = MODELS[name].fit(X, y)
    found = model.explain(X[:5], X[30:33])
    expected = model.decision_function(X[30:33]).mean(axis=0)
    np.testing.assert_allclose(found.references, np.broadcast_to(expected, (5, 3)), atol=1e-9)
    total = found.references + found.contributions.sum(axis=2) + found.remainders
    np.testing.assert_allclose(total, model.decision_function(X[:5]), atol=1e-9)


def test_sparse_rows_and_single_precision():
    """Rows as they are stored, to the precision they have, also with a background."""
    X, y = make_data(3)
    for form, atol in ((sp.csr_array(X), 1e-9), (X.astype(np.float32), 1e-4)):
        model = NeighborhoodSVC(15).fit(form, y)
        for background in (None, form[20:23]):
            found = model.explain(form[:10], background)
            total = found.references + found.contributions.sum(axis=2) + found.remainders
            np.testing.assert_allclose(total, model.decision_function(form[:10]), atol=atol)


def test_texts():
    """A pipeline hands the references over in its own way; rows of words are sparse."""
    texts, target = ["good film", "bad film", "good play", "a bad day"] * 5, [1, 0, 1, 0] * 5
    model = make_pipeline(CountVectorizer(), NeighborhoodSVC(4)).fit(texts, target)
    found = explain(model, texts[:4])
    total = found.references + found.contributions.sum(axis=2) + found.remainders
    np.testing.assert_allclose(total[:, 0], model.decision_function(texts[:4]), atol=1e-9)
    assert found.feature_names.tolist() == ["bad", "day", "film", "good", "play"]


def test_metrics():
    """Linear metrics of scikit-learn are undone; what has no formula is refused with the remedy."""
    X, y = make_data()
    nca = NeighborhoodComponentsAnalysis(3, max_iter=5, random_state=0)
    found = AdaptiveNeighborhoodSVC(15, metric=nca).fit(X, y).explain(X[:5])
    assert np.abs(found.remainders).max() < 1e-9
    for model in (
        AdaptiveNeighborhoodSVC(15, metric="dann"),
        NeighborhoodSVC(15, kernel=rbf_kernel),
    ):
        with pytest.raises(ValueError, match="explained"):
            model.fit(X, y).explain(X[:2])
    by_feature = AdaptiveNeighborhoodSVC(15, metric=QuantileTransformer(n_quantiles=20)).fit(X, y)
    assert np.isfinite(by_feature.explain(X[:3], X[50:52]).contributions).all()
