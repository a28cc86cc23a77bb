"""Estimators that choose the settings of a chain by cross-validation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline

from ..data.arguments import check_choice, check_flag, make_generator
from ..data.labelled import LabelledRows
from ..maps.transformer import transformed
from ..model.chain_settings import ChainSettings
from ..runtime.progress import EpochMonitor
from ..runtime.threads import Workers
from ..selection.folds import group_folds
from ..selection.outcomes import answers_of, best_outcome, results_table
from ..selection.plan import SEARCHES, SearchPlan
from ..selection.relevance import COST, repeated_relevance
from ..selection.scale import SCALES, standardizing_map
from ..solvers.training import Training
from .relevance import RelevanceScaler
from .tasks import Task

# What the final model found, besides the model.
FOUND = (
    "classes_", "target_scale_", "quantiles_", "n_iter_", "objective_", "duality_gap_", "history_",
)  # fmt: skip


@dataclass(eq=False, repr=False)
class SearchedChain(BaseEstimator):
    """``fit`` as a search, for a LocalEstimator that comes after it.

    A subclass names its task, and the estimator of one setting.
    """

    _task: ClassVar[Task]
    _kind: ClassVar[type[Any]]

    n_anchors: Any = "auto"
    _: KW_ONLY
    feature_maps: Any = "auto"
    Cs: Any = "auto"
    n_neighbors: Any = 8
    betas: Any = ("auto",)
    scalers: Any = (None,)
    cv: Any = None
    search: str = "halving"
    one_standard_error: bool = False
    scoring: Any = None
    relevance: Any = "auto"
    coding: str = "soft"
    anchors: Any = "kmeans"
    code_on: Any = "input"
    normalize: bool = True
    loss: str = "squared_hinge"
    max_iter: int = 1000
    tol: float = 1e-3
    intercept_scaling: float = 1.0
    scale: Any = "auto"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
        """Search, then fit to all rows with the best setting.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            Rows; float32 stays float32. Standardized features are best.
        y : array-like of shape (n_rows,)
            Class labels, or values; those of a regression may have several columns.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of rows, in training and in evaluation.
        groups : array-like of shape (n_rows,), default=None
            Rows of a group are never divided between training and evaluation.

        Returns
        -------
        self
            The fitted estimator.
        """
        rng = make_generator(self.random_state)
        settings, training, plan = self._checked_arguments()
        # Equal rows may be of different groups.
        data, target = self._task.rows(self, X, y, sample_weight, merge=groups is None)
        # Scalers bring their own units.
        units = standardizing_map(data, self.scale) if list(plan.scalers) == [None] else None
        given = data
        if units is not None:
            data = replace(data, X=units.transform(data.X))
        if groups is not None:
            (own_rng,) = rng.spawn(1)
            plan.cv = group_folds(self.cv, y, groups, own_rng, is_numeric=data.is_numeric)
        answers = answers_of(target, training.loss)
        self._forget()
        with (
            Workers(self.n_jobs) as workers,
            EpochMonitor(self, plan.n_steps(data), self.verbose, task="candidates") as monitor,
        ):
            outcomes = plan.run(settings, training, data, answers, workers, rng, monitor)
        best = best_outcome(outcomes, self.one_standard_error)
        self.cv_results_ = results_table(outcomes, plan.scalers)
        self.best_score_ = best.mean
        chosen = best.setting.parameters | {"scale": None if units is None else "standard"}
        if best.setting.relevance is not None and data.is_numeric:
            chosen["relevance"] = self._scales(data, best.setting.relevance)
        scaler = plan.scalers[best.setting.scaler]
        self._refit(chosen, scaler, given, answers.labels(data), rng)
        return self

    # ---- the steps of fit ----------------------------------------------------------------------

    def _checked_arguments(self) -> tuple[ChainSettings, Training, SearchPlan]:
        searched = {"n_anchors": "auto", "n_neighbors": 8, "beta": "auto", "feature_map": "auto"}
        searched |= {"global_intercept": True}
        settings = ChainSettings.of(self, **searched)
        training = Training(1.0, **self._task.loss(self), tol=self.tol, max_iter=self.max_iter)
        settings.check()
        training.check()
        check_choice("search", self.search, SEARCHES)
        check_choice("scale", self.scale, SCALES)
        check_flag("one_standard_error", self.one_standard_error)
        self._check_common()
        plan = SearchPlan(
            self.n_anchors, self.n_neighbors, self.betas, self.feature_maps, self.scalers, self.Cs,
            self.cv, self.search == "halving" and not self.one_standard_error, self.scoring,
            self.relevance,
        )  # fmt: skip
        return settings, training, plan

    def _refit(
        self,
        chosen: dict[str, Any],
        scaler: Any,
        data: LabelledRows,
        labels: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        """Fit the chosen setting to all rows."""
        X = data.X
        if scaler is not None:
            scaler = clone(scaler).fit(X, labels)
            X = transformed(scaler, X, "scalers")
        passed_on = self._kind().get_params(deep=False).keys() & self.get_params().keys()
        passed_on -= chosen.keys() | {"class_weight", "verbose"}
        model = self._kind(**{name: getattr(self, name) for name in passed_on} | chosen)
        model.set_params(random_state=int(rng.integers(2**31)))
        model.fit(X, labels, data.sample_weight)
        self.best_estimator_ = model if scaler is None else make_pipeline(scaler, model)
        self.best_params_, self.scaler_ = chosen, scaler
        for name in FOUND:
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        has_scales = isinstance(scaler, RelevanceScaler)
        self.model_ = model.model_.after(scaler.input_map()) if has_scales else model.model_
        self._keep_background(data if has_scales else replace(data, X=X))

    def _scales(self, data: LabelledRows, recipe: tuple[str, int, float]) -> np.ndarray:
        """The scales of features that all rows give, by the default chain as in the search."""
        settings, training, _ = self._checked_arguments()
        with Workers(self.n_jobs) as workers:
            found = repeated_relevance(
                settings, replace(training, C=COST), data, recipe, 0, workers
            )
        return found.factors

    def _checked_rows(self, X: Any) -> Any:
        X = super()._checked_rows(X)
        if self.scaler_ is None or isinstance(self.scaler_, RelevanceScaler):
            return X  # the model has the scales of features in it
        return transformed(self.scaler_, X, "scalers")
