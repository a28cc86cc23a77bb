"""Converters for skl2onnx: pipelines and ensembles of scikit-learn that contain our estimators."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..estimators.local_coder import LocalCoder
from ..estimators.local_coding import LocalCodingSVC
from ..estimators.locally_linear import LocallyLinearSVC
from ..estimators.locally_linear_cv import LocallyLinearSVCCV
from ..estimators.locally_linear_svr import LocallyLinearSVR
from ..estimators.locally_linear_svr_cv import LocallyLinearSVRCV
from ..estimators.pegasos import PegasosSVC
from ..estimators.pegasos_regressor import PegasosRegressor
from ..estimators.relevance import RelevanceScaler
from ..estimators.sdca import SDCASVC
from ..estimators.supervised_anchors import SupervisedAnchorSVC
from ..estimators.supervised_anchors_svr import SupervisedAnchorSVR
from ..neighbors.megm import MEGM
from .graph import import_onnx
from .onnx import to_onnx

CONVERTED = (
    LocallyLinearSVC, LocallyLinearSVCCV, LocallyLinearSVR, LocallyLinearSVRCV,
    SupervisedAnchorSVC, SupervisedAnchorSVR, LocalCodingSVC, LocalCoder, MEGM, RelevanceScaler,
    SDCASVC, PegasosSVC,
    PegasosRegressor,
)  # fmt: skip


@cache
def register_converters() -> None:
    """Let skl2onnx convert the estimators of this library, wherever they are in a pipeline.

    Needs ``pip install 'hyperlocal[onnx]'``. The outputs of an estimator are those of
    :func:`hyperlocal.export.to_onnx`: "label" and "scores" (and "probabilities" for the log loss),
    "values" or "features".

    Examples
    --------
    >>> import numpy as np
    >>> from skl2onnx import to_onnx
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from hyperlocal import LocallyLinearSVC
    >>> from hyperlocal.export import register_converters
    >>> register_converters()
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LocallyLinearSVC(random_state=0)).fit(X, y)
    >>> graph = to_onnx(model, X[:1].astype(np.float32)).graph
    >>> [output.name for output in graph.output]
    ['label', 'scores']
    """
    from skl2onnx import update_registered_converter

    for kind in CONVERTED:
        update_registered_converter(
            kind, f"Hyperlocal{kind.__name__}", _keep_shapes, _convert, parser=_declare
        )


def _declare(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> Any:
    """An operator with the outputs of the model's own graph."""
    operator = scope.declare_local_operator(f"Hyperlocal{type(model).__name__}", model)
    operator.inputs += inputs
    for output in to_onnx(model, dtype=_precision(inputs)).graph.output:
        tensor = output.type.tensor_type
        shape = [size.dim_value or None for size in tensor.shape.dim]
        kind = _tensor_types()[tensor.elem_type](shape)
        operator.outputs.append(scope.declare_local_variable(output.name, kind))
    return operator.outputs


def _tensor_types() -> dict[int, Any]:
    """The types of skl2onnx, by those of ONNX."""
    from skl2onnx.common import data_types

    kinds = {
        "FLOAT": data_types.FloatTensorType, "DOUBLE": data_types.DoubleTensorType,
        "INT64": data_types.Int64TensorType, "STRING": data_types.StringTensorType,
        "BOOL": data_types.BooleanTensorType,
    }  # fmt: skip
    return {getattr(import_onnx().TensorProto, name): kind for name, kind in kinds.items()}


def _precision(inputs: list[Any]) -> type:
    is_double = isinstance(inputs[0].type, _tensor_types()[import_onnx().TensorProto.DOUBLE])
    return np.float64 if is_double else np.float32


def _keep_shapes(operator: Any) -> None:
    """Do nothing: shapes are known when an operator is declared."""


def _convert(scope: Any, operator: Any, container: Any) -> None:
    from skl2onnx.helpers.integration import add_onnx_graph

    dtype = _precision(operator.inputs)
    opset = min(container.target_opset, import_onnx().defs.onnx_opset_version())
    graph = to_onnx(operator.raw_operator, dtype=dtype, target_opset=opset)
    add_onnx_graph(scope, operator, container, graph)
