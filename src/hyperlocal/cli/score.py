"""``hyperlocal score``: how well a model does on labelled rows."""

from __future__ import annotations

import argparse

import numpy as np

from .model_file import load
from .options import TARGET_HELP, Command, add_model_and_data, add_output_switches, print_json


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_and_data(
        parser, target_help=f"{TARGET_HELP} (default: the one the model was fitted to)"
    )
    add_output_switches(parser)


def _run(arguments: argparse.Namespace) -> int:
    stored = load(arguments.model)
    rows = stored.read(arguments.data, target=arguments.target or stored.about.target)
    if rows.y is None:
        raise ValueError(f"{arguments.data}: no labels to compare with; store them as y beside X")
    y = rows.y
    if y.dtype.kind != stored.pipeline.classes_.dtype.kind:
        raise ValueError(
            f"{arguments.data}: labels such as {y[0]!s} where the model's classes are "
            f"{', '.join(map(str, stored.pipeline.classes_[:5]))}; is the target the right column?"
        )
    predicted = stored.apply(stored.pipeline.predict, rows.X, quiet=arguments.quiet)
    right = predicted == y
    labels, counts = np.unique(y, return_counts=True)
    recalls = {str(label): float(right[y == label].mean()) for label in labels}
    result = {
        "data": rows.name,
        "n_rows": len(y),
        "n_wrong": int((~right).sum()),
        "accuracy": float(right.mean()),
        "balanced_accuracy": float(np.mean(list(recalls.values()))),
        "recall": recalls,
    }
    if arguments.json:
        print_json(result)
        return 0
    print(f"accuracy           {100 * right.mean():.2f} % ({result['n_wrong']} of {len(y)} wrong)")
    print(f"balanced accuracy  {100 * np.mean(list(recalls.values())):.2f} %")
    width = max(len("class"), *(len(label) for label in recalls))
    digits = max(len("rows"), len(str(counts.max())))
    print(f"\n{'class'.ljust(width)}  {'rows'.rjust(digits)}     right")
    for (label, recall), count in zip(recalls.items(), counts, strict=True):
        print(f"{label.ljust(width)}  {count:{digits}d}  {100 * recall:6.2f} %")
    return 0


COMMAND = Command("measure a model on labelled rows", _add_arguments, _run)
