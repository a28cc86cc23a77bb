"""``hyperlocal explain``: what each column added to the score of a row."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from ..compare.explaining import RowExplanation, explain_row
from ..datasets.dataset import take_rows
from .model_file import load
from .options import Command, add_model_and_data, print_json


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_and_data(parser, target_help=None)
    parser.add_argument(
        "--rows",
        type=_row_numbers,
        metavar="LIST",
        default=[0],
        help="rows to explain, counted from 0, e.g. 0,5,10-12 (default: 0)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _row_numbers(text: str) -> list[int]:
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        try:
            begin, end = int(first), int(last if dash else first)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be like 0,5,10-12, not {text}") from None
        numbers.extend(range(begin, end + 1))
    if not numbers:
        raise argparse.ArgumentTypeError(f"names no row: {text}")
    return numbers


def _run(arguments: argparse.Namespace) -> int:
    stored = load(arguments.model)
    X = stored.read(arguments.data).X
    outside = [number for number in arguments.rows if not 0 <= number < X.shape[0]]
    if outside:
        raise ValueError(
            f"--rows: no row {outside[0]}; {arguments.data} has rows 0 to {X.shape[0] - 1}"
        )
    explanations: dict[int, RowExplanation] = {}
    for number in arguments.rows:
        (raw,) = stored.blocks(take_rows(X, slice(number, number + 1)))
        encoded = stored.encoder.transform(raw)
        explanations[number] = explain_row(
            stored.model, stored.encoder, raw, encoded, stored.feature_names
        )
    if arguments.json:
        print_json([_as_dict(number, one) for number, one in explanations.items()])
    else:
        print("\n\n".join(f"{_number(number, one)}{one}" for number, one in explanations.items()))
    return 0


def _number(number: int, row: RowExplanation) -> str:
    """What stands before a row: its number, and then its place in the file if it has one."""
    return f"row {number}, " if row.place else f"row {number}: "


def _as_dict(number: int, row: RowExplanation) -> dict[str, Any]:
    explanation = row.explanation
    names = [str(name) for name in explanation.feature_names]
    classes = explanation.classes
    columns = zip(
        [None] * len(explanation.scores) if classes is None else classes.tolist(),
        explanation.scores.tolist(),
        explanation.intercepts.tolist(),
        explanation.contributions.tolist(),
        strict=True,
    )
    return {
        "row": number,
        "place": row.place,
        "columns": [asdict(part) for part in row.parts],
        "changes": dict(row.changes),
        "prediction": explanation.prediction,
        "classes": [
            {
                "class": label,
                "score": score,
                "intercept": intercept,
                "contributions": dict(zip(names, contributions, strict=True)),
            }
            for label, score, intercept, contributions in columns
        ],
        "anchors": explanation.anchors,
        "anchor_weights": explanation.anchor_weights,
    }


COMMAND = Command(
    "print what each column added to the scores of rows, exactly", _add_arguments, _run
)
