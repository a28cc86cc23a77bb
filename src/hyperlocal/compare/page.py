"""The page: the table of methods, and for each of them regions, errors and explanations."""

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
from .charts import (
    calibration_chart,
    errors_of,
    highest_error,
    pareto_chart,
    pareto_front,
    residuals_chart,
    values_chart,
)
from .experiment import Experiment
from .explaining import RowExplanation, explain_row, signed
from .methods import BASELINES, HELP
from .metrics import METRICS, metrics_of
from .regions import ClassColors, Plane, ValueColors, boundary_chart, colors_of, find_plane
from .run import Outcome, Row, rows_for
from .table import formatted, headings
from .targets import in_short

FEATURES_SHOWN = 8
MAX_CLASSES_OF_MATRIX = 30
PAIRS_SHOWN = 15
VALUES_SHOWN = 300


def write_page(
    path: str | Path,
    experiment: Experiment,
    outcomes: Sequence[Outcome],
    *,
    seed: int = 0,
    metric: str | None = None,
) -> None:
    """Write the page to a file; see :func:`render_page`.

    Parameters
    ----------
    path : str or Path
        The file.
    experiment : Experiment
        What was compared on.
    outcomes : sequence of Outcome
        What :func:`run` returned, for each method.
    seed : int, default=0
        The seed that was used, which the page shows.
    metric : str, default=None
        The measure that the page begins with.

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
    experiment: Experiment,
    outcomes: Sequence[Outcome],
    *,
    seed: int = 0,
    metric: str | None = None,
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
    metric : str, optional
        What the picture shows and the best method is best by: a name of
        :data:`~hyperlocal.compare.metrics.METRICS`; accuracy or R² by default.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> from hyperlocal.datasets import Dataset, make_banana
    >>> from hyperlocal.compare import METHODS, prepare, render_page, run
    >>> experiment = prepare(Dataset("banana", *make_banana(200, random_state=0)))
    >>> render_page(experiment, [run(METHODS["linear-svc"], experiment)])[:15]
    '<!doctype html>'
    """
    metric = metric or metrics_of(experiment.task)[0]
    rows, colors = [outcome.row for outcome in outcomes], colors_of(experiment)
    plane = find_plane(experiment, outcomes, seed)
    best = min(errors_of(rows, metric).items(), key=lambda pair: pair[1], default=(0, 0))[0]
    sections = (
        _model_section(j, outcome, experiment, plane, colors)
        for j, outcome in enumerate(outcomes)
        if outcome.predicted is not None
    )
    template = Template(files(__package__).joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=escape(f"{experiment.name}: comparison of methods"),
        name=escape(experiment.name),
        summary=escape(experiment.summary),
        best=best,
        notes=notes_of(experiment),
        table=methods_table(rows, metric),
        metric=escape(METRICS[metric].heading),
        pareto=pareto_chart(rows, metric),
        baseline=escape(_baseline(rows, metric)),
        sections="\n".join(sections),
    )


def _model_section(
    number: int,
    outcome: Outcome,
    experiment: Experiment,
    plane: Plane | None,
    colors: ClassColors | ValueColors,
) -> str:
    name, what = escape(outcome.row.method), escape(HELP.get(outcome.row.key, ""))
    if plane is None:
        regions = "<p>Not drawn: rows of one feature, or too wide for a picture.</p>"
    else:
        picture = boundary_chart(number, outcome, experiment, plane, colors)
        regions = _figure(picture, escape(plane.caption), legend(colors))
    if isinstance(colors, ValueColors):
        title, errors = "Predictions", _value_errors(outcome, experiment)
    else:
        title, errors = "Decision regions", _class_errors(outcome, experiment, colors.classes)
    return (
        f'<section class="model" id="model-{number}" tabindex="-1" '
        f'aria-labelledby="name-{number}">\n<h2 id="name-{number}">{name}</h2>\n<p>{what}</p>\n'
        f'<div class="columns"><div><h3>{title}</h3>{regions}</div>\n<div>{errors}</div></div>\n'
        f'<h3>Explanations</h3><div class="columns">{explanations(outcome, experiment)}</div>\n'
        "</section>"
    )


def _figure(picture: str, caption: str, after: str = "") -> str:
    return f"<figure>{picture}<figcaption>{caption}</figcaption>{after}</figure>"


def _class_errors(outcome: Outcome, experiment: Experiment, classes: np.ndarray) -> str:
    matrix = f"<h3>Confusion</h3>{confusion(outcome, experiment, classes)}"
    curve = calibration_chart(outcome, experiment)
    if not curve:
        return matrix
    caption = "On the diagonal, rows with a probability of 0.7 are right seven times in ten."
    return f"{matrix}<h3>Calibration</h3>{_figure(curve, caption)}"


def _value_errors(outcome: Outcome, experiment: Experiment) -> str:
    assert outcome.predicted is not None
    rows = _rows_to_draw(np.abs(experiment.y_test - outcome.predicted))
    is_all = len(rows) == len(experiment.y_test)
    which = "All test rows." if is_all else "Some test rows, and those with the largest errors."
    return (
        "<h3>Predicted against true values</h3>"
        + _figure(values_chart(outcome, experiment, rows), which)
        + "<h3>Residuals</h3>"
        + _figure(
            residuals_chart(outcome, experiment, rows), "Above zero, predictions are too low."
        )
    )


def _rows_to_draw(errors: np.ndarray) -> np.ndarray:
    """Evenly spread test rows, and the worst ones."""
    if len(errors) <= VALUES_SHOWN:
        return np.arange(len(errors))
    spread = np.linspace(0, len(errors) - 1, 9 * VALUES_SHOWN // 10).astype(int)
    return np.union1d(spread, np.argsort(-errors)[: VALUES_SHOWN // 10])


def _baseline(rows: Sequence[Row], metric: str) -> str:
    """What a prediction without features gives, in words."""
    what = {
        "majority": "Always predicting the most frequent class",
        "mean": "Always predicting the mean",
    }
    for row in rows:
        if row.key in BASELINES and getattr(row, metric) is not None:
            figure = METRICS[metric].text(getattr(row, metric))
            text = f"{what[row.key]} has {METRICS[metric].heading} {figure}."
            highest, errors = highest_error(rows, metric), errors_of(rows, metric).values()
            is_cut = any(error > highest for error in errors)
            return text + " Methods with far higher errors are at the upper edge." * is_cut
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
        if row.is_measured:
            name = f'<button type="button" aria-controls="model-{j}">{name}</button>'
        if j in errors and errors[j] == min(errors.values()):
            figures[0] = f"<strong>{figures[0]}</strong>"
        mark = ' <span class="mark">front</span>' if j in front else ""
        cells = "".join(f"<td>{figure}</td>" for figure in figures)
        opening = f'<tr data-model="{j}">' if row.is_measured else '<tr class="absent">'
        lines.append(
            f'{opening}<td>{j + 1}</td><th scope="row">{name}{mark}</th>{cells}'
            + (f'<td class="note">{note}</td></tr>' if has_notes else "</tr>")
        )
    return "\n".join([*lines, "</tbody>"])


def legend(colors: ClassColors | ValueColors) -> str:
    """What each color means."""
    items = (
        f'<li><span class="swatch" style="background:{color}"></span>{escape(label)}</li>'
        for color, label in colors.legend()
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
        if experiment.is_regression:
            chosen = _values_to_explain(outcome.predicted, experiment.y_test)
        else:
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


def _values_to_explain(predicted: np.ndarray, y: np.ndarray) -> dict[str, int]:
    too_high = predicted - y
    middle = np.abs(predicted - np.median(predicted))
    rows = {"A middle prediction": int(middle.argmin())}
    if too_high.max() > 0:
        rows["Most too high"] = int(too_high.argmax())
    if too_high.min() < 0:
        rows["Most too low"] = int(too_high.argmin())
    return rows


def _one_explanation(what: str, row: int, explained: RowExplanation, truth: Any) -> str:
    bars, constants = explained.largest(FEATURES_SHOWN), explained.constants
    widest = max(abs(value) for _, value in bars) or 1.0
    # What is not of columns has no bar: that of a mean price would make all others invisible.
    shares = [*(value / widest for _, value in bars), *[0.0] * len(constants)]
    *figures, score = signed([*(value for _, value in (*bars, *constants)), explained.score])
    labels = [escape(name).replace("_", "_<wbr>") for name, _ in (*bars, *constants)]
    lines = "".join(map(_bar, labels, shares, figures))
    place = explained.place or f"test row {row}"
    boundary = explained.boundary_text()
    after = f"<p>It would be {escape(boundary)}.</p>" if boundary else ""
    if explained.explanation.classes is None:
        truth, total = f"true value {in_short(truth)}", "prediction"
    else:
        truth, total = f"of class {truth}", "score"
    return (
        f'<div><table class="bars"><caption><strong>{what}</strong>: {escape(place)}, '
        f"{escape(truth)}, predicted {escape(explained.prediction)}. What "
        f"adds to the {escape(explained.score_name)}:</caption><tbody>{lines}</tbody>"
        f'<tfoot><tr><th scope="row">{total}</th><td></td><td>{score}</td></tr>'
        f"</tfoot></table>{after}</div>"
    )


def _bar(label: str, share: float, figure: str) -> str:
    length = 50 * abs(share)
    start = 50 if share >= 0 else 50 - length
    kind = "plus" if share >= 0 else "minus"
    return (
        f'<tr><th scope="row">{label}</th><td class="track" aria-hidden="true"><span '
        f'class="{kind}" style="left:{start:.1f}%;width:{length:.1f}%"></span></td>'
        f"<td>{figure}</td></tr>"
    )
