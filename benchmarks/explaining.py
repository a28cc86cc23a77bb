"""Explanations of many rows: what they cost beside predictions, and which part costs most.

``explain`` states the contribution of every feature to every score and searches for the nearest
point of another class, with the whole model along a line. ``local_rows`` gives the contributions
alone, as arrays. A thousand rows of a set of 30 features and one row are explained.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from hyperlocal import LocallyLinearSVC

from .common import (
    Row,
    argument_parser,
    environment,
    print_table,
    rounded,
    timed_in_turns,
    write_result,
)

N_ROWS = 1_000


def make_runs(seed: int) -> dict[tuple[str, int], Callable[[], Any]]:
    """What is timed, by name and number of rows."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = LocallyLinearSVC(random_state=seed).fit(X, y)
    rows = X[np.arange(N_ROWS) % len(X)]
    return {
        ("explain", N_ROWS): lambda: model.explain(rows),
        ("local_rows", N_ROWS): lambda: [one.contributions for one in model.local_rows(rows)],
        ("decision_function", N_ROWS): lambda: model.decision_function(rows),
        ("explain", 1): lambda: model.explain(rows[0]),
        ("decision_function", 1): lambda: model.decision_function(rows[:1]),
    }


def main() -> None:
    """Time all in turns and track."""
    arguments = argument_parser(__doc__, repeats=25).parse_args()
    repeats = min(3, arguments.repeats) if arguments.quick else arguments.repeats
    timings = timed_in_turns(make_runs(arguments.seed), repeats)
    rows: list[Row] = [
        {
            "what": name,
            "rows": n_rows,
            "ms": 1e3 * timing.best,
            "ms (median)": 1e3 * timing.median,
            "µs per row": 1e6 * timing.best / n_rows,
        }
        for (name, n_rows), timing in timings.items()
    ]
    print_table(rows)
    write_result(
        "explaining",
        environment(arguments.seed),
        [rounded(row) for row in rows],
        tracked=not arguments.quick,
    )


if __name__ == "__main__":
    main()
