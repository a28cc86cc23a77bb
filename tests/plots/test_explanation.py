"""Tests of hyperlocal.plots.explanation: contributions as bars."""

import pytest

from hyperlocal.plots import ExplanationDisplay, MeanContributionsDisplay
from model.models import fitted


def test_bars():
    """A bar per feature shown, one for the others, one for the intercept."""
    pytest.importorskip("matplotlib").use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    model, X = fitted("linear")
    ax = ExplanationDisplay.from_estimator(model, X[0], n_features=3).ax_
    assert [label.get_text() for label in ax.get_yticklabels()][3:] == [
        "2 others",
        "gate",
        "reference",
    ]
    total = sum(bar.get_width() for bar in ax.patches)
    explanation = model.explain(X[0])
    assert total == pytest.approx(explanation.scores[explanation.column])
    assert len(MeanContributionsDisplay.from_estimator(model, X, n_features=2).ax_.patches) == 2
    plt.close("all")


def test_waterfalls_end_at_the_score():
    """Bars follow one another from the reference to the score."""
    pytest.importorskip("matplotlib").use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    model, X = fitted("linear")
    explanation = model.explain(X[0])
    ax = ExplanationDisplay(explanation).plot(waterfall=True).ax_
    *_, last, total = ax.patches
    score = explanation.scores[explanation.column]
    assert last.get_x() + last.get_width() == pytest.approx(score)
    assert (total.get_x(), total.get_width()) == (0, pytest.approx(score))
    assert ax.get_yticklabels()[-1].get_text() == "score"
    plt.close("all")
