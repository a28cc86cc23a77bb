"""
Pegasos and dual coordinate ascent, pass by pass
================================================

How far the objective of a linear SVM is above its optimum after each pass over the rows. The
average of Pegasos' iterates falls steadily. Its last iterate goes up and down, and so does dual
coordinate ascent (SDCA): it maximizes the dual, and in these first passes the primal objective need
not fall at every step. Larger batches mean fewer steps per pass; the order of visits hardly
matters.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.preprocessing import scale

from hyperlocal.linear import SDCASVC, PegasosSVC
from hyperlocal.plots import ObjectiveDisplay

X, y = make_classification(5_000, 20, n_informative=10, flip_y=0.05, random_state=0)
X = scale(X)


def pegasos(**options):
    """Pegasos, by its last iterate unless averaged."""
    return PegasosSVC(**{"average": False, "random_state": 0, **options})


# %%
# ``reference`` solves the same problem precisely; its lower bound is what the curves approach.

panels = {
    "solvers": {
        "Pegasos, last iterate": pegasos(),
        "Pegasos, averaged": pegasos(average=True),
        "SDCA": SDCASVC(random_state=0),
    },
    "batch sizes, last iterate": {
        f"batches of {size}": pegasos(batch_size=size) for size in (1, 10, 100, 1000)
    },
    "sampling, last iterate": {
        sampling.replace("_", " "): pegasos(sampling=sampling)
        for sampling in ("permutation", "fixed_permutation", "replacement")
    },
}
reference = SDCASVC(tol=1e-6, max_iter=10_000, random_state=0)
figure, grid = plt.subplots(1, 3, figsize=(13, 3.6), layout="constrained")
for ax, (title, models) in zip(grid, panels.items(), strict=True):
    ObjectiveDisplay.from_estimators(models, X, y, passes=30, reference=reference, ax=ax)
    ax.set_title(title, fontsize=11)
plt.show()
