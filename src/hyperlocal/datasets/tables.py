"""Reads a user's own file, in any of the formats.

:func:`read_table` gives labelled rows, with the test part if the file has one. :func:`read_raw`
gives one part, with labels if there are any, and with the columns that a model needs.

A file that cannot be used is refused with a ``ValueError`` that names the file, the line and
column where possible, and what to do.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import read_npz, read_raw_npz
from .dataset import Dataset, RawRows, tidy_labels
from .delimited import read_delimited
from .parquet import read_parquet
from .svmlight import looks_like_svmlight, read_svmlight
from .text import table_name

_OTHER_FORMATS = (
    ".feather", ".xlsx", ".xls", ".ods", ".h5", ".hdf5", ".mat", ".pkl", ".json", ".jsonl", ".arff",
    ".dta", ".sav", ".sas7bdat", ".rds",
)  # fmt: skip
MOST_LISTED = 30  # names in a message
_MAGIC = {b"PAR1": ".parquet", b"\x93NUM": ".npy"}
_FOLDERS: list[tempfile.TemporaryDirectory] = []  # removed when the program ends


def read_table(path: str | Path, *, target: str | int | None = None) -> Dataset:
    """Read labelled rows from a CSV, LIBSVM (svmlight), npz or parquet file.

    Parameters
    ----------
    path : str or Path
        - ``.npz``: arrays ``X, y``, or ``X_train, y_train, X_test, y_test``; or CSR rows as
          ``data, indices, indptr, shape`` (the arrays of :func:`scipy.sparse.save_npz`) and ``y``.
        - text: LIBSVM if every line reads ``label index:value …``, else a table of columns
          separated by comma, semicolon, tab, bar or spaces, with or without a header line, with
          decimal points or commas. In UTF-8, UTF-16, cp1252 or Latin-1; may be packed (gz, bz2, xz,
          zst, or a zip file of one table). Tables need pandas.
        - ``.parquet``: a table of columns; needs pandas and pyarrow.
        - ``-``: any of these from standard input.
    target : str or int, optional
        The label column of a table: its name, or its number from 0 (negative: from the end).
        Default: the last column.

    Returns
    -------
    Dataset
        CSR rows for LIBSVM files, a DataFrame for tables: numbers and text as they are, for
        :class:`~hyperlocal.preprocessing.TableEncoder`. Its index is the line of the file. Rows
        without a label are left out, which ``notes`` states. Labels are integers where all are
        whole numbers.

    Raises
    ------
    ValueError
        If the file is not of these formats, a row has more cells than the others, or the target is
        not a column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hyperlocal.datasets import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "cats.csv")
    ...     _ = path.write_text("weight,fur,tame\\n4.1,long,yes\\n3.2,short,yes\\n9.5,long,no\\n")
    ...     cats = read_table(path)
    >>> cats.feature_names
    ('weight', 'fur')
    >>> cats.y_train
    array(['yes', 'yes', 'no'], dtype='<U3')
    """
    path = existing_file(path)
    if format_of(path) == ".npz":
        refuse_target(path, target)
        return read_npz(path)
    rows = read_raw(path, target=target)
    assert rows.y is not None
    return Dataset(
        rows.name, rows.X, rows.y, feature_names=rows.columns, notes=rows.notes, target=rows.target
    )


def read_raw(
    path: str | Path, *, target: str | int | None = None, columns: Sequence[str] | None = None,
    optional: Collection[str] = (), part: str = "train",
) -> RawRows:  # fmt: skip
    """Read rows as they are, with or without labels.

    Parameters
    ----------
    path : str or Path
        A file of the formats of :func:`read_table`. An npz file may hold ``X`` alone.
    target : str or int, optional
        The label column of a table, by name or number. Default: the last, or none if ``columns``
        are given.
    columns : sequence of str, optional
        The columns of ``X``, in this order; others are left out. A table without names that has
        just as many columns, besides the target, is taken as it is. Default: all but the labels.
    optional : collection of str, default=()
        Those of ``columns`` that the file may lack; they are missing values then.
    part : {"train", "test"}, default="train"
        Which part of an npz file that has both.

    Returns
    -------
    RawRows
        The rows, their labels if there are any, and names of columns.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hyperlocal.datasets import read_raw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "cats.csv")
    ...     _ = path.write_text("weight,fur,tame\\n4.1,long,yes\\n3.2,short,\\n9.5,long,no\\n")
    ...     cats = read_raw(path)
    >>> cats.columns, cats.target, cats.X.index.tolist(), cats.notes
    (('weight', 'fur'), 'tame', [2, 4], ('1 row without a label was left out',))
    """
    path = existing_file(path)
    kind = format_of(path)
    if kind in (".npz", ".svm"):
        refuse_target(path, target)
        if kind == ".npz":
            return read_raw_npz(path, part)
        data = read_svmlight(path)
        return RawRows(data.name, data.X_train, data.y_train)
    notes: tuple[str, ...] = ()
    if kind == ".parquet":
        frame, has_names = read_parquet(path), True
    else:
        frame, layout = read_delimited(path, known_column(target, columns))
        has_names, notes = layout.has_header, layout.notes
    wanted = Wanted(path, target, columns, optional, has_names)
    X, labels, n_without = wanted.parts(frame)
    if not len(X):
        raise ValueError(f"{path}: no rows with a label; is the target the right column?")
    y = None if labels is None else tidy_labels(labels)
    return RawRows(
        table_name(path), X, y, tuple(X.columns), wanted.target_of(frame), has_names,
        (*notes, *without_label(n_without)),
    )  # fmt: skip


def without_label(n_rows: int) -> tuple[str, ...]:
    """A note on rows without a label, if there are any."""
    rows = "row without a label was" if n_rows == 1 else "rows without a label were"
    return (f"{n_rows:,} {rows} left out",) if n_rows else ()


@dataclass(frozen=True)
class Wanted:
    """Which columns of a table are labels and features; arguments as in :func:`read_raw`."""

    path: Path
    target: str | int | None
    columns: Sequence[str] | None
    optional: Collection[str] = ()
    has_names: bool = True

    def target_of(self, frame: Any) -> str | None:
        """Name of the label column; None if there are no labels."""
        if self.target is None:
            return str(frame.columns[-1]) if self.columns is None else None
        return str(frame.columns[self._number(list(frame.columns))])

    def _number(self, names: list[str]) -> int:
        if isinstance(self.target, str) and self.target in names:
            return names.index(self.target)
        try:
            number = int(self.target)  # type: ignore[arg-type]
        except ValueError:
            number = len(names)
        if not -len(names) <= number < len(names):
            raise ValueError(
                f"{self.path}: no column {self.target!r}{close_to(self.target, names)}; columns "
                f"are {listed(names)} (or numbers 0 to {len(names) - 1})"
            )
        return number % len(names)

    def parts(self, frame: Any) -> tuple[Any, np.ndarray | None, int]:
        """Features and labels of the rows that have a label, and how many have none."""
        target = self.target_of(frame)
        if len(frame.columns) < 2 and target is not None:
            raise ValueError(f"{self.path}: only one column; a table needs features and a label")
        X = self._features(frame, target)
        if target is None:
            return X, None, 0
        labels, has_label = label_cells(frame[target])
        if has_label.all():
            return X, labels, 0
        return X[has_label], labels[has_label], int((~has_label).sum())

    def _features(self, frame: Any, target: str | None) -> Any:
        others = frame if target is None else frame.drop(columns=target)
        if self.columns is None:
            return others
        wanted, found = list(self.columns), list(frame.columns)
        if not self.has_names and len(others.columns) == len(wanted):
            return others.set_axis(wanted, axis=1)
        missing = [name for name in wanted if name not in found and name not in self.optional]
        if missing:
            shown = ", ".join(repr(name) for name in missing[:5]) + (", …" if missing[5:] else "")
            raise ValueError(
                f"{self.path}: lacks {len(missing)} of the {len(wanted)} columns needed: {shown}; "
                f"columns are {listed(found)}"
            )
        return frame.reindex(columns=wanted)


def label_cells(series: Any) -> tuple[np.ndarray, np.ndarray]:
    """Labels of a column, text without outer blanks, and where there is one."""
    has_label = series.notna().to_numpy()
    if getattr(series.dtype, "kind", "O") in "iuf":
        return series.to_numpy(), has_label
    texts = series.astype(object).where(has_label, "").astype(str).str.strip()
    return texts.to_numpy(dtype=object).astype(str), has_label & (texts != "").to_numpy()


def close_to(name: object, names: Sequence[str]) -> str:
    """A question that names the closest of these names; nothing if none is close.

    Examples
    --------
    >>> from hyperlocal.datasets.tables import close_to
    >>> close_to("specis", ["island", "species"]), close_to("x", ["island"])
    (" (did you mean 'species'?)", '')
    """
    by_case = {one.lower(): one for one in names}
    close = get_close_matches(str(name).lower(), by_case, n=1)
    return f" (did you mean {by_case[close[0]]!r}?)" if close else ""


def listed(names: Sequence[str]) -> str:
    """Names one after the other; of very many, the first ones.

    Examples
    --------
    >>> from hyperlocal.datasets.tables import listed
    >>> listed(["island", "species"]), listed(list("abc") * 20)[-7:]
    ('island, species', 'b, c, …')
    """
    return ", ".join([*names[:MOST_LISTED], "…"] if len(names) > MOST_LISTED else names)


def known_column(target: Any, columns: Sequence[str] | None) -> Any:
    """A column that is known to exist: if its name is in the first line, that is a header."""
    return columns[0] if columns and not isinstance(target, str) else target


def existing_file(path: str | Path) -> Path:
    """The path of a file that exists and may be of a format that is read."""
    if str(path) == "-":
        return _standard_input()
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path}: a folder; give a file of it")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    if path.suffix in _OTHER_FORMATS:
        raise ValueError(
            f"{path}: {path.suffix} files are not read; save it as .csv, .npz or .parquet"
        )
    return path


def _standard_input() -> Path:
    """A file with all that comes from standard input: formats are recognized by looking back."""
    _FOLDERS.append(tempfile.TemporaryDirectory(prefix="hyperlocal-"))
    path = Path(_FOLDERS[-1].name, "standard input")
    with open(path, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def format_of(path: Path) -> str:
    """ ".npz", ".npy", ".parquet", ".svm" or ".csv": by the name, else by the content."""
    if path.suffix in (".npz", ".npy", ".parquet"):
        return path.suffix
    with open(path, "rb") as file:
        kind = _MAGIC.get(file.read(4))
    return kind or (".svm" if looks_like_svmlight(path) else ".csv")


def refuse_target(path: Path, target: Any) -> None:
    """Raise if a label column is named for a file without columns."""
    if target is not None:
        raise ValueError(
            f"{path}: target is for tables with columns; LIBSVM and npz files hold their labels"
        )
