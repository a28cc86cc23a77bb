"""How classifiers are fitted whose gate is learned together with the weights.

Their problems are not convex: training is a schedule of stochastic steps of a given length. What
the arguments leave to "auto" is chosen first, on a held-out part of the training rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Generic

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data.arguments import check_number, make_generator
from ..data.checks import PENALTIES_NEED_SCALES, check_rows, warn_about_scales
from ..data.labelled import LabelledRows, merge_equal_rows
from ..data.splits import split_held_out
from ..model.latent_model import LatentModel
from ..model.multiclass import predicted_codes
from ..model.tree_model import TreeModel
from ..runtime.progress import EpochMonitor, Monitor
from ..runtime.threads import Workers
from ..solvers.latent import LatentResult
from ..solvers.trees import TreeResult
from .base import LabelledFitting, LocalClassifier, LocalEstimator
from .explained import ExplainMixin
from .learned_choice import Settings, axes_of, climbed, standard_error

# A trial of settings has so many times fewer epochs: enough to rank them.
SHORTER_TRIALS = 4
# Settings within a standard error of the best are evaluated again on other held-out rows.
N_SPLITS = 2


@dataclass(eq=False, repr=False)
class LearnedGateClassifier(
    LabelledFitting, LocalClassifier, LocalEstimator, ExplainMixin, Generic[Settings]
):
    """Base of the classifiers whose gate is learned with the weights.

    A subclass gives its settings, those to try, and trains.
    """

    _: KW_ONLY
    C: Any = "auto"
    max_iter: int = 50
    class_weight: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def _fit_rows(self, data: LabelledRows) -> None:
        warn_about_scales(data.X, PENALTIES_NEED_SCALES)
        data = merge_equal_rows(data)
        rng = make_generator(self.random_state)
        self._forget()
        with Workers(self.n_jobs) as workers:
            axes = axes_of(data, rng)
            rows = data if axes is None else replace(data, X=axes.transform(data.X), origin=None)
            settings = self._choose_settings(rows, rng, workers)
            with EpochMonitor(self, self.max_iter, self.verbose) as monitor:
                model, result = self._train(rows, settings, self.max_iter, rng, workers, monitor)
        self.model_ = model if axes is None else model.pulled_back(axes)
        self._keep_background(data)
        self.classes_ = data.classes
        self.n_iter_ = result.n_iter
        self.objective_ = result.objective
        self.history_ = result.history
        self.C_ = 1 / (settings.penalty * data.total_weight) if is_auto(self.C) else float(self.C)
        self._keep_settings(settings)

    # ---- what a subclass gives -----------------------------------------------------------------

    def _check_arguments(self) -> None:
        if not is_auto(self.C):
            check_number("C", self.C)
        check_number("max_iter", self.max_iter, integer=True, above=1, inclusive=True)
        self._check_common()

    @abstractmethod
    def _first_settings(self, data: LabelledRows) -> Settings:
        """Settings with the arguments, and a start for each "auto"."""

    @abstractmethod
    def _variations(self, data: LabelledRows) -> dict[str, Sequence[float]]:
        """Settings to choose, one after the other, and their values in increasing order."""

    @abstractmethod
    def _train(
        self,
        data: LabelledRows,
        settings: Settings,
        n_epochs: int,
        rng: np.random.Generator,
        workers: Workers,
        monitor: Monitor | None = None,
    ) -> tuple[TreeModel | LatentModel, TreeResult | LatentResult]:
        """A model of rows, and what the solver found."""

    @abstractmethod
    def _keep_settings(self, settings: Settings) -> None:
        """Set the settings as fitted attributes."""

    # ---- choosing settings ---------------------------------------------------------------------

    def _penalty(self, data: LabelledRows, first: float) -> float:
        """``λ`` of the ``C`` given; ``first`` where it is to be chosen."""
        return first if is_auto(self.C) else 1 / (float(self.C) * data.total_weight)

    def _choose_settings(
        self, data: LabelledRows, rng: np.random.Generator, workers: Workers
    ) -> Settings:
        best = self._first_settings(data)
        variations = self._variations(data)
        splits = [split_held_out(data, rng) for _ in range(N_SPLITS)] if variations else []
        parts = [part for part in splits if part is not None]
        if not parts:
            return best
        seed = int(rng.integers(2**63))  # the same for all settings
        known: dict[tuple[Settings, int], float] = {}

        def error(settings: Settings, split: int = 0) -> float:
            if (settings, split) not in known:
                found = self._held_out_error(*parts[split], settings, seed, workers)
                known[settings, split] = found
            return known[settings, split]

        for name, values in variations.items():
            tried = climbed(best, name, values, error)
            least = min(map(error, tried))
            close = least + standard_error(least, len(parts[0][1].target))
            tried = [one for one in tried if error(one) <= close]
            best = min(tried, key=lambda one: sum(error(one, k) for k in range(len(parts))))
        return best

    def _held_out_error(
        self,
        train: LabelledRows,
        test: LabelledRows,
        settings: Settings,
        seed: int,
        workers: Workers,
    ) -> float:
        n_epochs = max(1, self.max_iter // SHORTER_TRIALS)
        model, _ = self._train(train, settings, n_epochs, np.random.default_rng(seed), workers)
        wrong = predicted_codes(model.scores(test.X, workers)) != test.target
        return float(np.average(wrong, weights=test.sample_weight))

    # ---- prediction and fitted attributes ------------------------------------------------------

    def _row_scores(self, X: Any) -> np.ndarray:
        X = self._rows_to_score(X)
        with Workers(self.n_jobs) as workers:
            return self.model_.scores(X, workers)

    def _rows_to_score(self, X: Any) -> Any:
        check_is_fitted(self)
        X = check_rows(self, X, reset=False, values=False)  # the model checks them while it scores
        return X.astype(self.model_.dtype, copy=False)

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the local models, ``(n_models, n_columns, n_features)``."""
        return self.model_.coef

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts of the local models, ``(n_models, n_columns)``."""
        return self.model_.intercept


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
    """Whether an argument is left to be chosen."""
    return isinstance(value, str) and value == "auto"
