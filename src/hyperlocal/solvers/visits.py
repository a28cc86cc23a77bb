"""In which order rows are visited."""

from __future__ import annotations

import numpy as np


def visit_order(n_rows: int, n_passes: int, rng: np.random.Generator) -> np.ndarray:
    """All rows in random order, several times over where rows are few.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.solvers.visits import visit_order
    >>> order = visit_order(3, 2, np.random.default_rng(0))
    >>> sorted(order[:3].tolist()), sorted(order[3:].tolist())
    ([0, 1, 2], [0, 1, 2])
    """
    return np.concatenate([rng.permutation(n_rows) for _ in range(n_passes)])
