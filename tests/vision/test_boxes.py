"""Tests of hyperlocal.vision.boxes: suppression, matching, the curve."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hyperlocal.vision import (
    Detections,
    match_detections,
    overlaps,
    precision_recall,
    suppress_overlaps,
)

edges = st.integers(0, 20)
some_boxes = st.lists(
    st.tuples(edges, edges, st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=12
)


@given(boxes=some_boxes, limit=st.sampled_from([0.0, 0.3, 0.7]))
def test_suppression(boxes, limit):
    """Boxes that remain overlap little; each other box overlaps one of them with a higher score."""
    boxes = np.array([[t, left, t + h, left + w] for t, left, h, w in boxes], float)
    scores = np.random.default_rng(len(boxes)).permutation(len(boxes))
    kept = suppress_overlaps(boxes, scores, limit)
    for i in kept:
        assert (overlaps(boxes[i], boxes[kept[kept != i]]) <= limit).all()
    for i in set(range(len(boxes))) - set(kept.tolist()):
        better = kept[scores[kept] > scores[i]]
        assert (overlaps(boxes[i], boxes[better]) > limit).any()


def test_matching_and_the_curve():
    """An object counts once; the curve ends at the share of objects found."""
    truth = [np.array([[0, 0, 10, 10]]), np.array([[0, 0, 10, 10], [20, 20, 30, 30]]), []]
    found = [
        Detections(np.array([[0, 0, 10, 10], [1, 1, 11, 11]]), np.array([3.0, 2.0])),
        Detections(np.array([[50, 50, 60, 60]]), np.array([1.0])),
        Detections(np.empty((0, 4)), np.empty(0)),
    ]
    is_right, scores, n_objects = match_detections(found, truth)
    assert is_right.tolist() == [True, False, False]
    assert n_objects == 3
    precision, recall = precision_recall(is_right, scores, n_objects)
    np.testing.assert_allclose(precision, [1, 1 / 2, 1 / 3])
    np.testing.assert_allclose(recall, [1 / 3] * 3)
