"""Tests of hyperlocal.vision.detector: training, detection, errors."""

import sys

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from hyperlocal.vision import WindowDetector, overlaps
from vision.pictures import make_picture

pytest.importorskip("skimage")


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


def test_hard_negatives_are_added():
    """Each round adds negatives that were classified as objects; none overlaps an object."""
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
    """Errors name the argument."""
    images = [make_picture()[0]] if images == 1 else images
    with pytest.raises(ValueError, match=message):
        detector(**options).fit(images, boxes)


def test_a_missing_scikit_image_is_told(monkeypatch):
    """Without scikit-image, the error says what to install."""
    monkeypatch.setitem(sys.modules, "skimage.feature", None)
    with pytest.raises(ImportError, match=r"hyperlocal\[vision\]"):
        fitted()
