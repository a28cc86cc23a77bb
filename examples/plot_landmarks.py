"""
Landmarks and clusters: XOR and a spiral
========================================

:class:`~hyperlocal.LandmarkSVC` gives each cluster its own linear model on the same few landmarks,
and one bias to all. How many clusters it needs depends on how often the boundary turns: XOR is
solved by four, a spiral among noise takes many. These are the toys of the L3-SVM paper.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC, LinearSVC

from hyperlocal.datasets import make_spiral, make_xor
from hyperlocal.papers import LandmarkSVC
from hyperlocal.plots.plotting import plot_boundary


def compare(make, models):
    """One panel per model: rows, boundary, accuracy on as many test rows."""
    random = np.random.RandomState(0)
    (X, y), test = make(random_state=random), make(random_state=random)
    _, panels = plt.subplots(1, len(models), figsize=(13, 3.6), layout="constrained")
    for ax, (title, model) in zip(panels, models.items(), strict=True):
        plot_boundary(model.fit(X, y), X, y, ax=ax)
        for circles in ax.collections[-1:] if hasattr(model, "support_") else []:
            circles.remove()  # hundreds of support vectors would hide the boundary
        ax.set_title(f"{title}\n{model.score(*test):.1%} of test rows", fontsize=10)


def landmarks(n_anchors, **options):
    """Ten landmarks, so many clusters."""
    return LandmarkSVC(n_anchors, n_landmarks=10, random_state=0, **options)


# %%
# XOR: a linear SVM cannot separate it, two clusters are not enough, four are.

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
