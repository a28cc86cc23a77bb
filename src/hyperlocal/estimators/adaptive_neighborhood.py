"""AdaptiveNeighborhoodSVC: local SVMs in a learned metric (LASVM)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..data.arguments import check_choice
from ..data.labelled import LabelledRows, merge_equal_rows
from ..maps.transformer import transformed
from ..neighbors.base import Neighbors
from ..neighbors.dann import dann_rows
from ..neighbors.megm import MEGM
from ..runtime.threads import Workers
from ..solvers.small_svms import NeighborhoodSolver, kernel_matrices
from .neighborhood_base import NeighborhoodClassifier

METRICS = ("megm", "dann")

# DANN looks at this many times the rows of a neighbourhood, and at least at so many.
POOL_FACTOR = 5
SMALLEST_POOL = 50


class AdaptiveNeighborhoodSVC(NeighborhoodClassifier):
    """One support vector machine per query, on its nearest training rows in a learned metric.

    ``fit`` learns the metric; neighbours are found, and local SVMs trained, in its space. All else
    is as in :class:`NeighborhoodSVC`.

    Parameters
    ----------
    n_neighbors : "log", int or list of int, default="log"
        Size of a neighbourhood, ``K``: ``k log2 N`` for N distinct rows, a number, or the best of a
        list, each training row left out in turn.
    metric : {"megm", "dann"} or transformer, default="megm"
        What learns the metric: :class:`MEGM`; any transformer with ``fit(X, y)`` and ``transform``,
        such as ``NeighborhoodComponentsAnalysis`` or a pipeline; or "dann", a metric of each
        query's own from the classes of the rows around it. Sample weights play no part in it.
    k : float, default=3
        Factor of ``n_neighbors="log"``.
    kernel : {"rbf", "linear", "poly"} or callable, default="rbf"
    sigma : "local" or float, default="local"
        Length scale of the kernel, in the space of the metric.
    degree : int, default=3
    coef0 : float, default=1.0
    C : float, default=10.0
    algorithm : {"exact", "tree", "approximate"}, default="exact"
    cache_neighborhoods : bool, default=False
        Train the SVMs of covering centres once, at ``fit`` (not with "dann").
    first_look : classifier or None, default=None
        A classifier with a ``decision_function``, such as ``LocallyLinearSVC()`` or a pipeline of
        one, that is trained at ``fit`` and asked first. Only a query that it is in doubt about gets
        an SVM of its own, between the classes in question. With it most queries are answered at the
        cost of that classifier.
    clear_lead : float or "auto", default="auto"
        With ``first_look`` or kept models: classes that score within this of the best are in
        question; where there are several, there is doubt. With 0 there is none. "auto", for a
        first look: 0.5 or 1 if that errs less by more than a standard error on a fourth of the
        training rows, held out from a trial, else 0 (below 40 rows: 0.5); for kept models: 1.
    tol : float, default=1e-3
    max_steps : int, default=100000
    class_weight : dict, "balanced" or None, default=None
    n_jobs : int or None, default=None
    random_state : int, RandomState instance or None, default=None
        Seeds MEGM too.
    verbose : int, default=0

    Attributes
    ----------
    metric_ : transformer or None
        The fitted metric; None for "dann".
    n_neighbors_ : int
    leave_one_out_accuracy_ : dict of int to float
    centres_ : ndarray of shape (n_centres,)
    clear_lead_ : float
        With ``first_look`` or kept models: the lead in use.
    first_look_ : classifier
        With ``first_look``: the fitted one; its labels are numbers of classes.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    NeighborhoodSVC : The same in the metric of the features; explains all arguments.

    References
    ----------
    N. A. Zaidi and D. McG. Squire. Local adaptive SVM for object recognition. DICTA 2010.

    T. Hastie and R. Tibshirani. Discriminant adaptive nearest neighbor classification. IEEE PAMI
    18, 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal import AdaptiveNeighborhoodSVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 6))
    >>> y = (X[:, 0] * X[:, 1] > 0).astype(int)  # four features are noise
    >>> model = AdaptiveNeighborhoodSVC(random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.85)
    True
    """

    def __init__(
        self,
        n_neighbors: Any = "log",
        *,
        metric: Any = "megm",
        k: float = 3,
        kernel: Any = "rbf",
        sigma: Any = "local",
        degree: int = 3,
        coef0: float = 1.0,
        C: float = 10.0,
        algorithm: str = "exact",
        cache_neighborhoods: bool = False,
        first_look: Any = None,
        clear_lead: Any = "auto",
        tol: float = 1e-3,
        max_steps: int = 100_000,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.k = k
        self.kernel = kernel
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.C = C
        self.algorithm = algorithm
        self.cache_neighborhoods = cache_neighborhoods
        self.first_look = first_look
        self.clear_lead = clear_lead
        self.tol = tol
        self.max_steps = max_steps
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_arguments(self) -> None:
        super()._check_arguments()
        if isinstance(self.metric, str) or self.metric is None:
            check_choice("metric", self.metric, METRICS)
        elif isinstance(self.metric, type) or not hasattr(self.metric, "transform"):
            raise TypeError(f"metric must be 'megm', 'dann' or a transformer, not {self.metric!r}.")
        if self._is_local() and self.cache_neighborhoods:
            raise ValueError(
                "metric='dann' is a metric of each query's own; use cache_neighborhoods=False."
            )

    def _is_local(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "dann"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._is_local()
        return tags

    def _fit_map(self, data: LabelledRows, workers: Workers) -> None:
        self.metric_ = None
        if self._is_local():
            if sp.issparse(data.X):
                raise ValueError("metric='dann' does not take sparse rows; call X.toarray() first.")
            return
        metric = self.metric
        if isinstance(metric, str):
            metric = MEGM(n_jobs=self.n_jobs, random_state=self.random_state, verbose=self.verbose)
        ordered = merge_equal_rows(data)  # by content: the order of rows plays no part
        self.metric_ = clone(metric).fit(ordered.X, ordered.classes[ordered.target])

    def _mapped(self, X: Any) -> Any:
        return X if self.metric_ is None else transformed(self.metric_, X, "metric")

    def _found(
        self, queries: Any, k: int, workers: Workers, own: np.ndarray | None = None
    ) -> Neighbors:
        if self.metric_ is not None:
            return super()._found(queries, k, workers, own)
        pool = min(self._rows.X.shape[0] - (own is not None), max(POOL_FACTOR * k, SMALLEST_POOL))
        return super()._found(queries, pool, workers, own)

    def _local_scores(
        self,
        solver: NeighborhoodSolver,
        queries: Any,
        found: Neighbors,
        k: int,
        workers: Workers,
        in_question: np.ndarray | None = None,
    ) -> tuple[np.ndarray, int]:
        if self.metric_ is not None:
            return super()._local_scores(solver, queries, found, k, workers, in_question)
        # A pool of rows as given and as mapped, classes' shares, and the metric's matrices.
        pool = found.indices.shape[1]
        width = pool * (2 * queries.shape[1] + len(self._rows.classes)) + 6 * queries.shape[1] ** 2

        def measure(begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
            return self._dann_block(queries[begin:end], found.indices[begin:end], k)

        return solver.gram_scores(len(queries), k, measure, workers, width)

    def _dann_block(
        self, queries: np.ndarray, pools: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The ``k`` nearest in each query's own metric, and kernel values there."""
        X, target = self._rows.X, self._rows.target
        mapped = dann_rows(
            X[pools].astype(np.float64), queries.astype(np.float64), target[pools],
            len(self._rows.classes),
        )  # fmt: skip
        distances = np.einsum("qpd,qpd->qp", mapped, mapped)
        order = np.lexsort((pools, distances), axis=1)[:, :k]
        nearest = np.take_along_axis(pools, order, axis=1)
        distances = np.take_along_axis(distances, order, axis=1)
        # Where all lie on the query, the nearest decides.
        nearest[~distances.any(axis=1)] = nearest[~distances.any(axis=1), :1]
        rows = np.zeros((len(queries), k + 1, mapped.shape[2]))
        rows[:, :k] = np.take_along_axis(mapped, order[..., None], axis=1)
        return nearest, kernel_matrices(self._options, rows, distances)
