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
    Outcome,
    format_table,
    prepare,
    run,
    write_page,
)
from ..compare.experiment import DEFAULT_TEST_SIZE
from ..compare.methods import OTHER_METHODS
from ..compare.metrics import METRICS
from ..datasets import Dataset, load_dataset, read_table
from .options import (
    FORMATS,
    TARGET_HELP,
    Command,
    UsageError,
    add_output_switches,
    add_seed_and_jobs,
    add_table_options,
    check_folder,
    comma_separated,
    encoder_of,
    file_argument,
    fraction,
    methods_named,
    one_of,
    print_json,
    print_notes,
    say,
)
from .progress import steps


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    file_argument(
        parser,
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
    add_table_options(parser)
    add_seed_and_jobs(parser)
    parser.add_argument(
        "--methods",
        type=comma_separated,
        metavar="LIST",
        help="keys of methods, separated by commas (default: the first group below, without those "
        "that are expected to take more than a minute)",
    )
    parser.add_argument(
        "--metric",
        type=one_of([name.replace("_", "-") for name in METRICS]),
        default="accuracy",
        metavar="NAME",
        help="what is shown and drawn: accuracy (the default), balanced-accuracy, auc, "
        "average-precision or log-loss",
    )
    file_argument(
        parser,
        "--report",
        metavar="FILE",
        help="also write a self-contained HTML page with pictures",
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
    encoder = encoder_of(arguments)
    data = load(arguments.data, arguments.target)
    if data.has_test_part and arguments.test_size is not None:
        raise UsageError(f"--test-size: {data.name} has its own test part")
    seed, quiet = arguments.seed, arguments.quiet
    experiment = prepare(
        data,
        test_size=arguments.test_size or DEFAULT_TEST_SIZE,
        seed=seed,
        encoder=encoder,
        task=arguments.task,
        positive=arguments.positive,
    )
    say(experiment.summary, quiet=quiet)
    print_notes(experiment.notes, quiet=quiet)
    outcomes: list[Outcome] = []
    interrupted = False
    try:
        with steps(len(methods), quiet=quiet) as begin:
            for method in methods:
                begin(method.label)
                outcomes.append(
                    run(method, experiment, seed=seed, n_jobs=arguments.jobs, force=force)
                )
    except KeyboardInterrupt:
        interrupted = True
    _show(arguments, experiment, outcomes)
    if interrupted:
        raise KeyboardInterrupt
    return 0 if any(outcome.row.accuracy is not None for outcome in outcomes) else 1


def _show(
    arguments: argparse.Namespace, experiment: Experiment, outcomes: Sequence[Outcome]
) -> None:
    metric = arguments.metric.replace("-", "_")
    rows = [outcome.row for outcome in outcomes]
    if arguments.json:
        print_json(
            {
                "data": experiment.name,
                "n_train": experiment.X_train.shape[0],
                "n_test": experiment.X_test.shape[0],
                "n_features": experiment.X_train.shape[1],
                "seed": arguments.seed,
                "notes": experiment.notes,
                "rows": [asdict(row) for row in rows],
            }
        )
    elif rows:
        print(format_table(rows, list(dict.fromkeys(["accuracy", metric]))))
    if arguments.report is not None and rows:
        with steps(1, quiet=arguments.quiet, verb="drawing") as begin:
            begin(arguments.report)
            write_page(arguments.report, experiment, outcomes, seed=arguments.seed, metric=metric)
        say(f"wrote {arguments.report}", quiet=arguments.quiet)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.methods is None:
        return run_with(arguments, DEFAULT_METHODS, force=False)
    return run_with(arguments, methods_named(arguments.methods), force=True)


def load(source: str | None, target: str | None) -> Dataset:
    """Find the data: a file, else a benchmark set by that name, else the digits."""
    if source is not None and (source == "-" or os.path.exists(source)):
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


COMMAND = Command(
    "fit local SVMs and other classifiers to the same rows, print a table, write a page",
    _add_arguments,
    _run,
)
