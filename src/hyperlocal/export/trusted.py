"""The types of this library that a saved model may hold."""

import hyperlocal

from ..cells import CellSearch
from ..clusters import ClustererGate
from ..code_space import CodeSpace
from ..estimators.stability import BoundTerms
from ..estimators.stages import EarlierStage
from ..features import AdditiveKernelMap, BiasOnlyMap, FeatureMap, QuadraticMap, TransformerMap
from ..gates import ConstantGate, Gate
from ..kernels import Kernel
from ..landmarks import LandmarkMap
from ..neighbors import ExactSearch, TreeSearch
from ..solvers import kernel as libsvm
from ..solvers.anchor_descent import AnchorEpoch
from ..solvers.neighborhood import KernelOptions, LocalSvms
from ..solvers.pegasos import PegasosState
from ..solvers.sgd import SgdState
from ..validation import LabelledRows, RowOrigin

_ESTIMATORS = [getattr(hyperlocal, name) for name in hyperlocal.__all__]
_PARTS = [
    AdditiveKernelMap, AnchorEpoch, BiasOnlyMap, BoundTerms, CellSearch, ClustererGate, CodeSpace,
    ConstantGate, EarlierStage, ExactSearch, FeatureMap, Gate, Kernel, KernelOptions, LabelledRows,
    LandmarkMap, LocalSvms, PegasosState, QuadraticMap, RowOrigin, SgdState, TransformerMap,
    TreeSearch, libsvm.Kernel, libsvm.KernelMachine,
]  # fmt: skip

#: What to trust when a model of this library is loaded by skops:
#: ``skops.io.load(path, trusted=TRUSTED_TYPES)``. None of them runs code while it is loaded.
TRUSTED_TYPES = sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in _ESTIMATORS + _PARTS)
