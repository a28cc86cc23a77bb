"""NeighborhoodSVC: one SVM per query, on its nearest training rows (LSVM, SVM-KNN)."""

from __future__ import annotations

from typing import Any

from .neighborhood_base import NeighborhoodClassifier


class NeighborhoodSVC(NeighborhoodClassifier):
    """One support vector machine per query, trained on its nearest training rows.

    For each row to predict, the ``K`` nearest training rows are found. If they are all of one
    class, that is the answer; otherwise one kernel SVM against the rest is trained on them for each
    class present. With ``K = k log2 N`` this is LSVM; with ``K`` chosen from a list, SVM-KNN.
    ``fit`` trains nothing (unless ``cache_neighborhoods=True``).

    Ties are decided by a fixed rule: equally near rows count in their order in ``X``; where scores
    are equal, or all neighbours lie on the query (``sigma="local"`` is then no scale), the class of
    the nearest neighbour wins.

    Parameters
    ----------
    n_neighbors : "log", int or list of int, default="log"
        Size of a neighbourhood, ``K``. "log" is ``k log2 N`` for N distinct rows. From a list, the
        size that errs least on training rows, each left out in turn, is chosen (the smallest of
        equals; by at most 10,000 rows).
    k : float, default=3
        Factor of ``n_neighbors="log"``.
    kernel : {"rbf", "linear", "poly"} or callable, default="rbf"
        ``exp(−‖x − x'‖²/2)``, ``x·x'`` or ``(x·x' + coef0)^degree``, of rows taken about the query
        and divided by ``sigma``. A callable gets two arrays of rows as they are and returns the
        matrix of kernel values; it is called once per query, which is slow.
    sigma : "local" or float, default="local"
        Length scale of the kernel. "local" is the root mean squared distance from the query to its
        neighbours.
    degree : int, default=3
    coef0 : float, default=1.0
    C : float, default=10.0
        The largest dual variable of a row of weight one.
    algorithm : {"exact", "tree", "approximate"}, default="exact"
        How neighbours are found: by blocked matrix products; by a k-d or ball tree, which pays with
        few features; or in an approximate index, for millions of rows (needs the extra
        ``hyperlocal[approximate]``).
    cache_neighborhoods : bool, default=False
        Train the SVMs of centres that cover the training rows once, at ``fit``, and answer a query
        by those of the nearest centre (FaLK-SVM). Only a query that this one is not clear about
        and the second nearest answers otherwise gets SVMs of its own. Prediction is faster, ``fit``
        slower.
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
        Tolerance of the optimality conditions of a local SVM, as in LIBSVM.
    max_steps : int, default=100000
        The most steps of one local SVM.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.
    n_jobs : int or None, default=None
        Threads over queries. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the rows that judge a list of sizes or choose ``clear_lead``, the approximate index,
        and a first look that has no seed of its own.
    verbose : int, default=0
        1 writes progress of the choice of ``n_neighbors`` to stderr.

    Attributes
    ----------
    n_neighbors_ : int
        The size of neighbourhoods in use.
    leave_one_out_accuracy_ : dict of int to float
        If a list of sizes was given: the accuracy of each.
    centres_ : ndarray of shape (n_centres,)
        With ``cache_neighborhoods=True``: the (distinct) training rows that are centres.
    clear_lead_ : float
        With ``first_look`` or kept models: the lead in use.
    first_look_ : classifier
        With ``first_look``: the fitted one; its labels are numbers of classes.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    AdaptiveNeighborhoodSVC : The same in a learned metric.

    References
    ----------
    N. A. Zaidi and D. McG. Squire. Local adaptive SVM for object recognition. DICTA 2010.

    H. Zhang, A. C. Berg, M. Maire and J. Malik. SVM-KNN: discriminative nearest neighbor
    classification for visual category recognition. CVPR 2006.

    N. Segata and E. Blanzieri. Fast and scalable local kernel machines. JMLR 11, 2010.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hyperlocal import NeighborhoodSVC
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = NeighborhoodSVC().fit(X[:200], y[:200])
    >>> model.n_neighbors_
    23
    >>> bool(model.score(X[200:], y[200:]) > 0.95)
    True
    """

    def __init__(
        self,
        n_neighbors: Any = "log",
        *,
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
