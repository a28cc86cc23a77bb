"""
Learning from a stream
======================

Rows may come in batches, or not fit into memory: ``solver="sgd"`` learns from one batch at a time
by ``partial_fit``. The first batch places the anchors; every batch is visited once. For
comparison, a fit to all rows at once.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from hyperlocal import LocallyLinearSVC
from hyperlocal.linear import PegasosSVC

X, y = load_digits(return_X_y=True)
X = (X / 16).astype(np.float32)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
n_batches, n_passes = 10, 3

# %%
# ``classes`` must be known at the first call. The first batch also sets the regularizer
# ``λ = 1/Σ C``: as it holds a tenth of the rows, ten times ``C`` makes it the problem of all rows.
# Three passes over ten batches:


def stream_errors(model):
    """Test error in percent after each batch."""
    for _ in range(n_passes):
        for batch in np.array_split(np.arange(len(X_train)), n_batches):
            model.partial_fit(X_train[batch], y_train[batch], classes=np.arange(10))
            yield 100 * (1 - model.score(X_test, y_test))


streams = {
    "LocallyLinearSVC, stream": LocallyLinearSVC(16, solver="sgd", C=30, random_state=0),
    "PegasosSVC (linear), stream": PegasosSVC(10, random_state=0),
}
whole = LocallyLinearSVC(16, random_state=0).fit(X_train, y_train)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for label, model in streams.items():
    errors = list(stream_errors(model))
    ax.plot(np.arange(1, len(errors) + 1) / n_batches, errors, "o-", ms=3, label=label)
error = 100 * (1 - whole.score(X_test, y_test))
ax.axhline(error, color="#222222", ls="--", lw=1, label="LocallyLinearSVC, all rows at once")
ax.set(xlabel="passes over the rows", ylabel="test error, %")
ax.set_ylim(bottom=0)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
