"""The command line: ``hyperlocal compare`` and ``hyperlocal info``.

Results go to stdout, everything else to stderr. Exit codes: 0, 1 if nothing could be measured,
2 for bad usage or data, 130 after Ctrl-C.

A subcommand is one function that takes the parsed arguments and returns an exit code, and one that
declares its arguments; both stand in ``COMMANDS``. Heavy modules are imported inside the functions,
so that ``--help`` is quick.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .datasets import Dataset
    from .report import Experiment, Row

BAD_USAGE = 2
INTERRUPTED = 130


@dataclass(frozen=True)
class Command:
    """A subcommand: what it does in a line, its arguments, and the function that runs it."""

    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; default: those of the process.

    Examples
    --------
    >>> from hyperlocal.cli import main
    >>> main(["compare", "no-such-file.csv"])
    2
    """
    arguments = build_parser().parse_args(argv)
    _tolerate_narrow_encodings()
    try:
        return COMMANDS[arguments.command].run(arguments)
    except (ValueError, OSError) as error:
        print(f"hyperlocal {arguments.command}: error: {error}", file=sys.stderr)
        return BAD_USAGE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="hyperlocal",
        description="Locally linear support vector machines.",
    )
    parser.add_argument("--version", action="version", version=f"hyperlocal {_own_version()}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=command.help, description=command.help)
        command.add_arguments(subparser)
    return parser


def _own_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hyperlocal")
    except PackageNotFoundError:
        return "(not installed)"


def _tolerate_narrow_encodings() -> None:
    """Print "?" for a "µ" that the terminal's encoding lacks, rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


# compare ------------------------------------------------------------------------------------------


def _add_compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data",
        nargs="?",
        metavar="DATA",
        help="a CSV, LIBSVM or npz file, or the name of a benchmark set such as letter "
        "(default: scikit-learn's digits)",
    )
    parser.add_argument(
        "--target",
        metavar="NAME",
        help="label column of a CSV file, by name or by number from 0 (default: the last)",
    )
    parser.add_argument(
        "--test-size",
        type=_fraction,
        metavar="F",
        help="part of the rows to hold out, if the data has no test part (default: 0.25)",
    )
    parser.add_argument("--seed", type=_seed, default=0, metavar="N", help="(default: 0)")
    parser.add_argument(
        "--jobs",
        type=_jobs,
        default=-1,
        metavar="N",
        help="threads of the locally linear SVMs, -1 for all cores (the default)",
    )
    parser.add_argument(
        "--methods",
        type=_comma_separated,
        metavar="LIST",
        help="some of local-linear, local-quadratic, linear, rbf, boosting, separated by commas "
        "(default: all, without those that would be slow)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quiet", action="store_true", help="no messages, no progress bar")


def _run_compare(arguments: argparse.Namespace) -> int:
    from .report import DEFAULT_TEST_SIZE, contenders, measure, pick_contenders, prepare

    entrants = contenders(seed=arguments.seed, n_jobs=arguments.jobs)
    if arguments.methods is not None:
        entrants = pick_contenders(arguments.methods, entrants)
    data = _load(arguments.data, arguments.target)
    if data.has_test_part and arguments.test_size is not None:
        raise ValueError(f"--test-size: {data.name} has its own test part")
    test_size = DEFAULT_TEST_SIZE if arguments.test_size is None else arguments.test_size
    experiment = prepare(data, test_size=test_size, seed=arguments.seed)
    if not arguments.quiet:
        print(experiment.summary, file=sys.stderr)

    rows = []
    with _progress(len(entrants), quiet=arguments.quiet) as begin:
        for contender in entrants:
            begin(contender.name)
            rows.append(measure(contender, experiment, force=arguments.methods is not None))
    _print_comparison(rows, experiment, arguments)
    return 0 if any(row.accuracy is not None for row in rows) else 1


def _load(source: str | None, target: str | None) -> Dataset:
    """Find the data: a file, else a benchmark set by that name, else the digits."""
    from .datasets import read_table

    if source is not None and os.path.exists(source):
        return read_table(source, target=target)
    data = _digits() if source is None else _benchmark(source)
    if target is not None:
        raise ValueError(f"--target: {data.name} is not a file with columns")
    return data


def _digits() -> Dataset:
    from sklearn.datasets import load_digits

    from .datasets import Dataset

    return Dataset("digits", *load_digits(return_X_y=True))


def _benchmark(name: str) -> Dataset:
    from .datasets import load_dataset

    try:
        return load_dataset(name)
    except ValueError as error:
        raise ValueError(f"no file {name!r}, and {error}") from error


def _print_comparison(
    rows: Sequence[Row], experiment: Experiment, arguments: argparse.Namespace
) -> None:
    if not arguments.json:
        from .report import format_table

        print(format_table(rows))
        return
    import json
    from dataclasses import asdict

    print(
        json.dumps(
            {
                "data": experiment.name,
                "n_train": experiment.X_train.shape[0],
                "n_test": experiment.X_test.shape[0],
                "n_features": experiment.X_train.shape[1],
                "seed": arguments.seed,
                "rows": [asdict(row) for row in rows],
            },
            indent=2,
        )
    )


def _fraction(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, not {text}")
    return value


def _seed(text: str) -> int:
    value = int(text)
    if not 0 <= value < 2**32:
        raise argparse.ArgumentTypeError(f"must be from 0 to 2**32 - 1, not {text}")
    return value


def _jobs(text: str) -> int:
    value = int(text)
    if value == 0 or value < -1:
        raise argparse.ArgumentTypeError(f"must be -1 or at least 1, not {text}")
    return value


def _comma_separated(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


# Progress -----------------------------------------------------------------------------------------


@contextmanager
def _progress(total: int, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Yield a function to call with the name of each step as it begins.

    A bar if stderr is a terminal and rich is installed, else a line per step.
    """
    if quiet:
        yield lambda name: None
        return
    bar = _rich_progress() if sys.stderr.isatty() else None
    if bar is None:
        yield lambda name: print(f"fitting {name} …", file=sys.stderr, flush=True)
        return
    with bar:
        task = bar.add_task("", total=total)
        n_begun = 0

        def begin(name: str) -> None:
            nonlocal n_begun
            bar.update(task, description=name, completed=n_begun)
            n_begun += 1

        yield begin


def _rich_progress() -> Any:
    """Return a progress bar on stderr, or None without rich."""
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        return None
    return Progress(console=Console(stderr=True), transient=True)


# info ---------------------------------------------------------------------------------------------


def _add_info_arguments(parser: argparse.ArgumentParser) -> None:
    """``hyperlocal info`` takes none."""


def _run_info(arguments: argparse.Namespace) -> int:
    import platform
    from importlib.metadata import version

    facts = {
        "hyperlocal": _own_version(),
        **{package: version(package) for package in ("numpy", "scipy", "scikit-learn")},
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": str(os.cpu_count()),
        "compiled core": _core_in_use(),
    }
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        print(f"{name.ljust(width)}  {value}")
    return 0


def _core_in_use() -> str:
    try:
        from ._core import INSTRUCTION_SET
    except ImportError as error:
        return f"missing ({error})"
    return INSTRUCTION_SET


COMMANDS = {
    "compare": Command(
        "fit locally linear SVMs beside other classifiers and print a table",
        _add_compare_arguments,
        _run_compare,
    ),
    "info": Command(
        "print versions, platform and the compiled core in use",
        _add_info_arguments,
        _run_info,
    ),
}
