"""Tests of hyperlocal.vision: windows, training, detection, overlaps."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from hyperlocal.vision import (
    Detections,
    WindowDetector,
    match_detections,
    overlaps,
    precision_recall,
    suppress_overlaps,
)
from hyperlocal.vision.windows import Windows

pytest.importorskip("skimage")

DISC = 1.0 * (np.hypot(*np.mgrid[-8:8, -8:8]) < 6)


def make_picture(places=(), size=80, seed=0, zoom=1):
    """Noise with discs, and their boxes."""
    picture = 0.1 * np.random.default_rng(seed).normal(size=(size, size))
    disc = np.kron(DISC, np.ones((zoom, zoom)))
    side = len(disc)
    for top, left in places:
        picture[top : top + side, left : left + side] += disc
    return picture, np.array([[t, left, t + side, left + side] for t, left in places])


def detector(**options):
    return WindowDetector((16, 16), **{"pixels_per_cell": 4, "random_state": 0, **options})


def fitted(**options):
    pairs = [make_picture([(8, 12), (44, 40)], seed=seed) for seed in range(3)]
    pairs.append(make_picture(seed=9))
    return detector(**options).fit([p for p, _ in pairs], [b for _, b in pairs])


def test_it_finds_what_it_was_trained_on():
    """Objects of a new picture are found where they are, and nothing else."""
    picture, boxes = make_picture([(20, 4), (52, 48)], seed=5)
    found = fitted().detect(picture)
    assert len(found) == 2
    for box in boxes:
        assert overlaps(box, found.boxes).max() > 0.6
    assert (np.diff(found.scores) <= 0).all()


def test_it_finds_larger_objects():
    """An object twice as large is found on a smaller level of the pyramid, in its own pixels."""
    picture, boxes = make_picture([(24, 30)], seed=6, zoom=2)
    found = fitted().detect(picture)
    assert overlaps(boxes[0], found.boxes[:1]).max() > 0.5


def test_windows_are_cut_as_they_are_slid():
    """A box that lies on the cells has the features of its window of the whole picture."""
    picture, _ = make_picture([(20, 4)])
    windows = Windows((16, 16), 4, 2, 9, 1.2)
    places, features = windows.of_level(picture)
    at = np.flatnonzero((places == [5, 1]).all(axis=1))[0]
    np.testing.assert_allclose(
        windows.of_box(picture, np.array([20.0, 4, 36, 20])), features[at], atol=1e-5
    )


def test_hard_negatives_are_added():
    """Each round adds negatives that were taken for objects; none overlaps an object."""
    lenient = fitted(threshold=-10.0, negatives_per_image=5)
    assert lenient.n_negatives_[0] == 20
    assert 20 < lenient.n_negatives_[1] <= 40
    assert fitted(mining_rounds=0).n_negatives_ == [200]
    picture, boxes = make_picture([(32, 32)])
    free = np.concatenate(list(lenient._elsewhere(picture, boxes)))
    everything = np.concatenate([features for _, features in lenient._windows.levels(picture)])
    assert len(free) < len(everything)


def test_any_classifier_serves():
    """The classifier is the user's choice, and the threshold decides what counts."""
    model = fitted(estimator=LinearSVC(random_state=0))
    assert isinstance(model.estimator_, LinearSVC)
    picture, _ = make_picture([(20, 4)], seed=5)
    n_found = len(model.detect(picture))
    assert len(model.set_params(threshold=1e6).detect(picture)) == 0 < n_found
    assert len(model.detect(np.zeros((5, 5)))) == 0


def test_seeds_decide():
    """The same seed gives the same detector."""
    picture, _ = make_picture([(20, 4)], seed=5)
    first, second = (fitted().detect(picture) for _ in range(2))
    np.testing.assert_array_equal(first.boxes, second.boxes)
    np.testing.assert_array_equal(first.scores, second.scores)


@pytest.mark.parametrize(
    ("options", "images", "boxes", "message"),
    [
        ({"pixels_per_cell": 5}, 1, [[[0, 0, 16, 16]]], "window_shape"),
        ({"cells_per_block": 5}, 1, [[[0, 0, 16, 16]]], "window_shape"),
        ({"pyramid_step": 1.0}, 1, [[[0, 0, 16, 16]]], "pyramid_step"),
        ({"mining_rounds": -1}, 1, [[[0, 0, 16, 16]]], "mining_rounds"),
        ({}, 1, [[]], "no object"),
        ({}, 1, [], "boxes"),
        ({}, 1, [[[0, 0, 16]]], "boxes"),
        ({}, 1, [[[16, 0, 0, 16]]], "boxes"),
        ({}, [np.zeros((30, 30, 3))], [[[0, 0, 16, 16]]], "images"),
        ({}, [np.full((30, 30), np.nan)], [[[0, 0, 16, 16]]], "images"),
        ({}, [np.zeros((16, 16))], [[[0, 0, 16, 16]]], "no window"),
    ],
)
def test_what_is_refused(options, images, boxes, message):
    """What cannot work is told by name."""
    images = [make_picture()[0]] if images == 1 else images
    with pytest.raises(ValueError, match=message):
        detector(**options).fit(images, boxes)


def test_a_missing_scikit_image_is_told(monkeypatch):
    """Without its extra, the detector says what to install."""
    monkeypatch.setitem(sys.modules, "skimage.feature", None)
    with pytest.raises(ImportError, match=r"hyperlocal\[vision\]"):
        fitted()


edges = st.integers(0, 20)
some_boxes = st.lists(
    st.tuples(edges, edges, st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=12
)


@given(boxes=some_boxes, limit=st.sampled_from([0.0, 0.3, 0.7]))
def test_suppression(boxes, limit):
    """Kept boxes do not overlap too much; each other one overlaps a better one that is kept."""
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
