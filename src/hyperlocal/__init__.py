"""Local and locally linear support vector machines.

Kernel-SVM accuracy at linear-SVM cost, with an exact linear explanation of every prediction.
"""

from importlib.metadata import version

from .estimators.adaptive_neighborhood import AdaptiveNeighborhoodSVC
from .estimators.clustered import ClusteredSVC
from .estimators.kernel_pegasos import KernelPegasosSVC
from .estimators.landmark import LandmarkSVC
from .estimators.latent import LatentLocallyLinearSVC
from .estimators.local_coder import LocalCoder
from .estimators.local_coding import LocalCodingSVC
from .estimators.local_deep import LocalDeepSVC
from .estimators.locally_linear import LocallyLinearSVC
from .estimators.locally_linear_cv import LocallyLinearSVCCV
from .estimators.neighborhood import NeighborhoodSVC
from .estimators.pegasos import PegasosSVC
from .estimators.pegasos_regressor import PegasosRegressor
from .estimators.profile import ProfileSVC
from .estimators.relevance import RelevanceScaler
from .estimators.sdca import SDCASVC
from .estimators.second_look import SecondLookSVC
from .estimators.supervised_anchors import SupervisedAnchorSVC
from .neighbors.megm import MEGM
from .runtime.versions import show_versions

__version__ = version("hyperlocal")
__all__ = [
    "MEGM",
    "SDCASVC",
    "AdaptiveNeighborhoodSVC",
    "ClusteredSVC",
    "KernelPegasosSVC",
    "LandmarkSVC",
    "LatentLocallyLinearSVC",
    "LocalCoder",
    "LocalCodingSVC",
    "LocalDeepSVC",
    "LocallyLinearSVC",
    "LocallyLinearSVCCV",
    "NeighborhoodSVC",
    "PegasosRegressor",
    "PegasosSVC",
    "ProfileSVC",
    "RelevanceScaler",
    "SecondLookSVC",
    "SupervisedAnchorSVC",
    "show_versions",
]
