"""The generalization bound of L3-SVM by uniform stability (Zantedeschi et al. 2016, section 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted

from ..data.arguments import check_number
from ..data.labelled import LabelledRows
from ..maps.landmarks import LandmarkMap
from ..model.local_model import LocalModel
from ..model.losses import loss_values, margins
from ..model.multiclass import column_targets
from ..runtime.threads import Workers
from ..solvers.training import Training


@dataclass(frozen=True)
class BoundTerms:
    """The terms of the stability bound: ``c``, ``L``, ``M``, ``N``.

    Examples
    --------
    >>> from hyperlocal.estimators.stability import BoundTerms
    >>> BoundTerms(cost=2.0, n_landmarks=10, size=1.0, n_rows=100).stability
    0.2
    """

    cost: float
    n_landmarks: int
    size: float
    n_rows: float

    @classmethod
    def of(cls, feature_map: LandmarkMap, data: LabelledRows, C: float) -> BoundTerms:
        """Of training rows projected on landmarks; ``M`` is 1 for the RBF."""
        size, landmarks = 1.0, feature_map.landmarks
        if feature_map.projection == "linear":
            squares = [row_norms(rows, squared=True).max() for rows in (data.X, landmarks)]
            size = max(1.0, *map(float, squares))
        return cls(C * data.total_weight, len(landmarks), size, data.total_weight)

    @property
    def stability(self) -> float:
        """``c L M²/N``."""
        return self.cost * self.n_landmarks * self.size**2 / self.n_rows

    def slack(self, delta: float) -> float:
        """What the bound adds to the empirical risk."""
        largest_loss = 1 + 2 * self.cost * math.sqrt(self.n_landmarks) * self.size
        deviation = math.sqrt(math.log(1 / delta) / (2 * self.n_rows))
        return self.stability + (2 * self.stability + largest_loss) * deviation


@dataclass(frozen=True)
class Risk:
    """The loss of a model on its training rows, and what the theory adds to it.

    Attributes
    ----------
    empirical : ndarray of shape (n_columns,)
        Mean loss over the training rows.
    terms : BoundTerms or None
        None where the theorem does not apply.
    """

    empirical: np.ndarray
    terms: BoundTerms | None

    @classmethod
    def of(
        cls,
        model: LocalModel,
        training: Training,
        data: LabelledRows,
        workers: Workers,
        *,
        one_stage: bool,
    ) -> Risk:
        """Of a linear model on landmarks; the theorem is about one stage and the hinge loss."""
        assert isinstance(training.loss, str)
        target = column_targets(data.target, len(data.classes))
        losses = loss_values(training.loss, margins(model.scores(data.X, workers), target, False))
        empirical = np.average(losses, axis=0, weights=data.sample_weight)
        if training.loss != "hinge" or not one_stage:
            return cls(empirical, None)
        assert isinstance(model.feature_map, LandmarkMap)
        return cls(empirical, BoundTerms.of(model.feature_map, data, training.C))


class StabilityMixin:
    """The bound, for an estimator whose ``fit`` sets ``_risk``: None for a kernel."""

    _risk: Risk | None

    @property
    def empirical_risk_(self) -> np.ndarray:
        """Mean loss over the training rows, ``(n_columns,)``."""
        check_is_fitted(self)
        if self._risk is None:
            raise AttributeError("empirical_risk_ belongs to kernel='linear'.")
        return self._risk.empirical

    @property
    def stability_(self) -> float:
        """Uniform stability ``c L M²/N`` (Theorem 3.1)."""
        return self._terms().stability

    def generalization_bound(self, delta: float = 0.05) -> Any:
        """An upper bound of the expected hinge loss that holds with probability ``1 − delta``.

        The corollary of Theorem 3.2: ``R_emp + β + (2β + 1 + 2c√L M) √(ln(1/δ)/2N)`` with the
        stability ``β = c L M²/N``. ``M`` bounds a projection: the largest squared norm of a row or
        landmark, at least 1, for the linear projection, and 1 for the RBF. ``c = C N``. The bound
        is loose: it says more about how risk depends on ``C``, ``L`` and ``N`` than about its size.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that the bound fails.

        Returns
        -------
        float for two classes, else ndarray of shape (n_classes,)
            One bound for each class against the rest.
        """
        terms = self._terms()
        check_number("delta", delta)
        if delta >= 1:
            raise ValueError(f"delta must be a number between 0 and 1, not {delta!r}.")
        bounds = self.empirical_risk_ + terms.slack(float(delta))
        return float(bounds[0]) if len(bounds) == 1 else bounds

    def _terms(self) -> BoundTerms:
        check_is_fitted(self)
        if self._risk is None or self._risk.terms is None:
            raise AttributeError(
                "the bound holds for loss='hinge', kernel='linear' and n_stages=1 only."
            )
        return self._risk.terms
