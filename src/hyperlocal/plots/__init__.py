"""Pictures of fitted models, made as scikit-learn's displays are: ``Display.from_estimator(…)``.

Needs matplotlib (``pip install hyperlocal[plot]``), which is imported when something is drawn.
"""

from .anchor_curve import AnchorCurveDisplay
from .anchor_maps import PrototypeDisplay, WeightMapDisplay
from .anchor_motion import AnchorMotionDisplay
from .boundary import LocalBoundaryDisplay
from .convergence import ConvergenceDisplay
from .explanation import ExplanationDisplay, MeanContributionsDisplay

__all__ = [
    "AnchorCurveDisplay",
    "AnchorMotionDisplay",
    "ConvergenceDisplay",
    "ExplanationDisplay",
    "LocalBoundaryDisplay",
    "MeanContributionsDisplay",
    "PrototypeDisplay",
    "WeightMapDisplay",
]
