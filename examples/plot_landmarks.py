"""
Landmarks and clusters: XOR and a spiral
========================================

:class:`~hyperlocal.papers.LandmarkSVC` gives each cluster its own linear model on the same few
landmarks, and one bias to all. How many clusters it needs depends on how often the boundary turns:
XOR is solved by four, a spiral among noise takes many. Both are examples of the L3-SVM paper.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC, LinearSVC

from hyperlocal.datasets import make_spiral, make_xor
from hyperlocal.papers import LandmarkSVC
from hyperlocal.plots import BoundaryDisplay


def compare(make, models):
    """One panel per model: rows, boundary, accuracy on as many test rows."""
    random = np.random.RandomState(0)
    (X, y), test = make(random_state=random), make(random_state=random)
    _, panels = plt.subplots(1, len(models), figsize=(13, 3.6), layout="constrained")
    for ax, (title, model) in zip(panels, models.items(), strict=True):
        model.fit(X, y)
        BoundaryDisplay.from_estimator(model, X, y, anchors=False, margins=True, ax=ax)
        ax.set_title(f"{title}\n{model.score(*test):.1%} of test rows", fontsize=10)


def landmarks(n_anchors, **options):
    """A model with ten landmarks and the given number of clusters."""
    return LandmarkSVC(n_anchors, n_landmarks=10, random_state=0, **options)


# %%
# XOR: a linear SVM is no better than chance, two clusters are not enough, four are.

compare(
    make_xor,
    {
        "linear SVM": LinearSVC(loss="hinge", max_iter=100_000),
        "L3-SVM, 2 clusters": landmarks(2),
        "L3-SVM, 4 clusters": landmarks(4),
        "RBF SVM": SVC(C=10),
    },
)
plt.show()

# %%
# A spiral. Soft clusters mix the models of the nearest ones, so the boundary has no jumps.

compare(
    make_spiral,
    {
        "L3-SVM, 10 clusters": landmarks(10),
        "L3-SVM, 100 clusters": landmarks(100),
        "100 soft clusters": landmarks(100, coding="soft"),
        "RBF SVM": SVC(C=10, gamma=10),
    },
)
plt.show()
