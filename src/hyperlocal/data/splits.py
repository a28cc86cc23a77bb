"""Parts of the training rows: held-out rows and folds, at random within each class."""

from __future__ import annotations

import numpy as np

from .labelled import LabelledRows, part_of

# Settings are chosen on at most so many rows, which takes seconds.
MOST_ROWS = 20_000
HELD_OUT_SHARE = 0.25
# With fewer rows the choice would be random.
FEWEST_ROWS = 40


def hold_out(target: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Which rows to hold out: that share of each class, rounded down.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.data.splits import hold_out
    >>> held = hold_out(np.array([0, 0, 0, 0, 1, 1]), 0.5, np.random.default_rng(0))
    >>> held[:4].sum(), held[4:].sum()
    (np.int64(2), np.int64(1))
    """
    held = np.zeros(len(target), bool)
    for members in _shuffled_classes(target, rng):
        held[members[: int(share * len(members))]] = True
    return held


def split_held_out(
    data: LabelledRows, rng: np.random.Generator, *, most_rows: int = MOST_ROWS
) -> tuple[LabelledRows, LabelledRows] | None:
    """Rows to train on and rows to evaluate on; of large data, a part of ``most_rows`` rows.

    None where there are too few rows. Each class has at least one row to train on.
    """
    n_rows = data.X.shape[0]
    if n_rows < FEWEST_ROWS:
        return None
    share = min(1.0, most_rows / n_rows)
    train, test = [], []
    for members in _shuffled_classes(data.strata, rng):
        members = members[: max(1, round(share * len(members)))]
        cut = int(HELD_OUT_SHARE * len(members))
        test.append(members[:cut])
        train.append(members[cut:])
    if not sum(map(len, test)):
        return None
    return part_of(data, np.concatenate(train)), part_of(data, np.concatenate(test))


def deal_folds(target: np.ndarray, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """The fold of each row: classes are spread evenly over folds.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.data.splits import deal_folds
    >>> fold = deal_folds(np.array([0, 0, 1, 1]), 2, np.random.default_rng(0))
    >>> sorted(fold[:2].tolist()), sorted(fold[2:].tolist())
    ([0, 1], [0, 1])
    """
    shuffled = rng.permutation(len(target))
    by_class = shuffled[np.argsort(target[shuffled], kind="stable")]
    fold = np.empty(len(target), np.intp)
    fold[by_class] = np.arange(len(target)) % min(n_folds, len(target))
    return fold


def _shuffled_classes(target: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """The rows of each class in random order."""
    return [rng.permutation(np.flatnonzero(target == code)) for code in np.unique(target)]
