"""What all benchmarks share: arguments, the record, timing, memory, tables, results."""

from __future__ import annotations

import argparse
import json
import resource
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from .environment import digests, loaded_packages, machine, versions

RESULTS = Path(__file__).parent / "results"
MEGABYTE = 1e6

Row = dict[str, Any]


# ---- arguments -----------------------------------------------------------------------------------


def argument_parser(summary: str | None, *, repeats: int) -> argparse.ArgumentParser:
    """A parser with the arguments every benchmark takes, so that all are run alike."""
    parser = plain_parser(summary)
    parser.add_argument("--seed", type=int, default=0, help="seeds data, anchors and visits")
    parser.add_argument("--repeats", type=int, default=repeats, help="runs of what is timed")
    parser.add_argument(
        "--quick", action="store_true", help="a small version, to see that it works; not tracked"
    )
    return parser


def plain_parser(summary: str | None) -> argparse.ArgumentParser:
    """A parser without arguments; the first line of the summary describes the script."""
    about = (summary or "").splitlines()[0]
    return argparse.ArgumentParser(prog=f"python -m {script_name()}", description=about)


# ---- the record ----------------------------------------------------------------------------------


def environment(seed: int | None = None, peers: Sequence[str] = ()) -> Row:
    """What a reader needs to repeat a result: command, date, versions, machine, digests of code."""
    return {
        "command": command(),
        "seed": seed,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(peers),
        "machine": machine(),
        "code": digests(loaded_packages()),
    }


def script_name() -> str:
    """The module that was run, such as ``benchmarks.mnist``."""
    return f"benchmarks.{Path(sys.argv[0]).stem}"


def command() -> str:
    """The command line as typed in the project's folder."""
    return shlex.join(["python", "-m", script_name(), *sys.argv[1:]])


def write_result(name: str, record: Row, rows: Iterable[Row], *, tracked: bool = True) -> None:
    """Keep a run as ``results/NAME.json``, one row per line so that differences are readable."""
    if not tracked:
        return
    RESULTS.mkdir(exist_ok=True)
    head = json.dumps(record, indent=2, ensure_ascii=False).removesuffix("\n}")
    lines = ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in rows)
    text = f'{head},\n  "rows": [\n{lines}\n  ]\n}}\n'
    (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")


def read_result(name: str) -> Row:
    """A tracked result."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


# ---- timing --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Timing:
    """Seconds of several runs of one thing, and what the last run returned."""

    seconds: tuple[float, ...]
    value: Any

    @property
    def best(self) -> float:
        """The least disturbed run: what to compare by on a machine that others use too."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The typical run."""
        return statistics.median(self.seconds)


def timed(function: Callable[[], Any], repeats: int = 1) -> Timing:
    """Run a function several times."""
    seconds, value = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        value = function()
        seconds.append(time.perf_counter() - start)
    return Timing(tuple(seconds), value)


def timed_in_turns(functions: dict[Any, Callable[[], Any]], repeats: int) -> dict[Any, Timing]:
    """Run functions one after the other, round after round: a busy minute then slows them all."""
    rounds = [{name: timed(run) for name, run in functions.items()} for _ in range(repeats)]
    return {
        name: Timing(tuple(one[name].seconds[0] for one in rounds), rounds[-1][name].value)
        for name in functions
    }


@contextmanager
def stage_seconds(stages: dict[str, tuple[Any, str]]) -> Iterator[dict[str, float]]:
    """Add up the time spent in named functions, given as (module or class, attribute).

    They are wrapped where they are looked up, so the code that calls them runs as it is.
    """
    seconds = dict.fromkeys(stages, 0.0)

    def clocked(stage: str, function: Callable) -> Callable:
        def call(*arguments: Any, **named: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                seconds[stage] += time.perf_counter() - start

        return call

    with ExitStack() as stack:
        for stage, (owner, attribute) in stages.items():
            wrapped = clocked(stage, getattr(owner, attribute))
            stack.enter_context(patch.object(owner, attribute, wrapped))
        yield seconds


# ---- memory --------------------------------------------------------------------------------------


def peak_bytes() -> int:
    """The most memory this process has ever held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def in_fresh_process(arguments: Sequence[str]) -> Row:
    """Run this script again with other arguments and read the JSON it prints.

    A peak of memory belongs to a process: only a fresh one has no earlier peak to hide a later
    one. (Linux lets a child inherit its parent's peak, so the parent must stay small.)
    """
    run = subprocess.run(
        [sys.executable, "-m", script_name(), *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(run.stdout)


# ---- words ---------------------------------------------------------------------------------------

RATIO = "times faster"  # in the name of a column: seconds of the peer over ours


def speed(ratio: float | None) -> str:
    """A ratio of seconds in words: what is slower is called slower.

    Examples
    --------
    >>> from benchmarks.common import speed
    >>> speed(12.3), speed(0.48), speed(1.003), speed(340.2)
    ('12 times faster', '2.1 times slower', 'as fast', '340 times faster')
    """
    if ratio is None:
        return ""
    times, word = (ratio, "faster") if ratio >= 1 else (1 / ratio, "slower")
    if times < 1.05:
        return "as fast"
    return f"{times:.0f} times {word}" if times >= 100 else f"{times:.2g} times {word}"


def in_words(row: Row) -> Row:
    """A row whose ratios are words, under a heading that fits both faster and slower."""
    is_ratio = row.get("method") == RATIO
    found: Row = {}
    for key, value in row.items():
        if isinstance(value, float) and (is_ratio or RATIO in key):
            value = speed(value)
        found[key.replace(RATIO, "speed")] = "speed" if value == RATIO else value
    return found


# ---- tables --------------------------------------------------------------------------------------


def print_table(rows: Sequence[Row], title: str = "") -> None:
    """Print rows under aligned headings, numbers to the right."""
    if title:
        print(f"\n{title}")
    if not rows:
        return
    rows = [in_words(row) for row in rows]
    headings = columns_of(rows)
    cells = [[shown(row.get(heading, "")) for heading in headings] for row in rows]
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    is_text = [_is_text(rows, heading) for heading in headings]
    for line in [headings, ["-" * width for width in widths], *cells]:
        padded = [
            cell.ljust(width) if text else cell.rjust(width)
            for cell, width, text in zip(line, widths, is_text, strict=True)
        ]
        print("  ".join(padded).rstrip())
    sys.stdout.flush()


def markdown_table(rows: Sequence[Row]) -> str:
    """The same table for a markdown page."""
    rows = [in_words(row) for row in rows]
    headings = columns_of(rows)
    rule = [":---" if _is_text(rows, heading) else "---:" for heading in headings]
    body = [[shown(row.get(heading, "")) for heading in headings] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in [headings, rule, *body])


def columns_of(rows: Sequence[Row]) -> list[str]:
    """All keys of the rows, in the order in which they first occur."""
    return list(dict.fromkeys(key for row in rows for key in row))


def shown(value: Any) -> str:
    """A cell, with four significant digits."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _is_text(rows: Sequence[Row], heading: str) -> bool:
    return any(isinstance(row.get(heading), str) and row[heading] for row in rows)


def rounded(row: Row, digits: int = 4) -> Row:
    """A row whose floats keep so many significant digits."""
    return {
        key: float(f"{value:.{digits}g}") if isinstance(value, float) else value
        for key, value in row.items()
    }


def light_gbm(seed: int, n_jobs: int = 1, regression: bool = False, **options: Any) -> Any:
    """LightGBM's classifier or regression; tests import the scripts without it."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMRegressor if regression else LGBMClassifier)(
        random_state=seed, n_jobs=n_jobs, verbose=-1, **options
    )
