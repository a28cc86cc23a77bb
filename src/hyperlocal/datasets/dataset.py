"""The :class:`Dataset` and :class:`RawRows`, and what readers need to make them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

Rows: TypeAlias = Any  # a 2-D numpy array, scipy's CSR rows, or a pandas table
# Twice the widest set of the LIBSVM collection. A model stores at least a weight per column, so a
# wrong digit of an index must not become an allocation of terabytes.
MOST_COLUMNS = 100_000_000
_CODE = re.compile(r"0\d+")


def is_sparse(X: Any) -> bool:
    """Whether rows are sparse (a plain bool, which type checkers do not narrow by).

    Parameters
    ----------
    X : any
        Rows.

    Returns
    -------
    bool
        Whether they are a SciPy matrix or array.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from hyperlocal.datasets import is_sparse
    >>> is_sparse(np.eye(2)), is_sparse(csr_array(np.eye(2)))
    (False, True)
    """
    return bool(sparse.issparse(X))


@dataclass(frozen=True)
class Dataset:
    """Training rows with labels, and test rows where the data has a standard split.

    Attributes
    ----------
    name : str
        What to call the data in a table.
    X_train : ndarray, CSR array or DataFrame of shape (n_train, n_features)
    y_train : ndarray of shape (n_train,)
    X_test : ndarray, CSR array or DataFrame of shape (n_test, n_features), or None
    y_test : ndarray of shape (n_test,), or None
    feature_names : tuple of str, or None
        One name per column, where the source has names.
    notes : tuple of str
        What was left out, such as rows without a label.
    target : str or None
        Name of the label column, in a table.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.datasets import Dataset
    >>> data = Dataset("tiny", np.eye(2), np.array([0, 1]))
    >>> data.has_test_part
    False
    """

    name: str
    X_train: Rows
    y_train: np.ndarray
    X_test: Rows | None = None
    y_test: np.ndarray | None = None
    feature_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    target: str | None = None

    def __post_init__(self) -> None:
        _check_pair(self.name, "training", self.X_train, self.y_train)
        if (self.X_test is None) != (self.y_test is None):
            raise ValueError(f"{self.name}: X_test and y_test come together or not at all")
        if self.X_test is None or self.y_test is None:
            return
        _check_pair(self.name, "test", self.X_test, self.y_test)
        n_train, n_test = self.X_train.shape[1], self.X_test.shape[1]
        if n_train != n_test:
            raise ValueError(
                f"{self.name}: {n_train} features in the training rows, {n_test} in the test rows"
            )

    @property
    def has_test_part(self) -> bool:
        """Whether the data has a standard test part."""
        return self.X_test is not None

    def all_rows(self) -> tuple[Rows, np.ndarray]:
        """Return every row and label, the test part (if any) after the training part.

        Returns
        -------
        tuple of rows and ndarray
            All rows and their labels.
        """
        if self.X_test is None or self.y_test is None:
            return self.X_train, self.y_train
        parts = [self.X_train, self.X_test]
        X: Rows = sparse.vstack(parts, format="csr") if is_sparse(parts[0]) else np.vstack(parts)
        return X, np.concatenate([self.y_train, self.y_test])


@dataclass(frozen=True)
class RawRows:
    """Rows as a file has them: nothing encoded, nothing scaled.

    Attributes
    ----------
    name : str
        What to call the data in a table.
    X : ndarray, CSR array or DataFrame of shape (n_rows, n_columns)
        A DataFrame of tables; its index is the line of the file, or the row of a parquet file.
    y : ndarray of shape (n_rows,), or None
    columns : tuple of str, or None
        Names of the columns of ``X``; None if the format has no names.
    target : str or None
        Name of the label column, in a table.
    has_names : bool
        Whether the names come from the file.
    notes : tuple of str
        What was left out, such as rows without a label.
    """

    name: str
    X: Rows
    y: np.ndarray | None
    columns: tuple[str, ...] | None = None
    target: str | None = None
    has_names: bool = False
    notes: tuple[str, ...] = ()


def _check_pair(name: str, part: str, X: Rows, y: np.ndarray) -> None:
    if X.ndim != 2 or y.ndim != 1:
        raise ValueError(
            f"{name}: the {part} part needs a 2-D X and a 1-D y; got {X.ndim}-D and {y.ndim}-D"
        )
    if X.shape[0] != y.shape[0]:
        raise ValueError(f"{name}: {X.shape[0]} {part} rows but {y.shape[0]} labels")
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"{name}: the {part} part is empty (shape {X.shape})")


def tidy_labels(values: Any) -> np.ndarray:
    """Return labels as integers where all are whole numbers, else as they are."""
    labels = np.asarray(values)
    if labels.dtype.kind in "OSU":
        labels = labels.astype(str)
        if any(map(_CODE.fullmatch, np.unique(labels))):
            return labels  # as numbers they would lose their zeros
        try:
            numbers = labels.astype(np.float64)
        except ValueError:
            return labels
    elif labels.dtype.kind == "f":
        numbers = labels
    else:
        return labels
    if not np.isfinite(numbers).all():
        return labels
    if float(np.abs(numbers).max(initial=0)) >= 2.0**63:  # beyond what int64 holds
        return numbers
    whole = numbers.astype(np.int64)
    return whole if np.array_equal(whole, numbers) else numbers


def labels_alike(cells: Any, kinds: set[str]) -> np.ndarray:
    """Labels of a part of a file, as :func:`tidy_labels` would make them of all.

    ``kinds`` are those of the tidy labels of all parts.

    Examples
    --------
    >>> from hyperlocal.datasets.dataset import labels_alike
    >>> labels_alike(["1", "2"], {"i", "U"}).tolist(), labels_alike(["1", "2"], {"i"}).tolist()
    (['1', '2'], [1, 2])
    """
    if "U" in kinds:
        cells = np.asarray(cells)
        return (tidy_labels(cells) if cells.dtype.kind == "f" else cells).astype(str)
    labels = tidy_labels(cells)
    return labels.astype(np.float64) if "f" in kinds else labels


def check_width(n_columns: int) -> None:
    """Raise where sparse rows are so wide that the file is rather damaged."""
    if n_columns > MOST_COLUMNS:
        raise ValueError(
            f"{n_columns:,} columns, but sparse rows may have at most {MOST_COLUMNS:,}; is the "
            "file damaged? Else number the columns that are used from 1 on"
        )


def csr_rows(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Any
) -> sparse.csr_array:
    """Return CSR rows, with 32-bit indices if they suffice.

    A ValueError is raised where indices lie outside of the shape or of the arrays.
    """
    check_width(int(shape[1]))
    if indices.size and not 0 <= indices.min() <= indices.max() < shape[1]:
        raise ValueError(f"column indices must lie between 0 and {int(shape[1]) - 1}")
    # LIBLINEAR and LIBSVM take no wider ones.
    small = max(data.size, *shape) < 2**31
    index = np.int32 if small else np.int64
    rows = sparse.csr_array(
        (data, indices.astype(index), indptr.astype(index)), shape=(int(shape[0]), int(shape[1]))
    )
    rows.check_format(full_check=True)
    return rows


def take_rows(X: Rows, rows: Any) -> Rows:
    """Some rows of an array, of sparse rows or of a table, by number."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
