"""From the parameters of a search to its candidates, folds and rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import get_scorer

from ..data.arguments import check_choice, check_number
from ..data.labelled import LabelledRows
from ..gates.anchors import default_n_anchors
from ..model.local_model import ChainSettings
from ..runtime.progress import Monitor
from ..runtime.threads import Workers
from ..solvers.training import Training
from .candidates import (
    Setting,
    default_anchor_numbers,
    default_feature_maps,
    default_finalists,
    make_settings,
    sample_sizes,
)
from .folds import GivenFolds, default_folds
from .outcomes import Outcome, accuracy
from .search import FIRST_COSTS, Search

SEARCHES = ("halving", "grid")


class SearchPlan:
    """Candidates, folds and scorer; raises if the parameters are invalid.

    Parameters
    ----------
    n_anchors, n_neighbors, betas, feature_maps, scalers, Cs, cv, scoring
        As in :class:`LocallyLinearSVCCV`.
    halving : bool
        Whether most candidates are evaluated on samples and some folds only.
    """

    def __init__(
        self,
        n_anchors: Any,
        n_neighbors: Any,
        betas: Any,
        feature_maps: Any,
        scalers: Any,
        Cs: Any,
        cv: Any,
        halving: bool,
        scoring: Any,
        relevance: Any = None,
    ):
        self.n_anchors = _integers("n_anchors", n_anchors, auto=True)
        self.n_neighbors = _integers("n_neighbors", n_neighbors)
        self.betas, self.scalers = _sequence("betas", betas), _sequence("scalers", scalers)
        self.costs = _values("Cs", Cs, auto=True)
        for C in self.costs:
            check_number("Cs", C)
        self.feature_maps: Sequence[Any] = []
        if isinstance(feature_maps, str):
            check_choice("feature_maps", feature_maps, ["auto"])
        else:
            self.feature_maps = _sequence("feature_maps", feature_maps)
        if cv is not None and not (hasattr(cv, "split") or isinstance(cv, Iterable)):
            check_number("cv", cv, integer=True, above=2, inclusive=True)
        self.cv = cv
        self.halving = halving
        check_choice("relevance", relevance, (None, "auto"))
        self.relevance = relevance
        self.scorer: Callable[..., float] = accuracy if scoring is None else get_scorer(scoring)

    def settings(self, data: LabelledRows) -> list[Setting]:
        """All candidates for these rows."""
        n_rows, n_features = data.X.shape
        numbers = sorted({min(m, n_rows) for m in self.n_anchors})
        numbers = numbers or default_anchor_numbers(n_rows, n_features)
        maps = self.feature_maps or default_feature_maps(n_rows, not sp.issparse(data.X))
        settings = make_settings(
            numbers, self.n_neighbors, self.betas, list(maps), len(self.scalers),
            self.costs or FIRST_COSTS,
        )  # fmt: skip
        if self.n_anchors:
            return settings
        # Many anchors with products of features would have too many weights.
        usual = default_n_anchors(n_rows)
        return [one for one in settings if one.n_anchors <= usual or one.is_plain]

    def n_steps(self, data: LabelledRows) -> int:
        """The most groups of candidates that are evaluated, for progress."""
        n_groups, sizes = self._rounds(data)
        return n_groups * len(sizes) + 1

    def run(
        self,
        settings: ChainSettings,
        training: Training,
        data: LabelledRows,
        workers: Workers,
        rng: np.random.Generator,
        monitor: Monitor,
    ) -> list[Outcome]:
        """Evaluate the candidates."""
        n_groups, sizes = self._rounds(data)
        splitter = self._splitter(data, rng)
        search = Search(
            settings, training, self.scalers, data, splitter, self.scorer, workers, rng, monitor
        )
        n_finalists = default_finalists(len(data.target)) if self.halving else n_groups
        try:
            outcomes = search.run(self.settings(data), sizes, n_finalists)
        except AttributeError as error:
            if "predict_proba" not in str(error):
                raise
            raise ValueError("scoring needs probabilities; use loss='log'.") from error
        if not self.costs:
            outcomes = search.extend_costs(outcomes)
        return outcomes if self.relevance is None else search.try_relevance(outcomes)

    def _rounds(self, data: LabelledRows) -> tuple[int, list[int]]:
        """The number of groups, and the rows of each round."""
        settings = self.settings(data)
        n_groups = len({one.group for one in settings})
        samples = self.halving and not self._has_given_folds
        fewest = 4 * max(one.n_anchors for one in settings)
        return n_groups, sample_sizes(data.X.shape[0], n_groups, samples, fewest=fewest)

    @property
    def _has_given_folds(self) -> bool:
        return isinstance(self.cv, Iterable) and not hasattr(self.cv, "split")

    def _splitter(self, data: LabelledRows, rng: np.random.Generator) -> Any:
        if self._has_given_folds:
            return GivenFolds(self.cv, data)
        if hasattr(self.cv, "split"):
            return self.cv
        folds = default_folds(data.target, self.cv, rng)
        if folds is None:
            raise ValueError(
                "cross-validation needs a class of at least two distinct rows; use "
                "LocallyLinearSVC."
            )
        return folds


def _integers(name: str, value: Any, auto: bool = False) -> list[int]:
    numbers = _values(name, value, auto)
    for number in numbers:
        check_number(name, number, integer=True, above=1, inclusive=True)
    return numbers


def _values(name: str, value: Any, auto: bool = False) -> list[Any]:
    """One number or several; none for "auto"."""
    if isinstance(value, str) and auto:
        check_choice(name, value, ["auto"])
        return []
    if np.ndim(value) == 0 and not isinstance(value, Iterable):
        return [value]
    return _sequence(name, value)


def _sequence(name: str, values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable) or not len(list(values)):
        raise ValueError(f"{name} must be a sequence of values to try, got {values!r}.")
    return list(values)
