"""``hyperlocal export``: a stored model for places without this library."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ..estimators.table_encoder import TableEncoder
from ..export import save_numpy, to_c, to_onnx, to_wasm
from ..runtime.files import replace_file
from .model_file import StoredModel, load
from .options import Command, UsageError, check_folder, file_argument, say

SUFFIXES = {"c": ".h", "onnx": ".onnx", "numpy": ".npz", "wasm": ".mjs"}
#: How numbers may be stored in each format; the first is the default.
DTYPES = {
    "c": ("float32", "int8"),
    "onnx": ("float32", "float64"),
    "numpy": ("float64",),
    "wasm": ("float32", "int8"),
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    file_argument(parser, "model", metavar="MODEL", help="a file that hyperlocal fit wrote")
    parser.add_argument(
        "--to",
        choices=list(SUFFIXES),
        required=True,
        help="a C99 header, an ONNX graph, numpy arrays with a module that predicts from them, or "
        "a JavaScript module with WebAssembly (needs emcc)",
    )
    parser.add_argument(
        "--output",
        "-o",
        metavar="FILE",
        help="where to write (default: beside the model, with the ending of the format)",
    )
    parser.add_argument(
        "--dtype",
        choices=["float32", "float64", "int8"],
        help="how numbers are stored: float32 (the default) or int8 in C and WebAssembly, float32 "
        "or float64 in ONNX",
    )
    parser.add_argument(
        "--contributions",
        action="store_true",
        help="with what it takes to explain rows as hyperlocal explain does",
    )
    parser.add_argument("--quiet", action="store_true", help="no messages")


def _run(arguments: argparse.Namespace) -> int:
    form = arguments.to
    dtype = _dtype(form, arguments.dtype)
    path = Path(arguments.output or Path(arguments.model).with_suffix(SUFFIXES[form]))
    if form == "numpy" and path.suffix != SUFFIXES[form]:
        path = path.with_name(path.name + SUFFIXES[form])  # numpy would add it
    check_folder("--output", str(path.parent))
    stored = load(arguments.model)
    _write(_after_encoding(stored), form, dtype, path, arguments.contributions)
    names = stored.feature_names
    say(f"wrote {path} ({path.stat().st_size:,} bytes)", quiet=arguments.quiet)
    if len(names) != stored.about.n_columns:
        say(
            f"its rows are {len(names)} numbers in the units of the table, categories as zeros and "
            f"ones: {', '.join(names)}",
            quiet=arguments.quiet,
        )
    return 0


def _dtype(form: str, given: str | None) -> str:
    known = DTYPES[form]
    if given is not None and given not in known:
        raise UsageError(f"--dtype: --to {form} stores numbers as {' or '.join(known)}")
    return given or known[0]


def _after_encoding(stored: StoredModel) -> Any:
    """The steps from numbers to labels, in the units of the table: other programs encode texts."""
    encoder = stored.encoder
    if not isinstance(encoder, TableEncoder):
        return stored.pipeline
    scaler = StandardScaler().fit(np.zeros((1, len(encoder.center_))))
    scaler.mean_, scaler.scale_ = encoder.center_, encoder.scale_
    scaler.var_ = encoder.scale_**2
    return Pipeline([("scale", scaler), ("model", stored.model)])


def _write(pipeline: Any, form: str, dtype: str, path: Path, contributions: bool) -> None:
    if form == "numpy":
        save_numpy(pipeline, path, with_module=True, contributions=contributions)
    elif form == "onnx":
        graph = to_onnx(pipeline, dtype=dtype, contributions=contributions)
        replace_file(path, graph.SerializeToString())
    else:
        write = to_c if form == "c" else to_wasm
        text = write(pipeline, dtype=dtype, contributions=contributions)
        replace_file(path, text.encode("utf-8"))


COMMAND = Command(
    "write a stored model as C, ONNX, numpy arrays or WebAssembly", _add_arguments, _run
)
