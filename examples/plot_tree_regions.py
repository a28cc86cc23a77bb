"""
A tree of gates
===============

:class:`~hyperlocal.papers.LocalDeepSVC` (LDKL) learns a tree that sends each row down one path; the
nodes on the path score it. Shades are the leaves' regions. Depth 0 is a single node: the product of
a linear score and of a gate, which is a squashed linear function.
"""

import matplotlib.pyplot as plt
from sklearn.preprocessing import scale

from hyperlocal.datasets import make_banana
from hyperlocal.papers import LocalDeepSVC
from hyperlocal.plots import TreeRegionsDisplay

X, y = make_banana(700, noise=0.15, random_state=3)
X = scale(X)

figure, panels = plt.subplots(1, 3, figsize=(12, 4.3), layout="constrained")
for ax, depth in zip(panels, (0, 2, 4), strict=True):
    model = LocalDeepSVC(depth, C=14.0, random_state=0).fit(X, y)
    TreeRegionsDisplay.from_estimator(model, X, y, ax=ax)
    leaves = "one node" if depth == 0 else f"{2**depth} leaves"
    ax.set_title(f"depth {depth}: {leaves}   ({model.score(X, y):.1%})", fontsize=11)
plt.show()
