"""Tables of pandas, polars or pyarrow, and arrays, as a list of columns of one kind.

A :class:`Column` is either numbers (also dates, as seconds since 1970, and flags) or the codes of
its different values. Whatever is done with text is done once per different value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from .arguments import LARGEST_NUMBER
from .cells import for_distinct, number_of, seconds_of, text_of, without_unit


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    kind : {"number", "flag", "time", "text", "category"}
        What the table declares it to be.
    numbers : ndarray of shape (n_rows,), or None
        float64, NaN where missing; seconds since 1970 of times. None for text and categories.
    codes : ndarray of shape (n_rows,), or None
        Place of each cell in ``values``.
    values : sequence, or None
        The different cells.
    name : str
        In the table.
    """

    kind: str
    numbers: np.ndarray | None = None
    codes: np.ndarray | None = None
    values: Sequence[Any] | None = None
    name: str = ""

    def __len__(self) -> int:
        return len(self.codes if self.numbers is None else self.numbers)  # type: ignore[arg-type]

    def part(self, begin: int, end: int) -> Column:
        """Some rows of this column."""
        numbers = None if self.numbers is None else self.numbers[begin:end]
        codes = None if self.codes is None else self.codes[begin:end]
        return replace(self, numbers=numbers, codes=codes)

    @cached_property
    def texts(self) -> list[str | None]:
        """The different values as text, None for a missing one."""
        return [text_of(value) for value in self.as_cells().values or ()]

    def as_cells(self) -> Column:
        """This column as codes of its different values."""
        if self.numbers is None:
            return self
        values, codes = np.unique(self.numbers, return_inverse=True)
        return replace(self, numbers=None, codes=codes, values=values.tolist())

    def without(self, unit: str) -> Column:
        """This column without the unit that follows its numbers."""
        if self.numbers is not None or not unit:
            return self
        return replace(self, values=[without_unit(text, unit) for text in self.texts])

    def as_numbers(self, decimal_comma: bool = False) -> np.ndarray:
        """Numbers; NaN where a cell is missing or is no number."""
        if self.numbers is not None:
            return self._declared("numbers", self.kind != "time")
        assert self.codes is not None
        return for_distinct(self.codes, self.texts, lambda text: number_of(text, decimal_comma))

    def as_times(self, style: str) -> np.ndarray:
        """Seconds since 1970; NaN where a cell is missing or is no date of this style."""
        if self.numbers is not None:
            return self._declared("dates", self.kind == "time")
        assert self.codes is not None
        return for_distinct(self.codes, self.texts, lambda text: seconds_of(text, style))

    def _declared(self, wanted: str, is_wanted: bool) -> np.ndarray:
        """The numbers, where the table declares them to be what is wanted, or all are missing."""
        assert self.numbers is not None
        if not is_wanted and not np.isnan(self.numbers).all():
            found = "dates" if self.kind == "time" else "numbers"
            raise TypeError(f"column {self.name!r} holds {found}, but held {wanted} in fit.")
        return self.numbers


def is_table(X: Any) -> bool:
    """Whether rows are a table of pandas, polars or pyarrow."""
    return hasattr(X, "columns") and hasattr(X, "shape")


def columns_of(X: Any) -> list[Column]:
    """The columns of a table or of a two-dimensional array."""
    make: Callable[[Any], Column] = _array_column
    if hasattr(X, "iloc"):
        names, make, parts = X.columns, _pandas_column, (X.iloc[:, j] for j in range(X.shape[1]))
    elif hasattr(X, "get_columns"):
        names, make, parts = X.columns, _polars_column, X.get_columns()
    elif hasattr(X, "itercolumns"):
        names, make, parts = X.column_names, _arrow_column, X.itercolumns()
    else:
        array = check_array(X, dtype=None, ensure_all_finite=False)
        names, parts = [f"x{j}" for j in range(array.shape[1])], array.T
    return [_named(name, make, part) for name, part in zip(names, parts, strict=True)]


def _named(name: Any, make: Callable[[Any], Column], cells: Any) -> Column:
    """A column with its name; numbers whose products overflow are infinite."""
    try:
        column = make(cells)
    except (TypeError, NotImplementedError) as error:
        raise TypeError(
            f"column {name!r} holds cells other than numbers, text, dates and flags ({error}); "
            "leave it out, or make one of these of it."
        ) from error
    numbers = column.numbers
    if numbers is not None and (is_huge := np.abs(numbers) > LARGEST_NUMBER).any():
        numbers = np.where(is_huge, np.inf, numbers)
    return replace(column, name=str(name), numbers=numbers)


def _pandas_column(series: Any) -> Column:
    kind = getattr(series.dtype, "kind", "O")
    if kind in "iufb":
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return Column("flag" if kind == "b" else "number", numbers)
    if kind in "Mm":
        return _array_column(series.to_numpy(dtype=f"{kind}8[us]"))
    codes, values = series.factorize(use_na_sentinel=False)
    values = [None if missing else value for value, missing in zip(values, values.isna())]  # noqa: B905
    declared = type(series.dtype).__name__ == "CategoricalDtype"
    return _cells(codes, values, "category" if declared else "text")


def _polars_column(series: Any) -> Column:
    declared = str(series.dtype).startswith(("Categorical", "Enum"))
    return _array_column(
        series.cast(str).to_numpy() if declared else series.to_numpy(),
        "category" if declared else "text",
    )


def _arrow_column(column: Any) -> Column:
    values = getattr(column.type, "value_type", None)
    if values is None:
        return _array_column(column.to_numpy())
    return _array_column(column.cast(values).to_numpy(), "category")


def _array_column(values: np.ndarray, kind: str = "text") -> Column:
    if values.dtype.kind == "M":
        seconds = values.astype("datetime64[us]").astype(np.int64) / 1e6
        return Column("time", np.where(np.isnat(values), np.nan, seconds))
    if values.dtype.kind == "m":
        seconds = values.astype("timedelta64[us]").astype(np.int64) / 1e6
        return Column("number", np.where(np.isnat(values), np.nan, seconds))
    if kind == "text" and values.dtype.kind in "iufb":
        return Column("flag" if values.dtype.kind == "b" else "number", values.astype(np.float64))
    places: dict[Any, int] = {}
    codes = (places.setdefault(cell, len(places)) for cell in values.tolist())
    return _cells(np.fromiter(codes, np.intp, len(values)), list(places), kind)


def _cells(codes: np.ndarray, values: list[Any], kind: str) -> Column:
    """Cells as flags or numbers if all of them are, else as codes."""
    present = [value for value in values if value is not None and value == value]
    if kind == "text" and present:
        if all(isinstance(value, (bool, np.bool_)) for value in present):
            return Column("flag", for_distinct(codes, values, _float_or_nan))
        if all(isinstance(value, (int, float, np.number)) for value in present):
            return Column("number", for_distinct(codes, values, _float_or_nan))
    return Column(kind, codes=codes, values=values)


def _float_or_nan(value: Any) -> float:
    return np.nan if value is None else float(value)
