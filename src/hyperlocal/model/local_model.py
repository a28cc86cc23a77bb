"""The fitted chain: everything that prediction needs, and nothing else.

    f_c(x) = Σ_j γ_j(x) (w_jc · φ(x) + b_jc)

A :class:`LocalModel` is made in two steps. :class:`ChainSettings` places anchors and fits the map
(``ChainSettings.fit``), which leaves a model without weights; a solver finds them for the model's
``problem``, and ``trained(weights)`` is the model that predicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.labelled import LabelledRows, equal_neighbors
from ..data.rows import take_rows
from ..gates.code_on import CodeOn
from ..gates.codes import Codes
from ..gates.gate import ConstantGate, Gate
from ..maps.base import FeatureMap
from ..maps.linear import InputMap, MappedInput
from ..maps.plain import Step
from ..runtime.threads import Workers, row_blocks
from .background import Background
from .explanation import LocalRows
from .lifting import LiftedRows
from .multiclass import column_targets, n_columns
from .paths import local_contributions, local_path_weights
from .problem import Problem, regression_problem
from .residuals import RegressionLoss
from .scorer import Scorer

ROWS_PER_PREDICTION_BLOCK = 32_768
NUMBERS_PER_EXPLANATION_BLOCK = 1 << 22


def read_only(array: np.ndarray) -> np.ndarray:
    """A computed array that cannot be written to: the model would not see what is written."""
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class Bias:
    """The constant features of a lifted row; an intercept is a weight times its constant.

    Attributes
    ----------
    value : float
        The constant ``B`` of every local model; zero for models without intercepts.
    offset : float
        The constant ``O`` of the global intercept, which the gate does not weigh; zero for none.
    """

    value: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class LocalModel:
    """A gate, a feature map and the weights of the local models.

    Attributes
    ----------
    feature_map : FeatureMap
        The features of the local models, ``φ(x)``.
    code_on : CodeOn
        What distances to anchors are measured on.
    gate : Gate
        Which local models are active at a row, and their weights ``γ(x)``.
    bias : Bias
    normalize : bool
        Whether each lifted row is scaled to norm one.
    weights : ndarray of shape (n_blocks, n_columns, p + 1)
        A block per anchor: the weights of its local model, that of the bias last. If there is a
        global intercept, its weight is the last number of one more block. Of size zero before
        training.
    """

    feature_map: FeatureMap
    code_on: CodeOn
    gate: Gate
    bias: Bias = Bias()
    normalize: bool = False
    weights: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 0)))

    @property
    def n_anchors(self) -> int:
        """Number of local models."""
        return self.gate.n_anchors

    @property
    def n_blocks(self) -> int:
        """Blocks of weights: one per anchor, and one for the global intercept."""
        return self.n_anchors + (self.bias.offset != 0)

    @property
    def n_columns(self) -> int:
        """Columns of scores: one per class, or one for two classes."""
        return self.weights.shape[1]

    @property
    def n_features_in(self) -> int:
        """Features of a row."""
        return self.feature_map.n_features_in

    @property
    def dtype(self) -> np.dtype:
        """Precision of the weights, hence of scores."""
        return self.weights.dtype

    @property
    def coef(self) -> np.ndarray:
        """Weights of the local models on φ(x), ``(n_anchors, n_columns, p)``."""
        return self.weights[: self.n_anchors, :, :-1]

    @property
    def intercept(self) -> np.ndarray:
        """Intercepts of the local models, ``(n_anchors, n_columns)``."""
        return read_only(self.weights[: self.n_anchors, :, -1] * self.dtype.type(self.bias.value))

    @property
    def global_intercept(self) -> np.ndarray:
        """The intercept that is added to all scores, ``(n_columns,)``."""
        offset = self.dtype.type(self.bias.offset)
        zero = np.zeros(self.n_columns, self.dtype)
        return read_only(self.weights[-1, :, -1] * offset if offset else zero)

    @property
    def codes_input(self) -> bool:
        """Whether distances are measured on the features as given, scaled or not."""
        return self.code_on.uses_input or isinstance(self.code_on.source, InputMap)

    @property
    def anchors(self) -> np.ndarray:
        """Anchors in the features as given, if these are coded; else in what is coded."""
        source, anchors = self.code_on.source, self.gate.anchors
        if not isinstance(source, InputMap):
            return anchors
        return read_only(source.restored(anchors))

    @property
    def input_map(self) -> InputMap | None:
        """The linear map of rows before everything else, if there is one."""
        return self.feature_map.before if isinstance(self.feature_map, MappedInput) else None

    def trained(self, weights: np.ndarray) -> LocalModel:
        """Return this model with weights."""
        return replace(self, weights=weights)

    def after(self, before: InputMap) -> LocalModel:
        """The model of rows as they are, of a model of rows that are mapped linearly first."""
        feature_map = MappedInput(before, self.feature_map)
        return replace(self, feature_map=feature_map, code_on=self.code_on.after(before))

    # ---- training ------------------------------------------------------------------------------

    def space(self, X: Any) -> Any:
        """The rows that the gate measures distances on."""
        return self.code_on.transform(X, self.feature_map)

    def encode(self, X: Any, workers: Workers) -> Codes:
        """The active anchors of rows and their weights."""
        return self.gate.encode(self.space(X), workers)

    def lift(self, X: Any, workers: Workers, codes: Codes | None = None) -> LiftedRows:
        """Lifted rows ``γ(x) ⊗ [φ(x), B]``; codes that are known need not be computed again."""
        if codes is None:
            codes = self.encode(X, workers)
        return self.lift_stored(self.feature_map.stored_with(X, workers), codes, workers)

    def lift_stored(
        self,
        stored: Any,
        codes: Codes,
        workers: Workers,
        *,
        row_norms: np.ndarray | None = None,
        n_anchors: int | None = None,
        is_scaled: bool = False,
    ) -> LiftedRows:
        """Lifted rows of mapped rows and any codes.

        Parameters
        ----------
        stored : rows as the map stores them
        codes : Codes
        workers : Workers
        row_norms : ndarray of shape (n_rows,), optional
            ``‖[φ, B]‖²``, where known.
        n_anchors : int, optional
            Where the codes name more anchors than the gate has.
        is_scaled : bool
            Whether the codes already hold the scale of normalized rows.
        """
        return LiftedRows(
            self.feature_map.rows(stored),
            codes,
            self.n_anchors if n_anchors is None else n_anchors,
            self.bias.value,
            self.normalize and not is_scaled,
            workers,
            is_dense=not sp.issparse(stored),
            row_length=self.feature_map.row_length(stored),
            row_norms=row_norms,
            offset=self.bias.offset,
        )

    def products(self, X: Any, lifted: LiftedRows, others: np.ndarray) -> np.ndarray:
        """Inner products of lifted rows and some of them, in single precision."""
        gate = lifted.gate_matrix().astype(np.float32)
        products = self.feature_map.products(X, take_rows(X, others))
        products += lifted.bias**2
        products *= gate @ gate[others].T
        products += lifted.offset**2
        return products

    def problem(
        self,
        data: LabelledRows,
        C: float,
        loss: str | RegressionLoss,
        *,
        joint: bool = False,
        workers: Workers | None = None,
        lifted: LiftedRows | None = None,
    ) -> Problem:
        """The optimization problem of labelled rows.

        Parameters
        ----------
        data : LabelledRows
        C : float
            Weight of the losses against ``½‖W‖²``.
        loss : {"hinge", "squared_hinge", "log"} or RegressionLoss
        joint : bool
            One joint margin per row (Crammer–Singer) instead of one per class.
        workers : Workers
            Needed unless ``lifted`` is given.
        lifted : LiftedRows, optional
            The rows of ``data``, where they are lifted already.

        Returns
        -------
        Problem
        """
        if lifted is None:
            assert workers is not None
            lifted = self.lift(data.X, workers)
        # A cost must not vanish in single precision: the dual divides by it.
        tiny = np.finfo(lifted.dtype).tiny
        costs = np.maximum(C * data.sample_weight, tiny).astype(lifted.dtype)
        if isinstance(loss, RegressionLoss):
            return regression_problem(lifted, data, costs, loss)
        n_classes = len(data.classes)
        target = column_targets(data.target, n_classes, joint)
        together = None if joint else equal_neighbors(data.X, data.target)
        return Problem(lifted, target, costs, n_columns(n_classes, joint), loss, joint, together)

    # ---- prediction and explanation ------------------------------------------------------------

    def scores(
        self, X: Any, workers: Workers, *, rows_per_block: int = ROWS_PER_PREDICTION_BLOCK
    ) -> np.ndarray:
        """Score checked rows, ``(n_rows, n_columns)``."""
        scores = np.empty((X.shape[0], self.n_columns), self.dtype)
        for begin, end in row_blocks(X.shape[0], rows_per_block):
            self.lift(X[begin:end], workers).scores(self.weights, scores[begin:end])
        return scores

    def scorer(self, labels: Any = None) -> Scorer:
        """A function from one row, unchecked, to its scores and its label."""
        return Scorer(self, labels)

    def local_rows(
        self, X: Any, workers: Workers, *, numbers_per_block: int = NUMBERS_PER_EXPLANATION_BLOCK
    ) -> Iterator[LocalRows]:
        """The linear model at each row, ``Σ_j γ_j W_j`` on the input's features, in row blocks."""
        # Pulling back quadratic weights needs a d × d matrix per row and class; the parts of the
        # active anchors need their weights, gathered.
        per_row = max(1, 2 * self.feature_map.n_features_out)
        per_row *= max(self.n_columns, self.gate.n_neighbors)
        for begin, end in row_blocks(X.shape[0], max(1, numbers_per_block // per_row)):
            yield self._local_rows(X[begin:end], workers)

    def _local_rows(self, X: Any, workers: Workers) -> LocalRows:
        codes = self.encode(X, workers)
        lifted = self.lift(X, workers, codes)
        coef, intercept = lifted.local_models(self.weights)
        coef, shift = self.feature_map.pull_back(X, coef)
        seen = X if self.feature_map.explains_input else self.feature_map.mapped(X)
        values = seen.toarray() if sp.issparse(seen) else seen

        def active(best: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
            columns = best if self.n_columns > 1 else np.zeros_like(best)
            contributions = lifted.anchor_scores(self.weights, columns)
            return zip(codes.anchors, codes.weights, contributions, strict=True)

        return LocalRows(coef, intercept + shift, values, active)

    def path_weights(
        self, X: Any, references: np.ndarray, workers: Workers
    ) -> Iterator[np.ndarray]:
        """Average gradients on the way from each reference to rows, gate and all."""
        return local_path_weights(self, X, references, workers)

    def contributions(self, X: Any, background: Background, workers: Workers) -> np.ndarray | None:
        """Compute contributions, ``(n_rows, n_columns, n_features)``, where one pass does."""
        return local_contributions(self, X, background, workers)

    def plain(self) -> Step:
        """The model as one plain step from rows to scores, for export."""
        return Step(
            "local",
            {
                "map_steps": self.feature_map.plain(),
                "code_steps": self.code_on.plain(),
                "gate": self.gate.plain(),
                "coef": self.coef,
                "intercept": self.intercept,
                "global_intercept": self.global_intercept,
                "bias": float(self.bias.value),
                "normalize": self.normalize,
            },
        )


def linear_model(n_features: int, bias: float = 1.0) -> LocalModel:
    """``w_c · x + b_c`` without weights yet: one local model that is always active."""
    return LocalModel(FeatureMap(n_features), CodeOn(), ConstantGate(), Bias(bias))
