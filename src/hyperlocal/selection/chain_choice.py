"""What ``C="auto"`` decides, in its order: model and C, relevance, features left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..data.labelled import LabelledRows
from ..model.chain_settings import ChainSettings
from ..runtime.threads import Workers
from ..solvers.training import Training
from .automatic import candidates_of, choose
from .dropping import without_noise
from .relevance import MOST_ROWS, is_wanted, with_relevance
from .trials import Choice, repeated_rows


def choose_chain(
    settings: ChainSettings,
    relevance: Any,
    training: Training,
    data: LabelledRows,
    rng: np.random.Generator,
    workers: Workers,
    *,
    by_newton: bool = True,
    normalize_linear: bool = False,
) -> Choice:
    """Settings and C that do best on held-out rows, with scales of features where they help.

    Parameters
    ----------
    settings : ChainSettings
        Those that are not automatic stay.
    relevance : None, str or array
        As in :class:`LocallyLinearSVC`.
    training : Training
        With everything but C.
    data : LabelledRows
    rng : numpy Generator
    workers : Workers
    by_newton : bool
        Whether the final solver takes Newton's steps where C is large.
    normalize_linear : bool
        Whether the linear model's rows are normalized.
    """
    data = repeated_rows(data)
    # Weights in other units want another C; usual ones change nothing.
    unit = 10.0 ** round(np.log10(data.sample_weight.mean()))
    data = replace(data, sample_weight=data.sample_weight / unit)
    given = (training, data, rng, workers)
    choice = choose(candidates_of(settings, data, normalize_linear), *given, by_newton=by_newton)
    scaled = with_relevance(choice, relevance, *given)
    if scaled is not choice:
        # Scaled features may need another C. Scales of values are learned on a part of many rows;
        # the finer models of all rows sometimes do better without (casp, 34,000 rows: R² .584
        # without, .556 with them).
        rivals = [scaled.settings]
        if data.is_numeric and data.X.shape[0] > MOST_ROWS and not is_wanted(relevance):
            rivals.append(choice.settings)
        again = choose(rivals, *given, by_newton=by_newton, start=scaled.C)
        choice = choice if again.settings is choice.settings else again
    if isinstance(relevance, str):
        reduced = without_noise(choice, *given)
        if reduced is not choice:
            choice = choose([reduced.settings], *given, by_newton=by_newton, start=reduced.C)
    return replace(choice, C=choice.C / unit)
