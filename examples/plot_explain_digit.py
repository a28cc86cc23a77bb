"""
Why this digit, and not that one?
=================================

With images, the contributions of the pixels are an image too. The difference of the contributions
to two classes says which pixels decided between them. With the difference of the references'
scores, and what jumps of the gate add, it sums exactly to the difference of the scores. The rows
shown are the test digits with the lowest margins.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from hyperlocal import LocallyLinearSVC

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
model = LocallyLinearSVC(random_state=0).fit(X_train, y_train)
scores = model.decision_function(X_test)
print(f"accuracy on test rows: {model.score(X_test, y_test):.1%}")

# %%
# The margin of a row is the difference of its two highest scores.

best_two = np.sort(scores, axis=1)[:, -2:]
rows = np.argsort(best_two[:, 1] - best_two[:, 0])[:4]

figure, panels = plt.subplots(2, 4, figsize=(10, 5.2), layout="constrained")
for (above, below), row in zip(panels.T, rows, strict=True):
    explanation = model.explain(X_test[row])
    rival, winner = np.argsort(explanation.scores)[-2:]
    difference = explanation.contributions[winner] - explanation.contributions[rival]
    limit = np.abs(difference).max()
    above.imshow(X_test[row].reshape(8, 8), cmap="gray_r")
    above.set_title(f"a {y_test[row]}, predicted {winner}", fontsize=11)
    below.imshow(difference.reshape(8, 8), cmap="PuOr", vmin=-limit, vmax=limit)
    margin = explanation.scores[winner] - explanation.scores[rival]
    below.set_title(f"{winner} (violet) or {rival} (orange)\nmargin {margin:.3f}", fontsize=10)
for ax in panels.flat:
    ax.set(xticks=[], yticks=[])
plt.show()
