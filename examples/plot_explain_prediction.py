"""
Why this prediction?
====================

What each feature adds to the score of a row, relative to reference rows that the model keeps. The
mean score of these, the contributions, and what jumps of the gate add sum to the decision function,
to rounding. Here are a clear case and a borderline case of scikit-learn's breast cancer data.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from hyperlocal import LocallyLinearSVC
from hyperlocal.plots import ExplanationDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
labels = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, labels, random_state=0)
scaler = StandardScaler().set_output(transform="pandas").fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
model = LocallyLinearSVC(random_state=0).fit(X_train, y_train)
print(f"accuracy on test rows: {model.score(X_test, y_test):.1%}")

# %%
# ``explain`` takes one row. Printed, it is a table.

scores = model.decision_function(X_test)
clear, borderline = int(scores.argmax()), int(np.abs(scores).argmin())
explanation = model.explain(X_test.iloc[borderline])
print(explanation)
total = explanation.references[0] + explanation.contributions.sum() + explanation.remainders[0]
assert np.isclose(total, scores[borderline])

# %%
# The largest contributions of both rows. In the clear case features agree; in the borderline case
# they cancel.

figure, panels = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for ax, row, title in zip(panels, (clear, borderline), ("clear", "borderline"), strict=True):
    ExplanationDisplay.from_estimator(model, X_test.iloc[row], ax=ax)
    ax.set_title(f"{title}: score {scores[row]:+.2f}", fontsize=11)
plt.show()
