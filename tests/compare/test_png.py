"""Tests of hyperlocal.compare.png: pictures that other programs read."""

import base64
import io

import numpy as np
import pytest

from hyperlocal.compare.png import data_url


def test_pixels_survive():
    """A reader of PNG files finds the colors and the opacity of every pixel."""
    image = pytest.importorskip("matplotlib.image")
    pixels = np.arange(6).reshape(2, 3) % 2
    url = data_url(pixels, [(255, 0, 0), (0, 0, 255)], alpha=51)
    content = base64.b64decode(url.removeprefix("data:image/png;base64,"))
    read = image.imread(io.BytesIO(content), format="png")
    expected = np.where(pixels[..., None] == 0, [1, 0, 0, 0.2], [0, 0, 1, 0.2])
    np.testing.assert_allclose(read, expected, atol=1e-6)
