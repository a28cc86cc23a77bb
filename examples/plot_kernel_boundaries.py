"""
What C and γ do to a kernel SVM
===============================

Boundaries of :class:`~hyperlocal.linear.KernelPegasosSVC` with the Gaussian kernel ``exp(−γ‖x −
x'‖²)``. Down the rows ``C`` grows: the margin (dashed) gets narrower. Across the columns γ falls
and the kernel gets wider: a narrow one comes close to the nearest neighbor, a wide one to a
straight line. Support vectors are circled.
"""

import matplotlib.pyplot as plt
from sklearn.preprocessing import scale

from hyperlocal.datasets import make_banana
from hyperlocal.linear import KernelPegasosSVC
from hyperlocal.plots import BoundaryGridDisplay

X, y = make_banana(200, noise=0.25, random_state=3)
BoundaryGridDisplay.from_estimator(
    KernelPegasosSVC(max_iter=5_000, random_state=0), scale(X), y, down={"C": (0.1, 1, 100)},
    across={"gamma": (50, 2, 0.125)},
)  # fmt: skip
plt.show()
