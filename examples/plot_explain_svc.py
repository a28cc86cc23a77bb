"""
Exact explanations of a kernel SVM and of a second look
=======================================================

``hyperlocal.explain`` states the score of scikit-learn's ``SVC`` as a sum over the features of the
input, exactly: the mean score of reference rows, and what each feature adds on the way to the row.
The scaler before it is undone, so values are in the input's units.
"""

# %%
# A kernel SVM
# ------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from hyperlocal import SecondLookSVC, explain
from hyperlocal.plots import ContributionMapDisplay, DependenceDisplay, ExplanationDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
svc = make_pipeline(StandardScaler(), SVC()).fit(X_train, y_train)
borderline = np.abs(svc.decision_function(X_test)).argmin()
explanation = explain(svc, X_test.iloc[borderline], background=X_train.sample(20, random_state=0))
print(explanation)

# %%
# As a waterfall from the reference to the score, and several rows as a heat map.

_, (left, right) = plt.subplots(1, 2, figsize=(14, 5), layout="constrained")
ExplanationDisplay(explanation).plot(left, waterfall=True)
ContributionMapDisplay(explain(svc, X_test[:20])).plot(right)

# %%
# The contribution of one feature against its value:

DependenceDisplay.from_estimator(svc, X_test, "worst texture")

# %%
# A second look
# -------------
#
# A row whose margin is low gets a small kernel SVM of its own. Its contributions are relative to
# the mean of the neighborhood that this SVM was trained on.

scaler = StandardScaler().set_output(transform="pandas").fit(X_train)
second = SecondLookSVC(low_margin=0.5, random_state=0).fit(scaler.transform(X_train), y_train)
row = scaler.transform(X_test.iloc[[borderline]])
print(second.explain(row))
ExplanationDisplay.from_estimator(second, row, waterfall=True)
