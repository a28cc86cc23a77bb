"""
What a gate does
================

A gate turns a row into a few weights, one per active anchor. Each panel shows the weight of one
anchor (the white star) over the plane, for one coding: where this anchor is active, and with which
weight.
"""

import matplotlib.pyplot as plt
import numpy as np

from hyperlocal.plots import GateDisplay
from hyperlocal.preprocessing import LocalCoder

anchors = np.random.default_rng(0).uniform(-1, 1, (14, 2))
middle = int(np.argmin((anchors**2).sum(axis=1)))
corners = np.array([[-1, -1], [1, 1]])

# %% :class:`~hyperlocal.preprocessing.LocalCoder` gives the codes as a sparse matrix, a column per
# anchor. The soft coding is smooth but for small steps where an anchor leaves the four nearest; the
# reconstruction codings (LLE, LLC, LCC) may give negative weights; the hard one is a partition of
# the plane.

codings = ("soft", "inverse_distance", "hard", "lle", "llc", "lcc")
figure, panels = plt.subplots(2, 3, figsize=(9.6, 6.4), layout="constrained")
for ax, coding in zip(panels.flat, codings, strict=True):
    coder = LocalCoder(14, n_neighbors=4, coding=coding, anchors=anchors).fit(anchors)
    display = GateDisplay.from_estimator(coder, corners, anchor=middle, ax=ax)
    ax.set(title=coding, aspect="equal")
figure.colorbar(display.image_, ax=panels, shrink=0.7, label="weight of the white anchor")
plt.show()
