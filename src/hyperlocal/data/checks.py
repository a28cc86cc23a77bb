"""Checks of what users give: it becomes contiguous arrays and label codes, or a clear error."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite, gen_batches
from sklearn.utils.extmath import row_norms
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.sparsefuncs import mean_variance_axis

from .cell_errors import validated
from .labelled import LabelledRows, RowOrigin
from .rows import FLOATS, canonical

SCALE_RATIO_TO_WARN = 1e5
# Warned of is a quarter of the features that make less than this share of squared distances, even
# at opposite ends of all their ranges. Wine, breast cancer and ten other raw tables of measurements
# have 0.2 % at most; standardised tables, 0/1 columns, pixels, and principal components of these
# have 5 % or more.
SHARE_TO_WARN = 0.01
FEWEST_ROWS_FOR_SHARES = 10  # ranges of fewer rows differ by chance
# Features whose ranges differ by less may have been weighted on purpose, as by RelevanceScaler.
LEAST_RATIO_TO_WARN = 100
DISTANCES_NEED_SCALES = "Local models depend on distances"
PENALTIES_NEED_SCALES = (
    "The penalty is the same for all weights, so features of a small range are hardly used, and "
    "the solver takes many more epochs"
)
ROWS_TO_CHECK = 10_000
ROWS_PER_BATCH = 1_000
# Products of weights with C and with squared norms of rows must be finite in float32.
LARGEST_WEIGHT = 1e15


def check_rows(estimator: Any, X: Any, *, reset: bool, values: bool = True) -> Any:
    """Validate feature rows: float32 or float64, dense in C order or canonical CSR.

    With ``values=False`` the caller checks the values: by ``check_values``, block by block while
    rows are in the cache, or as part of its own computation.
    """
    rules = {**_array_rules(), "ensure_all_finite": values}
    X = canonical(validated(estimator, X, reset=reset, **rules))
    if values:
        _check_magnitude(X, fitted_to=reset)
    return X


def longest_row(dtype: np.dtype) -> float:
    """The length of rows from which on products of features overflow."""
    return math.sqrt(math.sqrt(np.finfo(dtype).max))


def check_values(X: Any) -> None:
    """Raise where rows are not finite, or so large that their products overflow."""
    assert_all_finite(X, input_name="X")
    _check_magnitude(X)


def check_labelled_rows(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    class_weight: Any = None,
    *,
    classes: np.ndarray | None = None,
    reset: bool = True,
) -> LabelledRows:
    """Validate rows, labels and weights; rows of weight zero are left out.

    ``classes`` gives the labels beforehand (``partial_fit``), else they are found in ``y``.
    """
    X, y = _check_rows_and_labels(estimator, X, y, reset)
    X, y, weights, origin = _without_weightless(X, y, check_sample_weight(sample_weight, len(y)))
    classes, target = _encode_labels(y, classes)
    if class_weight is not None:
        masses = np.bincount(target, weights=weights, minlength=len(classes))
        weights = weights * class_weights_by_mass(class_weight, classes, masses)[target]
        _check_weight_range("sample_weight times class_weight", weights)
    return LabelledRows(X, target, classes, weights, origin)


def check_block(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    reset: bool,
    is_numeric: bool = False,
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Validate another block of labelled rows; rows of weight zero are left out, possibly all."""
    if is_numeric:
        X, y = _check_rows_and_values(estimator, X, y, reset, multi_output=True)
    else:
        X, y = _check_rows_and_labels(estimator, X, y, reset)
    weights = check_sample_weight(sample_weight, len(y), all_rows=False)
    X, y, weights, _ = _without_weightless(X, y, weights)
    return X, y, weights


def _check_rows_and_labels(estimator: Any, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
    _check_none_missing(y)
    X, y = validated(estimator, X, y, reset=reset, **_array_rules())
    X = canonical(X)
    _check_magnitude(X, fitted_to=reset)
    _check_labels(y)
    return X, y


def check_valued_rows(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    reset: bool = True,
    multi_output: bool = False,
) -> LabelledRows:
    """Validate rows of a regression; ``classes`` are the distinct values of ``y``.

    With ``multi_output`` the values may have several columns, and stay float64.
    """
    X, y = _check_rows_and_values(estimator, X, y, reset, multi_output)
    X, y, weights, origin = _without_weightless(X, y, check_sample_weight(sample_weight, len(y)))
    values, target = np.unique(y, return_inverse=True, axis=0)
    target = target.ravel().astype(np.int32)
    return LabelledRows(X, target, values, weights, origin, is_numeric=True)


def _check_rows_and_values(
    estimator: Any, X: Any, y: Any, reset: bool, multi_output: bool
) -> tuple[Any, np.ndarray]:
    rules = {**_array_rules(), "y_numeric": True, "multi_output": multi_output}
    X, y = validated(estimator, X, y, reset=reset, **rules)
    if sp.issparse(y):
        raise TypeError("y is sparse; give a dense array of values: y.toarray().")
    X = canonical(X)
    _check_magnitude(X, fitted_to=reset)
    try:
        y = y.astype(np.float64 if multi_output else X.dtype, copy=False)
    except ValueError as error:
        raise ValueError(
            f"y holds text, but {type(estimator).__name__} predicts numbers ({error}); give "
            "numbers, or choose a classifier."
        ) from error
    assert_all_finite(y, input_name="y")  # an object, as None, may become NaN
    return X, y


def _without_weightless(
    X: Any, y: np.ndarray, weights: np.ndarray
) -> tuple[Any, np.ndarray, np.ndarray, RowOrigin | None]:
    if weights.all():
        return X, y, weights, None
    is_kept = weights > 0
    origin = RowOrigin(np.maximum(np.cumsum(is_kept) - 1, 0), is_kept.astype(np.float64))
    return canonical(X[is_kept]), y[is_kept], weights[is_kept], origin


def check_known_classes(classes: Any, fitted: np.ndarray | None) -> np.ndarray:
    """All labels that ``partial_fit`` can get: those given, or those of its first call."""
    if classes is None:
        if fitted is None:
            raise ValueError("classes must be given at the first call of partial_fit.")
        return fitted
    known = np.unique(classes)
    if len(known) < 2:
        raise ValueError("classes must name at least two classes.")
    if fitted is not None and not np.array_equal(known, fitted):
        raise ValueError(
            f"classes={known.tolist()} differ from those of the first call, {fitted.tolist()}."
        )
    return known


def known_classes(estimator: Any, classes: Any) -> np.ndarray:
    """All labels that an estimator's ``partial_fit`` can get, and whether it can weigh them."""
    if isinstance(estimator.class_weight, str):
        raise ValueError(
            "class_weight='balanced' would balance each batch by itself in partial_fit; give a "
            "dict of weights."
        )
    is_fitted = hasattr(estimator, "model_")
    return check_known_classes(classes, estimator.classes_ if is_fitted else None)


def check_batch(estimator: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> LabelledRows:
    """Validate a batch of ``partial_fit``, whose labels may be some of the classes."""
    known, is_first = known_classes(estimator, classes), not hasattr(estimator, "model_")
    weights = (sample_weight, estimator.class_weight)
    return check_labelled_rows(estimator, X, y, *weights, classes=known, reset=is_first)


def _check_none_missing(y: Any) -> None:
    """Raise where labels of pandas or Python are missing; those of floats are NaN."""
    if hasattr(y, "isna"):
        n_missing = int(np.asarray(y.isna()).sum())
    else:
        labels = np.asarray(y)
        is_mixed = y is not None and labels.dtype == object
        n_missing = sum(label is None for label in labels.ravel()) if is_mixed else 0
    if n_missing:
        raise ValueError(
            f"y contains {n_missing} missing labels; leave these rows out: X[y.notna()], or give "
            "missing a label of its own."
        )


def _check_labels(y: np.ndarray) -> None:
    if y.dtype.kind == "S" or any(isinstance(label, bytes) for label in y[:1]):
        raise TypeError(
            "y contains labels of bytes, which scikit-learn does not take; decode them: "
            "numpy.char.decode(y)."
        )
    if y.dtype == object and len({isinstance(label, str) for label in y}) > 1:
        raise TypeError("y mixes labels of different types; give labels of one type.")
    check_classification_targets(y)


def _array_rules() -> dict[str, Any]:
    return {
        "accept_sparse": "csr",
        "dtype": list(FLOATS),
        "order": "C",
        "accept_large_sparse": True,
    }


def _check_magnitude(X: Any, *, fitted_to: bool = False) -> None:
    """Raise where products of features overflow, or all of them vanish in rows to fit to."""
    limits = np.finfo(X.dtype)
    with np.errstate(over="ignore", under="ignore"):
        largest = float(row_norms(X, squared=True).max())
    if largest >= longest_row(X.dtype) ** 2:
        size, problem = math.sqrt(largest), "their products overflow"
    elif fitted_to and largest < limits.tiny and (size := float(abs(X).max())) > 0:
        problem = "all products vanish"
    else:
        return
    raise ValueError(
        f"X holds rows of norm {size:.0e}; {problem} in {X.dtype}. Scale the features first, for "
        "instance with make_pipeline(StandardScaler(), ...)."
    )


def check_sample_weight(sample_weight: Any, n_rows: int, *, all_rows: bool = True) -> np.ndarray:
    """Weights as float64; raises on a wrong shape, negative, non-finite or all-zero weights.

    All may be zero if these are not ``all_rows``.
    """
    if sample_weight is None:
        return np.ones(n_rows)
    weights = np.asarray(sample_weight)
    if weights.dtype.kind not in "biuf":
        raise TypeError(f"sample_weight must hold real numbers, not values of {weights.dtype}.")
    weights = weights.astype(np.float64)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; it needs one weight per row: ({n_rows},)."
        )
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight contains NaN or infinity; give finite weights.")
    if (weights < 0).any():
        raise ValueError("sample_weight contains negative weights; give weights of at least 0.")
    _check_weight_range("sample_weight", weights)
    if all_rows and not weights.any():
        raise ValueError("sample_weight is zero for every row; give some row a positive weight.")
    return weights


def _check_weight_range(name: str, weights: np.ndarray) -> None:
    """Raise where products of weights with costs and losses overflow, or vanish."""
    positive = weights[weights > 0]
    if len(positive) and not (
        1 / LARGEST_WEIGHT <= positive.min() <= positive.max() <= LARGEST_WEIGHT
    ):
        raise ValueError(
            f"{name} has weights from {positive.min():.0e} to {positive.max():.0e}; they must lie "
            f"between {1 / LARGEST_WEIGHT:.0e} and {LARGEST_WEIGHT:.0e}, or be zero. Divide them "
            "by their mean."
        )


def _encode_labels(y: np.ndarray, classes: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    if classes is None:
        classes, target = np.unique(y, return_inverse=True)
        require_two_classes(classes)
        return classes, target.astype(np.int32)
    position = np.clip(np.searchsorted(classes, y), 0, len(classes) - 1)
    unknown = classes[position] != y
    if unknown.any():
        raise ValueError(
            f"y contains labels that are not in classes: {np.unique(y[unknown]).tolist()}. "
            "Name all labels in classes at the first call of partial_fit."
        )
    return classes, position.astype(np.int32)


def require_two_classes(classes: np.ndarray, where: str = "y") -> None:
    """Raise where rows of positive weight have one class only."""
    if len(classes) < 2:
        raise ValueError(
            f"{where} has one class only, {classes.tolist()[0]!r} (rows of weight zero do not "
            "count); a classifier needs at least two classes."
        )


def class_weights_by_mass(class_weight: Any, classes: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """One weight per class, given the summed weights of the classes' rows."""
    if isinstance(class_weight, dict):
        weights = _weights_by_label(class_weight, classes.tolist())
    elif isinstance(class_weight, str) and class_weight == "balanced":
        present = mass > 0
        weights = np.ones(len(classes))
        weights[present] = mass.sum() / (np.count_nonzero(present) * mass[present])
    else:
        raise ValueError(f"class_weight must be a dict, 'balanced' or None, not {class_weight!r}.")
    if (weights <= 0).any() or not np.isfinite(weights).all():
        raise ValueError("class_weight must give every class a positive, finite weight.")
    return weights


def _weights_by_label(class_weight: dict[Any, float], labels: list[Any]) -> np.ndarray:
    unknown = [label for label in class_weight if label not in labels]
    if unknown and any(label not in class_weight for label in labels):
        raise ValueError(f"class_weight names {unknown}, but the classes in y are {labels}.")
    return np.array([class_weight.get(label, 1.0) for label in labels], dtype=float)


def warn_about_scales(X: Any, why: str = DISTANCES_NEED_SCALES) -> None:
    """Warn if ranges differ by orders of magnitude, or many features are too small to count."""
    difference = scale_difference(X)
    if difference:
        warnings.warn(
            f"{difference} {why}: scale the features first, for instance with "
            "make_pipeline(StandardScaler(), ...).",
            UserWarning,
            stacklevel=3,
        )


def scale_difference(X: Any) -> str:
    """How much the sizes of features differ, in a sentence; empty if they do not differ much."""
    X = X[:ROWS_TO_CHECK]
    ends = [end.toarray().ravel() if sp.issparse(X) else end for end in (X.max(0), X.min(0))]
    ranges = np.subtract(*ends, dtype=np.float64)
    ranges = np.sort(ranges[ranges > 0])
    if len(ranges) < 2:
        return ""
    with np.errstate(over="ignore"):
        ratio = ranges[-1] / ranges[0]
    # Two rows are apart by twice the total variance in the mean of squares.
    smallest_to_count = SHARE_TO_WARN * 2 * _total_variance(X)
    n_small = np.count_nonzero(np.cumsum(ranges**2) < smallest_to_count)
    many_are_small = n_small >= max(len(ranges) // 4, 1) and X.shape[0] >= FEWEST_ROWS_FOR_SHARES
    if not (ratio > SCALE_RATIO_TO_WARN or (many_are_small and ratio > LEAST_RATIO_TO_WARN)):
        return ""
    return (
        f"The ranges of X's features differ by a factor of {ratio:.0e}, and {n_small} of "
        f"{len(ranges)} features together make less than {SHARE_TO_WARN:.0%} of squared distances."
    )


def _total_variance(X: Any) -> float:
    """Sum of the features' variances, in float64 without a copy of all rows."""
    if sp.issparse(X):
        return float(mean_variance_axis(X, axis=0)[1].sum(dtype=np.float64))
    mean, total = X.mean(axis=0, dtype=np.float64), 0.0
    for part in gen_batches(X.shape[0], ROWS_PER_BATCH):
        total += float(np.square(X[part] - mean).sum())
    return total / X.shape[0]
