"""Local and locally linear support vector machines.

Kernel-SVM accuracy at linear-SVM cost, with an exact linear explanation of every prediction.

The estimators of the papers are in :mod:`hyperlocal.papers`, linear and kernel SVMs by other
solvers in :mod:`hyperlocal.linear`, transformers in :mod:`hyperlocal.preprocessing`.
"""

from importlib.metadata import version

from .estimators.locally_linear import LocallyLinearSVC
from .estimators.locally_linear_cv import LocallyLinearSVCCV
from .estimators.locally_linear_svr import LocallyLinearSVR
from .estimators.locally_linear_svr_cv import LocallyLinearSVRCV
from .estimators.neighborhood import NeighborhoodSVC
from .estimators.neighborhood_svr import NeighborhoodSVR
from .estimators.second_look import SecondLookSVC
from .estimators.supervised_anchors import SupervisedAnchorSVC
from .model import explain
from .runtime.versions import show_versions

__version__ = version("hyperlocal")
__all__ = [
    "LocallyLinearSVC",
    "LocallyLinearSVCCV",
    "LocallyLinearSVR",
    "LocallyLinearSVRCV",
    "NeighborhoodSVC",
    "NeighborhoodSVR",
    "SecondLookSVC",
    "SupervisedAnchorSVC",
    "explain",
    "show_versions",
]
