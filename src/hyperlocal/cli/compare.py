"""``hyperlocal compare``: classifiers side by side on one data set."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import asdict

from sklearn.datasets import load_digits

from ..compare import (
    DEFAULT_METHODS,
    Experiment,
    Method,
    Row,
    format_table,
    prepare,
    run,
    write_page,
)
from ..compare.methods import OTHER_METHODS
from ..compare.run import DEFAULT_TEST_SIZE
from ..datasets import Dataset, load_dataset, read_table
from .options import (
    FORMATS,
    TARGET_HELP,
    Command,
    UsageError,
    add_output_switches,
    add_seed_and_jobs,
    check_folder,
    comma_separated,
    fraction,
    methods_named,
    print_json,
    say,
)
from .progress import steps


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
        help="keys of methods, separated by commas (default: the first group below, without those "
        "that would be slow)",
    )
    parser.add_argument(
        "--report", metavar="FILE", help="also write a self-contained HTML page with pictures"
    )
    add_output_switches(parser)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = f"methods:\n{_listed(DEFAULT_METHODS)}\n\n{_listed(OTHER_METHODS)}"


def _listed(methods: Sequence[Method]) -> str:
    return "\n".join(f"  {method.key:24}{method.label}" for method in methods)


def run_with(arguments: argparse.Namespace, methods: Sequence[Method], *, force: bool) -> int:
    """Compare these methods; with ``force``, those too that would be slow."""
    if arguments.report is not None:
        check_folder("--report", os.path.dirname(arguments.report))
    data = load(arguments.data, arguments.target)
    if data.has_test_part and arguments.test_size is not None:
        raise UsageError(f"--test-size: {data.name} has its own test part")
    seed, quiet = arguments.seed, arguments.quiet
    experiment = prepare(data, test_size=arguments.test_size or DEFAULT_TEST_SIZE, seed=seed)
    say(experiment.summary, quiet=quiet)
    outcomes = []
    with steps(len(methods), quiet=quiet) as begin:
        for method in methods:
            begin(method.label)
            outcomes.append(run(method, experiment, seed=seed, n_jobs=arguments.jobs, force=force))
    rows = [outcome.row for outcome in outcomes]
    if arguments.json:
        print_json(_facts(rows, experiment, seed))
    else:
        print(format_table(rows))
    if arguments.report is not None:
        with steps(1, quiet=quiet, verb="drawing") as begin:
            begin(arguments.report)
            write_page(arguments.report, experiment, outcomes, seed=seed)
        say(f"wrote {arguments.report}", quiet=quiet)
    return 0 if any(row.accuracy is not None for row in rows) else 1


def _run(arguments: argparse.Namespace) -> int:
    if arguments.methods is None:
        return run_with(arguments, DEFAULT_METHODS, force=False)
    return run_with(arguments, methods_named(arguments.methods), force=True)


def load(source: str | None, target: str | None) -> Dataset:
    """Find the data: a file, else a benchmark set by that name, else the digits."""
    if source is not None and os.path.exists(source):
        return read_table(source, target=target)
    data = _digits() if source is None else _benchmark(source)
    if target is not None:
        raise UsageError(f"--target: {data.name} is not a file with columns")
    return data


def _digits() -> Dataset:
    digits = load_digits()
    return Dataset("digits", digits.data, digits.target, feature_names=tuple(digits.feature_names))


def _benchmark(name: str) -> Dataset:
    try:
        return load_dataset(name)
    except ValueError as error:
        raise ValueError(f"no file {name!r}, and {error}") from error


def _facts(rows: Sequence[Row], experiment: Experiment, seed: int) -> dict[str, object]:
    return {
        "data": experiment.name,
        "n_train": experiment.X_train.shape[0],
        "n_test": experiment.X_test.shape[0],
        "n_features": experiment.X_train.shape[1],
        "seed": seed,
        "rows": [asdict(row) for row in rows],
    }


COMMAND = Command(
    "fit local SVMs and other classifiers to the same rows, print a table, write a page",
    _add_arguments,
    _run,
)
