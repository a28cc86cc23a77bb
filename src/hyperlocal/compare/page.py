"""The page: the table of methods, and for each of them regions, confusion and explanations."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from ..datasets.dataset import take_rows
from ..model.multiclass import as_columns, margins_over_rival
from .charts import calibration_chart, errors_of, pareto_chart, pareto_front
from .experiment import Experiment
from .explaining import RowExplanation, explain_row
from .metrics import METRICS
from .regions import Plane, boundary_chart, class_colors, css_color, find_plane
from .run import Outcome, Row, rows_for
from .table import formatted, headings

FEATURES_SHOWN = 8
MAX_CLASSES_OF_MATRIX = 30
PAIRS_SHOWN = 15


def write_page(
    path: str | Path,
    experiment: Experiment,
    outcomes: Sequence[Outcome],
    *,
    seed: int = 0,
    metric: str = "accuracy",
) -> None:
    """Write the page to a file; see :func:`render_page`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hyperlocal.compare import METHODS, prepare, run, write_page
    >>> from hyperlocal.datasets import Dataset, make_banana
    >>> experiment = prepare(Dataset("banana", *make_banana(200, random_state=0)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder, "page.html")
    ...     write_page(page, experiment, [run(METHODS["linear-svc"], experiment)])
    ...     page.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    text = render_page(experiment, outcomes, seed=seed, metric=metric)
    Path(path).write_text(text, encoding="utf-8")


def render_page(
    experiment: Experiment, outcomes: Sequence[Outcome], *, seed: int = 0, metric: str = "accuracy"
) -> str:
    """Return a comparison as a page of HTML.

    Parameters
    ----------
    experiment : Experiment
        The rows that were used.
    outcomes : sequence of Outcome
        From :func:`~hyperlocal.compare.run`, one for each method.
    seed : int, default=0
        Chooses the rows that are drawn.
    metric : str, default="accuracy"
        What the picture shows and the best method is best by: a name of
        :data:`~hyperlocal.compare.metrics.METRICS`.

    Examples
    --------
    >>> from hyperlocal.datasets import Dataset, make_banana
    >>> from hyperlocal.compare import METHODS, prepare, render_page, run
    >>> experiment = prepare(Dataset("banana", *make_banana(200, random_state=0)))
    >>> render_page(experiment, [run(METHODS["linear-svc"], experiment)])[:15]
    '<!doctype html>'
    """
    rows = [outcome.row for outcome in outcomes]
    classes = np.unique(np.concatenate([experiment.y_train, experiment.y_test]))
    plane = find_plane(experiment, outcomes, seed)
    best = min(errors_of(rows, metric).items(), key=lambda pair: pair[1], default=(0, 0))[0]
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
        notes=notes_of(experiment),
        table=methods_table(rows, metric),
        metric=escape(METRICS[metric].heading),
        pareto=pareto_chart(rows, metric),
        majority=escape(_majority(rows, metric)),
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
        regions = (
            f"<figure>{boundary_chart(number, outcome, experiment, plane, classes)}<figcaption>"
            f"{escape(plane.caption)}</figcaption>{legend(classes)}</figure>"
        )
    curve = calibration_chart(outcome, experiment)
    if curve:
        curve = (
            f"<h3>Calibration</h3><figure>{curve}<figcaption>On the diagonal, rows with a "
            "probability of 0.7 are right seven times in ten.</figcaption></figure>"
        )
    return (
        f'<section class="model" id="model-{number}" tabindex="-1" '
        f'aria-labelledby="name-{number}">\n<h2 id="name-{number}">{name}</h2>\n'
        f'<div class="columns"><div><h3>Decision regions</h3>{regions}</div>\n'
        f"<div><h3>Confusion</h3>{confusion(outcome, experiment, classes)}{curve}</div></div>\n"
        f'<h3>Explanations</h3><div class="columns">{explanations(outcome, experiment)}</div>\n'
        "</section>"
    )


def _majority(rows: Sequence[Row], metric: str) -> str:
    """What always predicting the most frequent class gives, in words."""
    for row in rows:
        if row.key == "majority" and getattr(row, metric) is not None:
            figure = METRICS[metric].text(getattr(row, metric))
            return (
                f"Always predicting the most frequent class has {METRICS[metric].heading} {figure}."
            )
    return ""


def notes_of(experiment: Experiment) -> str:
    """What was dropped, filled in or pooled, behind a line that opens it."""
    if not experiment.notes:
        return ""
    items = "".join(f"<li>{escape(note)}</li>" for note in experiment.notes)
    many = "1 note" if len(experiment.notes) == 1 else f"{len(experiment.notes)} notes"
    return (
        f"<details><summary>{many} on what was left out, filled in or pooled</summary>"
        f"<ul>{items}</ul></details>"
    )


def methods_table(rows: Sequence[Row], metric: str = "accuracy") -> str:
    """One line for each method; those that were measured have a button that shows them."""
    front = pareto_front(rows, metric)
    metrics = [name for name in METRICS if any(getattr(row, name) is not None for row in rows)]
    metrics = list(dict.fromkeys([metric, *metrics]))
    errors = errors_of(rows, metric)
    has_notes = any(row.note for row in rows)
    *names, last = headings(metrics)
    heads = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in names)
    heads += f'<th scope="col" class="note">{last}</th>' if has_notes else ""
    lines = [f'<thead><tr><th scope="col">no.</th>{heads}</tr></thead>', "<tbody>"]
    for j, row in enumerate(rows):
        name, *figures, note = (escape(text) for text in formatted(row, metrics))
        if row.accuracy is not None:
            name = f'<button type="button" aria-controls="model-{j}">{name}</button>'
        if j in errors and errors[j] == min(errors.values()):
            figures[0] = f"<strong>{figures[0]}</strong>"
        mark = ' <span class="mark">front</span>' if j in front else ""
        cells = "".join(f"<td>{figure}</td>" for figure in figures)
        opening = f'<tr data-model="{j}">' if row.accuracy is not None else '<tr class="absent">'
        lines.append(
            f'{opening}<td>{j + 1}</td><th scope="row">{name}{mark}</th>{cells}'
            + (f'<td class="note">{note}</td></tr>' if has_notes else "</tr>")
        )
    return "\n".join([*lines, "</tbody>"])


def legend(classes: np.ndarray) -> str:
    """The color of each class."""
    items = (
        f'<li><span class="swatch" style="background:{css_color(color)}"></span>'
        f"{escape(str(label))}</li>"
        for label, color in zip(classes, class_colors(len(classes)), strict=True)
    )
    return f'<ul class="legend">{"".join(items)}</ul>'


# Confusion ----------------------------------------------------------------------------------------


def confusion(outcome: Outcome, experiment: Experiment, classes: np.ndarray) -> str:
    """How often each class was predicted for each; a list of pairs if there are many classes."""
    if outcome.predicted is None:
        return ""
    if np.array_equal(experiment.y_test, outcome.predicted):
        return f"<p>All {len(experiment.y_test):,} test rows are classified correctly.</p>"
    counts = confusion_matrix(experiment.y_test, outcome.predicted, labels=classes)
    labels = [escape(str(label)) for label in classes]
    if len(classes) > MAX_CLASSES_OF_MATRIX:
        return _confused_pairs(counts, labels)
    head = "".join(f'<th scope="col">{label}</th>' for label in labels)
    lines = [f'<thead><tr><th scope="col">true ↓ predicted →</th>{head}</tr></thead><tbody>']
    for j, label in enumerate(labels):
        total = max(1, counts[j].sum())
        cells = "".join(
            _confusion_cell(int(count), count / total, right=j == k)
            for k, count in enumerate(counts[j])
        )
        lines.append(f'<tr><th scope="row">{label}</th>{cells}</tr>')
    what = "Test rows by true class (lines) and predicted class (columns)"
    table = f'<table class="confusion">{"".join(lines)}</tbody></table>'
    return f"<p>{what}</p>{_scrolling(what, table)}"


def _confusion_cell(count: int, share: float, *, right: bool) -> str:
    kind = "right" if right else "wrong"
    style = f' class="{kind}" style="--share:{100 * share:.0f}%"' if count else ""
    return f"<td{style}>{count}</td>"


def _confused_pairs(counts: np.ndarray, labels: Sequence[str]) -> str:
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:PAIRS_SHOWN]
    pairs = [divmod(int(place), len(labels)) for place in order if wrong.flat[place]]
    lines = "".join(
        f"<tr><td>{labels[j]}</td><td>{labels[k]}</td><td>{wrong[j, k]}</td></tr>" for j, k in pairs
    )
    return (
        f"<table><caption>The most frequent confusions of {len(labels)} classes</caption><thead>"
        '<tr><th scope="col">true</th><th scope="col">predicted</th><th scope="col">rows</th></tr>'
        f"</thead><tbody>{lines}</tbody></table>"
    )


def _scrolling(label: str, content: str) -> str:
    """Wide content that scrolls by itself, by keyboard too."""
    return f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">{content}</div>'


# Explanations -------------------------------------------------------------------------------------


def explanations(outcome: Outcome, experiment: Experiment) -> str:
    """What each feature added to the scores of up to three test rows."""
    model = outcome.model
    if outcome.predicted is None:
        return ""
    X_test = rows_for(experiment.X_test, outcome.needs_dense)
    try:
        margins = margins_over_rival(as_columns(model.decision_function(X_test)))
        chosen = _rows_to_explain(margins, outcome.predicted == experiment.y_test)
        names = experiment.feature_names or [f"x{j}" for j in range(X_test.shape[1])]
        figures = []
        for what, row in chosen.items():
            raw = take_rows(experiment.raw_test, slice(row, row + 1))
            encoded = X_test[row : row + 1]
            explained = explain_row(model, experiment.encoder, raw, encoded, names)
            figures.append(_one_explanation(what, row, explained, experiment.y_test[row]))
    except (AttributeError, TypeError):  # trees and the like
        return "<p>This model has no exact explanation of its predictions.</p>"
    except (ValueError, NotImplementedError) as error:
        return f"<p>No explanation: {escape(str(error))}</p>"
    return "\n".join(figures)


def _rows_to_explain(margins: np.ndarray, right: np.ndarray) -> dict[str, int]:
    rows = {"Lowest margin": int(margins.argmin())}
    if right.any():
        rows["Highest margin, right"] = int(np.where(right, margins, -np.inf).argmax())
    if not right.all():
        rows["Highest margin, wrong"] = int(np.where(right, -np.inf, margins).argmax())
    return rows


def _one_explanation(what: str, row: int, explained: RowExplanation, truth: Any) -> str:
    bars = [*explained.largest(FEATURES_SHOWN), *explained.constants]
    widest = max(abs(value) for _, value in bars) or 1.0
    lines = "".join(_bar(name, value, widest) for name, value in bars)
    place = explained.place or f"test row {row}"
    boundary = explained.boundary_text()
    after = f"<p>It would be {escape(boundary)}.</p>" if boundary else ""
    return (
        f'<div><table class="bars"><caption><strong>{what}</strong>: {escape(place)}, of class '
        f"{escape(str(truth))}, predicted {escape(str(explained.explanation.prediction))}. What "
        f"adds to the score of {escape(str(explained.label))}:</caption><tbody>{lines}</tbody>"
        f'<tfoot><tr><th scope="row">score</th><td></td><td>{explained.score:+.3f}</td></tr>'
        f"</tfoot></table>{after}</div>"
    )


def _bar(name: str, value: float, widest: float) -> str:
    length = 50 * abs(value) / widest
    start = 50 if value >= 0 else 50 - length
    kind = "plus" if value >= 0 else "minus"
    return (
        f'<tr><th scope="row">{escape(name)}</th><td class="track" aria-hidden="true"><span '
        f'class="{kind}" style="left:{start:.1f}%;width:{length:.1f}%"></span></td>'
        f"<td>{value:+.3f}</td></tr>"
    )
