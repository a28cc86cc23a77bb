"""Models for other places: ONNX, plain numpy arrays, skops files that cannot run code."""

from .arrays import NUMPY_PREDICTOR, save_numpy, to_numpy
from .onnx import to_onnx
from .sizes import count_numbers
from .trusted import TRUSTED_TYPES

__all__ = [
    "NUMPY_PREDICTOR",
    "TRUSTED_TYPES",
    "count_numbers",
    "save_numpy",
    "to_numpy",
    "to_onnx",
]
