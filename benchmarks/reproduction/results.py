"""What was measured: a CSV that grows by a line per fit, and a record of each run beside it."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TextIO

from .table import Cell

TRACKED = "tracked"  # the plan of a result that another benchmark measured


@dataclass(frozen=True)
class Result:
    """A measured cell, or the mean of several that were measured elsewhere."""

    set: str
    method: str
    repeat: int
    error: float  #: on the test rows, in %
    deviation: float | None = None  #: over the runs, if this is a mean
    runs: int = 1
    fit_seconds: float | None = None  #: of processor time, one thread
    predict_seconds: float | None = None  #: for all test rows
    n_train: int | None = None
    n_test: int | None = None
    n_numbers: int | None = None  #: that the model needs to predict
    settings: str = ""  #: as JSON
    validation_error: float | None = None
    choosing_seconds: float | None = None
    note: str = ""
    plan: str = ""  #: the cell's digest, or ``TRACKED``
    run: int = 0  #: the record in ``runs.json``

    @property
    def key(self) -> tuple[str, str, int]:
        """The cell it belongs to."""
        return self.set, self.method, self.repeat


class ResultsFolder:
    """Results of one table: ``results.csv`` and ``runs.json``."""

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self.results_path = self.folder / "results.csv"
        self.runs_path = self.folder / "runs.json"

    def read(self) -> list[Result]:
        """All results; of a cell that was measured again, the last."""
        if not self.results_path.exists():
            return []
        with self.results_path.open(encoding="utf-8", newline="") as file:
            found = [_parsed(row) for row in csv.DictReader(file)]
        return list({result.key: result for result in found}.values())

    def append(self, result: Result) -> None:
        """Add one result. A line is written at once, so that an interrupted run loses nothing."""
        if not self.results_path.exists():
            self.write([])
        with self.results_path.open("a", encoding="utf-8", newline="") as file:
            _writer(file).writerow(_texts(result))

    def write(self, results: Iterable[Result]) -> None:
        """Write all results anew."""
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = self.results_path.with_suffix(".partial")
        with partial.open("w", encoding="utf-8", newline="") as file:
            writer = _writer(file)
            writer.writeheader()
            writer.writerows(map(_texts, results))
        os.replace(partial, self.results_path)

    def is_done(self, cell: Cell, results: Iterable[Result]) -> bool:
        """Whether the cell was measured as it is planned now."""
        return any(
            (one.set, one.method, one.plan) == (cell.set.name, cell.method.key, TRACKED)
            or (one.key == cell.key and one.plan == cell.digest)
            for one in results
        )

    def runs(self) -> list[dict[str, Any]]:
        """Records of all runs: command, date, versions, machine."""
        return json.loads(self.runs_path.read_text()) if self.runs_path.exists() else []

    def add_run(self, record: dict[str, Any]) -> int:
        """Keep the record of a new run; return its number."""
        self.folder.mkdir(parents=True, exist_ok=True)
        runs = self.runs()
        number = 1 + max((run["run"] for run in runs), default=0)
        text = json.dumps([*runs, {"run": number, **record}], indent=1, ensure_ascii=False)
        partial = self.runs_path.with_suffix(".partial")
        partial.write_text(text + "\n", encoding="utf-8")
        os.replace(partial, self.runs_path)
        return number


def _parsed(row: dict[str, str]) -> Result:
    values: dict[str, Any] = {}
    for field in fields(Result):
        text = row.get(field.name, "")
        if field.type == "str":
            values[field.name] = text
        elif text != "":
            values[field.name] = float(text) if "float" in str(field.type) else int(text)
    return Result(**values)


def _writer(file: TextIO) -> csv.DictWriter:
    names = [field.name for field in fields(Result)]
    return csv.DictWriter(file, names, lineterminator="\n")


def _texts(result: Result) -> dict[str, Any]:
    return {
        name: f"{value:.6g}" if isinstance(value, float) else value
        for name, value in asdict(result).items()
    }
