"""From the parameters of a search to its candidates, folds and rounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.arguments import check_choice, check_number
from ..data.labelled import LabelledRows
from ..gates.anchors import default_n_anchors
from ..model.chain_settings import ChainSettings
from ..runtime.progress import Monitor
from ..runtime.threads import Workers
from ..solvers.training import Training
from .candidates import (
    Setting,
    default_anchor_numbers,
    default_feature_maps,
    default_finalists,
    default_levels,
    fine_levels,
    make_settings,
    sample_sizes,
    total_anchors,
)
from .folds import GivenFolds, default_folds
from .outcomes import Answers, Outcome
from .scorers import CheckedScorer
from .search import FIRST_COSTS, FIRST_COSTS_OF_VALUES, Search

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
        self.n_anchors = _anchor_numbers(n_anchors)
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
        if isinstance(cv, str) or not (
            cv is None or hasattr(cv, "split") or isinstance(cv, Iterable)
        ):
            check_number("cv", cv, integer=True, above=2, inclusive=True)
        self.cv = cv
        self.halving = halving
        check_choice("relevance", relevance, (None, "auto"))
        self.relevance = relevance
        self.scorer = None if scoring is None else CheckedScorer(scoring)

    def settings(self, data: LabelledRows) -> list[Setting]:
        """All candidates for these rows."""
        n_rows = data.X.shape[0]
        numbers = self._numbers(data)
        maps = self.feature_maps or default_feature_maps(n_rows, not sp.issparse(data.X))
        settings = make_settings(
            numbers, self.n_neighbors, self.betas, list(maps), len(self.scalers),
            self.costs or (FIRST_COSTS_OF_VALUES if data.is_numeric else FIRST_COSTS),
        )  # fmt: skip
        if data.is_numeric:  # what any linear regression fits
            settings = [
                replace(one, as_it_is=one.is_plain and one.n_anchors == 1) for one in settings
            ]
        if self.n_anchors:
            return settings
        # Many anchors with products of features would have too many weights; coarser levels beside
        # them carry what many rows agree on.
        usual = default_n_anchors(n_rows)
        return [
            one
            for one in settings
            if one.is_plain or isinstance(one.n_anchors, tuple) or one.n_anchors <= usual
        ]

    def _numbers(self, data: LabelledRows) -> list[int | tuple[int, ...]]:
        """Numbers of anchors to try, and levels of them, from few to many."""
        n_rows, n_features = data.X.shape
        if not self.n_anchors:
            numbers: list[Any] = [*default_anchor_numbers(n_rows, n_features)]
            levels = [default_levels(n_rows), fine_levels(n_rows)] if data.is_numeric else []
            return [*numbers, *levels]
        found = set()
        for given in self.n_anchors:
            if isinstance(given, str):
                found.add(default_levels(n_rows))
            elif isinstance(given, tuple):
                found.add(tuple(min(m, n_rows) for m in given))
            else:
                found.add(min(given, n_rows))
        return sorted(found, key=total_anchors)

    def n_steps(self, data: LabelledRows) -> int:
        """The most groups of candidates that are evaluated, for progress."""
        n_groups, sizes = self._rounds(data)
        return n_groups * len(sizes) + 1

    def run(
        self,
        settings: ChainSettings,
        training: Training,
        data: LabelledRows,
        answers: Answers,
        workers: Workers,
        rng: np.random.Generator,
        monitor: Monitor,
    ) -> list[Outcome]:
        """Evaluate the candidates."""
        n_groups, sizes = self._rounds(data)
        splitter = self._splitter(data, rng)
        search = Search(
            settings, training, self.scalers, data, answers, splitter, self.scorer or answers.score,
            workers, rng, monitor,
        )  # fmt: skip
        n_finalists = default_finalists(len(data.target)) if self.halving else n_groups
        candidates = self.settings(data)
        if self.relevance is not None and data.is_numeric:
            candidates = search.with_scales(candidates)
        try:
            outcomes = search.run(candidates, sizes, n_finalists)
        except AttributeError as error:
            if "predict_proba" not in str(error):
                raise
            raise ValueError("scoring needs probabilities; use loss='log'.") from error
        if not self.costs:
            outcomes = search.extend_costs(outcomes)
        if self.relevance is not None and not data.is_numeric:
            outcomes = search.try_relevance(outcomes)
        if not self._is_open:
            return outcomes
        chosen = search.try_chosen(self.relevance, self.n_neighbors[0])
        return chosen + outcomes  # of equal scores, the first counts

    @property
    def _is_open(self) -> bool:
        """Whether all that ``C="auto"`` decides is left to the search."""
        is_given = self.n_anchors or self.costs or self.feature_maps or len(self.n_neighbors) > 1
        return not is_given and list(self.betas) == ["auto"] and list(self.scalers) == [None]

    def _rounds(self, data: LabelledRows) -> tuple[int, list[int]]:
        """The number of groups, and the rows of each round."""
        settings = self.settings(data)
        n_groups = len({one.group for one in settings})
        samples = self.halving and not self._has_given_folds
        fewest = 4 * max(total_anchors(one.n_anchors) for one in settings)
        return n_groups, sample_sizes(data.X.shape[0], n_groups, samples, fewest=fewest)

    @property
    def _has_given_folds(self) -> bool:
        return isinstance(self.cv, Iterable) and not hasattr(self.cv, "split")

    def _splitter(self, data: LabelledRows, rng: np.random.Generator) -> Any:
        if self._has_given_folds:
            return GivenFolds(self.cv, data)
        if hasattr(self.cv, "split"):
            return self.cv
        folds = default_folds(data, self.cv, rng)
        if folds is None:
            few = f"four distinct rows, not n_samples={len(data.target)}"
            needed = few if data.is_numeric else "two distinct rows of a class"
            raise ValueError(f"cross-validation needs at least {needed}.")
        return folds


def _anchor_numbers(value: Any) -> list[Any]:
    """Numbers of anchors, tuples of levels, or "levels"; none for "auto"."""
    numbers = _values("n_anchors", value, auto=True)
    return [
        one if isinstance(one, str) and one == "levels"
        else tuple(_integers("n_anchors", one)) if isinstance(one, Sequence)
        else _integers("n_anchors", one)[0]
        for one in numbers
    ]  # fmt: skip


def _integers(name: str, value: Any) -> list[int]:
    numbers = _values(name, value)
    for number in numbers:
        check_number(name, number, integer=True, above=1, inclusive=True)
    return list(map(int, numbers))


def _values(name: str, value: Any, auto: bool = False) -> list[Any]:
    """One number or several; none for "auto"."""
    if isinstance(value, str) and auto:
        check_choice(name, value, ["auto"])
        return []
    if not isinstance(value, Iterable):
        return [value]
    return _sequence(name, value)


def _sequence(name: str, values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable) or not len(list(values)):
        raise ValueError(f"{name} must be a sequence of values to try, got {values!r}.")
    return list(values)
