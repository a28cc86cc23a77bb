"""Candidates of a search over settings, and the number of rows of each round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from ..gates.anchors import default_n_anchors
from ..gates.levels import finest_n_anchors
from ..model.chain_settings import ChainSettings

# The first round evaluates all groups on so many rows, or on a ninth of all rows if that is more.
# The best third of the groups is then evaluated on three times the rows. The last two groups are
# evaluated on all rows; of few rows three, because earlier rounds are then less reliable.
FEWEST_ROWS = 2_000
REDUCTION = 3
FIRST_SHARE = 9
N_FINALISTS, N_FINALISTS_OF_FEW_ROWS = 2, 3
# Similarities to some rows help if there are few rows, and cost little then.
MOST_ROWS_FOR_SIMILARITIES = 5_000
# Fine levels of values go by this factor, down to so many rows per anchor. Within training rows of
# CASP, of R² .45 with 16 anchors, levels of 128 reach .48 and .50, of 1,024 (a fifth of the rows)
# .50 and .53; boosted trees .47 and .52.
FINER = 4
FEWEST_ROWS_PER_ANCHOR = 4
# Hundreds of anchors help if there are few features, with linear local models.
FEW_FEATURES = 32
ROWS_PER_ANCHOR = 25
MOST_ANCHORS = 400


@dataclass(frozen=True, eq=False)
class WholeChain:
    """A chain that was chosen as a whole.

    Attributes
    ----------
    settings : ChainSettings
    parameters : dict
        The same as parameters of :class:`LocallyLinearSVC`, without C.
    """

    settings: ChainSettings
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """One candidate."""

    n_anchors: int | tuple[int, ...]  # several are levels
    n_neighbors: int
    beta: Any
    feature_map: Any
    scaler: int  # index into the scalers that are tried
    C: float
    relevance: tuple[str, int, float] | None = None  # kind, rounds, power of scales of features
    as_it_is: bool = False  # whether lifted rows are not normalized, whatever the others are
    whole: WholeChain | None = None  # instead of everything but C

    @property
    def group(self) -> tuple[Any, ...]:
        """The settings that determine the lifted rows."""
        return (
            self.scaler, self.n_anchors, self.n_neighbors, self.beta, self.feature_map,
            self.relevance, self.as_it_is, self.whole,
        )  # fmt: skip

    @property
    def parameters(self) -> dict[str, Any]:
        """As parameters of :class:`LocallyLinearSVC`."""
        if self.whole is not None:
            return self.whole.parameters | {"C": self.C}
        names = ("n_anchors", "n_neighbors", "beta", "feature_map", "C")
        relevance = None if self.relevance is None else "gradient"
        normalize = {"normalize": False} if self.as_it_is else {}
        return {name: getattr(self, name) for name in names} | {"relevance": relevance} | normalize

    @property
    def is_plain(self) -> bool:
        """Whether the map is the identity."""
        return self.feature_map is None

    @property
    def has_gradients(self) -> bool:
        """Whether the scales of features can be learned with it."""
        if self.whole is not None:
            return False
        known = self.feature_map is None or isinstance(self.feature_map, str)
        return known and self.feature_map in (None, "identity", "quadratic", "auto")

    @property
    def size(self) -> tuple[Any, ...]:
        """Smaller is simpler: fewer anchors, the plain map, no scales, smaller C."""
        scales = (self.scaler, self.relevance is not None)
        return total_anchors(self.n_anchors), not self.is_plain, *scales, self.C


def total_anchors(n_anchors: int | tuple[int, ...]) -> int:
    """Anchors of all levels."""
    return n_anchors if isinstance(n_anchors, int) else sum(n_anchors)


def default_levels(n_rows: int) -> tuple[int, ...]:
    """What "levels" means for so many rows.

    Examples
    --------
    >>> from hyperlocal.selection.candidates import default_levels
    >>> default_levels(10_000)
    (1, 25, 200)
    """
    return tuple(sorted({1, default_n_anchors(n_rows), finest_n_anchors(n_rows)}))


def fine_levels(n_rows: int) -> tuple[int, ...]:
    """More and finer levels, for values: a function may vary where a boundary is simple.

    Examples
    --------
    >>> from hyperlocal.selection.candidates import fine_levels
    >>> fine_levels(400), fine_levels(10_000)
    ((1, 8, 32), (1, 25, 100, 400, 1600))
    """
    levels, number = [1], default_n_anchors(n_rows)
    while number <= n_rows // FEWEST_ROWS_PER_ANCHOR:
        levels.append(number)
        number *= FINER
    return tuple(levels)


def default_anchor_numbers(n_rows: int, n_features: int) -> list[int]:
    """One anchor (a linear SVM), the default number, and hundreds where features are few.

    Examples
    --------
    >>> from hyperlocal.selection.candidates import default_anchor_numbers
    >>> default_anchor_numbers(10_000, 16), default_anchor_numbers(10_000, 500)
    ([1, 25, 400], [1, 25])
    """
    usual = default_n_anchors(n_rows)
    many = min(MOST_ANCHORS, n_rows // ROWS_PER_ANCHOR)
    numbers = {1, usual}
    if n_features <= FEW_FEATURES and many >= 2 * usual:
        numbers.add(many)
    return sorted(numbers)


def default_feature_maps(n_rows: int, is_dense: bool) -> list[Any]:
    """The plain map, products of features, and similarities where rows are few.

    Examples
    --------
    >>> from hyperlocal.selection.candidates import default_feature_maps
    >>> default_feature_maps(500, True), default_feature_maps(50_000, True)
    ([None, 'auto', 'nystroem'], [None, 'auto'])
    """
    if not is_dense:
        return [None]
    return [None, "auto"] + ["nystroem"] * (n_rows <= MOST_ROWS_FOR_SIMILARITIES)


def make_settings(
    n_anchors: Sequence[int | tuple[int, ...]],
    n_neighbors: Sequence[int],
    betas: Sequence[Any],
    feature_maps: Sequence[Any],
    n_scalers: int,
    costs: Sequence[float],
) -> list[Setting]:
    """All combinations, except for what is the same model: one anchor has one neighbor.

    The first maps come first: of equal scores, the earlier setting is chosen.
    """
    settings = []
    for scaler, feature_map, m in product(range(n_scalers), feature_maps, n_anchors):
        gates = sorted({k if isinstance(m, tuple) else min(k, m) for k in n_neighbors})
        for k, beta in product(gates, betas if m != 1 else betas[:1]):
            settings += [Setting(m, k, beta, feature_map, scaler, C) for C in sorted(costs)]
    return settings


def sample_sizes(n_rows: int, n_groups: int, halving: bool, fewest: int = 0) -> list[int]:
    """Rows of each round, the first at least ``fewest``.

    Examples
    --------
    >>> from hyperlocal.selection.candidates import sample_sizes
    >>> sample_sizes(1_000, 9, True), sample_sizes(90_000, 9, True), sample_sizes(90_000, 2, True)
    ([1000], [10000, 30000, 90000], [90000])
    """
    sizes = [n_rows]
    first = max(FEWEST_ROWS, n_rows // FIRST_SHARE, fewest)
    while halving and sizes[0] // REDUCTION >= first and REDUCTION ** len(sizes) <= n_groups:
        sizes.insert(0, sizes[0] // REDUCTION)
    return sizes


def default_finalists(n_rows: int) -> int:
    """How many groups halving evaluates on all folds and with all C."""
    return N_FINALISTS_OF_FEW_ROWS if n_rows < FEWEST_ROWS else N_FINALISTS
