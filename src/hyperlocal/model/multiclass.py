"""Classes and columns of scores: how many columns, which is positive, and which class is predicted.

Several classes have a column of scores each. Two classes share one column, in which the second is
positive, unless they are trained jointly (Crammer–Singer): then each has its own while training,
and the difference of the two afterwards.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp


def n_columns(n_classes: int, joint: bool = False) -> int:
    """Columns of weights for so many classes, trained jointly or one-vs-rest."""
    return 1 if n_classes == 2 and not joint else n_classes


def column_targets(target: np.ndarray, n_classes: int, joint: bool = False) -> np.ndarray:
    """For each row, the column in which it is positive; −1 for none.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.model.multiclass import column_targets
    >>> column_targets(np.array([0, 1, 1], np.int32), 2).tolist()
    [-1, 0, 0]
    """
    if n_columns(n_classes, joint) > 1:
        return target
    return np.where(target == 1, 0, -1).astype(np.int32)


def signed_labels(target: np.ndarray, n_classes: int) -> np.ndarray:
    """±1 per row and column."""
    columns = np.arange(n_columns(n_classes))
    return np.where(column_targets(target, n_classes)[:, None] == columns, 1.0, -1.0)


def as_columns(scores: np.ndarray) -> np.ndarray:
    """Scores as a matrix: those of two classes become a matrix of one column."""
    return scores[:, None] if scores.ndim == 1 else scores


def as_decisions(scores: np.ndarray) -> np.ndarray:
    """A matrix of scores as ``decision_function`` returns it: one column becomes a vector."""
    return scores[:, 0] if scores.shape[1] == 1 else scores


def predicted_codes(scores: np.ndarray) -> np.ndarray:
    """The class of each row's scores, as an index: by sign for one column, else the largest.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.model.multiclass import predicted_codes
    >>> predicted_codes(np.array([[-0.1], [2.0]])).tolist()
    [0, 1]
    """
    scores = as_columns(scores)
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.intp)
    return scores.argmax(axis=1)


def best_and_rival(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes with the largest and the second largest score, as indices.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.model.multiclass import best_and_rival
    >>> [codes.tolist() for codes in best_and_rival(np.array([[1.0, 3.0, 2.0]]))]
    [[1], [2]]
    """
    best = predicted_codes(scores)
    if scores.shape[1] == 1:
        return best, 1 - best
    others = scores.copy()
    others[np.arange(len(scores)), best] = -np.inf
    return best, others.argmax(axis=1)


def margins_over_rival(scores: np.ndarray) -> np.ndarray:
    """How far each row's best score is above the second; of one column, its distance from zero."""
    if scores.shape[1] == 1:
        return np.abs(scores[:, 0])
    rows, (best, rival) = np.arange(len(scores)), best_and_rival(scores)
    return scores[rows, best] - scores[rows, rival]


def candidate_classes(scores: np.ndarray, low_margin: float) -> np.ndarray:
    """Which classes score within ``low_margin`` of the best, for each row of scores.

    Two classes with one column of scores have the scores ``−s`` and ``s``.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.model.multiclass import candidate_classes
    >>> candidate_classes(np.array([[-1.0, 0.3, 0.5]]), 1.0).tolist()
    [[False, True, True]]
    >>> candidate_classes(np.array([[0.2], [0.9]]), 1.0).tolist()
    [[True, True], [False, True]]
    """
    if scores.shape[1] == 1:
        scores = np.hstack([-scores, scores])
    return scores > scores.max(axis=1, keepdims=True) - low_margin


def joined_columns(weights: np.ndarray, n_classes: int) -> np.ndarray:
    """Weights after training: two classes trained jointly keep the difference of their columns."""
    if n_classes == 2 and weights.shape[1] == 2:
        return np.ascontiguousarray(weights[:, 1:] - weights[:, :1])
    return weights


def separate_columns(weights: np.ndarray, wanted: int) -> np.ndarray:
    """The reverse of :func:`joined_columns`, where training continues with ``wanted`` columns."""
    if weights.shape[1] == wanted:
        return weights
    half = weights * weights.dtype.type(0.5)
    return np.concatenate([-half, half], axis=1)


def log_probabilities(scores: np.ndarray) -> np.ndarray:
    """Logarithms of class probabilities, of decisions of models trained with the log loss.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.model.multiclass import log_probabilities
    >>> np.exp(log_probabilities(np.array([0.0, 2.0]))).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    """
    if scores.ndim == 1:
        return -np.logaddexp(0, np.column_stack([scores, -scores]))
    return scaled_to_one(-np.logaddexp(0, -scores))


def scaled_to_one(logs: np.ndarray) -> np.ndarray:
    """Logarithms of shares that sum to one, ``(n_rows, n_classes)``."""
    return logs - logsumexp(logs, axis=1, keepdims=True)
