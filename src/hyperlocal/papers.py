"""The methods of the papers, one estimator each."""

from .estimators.adaptive_neighborhood import AdaptiveNeighborhoodSVC
from .estimators.clustered import ClusteredSVC
from .estimators.landmark import LandmarkSVC
from .estimators.latent import LatentLocallyLinearSVC
from .estimators.local_coding import LocalCodingSVC
from .estimators.local_deep import LocalDeepSVC
from .estimators.profile import ProfileSVC
from .estimators.supervised_anchors_svr import SupervisedAnchorSVR

__all__ = [
    "AdaptiveNeighborhoodSVC",
    "ClusteredSVC",
    "LandmarkSVC",
    "LatentLocallyLinearSVC",
    "LocalCodingSVC",
    "LocalDeepSVC",
    "ProfileSVC",
    "SupervisedAnchorSVR",
]
