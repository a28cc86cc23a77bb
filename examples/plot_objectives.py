"""
Pegasos and dual coordinate ascent, pass by pass
================================================

How far the objective of a linear SVM is above its optimum after each pass over the rows. The
average of Pegasos' iterates falls steadily. Its last iterate wobbles, and so does dual coordinate
ascent (SDCA): it climbs the dual, and in these first passes the primal objective need not fall at
every step. Larger batches mean fewer steps per pass; the order of visits hardly matters.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.preprocessing import scale

from hyperlocal.plots.plotting import plot_batch_sizes, plot_samplings, plot_solvers

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
