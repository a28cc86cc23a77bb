"""Similarities to some training rows as a feature map."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.kernel_approximation import Nystroem

from .quadratic import ROWS_FOR_PRINCIPAL_AXES

NYSTROEM_COMPONENTS = 100


def nystroem_of(X: Any, rng: np.random.Generator) -> Nystroem:
    sample = X[:ROWS_FOR_PRINCIPAL_AXES]
    variance = (
        sample.multiply(sample).mean() - sample.mean() ** 2 if sp.issparse(X) else sample.var()
    )
    return Nystroem(
        gamma=1 / (X.shape[1] * float(variance) or 1),
        n_components=min(NYSTROEM_COMPONENTS, X.shape[0]),
        random_state=int(rng.integers(np.iinfo(np.int32).max)),
    )
