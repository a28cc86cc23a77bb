"""``hyperlocal info``: what is installed, or what a model file holds."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ..export.sizes import count_numbers
from ..runtime.versions import installation
from .model_file import load
from .options import Command, file_argument, print_facts, print_json

CLASSES_SHOWN = 10


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    file_argument(
        parser,
        "model",
        nargs="?",
        metavar="MODEL",
        help="a file that hyperlocal fit wrote (default: print versions and platform)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _run(arguments: argparse.Namespace) -> int:
    facts = installation() if arguments.model is None else _model_facts(arguments.model)
    if arguments.json:
        print_json({name.replace(" ", "_"): value for name, value in facts.items()})
    else:
        print_facts({name: _in_words(value) for name, value in facts.items()})
    return 0


def _model_facts(path: str) -> dict[str, Any]:
    stored = load(path)
    about, model = stored.about, stored.model
    facts = {
        "method": about.method,
        "estimator": type(model).__name__,
        "predicts": "numbers" if stored.is_regression else "classes",
        "classes": None if stored.is_regression else stored.pipeline.classes_.tolist(),
        "target": about.target,
        "columns": about.n_columns,
        "features": len(stored.feature_names),
        "anchors": _n_anchors(model),
        "numbers stored": count_numbers(model),
        "bytes": os.path.getsize(path),
        "training data": about.data,
        "training rows": about.n_rows,
        "notes": "; ".join(about.notes) or None,
        "written by": f"hyperlocal {about.hyperlocal}",
    }
    return {name: value for name, value in facts.items() if value is not None}


def _n_anchors(model: Any) -> int | None:
    try:
        return len(model.anchors_)
    except (AttributeError, TypeError):  # a model of another kind
        return None


def _in_words(value: Any) -> str:
    if isinstance(value, list):
        shown = ", ".join(str(item) for item in value[:CLASSES_SHOWN])
        return f"{shown}, … ({len(value)})" if len(value) > CLASSES_SHOWN else shown
    return f"{value:,}" if isinstance(value, int) else str(value)


COMMAND = Command(
    "print versions, platform and the compiled core in use, or what a model file holds",
    _add_arguments,
    _run,
)
