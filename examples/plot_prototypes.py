"""
Anchors as prototypes
=====================

Anchors are points among the rows, so anchors of images are images: a summary of the data. Each has
a linear model of its own, whose weights on the pixels are an image too.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from hyperlocal import LocallyLinearSVC
from hyperlocal.plots import PrototypeDisplay, WeightMapDisplay

X, y = load_digits(return_X_y=True)
X = X / 16
model = LocallyLinearSVC(12, feature_map=None, random_state=0).fit(X, y)
print(f"accuracy on the training rows: {model.score(X, y):.1%}")

# %%
# Above each prototype is the class that the model predicts for it.

PrototypeDisplay.from_estimator(model, image_shape=(8, 8))
plt.show()

# %%
# The weights of the same twelve local models for the class 3: what raises its score differs from
# place to place.

WeightMapDisplay.from_estimator(model, label=3, image_shape=(8, 8))
plt.show()
