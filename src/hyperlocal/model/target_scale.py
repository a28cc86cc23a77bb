"""Values of a regression, centered and scaled while a model is trained."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..data.labelled import LabelledRows
from .local_model import LocalModel


@dataclass(frozen=True)
class TargetScale:
    """What is subtracted from each target, and by what it is divided.

    Training sees values of mean 0 and standard deviation 1, so that ``C`` and ``epsilon`` mean the
    same for any units of ``y``. The trained model is in the units of ``y`` again.

    Attributes
    ----------
    center, scale : ndarray of shape (n_targets,)
        Weighted means and standard deviations; a constant target has the scale 1.
    shape : tuple of int
        Of the values of one row: empty for a vector ``y``.
    """

    center: np.ndarray
    scale: np.ndarray
    shape: tuple[int, ...] = ()

    @classmethod
    def of(cls, data: LabelledRows) -> TargetScale:
        """Of the values of numeric rows.

        Examples
        --------
        >>> import numpy as np
        >>> from hyperlocal.data.labelled import LabelledRows
        >>> from hyperlocal.model.target_scale import TargetScale
        >>> rows = LabelledRows(np.zeros((2, 1)), np.array([0, 1]), np.array([3.0, 7.0]),
        ...                     np.ones(2), is_numeric=True)
        >>> TargetScale.of(rows)
        TargetScale(center=array([5.]), scale=array([2.]), shape=())
        """
        values = as_targets(data.classes)
        masses = np.bincount(data.target, weights=data.sample_weight, minlength=len(values))
        return cls.of_moments(*moments(values, masses), data.classes.shape[1:])

    @classmethod
    def of_moments(
        cls, center: np.ndarray, spread: np.ndarray, shape: tuple[int, ...]
    ) -> TargetScale:
        """From means and standard deviations."""
        return cls(center, np.where(spread > 0, spread, 1.0), shape)

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return len(self.center)

    def scaled(self, data: LabelledRows) -> LabelledRows:
        """The rows with centered and scaled values."""
        if data.classes.shape[1:] != self.shape:
            raise ValueError(
                f"y has the shape {(data.n_given, *data.classes.shape[1:])}, but that of earlier "
                f"rows had {self.n_targets} targets."
            )
        values = self.scaled_values(as_targets(data.classes))
        return replace(data, classes=values.reshape(data.classes.shape))

    def scaled_values(self, columns: np.ndarray) -> np.ndarray:
        """Values centered and scaled, one column or more for each target."""
        center, scale = self._by_column(columns.shape[1])
        return (columns - center) / scale

    def given(self, values: np.ndarray) -> np.ndarray:
        """Scaled values in their own units, one column or more for each target."""
        columns = as_targets(values)
        center, scale = self._by_column(columns.shape[1])
        return (columns * scale + center).reshape(values.shape)

    def shaped(self, scores: np.ndarray, levels: tuple[int, ...] = ()) -> np.ndarray:
        """Columns of scores in the shape of predictions; quantiles are sorted.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_columns)
        levels : tuple of int
            The shape of the quantiles: empty for one, or where there are none.
        """
        values = scores.reshape(len(scores), self.n_targets, -1)
        if values.shape[2] > 1:
            values = np.sort(values, axis=2)
        return values.reshape(len(values), *self.shape, *levels)

    def in_units(self, model: LocalModel) -> LocalModel:
        """A model of scaled values as one of values in their own units.

        The global intercept takes the center; a model without one gets one.
        """
        weights, bias = model.weights, model.bias
        if not bias.offset:
            weights = np.concatenate([weights, np.zeros_like(weights[:1])])
            bias = replace(bias, offset=1.0)
        center, scale = self._by_column(weights.shape[1])
        weights = weights * scale[:, None]
        weights[-1, :, -1] += center / bias.offset
        return replace(model, weights=weights.astype(model.dtype), bias=bias)

    def scaled_weights(self, model: LocalModel, n_blocks: int) -> np.ndarray:
        """The reverse: the weights of ``n_blocks`` blocks for scaled values."""
        center, scale = self._by_column(model.n_columns)
        weights = model.weights.astype(np.float64)
        weights[-1, :, -1] -= center / model.bias.offset
        weights /= scale[:, None]
        return np.ascontiguousarray(weights[:n_blocks], dtype=model.dtype)

    def _by_column(self, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
        repeats = n_columns // self.n_targets
        return np.repeat(self.center, repeats), np.repeat(self.scale, repeats)


def as_targets(values: np.ndarray) -> np.ndarray:
    """Values as a matrix of float64, ``(n_values, n_targets)``."""
    return np.asarray(values, np.float64).reshape(len(values), math.prod(values.shape[1:]))


def moments(values: np.ndarray, masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted means and standard deviations of the columns of values, zero of constant ones."""
    weights = masses / masses.sum()
    # Their squares may overflow where the values do not.
    largest = np.abs(values).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    center = weights @ (values / unit)
    spread = np.sqrt(weights @ (values / unit - center) ** 2)
    return center * unit, _without_rounding(center, spread) * unit


def joined_moments(
    centers: np.ndarray, spreads: np.ndarray, masses: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The moments of all values from those of parts, one line each, of so much weight.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.model.target_scale import joined_moments
    >>> joined_moments(np.array([[1.0], [4.0]]), np.array([[0.0], [0.0]]), np.array([2.0, 1.0]))
    (array([2.]), array([1.41421356]))
    """
    shares = (masses / masses.sum())[:, None]
    center = (shares * centers).sum(axis=0)
    lengths = np.sqrt(shares) * np.hypot(spreads, centers - center)
    return center, _without_rounding(center, np.hypot.reduce(lengths, axis=0))


def _without_rounding(center: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Zero where the spread is no more than what rounding leaves in constant values."""
    return np.where(spread <= 1e-12 * np.abs(center), 0.0, spread)
