"""
Detect faces by histograms of oriented gradients and a linear SVM
=================================================================

It takes minutes, so it is not run when this page is built::

    pip install 'hyperlocal[vision,plot]'
    python examples/detect_faces.py [FOLDER]

The scenes consist of pictures from scikit-image: faces of its subset of Labelled Faces
in the Wild, at sizes from 1 to 2.5 times a window, blended into photographs and textures. Three
kinds of scenes share neither faces nor backgrounds: on the first the detectors are trained, on the
second C and the threshold are chosen (by average precision and by the highest F1), on the third
the result is measured, once. Draws the precision–recall curve of the test scenes, with and without
hard negatives, and two of them with the boxes found.

.. image:: /images/detect_faces.png
"""

# sphinx_gallery_thumbnail_path = 'images/detect_faces.png'

from __future__ import annotations

import sys
from copy import copy
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from skimage import data
from skimage.color import rgb2gray
from skimage.transform import resize

from hyperlocal.linear import SDCASVC
from hyperlocal.vision import Detections, WindowDetector, match_detections, precision_recall

WINDOW = 32
CELL = 4
FACES_PER_SCENE = 4
C_VALUES = (0.1, 1.0)
LOWEST_SCORE = -1.0  # where the curves end
BOXES_PER_FACE, JITTER = 3, 0.06  # windows start at cells, not at faces: train on shifted boxes
GREEN, RED = "#2a9d4a", "#c0392b"


@dataclass(frozen=True)
class Part:
    """Sources of a part of the scenes."""

    faces: slice
    backgrounds: tuple[str, ...]
    scenes_per_background: int
    longest_side: int


# The coins show heads: the threshold is chosen where false detections are likely.
PARTS = {
    "training": Part(slice(55), ("grass", "camera", "page", "moon", "coffee"), 12, 220),
    "choosing": Part(slice(55, 70), ("text", "coins", "clock"), 3, 280),
    "test": Part(
        slice(70, 100), ("brick", "gravel", "rocket", "chelsea", "retina", "hubble_deep_field"),
        3, 320,
    ),
}  # fmt: skip
Scenes = tuple[list[np.ndarray], list[np.ndarray]]


def grey(name: str, longest_side: int) -> np.ndarray:
    """A picture of scikit-image in grey, scaled down to the longest side allowed."""
    picture = getattr(data, name)()
    picture = rgb2gray(picture) if picture.ndim == 3 else picture / picture.max()
    shrink = min(1, longest_side / max(picture.shape))
    return resize(picture, tuple(int(side * shrink) for side in picture.shape), anti_aliasing=True)


def faces() -> np.ndarray:
    """A hundred faces, 25 × 25."""
    return data.lfw_subset()[:100]


def blended(scene: np.ndarray, face: np.ndarray) -> np.ndarray:
    """A face on its background: an oval that fades out, so that there is no edge to detect."""
    across = np.linspace(-1, 1, len(face))
    distance = np.hypot(across[:, None] * 0.95, across)
    opacity = np.clip((1.05 - distance) / 0.15, 0, 1)
    return opacity * face + (1 - opacity) * scene


def make_scene(
    background: np.ndarray, portraits: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """A picture with faces where they do not overlap, and their boxes."""
    scene, boxes = background.copy(), np.empty((0, 4))
    while len(boxes) < FACES_PER_SCENE:
        side = int(WINDOW * rng.uniform(1, 2.5))
        top, left = (int(rng.integers(0, length - side)) for length in scene.shape)
        box = np.array([top, left, top + side, left + side])
        apart = (box[2:] <= boxes[:, :2]).any(axis=1) | (boxes[:, 2:] <= box[:2]).any(axis=1)
        if not apart.all():
            continue
        face = portraits[rng.integers(len(portraits))]
        place = np.s_[top : top + side, left : left + side]
        scene[place] = blended(scene[place], resize(face, (side, side)))
        boxes = np.vstack([boxes, box])
    return scene, boxes


def make_scenes(part: Part, portraits: np.ndarray, rng: np.random.Generator) -> Scenes:
    """Scenes on each background, and the boxes of their faces."""
    made = [
        make_scene(grey(name, part.longest_side), portraits[part.faces], rng)
        for name in part.backgrounds
        for _ in range(part.scenes_per_background)
    ]
    return [scene for scene, _ in made], [boxes for _, boxes in made]


def shifted(boxes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each box several times, with its edges moved at random."""
    boxes = np.repeat(boxes, BOXES_PER_FACE, axis=0)
    return boxes + JITTER * (boxes[:, 2:3] - boxes[:, :1]) * rng.uniform(-1, 1, boxes.shape)


def draw_scene(axes, scene: np.ndarray, boxes: np.ndarray, found: Detections) -> None:
    """A scene; right detections green, wrong ones red."""
    axes.imshow(scene, cmap="gray")
    is_right, _, _ = match_detections([found], [boxes])
    for (top, left, bottom, right), right_one in zip(found.boxes, is_right, strict=True):
        color = GREEN if right_one else RED
        axes.add_patch(
            plt.Rectangle((left, top), right - left, bottom - top, fill=False, ec=color, lw=2)
        )
    axes.set(xticks=[], yticks=[], title=f"{is_right.sum()} of {len(boxes)} faces")


def trained(C: float, rounds: int, scenes: list[np.ndarray], boxes: list[np.ndarray]):
    """A detector trained with this many rounds of hard negatives."""
    return WindowDetector(
        (WINDOW, WINDOW), estimator=SDCASVC(C, random_state=0), pixels_per_cell=CELL,
        mining_rounds=rounds, pyramid_step=1.1, negatives_per_image=100, random_state=0,
    ).fit(scenes, boxes)  # fmt: skip


def curve_of(detector: WindowDetector, scenes: list[np.ndarray], boxes: list[np.ndarray]):
    """Scores of all detections, from the highest, with precision and recall down to each."""
    lenient = clone_fitted(detector, LOWEST_SCORE)
    is_right, scores, n_objects = match_detections(map(lenient.detect, scenes), boxes)
    precision, recall = precision_recall(is_right, scores, n_objects)
    return np.sort(scores)[::-1], precision, recall


def clone_fitted(detector: WindowDetector, threshold: float) -> WindowDetector:
    """The same fitted detector with another threshold."""
    return copy(detector).set_params(threshold=threshold)


def average_precision(precision: np.ndarray, recall: np.ndarray) -> float:
    """The area under the curve."""
    return float(np.diff(recall, prepend=0) @ precision)


def chosen(rounds: int, training: Scenes, choosing: Scenes) -> WindowDetector:
    """The detector with the highest average precision on the scenes for choosing."""
    best: tuple[float, WindowDetector] | None = None
    for C in C_VALUES:
        detector = trained(C, rounds, *training)
        scores, precision, recall = curve_of(detector, *choosing)
        quality = average_precision(precision, recall)
        f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-9)
        detector.threshold = float(scores[f1.argmax()])
        print(f"  C = {C:g}: average precision {quality:.3f}, threshold {detector.threshold:.2f}")
        if best is None or quality > best[0]:
            best = quality, detector
    return best[1]


def main() -> None:
    """Train, choose, detect, draw."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    portraits = rng.permutation(faces())
    training, choosing, test = (make_scenes(part, portraits, rng) for part in PARTS.values())
    training = training[0], [shifted(boxes, rng) for boxes in training[1]]
    figure, (curve, *pictures) = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained")
    for rounds in (0, 2):
        label = f"{rounds} rounds of hard negatives"
        print(label)
        detector = chosen(rounds, training, choosing)
        _, precision, recall = curve_of(detector, *test)
        curve.plot(recall, precision, label=label, lw=1.8)
        is_right, _, n_objects = match_detections(map(detector.detect, test[0]), test[1])
        print(
            f"  chosen C = {detector.estimator.C:g}; test scenes: precision {is_right.mean():.3f}, "
            f"recall {is_right.sum() / n_objects:.3f} ({n_objects} faces), "
            f"average precision {average_precision(precision, recall):.3f}"
        )
    curve.set(xlabel="recall", ylabel="precision", xlim=(0, 1.02), ylim=(0, 1.02))
    curve.legend(frameon=False, loc="lower left")
    step = PARTS["test"].scenes_per_background
    for axes, number in zip(pictures, (2 * step, 3 * step), strict=True):
        found = detector.detect(test[0][number])
        draw_scene(axes, test[0][number], test[1][number], found)
    figure.savefig(folder / "detect_faces.png", dpi=62)


if __name__ == "__main__":
    main()
