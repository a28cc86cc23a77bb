"""What classifiers with a learned gate choose by: settings to try, and axes to train along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from ..data.labelled import LabelledRows
from ..maps.linear import InputMap
from ..maps.quadratic import principal_axes

# Dense rows of more features are trained on along their principal axes: steps of one length for
# each feature suit features that are not correlated. Axes of less than this share of the mean
# variance are left out, and those beyond the most.
WIDEST = 64
LEAST_VARIANCE, MOST_AXES = 0.1, 256


@dataclass(frozen=True)
class GateSettings:
    """What may be chosen on held-out rows.

    Attributes
    ----------
    penalty : float
        Weight ``λ = 1/(C N)`` of the squared norms against the mean loss; N is the weight of all
        training rows, also while a part of them is used.
    """

    penalty: float


Settings = TypeVar("Settings", bound=GateSettings)


def climbed(
    start: Settings, name: str, values: Sequence[float], error: Callable[[Settings], float]
) -> list[Settings]:
    """Settings with other values of one of them, tried upwards from the start, then downwards.

    A direction ends where the error rises: what lies beyond is not tried.
    """
    tried, here = [start], getattr(start, name)
    above, below = [v for v in values if v > here], [v for v in values[::-1] if v < here]
    for direction in (above, below):
        last = error(start)
        for value in direction:
            tried.append(replace(start, **{name: value}))
            if error(tried[-1]) > last:
                break
            last = error(tried[-1])
    return tried


def axes_of(data: LabelledRows, rng: np.random.Generator) -> InputMap | None:
    """Principal axes of wide dense rows."""
    n_features = data.X.shape[1]
    if sp.issparse(data.X) or n_features <= WIDEST:
        return None
    mean, axes = principal_axes(
        data.X, data.sample_weight, MOST_AXES, rng, least_share=LEAST_VARIANCE / n_features
    )
    return InputMap(axes.T, mean)


def standard_error(share: float, n_rows: int) -> float:
    """How far a share of so many rows is from the truth, typically.

    Examples
    --------
    >>> from hyperlocal.estimators.learned_choice import standard_error
    >>> standard_error(0.5, 100)
    0.05
    """
    return float(np.sqrt(share * (1 - share) / n_rows))
