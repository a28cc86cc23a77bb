"""Dask collections, or data in memory, as a list of parts: rows, labels, weights."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.base import is_dask_collection
from dask.delayed import Delayed
from distributed import Future

from ..data.rows import well_formed


def is_lazy(X: Any) -> bool:
    """Whether ``X`` is a Dask array or dataframe."""
    check_collection("X", X)
    return is_dask_collection(X)


def check_collection(name: str, values: Any) -> None:
    """Raise unless ``values`` are in memory or a Dask array, dataframe or series."""
    first = values[0] if isinstance(values, (list, tuple)) and values else values
    if isinstance(first, (Future, Delayed)):
        raise TypeError(
            f"{name} is a {type(first).__name__}, whose shape is unknown; make a collection of it "
            "with dask.array.from_delayed or dask.dataframe.from_delayed."
        )
    if is_dask_collection(values) and not hasattr(values, "ndim"):
        raise TypeError(
            f"{name} must be a Dask array or dataframe, not a Dask {type(values).__name__}."
        )


def row_parts(X: Any, y: Any, sample_weight: Any, n_parts: int) -> list[tuple[Any, Any, Any]]:
    """Rows, labels and weights (or None) of each part, lazily.

    Parameters
    ----------
    X : Dask array or dataframe, or anything with rows
        Data in memory are split into ``n_parts`` parts.
    y, sample_weight : Dask array or series, or array-like
        Divided as ``X`` is.
    n_parts : int

    Returns
    -------
    list of (rows, labels, weights)
    """
    lengths: list[int] | None
    if not is_lazy(X):
        X = X if hasattr(X, "shape") else np.asarray(X)
        lengths = _even_lengths(X.shape[0], n_parts)
        rows = _cut(X, lengths)
    else:
        X = X.rechunk({1: -1}) if isinstance(X, da.Array) and X.ndim == 2 else X
        lengths = _known_lengths(X)
        rows = list(np.ravel(X.to_delayed()))
    labels = _divided_like("y", y, lengths, len(rows))
    weights: list[Any] = [None] * len(rows)
    if sample_weight is not None:
        weights = _divided_like("sample_weight", sample_weight, lengths, len(rows))
    return list(zip(rows, labels, weights, strict=True))


def _even_lengths(n_rows: int, n_parts: int) -> list[int]:
    bounds = np.linspace(0, n_rows, min(n_parts, max(n_rows, 1)) + 1).astype(int)
    return np.diff(bounds).tolist()


def _known_lengths(X: Any) -> list[int] | None:
    """Rows per part, where Dask knows them without computing."""
    if isinstance(X, da.Array) and not np.isnan(X.chunks[0]).any():
        return list(X.chunks[0])
    return None


def _cut(values: Any, lengths: list[int]) -> list[Any]:
    """Slices of data in memory; each is sent once, to the worker that needs it."""
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    take = values.iloc if hasattr(values, "iloc") else values
    if sp.issparse(values):
        take = well_formed(values).tocsr()
    pieces = [take[begin:end] for begin, end in pairwise(bounds)]
    return [dask.delayed(piece, traverse=False) for piece in pieces]


def _divided_like(name: str, values: Any, lengths: list[int] | None, n_parts: int) -> list[Any]:
    check_collection(name, values)
    if not is_dask_collection(values):
        values = values if hasattr(values, "shape") else np.asarray(values)
        if lengths is None:
            raise TypeError(
                f"{name} must be a Dask collection with the partitions of X, since it is not known "
                f"how many rows these have; call X.compute_chunk_sizes() or give a Dask "
                f"{name}."
            )
        if values.shape[0] != sum(lengths):
            raise ValueError(f"{name} has {values.shape[0]} rows, but X has {sum(lengths)}.")
        return _cut(values, lengths)
    own = _known_lengths(values)
    if lengths is not None and own is not None and own != lengths:
        if sum(own) != sum(lengths):
            raise ValueError(f"{name} has {sum(own)} rows, but X has {sum(lengths)}.")
        values = values.rechunk({0: tuple(lengths)})
    parts = list(np.ravel(values.to_delayed()))
    if len(parts) != n_parts:
        raise ValueError(
            f"{name} has {len(parts)} partitions, but X has {n_parts}; repartition one like the "
            "other."
        )
    return parts
