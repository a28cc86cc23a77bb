"""The settings of gate and map, and how both are fitted to training rows."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ..data.arguments import check_flag, check_number
from ..data.labelled import LabelledRows
from ..gates.anchors import default_n_anchors, default_n_codes
from ..gates.code_on import CodeOn, check_code_on
from ..gates.gate import check_gate
from ..gates.levels import fit_levels
from ..maps.linear import InputMap
from ..maps.named import check_feature_map, make_feature_map
from ..runtime.threads import Workers
from .local_model import Bias, LocalModel


@dataclass(frozen=True)
class ChainSettings:
    """How gate and map are made from training rows; the parameters of :class:`LocallyLinearSVC`.

    Attributes
    ----------
    n_anchors : int, sequence of int, "auto" or "levels"
    n_neighbors : int
    coding : str
    beta : float or "auto"
    anchors : {"kmeans", "random"} or array
    feature_map : str, None, transformer or FeatureMap
    code_on : str, column indices or transformer
    normalize : bool
    intercept_scaling : float
    global_intercept : bool
    before : InputMap or None
        A linear map of rows before everything else; no parameter of an estimator.
    """

    n_anchors: Any = "auto"
    n_neighbors: int = 8
    coding: str = "soft"
    beta: Any = "auto"
    anchors: Any = "kmeans"
    feature_map: Any = "auto"
    code_on: Any = "input"
    normalize: bool = True
    intercept_scaling: float = 1.0
    global_intercept: bool = False
    before: InputMap | None = None

    @classmethod
    def of(cls, estimator: Any, **given: Any) -> ChainSettings:
        """The parameters of an estimator; ``given`` are those that it does not have."""
        given = {"before": None} | given
        names = [one.name for one in fields(cls) if one.name not in given]
        given |= {name: getattr(estimator, name) for name in names}
        if isinstance(given["n_anchors"], np.integer):
            given["n_anchors"] = int(given["n_anchors"])  # one anchor is asked for as an int
        return cls(**given)

    def check(self) -> None:
        """Raise unless the settings make sense, alone and together."""
        check_gate(self.n_anchors, self.anchors, self.n_neighbors, self.coding, self.beta)
        check_feature_map(self.feature_map)
        check_code_on(self.code_on)
        check_flag("normalize", self.normalize)
        check_flag("global_intercept", self.global_intercept)
        check_number("intercept_scaling", self.intercept_scaling, inclusive=True)
        if self.intercept_scaling == 0 and self.is_bias_only:
            raise ValueError("intercept_scaling must be positive where local models are biases.")

    @property
    def is_bias_only(self) -> bool:
        """Whether a local model is an intercept alone."""
        return isinstance(self.feature_map, str) and self.feature_map == "bias_only"

    @property
    def is_linear(self) -> bool:
        """Whether there is one model, of the row itself."""
        is_plain = self.feature_map is None or isinstance(self.feature_map, str)
        is_plain = is_plain and self.feature_map in (None, "identity")
        return is_plain and isinstance(self.n_anchors, int) and self.n_anchors == 1

    @property
    def has_gradients(self) -> bool:
        """Whether gradients of scores are known, the gate included."""
        return self._is_named(None, "auto", "identity", "quadratic")

    @property
    def has_contributions(self) -> bool:
        """Whether contributions to scores are those of the input's features."""
        return self.has_gradients or self._is_named("piecewise", "piecewise_quadratic")

    def _is_named(self, *feature_maps: str | None) -> bool:
        """Whether the map has one of these names, and there is no transformer."""
        is_map_named = isinstance(self.feature_map, str | type(None))
        return is_map_named and isinstance(self.code_on, str) and self.feature_map in feature_maps

    @property
    def may_use_labels(self) -> bool:
        """Whether there is a transformer, which may be fitted to labels too."""
        return any(hasattr(one, "fit") for one in (self.feature_map, self.code_on))

    def fit(self, data: LabelledRows, rng: np.random.Generator, workers: Workers) -> LocalModel:
        """Map, anchors and gate from training rows: a model without weights."""
        anchors = self.anchors
        if self.before is not None:
            if not isinstance(anchors, str) and CodeOn(self.code_on).uses_input:
                anchors = self.before.transform(np.asarray(anchors, dtype=data.X.dtype))
            data = replace(data, X=self.before.transform(data.X))
        labels, weights, n_rows = data.labels, data.sample_weight, data.n_represented
        is_local = not isinstance(self.n_anchors, int) or self.n_anchors > 1
        feature_map = make_feature_map(self.feature_map, data.X, rng, n_rows, is_local=is_local)
        feature_map = feature_map.fit(data.X, labels, weights, rng)
        code_on = CodeOn(self.code_on).fit(data.X, labels)
        space = code_on.transform(data.X, feature_map)
        coding = (self.n_neighbors, self.coding, self.beta)
        gate = fit_levels(
            space, weights, anchors, self.n_anchors, coding, rng, workers, n_rows=n_rows,
            default=default_n_codes if self.is_bias_only else default_n_anchors,
        )  # fmt: skip
        model = self.relifted(LocalModel(feature_map, code_on, gate))
        return model if self.before is None else model.after(self.before)

    def relifted(self, model: LocalModel) -> LocalModel:
        """A model with these settings of the lifted rows, and with its own gate and map."""
        bias = Bias(float(self.intercept_scaling), float(self.global_intercept))
        return replace(model, bias=bias, normalize=bool(self.normalize))
