"""
Anchors as prototypes
=====================

Anchors are points among the rows, so anchors of images are images: the model's own summary of the
data. Below each prototype is the weight map of its local model for the class that most of its rows
have: orange pixels speak for the class there, violet ones against it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from hyperlocal import LocalCoder, LocallyLinearSVC

X, y = load_digits(return_X_y=True)
X = X / 16
model = LocallyLinearSVC(12, feature_map=None, random_state=0).fit(X, y)

# %%
# Which rows belong to which anchor is what a hard coding on the same anchors says.

coder = LocalCoder(12, coding="hard", anchors=model.anchors_).fit(X)
nearest = coder.transform(X).argmax(axis=1)
common = [np.bincount(y[nearest == anchor]).argmax() for anchor in range(12)]

figure, panels = plt.subplots(4, 6, figsize=(9, 6.8), layout="constrained")
pairs = zip(panels[::2].ravel(), panels[1::2].ravel(), np.argsort(common), strict=True)
for above, below, anchor in pairs:
    weights = model.coef_[anchor, common[anchor]]
    limit = np.abs(weights).max()
    above.imshow(model.anchors_[anchor].reshape(8, 8), cmap="gray_r")
    above.set_title(f"{(nearest == anchor).sum()} rows", fontsize=10)
    below.imshow(weights.reshape(8, 8), cmap="PuOr_r", vmin=-limit, vmax=limit)
    below.set_title(f"weights of {common[anchor]}", fontsize=10)
for ax in panels.flat:
    ax.set(xticks=[], yticks=[])
plt.show()
