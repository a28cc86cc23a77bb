"""PNG pictures of a few colors, by the standard library alone."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

import numpy as np


def data_url(pixels: np.ndarray, palette: Sequence[tuple[int, int, int]], alpha: int = 255) -> str:
    """Return a picture as a ``data:`` address.

    Parameters
    ----------
    pixels : ndarray of shape (height, width)
        Number of the color of each pixel, below 256.
    palette : sequence of (red, green, blue)
    alpha : int, default=255
        Opacity of all colors; 255 hides what is behind.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.compare.png import data_url
    >>> data_url(np.eye(2), [(0, 0, 0), (255, 255, 255)])[:32]
    'data:image/png;base64,iVBORw0KGg'
    """
    height, width = pixels.shape
    # Each line begins with the number of its filter: 0, none.
    lines = np.zeros((height, width + 1), np.uint8)
    lines[:, 1:] = pixels
    eight_bits_of_palette = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = [
        (b"IHDR", eight_bits_of_palette),
        (b"PLTE", bytes(channel for color in palette for channel in color)),
        (b"tRNS", bytes([alpha] * len(palette))),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    ]
    picture = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)
    return "data:image/png;base64," + base64.b64encode(picture).decode()


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
