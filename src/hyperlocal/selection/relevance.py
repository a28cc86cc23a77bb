"""Relevance of features from the model's own gradients, in rounds that held-out rows decide.

A model is fitted; ``M`` is the mean product of the gradients of its scores; features are scaled by
``M_ii ** power`` (or mixed by the matrix ``M ** power``), and a model is fitted again. Gradients
are those with respect to the features as given, so each round replaces the scales of the last. This
helps if few features matter or few directions do, and hurts on other data: how many rounds, and
whether any, is decided on held-out rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.labelled import LabelledRows, part_of
from ..maps.linear import InputMap
from ..model.gradients import gradient_products
from ..model.local_model import ChainSettings, LocalModel
from ..model.multiclass import joined_columns
from ..model.residuals import RegressionLoss
from ..runtime.threads import Workers
from ..solvers.training import Training
from .automatic import (
    MOST_EPOCHS,
    PATH_TOL,
    held_out_rows,
    is_less,
    row_criteria,
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
MOST_ROWS = 5_000
# The best of up to eight rounds is better than none by chance more often than one is.
ERRORS_TO_GAIN = 2.0
# Rows whose gradients are taken: the mean of so many varies by a few percent.
ROWS_FOR_GRADIENTS = 1_000
# A matrix of more features has more numbers than some thousand rows determine.
MOST_FEATURES_TO_MIX = 64

# C of these models where it is chosen later: held-out rows compare models of the same C.
COST = 10.0

KINDS = ("diagonal", "full")
RELEVANCES = (None, "gradient", "auto")
Criteria = Callable[[np.ndarray, LabelledRows], np.ndarray]


def classification_criteria(scores: np.ndarray, data: LabelledRows) -> np.ndarray:
    """Errors and log losses of rows (:func:`hyperlocal.selection.automatic.row_criteria`)."""
    return row_criteria(joined_columns(scores, len(data.classes)), data.target, data.sample_weight)


def criteria_for(training: Training) -> Criteria:
    """The criteria of a task: losses of a regression, or errors and log losses of classes."""
    loss = training.loss
    if not isinstance(loss, RegressionLoss):
        return classification_criteria
    return lambda scores, data: loss.row_losses(scores, data.labels, data.sample_weight)


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
        scales = np.maximum(np.diag(products), 0) ** power
        length = np.sqrt((scales**2).mean())
        return scales / length if length > 0 else np.ones_like(scales)
    values, axes = np.linalg.eigh(products)
    values = np.maximum(values, 0) ** power
    length = np.sqrt((values**2).mean())
    return (axes * (values / length)) @ axes.T if length > 0 else np.eye(len(products))


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
    criteria: Criteria = classification_criteria,
    kinds: Sequence[str] = KINDS,
    power: float = POWER,
    most_rounds: int = MOST_ROUNDS,
    always: bool = False,
) -> Relevance:
    """Scales of features from the gradients of models, if held-out rows gain from them.

    Each kind has rounds until one is not better than the last on held-out rows. The best round must
    be better than none by two standard errors; where there were several folds, it is then run
    again on all rows.

    Parameters
    ----------
    settings : ChainSettings
    training : Training
        C is a number.
    data : LabelledRows
        Of any task that ``training`` knows.
    rng : numpy Generator
    workers : Workers
    criteria : callable
        From scores and rows to one number per row, lower is better.
    kinds : sequence of {"diagonal", "full"}
    power : float
    most_rounds : int
    always : bool
        Choose the best round even if it is not better than none.

    Returns
    -------
    Relevance
    """
    data = sample(data, MOST_ROWS, rng)
    run = _Rounds(settings, _loose(training), power, int(rng.integers(2**63)), workers)
    folds = [
        (part_of(data, np.flatnonzero(~held)), part_of(data, np.flatnonzero(held)))
        for held in held_out_rows(data, rng)
    ]
    if not folds:
        return Relevance(None, None, 0, power, {})
    starts = [run.fit(None, train) for train, _ in folds]
    rounds = {("none", 0): _Round(starts, run.evaluate(starts, folds, criteria))}
    for kind in kinds:
        if kind == "full" and (sp.issparse(data.X) or data.X.shape[1] > MOST_FEATURES_TO_MIX):
            continue
        models, least = starts, np.inf
        for number in range(1, most_rounds + 1):
            models = [
                run.next_round(model, train, kind)
                for model, (train, _) in zip(models, folds, strict=True)
            ]
            last = rounds[kind, number] = _Round(models, run.evaluate(models, folds, criteria))
            if not last.mean < least:
                break
            least = last.mean
    values = {key: one.mean for key, one in rounds.items()}
    none = rounds.pop(("none", 0))
    if not rounds:
        return Relevance(None, None, 0, power, values)
    (kind, n_rounds), best = min(rounds.items(), key=lambda item: item[1].mean)
    if not always and not is_less(best.values, none.values, ERRORS_TO_GAIN):
        return Relevance(None, None, 0, power, values)
    before = best.models[0].input_map if len(folds) == 1 else run.learn(data, kind, n_rounds)
    return Relevance(before, kind, n_rounds, power, values)


def helpful_relevances(
    settings: ChainSettings,
    training: Training,
    data: LabelledRows,
    rng: np.random.Generator,
    workers: Workers,
    *,
    always: bool = False,
) -> list[Relevance]:
    """Scales that help by the criterion of the task, the best first; values try two powers."""
    is_regression = isinstance(training.loss, RegressionLoss)
    options: dict[str, Any] = {"criteria": criteria_for(training), "always": always}
    found = [
        learn_relevance(settings, training, data, one, workers, power=power, **options)
        for one, power in zip(
            [rng, *rng.spawn(1)], POWERS_OF_VALUES if is_regression else (POWER,), strict=False
        )
    ]
    helpful = [one for one in found if one.kind is not None]
    return sorted(helpful, key=lambda one: min(one.values.values()))


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
    return _Rounds(settings, _loose(training), power, seed, workers).learn(data, kind, n_rounds)


def _loose(training: Training) -> Training:
    """For models that are only compared."""
    return replace(
        training, solver="dual", tol=max(PATH_TOL, training.tol),
        max_iter=min(MOST_EPOCHS, training.max_iter),
    )  # fmt: skip


def given_scales(scales: Any, X: Any) -> InputMap:
    """Scales that a user gives: one per feature, or a matrix."""
    factors = np.asarray(scales)
    d = X.shape[1]
    if factors.shape not in ((d,), (d, d)) or factors.dtype.kind not in "iuf":
        raise ValueError(
            f"relevance has the shape {factors.shape}; it needs a number for each of the {d} "
            "features, or a square matrix of them."
        )
    return InputMap(factors.astype(X.dtype))


def with_relevance(
    settings: ChainSettings,
    relevance: str | np.ndarray | None,
    training: Training,
    data: LabelledRows,
    rng: np.random.Generator,
    workers: Workers,
) -> ChainSettings:
    """Settings with scales of features: given, for "gradient", and for "auto" if they help."""
    if relevance is None:
        return settings
    if not isinstance(relevance, str):
        return replace(settings, before=given_scales(relevance, data.X))
    (own_rng,) = rng.spawn(1)  # C is chosen with the same numbers as without relevance
    always = relevance == "gradient"
    found = helpful_relevances(settings, training, data, own_rng, workers, always=always)
    return replace(settings, before=found[0].before if found else None)


@dataclass(frozen=True)
class _Round:
    """The models of the folds, and the criterion of each held-out row."""

    models: list[LocalModel]
    values: np.ndarray

    @property
    def mean(self) -> float:
        return float(self.values.mean())


class _Rounds:
    """Fits of a chain to linearly mapped rows."""

    def __init__(
        self,
        settings: ChainSettings,
        training: Training,
        power: float,
        seed: int,
        workers: Workers,
    ):
        self.settings = settings
        self.training = training
        self.power = power
        self.seed = seed
        self.workers = workers

    def fit(self, before: InputMap | None, data: LabelledRows) -> LocalModel:
        """A trained model of mapped rows, as a model of the rows as given."""
        rng = np.random.default_rng(self.seed)
        chain = replace(self.settings, before=before).fit(data, rng, self.workers)
        problem = self.training.problem(chain, data, self.workers)
        return chain.trained(self.training.solve(problem, rng).weights)

    def next_map(self, model: LocalModel, data: LabelledRows, kind: str) -> InputMap:
        """The scales that the gradients of a model give."""
        rng = np.random.default_rng(self.seed)
        seen = sample(data, ROWS_FOR_GRADIENTS, rng)
        products = gradient_products(model, seen.X, seen.sample_weight, self.workers)
        return InputMap(scales_of(products, kind, self.power).astype(data.X.dtype))

    def next_round(self, model: LocalModel, data: LabelledRows, kind: str) -> LocalModel:
        """A model with the scales that the last one gives."""
        return self.fit(self.next_map(model, data, kind), data)

    def learn(self, data: LabelledRows, kind: str, n_rounds: int) -> InputMap:
        """The scales after so many rounds."""
        model = self.fit(None, data)
        for _ in range(n_rounds - 1):
            model = self.next_round(model, data, kind)
        return self.next_map(model, data, kind)

    def evaluate(
        self, models: list[LocalModel], folds: list[tuple[Any, LabelledRows]], criteria: Criteria
    ) -> np.ndarray:
        """The criterion of each held-out row."""
        return np.concatenate([
            criteria(model.scores(test.X, self.workers), test)
            for model, (_, test) in zip(models, folds, strict=True)
        ])  # fmt: skip
