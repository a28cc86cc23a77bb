"""
Anchors that learn
==================

Two sine waves and four anchors, the example of the LLC-SAPL paper. K-means places the anchors
without the labels. Learned together with the classifier, they move (dotted lines) to where the
boundary bends. A kernel SVM does a little better, with a hundred support vectors.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.svm import SVC

from hyperlocal import LocallyLinearSVC, SupervisedAnchorSVC
from hyperlocal.datasets import make_sines

X, y = make_sines(2000, random_state=0)
X_test, y_test = make_sines(4000, random_state=1)
mean, deviation = X.mean(axis=0), X.std(axis=0)
X, X_test = (X - mean) / deviation, (X_test - mean) / deviation

fixed = LocallyLinearSVC(4, n_neighbors=3, feature_map=None, random_state=0).fit(X, y)
learned = SupervisedAnchorSVC(4, n_neighbors=3, random_state=0).fit(X, y)
kernel = SVC(C=10, gamma=1).fit(X, y)
kernel_title = f"RBF SVC, {len(kernel.support_)} support vectors"

# %%
# Learned anchors may lie outside the rows: the gate needs only the distances to them. The accuracy
# on test rows is given above each panel.

figure, panels = plt.subplots(1, 3, figsize=(12.5, 3.9), layout="constrained")
models = {"4 fixed anchors": fixed, "4 learned anchors": learned, kernel_title: kernel}
for ax, (title, model) in zip(panels, models.items(), strict=True):
    DecisionBoundaryDisplay.from_estimator(
        model, np.vstack([X, learned.anchors_]), response_method="decision_function", eps=0.3,
        plot_method="contour", levels=[0], colors="#222222", linewidths=2, ax=ax,
    )  # fmt: skip
    ax.scatter(*X.T, c=np.where(y == 1, "#d9822b", "#2f6fab"), s=5, lw=0)
    ax.set(xticks=[], yticks=[])
    ax.set_title(f"{title}   ({model.score(X_test, y_test):.1%})", fontsize=11)
for start, end in zip(learned.initial_anchors_, learned.anchors_, strict=True):
    panels[1].plot(*np.array([start, end]).T, ":", color="#222222")
for ax, model in zip(panels, (fixed, learned), strict=False):
    ax.plot(*model.anchors_.T, "*", color="#222222", ms=13, mec="white", mew=0.9)
plt.show()
