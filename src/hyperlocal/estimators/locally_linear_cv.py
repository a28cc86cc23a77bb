"""LocallyLinearSVCCV: chooses anchors, feature map and C by cross-validation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from .base import ChainAttributes, LocalClassifier, LocalEstimator
from .explained import ExplainMixin
from .locally_linear import LocallyLinearSVC
from .probabilities import ProbabilityMixin
from .searched_chain import SearchedChain
from .tasks import Classification


@dataclass(eq=False, repr=False)
class LocallyLinearSVCCV(
    SearchedChain,
    ProbabilityMixin,
    ChainAttributes,
    LocalClassifier,
    LocalEstimator,
    ExplainMixin,
):
    """:class:`LocallyLinearSVC` that chooses its own settings by cross-validation.

    Combinations of ``n_anchors``, ``feature_map`` and ``C`` are evaluated on shuffled folds. The
    search costs a few fits: folds and all values of ``C`` share anchors and codes, each ``C``
    starts from the solution of the previous one, and with many rows most candidates are evaluated
    on a sample only (successive halving). One anchor, a linear SVM, is among the candidates; if
    these are left to "auto", so is the chain that ``LocallyLinearSVC()`` chooses. (It is chosen
    from all rows, so that its score over the folds is slightly too good.)

    Parameters
    ----------
    n_anchors : sequence of int, int or "auto", default="auto"
        Numbers of local models to try. "auto" is 1, ``max(8, √N/4)`` and, up to 32 features and
        for the plain map only, ``min(400, N/25)``.
    feature_maps : sequence or "auto", default="auto"
        Maps to try, as in :class:`LocallyLinearSVC`. "auto" is ``(None, "auto", "nystroem")`` up to
        5,000 rows, ``(None, "auto")`` beyond, and ``(None,)`` for sparse rows. Where "nystroem" is
        chosen, explanations are about similarities to some rows: ``(None, "auto")`` keeps them
        about features. A transformer is fitted to all rows at once: put one that uses labels into
        ``scalers`` or into a pipeline around this estimator.
    Cs : sequence of float or "auto", default="auto"
        "auto" is 1, 10 and 100; also 0.1 where 1 is best, and 1,000 where 100 is best and needs few
        epochs.
    n_neighbors : sequence of int or int, default=8
        Numbers of active anchors to try.
    betas : sequence of float or "auto", default=("auto",)
        Values of ``beta`` to try.
    scalers : sequence of transformers or None, default=(None,)
        Each is tried before everything else, fitted to the training rows of each fold; for instance
        ``(None, RelevanceScaler())``.
    cv : int, splitter, iterable or None, default=None
        Number of shuffled, stratified folds (None: five, or three from 5,000 rows on); or an object
        whose ``split(X, y)`` gives pairs of row numbers; or such pairs, for all rows.
    search : {"halving", "grid"}, default="halving"
        "halving" evaluates everything but ``C`` with the middle ``C``, on two fifths of the folds;
        of many rows, on a ninth of them (at least 2,000) at first, and the best third on three
        times as many. The best two (three of fewer than 2,000 rows) are then evaluated with all
        ``Cs``, on all folds. "grid" evaluates every candidate on all rows and folds.
    one_standard_error : bool, default=False
        Choose the simplest candidate whose score is within one standard error of the best: fewest
        anchors, then the simplest map, then the smallest ``C``. All anchors and maps are then
        evaluated on all rows and folds.
    scoring : str, callable or None, default=None
        Accuracy, or any scorer of scikit-learn; one that needs probabilities needs ``loss="log"``.
        A function gets ``(estimator, rows, y)``: for the estimator, ``rows`` stand for features.
    relevance : {None, "auto"}, default="auto"
        "auto" also tries scales of features with the best candidate, if held-out rows gain from
        them; see :class:`RelevanceScaler`. On by default, because the search decides on folds.
    coding, anchors, code_on, normalize, loss, max_iter, tol, intercept_scaling : as in \
LocallyLinearSVC
        They are those of :class:`LocallyLinearSVC`.
    scale : {"auto", "standard", None}, default="auto"
        Whether features are standardized before everything else, as in :class:`LocallyLinearSVC`.
        Not where ``scalers`` are given, which bring their own units.
    n_jobs, random_state : as in LocallyLinearSVC
        They are those of :class:`LocallyLinearSVC`.
    verbose : int, default=0
        1 writes progress of the search to stderr now and then, 2 every group of candidates.
    multi_class, class_weight : as in LocallyLinearSVC
        They are those of :class:`LocallyLinearSVC`.

    Attributes
    ----------
    best_estimator_ : LocallyLinearSVC, or Pipeline of a scaler and one
        Fitted to all rows with the chosen setting.
    best_params_ : dict
        The chosen parameters of :class:`LocallyLinearSVC`.
    best_score_ : float
        Its mean score over the folds.
    cv_results_ : dict of arrays
        A row for each candidate that was evaluated, as in scikit-learn's searches; ``n_rows`` is
        the size of the largest sample on which it was.
    scaler_ : fitted transformer or None
    model_ : LocalModel
        The fitted gate, map and weights.
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
    >>> bool(model.score(X[400:], y[400:]) > 0.97), bool(model.best_score_ > 0.97)
    (True, True)
    """

    _task = Classification()
    _kind = LocallyLinearSVC

    _: KW_ONLY
    multi_class: str = "ovr"
    class_weight: Any = None
