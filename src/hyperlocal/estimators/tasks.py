"""The parts of a chain that depend on the kind of ``y``: classes or values.

The chain is the same for both. A task checks ``y`` with the rows, names the loss, and turns the
weights that a solver found into the model of an estimator, and back for a warm start.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..data.checks import check_labelled_rows, check_valued_rows, warn_about_scales
from ..data.labelled import LabelledRows, merge_equal_rows
from ..model.local_model import LocalModel
from ..model.multiclass import joined_columns, separate_columns
from ..model.problem import Problem
from ..model.residuals import RegressionLoss
from ..model.target_scale import TargetScale

# What is kept of y besides the model: classes, or the scale of values.
Target = np.ndarray | TargetScale


class Task(ABC):
    """A kind of ``y``; parameters and the last fit are read from the estimator."""

    def rows(
        self,
        estimator: BaseEstimator,
        X: Any,
        y: Any,
        sample_weight: Any,
        known: Any = None,
        *,
        merge: bool = True,
    ) -> tuple[LabelledRows, Target]:
        """Checked rows, ready for the chain, and what is kept of ``y``.

        The first rows set the number and the names of features. Later ones need what is ``known``
        of ``y``, if the estimator has a model: all classes, of which a batch may have some, or the
        scale of earlier batches. Equal rows become one, unless ``merge`` is false.
        """
        first = known is None or not hasattr(estimator, "model_")
        data = self._checked(estimator, (X, y, sample_weight), known, first)
        if first and not scales_itself(estimator):
            warn_about_scales(data.X)
        return self._with_target(merge_equal_rows(data) if merge else data, known)

    @abstractmethod
    def _checked(
        self, estimator: BaseEstimator, given: tuple[Any, Any, Any], known: Any, first: bool
    ) -> LabelledRows:
        """Checked rows, ``y`` and weights."""

    @abstractmethod
    def _with_target(self, data: LabelledRows, known: Any) -> tuple[LabelledRows, Target]:
        """The rows for training, and what is kept of their ``y``."""

    @abstractmethod
    def loss(self, estimator: BaseEstimator) -> dict[str, Any]:
        """The arguments of :class:`Training` that say which loss it is."""

    @abstractmethod
    def is_unchanged(self, estimator: BaseEstimator, target: Target) -> bool:
        """Whether the last fit had the same classes, or the same number of columns."""

    @abstractmethod
    def start_weights(self, estimator: BaseEstimator, problem: Problem) -> np.ndarray:
        """The weights of the last fit, as the solver takes them."""

    @abstractmethod
    def keep(
        self, estimator: BaseEstimator, chain: LocalModel, weights: np.ndarray, target: Target
    ) -> None:
        """Set the model of the solver's weights, and what is kept of ``y``."""


def scales_itself(estimator: BaseEstimator) -> bool:
    """Whether an estimator scales features that differ much in size."""
    return getattr(estimator, "scale", None) is not None


class Classification(Task):
    """The task of class labels."""

    def _checked(
        self, estimator: BaseEstimator, given: tuple[Any, Any, Any], known: Any, first: bool
    ) -> LabelledRows:
        weights = estimator.class_weight
        return check_labelled_rows(estimator, *given, weights, classes=known, reset=first)

    def _with_target(self, data: LabelledRows, known: Any) -> tuple[LabelledRows, Target]:
        return data, data.classes

    def loss(self, estimator: BaseEstimator) -> dict[str, Any]:
        """A margin or log loss, one-vs-rest or joint."""
        return {"loss": estimator.loss, "multi_class": estimator.multi_class}

    def is_unchanged(self, estimator: BaseEstimator, target: Target) -> bool:
        """Whether the classes are the same."""
        return isinstance(target, np.ndarray) and np.array_equal(estimator.classes_, target)

    def start_weights(self, estimator: BaseEstimator, problem: Problem) -> np.ndarray:
        """Two columns for two classes, if the problem is joint."""
        return separate_columns(estimator.model_.weights, problem.n_columns)

    def keep(
        self, estimator: BaseEstimator, chain: LocalModel, weights: np.ndarray, target: Target
    ) -> None:
        """Set ``model_`` and ``classes_``."""
        assert isinstance(target, np.ndarray)
        estimator.model_ = chain.trained(joined_columns(weights, len(target)))
        estimator.classes_ = target


class Regression(Task):
    """The task of values, which are centered and scaled while a model is trained."""

    def _checked(
        self, estimator: BaseEstimator, given: tuple[Any, Any, Any], known: Any, first: bool
    ) -> LabelledRows:
        return check_valued_rows(estimator, *given, multi_output=True, reset=first)

    def _with_target(self, data: LabelledRows, known: Any) -> tuple[LabelledRows, Target]:
        scale = TargetScale.of(data) if known is None else known
        return scale.scaled(data), scale

    def loss(self, estimator: BaseEstimator) -> dict[str, Any]:
        """A loss of residuals."""
        return {"loss": RegressionLoss(estimator.loss, estimator.epsilon, estimator.quantiles)}

    def is_unchanged(self, estimator: BaseEstimator, target: Target) -> bool:
        """Whether there are as many targets and quantiles as before."""
        assert isinstance(target, TargetScale)
        n_columns = target.n_targets * max(1, len(self.loss(estimator)["loss"].levels))
        same_shape = target.shape == estimator.target_scale_.shape
        return same_shape and n_columns == estimator.model_.n_columns

    def start_weights(self, estimator: BaseEstimator, problem: Problem) -> np.ndarray:
        """In the scale of the last fit."""
        return estimator.target_scale_.scaled_weights(estimator.model_, problem.lifted.n_blocks)

    def keep(
        self, estimator: BaseEstimator, chain: LocalModel, weights: np.ndarray, target: Target
    ) -> None:
        """Set ``model_`` in the units of ``y``, its scale and the levels of quantiles."""
        assert isinstance(target, TargetScale)
        estimator.model_ = target.in_units(chain.trained(weights))
        estimator.target_scale_ = target
        if hasattr(estimator, "conformal_"):
            del estimator.conformal_  # of another model
        is_quantile = estimator.loss == "quantile"
        estimator.quantiles_ = np.array(estimator.quantiles, float) if is_quantile else None
