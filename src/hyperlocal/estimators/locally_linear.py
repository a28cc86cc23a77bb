"""LocallyLinearSVC: the locally linear SVM of Ladický and Torr (2011), LL-SVM."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..runtime.progress import with_callbacks
from .chain import ChainClassifier


class LocallyLinearSVC(ChainClassifier):
    """Locally linear support vector classifier.

    Near each of ``n_anchors`` points sits a linear (or quadratic, …) model; a row is scored by its
    ``n_neighbors`` nearest ones, mixed by a smooth gate ``γ``:
    ``f_c(x) = Σ_j γ_j(x) (w_jc · φ(x) + b_jc)``. All of them are trained jointly, by one convex
    problem ``min ½‖W‖² + C Σ_i s_i ℓ_i``.

    Parameters
    ----------
    n_anchors : int or "auto", default="auto"
        Number of local models ``m``. "auto" is ``max(8, √N/4)``, at most N/8, of N distinct rows.
        One anchor is a linear SVM.
    n_neighbors : int, default=8
        Active local models per row, ``k``.
    coding : {"soft", "inverse_distance", "lle", "llc", "lcc", "hard"}, default="soft"
        How the gate weighs them: by ``exp(−β‖x − v‖²)``, by ``1/‖x − v‖``, by locally linear
        reconstruction (plain, with a locality penalty, sparse), or the nearest alone.
    beta : float or "auto", default="auto"
        Sharpness of the soft coding. "auto" is one over the median gap between the squared
        distances to the nearest and the (k/2)-th nearest anchor.
    anchors : {"kmeans", "random"} or array of shape (n_anchors, width), default="kmeans"
        Where the local models sit. A given array may come from unlabelled rows too.
    feature_map : {"auto", None, "identity", "quadratic", "additive_chi2", "intersection", \
"nystroem", "bias_only"}, transformer or FeatureMap, default="auto"
        What a local model sees, ``φ(x)``: the row itself (None), all products of pairs of features
        ("quadratic"), a finite map of an additive kernel, and so on. "auto" is quadratic on
        rescaled rows (so that features and products weigh alike), above 64 features on their 40
        principal components; sparse rows are seen as they are.
    code_on : {"input", "features"}, column indices or transformer, default="input"
        What distances to anchors are measured on.
    normalize : bool, default=True
        Scale each lifted row ``γ ⊗ [φ, 1]`` to norm one: one ``C`` then fits most data, and
        training needs few epochs. False is the papers' form.
    C : float, default=3.0
        Weight of the losses against ``½‖W‖²``.
    loss : {"squared_hinge", "hinge", "log"}, default="squared_hinge"
        "log" gives ``predict_proba``.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One problem per class against the rest, or one joint problem.
    solver : {"dual", "sgd", "qp"}, default="dual"
        Dual coordinate descent; stochastic gradient (the papers' Algorithm 1; ``partial_fit``);
        an interior-point method for small data (needs the extra ``hyperlocal[qp]``).
    max_iter : int, default=1000
        The most epochs.
    tol : float, default=1e-3
        Relative duality gap at which "dual" stops; relative progress per epoch at which "sgd" does.
    intercept_scaling : float, default=1.0
        The constant feature ``B``; biases are penalised like weights (not by "sgd").
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.
    n_jobs : int or None, default=None
        Threads: over rows for codes and scores, over classes for training. The result does not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds anchors and the order of visits.
    warm_start : bool, default=False
        Go on from the last fit: keep gate and map while their arguments stay the same, and start
        from its dual variables (for the same rows) or weights ("sgd").
    verbose : int, default=0
        1 writes progress to stderr now and then, 2 every epoch.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, width)
    beta_ : float
    coef_ : ndarray of shape (n_anchors, n_columns, p)
        Weights of the local models; one column per class, or one for two classes.
    intercept_ : ndarray of shape (n_anchors, n_columns)
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Epochs run.
    objective_, duality_gap_ : float
        The primal objective reached, and how far above the optimum it can be at most.
    history_ : list of (epoch, objective, duality gap)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    LocalCodingSVC : A linear SVM on the codes alone.
    LocalCoder : The codes as a transformer.

    References
    ----------
    L. Ladický and P. H. S. Torr. Locally linear support vector machines. ICML 2011.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hyperlocal import LocallyLinearSVC
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = LocallyLinearSVC(random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.95)
    True
    >>> model.local_coef(X[200:201]).shape
    (1, 1, 2)
    """

    def __init__(
        self,
        n_anchors: Any = "auto",
        *,
        n_neighbors: int = 8,
        coding: str = "soft",
        beta: Any = "auto",
        anchors: Any = "kmeans",
        feature_map: Any = "auto",
        code_on: Any = "input",
        normalize: bool = True,
        C: float = 3.0,
        loss: str = "squared_hinge",
        multi_class: str = "ovr",
        solver: str = "dual",
        max_iter: int = 1000,
        tol: float = 1e-3,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ):
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.coding = coding
        self.beta = beta
        self.anchors = anchors
        self.feature_map = feature_map
        self.code_on = code_on
        self.normalize = normalize
        self.C = C
        self.loss = loss
        self.multi_class = multi_class
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    @with_callbacks
    def fit_stream(
        self,
        stream: Iterable[Any],
        classes: Any = None,
        *,
        block_rows: Any = "auto",
        folder: Any = None,
    ) -> Any:
        """Fit to rows that come in blocks, with little more in memory than one block.

        The problem and its solution are those of :meth:`fit`; but anchors, gate and feature map are
        fitted to a uniform sample of 20,000 rows (64 per anchor, if that is more). Up to 16,384
        rows both methods place the same gate.

        Parameters
        ----------
        stream : iterable of (X, y) or (X, y, sample_weight)
            Blocks of rows, of any sizes, such as :func:`hyperlocal.datasets.stream` reads from a
            file; a list or a generator will do. It is read once.
        classes : array-like, default=None
            All labels there may be; by default those of the stream.
        block_rows : int or "auto", default="auto"
            Rows that are trained on at a time. "auto" is what takes about 128 MB.
        folder : path, default=None
            Where to make the working folder, which is removed at the end: on a disk that has room
            for the rows in binary form, a few numbers per row and active anchor, and one per row
            and class. By default where the system keeps temporary files.

        Returns
        -------
        self
            ``n_iter_`` counts passes over the rows; ``warm_start`` has no effect.

        Examples
        --------
        >>> import numpy as np
        >>> from hyperlocal import LocallyLinearSVC
        >>> def blocks():
        ...     rng = np.random.default_rng(0)
        ...     for _ in range(5):
        ...         X = rng.standard_normal((200, 2))
        ...         yield X, X[:, 0] * X[:, 1] > 0
        >>> model = LocallyLinearSVC(random_state=0).fit_stream(blocks())
        >>> model.predict([[1.0, 1.0], [1.0, -1.0]])
        array([ True, False])
        """
        return self._fit_stream(stream, classes, block_rows, folder)
