"""
Anchors as prototypes
=====================

Anchors are points among the rows, so anchors of images are images: the model's own summary of the
data. Each has a linear model of its own, whose weights on the pixels are an image too.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from hyperlocal import LocallyLinearSVC
from hyperlocal.plots import PrototypeDisplay, WeightMapDisplay

X, y = load_digits(return_X_y=True)
X = X / 16
model = LocallyLinearSVC(12, feature_map=None, random_state=0).fit(X, y)
print(f"{model.score(X, y):.1%} of the training rows are right")

# %%
# Above each prototype stands what the model says of it.

PrototypeDisplay.from_estimator(model, image_shape=(8, 8))
plt.show()

# %%
# The weights of the same twelve local models for the class 3: what speaks for a three differs from
# place to place.

WeightMapDisplay.from_estimator(model, label=3, image_shape=(8, 8))
plt.show()
