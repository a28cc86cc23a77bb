"""Fill the template of the page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np

from .charts import Plane, boundary_chart, find_plane, pareto_chart
from .parts import confusion, explanations, legend, methods_table
from .report import Experiment, Outcome


def write_page(
    path: str | Path, experiment: Experiment, outcomes: Sequence[Outcome], *, seed: int = 0
) -> None:
    """Write the page to a file; see :func:`render_page`."""
    Path(path).write_text(render_page(experiment, outcomes, seed=seed), encoding="utf-8")


def render_page(experiment: Experiment, outcomes: Sequence[Outcome], *, seed: int = 0) -> str:
    """Return a comparison as a page of HTML.

    Parameters
    ----------
    experiment : Experiment
        The rows that were used.
    outcomes : sequence of Outcome
        From :func:`hyperlocal.compare.report.run`, one for each method.
    seed : int, default=0
        Chooses the rows that are drawn.

    Examples
    --------
    >>> from hyperlocal.datasets import Dataset, make_banana
    >>> from hyperlocal.compare import render_page
    >>> from hyperlocal.compare.report import contenders, pick_contenders, prepare, run
    >>> experiment = prepare(Dataset("banana", *make_banana(200, random_state=0)))
    >>> outcomes = [run(one, experiment) for one in pick_contenders(["linear"], contenders())]
    >>> render_page(experiment, outcomes)[:15]
    '<!doctype html>'
    """
    rows = [outcome.row for outcome in outcomes]
    classes = np.unique(np.concatenate([experiment.y_train, experiment.y_test]))
    plane = find_plane(experiment, seed)
    best = max(
        (j for j, row in enumerate(rows) if row.accuracy is not None),
        key=lambda j: rows[j].accuracy or 0,
        default=0,
    )
    sections = (
        _model_section(j, outcome, experiment, plane, classes)
        for j, outcome in enumerate(outcomes)
        if outcome.predicted is not None
    )
    template = Template(files(__package__).joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=escape(f"{experiment.name}: comparison of classifiers"),
        name=escape(experiment.name),
        summary=escape(experiment.summary),
        best=best,
        table=methods_table(rows),
        pareto=pareto_chart(rows),
        sections="\n".join(sections),
    )


def _model_section(
    number: int,
    outcome: Outcome,
    experiment: Experiment,
    plane: Plane | None,
    classes: np.ndarray,
) -> str:
    name = escape(outcome.row.method)
    if plane is None:
        regions = "<p>Not drawn: rows of one feature, or too wide for a picture.</p>"
    else:
        first, second = plane.variance
        regions = (
            f"<figure>{boundary_chart(number, outcome, experiment, plane, classes)}<figcaption>"
            f"What the model says on the plane of the first two principal components "
            f"({first:.0%} and {second:.0%} of the variance). Test rows are projected to it; those "
            f"that the model gets wrong have a ring.</figcaption>{legend(classes)}</figure>"
        )
    return (
        f'<section class="model" id="model-{number}" tabindex="-1" '
        f'aria-labelledby="name-{number}">\n<h2 id="name-{number}">{name}</h2>\n'
        f'<div class="columns"><div><h3>Decision regions</h3>{regions}</div>\n'
        f"<div><h3>Confusion</h3>{confusion(outcome, experiment, classes)}</div></div>\n"
        f'<h3>Explanations</h3><div class="columns">{explanations(outcome, experiment)}</div>\n'
        "</section>"
    )
