"""Detect faces by histograms of oriented gradients and a linear SVM.

    pip install 'hyperlocal[vision,plot]'
    python examples/detect_faces.py [FOLDER]

The scenes are made of pictures that come with scikit-image: faces of its subset of Labelled Faces
in the Wild, at sizes from 1 to 2.5 times a window, blended into photographs and textures. Training
and test scenes share neither faces nor backgrounds. Draws the precision–recall curve of the test
scenes, with and without hard negatives, and two scenes with the boxes found.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from skimage import data
from skimage.color import rgb2gray
from skimage.transform import resize

from hyperlocal.vision import Detections, WindowDetector, match_detections, precision_recall

WINDOW = 32
CELL = 4
N_TRAINING_FACES = 70
TRAINING_BACKGROUNDS = ("brick", "coins", "gravel", "coffee", "rocket")
TEST_BACKGROUNDS = ("grass", "camera", "page", "moon", "clock", "text")
SCENES_PER_BACKGROUND = {"training": 12, "test": 2}
FACES_PER_SCENE = 4
LONGEST_SIDE = {"training": 220, "test": 320}
BOXES_PER_FACE, JITTER = 3, 0.06  # windows start at cells, not at faces: train on shifted boxes
GREEN, RED = "#2a9d4a", "#c0392b"


def grey(name: str, longest_side: int) -> np.ndarray:
    """A picture of scikit-image, grey, no side longer than so many pixels."""
    picture = getattr(data, name)()
    picture = rgb2gray(picture) if picture.ndim == 3 else picture / picture.max()
    shrink = min(1, longest_side / max(picture.shape))
    return resize(picture, tuple(int(side * shrink) for side in picture.shape), anti_aliasing=True)


def faces() -> np.ndarray:
    """A hundred faces, 25 × 25."""
    return data.lfw_subset()[:100]


def blended(scene: np.ndarray, face: np.ndarray) -> np.ndarray:
    """A face on what lies behind it: an oval that fades out, so that no edge gives it away."""
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


def make_scenes(
    part: str, names: tuple[str, ...], portraits: np.ndarray, rng: np.random.Generator
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Scenes on each background, and the boxes of their faces."""
    made = [
        make_scene(grey(name, LONGEST_SIDE[part]), portraits, rng)
        for name in names
        for _ in range(SCENES_PER_BACKGROUND[part])
    ]
    return [scene for scene, _ in made], [boxes for _, boxes in made]


def shifted(boxes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each box a few times, its edges a little moved."""
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


def main() -> None:
    """Train, detect, draw."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    rng = np.random.default_rng(0)
    portraits = rng.permutation(faces())
    scenes, boxes = make_scenes("training", TRAINING_BACKGROUNDS, portraits[:N_TRAINING_FACES], rng)
    boxes = [shifted(faces_there, rng) for faces_there in boxes]
    test_scenes, truths = make_scenes("test", TEST_BACKGROUNDS, portraits[N_TRAINING_FACES:], rng)
    figure, (curve, *pictures) = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained")
    for rounds in (0, 2):
        detector = WindowDetector(
            (WINDOW, WINDOW), pixels_per_cell=CELL, mining_rounds=rounds, threshold=-0.8,
            pyramid_step=1.1, negatives_per_image=100, random_state=0,
        ).fit(scenes, boxes)  # fmt: skip
        found = [detector.detect(scene) for scene in test_scenes]
        is_right, scores, n_objects = match_detections(found, truths)
        precision, recall = precision_recall(is_right, scores, n_objects)
        sure = scores >= 0
        label = f"{rounds} rounds of hard negatives"
        curve.plot(recall, precision, label=label, lw=1.8)
        print(
            f"{label} ({detector.n_negatives_[-1]} windows): at score 0 precision "
            f"{is_right[sure].mean():.3f}, recall {is_right[sure].sum() / n_objects:.3f}; "
            f"average precision {np.diff(recall, prepend=0) @ precision:.3f}"
        )
    curve.set(xlabel="recall", ylabel="precision", xlim=(0, 1.02), ylim=(0, 1.02))
    curve.legend(frameon=False, loc="lower left")
    detector.set_params(threshold=0.0)
    for axes, number in zip(pictures, (0, SCENES_PER_BACKGROUND["test"]), strict=True):
        found_there = detector.detect(test_scenes[number])
        draw_scene(axes, test_scenes[number], truths[number], found_there)
    figure.savefig(folder / "detect_faces.png", dpi=62)


if __name__ == "__main__":
    main()
