"""SecondLookSVC: a quick classifier first, and small kernel SVMs where its margin is low."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ..data.arguments import check_auto, make_generator
from ..data.checks import check_rows
from ..data.labelled import LabelledRows
from ..data.rows import stored_as
from ..data.splits import split_held_out
from ..model.contributions import Contributions, Paths
from ..model.explaining import ExplainedRows, input_names
from ..model.explanation import LocalRows
from ..model.multiclass import as_columns, candidate_classes
from ..runtime.progress import EpochMonitor
from ..runtime.stamp import stamped
from ..runtime.threads import Workers
from .base import LabelledFitting, LocalClassifier, check_common
from .explained import ExplainMixin
from .explained_looks import look_paths, look_rows
from .locally_linear import LocallyLinearSVC
from .looks import LookTrial, check_looks, check_scores, fit_look, looked_again, tried_margin
from .neighborhood import NeighborhoodSVC

# What low_margin="auto" is for too few rows to choose by.
USUAL_LOW_MARGIN = 0.5


@dataclass(eq=False, repr=False)
@stamped
class SecondLookSVC(LabelledFitting, LocalClassifier, BaseEstimator, ExplainMixin):
    """A quick classifier for all rows, and small kernel SVMs for rows on which its margin is low.

    The first look scores every row. Where several classes score nearly as high as the best, the row
    gets a second look: SVMs of its own, trained on its nearest training rows of these classes. Most
    rows are predicted at the cost of the first look, and the error is close to that of a tuned
    kernel SVM.

    Parameters
    ----------
    first_look : classifier or None, default=None
        A classifier with a ``decision_function``, or a pipeline that ends with one; None is
        :class:`LocallyLinearSVC`. Weights of rows and classes are passed to the last step of a
        pipeline, or, with metadata routing, to the steps that request ``sample_weight``.
    second_look : NeighborhoodSVC, AdaptiveNeighborhoodSVC or None, default=None
        What scores rows of a low margin (``cache_neighborhoods=False``); None is
        :class:`NeighborhoodSVC`.
    low_margin : float or "auto", default="auto"
        Rows whose best score is less than this above the second best get a second look, between
        the classes that score within it of the best. (The scores of two classes are ``−s`` and
        ``s``.) With 0 no row does. "auto" is 0.5 or 1 if that lowers the error by more than a
        standard error on a fourth of the training rows, held out from a trial fit, else 0; it is
        0.5 below 40 rows. It is the default, because scores of a first look may have any scale.
        The trial repeats what the first look chose, not the choice, and looks again at no more
        than 400 rows: at none, if the first look errs on too few of them.
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
        The fitted looks; their classes are indices into ``classes_``. ``second_look_`` is None if
        no row gets one; the model then stores no training rows.
    low_margin_ : float
        The margin in use.
    trial_ : LookTrial or None
        What the choice of ``low_margin="auto"`` was made by: held-out rows, how many of them are
        ``low``, how many were ``tried``, and the ``first_errors`` and ``second_errors`` on these.
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

    first_look: Any = None
    second_look: Any = None
    _: KW_ONLY
    low_margin: Any = "auto"
    class_weight: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def _fit_rows(self, data: LabelledRows) -> None:
        """Fit both looks, after a trial on a part of the rows if ``low_margin="auto"``."""
        if hasattr(self, "classes_"):
            del self.classes_  # an interrupted fit must not leave the last looks with other rows
        is_weighted = bool((data.sample_weight != 1).any())
        rng = make_generator(self.random_state)
        with EpochMonitor(self, 2, self.verbose, task="look") as monitor:
            first = self._fitted(data, is_weighted, 0)
            check_scores(first, data)
            monitor(1)
            trial = self._trial(data, is_weighted, first, rng)
            low_margin = self._low_margin(trial)
            second: Any = self._fitted(data, is_weighted, 1) if low_margin > 0 else None
            monitor(2, low_margin=low_margin)
        self._storage = data.X.dtype.name, sp.issparse(data.X)
        self.first_look_, self.second_look_ = first, second
        self.low_margin_, self.trial_ = low_margin, trial
        self.classes_: np.ndarray = data.classes

    def _row_scores(self, X: Any) -> np.ndarray:
        """Scores by the first look, or by the second where the margin is low."""
        X = self._checked_rows(X)
        scores = as_columns(self.first_look_.decision_function(X))
        if self.second_look_ is None:
            return scores
        return looked_again(scores, X, self.second_look_, self.low_margin_)

    def local_rows(self, X: Any) -> Iterator[LocalRows]:
        """The linear model at each row, of the look that scores it.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            The rows.

        Yields
        ------
        LocalRows
            Linear models of a block of rows.
        """
        X = self._checked_rows(X)
        _, low, candidates = self._low_margins(X)
        yield from look_rows(self.first_look_, self.second_look_, X, low, candidates)

    def _row_paths(self, X: Any, background: Any, workers: Workers) -> Paths:
        _, low, candidates = self._low_margins(X)
        return look_paths(self.first_look_, self.second_look_, X, low, candidates, background)

    def _contributions(self, X: Any, background: Any, workers: Workers) -> Contributions:
        return self._row_paths(X, background, workers).contributions()

    def _explained_rows(self, X: Any, found: Contributions) -> ExplainedRows:
        return ExplainedRows(found, self.classes_, input_names(self))

    def _checked_rows(self, X: Any) -> Any:
        check_is_fitted(self, "classes_")
        return stored_as(check_rows(self, X, reset=False), *self._storage)

    def _low_margins(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores of the first look, which rows get a second, and between which classes."""
        scores = as_columns(self.first_look_.decision_function(X))
        candidates = candidate_classes(scores, self.low_margin_)
        low = np.flatnonzero(candidates.sum(axis=1) > 1)
        return scores, low, candidates[low]

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
        check_looks(*self._looks())
        check_auto("low_margin", self.low_margin, inclusive=True)
        check_common(self)

    def _fitted(self, data: LabelledRows, is_weighted: bool, number: int, **changes: Any) -> Any:
        """The first or second look (0 or 1), fitted."""
        look = self._looks()[number]
        if number == 1 and look.n_jobs is None:
            changes["n_jobs"] = self.n_jobs
        return fit_look(look, data, is_weighted, self.random_state, **changes)

    def _low_margin(self, trial: LookTrial | None) -> float:
        if not isinstance(self.low_margin, str):
            return float(self.low_margin)
        return USUAL_LOW_MARGIN if trial is None else trial.low_margin

    def _trial(
        self, data: LabelledRows, is_weighted: bool, first: Any, rng: np.random.Generator
    ) -> LookTrial | None:
        """Both looks on a part of the rows; None if ``low_margin`` is given, or rows are few."""
        parts = split_held_out(data, rng) if isinstance(self.low_margin, str) else None
        if parts is None:
            return None
        train, test = parts
        chosen = getattr(first, "chosen_", {})  # what the first look chose is not chosen again

        def fitted(number: int, **changes: Any) -> Any:
            return self._fitted(train, is_weighted, number, verbose=False, **changes)

        with warnings.catch_warnings():  # what there is to warn of, the fit to all rows warns of
            warnings.simplefilter("ignore")
            return tried_margin(fitted(0, **chosen), lambda: fitted(1), test, rng)
