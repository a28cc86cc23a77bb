"""What runs on the workers.

A worker stores the members of a team in a dictionary of its process, not as Dask results: they
change from round to round, hold compiled objects that cannot be pickled, and must not be spilled or
copied. A task whose member is missing returns None; the driver then creates the member again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.checks import check_block
from ..data.labelled import LabelledRows, part_of
from ..data.rows import canonical, take_rows, well_formed
from ..estimators.locally_linear import LocallyLinearSVC
from ..model.local_model import LocalModel
from ..model.problem import Problem
from ..runtime.threads import Workers
from ..solvers.anchor_learning import AnchorSchedule, RecodedRows, moved_anchors
from ..solvers.member import Member
from ..solvers.partitioning import assign_rows
from ..solvers.team import Order, Proposal
from ..solvers.training import Training
from .targets import ClassFacts, SharedTarget, ValueFacts

_Key = tuple[str, int]


@dataclass(frozen=True)
class Plan:
    """What workers need for a fit: gate and map, how weights are trained, how anchors move."""

    chain: LocalModel
    training: Training
    schedule: AnchorSchedule

    @property
    def dtype(self) -> np.dtype:
        """Precision of the rows."""
        return self.chain.gate.anchors.dtype

    def problem(self, data: LabelledRows, workers: Workers) -> Problem:
        """The optimization problem of some rows."""
        return self.training.problem(self.chain, data, workers)


@dataclass
class _Held:
    """The rows of a member on this worker, and the member once training began."""

    data: LabelledRows
    problem: Problem
    member: Member | None = None


_HELD: dict[_Key, _Held] = {}


@dataclass(frozen=True)
class Part:
    """Checked rows of one partition; rows of weight zero are left out."""

    X: Any
    labels: np.ndarray
    weights: np.ndarray
    names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class PartFacts:
    """What the driver needs of a partition."""

    n_rows: int
    n_features: int
    dtype: np.dtype[Any]
    is_sparse: bool
    names: tuple[str, ...] | None
    labels: ClassFacts | ValueFacts


def read_part(index: int, X: Any, y: Any, sample_weight: Any, is_numeric: bool = False) -> Part:
    """Check the rows of a partition; an error names the partition."""
    try:
        return _checked(X, y, sample_weight, is_numeric)
    except (TypeError, ValueError) as error:
        raise type(error)(f"partition {index}: {error}") from error


def _checked(X: Any, y: Any, sample_weight: Any, is_numeric: bool) -> Part:
    names = None
    if hasattr(X, "columns") and all(isinstance(name, str) for name in X.columns):
        names = tuple(X.columns)
    if not X.shape[0]:
        if len(y):
            raise ValueError(f"y has {len(y)} rows; X has none.")
        X = canonical(well_formed(X)) if sp.issparse(X) else np.zeros((0, X.shape[1]), _float_of(X))
        return Part(X, np.asarray(y), np.ones(0), names)
    checked = check_block(
        LocallyLinearSVC(), X, y, sample_weight, reset=True, is_numeric=is_numeric
    )
    return Part(*checked, names)


def _float_of(X: Any) -> Any:
    """The precision of the rows of an empty array or frame, also for pandas' own types."""
    dtypes = getattr(X, "dtypes", [getattr(X, "dtype", None)])
    is_single = all(getattr(dtype, "numpy_dtype", dtype) == np.float32 for dtype in dtypes)
    return np.float32 if is_single else np.float64


def describe(part: Part, is_numeric: bool) -> PartFacts:
    """Its shape, and its classes or the scale of its values."""
    labels = (ValueFacts if is_numeric else ClassFacts).of(part.labels, part.weights)
    return PartFacts(
        part.X.shape[0], part.X.shape[1], part.X.dtype, sp.issparse(part.X), part.names, labels
    )


def draw(part: Part, n_rows: int, seed: Sequence[int]) -> Part:
    """A sample of its rows."""
    if n_rows >= part.X.shape[0]:
        return part
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(part.X.shape[0], n_rows, replace=False))
    return Part(take_rows(part.X, chosen), part.labels[chosen], part.weights[chosen], part.names)


def as_labelled(
    part: Part, dtype: Any, target: SharedTarget, population: int | None = None
) -> LabelledRows:
    """The rows as the chain takes them; of a sample, the number of all rows."""
    X = part.X.astype(dtype, copy=False)
    return target.labelled(X, part.labels, part.weights, population)


def split(
    part: Part,
    plan: Plan,
    target: SharedTarget,
    shares: np.ndarray | None,
    n_members: int,
    seed: Sequence[int],
) -> list[LabelledRows]:
    """The rows for each member: by their nearest anchor, or at random where there are no shares."""
    data = as_labelled(part, plan.dtype, target)
    n_rows = data.X.shape[0]
    rng = np.random.default_rng(seed)
    if shares is None:
        groups = rng.integers(n_members, size=n_rows)
    elif n_rows:
        with Workers(1) as workers:
            nearest = plan.chain.encode(data.X, workers).anchors[:, 0]
            groups = assign_rows(nearest, shares, rng)
    else:
        groups = np.zeros(0, np.intp)
    order = np.argsort(groups, kind="stable")
    bounds = np.searchsorted(groups[order], np.arange(n_members + 1))
    return [part_of(data, order[begin:end]) for begin, end in pairwise(bounds)]


def whole(part: Part, plan: Plan, target: SharedTarget) -> LabelledRows:
    """All rows of a partition that is one member."""
    return as_labelled(part, plan.dtype, target)


def joined(pieces: Sequence[LabelledRows]) -> LabelledRows:
    """All rows of the pieces."""
    pieces = [piece for piece in pieces if piece.X.shape[0]] or pieces[:1]
    first = pieces[0]
    if len(pieces) == 1:
        return first
    X = [piece.X for piece in pieces]
    classes, target = first.classes, np.concatenate([piece.target for piece in pieces])
    if first.is_numeric:  # each piece has its own values
        classes = np.concatenate([piece.labels for piece in pieces])
        target = np.arange(len(target), dtype=np.int32)
    return replace(
        first,
        X=canonical(sp.vstack(X).tocsr() if sp.issparse(first.X) else np.concatenate(X)),
        target=target,
        classes=classes,
        sample_weight=np.concatenate([piece.sample_weight for piece in pieces]),
    )


def create_member(
    key: _Key, plan: Plan, pieces: Sequence[LabelledRows]
) -> tuple[int, np.ndarray, np.ndarray]:
    """Store and lift a member's rows; returns their number, the mass of blocks and of classes."""
    data = joined(pieces)
    n_rows = data.X.shape[0]
    n_strata = 1 if data.is_numeric else len(data.classes)
    classes = np.bincount(data.strata, weights=data.sample_weight, minlength=n_strata)
    if not n_rows:
        return 0, np.zeros(plan.chain.n_blocks), classes
    return n_rows, _hold(key, plan, data), classes


def _hold(key: _Key, plan: Plan, data: LabelledRows) -> np.ndarray:
    with Workers(1) as workers:
        problem = plan.problem(data, workers)
    _HELD[key] = _Held(data, problem)
    return problem.lifted.block_masses()


def lift_again(key: _Key, plan: Plan) -> np.ndarray | None:
    """Lift a member's rows by another gate; None where the member is not here."""
    held = _HELD.get(key)
    return None if held is None else _hold(key, plan, held.data)


def respond(
    key: _Key, order: Order, weights: np.ndarray, stiffness: np.ndarray, seed: Sequence[int]
) -> Proposal | None:
    """A member's answer to an order; None where the member is not here (any more)."""
    held = _HELD.get(key)
    if held is None:
        return None
    if held.member is None:
        held.member = Member(held.problem, stiffness, np.random.default_rng(seed))
    with Workers(1):
        return held.member.respond(order.with_weights(weights))


def learn(
    key: _Key, plan: Plan, n_epochs: int, shorter: float, seed: Sequence[int]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Move anchors by some epochs over a member's own rows; returns anchors and masses."""
    held = _HELD.get(key)
    if held is None:
        return None
    with Workers(1) as workers:
        rng = np.random.default_rng(seed)
        rows = RecodedRows(plan.chain, plan.training, held.data, workers)
        return moved_anchors(rows, plan.schedule, rng, n_epochs, shorter)


def carry(what: Any) -> Any:
    """Return what was sent with the task."""
    return what


def remove_members(token: str) -> None:
    """Remove the members of a team."""
    for key in [key for key in _HELD if key[0] == token]:
        del _HELD[key]


def n_held() -> int:
    """How many members this worker has."""
    return len(_HELD)
