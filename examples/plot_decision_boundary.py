"""
A boundary that bends where the data bend
=========================================

One anchor is a linear SVM. With twelve anchors, each row is scored by the six linear models nearest
to it, weighted by a smooth gate, and the boundary follows the crescents. Stars are anchors; the red
lines are tangents of the boundary near them.
"""

import matplotlib.pyplot as plt
from sklearn.preprocessing import scale

from hyperlocal import LocallyLinearSVC
from hyperlocal.datasets import make_banana
from hyperlocal.plots import BoundaryDisplay

X, y = make_banana(700, noise=0.15, random_state=3)
X = scale(X)

# %%
# ``feature_map=None`` gives linear local models: what bends the boundary is the gate alone.

models = {
    "one anchor: a linear SVM": LocallyLinearSVC(1, feature_map=None),
    "twelve anchors: a locally linear SVM": LocallyLinearSVC(12, n_neighbors=6, feature_map=None),
}
figure, panels = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax, (title, model) in zip(panels, models.items(), strict=True):
    model.set_params(random_state=0).fit(X, y)
    BoundaryDisplay.from_estimator(model, X, y, ax=ax)
    ax.set_title(f"{title}  ({model.score(X, y):.1%})", fontsize=11)
plt.show()

# %%
# At every point the model is a linear one; ``local_coef`` gives its weights. Here they are at two
# rows on different sides of a bend:

for row in X[[0, 400]]:
    print(f"at {row.round(2)}: weights {models[title].local_coef([row])[0, 0].round(2)}")
