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
from sklearn.model_selection import StratifiedKFold

from hyperlocal import LocallyLinearSVC
from hyperlocal.plots import AnchorCurveDisplay

X, y = load_digits(return_X_y=True)
X = (X / 16).astype(np.float32)
folds = StratifiedKFold(3, shuffle=True, random_state=0)

# %%
# The display lowers ``n_neighbors`` where there are fewer anchors.

figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for feature_map, name in ((None, "linear local models"), ("auto", "quadratic local models")):
    AnchorCurveDisplay.from_estimator(
        LocallyLinearSVC(feature_map=feature_map, random_state=0), X, y,
        n_anchors=(1, 2, 4, 8, 16, 32, 64), cv=folds, name=name, ax=ax,
    )  # fmt: skip
plt.show()
