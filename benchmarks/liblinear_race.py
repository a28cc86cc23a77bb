"""Our dual solver against LIBLINEAR on the same lifted problem.

Both minimise ``½‖W‖² + C Σ loss`` over rows lifted by the same gate (linear local models, not
normalised: the papers' form): the hinge of classes, or the ε-insensitive loss of values
(regression.py). LIBLINEAR gets the lifted matrix written out beforehand and stops at its own
default tolerance. We start from the rows: codes and solver are timed, in whole runs from a loose
tolerance to a tight one, and the first whose objective is within 0.2 % of LIBLINEAR's counts.
Beside it stands the same run cut off at the first epoch after which the objective is as good: the
speed of the descent, without the cost of knowing when to stop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC, LinearSVR

from hyperlocal.data.labelled import LabelledRows
from hyperlocal.data.rows import core_rows
from hyperlocal.datasets import load_dataset
from hyperlocal.gates.anchors import choose_anchors
from hyperlocal.gates.codes import Codes
from hyperlocal.gates.gate import Gate, fit_gate
from hyperlocal.model.lifting import LiftedRows
from hyperlocal.model.problem import regression_problem
from hyperlocal.model.residuals import RegressionLoss
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import Problem, SolverResult, dual

from .common import (
    Row,
    argument_parser,
    environment,
    print_table,
    rounded,
    timed_in_turns,
    write_result,
)

N_ANCHORS, N_NEIGHBORS, C, BIAS = 100, 8, 1.0, 1.0
CODING = "soft"
MOST_EPOCHS = 100_000
CLOSE_ENOUGH = 1.002
TOLERANCES = (3e-2, 2e-2, 1e-2, 7e-3, 5e-3, 3e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4)
THREADS = (2, 1)
QUICK_ROWS = 3_000
# Whether features are standardized.
SETS = {"letter": True, "ijcnn1": False, "usps": False}
VALUES = ("california", "casp")  # see regression.py
VALUE_LOSS = RegressionLoss("epsilon_insensitive", 0.1)


@dataclass(frozen=True)
class Task:
    """Rows, the column in which each is positive (-1 for none), and the gate both sides share.

    Of a regression there are no target columns.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    target: np.ndarray | None
    n_columns: int
    gate: Gate
    seed: int

    def lift(self, workers: Workers, codes: Codes) -> LiftedRows:
        """Lifted rows, as the estimators make them."""
        return LiftedRows(core_rows(self.X), codes, N_ANCHORS, BIAS, False, workers)

    def problem(self, lifted: LiftedRows) -> Problem:
        """The problem in the library's terms."""
        costs = np.full(len(self.y), C, self.X.dtype)
        if self.target is not None:
            return Problem(lifted, self.target, costs, self.n_columns, "hinge")
        rows = LabelledRows(
            self.X, np.arange(len(self.y)), self.y, np.ones(len(self.y)), is_numeric=True
        )
        return regression_problem(lifted, rows, costs, VALUE_LOSS)


def make_task(name: str, standardise: bool, seed: int, n_rows: int | None) -> Task:
    """Load a set and place anchors on it; none of this is timed."""
    data = load_dataset(name)
    is_numeric = name in VALUES
    X, y = data.all_rows() if is_numeric else (data.X_train, data.y_train)
    X, y = X[:n_rows].astype(np.float32), y[:n_rows]
    if standardise:
        X = StandardScaler().fit_transform(X)
    X = np.ascontiguousarray(X)
    rng, weights = np.random.default_rng(seed), np.ones(len(y))
    with Workers(-1) as workers:
        anchors = choose_anchors(X, weights, "kmeans", N_ANCHORS, rng, workers)
        gate = fit_gate(X, weights, anchors, N_NEIGHBORS, CODING, "auto", rng, workers)
    if is_numeric:
        return Task(name, X, (y - y.mean()) / y.std(), None, 1, gate, seed)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) == 2:
        return Task(name, X, y, np.where(codes == 1, 0, -1).astype(np.int32), 1, gate, seed)
    return Task(name, X, y, codes.astype(np.int32), len(classes), gate, seed)


@dataclass(frozen=True)
class Stop:
    """When a run ends."""

    tol: float
    max_iter: int = MOST_EPOCHS


def our_run(task: Task, stop: Stop, n_jobs: int) -> SolverResult:
    """From rows to weights: codes, lifting, solver."""
    with Workers(n_jobs) as workers:
        lifted = task.lift(workers, task.gate.encode(task.X, workers))
        rng = np.random.default_rng(task.seed)
        return dual.solve(task.problem(lifted), tol=stop.tol, max_iter=stop.max_iter, rng=rng)


def liblinear_run(task: Task, tol: float = 0.1) -> Callable[[], LinearSVC | LinearSVR]:
    """A fit of LIBLINEAR to the lifted matrix, which is written out here and not timed."""
    with Workers(-1) as workers:
        matrix = task.lift(workers, task.gate.encode(task.X, workers)).to_csr().astype(np.float64)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    options = {
        "C": C, "tol": tol, "fit_intercept": False, "max_iter": MOST_EPOCHS,
        "random_state": task.seed,
    }  # fmt: skip
    values = {"loss": VALUE_LOSS.name, "epsilon": VALUE_LOSS.epsilon}
    model = (
        LinearSVR(**values, **options)
        if task.target is None
        else LinearSVC(loss="hinge", **options)
    )
    return lambda: model.fit(matrix, task.y)


def objective(task: Task, columns: np.ndarray) -> float:
    """The objective of weights ``(n_columns, n_anchors · (p + 1))`` by one formula, in double.

    Not the solver's own arithmetic: the lifted rows are written out, block by block.
    """
    with Workers(-1) as workers:
        matrix = task.lift(workers, task.gate.encode(task.X, workers)).to_csr().astype(np.float64)
    scores = matrix @ columns.T
    if task.target is None:
        losses = np.maximum(0, np.abs(scores[:, 0] - task.y) - VALUE_LOSS.epsilon)
        return 0.5 * float((columns**2).sum()) + C * float(losses.sum())
    labels = np.where(task.target[:, None] == np.arange(task.n_columns), 1.0, -1.0)
    return 0.5 * float((columns**2).sum()) + C * float(np.maximum(0, 1 - labels * scores).sum())


def our_objective(task: Task, result: SolverResult) -> float:
    """The objective of our weights, ``(n_anchors, n_columns, p + 1)``, by the same formula."""
    columns = result.weights.transpose(1, 0, 2).reshape(task.n_columns, -1)
    return objective(task, columns.astype(np.float64))


def loosest_tolerance(task: Task, wanted: float) -> Stop:
    """The first rung of the ladder whose whole run ends at the wanted objective."""
    for tol in TOLERANCES:
        if reaches(task, Stop(tol), wanted):
            return Stop(tol)
    raise RuntimeError(f"{task.name}: objective {wanted:g} not reached at tol={TOLERANCES[-1]:g}")


def earliest_epoch(task: Task, stop: Stop, wanted: float) -> Stop:
    """The same run cut off at the first epoch that is good enough, found by bisection."""
    too_early, enough = 0, our_run(task, stop, n_jobs=2).n_iter
    while enough - too_early > 1:
        middle = (too_early + enough) // 2
        if reaches(task, Stop(stop.tol, middle), wanted):
            enough = middle
        else:
            too_early = middle
    return Stop(stop.tol, enough)


def reaches(task: Task, stop: Stop, wanted: float) -> bool:
    """Whether a run ends at the wanted objective."""
    return our_objective(task, our_run(task, stop, n_jobs=2)) <= wanted


def race(task: Task, repeats: int) -> list[Row]:
    """LIBLINEAR, then us with two threads and with one, in turns; the best run of each counts."""
    liblinear = liblinear_run(task)
    reference = objective(task, np.atleast_2d(liblinear().coef_))
    by_tolerance = loosest_tolerance(task, CLOSE_ENOUGH * reference)
    stops = {
        "tolerance": by_tolerance,
        "epoch": earliest_epoch(task, by_tolerance, CLOSE_ENOUGH * reference),
    }
    ours = {(how, n_jobs): stops[how] for how in stops for n_jobs in THREADS}
    runs = {
        key: lambda stop=stop, n_jobs=key[1]: our_run(task, stop, n_jobs)
        for key, stop in ours.items()
    }
    timings = timed_in_turns({"LIBLINEAR": liblinear, **runs}, repeats)
    theirs = timings["LIBLINEAR"]
    shared = {"set": task.name, "rows": len(task.y), "columns": task.n_columns}
    rows = [
        {
            **shared,
            "method": "LIBLINEAR",
            "stopped by": "tolerance",
            "threads": 1,
            "tol": theirs.value.tol,
            "seconds": theirs.best,
            "seconds (median)": theirs.median,
            "epochs": int(theirs.value.n_iter_),
            "objective": reference,
            "objective / LIBLINEAR's": 1.0,
        }
    ]
    for (how, n_jobs), stop in ours.items():
        timing = timings[how, n_jobs]
        reached = our_objective(task, timing.value)
        rows.append(
            {
                **shared,
                "method": "hyperlocal",
                "stopped by": how,
                "threads": n_jobs,
                "tol": stop.tol,
                "seconds": timing.best,
                "seconds (median)": timing.median,
                "epochs": timing.value.n_iter,
                "objective": reached,
                "objective / LIBLINEAR's": reached / reference,
                "times faster": theirs.best / timing.best,
                "times faster (median)": theirs.median / timing.median,
            }
        )
    return rows


def main() -> None:
    """Race on all sets and track."""
    arguments = argument_parser(__doc__, repeats=5).parse_args()
    n_rows = QUICK_ROWS if arguments.quick else None
    rows: list[Row] = []
    for name, standardise in SETS.items():
        rows += race(make_task(name, standardise, arguments.seed, n_rows), arguments.repeats)
    print_table(rows)
    write_result(
        "liblinear_race",
        environment(arguments.seed),
        [rounded(row, 6) for row in rows],
        tracked=not arguments.quick,
    )


if __name__ == "__main__":
    main()
