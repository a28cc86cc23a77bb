"""Headers written by to_c, compiled and called from Python."""

import ctypes
import subprocess

import numpy as np

from hyperlocal.export import to_c

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]
WRAPPER = """
#include "model.h"
void scores(const float *x, float *out) { model_scores(x, out); }
"""
PREDICT = """
int predict(const float *x) { return model_predict(x); }
"""
CONTRIBUTIONS = """
float contributions(const float *x, int column, float *out) {
    return model_contributions(x, column, out);
}
"""


def as_floats(array):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_float))


class Compiled:
    """A model in C, compiled with every warning as an error."""

    def __init__(self, model, folder, dtype="float32", **options):
        self.header = to_c(model, dtype=dtype, **options)
        self.explains = "float model_contributions(" in self.header
        (folder / "model.h").write_text(self.header)
        predicts = "int model_predict(" in self.header
        parts = [PREDICT] * predicts + [CONTRIBUTIONS] * self.explains
        (folder / "model.c").write_text(WRAPPER + "".join(parts))
        library = folder / "model.so"
        arguments = [*STRICT, "-shared", "-fPIC", "model.c", "-o", str(library), "-lm"]
        subprocess.run(["gcc", *arguments], cwd=folder, check=True)
        self._library = ctypes.CDLL(str(library))
        if self.explains:
            self._library.contributions.restype = ctypes.c_float
        self.n_scores = int(self.header.split("#define MODEL_N_SCORES ")[1].split("\n")[0])

    def scores(self, X):
        """The decision function of rows, in the shape that Python gives."""
        X = np.ascontiguousarray(X, np.float32)
        out = np.empty((len(X), self.n_scores), np.float32)
        for row, scores in zip(X, out, strict=True):
            self._library.scores(as_floats(row), as_floats(scores))
        return out[:, 0] if self.n_scores == 1 else out

    def predict(self, X):
        """Indices of the predicted classes."""
        X = np.ascontiguousarray(X, np.float32)
        return np.array([self._library.predict(as_floats(row)) for row in X])

    def contributions(self, X, column):
        """Contributions of the features to one column of scores, and the constants."""
        X = np.ascontiguousarray(X, np.float32)
        out = np.empty_like(X)
        constants = [
            self._library.contributions(as_floats(row), column, as_floats(values))
            for row, values in zip(X, out, strict=True)
        ]
        return out, np.array(constants)
