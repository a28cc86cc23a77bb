"""Tests of hyperlocal.model.boundary: where predictions first change along lines."""

import numpy as np
import pytest

from hyperlocal.model.boundary import N_ROUNDS, POINTS_PER_ROUND, first_changes


def stripes(X):
    """Stripes of width one along the first feature."""
    return np.floor(X[:, 0]).astype(int)


def changes(rows, directions, reach, **options):
    rows = np.asarray(rows, float)
    own = stripes(rows)
    return first_changes(
        stripes, rows, own, np.asarray(directions, float), np.asarray(reach), **options
    )


def test_the_first_change_counts():
    """Of several stripes on the way, the next one is found, to a 250,000th of the reach."""
    rows, directions = [[0.25, 0.0], [0.25, 0.0]], [[1.0, 0.0], [-1.0, 0.0]]
    distances, predictions = changes(rows, directions, [5.0, 5.0])
    np.testing.assert_allclose(distances, [0.75, 0.25], atol=5.0 / 250_000)
    np.testing.assert_array_equal(predictions, [1, -1])


def test_no_change_within_reach():
    """There is no distance, and the prediction is the row's own."""
    distances, predictions = changes(
        [[0.25, 0.0], [0.25, 0.0]], [[1.0, 0.0], [0.0, 1.0]], [0.5, 9.0]
    )
    assert np.isnan(distances).all()
    np.testing.assert_array_equal(predictions, [0, 0])


def test_rows_that_do_not_move():
    """A reach of zero asks for nothing."""
    distances, predictions = changes([[0.25, 0.0]], [[1.0, 0.0]], [0.0])
    assert np.isnan(distances).all()
    assert predictions.tolist() == [0]


def test_points_lie_beyond_the_boundary():
    """At the distance found the prediction is the one returned, and not yet a little before."""
    rng = np.random.default_rng(0)
    rows, angles = rng.uniform(-3, 3, (200, 2)), rng.uniform(0, 2 * np.pi, 200)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    distances, predictions = changes(rows, directions, np.full(200, 3.0))
    found = np.isfinite(distances)
    assert found.sum() > 100
    at = rows[found] + distances[found, None] * directions[found]
    np.testing.assert_array_equal(stripes(at), predictions[found])
    before = rows[found] + (distances[found, None] - 1e-4) * directions[found]
    np.testing.assert_array_equal(stripes(before), stripes(rows[found]))


@pytest.mark.parametrize("points_per_prediction", [1, 7, 100, 10**9])
def test_how_many_points_are_predicted_at_a_time_does_not_matter(points_per_prediction):
    """It is a matter of speed alone."""
    rng = np.random.default_rng(0)
    rows, directions = rng.uniform(-3, 3, (30, 2)), rng.normal(size=(30, 2))
    reach = rng.uniform(0, 2, 30)
    expected = changes(rows, directions, reach)
    found = changes(rows, directions, reach, points_per_prediction=points_per_prediction)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_points_beyond_a_change_are_not_predicted():
    """Points are predicted in the order of their distance, until the prediction changes."""
    n_points = []

    def count(X):
        n_points.append(len(X))
        return stripes(X)

    rows, right = np.zeros((100, 1)), np.ones((100, 1))
    first_changes(count, rows, stripes(rows), right, np.full(100, 50.0), points_per_prediction=100)
    # A change at 2 % of the reach is among the first two points of the first round.
    assert sum(n_points[:2]) == 200
    assert sum(n_points) < 0.8 * 100 * POINTS_PER_ROUND * N_ROUNDS


def test_single_precision_stays():
    """Points have the precision of the rows."""
    seen = []

    def predict(X):
        seen.append(X.dtype)
        return stripes(X)

    rows = np.zeros((3, 1), np.float32)
    first_changes(predict, rows, stripes(rows), np.ones((3, 1)), np.full(3, 2.0))
    assert set(seen) == {np.dtype(np.float32)}
