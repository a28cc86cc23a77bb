"""Training over rows in files: the problem of a chain, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ..data.row_store import NumberFile, Ranges, RowStore, deal_chunks, open_store
from ..data.stream import StoredRows, StoredValues
from ..gates.codes import Codes
from ..model.local_model import LocalModel
from ..model.multiclass import n_columns
from ..model.problem import Problem
from ..model.residuals import RegressionLoss
from ..runtime.progress import Monitor
from ..runtime.threads import Workers, read_ahead, row_blocks
from . import blocks, sgd
from .result import SolverResult
from .training import Training

# Bytes of a block; the next block is read meanwhile. Large enough that a pass over many blocks is
# nearly as good as an epoch over all rows, and small compared with the memory of a machine.
BYTES_PER_BLOCK = 1 << 27


class StoredProblem:
    """The problem of a chain over stored rows: mapped rows, codes and dual variables in files."""

    def __init__(
        self,
        model: LocalModel,
        training: Training,
        rows: StoredRows,
        block_rows: Any,
        workers: Workers,
    ):
        self._model, self._training = model, training
        self._rows, self._workers = rows, workers
        self.n_rows = rows.n_rows
        self._mapped: RowStore | None = None
        if isinstance(rows, StoredValues):
            assert isinstance(training.loss, RegressionLoss)
            self._n_columns = len(training.loss.columns(len(rows.center)))
        else:
            self._n_columns = n_columns(len(rows.classes), training.joint)
        k = model.gate.n_neighbors
        self._anchors = NumberFile(rows.folder / "anchors", np.int32, k)
        self._gate = NumberFile(rows.folder / "gate", rows.dtype, k)
        self._alpha = NumberFile(rows.folder / "alpha", rows.dtype, self._n_columns)
        self._wanted_rows = block_rows

    def __enter__(self) -> StoredProblem:
        return self

    def __exit__(self, *_: object) -> None:
        for file in (self._anchors, self._gate, self._alpha):
            file.close()
        if self._mapped is not None:
            self._mapped.close()

    def solve(self, rng: np.random.Generator, monitor: Monitor) -> SolverResult:
        """Train weights over all rows, in blocks."""
        training = self._training
        options: dict[str, Any] = {"tol": training.tol, "max_iter": training.max_iter, "rng": rng}
        options["monitor"] = monitor
        if training.solver == "dual":
            return blocks.solve(self, **options)
        total_cost, penalize = training.C * self._rows.total_weight, training.penalize_intercept
        state = sgd.start_state(
            next(self.problems(rng)), rng, penalize_intercept=penalize, total_cost=total_cost
        )
        return sgd.solve_blocks(
            lambda: self.problems(rng), state, penalize_intercept=penalize,
            mean_cost=total_cost / self.n_rows, **options,
        )  # fmt: skip

    def problems(self, rng: np.random.Generator) -> Iterator[Problem]:
        """Every row once, in random blocks."""
        return read_ahead(self._load, deal_chunks(self.n_rows, self._block_rows, rng))

    def blocks(self, rng: np.random.Generator) -> Iterator[blocks.Block]:
        """The same with the rows' dual variables."""

        def load(ranges: Ranges) -> blocks.Block:
            problem, alpha = self._load(ranges), self._alpha.read(ranges)
            return blocks.Block(problem, alpha, partial(self._alpha.write, ranges))

        return read_ahead(load, deal_chunks(self.n_rows, self._block_rows, rng))

    def _rows_per_block(self) -> int:
        if self._wanted_rows != "auto":
            return int(self._wanted_rows)
        codes = self._anchors.width * (4 + self._gate.dtype.itemsize)
        state = self._n_columns * (self._alpha.dtype.itemsize + 1)
        return max(1, int(BYTES_PER_BLOCK / (self._features().bytes_per_row + codes + state)))

    def prepare(self) -> None:
        """Encode every row; store mapped rows unless the map is applied as rows are read."""
        model, store = self._model, self._mapped
        for ranges in ([block] for block in row_blocks(self.n_rows, self._rows_per_block())):
            X = self._rows.features().read(ranges)
            codes = model.encode(X, self._workers)
            mapped = model.feature_map.stored(X)
            lifted = model.lift_stored(mapped, codes, self._workers)
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
        model, training = self._model, self._training
        features = self._features().read(ranges)
        gate = self._gate.read(ranges)
        codes = Codes(self._anchors.read(ranges), gate, np.empty_like(gate))
        lifted = model.lift_stored(features, codes, self._workers, is_scaled=True)
        # Rows that differ may be equal when mapped: only rows as they were given are compared.
        given = features if self._mapped is None else np.empty((len(gate), 0), features.dtype)
        data = self._rows.labelled(given, ranges)
        return model.problem(data, training.C, training.loss, joint=training.joint, lifted=lifted)
