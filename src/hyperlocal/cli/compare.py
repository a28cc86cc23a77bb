"""``hyperlocal compare``: classifiers or regressors side by side on one data set."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import asdict

from sklearn.datasets import load_digits

from ..compare import Experiment, Method, Outcome, format_table, prepare, run, write_page
from ..compare.experiment import DEFAULT_TEST_SIZE
from ..compare.methods import default_methods, methods_of
from ..compare.metrics import METRICS, metrics_of
from ..compare.targets import CLASSIFICATION, REGRESSION
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
        help="keys of methods, separated by commas (default: the first lines of each list below, "
        "without those that are expected to take more than a minute)",
    )
    parser.add_argument(
        "--metric",
        type=one_of([name.replace("_", "-") for name in METRICS]),
        metavar="NAME",
        help="what is shown and drawn: accuracy (the default), balanced-accuracy, auc, "
        "average-precision or log-loss; of numbers: r2 (the default), rmse or mae",
    )
    file_argument(
        parser,
        "--report",
        metavar="FILE",
        help="also write a self-contained HTML page with pictures",
    )
    add_output_switches(parser)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n\n".join(
        f"{what}:\n{_listed(task)}"
        for task, what in ((CLASSIFICATION, "methods"), (REGRESSION, "methods for numbers"))
    )


def _listed(task: str) -> str:
    asked_for = set(methods_of(task).values()) - set(default_methods(task))
    return "\n".join(
        f"  {method.key:25}{method.help}{' (if named)' if method in asked_for else ''}"
        for method in methods_of(task).values()
    )


def run_with(
    arguments: argparse.Namespace, methods: Sequence[Method] | None = None, *, force: bool = False
) -> int:
    """Compare these methods; with ``force``, those too that would be slow."""
    if arguments.methods is not None:
        methods_named(arguments.methods, arguments.task)  # errors come before the file is read
    if arguments.task != "auto":
        _metric(arguments, arguments.task)
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
    metric = _metric(arguments, experiment.task)
    if arguments.methods is not None:
        methods, force = methods_named(arguments.methods, experiment.task), True
    elif methods is None:
        methods = default_methods(experiment.task)
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
    _show(arguments, experiment, outcomes, metric)
    if interrupted:
        raise KeyboardInterrupt
    return 0 if any(outcome.row.is_measured for outcome in outcomes) else 1


def _metric(arguments: argparse.Namespace, task: str) -> str:
    """The metric that was asked for, or the default of the task."""
    known = metrics_of(task)
    metric = (arguments.metric or known[0]).replace("-", "_")
    if metric not in known:
        names = ", ".join(name.replace("_", "-") for name in known)
        what = "numbers" if task == REGRESSION else "classes"
        raise UsageError(f"--metric: {arguments.metric} is not for {what}; choose one of {names}")
    return str(metric)


def _show(
    arguments: argparse.Namespace, experiment: Experiment, outcomes: Sequence[Outcome], metric: str
) -> None:
    shown = metrics_of(REGRESSION) if experiment.is_regression else ["accuracy", metric]
    rows = [outcome.row for outcome in outcomes]
    if arguments.json:
        print_json(
            {
                "data": experiment.name,
                "task": experiment.task,
                "n_train": experiment.X_train.shape[0],
                "n_test": experiment.X_test.shape[0],
                "n_features": experiment.X_train.shape[1],
                "seed": arguments.seed,
                "notes": experiment.notes,
                "rows": [asdict(row) for row in rows],
            }
        )
    elif rows:
        print(format_table(rows, list(dict.fromkeys(shown))))
    if arguments.report is not None and rows:
        with steps(1, quiet=arguments.quiet, verb="drawing") as begin:
            begin(arguments.report)
            write_page(arguments.report, experiment, outcomes, seed=arguments.seed, metric=metric)
        say(f"wrote {arguments.report}", quiet=arguments.quiet)


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
    "fit local SVMs and other methods to the same rows, print a table, write a page",
    _add_arguments,
    run_with,
)
