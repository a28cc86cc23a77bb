"""Labelled rows that come in blocks: checked, and stored in files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..runtime.threads import row_blocks
from .checks import (
    check_block,
    check_known_classes,
    check_values,
    class_weights_by_mass,
    require_two_classes,
)
from .labelled import LabelledRows
from .row_store import NumberFile, Ranges, RowStore, open_store, single_rows

# Values of so many rows are read at a time.
ROWS_PER_READ = 1 << 16
# Rounding leaves such a relative spread in constant values.
ROUNDING = 1e-12


def collect_stream(estimator: Any, stream: Iterable[Any], rows: StoredRows) -> None:
    """Check the blocks of a stream as ``fit`` checks its rows, and write them to files.

    Parameters
    ----------
    estimator : estimator
        Its ``n_features_in_`` and ``feature_names_in_`` are set by the first block.
    stream : iterable of (X, y) or (X, y, sample_weight)
    rows : StoredRows
        Where the rows go.
    """
    number = 0
    for number, block in enumerate(_blocks_of(stream), start=1):
        try:
            X, y, weights = _parts(block)
            if np.shape(X)[0] == 0:
                continue
            checked = check_block(
                estimator, X, y, weights, reset=rows.is_new, is_numeric=rows.is_numeric
            )
            rows.append(*checked)
        except (ValueError, TypeError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"block {number - 1} of the stream (from 0): {error}") from error
    if not rows.n_rows:
        raise ValueError(
            f"the stream has no rows: {number} blocks, none with a row of positive weight."
        )
    rows.finish()


def _blocks_of(stream: Any) -> Iterator[Any]:
    try:
        return iter(stream)
    except TypeError:
        raise TypeError(
            "stream must be an iterable of blocks (X, y) or (X, y, sample_weight), not "
            f"{type(stream).__name__}."
        ) from None


def _parts(block: Any) -> tuple[Any, Any, Any]:
    if not isinstance(block, (tuple, list)) or len(block) not in (2, 3):
        raise TypeError("it must be a tuple (X, y) or (X, y, sample_weight).")
    return block[0], block[1], block[2] if len(block) == 3 else None


class LabelBook:
    """Numbers for labels, in the order in which they occur.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.data.stream import LabelBook
    >>> book = LabelBook()
    >>> book.numbers(np.array(["b", "a", "b"])).tolist(), book.numbers(np.array(["c"])).tolist()
    ([1, 0, 1], [2])
    >>> book.classes
    array(['a', 'b', 'c'], dtype='<U1')
    """

    def __init__(self, known: np.ndarray | None = None):
        self._numbers: dict[Any, int] = {}
        self._is_open = known is None
        self.classes = np.empty(0)
        if known is not None:
            self._add(known)

    def numbers(self, y: np.ndarray) -> np.ndarray:
        """The number of each label."""
        labels, inverse = np.unique(y, return_inverse=True)
        new = np.array([label not in self._numbers for label in labels.tolist()], bool)
        if new.any() and not self._is_open:
            raise ValueError(f"y contains labels that are not in classes: {labels[new].tolist()}.")
        if new.any():
            self._add(labels[new])
        numbers = [self._numbers[label] for label in labels.tolist()]
        return np.array(numbers, np.int32)[inverse.ravel()]

    def places(self) -> np.ndarray:
        """For each number, the position of its label among the sorted ones."""
        places = np.empty(len(self._numbers), np.int32)
        places[[self._numbers[label] for label in self.classes.tolist()]] = np.arange(len(places))
        return places

    def _add(self, labels: np.ndarray) -> None:
        if self._numbers and _is_number(self.classes) != _is_number(labels):
            raise TypeError(
                f"labels such as {labels.tolist()[0]!r} come after labels such as "
                f"{self.classes.tolist()[0]!r}; give labels of one type."
            )
        for label in labels.tolist():
            self._numbers[label] = len(self._numbers)
        both = np.concatenate([self.classes, labels]) if len(self.classes) else labels
        self.classes = np.unique(both)


def _is_number(labels: np.ndarray) -> bool:
    return labels.dtype.kind in "biuf"


@dataclass
class _Files:
    rows: RowStore
    labels: NumberFile
    weights: NumberFile


class StoredRows:
    """The rows of a stream in files: features, labels, weights.

    Parameters
    ----------
    folder : Path
    classes : array-like, optional
        All possible labels.
    class_weight : dict, "balanced" or None
    """

    is_numeric = False
    total_weight: float

    def __init__(self, folder: Path, classes: Any = None, class_weight: Any = None):
        self.folder = folder
        self.class_weight = class_weight
        self.labels = LabelBook(None if classes is None else check_known_classes(classes, None))
        self._files: _Files | None = None
        self._masses = np.zeros(0)

    def __enter__(self) -> StoredRows:
        return self

    def __exit__(self, *_: object) -> None:
        if self._files is not None:
            for file in (self._files.rows, self._files.labels, self._files.weights):
                file.close()

    @property
    def is_new(self) -> bool:
        """Whether there was no block yet."""
        return self._files is None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return 0 if self._files is None else self._files.rows.n_rows

    def append(self, X: Any, y: np.ndarray, weights: np.ndarray) -> None:
        """Add checked rows; the first block says how rows are stored and in what precision."""
        if self._files is None:
            self.dtype, self._is_sparse = X.dtype, sp.issparse(X)
            self._files = _Files(
                open_store(self.folder, "rows", X),
                self._label_file(y),
                NumberFile(self.folder / "weights", np.float64),
            )
        if sp.issparse(X) != self._is_sparse:
            kinds = ("sparse", "dense") if self._is_sparse else ("dense", "sparse")
            raise ValueError(f"X is {kinds[1]}, but the first block's is {kinds[0]}.")
        if X.dtype != self.dtype:
            X = X.astype(self.dtype)
            check_values(X)
        numbers = self._numbers(y, weights)
        self._files.rows.append(X)
        self._files.labels.append(numbers)
        self._files.weights.append(weights)

    def _label_file(self, y: np.ndarray) -> NumberFile:
        return NumberFile(self.folder / "labels", np.int32)

    def _numbers(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """What is stored of labels; their weights are counted."""
        numbers = self.labels.numbers(y)
        masses = np.zeros(len(self.labels.classes))
        masses[: len(self._masses)] = self._masses
        np.add.at(masses, numbers, weights)
        self._masses = masses
        return numbers

    def finish(self) -> None:
        """Determine classes and their weights, after the last block."""
        self.classes = self.labels.classes
        require_two_classes(self.classes, "the stream")
        self._places = self.labels.places()
        masses = np.zeros(len(self.classes))
        masses[self._places[: len(self._masses)]] = self._masses
        self._factors = np.ones(len(self.classes))
        if self.class_weight is not None:
            self._factors = class_weights_by_mass(self.class_weight, self.classes, masses)
        self.total_weight = float(masses @ self._factors)

    def sample(self, n_wanted: int, rng: np.random.Generator) -> LabelledRows:
        """Rows drawn without replacement, in their order; all, if there are no more."""
        if self.n_rows <= n_wanted:
            return self.read([(0, self.n_rows)])
        ranges = single_rows(np.sort(rng.choice(self.n_rows, n_wanted, replace=False)))
        data = self.read(ranges)
        return replace(data, population=self.n_rows)

    def read(self, ranges: Ranges) -> LabelledRows:
        """The rows of some ranges."""
        return self.labelled(self._open_files().rows.read(ranges), ranges)

    def labelled(self, X: Any, ranges: Ranges) -> LabelledRows:
        """Rows that were read from some ranges, with their labels and weights."""
        files = self._open_files()
        target = self._places[files.labels.read(ranges)[:, 0]]
        weights = files.weights.read(ranges)[:, 0] * self._factors[target]
        return LabelledRows(X, target, self.classes, weights)

    def forget_features(self) -> None:
        """Delete the features, when mapped ones replace them."""
        self._open_files().rows.close()

    def features(self) -> RowStore:
        """The store of the features."""
        return self._open_files().rows

    def _open_files(self) -> _Files:
        assert self._files is not None
        return self._files


class StoredValues(StoredRows):
    """The rows of a stream with values instead of classes; they are scaled as they are read.

    Attributes
    ----------
    center, scale : ndarray of shape (n_targets,)
        Weighted means and standard deviations, after the last block.
    shape : tuple of int
        Of the values of one row.
    """

    is_numeric = True
    shape: tuple[int, ...]
    center: np.ndarray
    scale: np.ndarray

    def finish(self) -> None:
        """Determine center and scale, after the last block."""
        files = self._open_files()

        def total(of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
            blocks = [[block] for block in row_blocks(self.n_rows, ROWS_PER_READ)]
            parts = [
                files.weights.read(ranges)[:, 0] @ of(files.labels.read(ranges))
                for ranges in blocks
            ]
            return np.sum(parts, axis=0)

        self.total_weight = float(total(lambda values: np.ones(len(values))))
        # Squares may overflow where the values do not.
        unit = np.where(self._largest > 0, self._largest, 1.0)
        center = total(lambda values: values / unit) / self.total_weight
        squares = total(lambda values: (values / unit - center) ** 2) / self.total_weight
        self.center, self.scale = center * unit, np.sqrt(squares) * unit
        self.scale[np.sqrt(squares) <= ROUNDING * np.abs(center)] = 1.0

    def labelled(self, X: Any, ranges: Ranges) -> LabelledRows:
        """Rows that were read from some ranges, with scaled values and weights."""
        files = self._open_files()
        scaled = (files.labels.read(ranges) - self.center) / self.scale
        values, target = np.unique(scaled.reshape(-1, *self.shape), return_inverse=True, axis=0)
        weights = files.weights.read(ranges)[:, 0]
        target = target.ravel().astype(np.int32)
        return LabelledRows(X, target, values, weights, is_numeric=True)

    def _label_file(self, y: np.ndarray) -> NumberFile:
        self.shape = y.shape[1:]
        n_targets = math.prod(self.shape)
        self._largest = np.zeros(n_targets)
        return NumberFile(self.folder / "labels", np.float64, n_targets)

    def _numbers(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if y.shape[1:] != self.shape:
            raise ValueError(f"y has the shape {y.shape}, but the first block's rows {self.shape}.")
        values = y.reshape(len(y), -1)
        self._largest = np.maximum(self._largest, np.abs(values).max(axis=0, initial=0.0))
        return values
