"""Tests of hyperlocal.selection.dropping: features without effect are left out."""

import numpy as np
import pytest
import scipy.sparse as sp

from hyperlocal import LocallyLinearSVC, LocallyLinearSVR
from hyperlocal.data.labelled import LabelledRows
from hyperlocal.model.chain_settings import ChainSettings
from hyperlocal.selection.dropping import FEWEST_ROWS, is_no_worse, without_noise
from hyperlocal.selection.trials import Choice
from hyperlocal.solvers.training import Training


def with_noise(n_rows=1_500, seed=0):
    """Two features of squared effect, then a normal one, a binary one and three indicators."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    effect = X[:, 0] ** 2 + 0.7 * X[:, 1] ** 2 + 0.2 * rng.normal(size=n_rows)
    indicators = np.eye(3)[rng.integers(0, 3, n_rows)]
    noise = np.c_[rng.normal(size=n_rows), rng.integers(0, 2, n_rows), indicators]
    return np.c_[X, (noise - noise.mean(axis=0)) / noise.std(axis=0)], effect


def reduced(X, y, workers, **options):
    """The choice given, and what becomes of it."""
    data = LabelledRows(X, y.astype(np.int32), np.unique(y), np.ones(len(y)))
    choice = Choice(ChainSettings(**{"n_anchors": 1, "global_intercept": True} | options), 1.0)
    training = Training(1.0, "squared_hinge")
    return choice, without_noise(choice, training, data, np.random.default_rng(0), workers)


def test_noise_is_left_out(workers):
    """Both features of effect are kept; at most one of the five others is."""
    X, effect = with_noise()
    _, found = reduced(X, effect > np.median(effect), workers)
    kept = found.settings.before.factors != 0
    assert kept[:2].all()
    assert kept[2:].sum() <= 1


@pytest.mark.parametrize(
    "case", ["few rows", "many features", "rare class", "sparse rows", "transformer"]
)
def test_what_stays_as_it_is(case, workers):
    """Few rows, of a class or for a feature, cannot tell; sparse ones and mixed ones stay."""
    X, effect = with_noise(FEWEST_ROWS - 1 if case == "few rows" else 1_500)
    if case == "many features":
        X = np.hstack([X, np.random.default_rng(1).normal(size=(1_500, 28))])[:340]
        effect = effect[:340]
    options = {"feature_map": "nystroem"} if case == "transformer" else {}
    rows = sp.csr_array(X) if case == "sparse rows" else X
    threshold = np.quantile(effect, 0.95 if case == "rare class" else 0.5)
    choice, found = reduced(rows, effect > threshold, workers, **options)
    assert found is choice


def test_noise_is_told_by_enough_rows_of_a_rare_class(workers):
    """A hundred of them beside thousands of others tell as much as four hundred balanced rows."""
    X, effect = with_noise(4_000)
    _, found = reduced(X, effect > np.quantile(effect, 0.97), workers)
    assert found.settings.before is not None
    kept = found.settings.before.factors != 0
    assert kept[:2].all()
    assert kept[2:].sum() <= 1


def test_linear_models_are_searched_too(workers):
    """Of a linear model, features without effect are left out as well."""
    X, _ = with_noise()
    y = X[:, 0] + 0.5 * X[:, 1] > 0
    _, found = reduced(X, y, workers, feature_map=None, normalize=False)
    kept = found.settings.before.factors != 0
    assert kept[:2].all()
    assert kept[2:].sum() <= 1


def test_features_that_all_matter_are_kept(workers):
    """Where each feature has the same effect, none is left out."""
    X = np.random.default_rng(0).normal(size=(1_500, 4))
    y = (X**2).sum(axis=1) > 4
    choice, found = reduced(X, y, workers)
    assert found is choice


def test_features_left_out_contribute_nothing():
    """Factors and contributions are exactly zero, and the parameters chosen fit the same model."""
    X, effect = with_noise()
    y = effect > np.median(effect)
    model = LocallyLinearSVC(random_state=0).fit(X, y)
    kept = model.relevance_ != 0
    assert kept[:2].all()
    assert not kept[2:].all()
    found = model.explain(X[:20])
    assert np.abs(found.contributions[:, :, ~kept]).max() == 0
    again = LocallyLinearSVC(**model.chosen_, random_state=0).fit(X, y)
    assert np.mean(again.predict(X) == model.predict(X)) > 0.99


def test_values_are_searched_too():
    """A regression on products, with a feature that is only noise, loses nothing by the search."""
    X, effect = with_noise()
    found, plain = (
        LocallyLinearSVR(relevance=relevance, random_state=0).fit(X[:1_200], effect[:1_200])
        for relevance in ("auto", None)
    )
    assert found.score(X[1_200:], effect[1_200:]) > plain.score(X[1_200:], effect[1_200:]) - 0.01


def test_one_far_row_does_not_decide():
    """Where one of a thousand squared residuals is smaller by chance, and all others are larger."""
    full = np.full(1_000, 0.01)
    full[0] = 12.0
    fewer = np.full(1_000, 0.013)
    fewer[0] = 6.0
    assert fewer.mean() < full.mean()
    assert not is_no_worse(fewer, full, is_numeric=True)
    assert is_no_worse(fewer, full, is_numeric=False)
    assert is_no_worse(0.9 * full, full, is_numeric=True)
