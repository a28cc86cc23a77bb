"""Draws the pictures of the README and the guide, from the gallery's examples.

    python docs/make_pictures.py [NAME …]

The site draws the gallery at every build; these copies are for readers of the sources.
"""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
from PIL import Image

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
# Picture: the example that draws it, which of its figures it is, and its resolution.
PICTURES = {
    "boundary": ("plot_decision_boundary", 1, 130),
    "sines": ("plot_learned_anchors", 1, 110),
    "landmark_xor": ("plot_landmarks", 1, 90),
    "landmark_swiss_roll": ("plot_landmarks", 2, 90),
    "tree_regions": ("plot_tree_regions", 1, 80),
    "objectives": ("plot_objectives", 1, 80),
    "kernel_boundaries": ("plot_kernel_boundaries", 1, 48),
}


def draw(name: str) -> None:
    """Run an example and save one of its figures, in few colors: small files."""
    example, figure, resolution = PICTURES[name]
    runpy.run_path(str(EXAMPLES / f"{example}.py"))
    target = HERE / "images" / f"{name}.png"
    plt.figure(figure).savefig(target, dpi=resolution)
    plt.close("all")
    Image.open(target).convert("RGB").quantize(128).save(target, optimize=True)
    print(target)


def main() -> None:
    """Draw the named pictures, or all."""
    matplotlib.use("agg")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PICTURES)}")
    for name in parser.parse_args().names or PICTURES:
        draw(name)


if __name__ == "__main__":
    main()
