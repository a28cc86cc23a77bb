"""Which variables an epoch of dual descent leaves out, by what the last epoch reported."""

from __future__ import annotations

import numpy as np

# Variables beyond this share of the last epoch's largest violation are switched off. LIBLINEAR has
# one; earlier is faster, and the full check repairs what went too far.
SHRINKING = 0.2
# Columns of an epoch's report, and of the bounds beyond which variables are switched off.
GAP, GAIN, LARGEST, SMALLEST = range(4)
ABOVE, BELOW = range(2)
BLANK_REPORT = np.array([[0.0, 0.0, -np.inf, np.inf]])


def shrink_bounds(reports: np.ndarray) -> np.ndarray:
    """Bounds for the next epoch, from the largest violations of the last on either side.

    A side without any takes the other's: in the first epoch, variables only wanted to grow. Where
    there was none at all, nothing is switched off.
    """
    bounds = SHRINKING * reports[:, LARGEST:]
    above, below = bounds[:, ABOVE].copy(), bounds[:, BELOW].copy()
    bounds[:, ABOVE] = np.where(above > 0, above, np.where(below < 0, -below, np.inf))
    bounds[:, BELOW] = np.where(below < 0, below, np.where(above > 0, -above, -np.inf))
    return bounds
