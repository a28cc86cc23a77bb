"""
Pegasos and dual coordinate ascent, pass by pass
================================================

How far the objective of a linear SVM is above its optimum after each pass over the rows. Dual
coordinate ascent (SDCA) falls geometrically. Pegasos falls like one over the number of passes; its
average is far smoother than its last iterate. Batches make steps steadier but fewer; the order of
visits hardly matters, except that one fixed order may be unlucky.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.preprocessing import scale

from hyperlocal.plotting import plot_batch_sizes, plot_samplings, plot_solvers

X, y = make_classification(5_000, 20, n_informative=10, flip_y=0.05, random_state=0)
figure, panels = plt.subplots(1, 3, figsize=(13, 3.6), layout="constrained")
draws = {
    "solvers": plot_solvers,
    "batch sizes, last iterate": plot_batch_sizes,
    "sampling, last iterate": plot_samplings,
}
for ax, (title, draw) in zip(panels, draws.items(), strict=True):
    draw(scale(X), y, passes=30, ax=ax)
    ax.set_title(title, fontsize=11)
plt.show()
