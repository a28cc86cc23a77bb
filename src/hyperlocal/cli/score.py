"""``hyperlocal score``: how well a model does on labelled rows."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from ..compare.metrics import METRICS, figures, figures_of_values, metrics_of
from ..compare.targets import CLASSIFICATION, REGRESSION, find_target, positive_class
from ..datasets import RawRows
from .model_file import StoredModel, load
from .options import (
    TARGET_HELP,
    Command,
    add_model_and_data,
    add_output_switches,
    add_positive,
    print_facts,
    print_json,
    print_notes,
)

COVERAGE = 0.9  # of the intervals whose coverage is measured


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_and_data(
        parser, target_help=f"{TARGET_HELP} (default: the one the model was fitted to)"
    )
    add_positive(parser)
    add_output_switches(parser)


def _run(arguments: argparse.Namespace) -> int:
    stored = load(arguments.model)
    rows = stored.read(arguments.data, target=arguments.target or stored.about.target)
    if rows.y is None:
        raise ValueError(f"{arguments.data}: no labels to compare with; store them as y beside X")
    if stored.is_regression:
        found = _measured_values(stored, rows, arguments)
        print_json(found) if arguments.json else _print_values(found)
        return 0
    y, classes = rows.y, stored.pipeline.classes_
    if classes.dtype.kind == "U":
        y = y.astype(str)
    if not np.isin(y, classes).any():
        raise ValueError(
            f"{arguments.data}: labels such as {y[0]!s} where the model's classes are "
            f"{', '.join(map(str, classes[:5]))}; is the target the right column?"
        )
    print_notes([*rows.notes, *stored.notes_on(rows.X)], quiet=arguments.quiet)
    predicted = stored.apply(stored.pipeline.predict, rows.X, quiet=arguments.quiet)
    positive = arguments.positive or stored.about.positive
    result: dict[str, Any] = {"data": rows.name, "n_rows": len(y)}
    result["n_wrong"] = int((predicted != y).sum())
    result |= figures(
        y,
        predicted,
        classes,
        _output(stored, "decision_function", rows.X),
        _output(stored, "predict_proba", rows.X),
        None if positive is None else positive_class(classes, positive),
    )
    labels, counts = np.unique(y, return_counts=True)
    result["recall"] = {str(one): float(np.mean(predicted[y == one] == one)) for one in labels}
    if arguments.json:
        print_json(result)
    else:
        _print(result, counts)
    return 0


def _measured_values(
    stored: StoredModel, rows: RawRows, arguments: argparse.Namespace
) -> dict[str, Any]:
    assert rows.y is not None
    target = find_target(rows.name, rows.y, REGRESSION)
    X, y = target.with_rows(rows.X)
    print_notes([*target.notes, *rows.notes, *stored.notes_on(X)], quiet=arguments.quiet)
    predicted = stored.apply(stored.pipeline.predict, X, quiet=arguments.quiet)
    result: dict[str, Any] = {"data": rows.name, "n_rows": len(y)}
    result |= figures_of_values(y, predicted)
    if stored.has_intervals:
        lower, upper = stored.apply(stored.intervals(COVERAGE), X, quiet=True).T
        result["coverage"] = float(np.mean((lower <= y) & (y <= upper)))
    return result


def _print_values(result: dict[str, Any]) -> None:
    names = [name for name in metrics_of(REGRESSION) if result[name] is not None]
    facts = {METRICS[name].heading: METRICS[name].text(result[name]) for name in names}
    facts["rows"] = f"{result['n_rows']:,}"
    if "coverage" in result:
        facts[f"in {COVERAGE:.0%} intervals"] = f"{result['coverage']:.1%}"
    print_facts(facts)


def _output(stored: StoredModel, method: str, X: Any) -> np.ndarray | None:
    found = getattr(stored.pipeline, method, None)
    return None if found is None else stored.apply(found, X, quiet=True)


def _print(result: dict[str, Any], counts: np.ndarray) -> None:
    facts = {
        metric.heading: metric.text(result[name])
        for name, metric in METRICS.items()
        if metric.task == CLASSIFICATION and result[name] is not None
    }
    facts["accuracy"] += f" ({result['n_wrong']} of {result['n_rows']} wrong)"
    print_facts(facts)
    recalls = result["recall"]
    width = max(len("class"), *(len(label) for label in recalls))
    digits = max(len("rows"), len(str(counts.max())))
    print(f"\n{'class'.ljust(width)}  {'rows'.rjust(digits)}     right")
    for (label, recall), count in zip(recalls.items(), counts, strict=True):
        print(f"{label.ljust(width)}  {count:{digits}d}  {100 * recall:6.2f} %")


COMMAND = Command("measure a model on labelled rows", _add_arguments, _run)
