"""``hyperlocal fit``: train a model on a file and store it with its encoding and scaling."""

from __future__ import annotations

import argparse
import ast
import os
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .compare import pick
from .options import (
    FORMATS,
    TARGET_HELP,
    Command,
    UsageError,
    add_output_switches,
    add_seed_and_jobs,
    add_stream_switches,
    check_stream_switches,
    print_json,
    say,
)
from .progress import steps

if TYPE_CHECKING:
    from ..compare.report import Contender
    from .model_file import About

DEFAULT_METHOD, DEFAULT_METHOD_FOR_SPARSE_ROWS = "local-quadratic", "local-linear"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", help=f"a {FORMATS}")
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
        help="one of the methods of hyperlocal compare (default: local-quadratic, or local-linear "
        "for LIBSVM files)",
    )
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=_setting,
        help="an argument of the method, e.g. --set C=10; may be repeated",
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


def _run(arguments: argparse.Namespace) -> int:
    import numpy as np

    from ..compare.report import MAX_DENSE_NUMBERS, check_labels, contenders, rows_for
    from ..datasets import is_sparse, read_raw
    from .model_file import StoredModel, about_rows, make_pipeline, save

    folder = os.path.dirname(arguments.output) or "."
    if not os.path.isdir(folder):
        raise ValueError(f"--output: no folder {folder!r}; make it first")
    check_stream_switches(arguments)
    available = contenders(seed=arguments.seed, n_jobs=arguments.jobs)
    if arguments.method is not None:
        pick([arguments.method], available)
    if arguments.stream:
        contender, pipeline, about, seconds = _fit_stream(arguments, available)
    else:
        rows = read_raw(arguments.data, target=arguments.target)
        if rows.y is None:
            raise ValueError(f"{arguments.data}: no labels; store them as y beside X")
        check_labels(rows.name, rows.y)
        sparse = is_sparse(rows.X)
        contender = _contender(arguments, available, sparse)
        if contender.needs_dense and sparse and np.prod(rows.X.shape) > MAX_DENSE_NUMBERS:
            raise ValueError(
                f"--method: {contender.key} needs dense rows, and these are too many to be made "
                "dense; choose another, e.g. local-linear"
            )
        pipeline = make_pipeline(rows, _make_model(contender, dict(arguments.set)))
        n_classes = len(set(rows.y.tolist()))
        _say_size(arguments, rows.name, rows.X.shape[0], rows.X.shape[1], f"{n_classes} classes")
        X = rows_for(rows.X, contender.needs_dense)
        seconds = _watched(arguments, contender.name, lambda: pipeline.fit(X, rows.y))
        about = about_rows(rows, contender.key, contender.needs_dense)
    save(StoredModel(pipeline, about), arguments.output)
    if arguments.json:
        print_json(
            {
                "model": arguments.output,
                "method": contender.key,
                "data": about.data,
                "n_rows": about.n_rows,
                "n_columns": about.n_columns,
                "fit_seconds": seconds,
                "bytes": os.path.getsize(arguments.output),
            }
        )
    else:
        size = os.path.getsize(arguments.output)
        say(f"wrote {arguments.output} ({size:,} bytes, {seconds:.2f} s)", quiet=arguments.quiet)
    return 0


def _fit_stream(
    arguments: argparse.Namespace, available: list[Contender]
) -> tuple[Contender, Any, About, float]:
    """Fit to blocks of a file: one reading for the scales, one for the model."""
    from ..datasets import is_sparse, stream
    from .model_file import about_rows, make_pipeline

    rows = stream(arguments.data, arguments.target, cache=arguments.folder)
    head = next(rows.raw_blocks())
    if head.y is None:
        raise ValueError(f"{arguments.data}: no labels; store them as y beside X")
    contender = _contender(arguments, available, is_sparse(head.X))
    model = _make_model(contender, dict(arguments.set))
    if not hasattr(model, "fit_stream"):
        able = [one.key for one in available if hasattr(one.make(), "fit_stream")]
        raise UsageError(
            f"--stream: {contender.key} needs all rows at once; choose {' or '.join(able)}"
        )
    if head.y.dtype.kind == "f":
        raise ValueError(
            f"{rows.name}: the labels are not whole numbers (e.g. {head.y[0]}); these are "
            "classifiers, so is the target the right column?"
        )
    _say_size(arguments, rows.name, rows.n_rows, head.X.shape[1], "read in blocks")
    pipeline = make_pipeline(head, model, rows.categories)
    encode, scale = pipeline[:-2], pipeline[-2]
    if len(encode):
        encode.fit(head.X)

    def encoded(X: Any) -> Any:
        return encode.transform(X) if len(encode) else X

    def fit() -> None:
        for block in rows.raw_blocks():
            scale.partial_fit(encoded(block.X))
        model.fit_stream(
            ((scale.transform(encoded(block.X)), block.y) for block in rows.raw_blocks()),
            folder=arguments.folder,
        )

    seconds = _watched(arguments, contender.name, fit)
    about = about_rows(head, contender.key, contender.needs_dense, rows.n_rows)
    return contender, pipeline, about, seconds


def _contender(
    arguments: argparse.Namespace, available: list[Contender], sparse: bool
) -> Contender:
    default = DEFAULT_METHOD_FOR_SPARSE_ROWS if sparse else DEFAULT_METHOD
    (contender,) = pick([arguments.method or default], available)
    return contender


def _say_size(
    arguments: argparse.Namespace, name: str, n_rows: int, n_columns: int, what: str
) -> None:
    say(f"{name}: {n_rows:,} rows, {n_columns:,} columns, {what}", quiet=arguments.quiet)


def _watched(arguments: argparse.Namespace, name: str, fit: Callable[[], Any]) -> float:
    """Fit with progress; warnings become messages. Returns the seconds."""
    with (
        steps(1, quiet=arguments.quiet) as begin,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        begin(name)
        start = time.perf_counter()
        fit()
        seconds = time.perf_counter() - start
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        say(f"warning: {' '.join(message.split())}", quiet=arguments.quiet)
    return seconds


def _make_model(contender: Contender, settings: dict[str, Any]) -> Any:
    model = contender.make()
    unknown = sorted(set(settings) - set(model.get_params()))
    if unknown:
        raise UsageError(
            f"--set: {contender.key} has no argument {', '.join(unknown)}; it has "
            f"{', '.join(sorted(model.get_params(deep=False)))}"
        )
    return model.set_params(**settings)


COMMAND = Command(
    "train a model on a file and store it, encoding and scaling included", _add_arguments, _run
)
