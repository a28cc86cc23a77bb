"""
What a gate does
================

A gate turns a row into a few weights, one per nearby anchor. The picture shows the weight of one
anchor (the star in white) over the plane, for each coding: who hears this anchor, and how loudly.
"""

import matplotlib.pyplot as plt
import numpy as np

from hyperlocal import LocalCoder

rng = np.random.default_rng(0)
anchors = rng.uniform(-1, 1, (14, 2))
middle = int(np.argmin((anchors**2).sum(axis=1)))
a, b = np.meshgrid(np.linspace(-1.1, 1.1, 160), np.linspace(-1.1, 1.1, 160))
plane = np.column_stack([a.ravel(), b.ravel()])

# %%
# :class:`~hyperlocal.LocalCoder` gives the codes as a sparse matrix, a column per anchor. The soft
# coding is smooth but for small steps where an anchor leaves the four nearest; the reconstruction
# codings (LLE, LLC, LCC) may give negative weights; the hard one is a tiling.

codings = ("soft", "inverse_distance", "hard", "lle", "llc", "lcc")
figure, panels = plt.subplots(2, 3, figsize=(9.6, 6.4), layout="constrained")
for ax, coding in zip(panels.flat, codings, strict=True):
    coder = LocalCoder(14, n_neighbors=4, coding=coding, anchors=anchors).fit(plane)
    weights = coder.transform(plane)[:, [middle]].toarray().reshape(a.shape)
    image = ax.pcolormesh(a, b, weights, cmap="RdBu_r", vmin=-1, vmax=1, rasterized=True)
    ax.plot(*anchors.T, "*", color="#222222", ms=9, mec="white", mew=0.6)
    ax.plot(*anchors[middle], "*", color="white", ms=15, mec="#222222")
    ax.set(title=coding, xticks=[], yticks=[], aspect="equal")
figure.colorbar(image, ax=panels, shrink=0.7, label="weight of the anchor in white")
plt.show()
