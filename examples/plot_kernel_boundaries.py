"""
What C and γ do to a kernel SVM
===============================

Boundaries of :class:`~hyperlocal.KernelPegasosSVC` with the Gaussian kernel ``exp(−γ‖x − x'‖²)``.
Down the rows ``C`` grows: the margin (dashed) gets narrower. Across the columns γ falls and the
kernel gets wider: a narrow one comes close to the nearest neighbor, a wide one to a straight line.
Support vectors are circled.
"""

import matplotlib.pyplot as plt
from sklearn.preprocessing import scale

from hyperlocal import KernelPegasosSVC
from hyperlocal.datasets import make_banana
from hyperlocal.plots import BoundaryGridDisplay

X, y = make_banana(200, noise=0.25, random_state=3)
C, gamma = (0.1, 1, 100), (50, 2, 0.125)
display = BoundaryGridDisplay.from_estimator(
    KernelPegasosSVC(max_iter=5_000, random_state=0), scale(X), y,
    down={"regularization": [1 / (value * len(y)) for value in C]}, across={"gamma": gamma},
)  # fmt: skip
for axes, value in zip(display.axes_, C, strict=True):
    for ax, width in zip(axes, gamma, strict=True):
        ax.set_title(f"C = {value:g}, γ = {width:g}", fontsize=10)
plt.show()
