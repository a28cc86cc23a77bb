"""Models in C: their bytes, microseconds per row, and errors.

    python -m benchmarks.small_devices
    python -m benchmarks.small_devices PCA   # models of such a name alone; the others stay

Digits of scikit-learn (64 features, 10 classes). Ours are written by ``hyperlocal.export.to_c``,
SVC, LinearSVC and LightGBM by m2cgen, the random forest by emlearn; all are compiled with
``gcc -O3`` for this machine, and with ``arm-none-eabi-gcc -Os`` for a Cortex-M4 where that compiler
is installed. Bytes are those of code and constants, without the C library; a source on which a
compiler works for longer than a limit is reported by the bytes of its text. Models are trained on
each split; parameters are chosen by cross-validation over its training rows alone. Errors are means
over the splits; sizes, times and chosen parameters are those of the first split.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from hyperlocal import LocallyLinearSVC
from hyperlocal.export import to_c, to_onnx

from .common import (
    Row,
    argument_parser,
    environment,
    light_gbm,
    print_table,
    read_result,
    rounded,
    timed,
    write_result,
)

PEERS = ["m2cgen", "emlearn", "lightgbm", "onnxruntime", "skl2onnx"]
TEST_SIZE = 0.3
PATIENCE = 200  # seconds that a compiler may work on one model
CORTEX_M4 = ["-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard", "-Os"]
LOOP = """
void predict_rows(const float *rows, int n, int width, int *labels) {
  for (int i = 0; i < n; ++i) labels[i] = predict(rows + (long)i * width);
}
"""


# ---- C of each tool: a function "int predict(const float *)" -------------------------------------


def ours(dtype: str) -> Callable[[Any], str]:
    """Our header and the function."""

    def write(model: Any) -> str:
        call = "int predict(const float *x) { return model_predict(x); }\n"
        return to_c(model, dtype=dtype) + call

    return write


def by_m2cgen(model: Any) -> str:
    """m2cgen's function takes doubles and gives a score per class; for SVC one per pair."""
    import m2cgen

    return m2cgen.export_to_c(model) + (_VOTES if isinstance(model, SVC) else _LARGEST)


_LARGEST = """
int predict(const float *x) {
  double row[64], scores[10];
  int best = 0;
  for (int i = 0; i < 64; ++i) row[i] = x[i];
  score(row, scores);
  for (int i = 1; i < 10; ++i) best = scores[i] > scores[best] ? i : best;
  return best;
}
"""

_VOTES = """
int predict(const float *x) {
  double row[64], scores[45];
  int votes[10] = {0}, best = 0, pair = 0;
  for (int i = 0; i < 64; ++i) row[i] = x[i];
  score(row, scores);
  for (int i = 0; i < 10; ++i) {
    for (int j = i + 1; j < 10; ++j) votes[scores[pair++] > 0 ? i : j] += 1;
  }
  for (int i = 1; i < 10; ++i) best = votes[i] > votes[best] ? i : best;
  return best;
}
"""


def by_emlearn(model: Any) -> str:
    """emlearn's function takes floats."""
    import emlearn

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "forest.h")
        emlearn.convert(model, method="inline", dtype="float").save(file=str(path), name="forest")
        text = path.read_text(encoding="utf-8")
    return text + "int predict(const float *x) { return forest_predict(x, 64); }\n"


@dataclass(frozen=True)
class Candidate:
    """A model, the parameters to choose, and how it becomes C, and an ONNX graph if it does."""

    name: str
    make: Callable[[int], Any]
    forms: dict[str, Callable[[Any], str]]
    to_graph: Callable[[Any], Any] | None = None
    grid: dict[str, list[Any]] = field(default_factory=dict)

    def fit(self, X: np.ndarray, y: np.ndarray, seed: int) -> tuple[Any, str]:
        """The fitted model, and the parameters that were chosen on these rows."""
        if not self.grid:
            return self.make(seed).fit(X, y), ""
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        search = GridSearchCV(self.make(seed), self.grid, cv=folds).fit(X, y)
        chosen = search.best_params_.items()
        return search.best_estimator_, ", ".join(f"{name}={value}" for name, value in chosen)


def quadratic(seed: int) -> Any:
    """One quadratic model of principal components."""
    model = LocallyLinearSVC(1, n_neighbors=1, feature_map="quadratic", random_state=seed)
    return make_pipeline(PCA(random_state=seed), model)


def linear(seed: int) -> Any:
    """Twenty linear models."""
    return LocallyLinearSVC(20, feature_map=None, random_state=seed)


def svc_graph(model: Any) -> Any:
    """skl2onnx's graph of an SVC."""
    import skl2onnx

    kind = skl2onnx.common.data_types.FloatTensorType([None, 64])
    return skl2onnx.convert_sklearn(model, initial_types=[("X", kind)])


COSTS = [1.0, 3.0, 10.0]
OURS = {"C, float32": ours("float32"), "C, int8": ours("int8")}
CANDIDATES = (
    Candidate(
        "PCA, LocallyLinearSVC(1, feature_map='quadratic')", quadratic, OURS,
        lambda model: to_onnx(model, dtype="float32"),
        {"pca__n_components": [16, 20, 24, 28, 32], "locallylinearsvc__C": [0.1, 0.3, *COSTS]},
    ),
    Candidate("LocallyLinearSVC(20, feature_map=None)", linear, OURS, grid={"C": COSTS}),
    Candidate(
        "SVC", lambda seed: SVC(), {"C, m2cgen": by_m2cgen}, svc_graph,
        {"C": [1.0, 10.0, 100.0], "gamma": ["scale", 0.05, 0.2]},
    ),
    Candidate(
        "LinearSVC", lambda seed: LinearSVC(random_state=seed), {"C, m2cgen": by_m2cgen},
        grid={"C": [0.1, 1.0, 10.0]},
    ),
    Candidate("LightGBM, 100 rounds", light_gbm, {"C, m2cgen": by_m2cgen}),
    Candidate(
        "random forest, 100 trees", lambda seed: RandomForestClassifier(random_state=seed),
        {"C, emlearn": by_emlearn},
    ),
)  # fmt: skip


# ---- measuring -----------------------------------------------------------------------------------


class Compiled:
    """C source as a function of rows, with its size here and on a Cortex-M4."""

    def __init__(self, source: str, folder: Path):
        path = folder / "model.c"
        path.write_text(source + LOOP, encoding="utf-8")
        library = folder / "model.so"
        _run("gcc", "-O3", "-shared", "-fPIC", "-o", str(library), str(path), "-lm")
        self.library = ctypes.CDLL(str(library))
        self.n_bytes = self._size("gcc", "size", ["-O3"], path)
        self.n_arm_bytes: int | None = None
        if shutil.which("arm-none-eabi-gcc"):
            self.n_arm_bytes = self._size(
                "arm-none-eabi-gcc", "arm-none-eabi-size", CORTEX_M4, path
            )

    def _size(self, compiler: str, size: str, options: list[str], path: Path) -> int:
        target = path.with_suffix(".o")
        _run(compiler, "-std=c99", *options, "-c", "-o", str(target), str(path))
        text, data = _run(size, str(target)).splitlines()[1].split()[:2]
        return int(text) + int(data)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Indices of the classes."""
        labels = np.empty(len(X), np.int32)
        self.library.predict_rows(
            X.ctypes.data_as(ctypes.c_void_p), len(X), X.shape[1],
            labels.ctypes.data_as(ctypes.c_void_p),
        )  # fmt: skip
        return labels


def _run(*command: str) -> str:
    return subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=PATIENCE
    ).stdout


def of_graph(graph: Any, X: np.ndarray, repeats: int) -> tuple[int, float, np.ndarray]:
    """Bytes of an ONNX graph, microseconds per row in calls of one row, and labels."""
    import onnxruntime

    content = graph.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    output = session.get_outputs()[0].name
    timing = timed(
        lambda: [session.run([output], {"X": X[i : i + 1]}) for i in range(100)], repeats
    )
    return len(content), 1e4 * timing.best, session.run([output], {"X": X})[0]


def measure(candidate: Candidate, seeds: range, repeats: int) -> list[Row]:
    """A row per form of a candidate."""
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    errors: dict[str, list[float]] = {}
    rows: dict[str, Row] = {}
    chosen: list[str] = []
    endless: set[str] = set()
    for seed in seeds:
        split = train_test_split(X, y, test_size=TEST_SIZE, random_state=seed)
        X_train, X_test, y_train, y_test = split
        model, parameters = candidate.fit(X_train, y_train, seed)
        chosen.append(parameters)
        errors.setdefault("Python", []).append(1 - model.score(X_test, y_test))
        for form, write in candidate.forms.items():
            if form in endless:
                continue
            source = write(model)
            with tempfile.TemporaryDirectory() as folder:
                try:
                    compiled = Compiled(source, Path(folder))
                except subprocess.TimeoutExpired:
                    rows[form] = {"bytes": len(source), "note": f"not compiled in {PATIENCE} s"}
                    endless.add(form)
                    continue
            labels = compiled.predict(X_test)
            errors.setdefault(form, []).append(np.mean(model.classes_[labels] != y_test))
            if form not in rows:
                best = timed(lambda c=compiled, x=X_test: c.predict(x), repeats).best
                rows[form] = {
                    "bytes": compiled.n_bytes,
                    "bytes on Cortex-M4": compiled.n_arm_bytes,
                    "µs per row": float(1e6 * best / len(X_test)),
                }
        if candidate.to_graph is not None:
            n_bytes, micros, labels = of_graph(candidate.to_graph(model), X_test, repeats)
            errors.setdefault("onnxruntime", []).append(np.mean(labels != y_test))
            rows.setdefault("onnxruntime", {"bytes": n_bytes, "µs per row": float(micros)})
    python = 100 * np.mean(errors["Python"])
    return [
        {
            "model": candidate.name,
            "chosen": chosen[0],
            "form": form,
            "bytes": row["bytes"],
            "bytes on Cortex-M4": row.get("bytes on Cortex-M4"),
            "µs per row": row.get("µs per row"),
            "error %": float(100 * np.mean(errors[form])) if form in errors else None,
            "error % in Python": float(python),
            "note": row.get("note", ""),
        }
        for form, row in rows.items()
    ]


def main() -> None:
    """Measure all candidates and track."""
    parser = argument_parser(__doc__, repeats=20)
    parser.add_argument("models", nargs="*", metavar="WORD", help="those whose name has it alone")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", FutureWarning)  # m2cgen reads deprecated attributes of SVC
    np.seterr(all="ignore")  # one of the imports makes numbers that underflow an error
    seeds = range(arguments.seed, arguments.seed + (1 if arguments.quick else 5))
    candidates = CANDIDATES[:2] if arguments.quick else CANDIDATES
    chosen = [one for one in candidates if all(word in one.name for word in arguments.models)]
    old = read_result("small_devices")["rows"] if arguments.models else []
    rows = []
    for one in candidates:
        if one in chosen:
            rows += [rounded(row) for row in measure(one, seeds, arguments.repeats)]
        else:
            rows += [row for row in old if row["model"] == one.name]
    print_table(rows)
    write_result(
        "small_devices",
        environment(arguments.seed, PEERS),
        rows,
        tracked=not arguments.quick,
    )


if __name__ == "__main__":
    main()
