"""Fitting to a stream of row blocks: the chain for data larger than memory.

    blocks → files → sample → anchors, gate, feature map → codes → files → blocks in turn → weights

The stream is read once. Its rows go to a working folder in binary form; a uniform sample of them
places the gate, as :meth:`LocallyLinearClassifier.fit` does from all rows; then each row is coded
once, and training goes over blocks that are dealt from the files at random.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.arguments import check_number, make_generator
from ..data.checks import (
    check_block,
    check_known_classes,
    check_values,
    class_weights_by_mass,
    require_two_classes,
    warn_about_scales,
)
from ..data.labelled import LabelledRows, merge_equal_rows
from ..data.row_store import NumberFile, Ranges, RowStore, deal_chunks, open_store, single_rows
from ..gates.anchors import rows_to_sample
from ..gates.codes import Codes
from ..maps.quadratic import ROWS_FOR_PRINCIPAL_AXES
from ..model.lifting import LiftedRows
from ..runtime.progress import EpochMonitor, with_callbacks
from ..runtime.threads import Workers, read_ahead, row_blocks
from ..solvers import Problem, SolverResult, sgd
from ..solvers import blocks as block_descent
from .base import LocallyLinearClassifier

# About what a block takes in memory, and the next is read meanwhile: large enough that a pass over
# many blocks is little worse than an epoch over all rows, and small beside the memory of a machine.
BYTES_PER_BLOCK = 1 << 27


class StreamedClassifier(LocallyLinearClassifier):
    """A locally linear classifier that can be fitted to more rows than memory holds."""

    @with_callbacks
    def fit_stream(
        self,
        stream: Iterable[Any],
        classes: Any = None,
        *,
        block_rows: Any = "auto",
        folder: Any = None,
    ) -> Any:
        """Fit to rows that come in blocks, with little more in memory than one block.

        The problem and its solution are those of :meth:`fit`; but anchors, gate and feature map are
        fitted to a uniform sample of 20,000 rows (64 per anchor, if that is more). Up to 16,384
        rows both methods place the same gate.

        Parameters
        ----------
        stream : iterable of (X, y) or (X, y, sample_weight)
            Blocks of rows, of any sizes, such as :func:`hyperlocal.datasets.stream` reads from a
            file; a list or a generator will do. It is read once.
        classes : array-like, default=None
            All labels there may be; by default those of the stream.
        block_rows : int or "auto", default="auto"
            Rows that are trained on at a time. "auto" is what takes about 128 MB.
        folder : path, default=None
            Where to make the working folder, which is removed at the end: on a disk that has room
            for the rows in binary form, a few numbers per row and active anchor, and one per row
            and class. By default where the system keeps temporary files.

        Returns
        -------
        self
            ``n_iter_`` counts passes over the rows; ``warm_start`` has no effect.

        Examples
        --------
        >>> import numpy as np
        >>> from hyperlocal import LocallyLinearSVC
        >>> def blocks():
        ...     rng = np.random.default_rng(0)
        ...     for _ in range(5):
        ...         X = rng.standard_normal((200, 2))
        ...         yield X, X[:, 0] * X[:, 1] > 0
        >>> model = LocallyLinearSVC(random_state=0).fit_stream(blocks())
        >>> model.predict([[1.0, 1.0], [1.0, -1.0]])
        array([ True, False])
        """
        self._check_arguments()
        if self._solver() == "qp":
            raise ValueError("solver='qp' needs all rows at once; use solver='dual' or 'sgd'.")
        if block_rows != "auto":
            check_number("block_rows", block_rows, integer=True, above=1, inclusive=True)
        rng = make_generator(self.random_state)
        (other_rng,) = rng.spawn(1)  # so that the gate sees the numbers that it sees in fit
        with ExitStack() as stack:
            working = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="hyperlocal-", dir=folder))
            )
            rows = stack.enter_context(StoredRows(working))
            self._collect(stream, classes, rows)
            workers = stack.enter_context(Workers(self.n_jobs))
            self._forget()
            self._fit_gate(self._sample(rows, other_rng), rng, workers)
            self._fix_lifting()
            problem = stack.enter_context(StoredProblem(self, rows, block_rows, workers))
            problem.prepare()
            monitor = EpochMonitor(self, self.max_iter, self.verbose, task="pass")
            try:
                result = self._solve_stored(problem, rng, monitor)
            finally:
                monitor.close()
        self._remember_schedule(result, rows.n_rows, rows.total_weight)
        self._take(result, rows.classes)
        return self

    def _collect(self, stream: Iterable[Any], classes: Any, rows: StoredRows) -> None:
        """Check the blocks of a stream and write them to files."""
        known = None if classes is None else check_known_classes(classes, None)
        rows.labels = LabelBook(known)
        number = 0
        for number, block in enumerate(_blocks_of(stream), start=1):
            try:
                X, y, weights = _parts(block)
                if np.shape(X)[0] == 0:
                    continue
                rows.append(*check_block(self, X, y, weights, reset=rows.is_new))
            except (ValueError, TypeError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"block {number - 1} of the stream (from 0): {error}") from error
        if not rows.n_rows:
            raise ValueError(
                f"the stream has no rows: {number} blocks, none with a row of positive weight."
            )
        rows.finish(self.class_weight)

    def _sample(self, rows: StoredRows, rng: np.random.Generator) -> LabelledRows:
        """The rows that the gate is fitted to; if they are all, as ``fit`` takes them."""
        sample = rows.sample(rows_to_sample(self.n_anchors, ROWS_FOR_PRINCIPAL_AXES), rng)
        warn_about_scales(sample.X, self._why_scales_matter)
        return merge_equal_rows(sample) if sample.population is None else sample

    def _solve_stored(
        self, source: StoredProblem, rng: np.random.Generator, monitor: EpochMonitor
    ) -> SolverResult:
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "rng": rng}
        options["monitor"] = monitor.epoch
        if self._solver() == "dual":
            return block_descent.solve(source, **options)
        penalize = self._penalizes_intercept()
        total_cost = self._cost() * source.total_weight
        state = sgd.start_state(
            next(source.problems(rng)), rng, penalize_intercept=penalize, total_cost=total_cost
        )
        return sgd.solve_blocks(
            lambda: source.problems(rng), state, penalize_intercept=penalize,
            mean_cost=total_cost / source.n_rows, **options,
        )  # fmt: skip


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
    """Numbers for labels, in the order in which they turn up.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.estimators.streamed import LabelBook
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
        """For each number, the place of its label among the sorted ones."""
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
    """The rows of a stream in files: features, labels, weights."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.labels = LabelBook()
        self._files: _Files | None = None
        self._masses = np.zeros(0)

    def __enter__(self) -> StoredRows:
        return self

    def __exit__(self, *_: object) -> None:
        if self._files is not None:
            for file in vars(self._files).values():
                file.close()

    @property
    def is_new(self) -> bool:
        """Whether no block has come yet."""
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
                NumberFile(self.folder / "labels", np.int32),
                NumberFile(self.folder / "weights", np.float64),
            )
        if sp.issparse(X) != self._is_sparse:
            kinds = ("sparse", "dense") if self._is_sparse else ("dense", "sparse")
            raise ValueError(f"X is {kinds[1]}, but the first block's is {kinds[0]}.")
        if X.dtype != self.dtype:
            X = X.astype(self.dtype)
            check_values(X)
        numbers = self.labels.numbers(y)
        self._files.rows.append(X)
        self._files.labels.append(numbers)
        self._files.weights.append(weights)
        masses = np.zeros(len(self.labels.classes))
        masses[: len(self._masses)] = self._masses
        np.add.at(masses, numbers, weights)
        self._masses = masses

    def finish(self, class_weight: Any) -> None:
        """Settle classes and their weights, when all blocks have come."""
        self.classes = self.labels.classes
        require_two_classes(self.classes, "the stream")
        self._places = self.labels.places()
        masses = np.zeros(len(self.classes))
        masses[self._places[: len(self._masses)]] = self._masses
        self._factors = np.ones(len(self.classes))
        if class_weight is not None:
            self._factors = class_weights_by_mass(class_weight, self.classes, masses)
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
        target, weights = self.read_labels(ranges)
        return LabelledRows(self._open_files().rows.read(ranges), target, self.classes, weights)

    def read_labels(self, ranges: Ranges) -> tuple[np.ndarray, np.ndarray]:
        """Labels, as places among the classes, and weights, of some ranges."""
        files = self._open_files()
        target = self._places[files.labels.read(ranges)[:, 0]]
        return target, files.weights.read(ranges)[:, 0] * self._factors[target]

    def forget_features(self) -> None:
        """Delete the features, when others stand for them."""
        self._open_files().rows.close()

    def features(self) -> RowStore:
        """The store of the features."""
        return self._open_files().rows

    def _open_files(self) -> _Files:
        assert self._files is not None
        return self._files


class StoredProblem:
    """The problem of a model over stored rows: mapped rows, codes and dual variables in files."""

    def __init__(
        self, model: StreamedClassifier, rows: StoredRows, block_rows: Any, workers: Workers
    ):
        self._model, self._rows, self._workers = model, rows, workers
        self.n_rows = rows.n_rows
        self.total_weight = rows.total_weight
        self._mapped: RowStore | None = None
        self._n_columns = model._n_columns_for(rows.classes)
        gate = model._gate
        files = (
            NumberFile(rows.folder / "anchors", np.int32, gate.n_neighbors),
            NumberFile(rows.folder / "gate", rows.dtype, gate.n_neighbors),
            NumberFile(rows.folder / "alpha", rows.dtype, self._n_columns),
        )
        self._anchors, self._gate, self._alpha = files
        self._wanted_rows = block_rows

    def __enter__(self) -> StoredProblem:
        return self

    def __exit__(self, *_: object) -> None:
        for file in (self._anchors, self._gate, self._alpha):
            file.close()
        if self._mapped is not None:
            self._mapped.close()

    def problems(self, rng: np.random.Generator) -> Iterator[Problem]:
        """Every row once, in blocks dealt at random."""
        return read_ahead(self._load, deal_chunks(self.n_rows, self._block_rows, rng))

    def blocks(self, rng: np.random.Generator) -> Iterator[block_descent.Block]:
        """The same with the rows' dual variables."""

        def load(ranges: Ranges) -> block_descent.Block:
            problem, alpha = self._load(ranges), self._alpha.read(ranges)
            return block_descent.Block(problem, alpha, partial(self._alpha.write, ranges))

        return read_ahead(load, deal_chunks(self.n_rows, self._block_rows, rng))

    def _rows_per_block(self) -> int:
        if self._wanted_rows != "auto":
            return int(self._wanted_rows)
        codes = self._anchors.width * (4 + self._gate.dtype.itemsize)
        state = self._n_columns * (self._alpha.dtype.itemsize + 1)
        return max(1, int(BYTES_PER_BLOCK / (self._features().bytes_per_row + codes + state)))

    def prepare(self) -> None:
        """Code every row; keep mapped rows where the map is not applied as rows are read."""
        model, store = self._model, self._mapped
        for ranges in ([block] for block in row_blocks(self.n_rows, self._rows_per_block())):
            X = self._rows.features().read(ranges)
            codes = model._encode(X, self._workers)
            mapped = model._feature_map.stored(X)
            lifted = model._lift_stored(mapped, codes, self._workers)
            self._anchors.append(lifted.anchors)
            self._gate.append(lifted.gate)
            if mapped is X:
                continue
            if store is None:
                self._mapped = store = open_store(self._rows.folder, "mapped", mapped)
            store.append(mapped)
        if store is not None:
            self._rows.forget_features()
        self._alpha.extend(self.n_rows)
        self._block_rows = self._rows_per_block()

    def _features(self) -> RowStore:
        return self._rows.features() if self._mapped is None else self._mapped

    def _load(self, ranges: Ranges) -> Problem:
        model = self._model
        features = self._features().read(ranges)
        gate = self._gate.read(ranges)
        codes = Codes(self._anchors.read(ranges), gate, np.empty_like(gate))
        lifted = LiftedRows(
            model._feature_map.rows(features), codes, model._gate.n_anchors, model._bias,
            False,  # rows of norm one got their scale when they were coded
            self._workers, is_dense=not sp.issparse(features), shared_bias=model._shared_bias,
        )  # fmt: skip
        target, weights = self._rows.read_labels(ranges)
        return model._problem(lifted, LabelledRows(features, target, self._rows.classes, weights))
