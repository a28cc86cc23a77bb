"""Write the results section of the README from the tracked results.

    python -m benchmarks.readme

Figures are read from ``results/``, never typed.
"""

from __future__ import annotations

from pathlib import Path

from .common import Row, markdown_table, read_result
from .defaults import means
from .tables import summary as main_table

README = Path(__file__).parents[1] / "README.md"
START = "<!-- results: written by `python -m benchmarks.readme` -->"
END = "<!-- end of results -->"


def mnist() -> str:
    """Error, fit and predict seconds against an accelerated RBF SVC."""
    rows = [row for row in read_result("mnist")["rows"] if row["part"] == "race"]
    return markdown_table(
        [
            {
                "MNIST, 60,000 × 784": row["method"],
                "error %": _short(row.get("error %", "")),
                "fit": _with_unit(row, "fit s"),
                "predict 10,000 rows": _with_unit(row, "predict s"),
            }
            for row in rows
        ]
    )


def _with_unit(row: Row, key: str) -> str:
    unit = "×" if row["method"] == "times faster" else " s"
    return f"{_short(row[key])}{unit}"


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
    ours = [
        row
        for row in rows
        if row["method"] != "LIBLINEAR" and row["threads"] == 2 and row["stopped by"] == "tolerance"
    ]
    theirs = {row["set"]: row for row in rows if row["method"] == "LIBLINEAR"}
    return markdown_table(
        [
            {
                "to LIBLINEAR's objective": row["set"],
                "LIBLINEAR, lifted matrix given": f"{_short(theirs[row['set']]['seconds'])} s",
                "dual solver, coding included": f"{_short(row['seconds'])} s",
                "times faster": _short(row["times faster"]),
            }
            for row in ours
        ]
    )


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


def main() -> None:
    """Replace what stands between the two marks."""
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(START)
    _, after = rest.split(END)
    tables = "\n\n".join([main_table(), mnist(), untuned(), race(), anchors()])
    README.write_text(f"{before}{START}\n\n{tables}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
