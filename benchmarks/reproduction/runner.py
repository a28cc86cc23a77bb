"""Run a table: choose, fit, time and record each cell that is not recorded yet."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from hyperlocal.export.sizes import count_numbers

from ..environment import machine, versions
from .adapters import Settings, make_estimator
from .choosing import Choice, choose, error_percent, fit_quietly
from .results import Result, ResultsFolder
from .rows import Rows, load_rows
from .table import Cell, Table

Begin = Callable[[str], None]
# Short predictions are timed again: the best counts.
PREDICTIONS, ENOUGH_SECONDS = 5, 0.5


def pending(table: Table, folder: ResultsFolder, *, again: bool = False) -> list[Cell]:
    """The cells that can be measured here, and are not yet; with ``again``, all of them."""
    done = [] if again else folder.read()
    return [
        cell
        for cell in table.cells()
        if cell.method.entry.package.is_installed and not folder.is_done(cell, done)
    ]


def not_installed(table: Table) -> list[str]:
    """Packages of methods that cannot be measured here."""
    packages = {plan.entry.package for plan in table.methods}
    return sorted(package.name for package in packages if not package.is_installed)


def run(
    table: Table,
    folder: ResultsFolder,
    *,
    command: str,
    begin: Begin = lambda name: None,
    again: bool = False,
) -> list[Result]:
    """Measure what is pending and return all results of the table.

    With ``again`` what was measured is fitted anew, with the settings chosen then: so that all
    seconds are of one machine. Everything runs in one thread, and seconds are processor time: what
    else the machine does then matters little.
    """
    cells = pending(table, folder, again=again)
    if cells:
        peers = {plan.entry.package.name for plan in table.methods}
        number = folder.add_run(_record(command, sorted(peers)))
    loaded: tuple[Any, Rows] | None = None
    _limit_intelex()
    with threadpool_limits(1):
        for cell in cells:
            begin(f"{cell.method.name} on {cell.set.name}, run {cell.repeat + 1}")
            rows_key = (cell.set.name, cell.repeat if cell.set.train_share is not None else 0)
            if loaded is None or loaded[0] != rows_key:
                loaded = rows_key, load_rows(cell.set, cell.repeat)
            folder.append(measure(cell, table, loaded[1], folder.read(), number))
    wanted = {cell.key for cell in table.cells()}
    return [result for result in folder.read() if result.key in wanted]


def _record(command: str, peers: Sequence[str]) -> dict[str, Any]:
    return {
        "command": command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions([peer for peer in peers if peer not in versions()]),
        "machine": machine(),
    }


def _limit_intelex() -> None:
    """Let scikit-learn-intelex use one thread: its pool is not one that threadpoolctl knows."""
    try:
        from daal4py import daalinit
    except ImportError:
        return
    daalinit(1)


def measure(cell: Cell, table: Table, rows: Rows, earlier: Sequence[Result], number: int) -> Result:
    """Choose settings on the training rows, fit all of them, and time the test rows.

    What was chosen earlier for the same rows is not chosen again.
    """
    start = time.process_time()
    choice, note = _choice(cell, table, rows, earlier), ""
    known = next((result for result in earlier if _is_run_of(result, cell)), None)
    choosing_seconds = known.choosing_seconds if known else time.process_time() - start
    model = make_estimator(cell.method.entry, choice.settings, rows.X_train, cell.repeat)
    start = time.process_time()
    if not fit_quietly(model, rows.X_train, rows.y_train):
        note = "did not converge"
    fit_seconds = time.process_time() - start
    predicted, predict_seconds = _timed_predictions(model, rows.X_test)
    return Result(
        *cell.key,
        error=error_percent(predicted, rows.y_test),
        fit_seconds=fit_seconds,
        predict_seconds=predict_seconds,
        n_train=len(rows.y_train),
        n_test=len(rows.y_test),
        n_numbers=count_numbers(model[-1]),
        settings=json.dumps(choice.settings),
        validation_error=choice.validation_error,
        choosing_seconds=choosing_seconds,
        note=note,
        plan=cell.digest,
        run=number,
    )


def _is_run_of(result: Result, cell: Cell, repeat: int | None = None) -> bool:
    """Whether it is a result of the cell (or of another repeat) as it is planned now."""
    key = (cell.set.name, cell.method.key, cell.repeat if repeat is None else repeat)
    return result.key == key and result.plan == cell.digest and bool(result.settings)


def _choice(cell: Cell, table: Table, rows: Rows, earlier: Sequence[Result]) -> Choice:
    """Choose anew for other training rows; for the same ones, keep what was chosen."""
    first = None if cell.set.train_share is not None else 0  # rows that all repeats share
    for result in earlier:
        if _is_run_of(result, cell) or (first == 0 and _is_run_of(result, cell, first)):
            settings: Settings = json.loads(result.settings)
            return Choice(settings, result.validation_error)
    return choose(
        cell.method,
        cell.set,
        rows.X_train,
        rows.y_train,
        n_folds=table.folds,
        n_finalists=table.finalists,
        seed=cell.repeat,
    )


def _timed_predictions(model: Any, X: np.ndarray) -> tuple[np.ndarray, float]:
    times: list[float] = []
    while not times or (len(times) < PREDICTIONS and sum(times) < ENOUGH_SECONDS):
        start = time.process_time()
        predicted = model.predict(X)
        times.append(time.process_time() - start)
    return predicted, min(times)
