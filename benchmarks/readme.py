"""Write the results section of the README from the tracked results.

    python -m benchmarks.readme

Figures are read from ``results/``, never typed.
"""

from __future__ import annotations

from pathlib import Path

from .common import RATIO, Row, markdown_table, read_result, speed
from .defaults import means
from .table_pages import summary as main_table

README = Path(__file__).parents[1] / "README.md"
START = "<!-- results: written by `python -m benchmarks.readme` -->"
TABLES = "<!-- tables: written by `python -m benchmarks.readme` -->"
SIMILAR = "<!-- similar packages: written by `python -m benchmarks.readme` -->"
END = "<!-- end of results -->"


def mnist() -> str:
    """Error, fit and predict seconds against an accelerated RBF SVC."""
    rows = [row for row in read_result("mnist")["rows"] if row["part"] == "race"]
    return markdown_table(
        [
            {
                "MNIST, 60,000 × 784": "" if row["method"] == RATIO else row["method"],
                "error %": _short(row.get("error %", "")),
                "fit": _with_unit(row, "fit s"),
                "predict 10,000 rows": _with_unit(row, "predict s"),
            }
            for row in rows
        ]
    )


def _with_unit(row: Row, key: str) -> str:
    return speed(row[key]) if row["method"] == RATIO else f"{_short(row[key])} s"


def _short(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.3g}"


def untuned() -> str:
    """Mean test error over many sets, everything at its defaults, features standardised."""
    *rows, (count) = means(read_result("defaults_confirm")["rows"])
    title = f"untuned, mean test error {count['rule']}"
    return markdown_table([{title: f"`{r['rule']}`", "%": r["mean error %"]} for r in rows])


def race() -> str:
    """Seconds to LIBLINEAR's objective, the lifted matrix never built."""
    rows = read_result("liblinear_race")["rows"]
    theirs = {row["set"]: row for row in rows if row["method"] == "LIBLINEAR"}
    return markdown_table(
        [
            {
                "to LIBLINEAR's objective": row["set"],
                "LIBLINEAR, lifted matrix given": f"{_short(theirs[row['set']]['seconds'])} s",
                "dual solver, coding included": f"{_short(row['seconds'])} s",
                "times faster": row["times faster"],
            }
            for row in _races()
        ]
    )


def _races() -> list[Row]:
    """Our solver on two threads, stopped as a user would stop it."""
    return [
        row
        for row in read_result("liblinear_race")["rows"]
        if row["method"] != "LIBLINEAR" and row["threads"] == 2 and row["stopped by"] == "tolerance"
    ]


def anchors() -> str:
    """Test errors with fixed and with learned anchors."""
    rows = read_result("anchor_learning_accuracy")["rows"]
    found = {(row["set"], row["anchors"]): row for row in rows}
    return markdown_table(
        [
            {
                "test error %": name,
                "anchors fixed": _with_deviation(found[name, "fixed"]),
                "anchors learned": _with_deviation(row),
                "the paper": f"{row['paper %']:.2f}",
                "anchors": str(row["m"]),
            }
            for (name, kind), row in found.items()
            if kind == "learned"
        ]
    )


def _with_deviation(row: Row) -> str:
    return f"{row['error %']:.2f} ± {row['sd']:.2f}"


def in_sentences() -> str:
    """What the other tables say, a sentence each; the docs have the tables."""
    ours, theirs, ratio = (row for row in read_result("mnist")["rows"] if row["part"] == "race")
    *rules, count = means(read_result("defaults_confirm")["rows"])
    untuned_errors = ", ".join(f"`{row['rule']}` {row['mean error %']} %" for row in rules)
    races = ", ".join(f"{speed(row['times faster'])} ({row['set']})" for row in _races())
    return "\n".join(
        [
            f"- MNIST, all 60,000 rows on all cores: `LocallyLinearSVC` on 50 principal components "
            f"errs on {_short(ours['error %'])} % of the test rows, {theirs['method']} on "
            f"{_short(theirs['error %'])} %; fits are {speed(ratio['fit s'])}, predictions "
            f"{speed(ratio['predict s'])}.",
            f"- Untuned, mean test error {count['rule'].strip('()')}: {untuned_errors}.",
            f"- To LIBLINEAR's objective, given the lifted matrix, the dual solver is {races}.",
        ]
    )


def tables() -> str:
    """Means over tables and other sets, and what all rows of covtype add."""
    rows = [row for row in read_result("real_tables")["rows"] if row["part"] == "Means"]
    shown = [
        {
            f"{row['sets']} sets, means": f"`{row['method']}`",
            "error %": f"{row['error %']:.1f}",
            "area under ROC curve": f"{row['AUC']:.3f}",
            "Elo": f"{row['Elo']:.0f}",
            "below logistic regression": row["accuracy too low"] + row["AUC too low"],
        }
        for row in sorted(rows, key=lambda row: row["error %"])
    ]
    large = [row for row in read_result("large_data_covtype")["rows"] if "error %" in row]
    errors = ", ".join(f"`{row['method']}` {row['error %']:.1f} %" for row in large)
    return (
        f"{markdown_table(shown)}\n\n"
        f"- covtype, {large[0]['training rows']:,} training rows of seven classes, defaults: "
        f"{errors}."
    )


def similar() -> str:
    """Packages that a user might take instead: errors and times of each set side by side."""
    rows = read_result("similar")["rows"]
    packages = list(dict.fromkeys(row["package"] for row in rows))
    return markdown_table([_side_by_side(rows, package) for package in packages])


def _side_by_side(rows: list[Row], package: str) -> Row:
    own = [row for row in rows if row["package"] == package]
    found: Row = {"defaults, one thread": package}
    for row in own:
        found[f"{row['set']}: error %"] = f"{row['error %']:.2f}"
        found[f"fit s, {row['set'].split(',')[0]}"] = _short(row["fit s"])
        found[f"µs per row, {row['set'].split(',')[0]}"] = _short(row["predict µs per row"])
    return {**found, "explains one prediction by": own[0]["explains one prediction by"]}


def main() -> None:
    """Replace what stands between each pair of marks."""
    text = README.read_text(encoding="utf-8")
    for start, written in (
        (TABLES, tables()),
        (START, f"{main_table()}\n{in_sentences()}"),
        (SIMILAR, similar()),
    ):
        before, rest = text.split(start)
        _, after = rest.split(END, 1)
        text = f"{before}{start}\n\n{written}\n\n{END}{after}"
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
