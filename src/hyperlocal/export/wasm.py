"""Models as one JavaScript module: the C header, compiled to WebAssembly."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from .c import to_c
from .plain import NotPlain, plain_model

MODULE = Path(__file__).with_name("module.mjs")

# What JavaScript calls; rows and results are in fixed places of the module's memory.
_PROGRAM = """\
#include "model.h"
float row[MODEL_N_FEATURES], scores[MODEL_N_SCORES], contributions[MODEL_N_FEATURES];
float *row_place(void) { return row; }
float *scores_place(void) { return scores; }
float *contributions_place(void) { return contributions; }
int n_features(void) { return MODEL_N_FEATURES; }
int n_scores(void) { return MODEL_N_SCORES; }
void score(void) { model_scores(row, scores); }
"""
_EXPLAIN = "float explain(int column) { return model_contributions(row, column, contributions); }\n"
_FUNCTIONS = ["row_place", "scores_place", "contributions_place", "n_features", "n_scores", "score"]


def to_wasm(estimator: Any, *, dtype: str = "float32", contributions: bool = False) -> str:
    """A fitted model as a JavaScript module that runs in browsers and in Node.js.

    The module has all it needs in it: WebAssembly, compiled from the header of :func:`to_c`. It
    exports ``load()``, a promise of an object with ``classes``, ``nFeatures`` and the functions
    ``decisionFunction(row)``, ``predict(row)`` and ``explain(row, column)``; the last gives
    ``{contributions, constant}`` of the header, which add up to one of the scores, and is missing
    where the header has no contributions.

    Parameters
    ----------
    estimator, dtype, contributions : as in :func:`to_c`
        A fitted model.

    Returns
    -------
    str
        The text of the module. It is compiled by ``emcc``, of Emscripten.

    Examples
    --------
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from hyperlocal import LocallyLinearSVC
    >>> from hyperlocal.export import to_wasm
    >>> model = LocallyLinearSVC(random_state=0).fit(*load_iris(return_X_y=True))
    >>> Path("iris.mjs").write_text(to_wasm(model))  # doctest: +SKIP
    """
    if shutil.which("emcc") is None:
        raise FileNotFoundError(
            "to_wasm needs the compiler emcc; install Emscripten, or use to_c or to_onnx."
        )
    classes = plain_model(estimator).classes
    if not len(classes):
        raise NotPlain("to_wasm writes classifiers; for a regressor use to_c or to_onnx.")
    header = to_c(estimator, dtype=dtype, contributions=contributions)
    labels = classes.astype(str) if classes.dtype.hasobject else classes
    texts = {"CLASSES": json.dumps(np.asarray(labels).tolist()), "WASM": _compiled(header)}
    module = MODULE.read_text(encoding="utf-8")
    for name, text in texts.items():
        module = module.replace(f'"{name}"', text)
    return module


def _compiled(header: str) -> str:
    """WebAssembly of a header, in base64 and in quotes."""
    explains = "float model_contributions(" in header
    functions = [*_FUNCTIONS, *(["explain"] if explains else [])]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.h").write_text(header, encoding="utf-8")
        program = _PROGRAM + (_EXPLAIN if explains else "")
        Path(folder, "model.c").write_text(program, encoding="utf-8")
        exported = ",".join(f"_{name}" for name in functions)
        options = ["-O3", "--no-entry", "-sSTANDALONE_WASM", f"-sEXPORTED_FUNCTIONS={exported}"]
        command = ["emcc", *options, "model.c", "-o", "model.wasm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"emcc failed: {done.stderr.strip()}")
        return json.dumps(base64.b64encode(Path(folder, "model.wasm").read_bytes()).decode())
