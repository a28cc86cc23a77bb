"""Explanations of several rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

from .explanation import Explanation, import_pandas

ROWS_SHOWN = 5


class Explanations(Sequence[Explanation]):
    """Explanations of several rows, in their order.

    Parameters
    ----------
    explanations : sequence of Explanation
        One for each row.
    index : sequence, optional
        Names of the rows, for the table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hyperlocal import LocallyLinearSVC, explain
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LocallyLinearSVC(random_state=0).fit(X, y)
    >>> several = explain(model, X.iloc[[0, 60]])
    >>> [int(one.prediction) for one in several]
    [0, 1]
    """

    def __init__(self, explanations: Sequence[Explanation], index: Any = None):
        self._explanations = explanations
        self._index = index

    @overload
    def __getitem__(self, position: int) -> Explanation: ...

    @overload
    def __getitem__(self, position: slice) -> Explanations: ...

    def __getitem__(self, position: int | slice) -> Explanation | Explanations:
        if isinstance(position, slice):
            index = None if self._index is None else self._index[position]
            return Explanations(self._explanations[position], index)
        return self._explanations[position]

    def __len__(self) -> int:
        return len(self._explanations)

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self._explanations)

    def __repr__(self) -> str:
        rows = "1 row" if len(self) == 1 else f"{len(self):,} rows"
        return f"<Explanations of {rows}; print them, or see contributions, to_frame()>"

    @property
    def contributions(self) -> np.ndarray:
        """Those of all rows, ``(n_rows, n_columns, n_features)``."""
        return self._stacked("contributions")

    @property
    def scores(self) -> np.ndarray:
        """Those of all rows, ``(n_rows, n_columns)``."""
        return self._stacked("scores")

    @property
    def references(self) -> np.ndarray:
        """Those of all rows, ``(n_rows, n_columns)``."""
        return self._stacked("references")

    @property
    def remainders(self) -> np.ndarray:
        """Those of all rows, ``(n_rows, n_columns)``."""
        return self._stacked("remainders")

    @property
    def values(self) -> np.ndarray:
        """The rows, ``(n_rows, n_features)``."""
        return self._stacked("values")

    def _stacked(self, name: str) -> np.ndarray:
        known = getattr(self._explanations, name, None)  # of rows that were explained at once
        return np.array([getattr(one, name) for one in self]) if known is None else known

    @property
    def feature_names(self) -> np.ndarray:
        """Names of the features, the same for all rows."""
        return self[0].feature_names

    def __str__(self) -> str:
        return "\n\n".join(map(str, self._explanations))

    def _repr_html_(self) -> str:
        parts = [one.to_html() for one in self[:ROWS_SHOWN]]
        rest = len(self) - len(parts)
        return "\n".join([*parts, f"<p>… and {rest} more rows</p>"] if rest else parts)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a line per row.

        Returns
        -------
        pandas.DataFrame
            "prediction", "margin", "score", "reference", "gate", and the contribution of each
            feature to the deciding score.
        """
        pandas = import_pandas()
        columns = np.array([one.column for one in self])
        rows = np.arange(len(self))
        heads = pandas.DataFrame(
            {
                "prediction": [one.prediction for one in self],
                "margin": [one.margin for one in self],
                "score": self.scores[rows, columns],
                "reference": self.references[rows, columns],
                "gate": self.remainders[rows, columns],
            },
            index=self._index,
        )
        contributions = pandas.DataFrame(
            self.contributions[rows, columns], columns=list(self.feature_names), index=self._index
        )
        return pandas.concat([heads, contributions], axis=1)
