"""The fitted chain: gate, map and weights, and what follows from them.

Lifted rows, losses and the optimization problem are here too: solvers take them from here.
"""

from .chain_settings import ChainSettings
from .explanation import BoundaryPoint, Explanation
from .explanations import Explanations
from .inspection import (
    MeanContributions,
    MeanInteractions,
    anchor_weights,
    mean_contributions,
    mean_interactions,
    support_fraction_bound,
)
from .local_model import LocalModel
from .through import explain

__all__ = [
    "BoundaryPoint",
    "ChainSettings",
    "Explanation",
    "Explanations",
    "LocalModel",
    "MeanContributions",
    "MeanInteractions",
    "anchor_weights",
    "explain",
    "mean_contributions",
    "mean_interactions",
    "support_fraction_bound",
]
