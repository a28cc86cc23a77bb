"""Displays of fitted models, used as scikit-learn's: ``Display.from_estimator(…)``.

Each draws in the axes given as ``ax`` or in a new figure, and has ``ax_``, ``figure_`` and what it
draws as attributes. Needs matplotlib (``pip install hyperlocal[plot]``), which is imported when
something is drawn.
"""

from .anchor_curve import AnchorCurveDisplay
from .anchor_maps import PrototypeDisplay, WeightMapDisplay
from .anchor_motion import AnchorMotionDisplay
from .boundary import BoundaryDisplay
from .boundary_grid import BoundaryGridDisplay
from .contributions import ContributionMapDisplay, DependenceDisplay, InteractionDisplay
from .convergence import ConvergenceDisplay
from .explanation import ExplanationDisplay, MeanContributionsDisplay
from .gate import GateDisplay
from .objective import ObjectiveDisplay
from .tree_regions import TreeRegionsDisplay

__all__ = [
    "AnchorCurveDisplay",
    "AnchorMotionDisplay",
    "BoundaryDisplay",
    "BoundaryGridDisplay",
    "ContributionMapDisplay",
    "ConvergenceDisplay",
    "DependenceDisplay",
    "ExplanationDisplay",
    "GateDisplay",
    "InteractionDisplay",
    "MeanContributionsDisplay",
    "ObjectiveDisplay",
    "PrototypeDisplay",
    "TreeRegionsDisplay",
    "WeightMapDisplay",
]
