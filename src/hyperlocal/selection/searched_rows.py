"""The rows of a search's candidate: encoded once, and trained on for each fold and C."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..data.labelled import LabelledRows, part_of
from ..data.rows import take_rows
from ..model.chain_settings import ChainSettings
from ..model.lifting import LiftedRows
from ..runtime.threads import Workers
from ..solvers.coordinates import MOST_ROWS, as_lifted, coordinates
from ..solvers.training import Training
from .fold_rows import is_wide

# A C that takes more epochs than that, to a large gap, would take too many for all rows.
MOST_EPOCHS = 100
# Solves of the search stop at a larger gap, which changes no choice; the final fit has its own tol.
SEARCH_TOL = 1e-2


class FoldResult(NamedTuple):
    """Scores and epochs of each C on one fold, and the seconds of all training."""

    scores: list[float]
    epochs: list[int]
    seconds: float


class SearchedRows:
    """Rows encoded by one gate; each fold uses a part of them.

    Parameters
    ----------
    settings : ChainSettings
    training : Training
        With everything but C.
    data : LabelledRows
    workers : Workers
    seed : int
    chosen : ndarray of int, optional
        The rows that gate and map are fitted to; all by default.
    """

    def __init__(
        self,
        settings: ChainSettings,
        training: Training,
        data: LabelledRows,
        workers: Workers,
        seed: int,
        chosen: np.ndarray | None = None,
    ):
        self.training = training
        self.data = data
        seen = data if chosen is None else part_of(data, chosen)
        self.chain = settings.fit(seen, np.random.default_rng(seed), workers)
        self.stored = self.chain.feature_map.stored(data.X)
        self.codes = self.chain.encode(data.X, workers)
        self.coordinates = None
        if data.X.shape[0] <= MOST_ROWS:
            lifted = self.chain.lift_stored(self.stored, self.codes, workers)
            if is_wide(lifted):
                self.coordinates = coordinates(self.chain, data.X, lifted)

    def evaluate(
        self,
        train: np.ndarray,
        test: np.ndarray,
        costs: list[float],
        score: Callable[[np.ndarray, LabelledRows], float],
        workers: Workers,
        rng: np.random.Generator,
    ) -> FoldResult:
        """Train with each C, and score on the test rows."""
        train, test = np.sort(train), np.sort(test)
        part, held_out = part_of(self.data, train), part_of(self.data, test)
        start = time.perf_counter()
        lifted, test_rows = self._lift(train, workers), self._lift(test, workers)
        training = replace(
            self.training, tol=max(SEARCH_TOL, self.training.tol),
            max_iter=min(MOST_EPOCHS, self.training.max_iter),
        )  # fmt: skip
        alpha, scores, epochs = None, [], []
        for C in costs:
            problem = self.chain.problem(
                part, C, training.loss, joint=training.joint, lifted=lifted
            )
            result = training.solve(problem, rng, alpha=alpha)
            alpha = result.alpha
            epochs.append(result.n_iter)
            scores.append(score(test_rows.scores(result.weights), held_out))
        return FoldResult(scores, epochs, time.perf_counter() - start)

    def _lift(self, rows: np.ndarray, workers: Workers) -> LiftedRows:
        if self.coordinates is not None:
            return as_lifted(self.coordinates[rows], workers)
        stored = take_rows(self.stored, rows)
        return self.chain.lift_stored(stored, self.codes.take(rows), workers)
