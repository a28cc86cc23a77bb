"""The search behind :class:`LocallyLinearSVCCV`: folds, and rounds on growing samples.

A *group* is all values of C with the same anchors, neighbors, beta and feature map: they share
anchors, codes and lifted rows. The gate of a group is fitted once, without labels, and used for all
folds. C increases, and each solve starts from the dual variables of the last. Only a supervised
scaler is fitted to the training rows of each fold, and then everything after it as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from ..data.labelled import LabelledRows, part_of
from ..gates.code_on import CodeOn
from ..maps.linear import InputMap
from ..maps.transformer import transformed
from ..model.chain_settings import ChainSettings
from ..runtime.progress import Monitor
from ..runtime.threads import Workers
from ..solvers.training import Training
from .automatic import parameters_of
from .candidates import REDUCTION, Setting, WholeChain
from .chain_choice import choose_chain
from .outcomes import Answers, Outcome, best_outcome
from .relevance import COST, helpful_relevances, repeated_relevance
from .searched_rows import MOST_EPOCHS, FoldResult, SearchedRows

# Rounds before the last need a part of the folds only.
SHARE_OF_FOLDS = 0.4
# Values of C tried at first. While the largest or the smallest is best, ten times as much or a
# tenth is tried, up to the limits, if training took at most a share of the epochs allowed (the
# final fit has a stricter tolerance).
FIRST_COSTS = (1.0, 10.0, 100.0)
# Fine levels of anchors want less.
FIRST_COSTS_OF_VALUES = (1.0, 3.0, 10.0)
LEAST_COST, MOST_COST = 0.1, 1000.0
EASY_SHARE = 0.2
# Values of C that are tried with the chain that C="auto" chooses, times the chosen one.
FACTORS_BESIDE = (1.0, 1 / 3, 3.0)
# Up to so many rows, coded or scaled rows are stored for the next round.
MOST_ROWS_KEPT = 20_000

Splits = list[tuple[np.ndarray, np.ndarray]]


class Search:
    """Candidates evaluated by cross-validation.

    Parameters
    ----------
    settings : ChainSettings
        With everything that is not searched.
    training : Training
        Likewise.
    scalers : sequence of transformers or None
    data : LabelledRows
    answers : Answers
        What scores mean.
    splitter : object with ``split(X, y)``
    scorer : callable
        ``scorer(estimator, row numbers, labels, sample_weight=…)``, larger is better.
    workers : Workers
        Threads; folds run in parallel.
    rng : numpy Generator
    monitor : Monitor
        Called after every group.
    """

    def __init__(
        self,
        settings: ChainSettings,
        training: Training,
        scalers: Sequence[Any],
        data: LabelledRows,
        answers: Answers,
        splitter: Any,
        scorer: Callable[..., float],
        workers: Workers,
        rng: np.random.Generator,
        monitor: Monitor,
    ):
        self.settings = settings
        self.training = training
        self.scalers = scalers
        self.data = data
        self.answers = answers
        self.splitter = splitter
        self.scorer = scorer
        self.workers = workers
        self.rng = rng
        self.monitor = monitor
        self._n_evaluated = 0
        self._anchors: dict[tuple[Any, ...], np.ndarray] = {}
        self._coded: dict[tuple[Any, ...], SearchedRows] = {}
        self._scaled: dict[tuple[int, int, int], Any] = {}
        self._last: tuple[LabelledRows, Splits] = (data, [])  # what the finalists were evaluated on
        self._maps: dict[tuple[Any, ...], InputMap] = {}
        self._rank = rng.random(len(data.target))  # a sample is the rows of smallest rank

    def run(self, settings: list[Setting], sizes: list[int], n_finalists: int) -> list[Outcome]:
        """Find the best groups, then evaluate all their settings on all folds of all rows.

        A group is represented by its setting of middle C. Groups are evaluated on some of the
        folds, on growing samples, of which each leaves fewer groups, until ``n_finalists`` remain.
        """
        outcomes = [Outcome(setting) for setting in settings]
        groups = _grouped(outcomes)
        middle = [group[len(group) // 2] for group in groups.values()]
        for size in sizes:
            data = part_of(self.data, self._sample(size))
            splits = self._splits(data)
            self._last = data, splits
            n_kept = n_finalists
            if size < sizes[-1]:
                n_kept = max(n_finalists, len(middle) // REDUCTION)
            if n_kept < len(middle):
                self._evaluate(middle, data, splits[: max(1, round(SHARE_OF_FOLDS * len(splits)))])
                middle = sorted(middle, key=lambda outcome: -outcome.mean)[:n_kept]
        finalists = [outcome for best in middle for outcome in groups[best.setting.group]]
        self._evaluate(finalists, *self._last)
        return [outcome for outcome in outcomes if outcome.n_rows]

    def with_scales(self, settings: list[Setting]) -> list[Setting]:
        """All candidates, and those with local models again with scales of features, if they help.

        The scales are learned with the default chain: which candidate is best depends on them.
        """
        recipes = self._find_scales(self.settings, COST)
        local = [one for one in settings if one.has_gradients and not one.as_it_is]
        return settings + [replace(one, relevance=how) for how in recipes for one in local]

    def try_relevance(self, outcomes: list[Outcome]) -> list[Outcome]:
        """Try scales of features with the best group, if held-out rows gain from them."""
        able = [
            one
            for one in outcomes
            if one.setting.has_gradients and self.scalers[one.setting.scaler] is None
        ]
        if not able:
            return outcomes
        best = best_outcome(able, False).setting
        scaled = [
            Outcome(replace(one.setting, relevance=how))
            for how in self._find_scales(self._settings_of(best, None), best.C)
            for one in able
            if one.setting.group == best.group
        ]
        self._evaluate(scaled, *self._last)
        return outcomes + scaled

    def _find_scales(self, chain: ChainSettings, C: float) -> list[tuple[str, int, float]]:
        """Recipes of scales, decided once; each fold learns them with the same chain."""
        (rng,) = self.rng.spawn(1)
        self._scaling = chain, replace(self.training, C=C)
        found = helpful_relevances(*self._scaling, self.data, rng, self.workers)
        return [one.recipe for one in found]

    def try_chosen(self, relevance: Any, n_neighbors: int) -> list[Outcome]:
        """What ``C="auto"`` chooses from all rows, and C beside it, on the last folds."""
        (rng,) = self.rng.spawn(1)
        settings = replace(self.settings, n_neighbors=n_neighbors)
        choice = choose_chain(settings, relevance, self.training, self.data, rng, self.workers)
        chain = choice.settings.fit(self.data, rng, self.workers)
        before = chain.input_map
        parameters = parameters_of(chain, choice.settings)
        parameters["relevance"] = None if before is None else before.factors
        whole = WholeChain(choice.settings, parameters)
        first = Setting(
            parameters["n_anchors"], parameters["n_neighbors"], "auto",
            parameters["feature_map"], 0, choice.C, whole=whole,
        )  # fmt: skip
        outcomes = [Outcome(replace(first, C=choice.C * factor)) for factor in FACTORS_BESIDE]
        self._evaluate(outcomes, *self._last)
        return outcomes

    def extend_costs(self, outcomes: list[Outcome]) -> list[Outcome]:
        """Try C beyond the largest and the smallest, by factors of ten, while an end is best."""
        outcomes = self._extend(outcomes, 10.0, MOST_COST)
        return self._extend(outcomes, 0.1, LEAST_COST)

    def _extend(self, outcomes: list[Outcome], factor: float, last: float) -> list[Outcome]:
        """Try the next C for the finalists that were best at that end and needed few epochs."""
        most_epochs = min(EASY_SHARE * self.training.max_iter, MOST_EPOCHS - 1)
        while True:
            most = max(outcome.extent for outcome in outcomes)
            finalists = [outcome for outcome in outcomes if outcome.extent == most]
            finalists.sort(key=lambda outcome: (outcome.mean, -outcome.setting.C))
            best_of_group = {outcome.setting.group: outcome for outcome in finalists}
            costs = [outcome.setting.C for outcome in outcomes]
            end = max(costs) if factor > 1 else min(costs)
            reached = end >= last if factor > 1 else end <= last
            if end != finalists[-1].setting.C or reached:
                return outcomes
            beyond = [
                Outcome(replace(outcome.setting, C=end * factor))
                for outcome in best_of_group.values()
                if end == outcome.setting.C and outcome.epochs <= most_epochs
            ]
            self._evaluate(beyond, *self._last)
            easy = [outcome for outcome in beyond if outcome.epochs <= most_epochs]
            if not easy:
                return outcomes
            outcomes = outcomes + easy

    def _sample(self, size: int) -> np.ndarray:
        """Random rows, stratified, with at least two rows of each class that has them."""
        strata = self.data.strata
        share, chosen = size / len(strata), []
        for code in np.unique(strata):
            rows = np.flatnonzero(strata == code)
            rows = rows[np.argsort(self._rank[rows], kind="stable")]
            chosen.append(rows[: max(2, round(share * len(rows)))])
        return np.concatenate(chosen)

    def _splits(self, data: LabelledRows) -> Splits:
        with warnings.catch_warnings():  # classes with fewer rows than folds are allowed here
            warnings.filterwarnings("ignore", message="The least populated class", module="sklearn")
            return list(self.splitter.split(data.X, self.answers.labels(data)))

    def _evaluate(self, outcomes: list[Outcome], data: LabelledRows, splits: Splits) -> None:
        """Evaluate settings on the folds on which they have not been evaluated yet."""
        n_rows = data.X.shape[0]
        by_folds: dict[int, list[Outcome]] = {}
        for outcome in outcomes:
            n_done = len(outcome.scores) if outcome.n_rows == n_rows else 0
            by_folds.setdefault(n_done, []).append(outcome)
        for n_done, alike in by_folds.items():
            if n_done == len(splits):
                continue
            for group in _grouped(alike).values():
                seed = int(self.rng.integers(2**63))
                self._evaluate_group(group, data, dict(enumerate(splits[n_done:], n_done)), seed)
                self._n_evaluated += 1
                best = max(outcome.mean for outcome in group)
                self.monitor(self._n_evaluated, rows=n_rows, score=best)

    def _evaluate_group(
        self,
        group: list[Outcome],
        data: LabelledRows,
        splits: dict[int, tuple[np.ndarray, np.ndarray]],
        seed: int,
    ) -> None:
        first = group[0].setting
        costs = [outcome.setting.C for outcome in group]
        unscaled = self.scalers[first.scaler] is None and first.relevance is None
        shared = self._code(first, data, seed) if unscaled else None

        def evaluate_fold(part: tuple[int, tuple[np.ndarray, np.ndarray]]) -> FoldResult:
            number, (train, test) = part
            with Workers(1) as alone:
                rows = shared
                if rows is None:
                    scaled = self._scale(first.scaler, data, number, train)
                    settings = self._scaled_settings(first, scaled, number, train, alone)
                    rows = SearchedRows(settings, self.training, scaled, alone, seed, train)
                rng = np.random.default_rng([seed, number])
                return rows.evaluate(train, test, costs, self._score, alone, rng)

        found = self.workers.map(evaluate_fold, splits.items())
        scores = np.array([one.scores for one in found])
        epochs = np.array([one.epochs for one in found])
        seconds = float(np.mean([one.seconds for one in found])) / len(costs)
        for index, outcome in enumerate(group):
            before = outcome.scores if outcome.n_rows == data.X.shape[0] else np.zeros(0)
            outcome.scores = np.append(before, scores[:, index])
            outcome.n_rows, outcome.seconds = data.X.shape[0], seconds
            outcome.epochs = max(outcome.epochs, int(epochs[:, index].max()))

    def _score(self, scores: np.ndarray, test: LabelledRows) -> float:
        """The score of held-out rows; larger is better, and nothing is worse than an overflow."""
        if not np.isfinite(scores).all():
            return -np.inf
        return self.scorer(
            self.answers.estimator(scores), np.arange(len(scores)), self.answers.labels(test),
            sample_weight=test.sample_weight,
        )  # fmt: skip

    def _code(self, setting: Setting, data: LabelledRows, seed: int) -> SearchedRows:
        """All rows, encoded once for all folds; known codes are used again."""
        n_rows = data.X.shape[0]
        coded = self._coded.get((n_rows, setting.group))
        if coded is None:
            # All feature maps share the anchors, unless distances are measured on mapped features.
            space = setting.feature_map if CodeOn(self.settings.code_on).uses_map else 0
            key = (n_rows, setting.n_anchors, space)
            settings = self._settings_of(setting, self._anchors.get(key))
            coded = SearchedRows(settings, self.training, data, self.workers, seed)
            # Levels cannot be given.
            if isinstance(setting.n_anchors, int) and setting.whole is None:
                self._anchors[key] = coded.chain.gate.anchors
            if n_rows <= MOST_ROWS_KEPT:
                self._coded[n_rows, setting.group] = coded
        return coded

    def _scaled_settings(
        self, setting: Setting, data: LabelledRows, fold: int, train: np.ndarray, workers: Workers
    ) -> ChainSettings:
        """Settings with the scales of features that the training rows of a fold give."""
        settings = self._settings_of(setting, None)
        if setting.relevance is None:
            return settings
        key = (data.X.shape[0], setting.scaler, fold, setting.relevance)
        if key not in self._maps:
            self._maps[key] = repeated_relevance(
                *self._scaling, part_of(data, train), setting.relevance, fold, workers
            )
        return replace(settings, before=self._maps[key])

    def _scale(self, scaler: int, data: LabelledRows, fold: int, train: np.ndarray) -> LabelledRows:
        """All rows, transformed by a scaler that was fitted to the training rows of a fold."""
        if self.scalers[scaler] is None:
            return data
        key = (data.X.shape[0], scaler, fold)
        X = self._scaled.get(key)
        if X is None:
            part = part_of(data, train)
            fitted = clone(self.scalers[scaler]).fit(part.X, self.answers.labels(part))
            X = transformed(fitted, data.X, "scalers")
            if len(data.target) <= MOST_ROWS_KEPT:
                self._scaled[key] = X
        return replace(data, X=X)

    def _settings_of(self, setting: Setting, anchors: np.ndarray | None) -> ChainSettings:
        if setting.whole is not None:
            return setting.whole.settings
        # Few distinct rows give fewer anchors than requested.
        given: dict[str, Any] = {"n_anchors": setting.n_anchors}
        if anchors is not None:
            given = {"n_anchors": "auto", "anchors": anchors}
        return replace(
            self.settings, n_neighbors=setting.n_neighbors, beta=setting.beta,
            feature_map=setting.feature_map,
            normalize=self.settings.normalize and not setting.as_it_is, **given,
        )  # fmt: skip


def _grouped(outcomes: Iterable[Outcome]) -> dict[tuple[Any, ...], list[Outcome]]:
    """Outcomes that share lifted rows, by increasing C."""
    groups: dict[tuple[Any, ...], list[Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.setting.C):
        groups.setdefault(outcome.setting.group, []).append(outcome)
    return groups
