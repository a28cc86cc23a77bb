"""
Comparison with a kernel SVM and boosted trees
==============================================

Error and prediction time on scikit-learn's digits, everything at its defaults but for the kernel
SVM's usual ``C=10``. Times are those of the machine that built this page, while it did other things
too: read them as orders of magnitude. The page of benchmarks has careful measurements.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC, LinearSVC

from hyperlocal import LocallyLinearSVC, SupervisedAnchorSVC

X, y = load_digits(return_X_y=True)
X = (X / 16).astype(np.float32)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

models = {
    "LocallyLinearSVC()": LocallyLinearSVC(random_state=0),
    "SupervisedAnchorSVC()": SupervisedAnchorSVC(random_state=0),
    "SVC(C=10)": SVC(C=10),
    "HistGradientBoosting (30 trees per class)": HistGradientBoostingClassifier(
        max_iter=30, random_state=0
    ),
    "LinearSVC()": LinearSVC(random_state=0),
}

# %%
# The fastest of five runs counts: the others were slowed down by other work.


def seconds(model):
    """Time to predict all test rows."""
    start = perf_counter()
    model.predict(X_test)
    return perf_counter() - start


figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for label, model in models.items():
    model.fit(X_train, y_train)
    error = 100 * (1 - model.score(X_test, y_test))
    per_row = 1e6 * min(seconds(model) for _ in range(5)) / len(X_test)
    (point,) = ax.plot(per_row, error, "o", ms=9)
    ax.annotate(label, (per_row, error), xytext=(9, 4), textcoords="offset points",
                color=point.get_color())  # fmt: skip
    print(f"{label:42} error {error:.2f} %, {per_row:.1f} µs per row")
ax.set(xscale="log", xlabel="time to predict a row, µs", ylabel="error, %")
ax.set_xlim(right=3 * ax.get_xlim()[1])
ax.set_ylim(bottom=0)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
