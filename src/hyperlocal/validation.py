"""The border: what users give becomes contiguous arrays and label codes, or a clear error."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.extmath import row_norms
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from .threads import row_blocks

FLOATS = (np.float64, np.float32)
SCALE_RATIO_TO_WARN = 1e5
DISTANCES_NEED_SCALES = "Local models depend on distances"
PENALTIES_NEED_SCALES = (
    "The penalty keeps all weights alike small, so features of a small range are hardly used, and "
    "the solver takes many more epochs"
)
ROWS_TO_LOOK_AT = 10_000
# Equal rows are merged where that costs next to nothing.
MOST_ROWS_TO_MERGE = 16_384
NUMBERS_PER_KEY_BLOCK = 1 << 17
# So many features, from the middle, tell most rows apart that differ.
FEATURES_TO_TELL_APART = 64


@dataclass(frozen=True)
class LabelledRows:
    """Training data ready for the chain.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features)
        float32 or float64, C order; CSR with sorted, unique columns.
    target : ndarray of int32, shape (n_rows,)
        Index into ``classes``.
    classes : ndarray
        Sorted distinct labels.
    sample_weight : ndarray of float64, shape (n_rows,)
        Class weights included, none zero.
    origin : RowOrigin or None
        Where the given rows went; None: they are these rows, in their order.
    population : int or None
        The number of rows of which these are a sample; None: they are all.
    """

    X: Any
    target: np.ndarray
    classes: np.ndarray
    sample_weight: np.ndarray
    origin: RowOrigin | None = None
    population: int | None = None

    @property
    def n_represented(self) -> int:
        """How many rows these stand for."""
        return self.X.shape[0] if self.population is None else self.population

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Numbers of these rows, as numbers of the given rows: shares of their row's number."""
        if self.origin is None:
            return values
        return values[self.origin.row] * self.origin.share[:, None].astype(values.dtype)

    def given_rows(self) -> np.ndarray:
        """For each row, the first given row that is in it."""
        if self.origin is None:
            return np.arange(self.X.shape[0])
        kept = np.flatnonzero(self.origin.share)[::-1]
        first = np.empty(self.X.shape[0], np.int64)
        first[self.origin.row[kept]] = kept  # of several, the last to be written is the first
        return first


@dataclass(frozen=True)
class RowOrigin:
    """Where given rows went.

    Attributes
    ----------
    row : ndarray of int64, shape (n_given,)
        The row that a given row is in; any for a row of weight zero.
    share : ndarray of float64, shape (n_given,)
        Its share of that row's weight.
    """

    row: np.ndarray
    share: np.ndarray


def check_rows(estimator: Any, X: Any, *, reset: bool, values: bool = True) -> Any:
    """Validate feature rows: float32 or float64, dense in C order or canonical CSR.

    With ``values=False`` the caller calls ``check_values``, block by block while rows are in the
    cache, or finds on its way that they are fine.
    """
    rules = {**_array_rules(), "ensure_all_finite": values}
    X = canonical(validate_data(estimator, X, reset=reset, **rules))
    if values:
        _check_magnitude(X)
    return X


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
    return LabelledRows(X, target, classes, weights, origin)


def check_block(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, reset: bool
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Validate a block of more labelled rows; those of weight zero are left out, if need be all."""
    X, y = _check_rows_and_labels(estimator, X, y, reset)
    weights = check_sample_weight(sample_weight, len(y), all_rows=False)
    X, y, weights, _ = _without_weightless(X, y, weights)
    return X, y, weights


def _check_rows_and_labels(estimator: Any, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
    X, y = validate_data(estimator, X, y, reset=reset, **_array_rules())
    X = canonical(X)
    _check_magnitude(X)
    _check_labels(y)
    return X, y


def check_valued_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, reset: bool = True
) -> LabelledRows:
    """Validate rows of a regression; ``classes`` are the distinct values of ``y``."""
    X, y = validate_data(estimator, X, y, reset=reset, y_numeric=True, **_array_rules())
    X = canonical(X)
    _check_magnitude(X)
    X, y, weights, origin = _without_weightless(X, y, check_sample_weight(sample_weight, len(y)))
    values, target = np.unique(y.astype(X.dtype, copy=False), return_inverse=True)
    return LabelledRows(X, target.astype(np.int32), values, weights, origin)


def _without_weightless(
    X: Any, y: np.ndarray, weights: np.ndarray
) -> tuple[Any, np.ndarray, np.ndarray, RowOrigin | None]:
    if weights.all():
        return X, y, weights, None
    is_kept = weights > 0
    origin = RowOrigin(np.maximum(np.cumsum(is_kept) - 1, 0), is_kept.astype(np.float64))
    return canonical(X[is_kept]), y[is_kept], weights[is_kept], origin


def check_known_classes(classes: Any, fitted: np.ndarray | None) -> np.ndarray:
    """Labels that ``partial_fit`` may meet: those given, or those of its first call."""
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


def _check_labels(y: np.ndarray) -> None:
    try:
        check_classification_targets(y)
    except TypeError as error:  # labels are sorted
        raise TypeError("y mixes labels of different types; give labels of one type.") from error


def _array_rules() -> dict[str, Any]:
    return {
        "accept_sparse": "csr",
        "dtype": list(FLOATS),
        "order": "C",
        "accept_large_sparse": True,
    }


def canonical(X: Any) -> Any:
    """Bring rows into the one form that the kernels read, without a copy where possible."""
    if not sp.issparse(X):
        return np.ascontiguousarray(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"X has {X.shape[1]} features; at most 2^31 - 1 are supported.")
    return X


def _check_magnitude(X: Any) -> None:
    """Raise where products of features overflow: norms would be infinite, scores NaN."""
    with np.errstate(over="ignore"):
        largest = float(row_norms(X, squared=True).max())
    if largest >= math.sqrt(np.finfo(X.dtype).max):
        raise ValueError(
            f"X holds rows of norm {math.sqrt(largest):.0e}; their products overflow in {X.dtype}. "
            "Scale the features first, for instance with make_pipeline(StandardScaler(), ...)."
        )


def check_sample_weight(sample_weight: Any, n_rows: int, *, all_rows: bool = True) -> np.ndarray:
    """Weights as float64; raises on a wrong shape, negative, non-finite or all-zero weights.

    Where these are not ``all_rows``, all may be zero.
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
    if all_rows and not weights.any():
        raise ValueError("sample_weight is zero for every row; give some row a positive weight.")
    return weights


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


def merge_equal_rows(data: LabelledRows, *, keep_order: bool = False) -> LabelledRows:
    """Make one row of all equal rows of a class, with the sum of their weights.

    Rows are ordered by content then: a row of weight two and the same row twice, and rows in any
    order, are the same data, to the last bit, to all that follows. Large data are left as they are.
    With ``keep_order`` rows stay in the order in which they first occur, and data of any size are
    merged.
    """
    if keep_order and _are_distinct(data.X):
        return data
    groups = equal_row_groups(data, any_size=keep_order)
    if groups is None or not keep_order:
        return merge_groups(data, groups)
    first, group = groups
    if len(first) == len(group):
        return data
    by_occurrence = np.argsort(first)
    place = np.empty(len(first), np.intp)
    place[by_occurrence] = np.arange(len(first))
    return merge_groups(data, (first[by_occurrence], place[group]))


def merge_groups(data: LabelledRows, groups: tuple[np.ndarray, np.ndarray] | None) -> LabelledRows:
    """Make one row of each group that :func:`equal_row_groups` found; None leaves all rows."""
    if groups is None:
        return data
    first, group = groups
    weights = np.bincount(group, weights=data.sample_weight)
    origin = RowOrigin(group, data.sample_weight / weights[group])
    if data.origin is not None:
        before = data.origin
        origin = RowOrigin(origin.row[before.row], origin.share[before.row] * before.share)
    return LabelledRows(canonical(data.X[first]), data.target[first], data.classes, weights, origin)


def equal_row_groups(
    data: LabelledRows, *, any_size: bool = False
) -> tuple[np.ndarray, np.ndarray] | None:
    """The first row of each group of equal rows, and the group of each row; None for large data."""
    X, target = data.X, data.target
    if X.shape[0] > MOST_ROWS_TO_MERGE and not any_size:
        return None
    keys = row_keys(X)
    order = np.lexsort((target, keys))
    is_first = np.ones(len(order), bool)
    is_first[1:] = (np.diff(keys[order]) != 0) | (np.diff(target[order]) != 0)
    in_order = np.cumsum(is_first) - 1
    first, again = order[is_first], order[~is_first]
    if not _equal(X[again], X[first[in_order[~is_first]]]):
        return None  # two rows share a key by accident
    group = np.empty(len(order), np.intp)
    group[order] = in_order
    return first, group


def _are_distinct(X: Any) -> bool:
    """Whether a look at a part of wide rows shows that no two are equal."""
    if sp.issparse(X) or X.shape[1] <= FEATURES_TO_TELL_APART:
        return False
    begin = (X.shape[1] - FEATURES_TO_TELL_APART) // 2
    _, group, counts = np.unique(
        row_keys(X[:, begin : begin + FEATURES_TO_TELL_APART]),
        return_inverse=True,
        return_counts=True,
    )
    alike = np.flatnonzero(counts[group] > 1)
    return len(np.unique(row_keys(X[alike]))) == len(alike)


def row_keys(X: Any) -> np.ndarray:
    """One integer per row: equal for equal rows, different for others but for rare accidents."""
    factors = np.random.default_rng(0).integers(2**63, size=X.shape[1], dtype=np.uint64)
    factors = factors * np.uint64(2) + np.uint64(1)
    if sp.issparse(X):
        return sp.csr_array((_mixed_bits(X.data), X.indices, X.indptr), shape=X.shape) @ factors
    keys = np.empty(X.shape[0], np.uint64)
    for begin, end in row_blocks(X.shape[0], max(1, NUMBERS_PER_KEY_BLOCK // X.shape[1])):
        keys[begin:end] = _mixed_bits(X[begin:end]) @ factors
    return keys


def _mixed_bits(values: np.ndarray) -> np.ndarray:
    values = values + 0  # makes -0.0 and 0.0 the same bits
    bits = values.view(f"u{values.itemsize}").astype(np.uint64, copy=False)
    bits ^= bits >> np.uint64(32)  # round numbers differ in their upper bits only
    return bits


def _equal(A: Any, B: Any) -> bool:
    return not (A != B).nnz if sp.issparse(A) else np.array_equal(A, B)


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
    """Warn where features have wildly different ranges, and say why that matters."""
    X = X[:ROWS_TO_LOOK_AT]
    if sp.issparse(X):
        ranges = abs(X).max(axis=0).toarray().ravel()
    else:
        ranges = X.max(axis=0) - X.min(axis=0)
    ranges = ranges[ranges > 0]
    if len(ranges) and ranges.max() > SCALE_RATIO_TO_WARN * ranges.min():
        warnings.warn(
            f"The ranges of X's features differ by a factor of {ranges.max() / ranges.min():.0e}. "
            f"{why}: scale the features first, for instance with "
            "make_pipeline(StandardScaler(), ...).",
            UserWarning,
            stacklevel=3,
        )


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Raise a ValueError that names the argument unless ``value`` is one of ``choices``."""
    choices = list(choices)
    if not (isinstance(value, str) or value is None) or value not in choices:
        raise ValueError(f"{name} must be one of {choices}, not {value!r}.")


def check_number(
    name: str, value: Any, *, integer: bool = False, above: float = 0, inclusive: bool = False
) -> None:
    """Raise unless ``value`` is a finite number (or integer) above a bound."""
    kind = Integral if integer else Real
    word = "an integer" if integer else "a number"
    bound = f"{'at least' if inclusive else 'greater than'} {above:g}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, kind):
        raise TypeError(f"{name} must be {word} {bound}, not {value!r}.")
    number = float(value)
    in_range = number >= above if inclusive else number > above
    if not (in_range and np.isfinite(number)):
        raise ValueError(f"{name} must be {word} {bound}, not {value!r}.")


def check_flag(name: str, value: Any) -> None:
    """Raise a TypeError that names the argument unless ``value`` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, not {value!r}.")


def check_n_jobs(n_jobs: Any) -> None:
    """Raise unless ``n_jobs`` is None or an integer other than zero."""
    if n_jobs is None:
        return
    if isinstance(n_jobs, (bool, np.bool_)) or not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs must be None or an integer, not {n_jobs!r}.")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; give a number of threads, or -1 for all cores.")


def make_generator(random_state: Any) -> np.random.Generator:
    """A numpy Generator seeded by what scikit-learn takes as ``random_state``."""
    state = check_random_state(random_state)
    return np.random.default_rng(state.randint(np.iinfo(np.int32).max))
