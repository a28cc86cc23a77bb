"""Windows of pictures as rows of features: histograms of oriented gradients over a pyramid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Windows:
    """How windows are described; see :class:`hyperlocal.vision.WindowDetector`."""

    shape: tuple[int, int]
    pixels_per_cell: int
    cells_per_block: int
    orientations: int
    pyramid_step: float

    @property
    def n_blocks(self) -> tuple[int, int]:
        """Blocks of a window, down and across."""
        height, width = (
            side // self.pixels_per_cell - self.cells_per_block + 1 for side in self.shape
        )
        return height, width

    @property
    def n_features(self) -> int:
        """Number of features of a window."""
        height, width = self.n_blocks
        return height * width * self.cells_per_block**2 * self.orientations

    def levels(self, image: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Boxes and features of all windows, level by level of the pyramid."""
        _, resize = _import_skimage()
        scale, level = 1.0, image
        while min(np.array(level.shape) - self.shape) >= 0:
            places, features = self.of_level(level)
            corners = places * self.pixels_per_cell
            yield scale * np.hstack([corners, corners + self.shape]).astype(float), features
            scale *= self.pyramid_step
            shape = tuple(int(side / scale) for side in image.shape)
            if min(np.array(shape) - self.shape) < 0:
                return
            level = resize(image, shape, anti_aliasing=True)

    def of_level(self, image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each window of a picture that starts at a cell: where, in cells, and its features."""
        views = np.lib.stride_tricks.sliding_window_view(
            self._blocks(image), self.n_blocks, axis=(0, 1)
        )
        places = np.indices(views.shape[:2]).reshape(2, -1).T
        # Axes: place, place, histogram, block, block; features have the blocks first.
        features = np.moveaxis(views, -3, -1).reshape(len(places), -1)
        return places, features

    def of_box(self, image: np.ndarray, box: np.ndarray) -> np.ndarray:
        """Features of a box, scaled to a window.

        It is cut out with a margin of one cell. Histograms at the edge of a picture differ from
        those within; a classifier could separate boxes from windows by that.
        """
        _, resize = _import_skimage()
        cell, shape = self.pixels_per_cell, np.asarray(self.shape)
        margin = (box[2:] - box[:2]) / shape * cell
        top_left, bottom_right = box[:2] - margin, box[2:] + margin
        pad = int(np.ceil(max(0, *-top_left, *(bottom_right - image.shape)))) + 1
        (top, left), (bottom, right) = (
            (corner + pad).round().astype(int) for corner in (top_left, bottom_right)
        )
        cut = np.pad(image, pad, mode="edge")[top:bottom, left:right]
        height, width = self.n_blocks
        blocks = self._blocks(resize(cut, tuple(shape + 2 * cell), anti_aliasing=True))
        return blocks[1 : 1 + height, 1 : 1 + width].ravel()

    def _blocks(self, image: np.ndarray) -> np.ndarray:
        """Normalized histograms of all blocks, ``(rows, columns, numbers per block)``."""
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


def checked_image(image: Any, name: str) -> np.ndarray:
    """A grey picture in doubles, or a clear error."""
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


def _import_skimage() -> tuple[Any, Any]:
    try:
        from skimage.feature import hog
        from skimage.transform import resize
    except ImportError as error:
        raise ImportError(
            "hyperlocal.vision needs scikit-image; pip install 'hyperlocal[vision]'."
        ) from error
    return hog, resize
