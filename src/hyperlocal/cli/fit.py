"""``hyperlocal fit``: train a model on a file and store it with its encoding and scaling."""

from __future__ import annotations

import argparse
import ast
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from ..compare import Method
from ..compare.experiment import fit_encoder
from ..compare.methods import methods_of
from ..compare.run import is_too_large_to_be_dense, rows_for
from ..compare.targets import CLASSIFICATION, REGRESSION, counted, find_target, positive_class
from ..datasets import RawRows, RowStream, is_sparse, read_raw, stream
from ..datasets.streams import TableStream
from ..datasets.tables import close_to
from ..estimators.table_encoder import TableEncoder
from .model_file import About, StoredModel, about_rows, make_pipeline, save
from .options import (
    FORMATS,
    TARGET_HELP,
    Command,
    UsageError,
    add_output_switches,
    add_seed_and_jobs,
    add_stream_switches,
    add_table_options,
    check_replaceable,
    check_stream_switches,
    encoder_of,
    file_argument,
    fraction,
    methods_named,
    print_json,
    print_notes,
    say,
)
from .progress import steps

DEFAULT_METHOD, DEFAULT_METHOD_FOR_SPARSE_ROWS = "locally-linear", "locally-linear-identity"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    file_argument(parser, "data", metavar="DATA", help=f"a {FORMATS}")
    parser.add_argument("--target", metavar="NAME", help=f"{TARGET_HELP} (default: the last)")
    parser.add_argument(
        "--output",
        "-o",
        metavar="FILE",
        required=True,
        help="where to write the model, e.g. model.skops",
    )
    parser.add_argument(
        "--method",
        metavar="KEY",
        help=f"one of the methods of hyperlocal compare (default: {DEFAULT_METHOD}, or "
        f"{DEFAULT_METHOD_FOR_SPARSE_ROWS} for LIBSVM files)",
    )
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=_setting,
        help="an argument of the method, e.g. --set C=10; may be repeated",
    )
    add_table_options(parser)
    parser.add_argument(
        "--calibrate",
        type=fraction,
        metavar="F",
        help="of numbers to predict: part of the rows to hold out for the intervals of "
        "predict --interval, e.g. 0.2",
    )
    add_stream_switches(
        parser, "read the file in blocks and train from disk, for data larger than memory"
    )
    add_seed_and_jobs(parser)
    add_output_switches(parser)


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, not {text}")
    try:
        return name.strip(), ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name.strip(), value  # a word, such as hinge


@dataclass(frozen=True)
class Task:
    """A pipeline and how to fit it to the rows of a file."""

    method: Method
    pipeline: Any
    about: About
    kind: str  #: what to say of the rows besides their number
    fit: Callable[[], Any]


def _run(arguments: argparse.Namespace) -> int:
    check_replaceable("--output", arguments.output)
    check_stream_switches(arguments)
    _check_before_reading(arguments)
    task = _task_of_stream(arguments) if arguments.stream else _task(arguments)
    method, about = task.method, task.about
    columns = counted(about.n_columns, "column")
    size = f"{counted(about.n_rows, 'row')}, {columns}, {task.kind}"
    say(f"{about.data}: {size}", quiet=arguments.quiet)
    print_notes(about.notes, quiet=arguments.quiet)
    seconds = _timed(task, quiet=arguments.quiet)
    save(StoredModel(task.pipeline, about), arguments.output)
    n_bytes = os.path.getsize(arguments.output)
    if arguments.json:
        print_json(
            {
                "model": arguments.output,
                "method": method.key,
                "task": about.task,
                "data": about.data,
                "n_rows": about.n_rows,
                "n_columns": about.n_columns,
                "notes": about.notes,
                "fit_seconds": seconds,
                "bytes": n_bytes,
            }
        )
    else:
        say(f"wrote {arguments.output} ({n_bytes:,} bytes, {seconds:.2f} s)", quiet=arguments.quiet)
    return 0


def _check_before_reading(arguments: argparse.Namespace) -> None:
    """Raise for choices that cannot work, whatever the file holds."""
    if arguments.calibrate is not None and arguments.stream:
        raise UsageError("--calibrate: needs all rows at once; leave out --stream")
    if arguments.calibrate is not None and arguments.task == CLASSIFICATION:
        raise UsageError("--calibrate: is for numbers to predict, not for classes")
    if arguments.method is None:
        return
    tasks = [arguments.task] if arguments.task != "auto" else [CLASSIFICATION, REGRESSION]
    known = [task for task in tasks if arguments.method in methods_of(task)]
    errors = []
    for task in known:
        try:
            _method_and_model(arguments, arguments.method, task)
        except UsageError as error:
            errors.append(error)
    if not known:
        methods_named([arguments.method], arguments.task)
    elif len(errors) == len(known):
        raise errors[0]


def _task(arguments: argparse.Namespace) -> Task:
    """Fit to all rows at once."""
    rows = read_raw(arguments.data, target=arguments.target)
    target = find_target(rows.name, _labels(arguments, rows), arguments.task)
    X, y = target.with_rows(rows.X)
    positive = None
    if target.task == CLASSIFICATION:
        positive = positive_class(y, arguments.positive)
    elif arguments.positive is not None:
        raise UsageError(f"--positive: {rows.name} has numbers to predict, not classes")
    method, model = _method_and_model(arguments, _default_method(rows), target.task)
    if method.needs_dense and is_too_large_to_be_dense(X):
        raise ValueError(
            f"--method: {method.key} needs dense rows, and these are too many to be made "
            f"dense; choose another, e.g. {DEFAULT_METHOD_FOR_SPARSE_ROWS}"
        )
    X = rows_for(X, method.needs_dense)
    encoder = fit_encoder(X, encoder_of(arguments))
    Z = encoder.transform(X)  # now: so the table is not kept while the model is fitted
    notes = [*target.notes, *rows.notes, *getattr(encoder, "notes_", ())]
    about = about_rows(rows, method.key, method.needs_dense, X.shape[0], notes)
    return Task(
        method,
        make_pipeline(encoder, model),
        replace(about, task=target.task, positive=None if positive is None else str(positive)),
        target.summary(rows.target),
        _fitting(arguments, target.task, model, Z, y),
    )


def _fitting(
    arguments: argparse.Namespace, task: str, model: Any, X: Any, y: np.ndarray
) -> Callable[[], Any]:
    """How to fit the model, to all rows or, with ``--calibrate``, to a part of them."""
    if arguments.calibrate is None:
        return lambda: model.fit(X, y)
    if task == CLASSIFICATION:
        raise UsageError("--calibrate: is for numbers to predict, not for classes")
    if not hasattr(model, "calibrate"):
        raise UsageError(
            f"--calibrate: {type(model).__name__} has no intervals; choose {DEFAULT_METHOD}"
        )

    def fit_and_calibrate() -> Any:
        parts = train_test_split(X, y, test_size=arguments.calibrate, random_state=arguments.seed)
        return model.fit(parts[0], parts[2]).calibrate(parts[1], parts[3])

    return fit_and_calibrate


def _task_of_stream(arguments: argparse.Namespace) -> Task:
    """Fit to blocks of a file: it is read once for the encoding, and once for the model."""
    encoder = encoder_of(arguments) or TableEncoder()
    rows = stream(arguments.data, arguments.target, encoder=encoder, cache=arguments.folder)
    head = next(rows.raw_blocks())
    target = find_target(rows.name, _labels(arguments, head), arguments.task)
    method, model = _method_and_model(arguments, _default_method(head), target.task)
    if not hasattr(model, "fit_stream"):
        able = [key for key, one in methods_of(target.task).items() if _can_stream(one)]
        remedy = f"choose {' or '.join(able)}" if able else "leave out --stream"
        raise UsageError(f"--stream: {method.key} needs all rows at once; {remedy}")
    if isinstance(rows, TableStream):
        pipeline, blocks = make_pipeline(rows.fitted_encoder, model), iter(rows)
    else:
        pipeline = make_pipeline(_fitted_scaler(rows, head), model)
        blocks = ((pipeline[0].transform(block.X), block.y) for block in rows.raw_blocks())
    notes = [*target.notes, *rows.notes, *getattr(pipeline[0], "notes_", ())]
    about = about_rows(head, method.key, method.needs_dense, rows.n_rows, notes)
    return Task(
        method,
        pipeline,
        replace(about, task=target.task),
        "read in blocks",
        lambda: model.fit_stream(blocks, folder=arguments.folder),
    )


def _fitted_scaler(rows: RowStream, head: RawRows) -> Any:
    scaler = MaxAbsScaler() if is_sparse(head.X) else StandardScaler()
    for block in rows.raw_blocks():
        scaler.partial_fit(block.X)
    return scaler


def _can_stream(method: Method) -> bool:
    return method.is_ours and hasattr(method.make(0, None), "fit_stream")


def _labels(arguments: argparse.Namespace, rows: RawRows) -> np.ndarray:
    if rows.y is None:
        raise ValueError(f"{arguments.data}: no labels; store them as y beside X")
    return rows.y


def _default_method(rows: RawRows) -> str:
    return DEFAULT_METHOD_FOR_SPARSE_ROWS if is_sparse(rows.X) else DEFAULT_METHOD


def _method_and_model(arguments: argparse.Namespace, default: str, task: str) -> tuple[Method, Any]:
    """The chosen method, or the default for such rows, with the chosen settings."""
    (method,) = methods_named([arguments.method or default], task)
    if not method.package.is_installed:
        raise UsageError(f"--method: {method.key} needs {method.package.name}; pip install it")
    if not method.can_be_stored:
        raise UsageError(
            f"--method: {method.key} cannot be stored: a model file may hold nothing that runs "
            "code, and its parts are not known to be such; choose another method"
        )
    model, settings = method.make(arguments.seed, arguments.jobs), dict(arguments.set)
    unknown = sorted(set(settings) - set(model.get_params()))
    if unknown:
        known = sorted(model.get_params(deep=False))
        raise UsageError(
            f"--set: {method.key} has no argument {', '.join(unknown)}"
            f"{close_to(unknown[0], known)}; it has {', '.join(known)}"
        )
    return method, model.set_params(**settings)


def _timed(task: Task, *, quiet: bool) -> float:
    """Fit with progress; warnings become messages. Returns the seconds."""
    with steps(1, quiet=quiet) as begin, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        begin(task.method.label)
        start = time.perf_counter()
        task.fit()
        seconds = time.perf_counter() - start
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        say(f"warning: {' '.join(message.split())}", quiet=quiet)
    return seconds


COMMAND = Command(
    "train a model on a file and store it, encoding and scaling included", _add_arguments, _run
)
