"""Local and locally linear support vector machines.

Kernel-SVM accuracy at linear-SVM cost, with an exact linear explanation of every prediction.
"""

from importlib.metadata import version

from .estimators.kernel_pegasos import KernelPegasosSVC
from .estimators.local_coding import LocalCoder, LocalCodingSVC
from .estimators.locally_linear import LocallyLinearSVC
from .estimators.pegasos import PegasosRegressor, PegasosSVC
from .estimators.sdca import SDCASVC

__version__ = version("hyperlocal")
__all__ = [
    "SDCASVC",
    "KernelPegasosSVC",
    "LocalCoder",
    "LocalCodingSVC",
    "LocallyLinearSVC",
    "PegasosRegressor",
    "PegasosSVC",
]
