"""``hyperlocal predict``: labels (and scores) for the rows of a file."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .options import Command, add_model_and_data, add_output_switches, print_json, say


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
    add_output_switches(parser)


def _run(arguments: argparse.Namespace) -> int:
    from .model_file import load

    stored = load(arguments.model)
    rows = stored.read(arguments.data)
    labels = stored.apply(stored.pipeline.predict, rows.X, quiet=arguments.quiet)
    scores: dict[str, Any] = {}
    if arguments.scores:
        scores = _scores(stored, rows.X, quiet=arguments.quiet)
    with _writable(arguments.output) as file:
        if arguments.json:
            result: dict[str, Any] = {"data": rows.name, "predictions": labels}
            print_json({**result, **({"scores": scores} if scores else {})}, file)
        elif scores:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["prediction", *(f"score of {label}" for label in scores)])
            writer.writerows(zip(labels, *scores.values(), strict=True))
        else:
            file.writelines(f"{label}\n" for label in labels)
    if arguments.output is not None:
        say(f"wrote {arguments.output} ({len(labels):,} rows)", quiet=arguments.quiet)
    return 0


@contextmanager
def _writable(path: str | None) -> Iterator[Any]:
    if path is None:
        yield sys.stdout
        return
    with open(path, "w", encoding="utf-8", newline="") as file:
        yield file


def _scores(stored: Any, X: Any, *, quiet: bool) -> dict[str, Any]:
    """Scores by class; of two classes only the second has one."""
    method = getattr(stored.pipeline, "decision_function", None)
    if method is None:
        raise ValueError(f"--scores: {stored.about.method} has no decision function")
    scores = stored.apply(method, X, quiet=quiet, verb="scoring")
    classes = stored.pipeline.classes_
    if scores.ndim == 1:
        return {str(classes[1]): scores}
    if scores.shape[1] != len(classes):
        raise ValueError(f"--scores: {stored.about.method} has no score per class")
    return {str(label): scores[:, j] for j, label in enumerate(classes)}


COMMAND = Command("predict the labels of the rows of a file", _add_arguments, _run)
