"""What is to be predicted: classes or a number, and which rows have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.cells import has_decimal_commas, number_of, text_of
from ..datasets.dataset import Rows, take_rows
from ..datasets.tables import close_to

CLASSIFICATION, REGRESSION = "classification", "regression"
TASKS = ("auto", CLASSIFICATION, REGRESSION)
# Whole numbers with more values than that are rather a quantity, if there are few rows of each or
# gaps between them. Of the sets that the benchmarks know, the one with the most classes has 100,
# numbered without gaps, of 72 rows each.
MOST_CLASSES, FEWEST_ROWS_PER_CLASS, MOST_GAPS = 50, 20, 1.5
# More classes than that take minutes, and with so few rows each they are rather names of the rows.
MANY_CLASSES, ROWS_OF_A_NAME = 200, 5
# Labels of text are numbers if all but this part of them are.
MOST_TYPOS = 0.1


@dataclass(frozen=True)
class Target:
    """The labels or values of some rows.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        Of all rows; values are float64, NaN where a row has none.
    task : {"classification", "regression"}
    notes : tuple of str
        What was recognized, and how many rows have no number.
    """

    y: np.ndarray
    task: str
    notes: tuple[str, ...] = ()

    def with_rows(self, X: Rows) -> tuple[Rows, np.ndarray]:
        """The rows that have a label or a value, and these."""
        if self.task == CLASSIFICATION or np.isfinite(self.y).all():
            return X, self.y
        known = np.flatnonzero(np.isfinite(self.y))
        return take_rows(X, known), self.y[known]

    def summary(self, name: str | None) -> str:
        """What is predicted, in words, with the name of its column if it has one.

        Examples
        --------
        >>> import numpy as np
        >>> from hyperlocal.compare.targets import find_target
        >>> find_target("flats", np.array([300.5, 120.0])).summary("price")
        'price from 120 to 300.5'
        """
        if self.task == CLASSIFICATION:
            return f"{len(np.unique(self.y))} classes" + (f" of {name}" if name else "")
        return f"{name or 'values'} from {in_short(np.nanmin(self.y))} to " + in_short(
            np.nanmax(self.y)
        )


def counted(n: int, what: str) -> str:
    """A number of things in words.

    Examples
    --------
    >>> from hyperlocal.compare.targets import counted
    >>> counted(1, "column"), counted(1200, "row")
    ('1 column', '1,200 rows')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def in_short(value: float) -> str:
    """A value in about four digits.

    Examples
    --------
    >>> from hyperlocal.compare.targets import in_short
    >>> in_short(18823.0), in_short(326.125), in_short(0.000123456)
    ('18,823', '326.1', '0.0001235')
    """
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


def find_target(name: str, y: np.ndarray, task: str = "auto") -> Target:
    """Recognize classes and values; refuse labels that are neither.

    Parameters
    ----------
    name : str
        Of the data, for messages.
    y : ndarray of shape (n_rows,)
    task : {"auto", "classification", "regression"}, default="auto"

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.compare.targets import find_target
    >>> find_target("cats", np.array([3.1, 4.5, 2.0])).task
    'regression'
    """
    values = np.unique(y)
    numbers = numbers_of(y)
    if task == "auto" and looks_like_a_number(values, numbers):
        note = (
            f"{len(values):,} different labels, e.g. {values[len(values) // 2]}: this looks like a "
            "number to predict (--task classification takes each as a class)"
        )
        return _values(name, numbers, (note,))
    if task == REGRESSION:
        if not np.isfinite(numbers).any():
            raise ValueError(
                f"{name}: labels such as {values[0]!s} are not numbers; is the target the right "
                "column? Else choose --task classification"
            )
        return _values(name, numbers, ())
    if len(values) < 2:
        raise ValueError(f"{name}: all labels are {values[0]!s}; two classes are needed")
    labels = y.astype(str) if y.dtype.kind == "f" else y
    return Target(labels, CLASSIFICATION, _notes_of_many(name, values, len(y), task))


def _notes_of_many(name: str, classes: np.ndarray, n_rows: int, task: str) -> tuple[str, ...]:
    """What to say before training with very many classes; an error if they look like names."""
    if len(classes) <= MANY_CLASSES:
        return ()
    if task == "auto" and n_rows < ROWS_OF_A_NAME * len(classes):
        raise ValueError(
            f"{name}: {len(classes):,} different labels in {n_rows:,} rows, e.g. {classes[0]!s}: "
            "these look like names of rows, not classes; choose another column with --target, or "
            "--task classification to train with all of them"
        )
    return (
        f"{len(classes):,} classes, each with weights of its own: training takes minutes rather "
        "than seconds, and grows with their number",
    )


def _values(name: str, y: np.ndarray, notes: tuple[str, ...]) -> Target:
    known = np.isfinite(y)
    if len(np.unique(y[known])) < 2:
        raise ValueError(f"{name}: all values are {y[known][0]:g}; there is nothing to predict")
    n_unknown = int((~known).sum())
    if n_unknown:
        rows = "row is" if n_unknown == 1 else "rows are"
        notes = (*notes, f"{n_unknown:,} {rows} left out: the target is not a number there")
    return Target(y, REGRESSION, notes)


def numbers_of(y: np.ndarray) -> np.ndarray:
    """Labels as numbers, NaN where one is none.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.compare.targets import numbers_of
    >>> numbers_of(np.array(["1,204.5", "4o", "7"])).tolist()
    [1204.5, nan, 7.0]
    """
    if y.dtype.kind in "iufb":
        numbers = y.astype(np.float64)
        return np.where(np.isfinite(numbers), numbers, np.nan)
    values, codes = np.unique(y, return_inverse=True)
    texts = [text_of(str(value)) for value in values]
    comma = has_decimal_commas(texts)
    return np.array([number_of(text, comma) for text in texts])[codes]


def looks_like_a_number(values: np.ndarray, numbers: np.ndarray) -> bool:
    """Whether labels are rather a quantity than classes.

    Parameters
    ----------
    values : ndarray
        The different labels.
    numbers : ndarray of shape (n_rows,)
        All labels as numbers, NaN where one is none.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.compare.targets import looks_like_a_number
    >>> many, letters = np.arange(5000), np.arange(26)
    >>> looks_like_a_number(many, many), looks_like_a_number(letters, np.tile(letters, 800))
    (True, False)
    """
    known = numbers[np.isfinite(numbers)]
    if values.dtype.kind == "f":
        return True
    if len(known) < (1 - MOST_TYPOS) * len(numbers):
        return False
    different = np.unique(known)
    n_possible = different[-1] - different[0] + 1
    few_rows = len(known) < FEWEST_ROWS_PER_CLASS * len(different)
    return len(different) > MOST_CLASSES and (few_rows or n_possible > MOST_GAPS * len(different))


def positive_class(y: np.ndarray, asked: str | None) -> Any:
    """The positive one of two classes, None if there are more; an error if it is unknown."""
    classes, counts = np.unique(y, return_counts=True)
    if asked is not None:
        names = [str(label) for label in classes]
        if len(classes) != 2:
            raise ValueError(f"--positive: is for two classes, and there are {len(classes)}")
        if asked not in names:
            hint = close_to(asked, names)
            raise ValueError(f"--positive: no class {asked!r}{hint}; they are {', '.join(names)}")
        return classes[names.index(asked)]
    return classes[int(np.argmin(counts))] if len(classes) == 2 else None
