"""Local and locally linear support vector machines.

Kernel-SVM accuracy at linear-SVM cost, with an exact linear explanation of every prediction.
"""

from importlib.metadata import version

from .estimators.latent import LatentLocallyLinearSVC
from .estimators.local_coding import LocalCoder, LocalCodingSVC
from .estimators.local_deep import LocalDeepSVC
from .estimators.locally_linear import LocallyLinearSVC

__version__ = version("hyperlocal")
__all__ = [
    "LatentLocallyLinearSVC",
    "LocalCoder",
    "LocalCodingSVC",
    "LocalDeepSVC",
    "LocallyLinearSVC",
]
