"""Which columns of a table the outputs of encoders come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    SplineTransformer,
)

from ..maps.backwards import can_go_back, transform, weights_before
from .contributions import Paths
from .inverses import inverse

#: For each output, the place of its feature among those shown; names of these; and the column of
#: each, −1 for what is no column.
Groups = tuple[np.ndarray, list[str], list[int]]
# Where an output comes from: a column and its name, or −1 and its own name.
Origin = tuple[int, str]


def column_groups(steps: Sequence[Any]) -> Groups | None:
    """Of each output of encoders, the feature that explanations show for it.

    Parameters
    ----------
    steps : sequence of fitted transformers
        One after the other. The first has attributes ``groups_`` (the input column of each output)
        and ``columns_`` (its name), or is a ``ColumnTransformer``, or, like those after it, a
        transformer of scikit-learn whose outputs are of one column each.

    Returns
    -------
    members : ndarray of int, shape (n_features_out,)
        For each output, the place of its feature among those shown.
    labels : list of str
        Names of the features shown: columns of the table, or outputs that are words of a text.
    sources : list of int
        The column of each; −1 for a word.
        None in place of all three where an encoder is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from hyperlocal.model.columns import column_groups
    >>> encoder = OneHotEncoder().fit(np.array([["a", "x"], ["b", "x"]], dtype=object))
    >>> members, labels, sources = column_groups([encoder])
    >>> members.tolist(), labels, sources
    ([0, 0, 1], ['x0', 'x1'], [0, 1])
    """
    first, *others = steps
    if isinstance(first, ColumnTransformer):
        origins = [origin for part in _parts(first) for origin in part.origins]
    else:
        found = _origins(first)
        if found is None:
            return None
        origins = found
    return _after(origins, others)


def by_column(
    steps: Sequence[Any], paths: Paths, X: Any, given: Any
) -> tuple[Paths, Groups | None]:
    """The ways in what the steps return as ways in columns, as far as they can be.

    Parts of a ``ColumnTransformer`` that mix columns, like PCA, are undone.

    Parameters
    ----------
    steps : sequence of fitted transformers
    paths : Paths
        In their output.
    X : table
        Their input.
    given : table or None
        The references in their input, if they are known.

    Returns
    -------
    Paths, Groups or None
        Groups of the features of these ways.
    """
    if len(steps) > 1 or not isinstance(steps[0], ColumnTransformer):
        return paths, column_groups(steps)
    parts = _parts(steps[0])
    undone = [(part, part.undone(paths, X, given)) for part in parts]
    blocks = [(part.taken(paths), part.origins) if own is None else own for part, own in undone]
    if all(own is None for _, own in undone):
        return paths, _after([origin for _, own in blocks for origin in own], [])
    joined = replace(
        paths,
        starts=[np.hstack(one) for one in zip(*(own.starts for own, _ in blocks), strict=True)],
        weights=[
            np.concatenate(one, axis=2)
            for one in zip(*(own.weights for own, _ in blocks), strict=True)
        ],
        seen=np.hstack([own.seen for own, _ in blocks]),
    )
    return joined, _after([origin for _, own in blocks for origin in own], [])


def cells_of(X: Any, columns: list[int], dtype: Any) -> np.ndarray:
    """Columns of a table, a matrix or CSR as a dense array."""
    if sp.issparse(X):
        return X[:, columns].toarray().astype(dtype)
    if hasattr(X, "iloc"):
        return X.iloc[:, columns].to_numpy(dtype)
    table = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X, dtype=object)
    return table[:, columns].astype(dtype)


@dataclass(frozen=True)
class _Part:
    """One transformer of a ColumnTransformer.

    Attributes
    ----------
    transformer : fitted transformer or "passthrough"
    places : slice
        Its outputs.
    columns : list of Origin
        Its inputs.
    origins : list of Origin
        Of its outputs.
    """

    transformer: Any
    places: slice
    columns: list[Origin]
    origins: list[Origin]

    def taken(self, paths: Paths) -> Paths:
        """The ways in its outputs alone."""
        return replace(
            paths,
            starts=[start[:, self.places] for start in paths.starts],
            weights=[weights[:, :, self.places] for weights in paths.weights],
            seen=paths.seen[:, self.places],
        )

    def undone(self, paths: Paths, X: Any, given: Any) -> tuple[Paths, list[Origin]] | None:
        """The ways in its columns, if it mixes these and can be undone without a loss."""
        is_mixed = any(source < 0 for source, _ in self.origins)
        if not is_mixed or not can_go_back(self.transformer):
            return None
        own = self.taken(paths)
        columns = [source for source, _ in self.columns]
        starts = []
        for number, start in enumerate(own.starts):
            before = (
                inverse(self.transformer, start)
                if given is None or paths.are_own
                else cells_of(given, columns, np.float64)[number : number + 1]
            )
            if before is None or not np.allclose(transform(self.transformer, before), start):
                return None
            starts.append(before)
        seen = cells_of(X, columns, np.float64)
        weights = [
            weights_before(self.transformer, one, seen, start)
            for one, start in zip(own.weights, starts, strict=True)
        ]
        return replace(own, starts=starts, weights=weights, seen=seen), self.columns


def _parts(encoder: ColumnTransformer) -> list[_Part]:
    """In the order of the outputs."""
    names = _input_names(encoder)
    outputs = [str(name) for name in encoder.get_feature_names_out()]
    found = []
    for label, transformer, chosen in encoder.transformers_:
        places = encoder.output_indices_.get(label, slice(0, 0))
        if places.start == places.stop:
            continue
        columns = [(i, names[i]) for i in _positions(chosen, names)]
        own = [output.removeprefix(f"{label}__") for output in outputs[places]]
        found.append(_Part(transformer, places, columns, _part_origins(transformer, columns, own)))
    return sorted(found, key=lambda part: part.places.start)


def _part_origins(transformer: Any, columns: list[Origin], outputs: list[str]) -> list[Origin]:
    if hasattr(transformer, "vocabulary_"):
        return [(-1, output) for output in outputs]
    if len(columns) == 1:
        return columns * len(outputs)
    owners = column_owners(transformer, len(columns))
    if owners is not None and len(owners) == len(outputs):
        return [columns[owner] for owner in owners]
    return [(-1, output) for output in outputs]


def column_owners(transformer: Any, n_columns: int) -> np.ndarray | None:
    """For each output of a transformer, the column that it is of; None where they are mixed.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import KBinsDiscretizer
    >>> from hyperlocal.model.columns import column_owners
    >>> bins = KBinsDiscretizer(2, strategy="uniform")
    >>> column_owners(bins.fit(np.arange(8.0).reshape(4, 2)), 2).tolist()
    [0, 0, 1, 1]
    """
    every = np.arange(n_columns)
    if isinstance(transformer, Pipeline):
        owners = every
        for _, step in transformer.steps:
            own = column_owners(step, len(owners))
            if own is None:
                return None
            owners = owners[own]
        return owners
    if transformer is None or isinstance(transformer, str):
        return every
    if isinstance(transformer, OneHotEncoder):
        return np.repeat(every, _numbers_of_dummies(transformer))
    if isinstance(transformer, KBinsDiscretizer) and transformer.encode != "ordinal":
        return np.repeat(every, transformer.n_bins_)
    if isinstance(transformer, SplineTransformer):
        return np.repeat(every, transformer.n_features_out_ // n_columns)
    if isinstance(transformer, SelectorMixin):
        return transformer.get_support(indices=True)
    if isinstance(transformer, SimpleImputer):
        return _imputed(transformer, every)
    is_by_feature = isinstance(transformer, (OneToOneFeatureMixin, KBinsDiscretizer)) or (
        isinstance(transformer, FunctionTransformer)
        and transformer.feature_names_out == "one-to-one"
    )
    return every if is_by_feature and not hasattr(transformer, "norm") else None


def keeps_columns(transformer: Any, n_columns: int) -> bool:
    """Whether each column has one output, in the same order."""
    owners = column_owners(transformer, n_columns)
    return owners is not None and np.array_equal(owners, np.arange(n_columns))


def _numbers_of_dummies(encoder: OneHotEncoder) -> list[int]:
    """Of each column: its categories, rare ones as one, without the one that is dropped."""
    rare = getattr(encoder, "infrequent_categories_", None) or [None] * len(encoder.categories_)
    dropped = encoder.drop_idx_
    dropped = [None] * len(rare) if dropped is None else dropped
    return [
        len(categories) - (0 if some is None else len(some) - 1) - (out is not None)
        for categories, some, out in zip(encoder.categories_, rare, dropped, strict=True)
    ]


def _imputed(imputer: SimpleImputer, every: np.ndarray) -> np.ndarray | None:
    """The columns, and those whose empty cells are shown by a column more."""
    flags = imputer.indicator_.features_ if imputer.add_indicator else every[:0]
    n_outputs = len(imputer.get_feature_names_out())
    return np.append(every, flags) if n_outputs == len(every) + len(flags) else None


def _origins(encoder: Any) -> list[Origin] | None:
    """Of a transformer of the whole table."""
    if hasattr(encoder, "groups_") and hasattr(encoder, "columns_"):
        return list(zip(encoder.groups_.tolist(), encoder.columns_.tolist(), strict=True))
    if not hasattr(encoder, "n_features_in_"):
        return None
    names = _input_names(encoder)
    owners = column_owners(encoder, len(names))
    return None if owners is None else [(int(owner), names[owner]) for owner in owners]


def _after(origins: list[Origin], steps: Sequence[Any]) -> Groups | None:
    """As groups, after further steps."""
    for step in steps:
        owners = column_owners(step, len(origins))
        if owners is None:
            return None
        origins = [origins[owner] for owner in owners]
    places: dict[Origin, int] = {}
    members = np.array([places.setdefault(origin, len(places)) for origin in origins])
    return members, [name for _, name in places], [source for source, _ in places]


def _positions(columns: Any, names: list[str]) -> list[int]:
    if isinstance(columns, (str, int, np.integer)):
        columns = [columns]
    if isinstance(columns, slice):
        start, stop = (names.index(one) if isinstance(one, str) else one
                       for one in (columns.start, columns.stop))  # fmt: skip
        stop = stop + 1 if isinstance(columns.stop, str) else stop  # a name is part of its slice
        return list(range(len(names)))[start : stop : columns.step]
    chosen = np.asarray(columns)
    if chosen.dtype == bool:
        return np.flatnonzero(chosen).tolist()
    places = [names.index(one) if isinstance(one, str) else int(one) for one in chosen.tolist()]
    return [place % len(names) for place in places]


def _input_names(encoder: Any) -> list[str]:
    default = [f"x{i}" for i in range(encoder.n_features_in_)]
    return [str(name) for name in getattr(encoder, "feature_names_in_", default)]
