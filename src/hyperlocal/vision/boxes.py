"""Boxes in pictures: overlaps, non-maximum suppression, and how good detections are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Detections:
    """Detections in one picture, the highest score first.

    Attributes
    ----------
    boxes : ndarray of shape (n, 4)
        Top, left, bottom and right edge of each window, in pixels of the picture.
    scores : ndarray of shape (n,)
        Decision function of each window.
    """

    boxes: np.ndarray
    scores: np.ndarray

    def __len__(self) -> int:
        return len(self.scores)


def suppress_overlaps(boxes: Any, scores: Any, max_overlap: float = 0.3) -> np.ndarray:
    """Non-maximum suppression: leave out boxes that overlap one with a higher score.

    Parameters
    ----------
    boxes : array-like of shape (n, 4)
        Top, left, bottom, right.
    scores : array-like of shape (n,)
        Scores of the boxes.
    max_overlap : float, default=0.3
        The largest intersection over union of two boxes that remain.

    Returns
    -------
    ndarray
        Indices of the boxes that remain, the highest score first.

    Examples
    --------
    >>> from hyperlocal.vision import suppress_overlaps
    >>> boxes = [[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]]
    >>> suppress_overlaps(boxes, [0.5, 0.9, 0.7]).tolist()
    [1, 2]
    """
    boxes = np.asarray(boxes, dtype=float).reshape(-1, 4)
    left = np.argsort(-np.asarray(scores), kind="stable")
    kept: list[int] = []
    while len(left):
        best, left = left[0], left[1:]
        kept.append(int(best))
        left = left[overlaps(boxes[best], boxes[left]) <= max_overlap]
    return np.array(kept, dtype=np.intp)


def overlaps(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Intersection over union of one box with others.

    Parameters
    ----------
    box : ndarray of shape (4,)
        One box.
    others : ndarray of shape (n_boxes, 4)
        Other boxes.

    Returns
    -------
    ndarray of shape (n_boxes,)
        Between zero and one.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.vision import overlaps
    >>> overlaps(np.array([0, 0, 2, 2]), np.array([[0, 1, 2, 3], [5, 5, 6, 6]])).tolist()
    [0.3333333333333333, 0.0]
    """
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    shared = np.maximum(sides, 0).prod(axis=1)
    areas = (others[:, 2:] - others[:, :2]).prod(axis=1)
    return shared / (areas + (box[2:] - box[:2]).prod() - shared)


def match_detections(
    detections: Iterable[Detections], truths: Iterable[Any], min_overlap: float = 0.5
) -> tuple[np.ndarray, np.ndarray, int]:
    """Match detections with objects, for a precision–recall curve.

    A detection is right if it overlaps an object that no detection before it was matched with.

    Parameters
    ----------
    detections : iterable of Detections
        Those of each picture.
    truths : iterable of arrays of shape (n_objects, 4)
        Boxes of the objects in each picture.
    min_overlap : float, default=0.5
        Intersection over union from which on a detection is right.

    Returns
    -------
    is_right : ndarray of bool
        For all detections, one picture after the other.
    scores : ndarray
        Whether each detection is right.
    n_objects : int
        Their scores.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.vision import Detections, match_detections
    >>> found = Detections(np.array([[0, 0, 10, 10], [40, 40, 50, 50]]), np.array([2.0, 1.0]))
    >>> is_right, scores, n_objects = match_detections([found], [[[1, 0, 11, 10]]])
    >>> is_right.tolist(), scores.tolist(), n_objects
    ([True, False], [2.0, 1.0], 1)
    """
    is_right: list[bool] = []
    scores: list[np.ndarray] = []
    n_objects = 0
    for found, boxes in zip(detections, truths, strict=True):
        boxes = np.asarray(boxes, dtype=float).reshape(-1, 4)
        n_objects += len(boxes)
        free = np.ones(len(boxes), bool)
        for box in found.boxes:
            shares = np.where(free, overlaps(box, boxes), 0)
            is_match = bool(len(boxes)) and shares.max() >= min_overlap
            is_right.append(is_match)
            if is_match:
                free[shares.argmax()] = False
        scores.append(found.scores)
    return np.array(is_right, bool), np.concatenate([np.empty(0), *scores]), n_objects


def precision_recall(
    is_right: np.ndarray, scores: np.ndarray, n_objects: int
) -> tuple[np.ndarray, np.ndarray]:
    """Precision and recall as the threshold falls from one detection's score to the next.

    Parameters
    ----------
    is_right : ndarray of shape (n_detections,)
        Whether each detection is right.
    scores : ndarray of shape (n_detections,)
        Their scores.
    n_objects : int
        How many objects there are.

    Returns
    -------
    tuple of two ndarrays of shape (n_detections,)
        Precision and recall after each detection, the highest score first.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.vision import precision_recall
    >>> precision, recall = precision_recall(np.array([True, False]), np.array([2.0, 1.0]), 2)
    >>> precision.tolist(), recall.tolist()
    ([1.0, 0.5], [0.5, 0.5])
    """
    right = np.cumsum(is_right[np.argsort(-scores, kind="stable")])
    return right / np.arange(1, len(right) + 1), right / n_objects


def checked_boxes(boxes: Any) -> np.ndarray:
    """Boxes of one picture as an array ``(n, 4)``, or a clear error."""
    boxes = np.asarray(boxes, dtype=float)
    if boxes.size == 0:
        return np.empty((0, 4))
    if boxes.ndim != 2 or boxes.shape[1] != 4 or not (boxes[:, 2:] > boxes[:, :2]).all():
        raise ValueError(
            "boxes must hold, for each picture, rows of (top, left, bottom, right) with bottom "
            "below top and right beyond left."
        )
    return boxes
