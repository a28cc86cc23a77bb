"""Tests of hyperlocal.gates.anchors: k-means, random rows, anchors given by the user."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.datasets import make_blobs

from hyperlocal.gates import anchors as module
from hyperlocal.gates.anchors import check_anchors, choose_anchors, default_n_anchors
from hyperlocal.runtime.threads import Workers
from reference.coding import squared_distances
from reference.problems import every_storage, make_rows, stored
from reference.rows import written_out

ONE_THREAD = Workers(1)


def place(X, n_anchors, *, kind="kmeans", weights=None, seed=0, workers=ONE_THREAD):
    weights = np.ones(X.shape[0]) if weights is None else weights
    return choose_anchors(X, weights, kind, n_anchors, np.random.default_rng(seed), workers)


def inertia(X, anchors, weights=None):
    nearest = ((written_out(X)[:, None] - anchors[None].astype(float)) ** 2).sum(axis=2).min(axis=1)
    return float(np.average(nearest, weights=weights))


def sorted_rows(anchors):
    return anchors[np.lexsort(anchors.T)]


# k-means ------------------------------------------------------------------------------------------


@every_storage
def test_seeds_are_those_of_scikit_learn(dtype, storage):
    """Given its seed, k-means++ chooses the same rows."""
    X, weights = make_rows(dtype, storage, n_rows=200), np.random.default_rng(1).random(200) + 0.1
    seed = int(np.random.default_rng(5).integers(np.iinfo(np.int32).max))
    _, expected = kmeans_plusplus(X, 20, sample_weight=weights, random_state=seed)
    chosen = module.plus_plus(X, weights, 20, np.random.default_rng(5))
    np.testing.assert_array_equal(chosen, expected)


@every_storage
@pytest.mark.parametrize("data", ["clusters", "noise"])
def test_kmeans_is_as_good_as_that_of_scikit_learn(dtype, storage, data):
    """The mean squared distance to the nearest anchor is within 5 % of scikit-learn's KMeans."""
    X, _ = make_blobs(1500, 6, centers=12, random_state=0)
    if data == "noise":
        X = np.random.default_rng(0).standard_normal((1500, 6))
    X = stored(X, dtype, storage)
    ours = np.mean([inertia(X, place(X, 20, seed=seed)) for seed in range(3)])
    theirs = np.mean(
        [KMeans(20, n_init=1, random_state=s).fit(X).inertia_ / X.shape[0] for s in range(3)]
    )
    assert ours <= 1.05 * theirs


@every_storage
def test_anchors_keep_the_dtype_and_are_dense(dtype, storage):
    """Anchors are a contiguous dense array of the rows' dtype."""
    X = make_rows(dtype, storage)
    for kind in ("kmeans", "random"):
        anchors = place(X, 4, kind=kind)
        assert isinstance(anchors, np.ndarray)
        assert anchors.shape == (4, 5)
        assert anchors.dtype == X.dtype
        assert anchors.flags.c_contiguous


@every_storage
@pytest.mark.parametrize("kind", ["kmeans", "random"])
@pytest.mark.parametrize("n_anchors", [1, 7])
def test_a_weight_of_two_is_the_row_twice(dtype, storage, kind, n_anchors):
    """Integer weights and repeated rows give the same anchors."""
    X = make_rows(dtype, storage, n_rows=120)
    weights = np.random.default_rng(3).integers(1, 4, 120)
    repeated = X[np.repeat(np.arange(120), weights)]
    by_weight = place(X, n_anchors, kind=kind, weights=weights.astype(float))
    np.testing.assert_array_equal(by_weight, place(repeated, n_anchors, kind=kind))


@every_storage
@pytest.mark.parametrize("kind", ["kmeans", "random"])
def test_anchors_do_not_depend_on_the_order_of_rows(dtype, storage, kind):
    """Shuffled rows give the same anchors."""
    X = make_rows(dtype, storage, n_rows=150)
    shuffled = X[np.random.default_rng(5).permutation(150)]
    np.testing.assert_array_equal(place(X, 9, kind=kind), place(shuffled, 9, kind=kind))


@every_storage
def test_rounding_and_units_do_not_change_seeds(dtype, storage):
    """Features in other units, and a little apart, give anchors that are as little apart."""
    X = make_rows(dtype, storage, n_rows=150)
    apart = 1 + 4 * np.finfo(dtype).eps
    close = place(X * apart, 9)
    np.testing.assert_allclose(close, place(X, 9), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(place(X * 8, 9), 8 * place(X, 9), rtol=1e-4, atol=1e-4)


@every_storage
def test_anchors_do_not_depend_on_threads(dtype, storage):
    """One and two threads give the same bits."""
    X = make_rows(dtype, storage, n_rows=2000)
    with Workers(2) as two_threads:
        np.testing.assert_array_equal(place(X, 30), place(X, 30, workers=two_threads))


def test_the_seed_decides():
    """Equal seeds give equal anchors, other seeds others."""
    X = make_rows(n_rows=300)
    np.testing.assert_array_equal(place(X, 9, seed=1), place(X, 9, seed=1))
    assert not np.array_equal(place(X, 9, seed=1), place(X, 9, seed=2))


def test_weights_move_anchors():
    """Anchors of weighted rows serve those rows better than unweighted anchors do."""
    X = np.random.default_rng(0).standard_normal((800, 2))
    weights = np.where(X[:, 0] > 0, 50.0, 0.1)
    weighted, plain = place(X, 8, weights=weights), place(X, 8)
    assert inertia(X, weighted, weights) < 0.8 * inertia(X, plain, weights)


@every_storage
def test_one_anchor_is_the_weighted_mean(dtype, storage):
    """The best single anchor is the mean."""
    X = make_rows(dtype, storage)
    weights = np.random.default_rng(0).uniform(0.5, 2, 40)
    expected = np.average(written_out(X), axis=0, weights=weights)
    np.testing.assert_allclose(place(X, 1, weights=weights), [expected], rtol=1e-5)


@every_storage
@pytest.mark.parametrize("kind", ["kmeans", "random"])
def test_more_anchors_than_distinct_rows(dtype, storage, kind):
    """Each distinct row becomes an anchor, and a warning says how many there are."""
    distinct = np.array([[0.0, 1.0], [2.0, 0.5], [-1.0, 4.0]])
    X = stored(np.tile(distinct, (5, 1)), dtype, storage)
    with pytest.warns(UserWarning, match="n_anchors=8 is larger than .* distinct rows, 3"):
        anchors = place(X, 8, kind=kind)
    np.testing.assert_allclose(sorted_rows(anchors), sorted_rows(distinct))


def test_as_many_anchors_as_distinct_rows():
    """With one anchor per distinct row every row lies on an anchor, and nothing is warned of."""
    X = np.tile(make_rows(n_rows=15), (3, 1))
    assert inertia(X, place(X, 15)) == pytest.approx(0, abs=1e-25)


def test_zeros_of_both_signs_are_one_value():
    """0.0 and −0.0 make no distinct rows."""
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [3.0, -0.0], [3.0, 0.0]])
    with pytest.warns(UserWarning, match="distinct rows, 2"):
        assert len(place(X, 3)) == 2


def test_empty_clusters_move_to_the_farthest_rows():
    """A cluster without rows starts anew at the row that is farthest from its centre."""
    X = np.array([[0.0], [1.0], [10.0], [30.0]])
    distances = np.array([0.0, 1.0, 100.0, 900.0])
    moved = module._move_centers(
        X, np.array([[41.0], [0.0], [0.0]]), np.array([4.0, 0.0, 0.0]), distances
    )
    np.testing.assert_array_equal(moved, [[10.25], [30.0], [10.0]])


def test_kmeans_of_few_heavy_points():
    """Rows that pile up in a few places still give distinct anchors."""
    rng = np.random.default_rng(0)
    X = np.vstack([np.zeros((500, 2)), np.ones((500, 2)), rng.standard_normal((10, 2)) + 5])
    anchors = place(X, 6)
    assert np.isfinite(anchors).all()
    assert len(np.unique(anchors, axis=0)) == 6
    assert inertia(X[:1000], anchors) < 1e-3


@every_storage
def test_anchors_from_a_sample(dtype, storage, monkeypatch):
    """Where k-means sees only some of the rows, its anchors still serve all of them."""
    X = stored(np.random.default_rng(0).standard_normal((4000, 3)), dtype, storage)
    full = inertia(X, place(X, 10))
    monkeypatch.setattr(module, "SAMPLE_ROWS", 1000)
    monkeypatch.setattr(module, "SEED_ROWS", 200)
    assert inertia(X, place(X, 10)) < 1.1 * full


# Other anchors ------------------------------------------------------------------------------------


@every_storage
def test_random_anchors_are_distinct_rows(dtype, storage):
    """Random anchors are rows of the data, none twice."""
    X = make_rows(dtype, storage)
    anchors = place(X, 12, kind="random")
    assert len(np.unique(anchors, axis=0)) == 12
    assert squared_distances(anchors, written_out(X)).min(axis=1).max() == 0


@pytest.mark.parametrize("n_anchors", ["auto", 3])
def test_given_anchors_are_used(n_anchors):
    """An array of anchors is taken as it is, in the dtype of the rows."""
    X = make_rows("float32")
    given = [[1, 2, 3, 4, 5], [0, 0, 0, 0, 0], [5, 4, 3, 2, 1]]
    anchors = place(X, n_anchors, kind=given)
    assert anchors.dtype == np.float32
    np.testing.assert_array_equal(anchors, given)


@pytest.mark.parametrize(
    ("given", "n_anchors", "message"),
    [
        (np.zeros((3, 4)), "auto", "anchors have 4 columns, but rows are coded on 5"),
        (np.zeros((3, 5)), 4, "n_anchors=4 but 3 anchors are given"),
        (np.full((3, 5), np.nan), "auto", "anchors contains NaN"),
    ],
)
def test_given_anchors_must_fit(given, n_anchors, message):
    """Anchors that do not fit the rows or the other arguments are refused by name."""
    with pytest.raises(ValueError, match=message):
        place(make_rows(), n_anchors, kind=given)


# How many -----------------------------------------------------------------------------------------


@given(st.integers(1, 10**9))
def test_default_n_anchors(n_rows):
    """The default is at least one, at most N/8, never falls, and grows more slowly than √N."""
    n_anchors = default_n_anchors(n_rows)
    assert 1 <= n_anchors <= max(1, n_rows // 8)
    assert n_anchors <= max(16, np.sqrt(n_rows))
    assert default_n_anchors(n_rows + 1) >= n_anchors


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_automatic_number_counts_distinct_rows(convert):
    """Repeating all rows does not change the number of anchors."""
    X = make_rows(n_rows=100)
    many = convert(np.tile(X, (20, 1)))
    assert len(place(convert(X), "auto")) == len(place(many, "auto")) == default_n_anchors(100)


@pytest.mark.parametrize("n_sampled", [100, 2_000])
def test_automatic_number_is_bounded_by_the_rows_that_place_anchors(n_sampled):
    """However many rows a sample is of, an anchor has eight of the sample's rows in the mean."""
    X = np.random.default_rng(0).normal(size=(n_sampled, 3))
    given = (np.ones(n_sampled), "random", "auto", np.random.default_rng(0), ONE_THREAD)
    assert len(choose_anchors(X, *given, n_rows=10**12)) == n_sampled // 8


# Arguments ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_anchors", "anchors", "error", "message"),
    [
        (5, "kmean", ValueError, "anchors must be one of"),
        (5, None, ValueError, "anchors must be one of"),
        (5, np.zeros(3), ValueError, "not an array of 1 dimensions"),
        ("many", "kmeans", ValueError, "n_anchors must be one of"),
        (0, "kmeans", ValueError, "n_anchors must be an integer at least 1"),
        (2.5, "kmeans", TypeError, "n_anchors must be an integer"),
    ],
)
def test_wrong_arguments_are_named(n_anchors, anchors, error, message):
    """Arguments that make no sense raise an error that names them."""
    with pytest.raises(error, match=message):
        check_anchors(n_anchors, anchors)


@pytest.mark.parametrize(
    ("n_anchors", "anchors"), [("auto", "kmeans"), (3, "random"), ("auto", [[0.0], [1.0], [2.0]])]
)
def test_right_arguments_pass(n_anchors, anchors):
    """Names, numbers and arrays are accepted."""
    check_anchors(n_anchors, anchors)
