"""A linear SVM on sliding windows: the detector of Dalal and Triggs (2005)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from ..data.arguments import check_number, make_generator
from ..estimators.sdca import SDCASVC
from .boxes import Detections, checked_boxes, overlaps, suppress_overlaps
from .windows import Windows, checked_image

# Windows scored at a time.
WINDOWS_PER_BLOCK = 4096


@dataclass(eq=False, repr=False)
class WindowDetector(BaseEstimator):
    """Finds objects of one kind and aspect in grey pictures of any size.

    Windows of a fixed shape are described by histograms of oriented gradients and classified by a
    linear model. It is trained on the objects and on random windows elsewhere; then, round after
    round, also on windows elsewhere that it classified as objects (hard negatives). Pictures are
    searched at several scales; of overlapping detections the one with the highest score remains.

    Parameters
    ----------
    window_shape : (int, int)
        Height and width of a window in pixels; multiples of ``pixels_per_cell``.
    estimator : classifier, default=None
        Any classifier with ``decision_function``; ``SDCASVC(C=0.1)`` by default.
    pixels_per_cell : int, default=8
        Side of a cell; windows start at every cell.
    cells_per_block : int, default=2
        Side of a block of cells, whose histograms are normalized together.
    orientations : int, default=9
        Number of directions of gradients.
    pyramid_step : float, default=1.2
        Each level of the pyramid is smaller than the one before by this factor.
    mining_rounds : int, default=2
        Rounds of training on hard negatives.
    negatives_per_image : int, default=50
        Random windows of each picture in the first round; the most hard negatives in each later
        round.
    threshold : float, default=0.0
        A window with at least this score is a detection.
    max_overlap : float, default=0.3
        Of two detections whose intersection over union is larger, the one with the higher score
        remains. Windows that overlap objects by less are negatives.
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
    >>> from hyperlocal.linear import SDCASVC
    >>> from hyperlocal.vision import WindowDetector
    >>> disc = 1.0 * (np.hypot(*np.mgrid[-8:8, -8:8]) < 6)
    >>> picture = 0.1 * np.random.default_rng(0).normal(size=(64, 64))
    >>> picture[20:36, 12:28] += disc
    >>> detector = WindowDetector((16, 16), estimator=SDCASVC(10), pixels_per_cell=4)
    >>> found = detector.fit([picture], [[[20, 12, 36, 28]]]).detect(picture)
    >>> found.boxes.round().astype(int).tolist()
    [[20, 12, 36, 28]]
    """

    window_shape: tuple[int, int]
    _: KW_ONLY
    estimator: Any = None
    pixels_per_cell: int = 8
    cells_per_block: int = 2
    orientations: int = 9
    pyramid_step: float = 1.2
    mining_rounds: int = 2
    negatives_per_image: int = 50
    threshold: float = 0.0
    max_overlap: float = 0.3
    random_state: Any = None

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
            The fitted detector.
        """
        self._check_arguments()
        images = [checked_image(image, "images") for image in images]
        truths = [checked_boxes(given) for given in boxes]
        if len(images) != len(truths):
            raise ValueError(f"boxes has {len(truths)} entries for {len(images)} images.")
        pairs = list(zip(images, truths, strict=True))
        positives = [self._windows.of_box(image, box) for image, given in pairs for box in given]
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
        """Train; then find hard negatives and train with them too, round after round."""
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
            Boxes and scores.
        """
        check_is_fitted(self, "estimator_")
        boxes, scores = [np.empty((0, 4))], [np.empty(0)]
        for level_boxes, features in self._windows.levels(checked_image(image, "image")):
            level_scores = self._scores(features)
            found = np.flatnonzero(level_scores >= self.threshold)
            boxes.append(level_boxes[found])
            scores.append(level_scores[found])
        all_boxes, all_scores = np.concatenate(boxes), np.concatenate(scores)
        kept = suppress_overlaps(all_boxes, all_scores, self.max_overlap)
        return Detections(all_boxes[kept], all_scores[kept])

    # ---- windows -------------------------------------------------------------------------------

    @property
    def _windows(self) -> Windows:
        height, width = self.window_shape
        return Windows(
            (height, width), self.pixels_per_cell, self.cells_per_block,
            self.orientations, self.pyramid_step,
        )  # fmt: skip

    def _elsewhere(self, image: np.ndarray, truth: np.ndarray) -> Iterator[np.ndarray]:
        """Features of the windows of each level that overlap no object by more than allowed."""
        yield np.empty((0, self._windows.n_features), np.float32)
        for boxes, features in self._windows.levels(image):
            is_free = np.ones(len(boxes), bool)
            for box in truth:
                is_free &= overlaps(box, boxes) <= self.max_overlap
            yield features[is_free]

    def _random_windows(
        self, image: np.ndarray, truth: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Random windows of all levels, drawn uniformly."""
        features = np.concatenate(list(self._elsewhere(image, truth)))
        n_chosen = min(self.negatives_per_image, len(features))
        return features[rng.choice(len(features), n_chosen, replace=False)]

    def _hard_windows(self, image: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """The windows with the highest scores, of those classified as objects."""
        found = [
            features[self._scores(features) >= min(self.threshold, 0)]
            for features in self._elsewhere(image, truth)
        ]
        features = np.concatenate(found)
        hardest = np.argsort(-self._scores(features), kind="stable")[: self.negatives_per_image]
        return features[hardest]

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
        if min(self._windows.n_blocks) < 1:
            raise ValueError(
                f"window_shape={self.window_shape} holds no block of {self.cells_per_block} cells; "
                "make windows larger or cells smaller."
            )


def _new_rows(rows: np.ndarray, known: np.ndarray) -> np.ndarray:
    seen = {row.tobytes() for row in known}
    return rows[[row.tobytes() not in seen for row in rows]]
