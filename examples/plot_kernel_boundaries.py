"""
What C and σ do to a kernel SVM
===============================

Boundaries of :class:`~hyperlocal.KernelPegasosSVC` with a Gaussian kernel. Down the rows ``C``
grows: the soft margin gets narrower. Across the columns the width σ grows: a small one comes close
to the nearest neighbour, a large one to a straight line. Support vectors are circled.
"""

import matplotlib.pyplot as plt
from sklearn.preprocessing import scale

from hyperlocal.datasets import make_banana
from hyperlocal.plots.plotting import plot_boundaries

X, y = make_banana(200, noise=0.25, random_state=3)
plot_boundaries(scale(X), y)
plt.show()
