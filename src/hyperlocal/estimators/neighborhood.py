"""NeighborhoodSVC: one SVM per query, on its nearest training rows (LSVM, SVM-KNN)."""

from __future__ import annotations

from dataclasses import dataclass

from .neighborhood_classifier import NeighborhoodClassifier


@dataclass(eq=False, repr=False)
class NeighborhoodSVC(NeighborhoodClassifier):
    """One support vector machine per query, trained on its nearest training rows.

    For each row to predict, the ``K`` nearest training rows are found. If they are all of one
    class, that class is predicted; otherwise one kernel SVM against the rest is trained on them for
    each class present. With ``K = k log2 N`` this is LSVM; with ``K`` chosen from a list, SVM-KNN.
    ``fit`` trains nothing (unless ``cache_neighborhoods=True``).

    Ties are decided by a fixed rule: equally near rows count in their order in ``X``; where scores
    are equal, or all neighbors lie on the query (``gamma="local"`` is then no scale), the class of
    the nearest neighbor is predicted.

    Parameters
    ----------
    n_neighbors : "auto", int, callable or sequence of int, default="auto"
        Size of a neighborhood, ``K``. "auto" is the LSVM paper's ``3 log2 N`` for N distinct rows;
        it is no fixed number, because among more rows as many neighbors are nearer. A function is
        called with N and returns the size: the paper's ``k log2 N`` is
        ``lambda n_rows: k * math.log2(n_rows)``. From a sequence, the size of the highest
        leave-one-out accuracy on training rows is chosen (the smallest of equals; by at most 10,000
        rows).
    kernel : {"rbf", "linear", "poly"} or callable, default="rbf"
        ``exp(−γ‖x − x'‖²)``, ``γ x·x'`` or ``(γ x·x' + coef0)^degree``, of rows less the query. A
        callable gets two arrays of rows as they are and returns the matrix of kernel values; it is
        called once per query, which is slow.
    gamma : "local", "scale", "auto" or float, default="local"
        ``γ``. "local" is a value for each query: with ``s²`` the mean squared distance from the
        query to its neighbors, ``1/(2s²)`` for "rbf", and ``1/s²`` for "linear" and "poly". It is
        the default because one value for all queries can make a kernel matrix nearly the identity
        in high dimension. "scale" is one over the number of features times their variance, "auto"
        one over the number of features, as in scikit-learn's ``SVC``.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        Constant of the polynomial kernel.
    algorithm : {"exact", "tree", "approximate"}, default="exact"
        How neighbors are found: by blocked matrix products; by a k-d or ball tree, which is faster
        for few features; or only in the nearest cells of a partition, which finds about 99 % of
        the neighbors, for millions of dense rows.
    cache_neighborhoods : bool, default=False
        Train the SVMs of centers that cover the training rows once, at ``fit``, and score a query
        by those of the nearest center (FaLK-SVM). Prediction is faster, ``fit`` slower.
    C : float, default=10.0
        The largest dual variable of a row of weight one. The default is larger than that
        of other estimators, because it is the LSVM paper's.
    tol : float, default=1e-3
        Tolerance of the optimality conditions of a local SVM, as in LIBSVM.
    max_iter : int, default=100000
        The most steps of one local SVM. The default is larger than where epochs are counted,
        because a step changes two dual variables only.
    n_jobs : int or None, default=None
        Threads over queries. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the approximate index and the choice of rows by which one of several sizes is chosen.
    verbose : int, default=0
        1 writes progress of the choice of ``n_neighbors`` and of scoring to stderr.
    low_margin : float, default=1.0
        With ``cache_neighborhoods=True``: a query whose best score is less than this above the
        second best (for two classes: whose score is less than half of this from zero) is scored by
        the second nearest center too; if that predicts another class, it gets an SVM of its own.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.

    Attributes
    ----------
    n_neighbors_ : int
        The size of neighborhoods in use.
    leave_one_out_accuracy_ : dict of int to float, or None
        If a sequence of sizes was given: the accuracy of each.
    centers_ : ndarray of shape (n_centers,), or None
        With ``cache_neighborhoods=True``: the (distinct) training rows that are centers.
    model_ : QuerySvms or CachedSvms
        The training rows and how queries are scored.
    n_iter_ : int
        Passes of ``fit`` over the training rows: always 1. Steps of local SVMs are not counted.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    SecondLookSVC : A quick classifier first, and these SVMs where its margin is low.
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
