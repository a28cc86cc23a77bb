"""The generalisation bound of L3-SVM by uniform stability (Zantedeschi et al. 2016, section 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass


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

    @property
    def stability(self) -> float:
        """``c L M²/N``."""
        return self.cost * self.n_landmarks * self.size**2 / self.n_rows

    def slack(self, delta: float) -> float:
        """What the bound adds to the empirical risk."""
        largest_loss = 1 + 2 * self.cost * math.sqrt(self.n_landmarks) * self.size
        deviation = math.sqrt(math.log(1 / delta) / (2 * self.n_rows))
        return self.stability + (2 * self.stability + largest_loss) * deviation
