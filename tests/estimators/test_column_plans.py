"""Tests of hyperlocal.estimators.column_plans, through TableEncoder."""

import pandas as pd
import pytest

from hyperlocal.preprocessing import TableEncoder

N = 400


@pytest.mark.parametrize(
    ("name", "cells", "kind", "note"),
    [
        ("size", ["4o", *map(str, range(1, 2 * N, 2))][:N], "number", "('4o')"),
        ("cost", [["none", "-"][j % 2] if j % 3 == 0 else str(j / 8) for j in range(N)], "number",
         "134 cells are not numbers ('none', '-')"),
        ("grade", [["none", "1", "2", "3"][j % 4] for j in range(N)], "category", ""),
        ("seen", ["soon", *(f"2020-01-{1 + j % 28:02}" for j in range(N))][:N], "date", "('soon')"),
        ("hour", [f"{j % 24:02}:30" for j in range(N)], "date", ""),
        ("fur", ["long", "short"] * (N // 2), "category", ""),
        ("day", [f"2020-01-{1 + j % 28:02}" for j in range(N)], "date", ""),
        ("title", [f"words {j}" for j in range(N)], "dropped", "free text"),
        ("row_id", [7 * j for j in range(N)], "dropped", "an id"),
        ("number", [10 + j for j in range(4 * N // 3 + 1) if j % 4][:N], "dropped", "an id"),
        ("size", [10 + (7 * j) % (2 * N) for j in range(N)], "number", ""),
        ("same", [1] * N, "dropped", "constant"),
        ("old", [True, False] * (N // 2), "flag", ""),
    ],
)  # fmt: skip
def test_kind_of_a_column(name, cells, kind, note):
    """A column is encoded by what it holds, and a note says what was not used."""
    encoder = TableEncoder().fit(pd.DataFrame({name: cells, "x": [0.1, 0.2, 0.4, 0.8] * (N // 4)}))
    assert encoder.kinds_[name] == kind
    assert note in " ".join(encoder.notes_)
