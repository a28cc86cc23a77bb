"""Tests of hyperlocal.plots.plotting: what curves say, and that figures are drawn."""

import sys

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning

from hyperlocal import SDCASVC, KernelPegasosSVC, PegasosSVC
from hyperlocal.plots import plotting

pytest.importorskip("matplotlib").use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

X, y = make_classification(150, 5, random_state=0)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize(
    "model",
    [
        PegasosSVC(1 / 150, random_state=0),
        PegasosSVC(1 / 150, sampling="fixed_permutation", batch_size=5, random_state=0),
        KernelPegasosSVC(kernel="linear", random_state=0),
        SDCASVC(random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_curves_approach_the_optimum(model):
    """Every solver's objectives are in the same units, and come down to the same optimum."""
    best = SDCASVC(tol=1e-6, max_iter=100_000, random_state=0).fit(X, y).objective_ / 150
    curve = plotting.objective_curve(model, X, y, passes=60)
    assert [number for number, _ in curve] == list(range(1, 61))
    objectives = np.array([objective for _, objective in curve])
    assert (objectives >= best * (1 - 1e-6)).all()
    assert objectives[-1] < best * 1.1


@pytest.mark.parametrize(
    ("draw", "n_lines"),
    [(plotting.plot_solvers, 3), (plotting.plot_batch_sizes, 4), (plotting.plot_samplings, 3)],
)
def test_objective_figures(draw, n_lines):
    """A line per contender, on a logarithmic scale, above zero."""
    ax = draw(X, y, passes=4)
    assert len(ax.lines) == n_lines
    assert ax.get_yscale() == "log"
    for line in ax.lines:
        assert len(line.get_xdata()) == 4
        assert (line.get_ydata() > 0).all()


def test_boundaries():
    """One picture per C and σ; support vectors are circled; an axes can be given."""
    moons, labels = make_moons(60, noise=0.1, random_state=0)
    figure = plotting.plot_boundaries(moons, labels, C=(1, 10), sigma=(0.5,))
    titles = [ax.get_title() for ax in figure.axes]
    assert titles == ["C = 1, σ = 0.5", "C = 10, σ = 0.5"]
    ax = plt.subplots()[1]
    model = SDCASVC(random_state=0).fit(moons, labels)
    assert plotting.plot_boundary(model, moons, labels, ax=ax) is ax
    circles = ax.collections[-1].get_offsets()
    assert len(circles) == len(model.support_)
    with pytest.raises(ValueError, match="two features"):
        plotting.plot_boundary(SDCASVC().fit(X, y), X, y)


def test_a_missing_matplotlib_is_told(monkeypatch):
    """Without its extra, drawing says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"hyperlocal\[plot\]"):
        plotting.plot_objectives({"a": [(1, 1.0)]})


def test_warnings_of_others_pass():
    """Only the warnings of the curve's own short fits are silenced."""
    with pytest.warns(ConvergenceWarning):
        PegasosSVC(1e-3, max_iter=1, random_state=0).fit(X, y)
