"""``hyperlocal compare``: classifiers side by side on one data set."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .options import (
    FORMATS,
    TARGET_HELP,
    Command,
    UsageError,
    add_output_switches,
    add_seed_and_jobs,
    comma_separated,
    fraction,
    print_json,
    say,
)
from .progress import steps

if TYPE_CHECKING:
    from ..compare.report import Contender, Experiment, Row
    from ..datasets import Dataset


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data",
        nargs="?",
        metavar="DATA",
        help=f"a {FORMATS}, or the name of a benchmark set such as letter "
        "(default: scikit-learn's digits)",
    )
    parser.add_argument("--target", metavar="NAME", help=f"{TARGET_HELP} (default: the last)")
    parser.add_argument(
        "--test-size",
        type=fraction,
        metavar="F",
        help="part of the rows to hold out, if the data has no test part (default: 0.25)",
    )
    add_seed_and_jobs(parser)
    parser.add_argument(
        "--methods",
        type=comma_separated,
        metavar="LIST",
        help="some of local-linear, local-quadratic, tuned, supervised-anchors, second-look, "
        "local-coding, landmark, clustered, profile, local-deep, latent, neighborhood, linear, "
        "rbf, boosting, separated by commas (default: all, without those that would be slow)",
    )
    parser.add_argument(
        "--report", metavar="FILE", help="also write a self-contained HTML page with pictures"
    )
    add_output_switches(parser)


def _run(arguments: argparse.Namespace) -> int:
    from ..compare import report

    entrants = report.contenders(seed=arguments.seed, n_jobs=arguments.jobs)
    if arguments.methods is not None:
        entrants = pick(arguments.methods, entrants)
    _check_writable(arguments.report)
    data = load(arguments.data, arguments.target)
    if data.has_test_part and arguments.test_size is not None:
        raise UsageError(f"--test-size: {data.name} has its own test part")
    test_size = arguments.test_size or report.DEFAULT_TEST_SIZE
    experiment = report.prepare(data, test_size=test_size, seed=arguments.seed)
    say(experiment.summary, quiet=arguments.quiet)

    outcomes = []
    with steps(len(entrants), quiet=arguments.quiet) as begin:
        for contender in entrants:
            begin(contender.name)
            force = arguments.methods is not None
            outcomes.append(report.run(contender, experiment, force=force))
    rows = [outcome.row for outcome in outcomes]
    _print(rows, experiment, arguments)
    if arguments.report is not None:
        from ..compare import write_page

        with steps(1, quiet=arguments.quiet, verb="drawing") as begin:
            begin(arguments.report)
            write_page(arguments.report, experiment, outcomes, seed=arguments.seed)
        say(f"wrote {arguments.report}", quiet=arguments.quiet)
    return 0 if any(row.accuracy is not None for row in rows) else 1


def _check_writable(path: str | None) -> None:
    """Fail before the work rather than after it."""
    if path is not None and not os.path.isdir(os.path.dirname(path) or "."):
        raise ValueError(f"--report: no folder {os.path.dirname(path)!r}; make it first")


def pick(keys: Sequence[str], available: Sequence[Contender]) -> list[Contender]:
    """The contenders with these keys."""
    from ..compare.report import pick_contenders

    try:
        return pick_contenders(keys, available)
    except ValueError as error:
        raise UsageError(str(error)) from error


def load(source: str | None, target: str | None) -> Dataset:
    """Find the data: a file, else a benchmark set by that name, else the digits."""
    from ..datasets import read_table

    if source is not None and os.path.exists(source):
        return read_table(source, target=target)
    data = _digits() if source is None else _benchmark(source)
    if target is not None:
        raise UsageError(f"--target: {data.name} is not a file with columns")
    return data


def _digits() -> Dataset:
    from sklearn.datasets import load_digits

    from ..datasets import Dataset

    digits = load_digits()
    return Dataset("digits", digits.data, digits.target, feature_names=tuple(digits.feature_names))


def _benchmark(name: str) -> Dataset:
    from ..datasets import load_dataset

    try:
        return load_dataset(name)
    except ValueError as error:
        raise ValueError(f"no file {name!r}, and {error}") from error


def _print(rows: Sequence[Row], experiment: Experiment, arguments: argparse.Namespace) -> None:
    if not arguments.json:
        from ..compare.report import format_table

        print(format_table(rows))
        return
    from dataclasses import asdict

    print_json(
        {
            "data": experiment.name,
            "n_train": experiment.X_train.shape[0],
            "n_test": experiment.X_test.shape[0],
            "n_features": experiment.X_train.shape[1],
            "seed": arguments.seed,
            "rows": [asdict(row) for row in rows],
        }
    )


COMMAND = Command(
    "fit local SVMs beside other classifiers, print a table, and write a page about them",
    _add_arguments,
    _run,
)
