"""What all partitions agree on about ``y``: classes and their weights, or the scale of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..data.checks import class_weights_by_mass, require_two_classes
from ..data.labelled import LabelledRows
from ..model.multiclass import n_columns
from ..model.residuals import RegressionLoss
from ..model.target_scale import TargetScale, as_targets, joined_moments, moments
from ..solvers.training import Training


@dataclass(frozen=True)
class ClassFacts:
    """The classes of a partition, and the weight of each."""

    classes: np.ndarray
    masses: np.ndarray

    @classmethod
    def of(cls, labels: np.ndarray, weights: np.ndarray) -> ClassFacts:
        """Of labels."""
        classes, target = np.unique(labels, return_inverse=True)
        return cls(classes, np.bincount(target, weights=weights, minlength=len(classes)))


@dataclass(frozen=True)
class ValueFacts:
    """Means and standard deviations of a partition's values, and its weight."""

    center: np.ndarray
    spread: np.ndarray
    mass: float
    shape: tuple[int, ...]

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray) -> ValueFacts:
        """Of values."""
        columns = as_targets(values)
        nothing = np.zeros(columns.shape[1])
        center, spread = moments(columns, weights) if len(columns) else (nothing, nothing)
        return cls(center, spread, float(weights.sum()), values.shape[1:])


class SharedTarget(Protocol):
    """What is known of ``y`` over all partitions."""

    @property
    def kept(self) -> Any:
        """What a fitted estimator keeps of it."""

    def n_columns(self, training: Training) -> int:
        """Columns of weights."""

    def labelled(
        self, X: Any, labels: np.ndarray, weights: np.ndarray, population: int | None
    ) -> LabelledRows:
        """Rows as the chain takes them."""


@dataclass(frozen=True)
class ClassTarget:
    """All classes, and the weight of each."""

    classes: np.ndarray
    class_weights: np.ndarray

    @classmethod
    def of(cls, facts: Sequence[ClassFacts], class_weight: Any) -> ClassTarget:
        """The classes of all partitions."""
        found = np.concatenate([fact.classes for fact in facts])
        classes, place = np.unique(found, return_inverse=True)
        require_two_classes(classes)
        masses = np.bincount(place, np.concatenate([fact.masses for fact in facts]))
        weights = np.ones(len(classes))
        if class_weight is not None:
            weights = class_weights_by_mass(class_weight, classes, masses)
        return cls(classes, weights)

    @property
    def kept(self) -> np.ndarray:
        """The classes."""
        return self.classes

    def n_columns(self, training: Training) -> int:
        """One for two classes, unless they are trained jointly."""
        return n_columns(len(self.classes), training.joint)

    def labelled(
        self, X: Any, labels: np.ndarray, weights: np.ndarray, population: int | None
    ) -> LabelledRows:
        """Rows with their classes."""
        target = np.searchsorted(self.classes, labels).astype(np.int32)
        weights = weights * self.class_weights[target]
        return LabelledRows(X, target, self.classes, weights, population=population)


@dataclass(frozen=True)
class ValueTarget:
    """Center and scale of all values."""

    scale: TargetScale

    @classmethod
    def of(cls, facts: Sequence[ValueFacts]) -> ValueTarget:
        """The scale of the values of all partitions."""
        shapes = {fact.shape for fact in facts}
        if len(shapes) > 1:
            raise ValueError(f"the partitions of y differ in their shape: {sorted(shapes)}.")
        centers, spreads = (np.stack([getattr(f, n) for f in facts]) for n in ("center", "spread"))
        center, spread = joined_moments(centers, spreads, np.array([fact.mass for fact in facts]))
        return cls(TargetScale.of_moments(center, spread, shapes.pop()))

    @property
    def kept(self) -> TargetScale:
        """The scale."""
        return self.scale

    def n_columns(self, training: Training) -> int:
        """One per target and quantile."""
        assert isinstance(training.loss, RegressionLoss)
        return self.scale.n_targets * max(1, len(training.loss.levels))

    def labelled(
        self, X: Any, labels: np.ndarray, weights: np.ndarray, population: int | None
    ) -> LabelledRows:
        """Rows with scaled values."""
        target = np.arange(len(labels), dtype=np.int32)
        rows = LabelledRows(X, target, labels, weights, population=population, is_numeric=True)
        return self.scale.scaled(rows)
