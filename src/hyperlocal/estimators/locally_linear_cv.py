"""LocallyLinearSVCCV: chooses anchors, feature map and C by cross-validation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import get_scorer

from ..data.arguments import check_choice, check_flag, check_n_jobs, check_number, make_generator
from ..data.checks import DISTANCES_NEED_SCALES, check_labelled_rows, warn_about_scales
from ..data.labelled import LabelledRows, merge_equal_rows
from ..gates.anchors import default_n_anchors
from ..maps.transformer import transformed
from ..model.explanation import Explanation
from ..runtime.progress import EpochMonitor
from ..runtime.threads import Workers
from ..selection.candidates import (
    default_anchor_numbers,
    default_feature_maps,
    default_finalists,
    make_settings,
    sample_sizes,
)
from ..selection.search import (
    FIRST_COSTS,
    GivenFolds,
    Outcome,
    Search,
    accuracy,
    best_outcome,
    default_folds,
    results_table,
)
from .local_model import LocalModel
from .locally_linear import LocallyLinearSVC
from .relevance import RelevanceScaler

SEARCHES = ("halving", "grid")
# What the model has that was chosen or is no concern of the search.
PASSED_ON = ("coding", "anchors", "code_on", "normalize", "loss", "multi_class", "max_iter", "tol",
             "intercept_scaling", "n_jobs")  # fmt: skip


class LocallyLinearSVCCV(LocalModel):
    """:class:`LocallyLinearSVC` that chooses its own settings by cross-validation.

    How many local models, what they see, and ``C``: all combinations are judged on shuffled folds.
    Anchors and codes are shared by folds and by all values of ``C``, each ``C`` starts from the
    last one's solution, and on many rows most candidates are judged on a sample only (successive
    halving), so that the search costs a few fits. One anchor, a linear SVM, is among the
    candidates.

    Parameters
    ----------
    n_anchors : sequence of int, int or "auto", default="auto"
        Numbers of local models to try. "auto" is 1, ``max(8, √N/4)`` and, up to 32 features and
        for the plain map only, ``min(400, N/25)``.
    feature_maps : sequence or "auto", default="auto"
        Maps to try, as in :class:`LocallyLinearSVC`. "auto" is ``(None, "auto", "nystroem")`` up to
        5,000 rows, ``(None, "auto")`` beyond, and ``(None,)`` for sparse rows. Where "nystroem" is
        chosen, explanations speak of similarities to some rows: ``(None, "auto")`` keeps them to
        features. A transformer is fitted to all rows at once: one that looks at labels belongs in
        ``scalers`` or in a pipeline around this estimator.
    Cs : sequence of float or "auto", default="auto"
        "auto" is 1, 10 and 100; 0.1 where 1 wins, and 1,000 where 100 wins and is trained with
        ease.
    n_neighbors : sequence of int or int, default=8
    betas : sequence of float or "auto", default=("auto",)
    scalers : sequence of transformers or None, default=(None,)
        Each is tried before everything else, fitted to the training rows of each fold; for instance
        ``(None, RelevanceScaler())``.
    cv : int, splitter, iterable or None, default=None
        Number of shuffled, stratified folds (None: five, or three from 5,000 rows on); or an object
        whose ``split(X, y)`` gives pairs of row numbers; or such pairs, for all rows.
    search : {"halving", "grid"}, default="halving"
        "halving" judges everything but ``C`` with the middle ``C``, by two fifths of the folds; of
        many rows, on a ninth of them (at least 2,000) at first, and the best third on three times
        as many. The best two (three of fewer than 2,000 rows) are then judged with all ``Cs``, by
        all folds. "grid" judges everything on everything.
    one_standard_error : bool, default=False
        Choose the simplest candidate whose score is within one standard error of the best: fewest
        anchors, then the plainest map, then the smallest ``C``. Halving then keeps all anchors and
        maps to the end.
    scoring : str, callable or None, default=None
        Accuracy, or any scorer of scikit-learn that needs labels or decisions.
    coding, anchors, code_on, normalize, loss, multi_class, max_iter, tol, intercept_scaling, \
class_weight, n_jobs, random_state
        As in :class:`LocallyLinearSVC`.
    verbose : int, default=0
        1 writes progress of the search to stderr now and then, 2 every group of candidates.

    Attributes
    ----------
    best_params_ : dict
        The chosen setting.
    best_score_ : float
        Its mean score over the folds.
    cv_results_ : dict of arrays
        A row for each candidate that was judged, as in scikit-learn's searches; ``n_rows`` is the
        size of the largest sample on which it was.
    scaler_ : fitted transformer or None
    anchors_, beta_, coef_, intercept_, classes_, n_iter_, objective_, duality_gap_, history_
        Of the model fitted to all rows with the chosen setting.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    LocallyLinearSVC : One setting, given or by rule.
    RelevanceScaler : Features scaled by their importance.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hyperlocal import LocallyLinearSVCCV
    >>> X, y = make_moons(600, noise=0.1, random_state=0)
    >>> model = LocallyLinearSVCCV(random_state=0).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.97), bool(model.best_params_["n_anchors"] > 1)
    (True, True)
    """

    best_params_: dict[str, Any]
    best_score_: float
    cv_results_: dict[str, Any]
    scaler_: Any

    def __init__(
        self,
        n_anchors: Any = "auto",
        *,
        feature_maps: Any = "auto",
        Cs: Any = "auto",
        n_neighbors: Any = 8,
        betas: Any = ("auto",),
        scalers: Any = (None,),
        cv: Any = None,
        search: str = "halving",
        one_standard_error: bool = False,
        scoring: Any = None,
        coding: str = "soft",
        anchors: Any = "kmeans",
        code_on: Any = "input",
        normalize: bool = True,
        loss: str = "squared_hinge",
        multi_class: str = "ovr",
        max_iter: int = 1000,
        tol: float = 1e-3,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_anchors = n_anchors
        self.feature_maps = feature_maps
        self.Cs = Cs
        self.n_neighbors = n_neighbors
        self.betas = betas
        self.scalers = scalers
        self.cv = cv
        self.search = search
        self.one_standard_error = one_standard_error
        self.scoring = scoring
        self.coding = coding
        self.anchors = anchors
        self.code_on = code_on
        self.normalize = normalize
        self.loss = loss
        self.multi_class = multi_class
        self.max_iter = max_iter
        self.tol = tol
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LocallyLinearSVCCV:
        """Search, then fit to all rows with the best setting.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            Rows; float32 stays float32. Standardised features are best.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of rows, in training and in judging.

        Returns
        -------
        self
        """
        self._check_arguments()
        data = check_labelled_rows(self, X, y, sample_weight, self.class_weight)
        warn_about_scales(data.X, DISTANCES_NEED_SCALES)
        data = merge_equal_rows(data)
        rng = make_generator(self.random_state)
        plain = LocallyLinearSVC(**{name: getattr(self, name) for name in PASSED_ON})
        plain._check_arguments()
        outcomes = self._search(plain, data, rng)
        best = best_outcome(outcomes, self.one_standard_error)
        self._refit(plain, best, data, rng)
        self.cv_results_ = results_table(outcomes, self.scalers)
        self.best_score_ = best.mean
        return self

    def _check_arguments(self) -> None:
        for number in _numbers("n_anchors", self.n_anchors, auto=True):
            check_number("n_anchors", number, integer=True, above=1, inclusive=True)
        for number in _numbers("n_neighbors", self.n_neighbors):
            check_number("n_neighbors", number, integer=True, above=1, inclusive=True)
        for C in _numbers("Cs", self.Cs, auto=True):
            check_number("Cs", C)
        if isinstance(self.feature_maps, str):
            check_choice("feature_maps", self.feature_maps, ["auto"])
        else:
            _sequence("feature_maps", self.feature_maps)
        for name in ("betas", "scalers"):
            _sequence(name, getattr(self, name))
        if self.cv is not None and not (hasattr(self.cv, "split") or isinstance(self.cv, Iterable)):
            check_number("cv", self.cv, integer=True, above=2, inclusive=True)
        check_choice("search", self.search, SEARCHES)
        check_flag("one_standard_error", self.one_standard_error)
        check_n_jobs(self.n_jobs)

    def _search(
        self, plain: LocallyLinearSVC, data: LabelledRows, rng: np.random.Generator
    ) -> list[Outcome]:
        n_rows, n_features = data.X.shape
        numbers = _numbers("n_anchors", self.n_anchors, auto=True)
        numbers = sorted({min(m, n_rows) for m in numbers})
        numbers = numbers or default_anchor_numbers(n_rows, n_features)
        maps = self.feature_maps
        if isinstance(maps, str):
            maps = default_feature_maps(n_rows, not sp.issparse(data.X))
        settings = make_settings(
            numbers, _numbers("n_neighbors", self.n_neighbors), list(self.betas), list(maps),
            len(self.scalers), _numbers("Cs", self.Cs, auto=True) or FIRST_COSTS,
        )  # fmt: skip
        if isinstance(self.n_anchors, str):  # many anchors that see products would be too many
            usual = default_n_anchors(n_rows)
            settings = [one for one in settings if one.n_anchors <= usual or one.is_plain]
        n_groups = len({one.group for one in settings})
        splitter = self._splitter(data, rng)
        halving = self.search == "halving" and not self.one_standard_error
        samples = halving and not isinstance(splitter, GivenFolds)
        sizes = sample_sizes(n_rows, n_groups, samples, fewest=4 * max(numbers))
        monitor = EpochMonitor(self, n_groups * len(sizes) + 1, self.verbose, task="candidates")
        scorer = accuracy if self.scoring is None else get_scorer(self.scoring)
        with Workers(self.n_jobs) as workers:
            search = Search(
                plain, list(self.scalers), data, splitter, scorer, workers, rng, monitor
            )
            n_finalists = default_finalists(n_rows) if halving else n_groups
            outcomes = search.run(settings, sizes, n_finalists)
            return search.extend_costs(outcomes) if isinstance(self.Cs, str) else outcomes

    def _splitter(self, data: LabelledRows, rng: np.random.Generator) -> Any:
        if hasattr(self.cv, "split"):
            return self.cv
        if isinstance(self.cv, Iterable):
            return GivenFolds(self.cv, data)
        folds = default_folds(data.target, self.cv, rng)
        if folds is None:
            raise ValueError(
                "cross-validation needs a class of at least two distinct rows; use "
                "LocallyLinearSVC."
            )
        return folds

    def _refit(
        self,
        plain: LocallyLinearSVC,
        best: Outcome,
        data: LabelledRows,
        rng: np.random.Generator,
    ) -> None:
        setting, X = best.setting, data.X
        scaler = self.scalers[setting.scaler]
        if scaler is not None:
            scaler = clone(scaler).fit(X, data.classes[data.target])
            X = transformed(scaler, X, "scalers")
        chosen = {
            name: getattr(setting, name)
            for name in ("n_anchors", "n_neighbors", "beta", "feature_map", "C")
        }
        model = clone(plain).set_params(**chosen, random_state=int(rng.integers(2**31)))
        model.fit(X, data.classes[data.target], data.sample_weight)
        given = model.get_params(deep=False).keys() | {"n_features_in_", "feature_names_in_"}
        for name, value in vars(model).items():
            if name not in given:
                setattr(self, name, value)
        self.scaler_ = scaler
        self.best_params_ = {**chosen, "scaler": self.scalers[setting.scaler]}

    def _check_fitted_rows(self, X: Any) -> Any:
        X = super()._check_fitted_rows(X)
        return X if self.scaler_ is None else transformed(self.scaler_, X, "scalers")

    # ---- explanations, in the features as they were given ----------------------------------------

    def _relevance(self) -> np.ndarray | None:
        """By how much features were stretched, if that is all that was done to them."""
        stretched = isinstance(self.scaler_, RelevanceScaler) and self._feature_map.explains_input
        return self.scaler_.scale_.astype(self._weights.dtype) if stretched else None

    def _local_models(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for coef, intercept in super()._local_models(X):  # checks that the model is fitted
            scale = self._relevance()
            yield coef if scale is None else coef * scale, intercept

    def _explain_rows(self, X: Any) -> list[Explanation]:
        explanations, scale = super()._explain_rows(X), self._relevance()
        if scale is None:
            return explanations
        return [_unstretched(explanation, scale) for explanation in explanations]


def _unstretched(explanation: Explanation, scale: np.ndarray) -> Explanation:
    """Told in features that were multiplied by ``scale``; those of scale zero have no effect."""

    def undo(values: np.ndarray) -> np.ndarray:
        return np.divide(values, scale, out=np.zeros_like(values), where=scale > 0)

    point = explanation.boundary
    if point is not None:
        changes = undo(point.changes)
        distance = float(np.linalg.norm(changes))
        longer = distance / point.distance if point.distance > 0 else 1.0
        point = replace(
            point, row=undo(point.row), changes=changes, distance=distance,
            linear_distance=point.linear_distance * longer,
        )  # fmt: skip
    values = None if explanation.values is None else undo(explanation.values)
    return replace(explanation, values=values, boundary=point)


def _numbers(name: str, value: Any, auto: bool = False) -> list[Any]:
    """One number or several; none for "auto"."""
    if isinstance(value, str) and auto:
        check_choice(name, value, ["auto"])
        return []
    if np.ndim(value) == 0 and not isinstance(value, Iterable):
        return [value]
    return list(_sequence(name, value))


def _sequence(name: str, values: Any) -> Sequence[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable) or not len(list(values)):
        raise ValueError(f"{name} must be a sequence of values to try, got {values!r}.")
    return list(values)
