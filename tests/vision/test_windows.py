"""Tests of hyperlocal.vision.windows: features of windows and of boxes."""

import numpy as np
import pytest

from hyperlocal.vision.windows import Windows
from vision.pictures import make_picture

pytest.importorskip("skimage")


def test_windows_are_cut_as_they_are_slid():
    """A box that lies on the cells has the features of its window of the whole picture."""
    picture, _ = make_picture([(20, 4)])
    windows = Windows((16, 16), 4, 2, 9, 1.2)
    places, features = windows.of_level(picture)
    at = np.flatnonzero((places == [5, 1]).all(axis=1))[0]
    np.testing.assert_allclose(
        windows.of_box(picture, np.array([20.0, 4, 36, 20])), features[at], atol=1e-5
    )
