"""The types that a saved model of this library, or a pipeline of one, may hold."""

import numpy as np
from sklearn.compose import make_column_selector
from sklearn.feature_selection import (
    chi2,
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
)
from sklearn.model_selection import KFold, StratifiedKFold

import hyperlocal

from .. import linear, papers, preprocessing
from ..data.labelled import LabelledRows, RowOrigin
from ..estimators.chain import LastFit
from ..estimators.column_encoders import (
    CategoryEncoder,
    DateEncoder,
    NumberEncoder,
    TextEncoder,
)
from ..estimators.looks import LookTrial
from ..estimators.neighborhood_models import CachedSvms, DannSvms, QuerySvms
from ..estimators.neighborhood_values import CachedSvrs, QuerySvrs
from ..estimators.pegasos_base import PegasosRun
from ..estimators.stability import BoundTerms, Risk
from ..gates.clusters import ClustererGate
from ..gates.code_on import CodeOn
from ..gates.gate import ConstantGate, Gate
from ..gates.levels import LevelsGate
from ..kernels import Kernel
from ..maps.additive import AdditiveKernelMap
from ..maps.base import BiasOnlyMap, FeatureMap
from ..maps.landmarks import LandmarkMap
from ..maps.linear import InputMap, MappedInput
from ..maps.piecewise import PiecewiseMap
from ..maps.quadratic import QuadraticMap
from ..maps.transformer import TransformerMap
from ..model.background import Background
from ..model.conformal import Conformal, LocalScales
from ..model.kernel_model import KernelModel
from ..model.latent_model import LatentModel
from ..model.local_model import Bias, LocalModel
from ..model.stacked import StackedMap
from ..model.target_scale import TargetScale
from ..model.tree_model import TreeModel
from ..neighbors.cells import CellSearch
from ..neighbors.exact import ExactSearch
from ..neighbors.tree import TreeSearch
from ..solvers.anchor_descent import AnchorEpoch
from ..solvers.pegasos import PegasosState
from ..solvers.sgd import SgdState
from ..solvers.small_svms import LocalSvms, SvmOptions

_MODULES = (hyperlocal, papers, linear, preprocessing)

#: All public estimators and transformers, by name.
PUBLIC_ESTIMATORS: dict[str, type] = {
    name: kind
    for module in _MODULES
    for name in module.__all__
    if isinstance(kind := getattr(module, name), type)
}
_PARTS = [
    AdditiveKernelMap, AnchorEpoch, Background, Bias, BiasOnlyMap, BoundTerms, CachedSvms,
    CachedSvrs, CategoryEncoder,
    CellSearch, ClustererGate, CodeOn, Conformal, ConstantGate, DannSvms, DateEncoder, ExactSearch,
    FeatureMap, Gate, InputMap, Kernel, KernelModel, LabelledRows, LandmarkMap, LastFit,
    LatentModel, LevelsGate, LocalModel, LocalScales, LocalSvms, LookTrial, MappedInput,
    NumberEncoder, PegasosRun, PegasosState, PiecewiseMap, QuadraticMap, QuerySvms,
    QuerySvrs, Risk, RowOrigin,
    SgdState,
    StackedMap, SvmOptions, TargetScale, TextEncoder, TransformerMap, TreeModel, TreeSearch,
]  # fmt: skip

# What skops does not trust by itself: parts of scikit-learn's ColumnTransformer, of searches and of
# calibration, kinds of columns that are selected by, and functions that selectors of features call
# when they are fitted.
_OTHERS = [
    make_column_selector, object, np.dtype, np.number, np.integer, np.floating, chi2, f_classif,
    f_regression, mutual_info_classif, mutual_info_regression, KFold, StratifiedKFold,
]  # fmt: skip
_NAMES = [
    "numpy.ma.MaskedArray",  # of searches' results; skops 0.11 does not trust it
    "pandas.CategoricalDtype",
    "pandas.core.dtypes.dtypes.CategoricalDtype",  # as pandas 2 calls it
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.utils._metadata_requests.MetadataRequest",  # of searches of scikit-learn 1.6
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
]

#: What to trust when a model of this library is loaded by skops:
#: ``skops.io.load(path, trusted=TRUSTED_TYPES)``. None of them runs code while it is loaded.
TRUSTED_TYPES = sorted(
    {
        *_NAMES,
        *(
            f"{kind.__module__}.{kind.__qualname__}"
            for kind in [*PUBLIC_ESTIMATORS.values(), *_PARTS, *_OTHERS]
        ),
    }
)
