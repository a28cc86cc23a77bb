"""Results of a search: scores per fold, the best candidate, and the table of results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.metaestimators import available_if

from ..data.labelled import LabelledRows
from ..model.multiclass import (
    as_decisions,
    joined_columns,
    log_probabilities,
    predicted_codes,
)
from ..model.residuals import RegressionLoss
from ..model.target_scale import TargetScale, as_targets
from .candidates import Setting


@dataclass
class Outcome:
    """The results of a candidate."""

    setting: Setting
    scores: np.ndarray = field(default_factory=lambda: np.zeros(0))  # per fold of the last sample
    n_rows: int = 0  # of the last sample
    seconds: float = 0.0  # of training, per fold
    epochs: int = 0  # of training, the most in a fold

    @property
    def mean(self) -> float:
        """Mean score over folds."""
        return float(self.scores.mean())

    @property
    def extent(self) -> tuple[int, int]:
        """Rows and folds that it was evaluated on."""
        return self.n_rows, len(self.scores)

    @property
    def standard_error(self) -> float:
        """Of the mean."""
        return float(self.scores.std(ddof=1) / np.sqrt(len(self.scores)))


def _has_probabilities(scored: ScoredRows) -> bool:
    return scored.is_log


class ScoredRows(ClassifierMixin, BaseEstimator):
    """A classifier for scorers: its rows are indices of rows whose scores are known.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
    scores : ndarray of shape (n_rows, n_columns)
    is_log : bool
        Whether they come from the log loss, which gives probabilities.
    """

    def __init__(self, classes: np.ndarray, scores: np.ndarray, is_log: bool = False):
        self.classes = classes
        self.scores = scores
        self.is_log = is_log
        self.classes_ = classes

    def decision_function(self, X: Any) -> np.ndarray:
        """Known scores."""
        return as_decisions(joined_columns(self.scores[X], len(self.classes)))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities by the known scores."""
        return np.exp(log_probabilities(self.decision_function(X)))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Their logarithms."""
        return log_probabilities(self.decision_function(X))

    def predict(self, X: Any) -> np.ndarray:
        """Labels by the known scores."""
        return self.classes[predicted_codes(self.decision_function(X))]


def accuracy(
    scored: ScoredRows, rows: np.ndarray, labels: np.ndarray, sample_weight: np.ndarray
) -> float:
    """The scorer of that name without its checks, which take longer than training on few rows."""
    return float(np.average(scored.predict(rows) == labels, weights=sample_weight))


class ScoredValues(RegressorMixin, BaseEstimator):
    """A regressor for scorers: its rows are indices of rows whose predictions are known.

    Parameters
    ----------
    values : ndarray of shape (n_rows, ...)
    """

    def __init__(self, values: np.ndarray):
        self.values = values

    def predict(self, X: Any) -> np.ndarray:
        """Known values."""
        return self.values[X]


@dataclass(frozen=True)
class ClassAnswers:
    """What the scores of a classifier mean.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    is_log : bool
        Whether scores give probabilities.
    """

    classes: np.ndarray
    is_log: bool = False

    def estimator(self, scores: np.ndarray) -> ScoredRows:
        """The estimator of rows with these scores."""
        return ScoredRows(self.classes, scores, self.is_log)

    def labels(self, data: LabelledRows) -> np.ndarray:
        """What its predictions are compared with."""
        return data.labels

    score = staticmethod(accuracy)


@dataclass(frozen=True)
class ValueAnswers:
    """What the scores of a regressor mean, which was trained on scaled values.

    Attributes
    ----------
    scale : TargetScale
    loss : RegressionLoss
    """

    scale: TargetScale
    loss: RegressionLoss

    def estimator(self, scores: np.ndarray) -> ScoredValues:
        """The estimator of rows with these scores; it predicts in the units of ``y``."""
        return ScoredValues(
            self.scale.shaped(self.scale.given(scores), np.shape(self.loss.quantiles))
        )

    def labels(self, data: LabelledRows) -> np.ndarray:
        """What its predictions are compared with."""
        return self.scale.given(data.labels)

    def score(
        self, scored: ScoredValues, rows: np.ndarray, labels: np.ndarray, sample_weight: np.ndarray
    ) -> float:
        """R² of squared losses; minus the mean loss of others, without a tube."""
        predicted = scored.predict(rows)
        loss = self.loss.evaluated()
        if loss.name == "squared":
            return float(r2_score(labels, predicted, sample_weight=sample_weight))
        found, true = (self.scale.scaled_values(as_targets(one)) for one in (predicted, labels))
        return -float(loss.row_losses(found, true, sample_weight).mean())


Answers = ClassAnswers | ValueAnswers


def answers_of(target: np.ndarray | TargetScale, loss: str | RegressionLoss) -> Answers:
    """What scores mean: classes if ``target`` is an array of them, else values of that scale."""
    if isinstance(loss, RegressionLoss):
        assert isinstance(target, TargetScale)
        return ValueAnswers(target, loss)
    assert isinstance(target, np.ndarray)
    return ClassAnswers(target, loss == "log")


def best_outcome(outcomes: Iterable[Outcome], one_standard_error: bool) -> Outcome:
    """The highest mean among those evaluated on most rows, or the simplest one close to it."""
    outcomes = list(outcomes)
    most = max(outcome.extent for outcome in outcomes)
    finalists = [outcome for outcome in outcomes if outcome.extent == most]
    best = max(finalists, key=lambda outcome: outcome.mean)
    if not one_standard_error or len(best.scores) < 2:
        return best
    close = [one for one in finalists if one.mean >= best.mean - best.standard_error]
    return min(close, key=lambda outcome: outcome.setting.size)


def _deviations(outcomes: Sequence[Outcome]) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # scores of what overflowed are infinite
        return np.array([one.scores.std() for one in outcomes])


def results_table(outcomes: list[Outcome], scalers: Sequence[Any]) -> dict[str, Any]:
    """The content of ``cv_results_``, as in scikit-learn's searches."""
    params = [one.setting.parameters | {"scaler": scalers[one.setting.scaler]} for one in outcomes]
    names = list(dict.fromkeys(name for one in params for name in one))
    table: dict[str, Any] = {"params": params}
    for name in names:
        column = np.ma.MaskedArray(np.empty(len(params), dtype=object), mask=False)
        for index, values in enumerate(params):
            column[index] = values.get(name, np.ma.masked)
        table[f"param_{name}"] = column
    means = np.array([one.mean for one in outcomes])
    n_rows, n_scores = np.array([one.extent for one in outcomes]).T
    # Candidates that were evaluated on more rows and folds rank before the others.
    order = np.lexsort([-means, -n_scores, -n_rows])
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(1, len(order) + 1)
    for fold in range(n_scores.max()):
        known = [one.scores[fold] if fold < len(one.scores) else np.nan for one in outcomes]
        table[f"split{fold}_test_score"] = np.array(known)
    return table | {
        "mean_test_score": means,
        "std_test_score": _deviations(outcomes),
        "rank_test_score": ranks,
        "mean_fit_time": np.array([one.seconds for one in outcomes]),
        "n_rows": n_rows,
    }
