"""Objects in pictures: a linear SVM on histograms of oriented gradients, slid over a pyramid.

The detector of Dalal and Triggs (2005). Needs scikit-image (``pip install hyperlocal[vision]``),
which is imported when a detector is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from .estimators.sdca import SDCASVC
from .validation import check_number, make_generator

# Windows scored at a time.
WINDOWS_PER_BLOCK = 4096


@dataclass(frozen=True)
class Detections:
    """What was found in one picture, the most certain first.

    Attributes
    ----------
    boxes : ndarray of shape (n, 4)
        Top, left, bottom and right edge of each window, in pixels of the picture.
    scores : ndarray of shape (n,)
        How far each is on the right side of the boundary.
    """

    boxes: np.ndarray
    scores: np.ndarray

    def __len__(self) -> int:
        return len(self.scores)


class WindowDetector(BaseEstimator):
    """Finds objects of one kind and aspect in grey pictures of any size.

    Windows of a fixed shape are described by histograms of oriented gradients and told apart by a
    linear classifier. It is trained on the objects and on random windows elsewhere; then also on
    the windows elsewhere that it took for objects, round after round (hard negatives). Pictures
    are searched at several scales, and of overlapping detections the most certain is kept.

    Parameters
    ----------
    window_shape : (int, int)
        Height and width of a window in pixels; multiples of ``pixels_per_cell``.
    estimator : classifier, default=None
        Any classifier with ``decision_function``; ``SDCASVC(C=0.1)`` by default.
    pixels_per_cell : int, default=8
        Side of a cell; windows start at every cell.
    cells_per_block : int, default=2
        Side of a block of cells, whose histograms are normalised together.
    orientations : int, default=9
    pyramid_step : float, default=1.2
        Each level of the pyramid is so many times smaller than the one before.
    mining_rounds : int, default=2
        Rounds of training on hard negatives.
    negatives_per_image : int, default=50
        Random windows of each picture in the first round, and the most hard ones in each other.
    threshold : float, default=0.0
        Score from which on a window is a detection.
    max_overlap : float, default=0.3
        Of two detections that overlap by more, intersection over union, the better is kept. Windows
        that overlap an object by less are negatives.
    random_state : int, RandomState instance or None, default=None
        Seeds the random windows, and the default classifier.

    Attributes
    ----------
    estimator_ : classifier
    n_negatives_ : list of int
        Negative windows in each round of training.

    References
    ----------
    N. Dalal and B. Triggs. Histograms of oriented gradients for human detection. CVPR 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal import SDCASVC
    >>> from hyperlocal.vision import WindowDetector
    >>> disc = 1.0 * (np.hypot(*np.mgrid[-8:8, -8:8]) < 6)
    >>> picture = 0.1 * np.random.default_rng(0).normal(size=(64, 64))
    >>> picture[20:36, 12:28] += disc
    >>> detector = WindowDetector((16, 16), estimator=SDCASVC(10), pixels_per_cell=4)
    >>> found = detector.fit([picture], [[[20, 12, 36, 28]]]).detect(picture)
    >>> found.boxes.round().astype(int).tolist()
    [[20, 12, 36, 28]]
    """

    def __init__(
        self,
        window_shape: tuple[int, int],
        *,
        estimator: Any = None,
        pixels_per_cell: int = 8,
        cells_per_block: int = 2,
        orientations: int = 9,
        pyramid_step: float = 1.2,
        mining_rounds: int = 2,
        negatives_per_image: int = 50,
        threshold: float = 0.0,
        max_overlap: float = 0.3,
        random_state: Any = None,
    ):
        self.window_shape = window_shape
        self.estimator = estimator
        self.pixels_per_cell = pixels_per_cell
        self.cells_per_block = cells_per_block
        self.orientations = orientations
        self.pyramid_step = pyramid_step
        self.mining_rounds = mining_rounds
        self.negatives_per_image = negatives_per_image
        self.threshold = threshold
        self.max_overlap = max_overlap
        self.random_state = random_state

    def fit(self, images: Sequence[Any], boxes: Sequence[Any]) -> WindowDetector:
        """Train on pictures and the boxes of the objects in them.

        Parameters
        ----------
        images : sequence of 2-d arrays
            Grey pictures of any size.
        boxes : sequence of arrays of shape (n_objects, 4)
            For each picture, top, left, bottom and right edge of its objects; it may have none.
            Boxes should have about the aspect of a window.

        Returns
        -------
        self
        """
        self._check_arguments()
        images = [_checked_image(image, "images") for image in images]
        truths = [_checked_boxes(given) for given in boxes]
        if len(images) != len(truths):
            raise ValueError(f"boxes has {len(truths)} entries for {len(images)} images.")
        pairs = list(zip(images, truths, strict=True))
        positives = [self._object(image, box) for image, given in pairs for box in given]
        if not positives:
            raise ValueError("boxes holds no object; give at least one box.")
        rng = make_generator(self.random_state)
        negatives = np.concatenate([self._random_windows(*pair, rng) for pair in pairs])
        if not len(negatives):
            raise ValueError(
                f"images hold no window of shape {tuple(self.window_shape)} beside the objects."
            )
        self._train(np.stack(positives), negatives, pairs, self._new_estimator(rng))
        return self

    def _train(
        self,
        positives: np.ndarray,
        negatives: np.ndarray,
        pairs: list[tuple[np.ndarray, np.ndarray]],
        model: Any,
    ) -> None:
        """Train, then train again with the hard negatives found, round after round."""
        self.n_negatives_: list[int] = []
        for left in range(self.mining_rounds, -1, -1):
            labels = np.repeat([1, 0], [len(positives), len(negatives)])
            self.estimator_ = clone(model).fit(np.concatenate([positives, negatives]), labels)
            self.n_negatives_.append(len(negatives))
            if left == 0:
                return
            hard = np.concatenate([self._hard_windows(*pair) for pair in pairs])
            fresh = _new_rows(hard, negatives)
            if not len(fresh):
                return
            negatives = np.concatenate([negatives, fresh])

    def detect(self, image: Any) -> Detections:
        """Find objects in a picture.

        Parameters
        ----------
        image : 2-d array
            A grey picture.

        Returns
        -------
        Detections
        """
        check_is_fitted(self, "estimator_")
        boxes, scores = [np.empty((0, 4))], [np.empty(0)]
        for scale, places, features in self._levels(_checked_image(image, "image")):
            level_scores = self._scores(features)
            found = np.flatnonzero(level_scores >= self.threshold)
            boxes.append(self._boxes(places[found], scale))
            scores.append(level_scores[found])
        all_boxes, all_scores = np.concatenate(boxes), np.concatenate(scores)
        kept = suppress_overlaps(all_boxes, all_scores, self.max_overlap)
        return Detections(all_boxes[kept], all_scores[kept])

    # ---- windows -------------------------------------------------------------------------------

    def _levels(self, image: np.ndarray) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
        """Scale, windows' places (in cells) and features of each level of the pyramid."""
        _, resize = _import_skimage()
        scale, level = 1.0, image
        while min(np.array(level.shape) - self.window_shape) >= 0:
            places, features = self._all_windows(level)
            yield scale, places, features
            scale *= self.pyramid_step
            shape = tuple(int(side / scale) for side in image.shape)
            if min(np.array(shape) - self.window_shape) < 0:
                return
            level = resize(image, shape, anti_aliasing=True)

    def _all_windows(self, image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each window of a picture that starts at a cell: where, and its features."""
        blocks = self._blocks(image)
        shape = self._blocks_per_window()
        views = np.lib.stride_tricks.sliding_window_view(blocks, shape, axis=(0, 1))
        places = np.indices(views.shape[:2]).reshape(2, -1).T
        # Axes: place, place, histogram, block, block; features have the blocks first.
        features = np.moveaxis(views, -3, -1).reshape(len(places), -1)
        return places, features

    def _blocks(self, image: np.ndarray) -> np.ndarray:
        """Normalised histograms of all blocks, ``(rows, columns, numbers per block)``."""
        hog, _ = _import_skimage()
        blocks = hog(
            image,
            orientations=self.orientations,
            pixels_per_cell=(self.pixels_per_cell, self.pixels_per_cell),
            cells_per_block=(self.cells_per_block, self.cells_per_block),
            block_norm="L2-Hys",
            feature_vector=False,
        )
        return blocks.reshape(*blocks.shape[:2], -1).astype(np.float32)

    def _object(self, image: np.ndarray, box: np.ndarray) -> np.ndarray:
        """Features of a box, scaled to a window.

        It is cut out with a cell around it. Histograms at the edge of a picture differ from those
        within, and would tell objects from windows of a picture.
        """
        _, resize = _import_skimage()
        cell, shape = self.pixels_per_cell, np.asarray(self.window_shape)
        margin = (box[2:] - box[:2]) / shape * cell
        top_left, bottom_right = box[:2] - margin, box[2:] + margin
        pad = int(np.ceil(max(0, *-top_left, *(bottom_right - image.shape)))) + 1
        (top, left), (bottom, right) = (
            (corner + pad).round().astype(int) for corner in (top_left, bottom_right)
        )
        cut = np.pad(image, pad, mode="edge")[top:bottom, left:right]
        height, width = self._blocks_per_window()
        blocks = self._blocks(resize(cut, tuple(shape + 2 * cell), anti_aliasing=True))
        return blocks[1 : 1 + height, 1 : 1 + width].ravel()

    def _blocks_per_window(self) -> tuple[int, int]:
        height, width = (
            side // self.pixels_per_cell - self.cells_per_block + 1 for side in self.window_shape
        )
        return height, width

    def _boxes(self, places: np.ndarray, scale: float) -> np.ndarray:
        corners = places * self.pixels_per_cell
        return scale * np.hstack([corners, corners + self.window_shape]).astype(float)

    def _elsewhere(self, image: np.ndarray, truth: np.ndarray) -> Iterator[np.ndarray]:
        """Features of the windows of each level that overlap no object much."""
        yield self._no_windows()
        for scale, places, features in self._levels(image):
            boxes = self._boxes(places, scale)
            is_free = np.ones(len(places), bool)
            for box in truth:
                is_free &= overlaps(box, boxes) <= self.max_overlap
            yield features[is_free]

    def _random_windows(
        self, image: np.ndarray, truth: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Random windows over all levels, each as likely as any other."""
        features = np.concatenate(list(self._elsewhere(image, truth)))
        n_chosen = min(self.negatives_per_image, len(features))
        return features[rng.choice(len(features), n_chosen, replace=False)]

    def _hard_windows(self, image: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """The windows that look most like objects, of those that do."""
        found = [
            features[self._scores(features) >= min(self.threshold, 0)]
            for features in self._elsewhere(image, truth)
        ]
        features = np.concatenate(found)
        hardest = np.argsort(-self._scores(features), kind="stable")[: self.negatives_per_image]
        return features[hardest]

    def _no_windows(self) -> np.ndarray:
        height, width = self._blocks_per_window()
        n_numbers = height * width * self.cells_per_block**2 * self.orientations
        return np.empty((0, n_numbers), np.float32)

    # ---- the classifier ------------------------------------------------------------------------

    def _new_estimator(self, rng: np.random.Generator) -> Any:
        if self.estimator is not None:
            return self.estimator
        return SDCASVC(0.1, random_state=int(rng.integers(2**31)))

    def _scores(self, features: np.ndarray) -> np.ndarray:
        blocks = [
            self.estimator_.decision_function(features[begin : begin + WINDOWS_PER_BLOCK])
            for begin in range(0, len(features), WINDOWS_PER_BLOCK)
        ]
        return np.concatenate([np.empty(0), *blocks])

    # ---- what is given -------------------------------------------------------------------------

    def _check_arguments(self) -> None:
        for name in ("pixels_per_cell", "cells_per_block", "orientations", "negatives_per_image"):
            check_number(name, getattr(self, name), integer=True, above=1, inclusive=True)
        check_number("pyramid_step", self.pyramid_step, above=1)
        check_number("mining_rounds", self.mining_rounds, integer=True, inclusive=True)
        check_number("max_overlap", self.max_overlap, inclusive=True)
        shape = np.asarray(self.window_shape)
        if shape.shape != (2,) or (shape % self.pixels_per_cell).any():
            raise ValueError(
                "window_shape must be a height and a width, both multiples of "
                f"pixels_per_cell={self.pixels_per_cell}, not {self.window_shape!r}."
            )
        if min(self._blocks_per_window()) < 1:
            raise ValueError(
                f"window_shape={self.window_shape} holds no block of {self.cells_per_block} cells; "
                "make windows larger or cells smaller."
            )


def suppress_overlaps(boxes: Any, scores: Any, max_overlap: float = 0.3) -> np.ndarray:
    """Non-maximum suppression: indices of the boxes that no better one overlaps too much.

    Parameters
    ----------
    boxes : array-like of shape (n, 4)
        Top, left, bottom, right.
    scores : array-like of shape (n,)
    max_overlap : float, default=0.3
        Intersection over union that two kept boxes may have at most.

    Returns
    -------
    ndarray
        Indices, the best score first.

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
    """Which detections are right, picture by picture: what a precision–recall curve needs.

    A detection is right if it overlaps an object that no better one has claimed.

    Parameters
    ----------
    detections : iterable of Detections
    truths : iterable of arrays of shape (n_objects, 4)
        Boxes of the objects in each picture.
    min_overlap : float, default=0.5

    Returns
    -------
    is_right : ndarray of bool
        For all detections, one picture after the other.
    scores : ndarray
    n_objects : int
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


def _checked_image(image: Any, name: str) -> np.ndarray:
    image = np.asarray(image)
    if image.ndim != 2 or image.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} must hold grey pictures, two-dimensional arrays of numbers; one has shape "
            f"{image.shape} and dtype {image.dtype}. Try skimage.color.rgb2gray."
        )
    image = image.astype(float)
    if not np.isfinite(image).all():
        raise ValueError(f"{name} contains NaN or infinity.")
    return image


def _new_rows(rows: np.ndarray, known: np.ndarray) -> np.ndarray:
    seen = {row.tobytes() for row in known}
    return rows[[row.tobytes() not in seen for row in rows]]


def _checked_boxes(boxes: Any) -> np.ndarray:
    boxes = np.asarray(boxes, dtype=float)
    if boxes.size == 0:
        return np.empty((0, 4))
    if boxes.ndim != 2 or boxes.shape[1] != 4 or not (boxes[:, 2:] > boxes[:, :2]).all():
        raise ValueError(
            "boxes must hold, for each picture, rows of (top, left, bottom, right) with bottom "
            "below top and right beyond left."
        )
    return boxes


def _import_skimage() -> tuple[Any, Any]:
    try:
        from skimage.feature import hog
        from skimage.transform import resize
    except ImportError as error:
        raise ImportError(
            "hyperlocal.vision needs scikit-image; pip install 'hyperlocal[vision]'."
        ) from error
    return hog, resize
