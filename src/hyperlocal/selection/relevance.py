"""Relevance of features from the model's own gradients, in rounds that held-out rows decide.

A model is fitted; ``M`` is the mean product of the gradients of its scores; features are scaled by
``M_ii ** power`` (or mixed by the matrix ``M ** power``), and a model is fitted again. Gradients
are those with respect to the features as given, so each round replaces the scales of the last. This
helps if few features matter or few directions do, and hurts on other data: how many rounds, and
whether any, is decided on held-out rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.arguments import check_choice
from ..data.labelled import LabelledRows
from ..maps.linear import InputMap
from ..model.chain_settings import ChainSettings
from ..model.gradients import gradient_products
from ..model.residuals import RegressionLoss
from ..runtime.threads import Workers
from ..solvers.training import Training
from .fold_rows import PathSolver
from .trials import (
    STANDARD_ERRORS_OVER_LINEAR,
    Choice,
    Path,
    evaluated,
    held_out_rows,
    is_less,
    paths_of,
    sample,
)

# Scales are M ** POWER: the fourth root of mean squared gradients. Half of that changed little on
# puma32h, twice as much was better there and worse elsewhere.
POWER = 0.25
# Values often gain from more: within training rows .98 instead of .977 of R² on compactiv, .80
# instead of .79 on california. Held-out rows decide.
POWERS_OF_VALUES = (POWER, 2 * POWER)
MOST_ROUNDS = 4
# Of more rows a sample is used: scales are few numbers.
MOST_ROWS = 4_000
# Scales must be better than none by more than the standard error of the difference.
STANDARD_ERRORS_TO_GAIN = 1.0
# Fewer rows held out than a choice of models needs: rounds take long.
ENOUGH_HELD_OUT_ROWS = 500
# Rows whose gradients are taken: the mean over so many varies by some percent.
ROWS_FOR_GRADIENTS = 250
# A matrix of more features has more numbers than some thousand rows determine.
MOST_FEATURES_TO_MIX = 64

# Scales of more features take long, and are more numbers than most data determine.
MOST_FEATURES_TO_SCALE = 1_000

# C of these models where none is given: held-out rows compare models of the same C.
COST = 10.0

KINDS = ("diagonal", "full")
RELEVANCES = (None, "gradient", "auto")


def scales_of(products: np.ndarray, kind: str, power: float = POWER) -> np.ndarray:
    """``M_ii ** power`` or ``M ** power``, scaled such that squares have mean one.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.selection.relevance import scales_of
    >>> scales_of(np.diag([81.0, 1.0, 0.0]), "diagonal", 0.5).round(3)
    array([1.721, 0.191, 0.   ])
    """
    if kind == "diagonal":
        return _raised(products if products.ndim == 1 else np.diag(products), power)
    values, axes = np.linalg.eigh(products)
    return (axes * _raised(values, power)) @ axes.T


def _raised(values: np.ndarray, power: float) -> np.ndarray:
    """Powers of values at least zero, whose squares have mean one."""
    largest = values.max()
    if not largest > 0:
        return np.ones_like(values)
    powers = (np.maximum(values, 0) / largest) ** power  # at most one, whatever the power
    return powers / np.sqrt((powers**2).mean())


@dataclass(frozen=True)
class Relevance:
    """What the held-out rows decided.

    Attributes
    ----------
    before : InputMap or None
        The map of the features; None where no round was better than the features as given.
    kind : {"diagonal", "full"} or None
    n_rounds : int
    power : float
    values : dict of (kind, round) to float
        The criterion on held-out rows, lower is better; ``("none", 0)`` is that of the features as
        given.
    """

    before: InputMap | None
    kind: str | None
    n_rounds: int
    power: float
    values: dict[tuple[str, int], float]

    @property
    def recipe(self) -> tuple[str, int, float]:
        """Kind, rounds and power, for :func:`repeated_relevance`."""
        assert self.kind is not None
        return self.kind, self.n_rounds, self.power


def learn_relevance(
    settings: ChainSettings,
    training: Training,
    data: LabelledRows,
    rng: np.random.Generator,
    workers: Workers,
    *,
    kinds: Sequence[str] = KINDS,
    power: float = POWER,
    most_rounds: int = MOST_ROUNDS,
    always: bool = False,
    rival: Choice | None = None,
) -> Relevance:
    """Scales of features from the gradients of models, if held-out rows gain from them.

    A kind has rounds while each is better than all before on held-out rows. The best round must
    be better than none by a standard error. The scales are the means over the folds.

    Parameters
    ----------
    settings : ChainSettings
    training : Training
        C is a number.
    data : LabelledRows
        Of any task that ``training`` knows.
    rng : numpy Generator
    workers : Workers
    kinds : sequence of {"diagonal", "full"}
    power : float
    most_rounds : int
    always : bool
        Choose the best round even if it is not better than none.
    rival : Choice, optional
        A linear model that the best round must be better than, too.

    Returns
    -------
    Relevance
    """
    data = sample(data, MOST_ROWS, rng)
    folds = held_out_rows(data, rng, ENOUGH_HELD_OUT_ROWS)
    if not folds:
        return Relevance(None, None, 0, power, {})
    run = _Rounds(settings, training, data, power, int(rng.integers(2**63)), workers)
    none = run.first(folds)
    rounds: dict[tuple[str, int], _Round] = {}
    for kind in kinds:
        if kind == "full" and (sp.issparse(data.X) or data.X.shape[1] > MOST_FEATURES_TO_MIX):
            continue
        last, least = none, min([none.mean, *(one.mean for one in rounds.values())])
        for number in range(1, most_rounds + 1):
            last = rounds[kind, number] = run.next(last, folds, kind)
            if not last.mean < least:
                break
            least = last.mean
    values = {key: one.mean for key, one in rounds.items()} | {("none", 0): none.mean}
    if not rounds:
        return Relevance(None, None, 0, power, values)
    (kind, n_rounds), best = min(rounds.items(), key=lambda item: item[1].mean)
    to_beat = [] if always else [(none, STANDARD_ERRORS_TO_GAIN)]
    if rival is not None:
        settings = replace(rival.settings, before=None)
        linear = replace(run, settings=settings, training=replace(training, C=rival.C))
        to_beat.append((linear.first(folds), STANDARD_ERRORS_OVER_LINEAR))
    if not all(is_less(best.values, one.values, n_errors) for one, n_errors in to_beat):
        return Relevance(None, None, 0, power, values)
    return Relevance(mean_map(best.maps), kind, n_rounds, power, values)


def helpful_relevances(
    settings: ChainSettings,
    training: Training,
    data: LabelledRows,
    rng: np.random.Generator,
    workers: Workers,
    **options: Any,
) -> list[Relevance]:
    """Scales that :func:`learn_relevance` finds, the best first; values try two powers."""
    is_regression = isinstance(training.loss, RegressionLoss)
    powers = POWERS_OF_VALUES if is_regression else (POWER,)
    seed = int(rng.integers(2**63))  # the same rows are held out
    found = [
        learn_relevance(
            settings, training, data, np.random.default_rng(seed), workers, power=power, **options
        )
        for power in powers
    ]
    helpful = [one for one in found if one.kind is not None]
    return sorted(helpful, key=lambda one: min(one.values.values()))


def mean_map(maps: Sequence[InputMap]) -> InputMap:
    """The mean of several scales, whose squares have mean one."""
    factors = np.mean([one.factors for one in maps], axis=0)
    squares = factors**2 if factors.ndim == 1 else (factors**2).sum(axis=1)
    return InputMap((factors / np.sqrt(squares.mean())).astype(maps[0].factors.dtype))


def repeated_relevance(
    settings: ChainSettings,
    training: Training,
    data: LabelledRows,
    recipe: tuple[str, int, float],
    seed: int,
    workers: Workers,
) -> InputMap:
    """The scales after so many rounds on these rows, without any decision."""
    kind, n_rounds, power = recipe
    data = sample(data, MOST_ROWS, np.random.default_rng(seed))
    run = _Rounds(settings, training, data, power, seed, workers)
    none_held = [np.zeros(len(data.target), bool)]
    last = run.first(none_held)
    for _ in range(n_rounds - 1):
        last = run.next(last, none_held, kind)
    return run.map_of(last.paths[0], kind)


def check_relevance(relevance: Any) -> None:
    """Raise unless it is None, a name, or numbers."""
    if relevance is None or isinstance(relevance, str):
        check_choice("relevance", relevance, RELEVANCES)
    elif np.ndim(relevance) not in (1, 2) or not np.all(np.isfinite(relevance)):
        raise ValueError("relevance must be None, a name, or an array of finite scales.")


def is_wanted(relevance: Any) -> bool:
    """Whether features are scaled in any case."""
    return isinstance(relevance, str) and relevance == "gradient"


def with_given_relevance(
    settings: ChainSettings, relevance: Any, data: LabelledRows
) -> ChainSettings:
    """Settings with scales of features that the user gives."""
    if relevance is None or isinstance(relevance, str):
        return settings
    factors, d = np.asarray(relevance), data.X.shape[1]
    if factors.shape not in ((d,), (d, d)) or factors.dtype.kind not in "iuf":
        raise ValueError(
            f"relevance has the shape {factors.shape}; it needs a number for each of the {d} "
            "features, or a square matrix of them."
        )
    if factors.ndim == 2 and sp.issparse(data.X):
        raise ValueError("relevance cannot mix sparse features; give one scale per feature.")
    factors = factors.astype(data.X.dtype)
    before = InputMap(factors) if settings.before is None else settings.before.then(factors)
    return replace(settings, before=before)


def with_relevance(
    choice: Choice,
    relevance: Any,
    training: Training,
    data: LabelledRows,
    rng: np.random.Generator,
    workers: Workers,
) -> Choice:
    """A choice with scales of features, for "gradient", and for "auto" if they help.

    One linear model has the same gradient everywhere, and some maps state none: instead of these,
    the best of the other candidates is scaled, and must then be better. A linear model is scaled if
    relevance is asked for.
    """
    always = is_wanted(relevance)
    stays = choice.richer is None or (always and choice.settings.has_gradients)
    start = choice if stays or choice.richer is None else choice.richer
    may_help = (
        start.settings.has_gradients
        and not start.settings.is_linear
        and data.X.shape[1] <= MOST_FEATURES_TO_SCALE
    )
    if not always and not (isinstance(relevance, str) and may_help):
        return choice
    (own_rng,) = rng.spawn(1)  # weights are found with the same numbers as without relevance
    # Gradients of local models are those of levels of them, nearly, and take less time.
    learned = without_levels(start.settings)
    # Of standardized features, the scales are those after the units.
    units = start.settings.before
    if units is not None:
        learned, data = replace(learned, before=None), replace(data, X=units.transform(data.X))
    found = helpful_relevances(
        learned, replace(training, C=start.C), data, own_rng, workers, always=always,
        rival=None if start is choice or always else choice,
    )  # fmt: skip
    if not found:
        return choice
    before = found[0].before
    if units is not None and before is not None:
        before = units.then(before.factors)
    return Choice(replace(start.settings, before=before), start.C)


def without_levels(settings: ChainSettings) -> ChainSettings:
    """Local models of one size instead of levels of them."""
    is_levels = isinstance(settings.n_anchors, str) and settings.n_anchors == "levels"
    return replace(settings, n_anchors="auto") if is_levels else settings


@dataclass(frozen=True)
class _Round:
    """The solved folds, the maps of their features, and the criterion of each held-out row."""

    paths: list[Path]
    maps: list[InputMap]

    @cached_property
    def values(self) -> np.ndarray:
        return evaluated(self.paths)

    @property
    def mean(self) -> float:
        return float(self.values.mean())


@dataclass(frozen=True)
class _Rounds:
    """Fits of a chain to linearly mapped rows."""

    settings: ChainSettings
    training: Training
    data: LabelledRows
    power: float
    seed: int
    workers: Workers

    def first(self, folds: Sequence[np.ndarray]) -> _Round:
        """Models of the features as given."""
        solver = PathSolver(self.training, by_newton=True)
        paths = paths_of(self.settings, solver, self.data, folds, self.seed, self.workers)
        return self._solved(paths, [])

    def next(self, last: _Round, folds: Sequence[np.ndarray], kind: str) -> _Round:
        """Models with the scales that the last ones give, each fold with its own."""
        maps = [self.map_of(path, kind) for path in last.paths]
        paths = [
            paths_of(
                replace(self.settings, before=one), path.solver, self.data, [held], self.seed,
                self.workers,
            )[0]
            for one, path, held in zip(maps, last.paths, folds, strict=True)
        ]  # fmt: skip
        for path, before in zip(paths, last.paths, strict=True):
            path.alpha = before.alpha
        return self._solved(paths, maps)

    def _solved(self, paths: list[Path], maps: list[InputMap]) -> _Round:
        for path in paths:
            path.advance(self.training.C)
        return _Round(paths, maps)

    def map_of(self, path: Path, kind: str) -> InputMap:
        """The scales that the gradients of a fold's model give."""
        seen = sample(path.rows, ROWS_FOR_GRADIENTS, np.random.default_rng(self.seed))
        products = gradient_products(
            path.model(self.workers), seen.X, seen.sample_weight, self.workers,
            diagonal=kind == "diagonal",
        )  # fmt: skip
        return InputMap(scales_of(products, kind, self.power).astype(self.data.X.dtype))
