"""Local and locally linear support vector machines.

Kernel-SVM accuracy at linear-SVM cost, with an exact linear explanation of every prediction.
"""

from importlib.metadata import version

from .estimators.adaptive_neighborhood import AdaptiveNeighborhoodSVC
from .estimators.local_coding import LocalCoder, LocalCodingSVC
from .estimators.locally_linear import LocallyLinearSVC
from .estimators.neighborhood import NeighborhoodSVC
from .metric_learning import MEGM

__version__ = version("hyperlocal")
__all__ = [
    "MEGM",
    "AdaptiveNeighborhoodSVC",
    "LocalCoder",
    "LocalCodingSVC",
    "LocallyLinearSVC",
    "NeighborhoodSVC",
]
