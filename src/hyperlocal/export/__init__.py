"""Models for other places: C, WebAssembly, ONNX, numpy arrays; and files that cannot run code."""

from .arrays import NUMPY_PREDICTOR, save_numpy, to_numpy
from .c import to_c
from .converters import register_converters
from .onnx import to_onnx
from .sizes import count_numbers
from .trusted import TRUSTED_TYPES
from .wasm import to_wasm

__all__ = [
    "NUMPY_PREDICTOR",
    "TRUSTED_TYPES",
    "count_numbers",
    "register_converters",
    "save_numpy",
    "to_c",
    "to_numpy",
    "to_onnx",
    "to_wasm",
]
