"""``hyperlocal predict``: labels or numbers (and scores) for the rows of a file."""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..datasets.text import is_number
from .model_file import StoredModel, load
from .options import (
    Command,
    UsageError,
    add_model_and_data,
    add_output_switches,
    add_stream_switches,
    check_folder,
    check_stream_switches,
    fraction,
    print_json,
    print_notes,
    say,
)

#: What is written for an option: its name in JSON, and what stands before a label in a heading.
WORDS = {
    "scores": ("scores", "score of "),
    "proba": ("probabilities", "P of "),
    "interval": ("intervals", ""),
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_and_data(parser, target_help=None)
    parser.add_argument(
        "--output", "-o", metavar="FILE", help="where to write (default: standard output)"
    )
    parser.add_argument(
        "--scores",
        action="store_true",
        help="CSV with a header: the label, and the decision function of each class",
    )
    parser.add_argument(
        "--proba",
        action="store_true",
        help="CSV with a header: the label, and the probability of each class (of a model fitted "
        "with --set loss=log)",
    )
    parser.add_argument(
        "--interval",
        type=fraction,
        metavar="P",
        help="CSV with a header: the predicted number, and the ends of an interval that holds the "
        "true one with this probability (of a model fitted with --calibrate)",
    )
    parser.add_argument(
        "--verbatim",
        action="store_true",
        help="write labels of text as they are; by default an apostrophe stands before those that "
        "a spreadsheet would run as a formula, such as =1+1",
    )
    add_stream_switches(parser, "read, predict and write in blocks, for data larger than memory")
    add_output_switches(parser)


def _run(arguments: argparse.Namespace) -> int:
    check_stream_switches(arguments)
    if arguments.stream and arguments.json:
        raise UsageError("--json: holds all predictions at once; leave out --json or --stream")
    asked = [name for name in ("scores", "proba", "interval") if getattr(arguments, name)]
    if len(asked) > 1:
        raise UsageError(f"--{asked[1]}: goes without --{asked[0]}")
    stored = load(arguments.model)
    outputs = _outputs(stored, arguments)
    if arguments.output is not None:
        check_folder("--output", os.path.dirname(arguments.output))
    if arguments.stream:
        blocks = stored.stream(arguments.data, folder=arguments.folder)
    else:
        blocks = iter([stored.read(arguments.data)])
    what, word = WORDS[asked[0]] if asked else ("", "")
    n_rows = 0
    with _writable(arguments.output) as file:
        for number, rows in enumerate(blocks):
            quiet = arguments.quiet or arguments.stream
            if not arguments.stream:
                print_notes([*rows.notes, *stored.notes_on(rows.X)], quiet=quiet)
            labels = stored.apply(stored.pipeline.predict, rows.X, quiet=quiet)
            scores = outputs(rows.X, quiet)
            n_rows += len(labels)
            if arguments.json:
                result: dict[str, Any] = {"data": rows.name, "predictions": labels}
                print_json({**result, **({what: scores} if scores else {})}, file)
            elif scores:
                writer = csv.writer(file, lineterminator="\n")
                if number == 0:
                    writer.writerow(["prediction", *(f"{word}{label}" for label in scores)])
                writer.writerows(zip(_cells(labels, arguments), *scores.values(), strict=True))
            else:
                file.writelines(f"{label}\n" for label in _cells(labels, arguments))
    if arguments.output is not None:
        say(f"wrote {arguments.output} ({n_rows:,} rows)", quiet=arguments.quiet)
    return 0


def _cells(labels: Iterable[Any], arguments: argparse.Namespace) -> Iterator[Any]:
    return (label if arguments.verbatim else harmless(label) for label in labels)


def harmless(label: Any) -> Any:
    """A label as a cell that no spreadsheet runs as a formula; numbers are not changed.

    Examples
    --------
    >>> from hyperlocal.cli.predict import harmless
    >>> [harmless(label) for label in ("=1+1", "yes", "+", "-1.5", -2)]
    ["'=1+1", 'yes', '+', '-1.5', -2]
    """
    is_formula = isinstance(label, str) and len(label) > 1 and label[0] in "=+-@\t\r"
    return f"'{label}" if is_formula and not is_number(label) else label


@contextmanager
def _writable(path: str | None) -> Iterator[Any]:
    if path is None:
        yield sys.stdout
        return
    with open(path, "w", encoding="utf-8", newline="") as file:
        yield file


def _outputs(
    stored: StoredModel, arguments: argparse.Namespace
) -> Callable[[Any, bool], dict[str, Any]]:
    """From rows to scores or probabilities by class, or to intervals; refused before reading."""
    if arguments.interval:
        return _intervals(stored, arguments.interval)
    if not (arguments.scores or arguments.proba):
        return lambda X, quiet: {}
    if stored.is_regression:
        option = "--proba" if arguments.proba else "--scores"
        raise UsageError(f"{option}: the model predicts numbers; ask for --interval 0.9")
    option, name = (
        ("--proba", "predict_proba") if arguments.proba else ("--scores", "decision_function")
    )
    method = getattr(stored.pipeline, name, None)
    if method is None:
        remedy = "fit it with --set loss=log, or ask for --scores" if arguments.proba else ""
        what = "probabilities" if arguments.proba else "decision function"
        raise ValueError(f"{option}: {stored.about.method} has no {what}; {remedy}".rstrip("; "))
    classes = stored.pipeline.classes_

    def outputs(X: Any, quiet: bool) -> dict[str, Any]:
        found = stored.apply(method, X, quiet=quiet, verb="scoring")
        if found.ndim == 1:  # of two classes only the second has a score
            return {str(classes[1]): found}
        if found.shape[1] != len(classes):
            raise ValueError(f"{option}: {stored.about.method} has no score per class")
        return {str(label): found[:, j] for j, label in enumerate(classes)}

    return outputs


def _intervals(stored: StoredModel, coverage: float) -> Callable[[Any, bool], dict[str, Any]]:
    if not stored.is_regression:
        raise UsageError("--interval: the model predicts classes; ask for --scores or --proba")
    if not stored.has_intervals:
        raise ValueError(
            "--interval: no rows were held out for intervals; fit with --calibrate 0.2"
        )

    def ends(X: Any, quiet: bool) -> dict[str, Any]:
        found = stored.apply(stored.intervals(coverage), X, quiet=quiet, verb="bounding")
        return {"lower": found[:, 0], "upper": found[:, 1]}

    return ends


COMMAND = Command("predict the labels or numbers of the rows of a file", _add_arguments, _run)
