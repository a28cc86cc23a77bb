"""SecondLookSVC: a quick classifier first, and small kernel SVMs where its margin is low."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..data.arguments import check_choice, check_n_jobs, check_number, make_generator
from ..data.checks import check_labelled_rows, check_rows
from ..data.labelled import LabelledRows
from ..data.rows import stored_as, take_rows
from ..data.splits import split_held_out
from ..model.multiclass import as_columns, as_decisions, predicted_codes
from ..runtime.progress import CallbackSupportMixin, EpochMonitor, with_callbacks
from .locally_linear import LocallyLinearSVC
from .neighborhood import NeighborhoodSVC
from .neighborhood_base import NeighborhoodClassifier
from .neighborhood_models import candidate_classes

# What low_margin="auto" chooses from besides 0, and what it is for too few rows to choose by.
LOW_MARGINS = (0.5, 1.0)
USUAL_LOW_MARGIN = 0.5


class SecondLookSVC(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """A quick classifier for all rows, and small kernel SVMs for rows on which its margin is low.

    The first look scores every row. Where several classes score nearly as high as the best, the row
    gets a second look: SVMs of its own, trained on its nearest training rows of these classes. Most
    rows are predicted at the cost of the first look, and the error is close to that of a tuned
    kernel SVM.

    Parameters
    ----------
    first_look : classifier or None, default=None
        A classifier with a ``decision_function``, or a pipeline of one; None is
        :class:`LocallyLinearSVC`.
    second_look : NeighborhoodSVC, AdaptiveNeighborhoodSVC or None, default=None
        What scores rows of a low margin (``cache_neighborhoods=False``); None is
        :class:`NeighborhoodSVC`.
    low_margin : float or "auto", default="auto"
        Rows whose best score is less than this above the second best get a second look, between
        the classes that score within it of the best. (The scores of two classes are ``−s`` and
        ``s``.) With 0 no row does. "auto" is 0.5 or 1 if that lowers the error by more than a
        standard error on a fourth of the training rows, held out from a trial fit, else 0; it is
        0.5 below 40 rows.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows in both looks.
    n_jobs : int or None, default=None
        Threads of the second look, unless it has an ``n_jobs`` of its own, and of the default first
        look. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Chooses the rows held out, and seeds the looks that have no ``random_state`` of their own.
    verbose : int, default=0
        1 or 2 writes a line to stderr when a look is fitted.

    Attributes
    ----------
    first_look_, second_look_ : classifier
        The fitted looks; their classes are indices into ``classes_``.
    low_margin_ : float
        The margin in use.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    NeighborhoodSVC : The second look for every row.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hyperlocal import SecondLookSVC
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = SecondLookSVC(random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.95)
    True
    """

    classes_: np.ndarray

    def __init__(
        self,
        first_look: Any = None,
        second_look: Any = None,
        *,
        low_margin: Any = "auto",
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.first_look = first_look
        self.second_look = second_look
        self.low_margin = low_margin
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SecondLookSVC:
        """Fit both looks, after a trial on a part of the rows if ``low_margin="auto"``.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            Rows; float32 stays float32. Standardized features are best.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of rows.

        Returns
        -------
        self
        """
        self._check_arguments()
        data = check_labelled_rows(self, X, y, sample_weight, self.class_weight)
        if hasattr(self, "classes_"):
            del self.classes_  # an interrupted fit must not leave the last looks with other rows
        is_weighted = sample_weight is not None or self.class_weight is not None
        rng = make_generator(self.random_state)
        with EpochMonitor(self, 2, self.verbose, task="look") as monitor:
            first = self._fit_first(data, is_weighted)
            monitor(1)
            low_margin = self._choose_low_margin(data, is_weighted, rng)
            second = self._fit_look(self._looks()[1], data, is_weighted)
            monitor(2, low_margin=low_margin)
        self._storage = data.X.dtype.name, sp.issparse(data.X)
        self.first_look_, self.second_look_, self.low_margin_ = first, second, low_margin
        self.classes_ = data.classes
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of rows by the first look, or by the second where the margin is low.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        check_is_fitted(self, "classes_")
        X = stored_as(check_rows(self, X, reset=False), *self._storage)
        scores = as_columns(self.first_look_.decision_function(X))
        return as_decisions(_looked_again(scores, X, self.second_look_, self.low_margin_))

    def predict(self, X: Any) -> np.ndarray:
        """Predicted class labels of rows."""
        scores = self.decision_function(X)
        return self.classes_[predicted_codes(scores)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = all(get_tags(look).input_tags.sparse for look in self._looks())
        return tags

    # ---- the steps of fit ----------------------------------------------------------------------

    def _looks(self) -> tuple[Any, Any]:
        """Unfitted looks, as given or by default."""
        first, second = self.first_look, self.second_look
        return (
            LocallyLinearSVC(n_jobs=self.n_jobs) if first is None else first,
            NeighborhoodSVC() if second is None else second,
        )

    def _check_arguments(self) -> None:
        first, second = self._looks()
        if isinstance(first, type) or not hasattr(first, "decision_function"):
            raise TypeError(
                "first_look must be None or a classifier with a decision_function, such as "
                f"LocallyLinearSVC(), not {first!r}."
            )
        if not isinstance(second, NeighborhoodClassifier):
            raise TypeError(
                "second_look must be None, a NeighborhoodSVC or an AdaptiveNeighborhoodSVC, not "
                f"{second!r}."
            )
        if second.cache_neighborhoods:
            raise ValueError(
                "second_look must have cache_neighborhoods=False: its SVMs are trained between the "
                "classes that the first look leaves, which cached models are not."
            )
        if isinstance(self.low_margin, str):
            check_choice("low_margin", self.low_margin, ["auto"])
        else:
            check_number("low_margin", self.low_margin, inclusive=True)
        check_n_jobs(self.n_jobs)
        if not isinstance(self.verbose, bool):
            check_number("verbose", self.verbose, integer=True, inclusive=True)

    def _fit_first(self, data: LabelledRows, is_weighted: bool) -> Any:
        first = self._looks()[0]
        if is_weighted and not has_fit_parameter(first, "sample_weight"):
            raise ValueError(
                f"first_look={type(first).__name__} takes no sample_weight; give a classifier that "
                "does, or leave out sample_weight and class_weight."
            )
        first = self._fit_look(first, data, is_weighted)
        shape, n_classes = np.shape(first.decision_function(data.X[:1])), len(data.classes)
        if shape != ((1,) if n_classes == 2 else (1, n_classes)):
            raise ValueError(
                "first_look must have one score per class (one in all for two classes), but its "
                f"decision_function returns an array of shape {shape} for one row of "
                f"{n_classes} classes."
            )
        return first

    def _fit_look(self, look: Any, data: LabelledRows, is_weighted: bool, **changes: Any) -> Any:
        """A fitted clone, with the changes, and with the seed and threads that it has none of.

        Its labels are indices of classes. Weights are passed if there are any: a pipeline, for one,
        takes none.
        """
        look = clone(look)
        own = look.get_params(deep=False)
        if own.get("random_state", 0) is None:
            changes["random_state"] = self.random_state
        if isinstance(look, NeighborhoodClassifier) and look.n_jobs is None:
            changes["n_jobs"] = self.n_jobs
        look.set_params(**{name: value for name, value in changes.items() if name in own})
        weights = {"sample_weight": data.sample_weight} if is_weighted else {}
        return look.fit(data.X, data.target, **weights)

    def _choose_low_margin(
        self, data: LabelledRows, is_weighted: bool, rng: np.random.Generator
    ) -> float:
        if not isinstance(self.low_margin, str):
            return float(self.low_margin)
        parts = split_held_out(data, rng)
        if parts is None:
            return USUAL_LOW_MARGIN
        train, test = parts
        with warnings.catch_warnings():  # what there is to warn of, the fit to all rows warns of
            warnings.simplefilter("ignore")
            first, second = (
                self._fit_look(look, train, is_weighted, verbose=False) for look in self._looks()
            )
            scores = as_columns(first.decision_function(test.X))
            return _best_low_margin(scores, second, test)


def _looked_again(
    scores: np.ndarray, X: Any, second_look: NeighborhoodClassifier, low_margin: float
) -> np.ndarray:
    """Scores in which rows of a low margin have those of the second look."""
    candidates = candidate_classes(scores, low_margin)
    low = np.flatnonzero(candidates.sum(axis=1) > 1)
    if not len(low):
        return scores
    scores = scores.copy()
    again = second_look.decision_between(take_rows(X, low), candidates[low])
    scores[low] = as_columns(again)
    return scores


def _best_low_margin(
    scores: np.ndarray, second_look: NeighborhoodClassifier, test: LabelledRows
) -> float:
    """The margin that lowers the error most, less a standard error; 0 where none does."""

    def costs(low_margin: float) -> np.ndarray:
        predicted = predicted_codes(_looked_again(scores, test.X, second_look, low_margin))
        return test.sample_weight * (predicted != test.target)

    best, most, alone = 0.0, 0.0, costs(0.0)
    for low_margin in LOW_MARGINS:
        gains = alone - costs(low_margin)
        gain = float(gains.sum()) - math.sqrt(float(gains @ gains))
        if gain > most:
            best, most = low_margin, gain
    return best
