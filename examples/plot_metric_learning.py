"""
A metric that ignores irrelevant features
==========================================

Nearest neighbors suffer from features that are independent of the label: they count in every
distance. :class:`~hyperlocal.preprocessing.MEGM` learns a linear map in which they do not. We add
features of pure noise to the wines of scikit-learn and compare local SVMs in the plain metric
(LSVM) and in the learned one (LASVM).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.preprocessing import scale

from hyperlocal import NeighborhoodSVC
from hyperlocal.papers import AdaptiveNeighborhoodSVC
from hyperlocal.preprocessing import MEGM

X, y = load_wine(return_X_y=True)
X = scale(X)
noise = np.random.default_rng(0).standard_normal((len(X), 160))
folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
n_noise = [0, 20, 40, 80, 160]


def accuracy(method, count):
    """Cross-validated accuracy in percent, with this many features of noise."""
    rows = np.hstack([X, noise[:, :count]])
    return 100 * cross_val_score(method(random_state=0), rows, y, cv=folds).mean()


methods = {"LSVM, plain metric": NeighborhoodSVC, "LASVM, learned metric": AdaptiveNeighborhoodSVC}
curves = {
    label: [accuracy(method, count) for count in n_noise] for label, method in methods.items()
}

# %%
# Besides the accuracies, the rows themselves: with 40 features of noise, after a map to two
# dimensions learned by MEGM.

rows = np.hstack([X, noise[:, :40]])
mapped = MEGM(n_components=2, random_state=0).fit(rows, y).transform(rows)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for label, values in curves.items():
    left.plot(n_noise, values, "o-", ms=4, label=label)
left.set(xlabel="features of noise, besides 13 real ones", ylabel="accuracy, %", ylim=(None, 100))
left.legend(frameon=False)
left.spines[["top", "right"]].set_visible(False)
right.scatter(*mapped.T, c=y, cmap="tab10", vmax=9, s=16)
right.set(title="53 features mapped to 2 by MEGM", xticks=[], yticks=[])
plt.show()
