"""Explanations of rows far from zero, of extreme scales and in any storage: they add up."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from hyperlocal import LocallyLinearSVC, NeighborhoodSVC, explain
from hyperlocal.maps.plain import plain_steps
from hyperlocal.model.contributions import model_paths
from hyperlocal.papers import LatentLocallyLinearSVC, LocalDeepSVC
from hyperlocal.runtime.threads import Workers


def crossed(n_rows=200, n_features=3):
    """Rows, and labels by the first feature and the product of two others."""
    X = np.random.default_rng(0).standard_normal((n_rows, n_features))
    return X, (X[:, 0] + 0.5 * X[:, 1] * X[:, 2] > 0).astype(int)


def local_model(anchors):
    """Local models of standardized features around given rows."""
    return LocallyLinearSVC(
        C=1.0, anchors=anchors, n_anchors=len(anchors), n_neighbors=8, beta=0.5, feature_map=None,
        relevance=None, scale="standard", tol=1e-6, random_state=0,
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("unit", [1e-150, 1e-60, 1e-31, 1e31, 1e60])
def test_contributions_do_not_depend_on_units(unit):
    """A feature of any unit beside others contributes what it does in its standard unit."""
    X, y = crossed()
    units = np.array([unit, 1, 1])
    plain = local_model(X[:8]).fit(X, y).explain(X[:9], background=X[20:28])
    other = local_model(X[:8] * units).fit(X * units, y)
    other = other.explain(X[:9] * units, background=X[20:28] * units)
    np.testing.assert_allclose(other.contributions, plain.contributions, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(other.references, plain.references, rtol=1e-3, atol=1e-4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("far", [1e6, 1e8, 1.6e9])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_contributions_do_not_depend_on_the_origin(far, storage):
    """Those of time stamps are not lost, neither in the sums nor in the references.

    Sparse rows are not centered, so that the distances of their anchors lose digits.
    """
    X, y = crossed()
    X[:, 0] = np.round(X[:, 0] * 64) / 64  # so that it stays as it is, far from zero
    move = np.array([far, 0, 0])
    plain = local_model(X[:8]).fit(X, y)
    other = local_model(X[:8] + move).fit(storage(X + move), y)
    references = other.background.rows - move
    np.testing.assert_allclose(references.mean(axis=0), X.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(references.std(axis=0), X.std(axis=0), atol=1e-5)
    if storage is np.asarray:
        explained = plain.explain(X[:9], background=X[20:28])
        moved = other.explain(X[:9] + move, background=X[20:28] + move)
        np.testing.assert_allclose(
            moved.contributions, explained.contributions, rtol=1e-2, atol=1e-3
        )


def test_contributions_of_very_small_scores_are_not_lost():
    """Scores of 1e-30 have contributions that add up to them."""
    X, y = crossed()
    model = LocallyLinearSVC(C=1e-30, n_anchors=8, n_neighbors=8, random_state=0).fit(X, y)
    explained = model.explain(X[:9])
    change = abs(explained.scores - explained.references).max()
    assert 0 < change < 1e-20
    assert abs(explained.remainders).max() < 0.1 * change


@pytest.mark.parametrize("parameters", [{}, {"cache_neighborhoods": True}, {"kernel": "linear"}])
def test_neighborhoods_of_sparse_rows_are_explained(parameters):
    """Points on the way are stored like the training rows; the figures are those of dense rows."""
    X, y = crossed()
    both = [
        NeighborhoodSVC(**parameters, random_state=0).fit(rows, y).explain(rows[:5])
        for rows in (X, sp.csr_array(X))
    ]
    assert [one.boundary is None for one in both[0]] == [one.boundary is None for one in both[1]]
    np.testing.assert_allclose(both[1].contributions, both[0].contributions, atol=1e-3)


def test_nystroem_of_sparse_rows_is_explained_and_has_a_plain_form():
    """Its components are stored like the rows that it was fitted to."""
    X, y = crossed()
    model = make_pipeline(
        Nystroem(n_components=20, random_state=0), LocallyLinearSVC(random_state=0)
    )
    model.fit(sp.csr_array(X), y)
    assert isinstance(plain_steps(model[0])[0].parts["centers"], np.ndarray)
    explained = explain(model, sp.csr_array(X[:5]), background=X)
    total = explained.references + explained.contributions.sum(axis=2) + explained.remainders
    np.testing.assert_allclose(total, model.decision_function(X[:5])[:, None], rtol=1e-4)


@pytest.mark.parametrize("kind", [LatentLocallyLinearSVC, LocalDeepSVC])
def test_boundaries_are_not_searched_for_beyond_rows_that_a_model_takes(kind):
    """Weights so small that the linear boundary lies where products of features overflow."""
    X, y = crossed()
    X = np.float32(1e-18) * X.astype(np.float32)
    model = kind(C=1e-9, random_state=0).fit(X, y)
    for one in model.explain(X[:5]):
        assert one.boundary is None or not one.boundary.found or np.isfinite(one.boundary.row).all()
        assert str(one)


@pytest.mark.parametrize("make_model", [SVC, LinearSVC, lambda: make_pipeline(SVC())])
def test_rows_and_references_of_scikit_learns_models_are_checked(make_model):
    """Lists are rows; what is no row, not finite or of another width is named."""
    X, y = crossed(60)
    model = make_model().fit(X, y)
    wanted = explain(model, X[:2], background=X[2:5]).contributions
    for given in (X[2:5].tolist(), sp.csr_array(X[2:5]), X[2:5].astype(np.float32)):
        found = explain(model, X[:2].tolist(), background=given).contributions
        np.testing.assert_allclose(found, wanted, atol=1e-6)
    for wrong, message in [
        (X[:0], "0 sample"), (X[:2] * np.nan, "NaN"), (X[:2] * np.inf, "infinity"),
        (X[:2] * 1e200, "overflow"), (X[:2, :2], "2 features"), (3, "expected rows"),
        ({"a": 1}, "expected rows"), ((row for row in X), "expected rows"), ([["a"] * 3], "'a'"),
        (X[None], "expected rows"), ("zero", "zero"),
    ]:  # fmt: skip
        with np.errstate(all="ignore"), pytest.raises((ValueError, TypeError), match=message):
            explain(model, X[:2], background=wrong)
        if not isinstance(wrong, str) and "sample" not in message:
            with np.errstate(all="ignore"), pytest.raises((ValueError, TypeError)):
                explain(model, wrong)


@pytest.mark.parametrize("options", [{}, {"feature_map": None}, {"normalize": False}], ids=str)
@pytest.mark.parametrize("away", [0.0, 1e3, 1e6])
def test_far_rows_have_the_contributions_of_double_precision(options, away):
    """Scores and lengths that hardly differ would lose their changes in single precision."""
    X, y = crossed(400, 5)
    X = X + away
    model = LocallyLinearSVC(C=1.0, relevance=None, random_state=0, **options).fit(X, y)
    found = model.explain(X[:20])
    with Workers(1) as workers:
        exact = model_paths(model.model_, X[:20], model.background, workers).contributions()
    atol = 1e-5 * np.abs(exact.values).max()
    np.testing.assert_allclose(found.contributions, exact.values, atol=atol)
