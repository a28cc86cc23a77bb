"""Tests of hyperlocal.data.cell_errors, through the checks of rows and labels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from hyperlocal.data.checks import check_labelled_rows, check_rows


class Model(BaseEstimator):
    """Something to remember features on."""


TABLE = pd.DataFrame({"age": [1.0, 2.0, np.nan], "plan": ["a", "b", "a"], "n": [1, 2, 3]})
TABLE["since"] = pd.Timestamp("2020-01-01")


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (TABLE[["age", "n"]], "Input X contains NaN in column 'age', and Model takes no missing"),
        (TABLE[["age", "n"]].to_numpy(), "Input X contains NaN in column 'x0'"),
        (TABLE[["n", "plan"]], "X holds text or dates in column 'plan'.*could not convert string"),
        (TABLE[["n", "plan"]].astype({"plan": "category"}), "X holds text or dates in .*'plan'"),
        (TABLE[["n", "since"]], "X holds text or dates in column 'since'"),
        (TABLE, "X holds text or dates in columns 'plan', 'since'"),
    ],
    ids=["missing", "missing in an array", "text", "category", "date", "all"],
)
def test_errors_about_cells_name_columns_and_the_encoder(X, message):
    """What numbers alone can be trained on names the columns at fault and TableEncoder."""
    for check in (
        lambda: check_rows(Model(), X, reset=True),
        lambda: check_labelled_rows(Model(), X, [0, 1, 0]),
    ):
        with pytest.raises(ValueError, match=f"{message}.*TableEncoder"):
            check()
