"""Tests of hyperlocal.model.multiclass: classes, columns of scores, and who wins."""

import numpy as np
import pytest

from hyperlocal.model.multiclass import (
    as_columns,
    as_decisions,
    best_and_rival,
    column_targets,
    joined_columns,
    margins_over_rival,
    n_columns,
    predicted_codes,
    separate_columns,
    signed_labels,
)

SCORES = np.random.default_rng(0).normal(size=(40, 4))
ONE = SCORES[:, :1]


@pytest.mark.parametrize(
    ("n_classes", "joint", "expected"), [(2, False, 1), (2, True, 2), (5, False, 5)]
)
def test_columns_of_classes(n_classes, joint, expected):
    """Two classes share a column unless they are trained jointly."""
    assert n_columns(n_classes, joint) == expected


def test_targets_of_columns():
    """The second of two classes is positive in the only column; others in their own."""
    two, three = np.array([0, 1, 1], np.int32), np.array([0, 2, 1], np.int32)
    assert column_targets(two, 2).tolist() == [-1, 0, 0]
    assert column_targets(two, 2, joint=True) is two
    assert column_targets(three, 3) is three
    assert signed_labels(two, 2).tolist() == [[-1], [1], [1]]
    assert signed_labels(three, 3).tolist() == [[1, -1, -1], [-1, -1, 1], [-1, 1, -1]]


def test_shapes_of_scores():
    """Columns and decisions are each other's inverse."""
    assert as_decisions(ONE).shape == (40,)
    assert as_decisions(SCORES) is SCORES
    np.testing.assert_array_equal(as_columns(as_decisions(ONE)), ONE)
    assert as_columns(SCORES) is SCORES


def test_the_class_of_a_score():
    """One column decides by its sign, zero for the first class; several by the largest."""
    assert predicted_codes(np.array([[-1.0], [0.0], [1.0]])).tolist() == [0, 0, 1]
    assert predicted_codes(np.array([-1.0, 1.0])).tolist() == [0, 1]
    np.testing.assert_array_equal(predicted_codes(SCORES), SCORES.argmax(axis=1))


def test_the_rival_has_the_second_largest_score():
    """Of two classes it is the other one; the margin is the difference of the two."""
    best, rival = best_and_rival(SCORES)
    order = np.argsort(SCORES, axis=1)
    np.testing.assert_array_equal(best, order[:, -1])
    np.testing.assert_array_equal(rival, order[:, -2])
    ranked = np.sort(SCORES, axis=1)
    np.testing.assert_array_equal(margins_over_rival(SCORES), ranked[:, -1] - ranked[:, -2])
    best, rival = best_and_rival(ONE)
    np.testing.assert_array_equal(best + rival, np.ones(40))
    np.testing.assert_array_equal(margins_over_rival(ONE), np.abs(ONE[:, 0]))


def test_two_classes_trained_jointly():
    """The difference of their columns gives the same decisions, and can be separated again."""
    weights = np.random.default_rng(0).normal(size=(3, 2, 5))
    joined = joined_columns(weights, 2)
    np.testing.assert_array_equal(joined[:, 0], weights[:, 1] - weights[:, 0])
    np.testing.assert_allclose(joined_columns(separate_columns(joined, 2), 2), joined)
    assert separate_columns(joined, 1) is joined
    assert joined_columns(joined, 2) is joined
