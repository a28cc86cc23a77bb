"""Time and memory of the command line on a table of a million rows and 30 mixed columns.

    python -m benchmarks.table_files

The table has 18 numbers (a tenth of the cells of four of them are missing), eight categories of 3
to 60 values, two dates, an id and free text, as a CSV file. ``hyperlocal fit`` and ``predict`` are
run on it in fresh processes, whole and with ``--stream``. Memory is the peak of each process;
seconds of the processor are those of all its threads, which other programs change less.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from hyperlocal.cli import main as hyperlocal

from .common import (
    Row,
    argument_parser,
    environment,
    in_fresh_process,
    peak_bytes,
    print_table,
    rounded,
    write_result,
)

GIGABYTE = 1e9
N_ROWS = 1_000_000
ROWS_AT_A_TIME = 50_000
METHOD = "locally-linear-identity"
COMMANDS = {
    "fit": ["fit", "{data}", "--target", "label", "-o", "{model}", "--method", METHOD],
    "predict": ["predict", "{model}", "{data}", "-o", "{labels}"],
}


def write_table(path: Path, n_rows: int, seed: int) -> None:
    """Write the file, some rows at a time."""
    rng = np.random.default_rng(seed)
    sizes = [3, 4, 5, 8, 12, 20, 40, 60]
    effects = [rng.normal(size=size) for size in sizes]
    for begin in range(0, n_rows, ROWS_AT_A_TIME):
        n = min(ROWS_AT_A_TIME, n_rows - begin)
        numbers = rng.normal(size=(n, 18)).round(4)
        codes = [rng.integers(size, size=n) for size in sizes]
        score = numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + effects[0][codes[0]]
        table = pd.DataFrame({"customer_id": np.arange(begin, begin + n) * 7 + 10_000})
        for j, column in enumerate(numbers.T):
            table[f"number {j}"] = column
            if j % 5 == 0:
                table.loc[rng.random(n) < 0.1, f"number {j}"] = np.nan
        for size, code in zip(sizes, codes, strict=True):
            table[f"kind of {size}"] = np.array([f"value {k}" for k in range(size)])[code]
        for name in ("since", "last seen"):
            days = rng.integers(3000, size=n).astype("timedelta64[D]")
            table[name] = np.datetime64("2015-01-01") + days
        table["comment"] = [f"row {row} says {word}" for row, word in enumerate(rng.random(n))]
        table["label"] = np.where(score + rng.normal(size=n) > 0.5, "yes", "no")
        table.to_csv(path, mode="a", header=begin == 0, index=False)


def run_once(arguments: argparse.Namespace) -> Row:
    """One command; its seconds and the peak of the process."""
    files = {name: str(Path(arguments.folder, name)) for name in ("data", "model", "labels")}
    command = [part.format(**files) for part in COMMANDS[arguments.command]]
    extra = ["--stream", "--folder", arguments.folder] if arguments.stream else []
    before = peak_bytes()
    start, start_cpu = time.perf_counter(), time.process_time()
    if hyperlocal([*command, *extra, "--quiet"]):
        raise RuntimeError(f"{command} failed")
    return {
        "s": time.perf_counter() - start,
        "CPU s": time.process_time() - start_cpu,
        "peak GB": peak_bytes() / GIGABYTE,
        "before GB": before / GIGABYTE,
    }


def study(n_rows: int, seed: int, folder: str | None) -> list[Row]:
    """All commands, whole and in blocks."""
    rows = []
    with tempfile.TemporaryDirectory(dir=folder) as working:
        write_table(Path(working, "data"), n_rows, seed)
        size = Path(working, "data").stat().st_size / GIGABYTE
        for command in COMMANDS:
            for stream in (False, True):
                typed = ["--one", "--folder", working, "--command", command]
                found = in_fresh_process([*typed, *["--stream"] * stream])
                how = "in blocks" if stream else "whole"
                row = {"command": command, "read": how, "rows": n_rows, "file GB": size}
                rows.append({**row, **found})
    return rows


def main() -> None:
    """Run the study, or the one command that it asks a fresh process for."""
    parser = argument_parser(__doc__, repeats=1)
    parser.add_argument("--folder", help="where to write (default: among temporary files)")
    parser.add_argument("--command", choices=COMMANDS, help=argparse.SUPPRESS)
    parser.add_argument("--stream", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(run_once(arguments)))
        return
    n_rows = N_ROWS // 50 if arguments.quick else N_ROWS
    rows = study(n_rows, arguments.seed, arguments.folder)
    print_table(rows)
    write_result(
        "table_files", environment(arguments.seed), map(rounded, rows), tracked=not arguments.quick
    )


if __name__ == "__main__":
    main()
