"""
How many anchors?
=================

The error of linear and of quadratic local models against the number of anchors, by cross-validation
over scikit-learn's digits. Linear local models need anchors to bend the boundary. Quadratic ones
bend by themselves, so a few suffice: that is why they are the default.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_score

from hyperlocal import LocallyLinearSVC

X, y = load_digits(return_X_y=True)
X = (X / 16).astype(np.float32)
folds = StratifiedKFold(3, shuffle=True, random_state=0)
n_anchors = [1, 2, 4, 8, 16, 32, 64]

# %%
# ``n_neighbors`` may not exceed the number of anchors.


def errors(feature_map, m):
    """Errors in percent, one per fold."""
    model = LocallyLinearSVC(m, n_neighbors=min(8, m), feature_map=feature_map, random_state=0)
    return 100 * (1 - cross_val_score(model, X, y, cv=folds))


figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for feature_map, label in ((None, "linear local models"), ("auto", "quadratic local models")):
    found = np.array([errors(feature_map, m) for m in n_anchors])
    ax.errorbar(
        n_anchors, found.mean(axis=1), found.std(axis=1) / np.sqrt(3), marker="o", ms=4,
        capsize=2, label=label,
    )  # fmt: skip
ax.set(xscale="log", xlabel="anchors", ylabel="error, %", xticks=n_anchors)
ax.set_xticklabels(n_anchors)
ax.minorticks_off()
ax.set_ylim(bottom=0)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
