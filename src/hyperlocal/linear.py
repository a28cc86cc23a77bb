"""Linear and kernel SVMs by stochastic and dual solvers."""

from .estimators.kernel_pegasos import KernelPegasosSVC
from .estimators.pegasos import PegasosSVC
from .estimators.pegasos_regressor import PegasosRegressor
from .estimators.sdca import SDCASVC

__all__ = ["SDCASVC", "KernelPegasosSVC", "PegasosRegressor", "PegasosSVC"]
