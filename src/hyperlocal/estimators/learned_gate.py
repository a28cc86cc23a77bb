"""How classifiers are fitted whose gate is learned together with the weights.

Their problems are not convex: training is a schedule of stochastic steps of a given length. What
the arguments leave to "auto" is chosen first, on a held-out part of the training rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data.arguments import check_n_jobs, check_number, make_generator
from ..data.checks import PENALTIES_NEED_SCALES, check_labelled_rows, check_rows, warn_about_scales
from ..data.labelled import LabelledRows, merge_equal_rows
from ..data.splits import split_held_out
from ..maps.base import FeatureMap
from ..model.multiclass import predicted_codes
from ..runtime.progress import CallbackSupportMixin, EpochMonitor, with_callbacks
from ..runtime.threads import Workers, row_blocks
from .old_local_model import LocalModel

ROWS_PER_PREDICTION_BLOCK = 4_096
# A trial of settings has so many times fewer epochs: enough to rank them.
SHORTER_TRIALS = 2
# Settings within a standard error of the best are judged again on other held-out rows.
N_SPLITS = 2

Settings = dict[str, Any]
Monitor = Callable[..., bool]


class LearnedGateClassifier(CallbackSupportMixin, LocalModel):
    """Base of the classifiers whose gate is learned with the weights.

    A subclass gives its arguments, the settings to try, a solver, and scores from what it returned.
    """

    _bias = 1.0

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to training rows.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            Rows; float32 stays float32. Standardised features are best.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of rows; a weight of two is the same as the row twice (to the last bit up to
            16,384 rows).

        Returns
        -------
        self
        """
        self._check_arguments()
        data = check_labelled_rows(self, X, y, sample_weight, self.class_weight)
        warn_about_scales(data.X, PENALTIES_NEED_SCALES)
        data = merge_equal_rows(data)
        rng = make_generator(self.random_state)
        self.__dict__.pop("classes_", None)  # should this fit be interrupted, none is in use
        with Workers(self.n_jobs) as workers:
            settings = self._choose_settings(data, rng, workers)
            monitor = EpochMonitor(self, self.max_iter, self.verbose)
            try:
                result = self._train(data, settings, self.max_iter, rng, workers, monitor.epoch)
            finally:
                monitor.close()
        self._feature_map = FeatureMap().fit(data.X, None, data.sample_weight, rng)
        self._take(result, settings)
        self.n_iter_ = result.n_iter
        self.objective_ = result.objective
        self.history_ = result.history
        self.classes_ = data.classes
        return self

    # ---- what a subclass gives -----------------------------------------------------------------

    def _check_arguments(self) -> None:
        if not is_auto(self.alpha):
            check_number("alpha", self.alpha, inclusive=True)
        check_number("max_iter", self.max_iter, integer=True, above=1, inclusive=True)
        check_n_jobs(self.n_jobs)
        if not isinstance(self.verbose, bool):
            check_number("verbose", self.verbose, integer=True, inclusive=True)

    def _first_settings(self, data: LabelledRows) -> Settings:
        """Settings with the arguments, and a start for each "auto"."""
        raise NotImplementedError

    def _variations(self, data: LabelledRows) -> list[list[Settings]]:
        """Changes of the settings, in rounds: each round starts from the best so far."""
        raise NotImplementedError

    def _train(
        self,
        data: LabelledRows,
        settings: Settings,
        n_epochs: int,
        rng: np.random.Generator,
        workers: Workers,
        monitor: Monitor | None = None,
    ) -> Any:
        raise NotImplementedError

    def _take(self, result: Any, settings: Settings) -> None:
        """Keep what prediction needs, and the settings as fitted attributes."""
        raise NotImplementedError

    def _block_scores(self, X: Any, begin: int, end: int) -> np.ndarray:
        """Scores of some rows, ``(end - begin, n_columns)``; raises as ``check_values`` does."""
        raise NotImplementedError

    # ---- the rest ------------------------------------------------------------------------------

    def _choose_settings(
        self, data: LabelledRows, rng: np.random.Generator, workers: Workers
    ) -> Settings:
        best = self._first_settings(data)
        rounds = self._variations(data)
        if not rounds:
            return best
        splits = [split_held_out(data, rng) for _ in range(N_SPLITS)]
        parts = [part for part in splits if part is not None]
        if not parts:
            return best
        seed = int(rng.integers(2**63))  # the same luck for all
        known: dict[tuple[str, int], float] = {}

        def error(settings: Settings, split: int) -> float:
            key = repr(sorted(settings.items())), split
            if key not in known:
                known[key] = self._held_out_error(*parts[split], settings, seed, workers)
            return known[key]

        for changes in rounds:
            rivals = [best, *({**best, **change} for change in changes)]
            first = [error(settings, 0) for settings in rivals]
            close = min(first) + standard_error(min(first), len(parts[0][1].target))
            rivals = [one for one, error_there in zip(rivals, first, strict=True)
                      if error_there <= close]  # fmt: skip
            best = min(rivals, key=lambda one: sum(error(one, k) for k in range(len(parts))))
        return best

    def _held_out_error(
        self,
        train: LabelledRows,
        judge: LabelledRows,
        settings: Settings,
        seed: int,
        workers: Workers,
    ) -> float:
        n_epochs = max(1, self.max_iter // SHORTER_TRIALS)
        rng = np.random.default_rng(seed)
        self._take(self._train(train, settings, n_epochs, rng, workers), settings)
        scores = self._scores(judge.X, workers)
        return float(
            np.average(predicted_codes(scores) != judge.target, weights=judge.sample_weight)
        )

    def _rows_to_score(self, X: Any) -> Any:
        check_is_fitted(self, "classes_")
        X = check_rows(self, X, reset=False, values=False)
        return X.astype(self._weights.dtype, copy=False)

    def _row_scores(self, X: Any) -> np.ndarray:
        with Workers(self.n_jobs) as workers:
            return self._scores(X, workers)

    def _scores(self, X: Any, workers: Workers) -> np.ndarray:
        blocks = row_blocks(X.shape[0], ROWS_PER_PREDICTION_BLOCK)
        return np.concatenate(workers.map(lambda block: self._block_scores(X, *block), blocks))


def standard_error(share: float, n_rows: int) -> float:
    """How far a share of so many rows is from the truth, typically.

    Examples
    --------
    >>> from hyperlocal.estimators.learned_gate import standard_error
    >>> standard_error(0.5, 100)
    0.05
    """
    return float(np.sqrt(share * (1 - share) / n_rows))


def passes_per_epoch(n_rows: int, n_epochs: int, fewest_visits: int) -> int:
    """How often an epoch visits each row: once, or more where so few visits would not do.

    Examples
    --------
    >>> from hyperlocal.estimators.learned_gate import passes_per_epoch
    >>> passes_per_epoch(100, 10, 3000), passes_per_epoch(1000, 10, 3000)
    (3, 1)
    """
    return max(1, round(fewest_visits / (n_rows * n_epochs)))


def costs_of(data: LabelledRows) -> np.ndarray:
    """Weights of rows, one on average, in the rows' own precision."""
    return (data.sample_weight / data.sample_weight.mean()).astype(data.X.dtype)


def is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"
