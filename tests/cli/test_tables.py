"""Tables as they come, through compare, fit, predict, score and explain with --target alone."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from cli.models import lines_of
from hyperlocal.cli import main
from hyperlocal.datasets.benchmark import TABLES

ROWS = 90


def rows_of(**columns):
    """Lines of a table with a number that decides, and these columns of cells."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=ROWS).round(3)
    label = np.where(x > 0, "yes", "no")
    cells = {"x": list(map(str, x)), **columns, "label": label.tolist()}
    return [list(cells), *map(list, zip(*cells.values(), strict=True))]


def text_of(rows, separator=",", end="\n"):
    return "".join(separator.join(row) + end for row in rows)


def gaps():
    """Missing numbers and categories, in several spellings."""
    marks = ["", "?", "NA", "nan", "NULL", "N/A"]
    numbers = [marks[i % 6] if i % 7 == 0 else str(i % 11) for i in range(ROWS)]
    kinds = [marks[i % 6] if i % 5 == 0 else "ab"[i % 2] for i in range(ROWS)]
    return text_of(rows_of(n=numbers, kind=kinds)).encode()


def missing_labels():
    rows = rows_of()
    rows[5][-1] = rows[9][-1] = ""
    return text_of(rows).encode()


def many_values():
    """An id, free text, and a category with many values."""
    return text_of(
        rows_of(
            customer_id=[str(7 * i + 1000) for i in range(ROWS)],
            comment=[f"wrote word{i} and more" for i in range(ROWS)],
            town=[f"t{i % 40}" for i in range(ROWS)],
            constant=["1"] * ROWS,
        )
    ).encode()


def a_typo():
    return text_of(
        rows_of(age=["4o" if i == 3 else str(20 + i % 50) for i in range(ROWS)])
    ).encode()


def dates():
    days = [f"{1 + i % 28:02d}.{1 + i % 12:02d}.20{10 + i % 9}" for i in range(ROWS)]
    return text_of(rows_of(since=days, code=[f"{i % 4:04d}" for i in range(ROWS)])).encode()


def spreadsheet():
    """Semicolons, decimal commas, a byte-order mark and Windows line ends."""
    rows = [[cell.replace(".", ",") for cell in row] for row in rows_of(z=["1.5", "2.25"] * 45)]
    return text_of(rows, ";", "\r\n").encode("utf-8-sig")


def umlauts():
    return text_of(rows_of(town=["Köln", "Paris €"] * 45)).encode("cp1252")


def utf16():
    return text_of(rows_of(town=["Köln", "Łódź"] * 45), "\t").encode("utf-16")


def stray_line_ends():
    return text_of(rows_of(comment=["a\rb", "c"] * 45)).encode()


def titled():
    """A title, a comment, words among numbers, sums of money and times of day."""
    words = [["none", "n.a."][i % 2] if i % 5 == 0 else f"(1 {200 + i})" for i in range(ROWS)]
    times = [f"{i % 24:02d}:{i % 60:02d}" for i in range(ROWS)]
    return ("Cats\n\n# made, by a tool\n" + text_of(rows_of(debt=words, at=times))).encode()


def packed():
    return gzip.compress(text_of(rows_of()).encode())


NUISANCES = [
    gaps, missing_labels, many_values, a_typo, dates, spreadsheet, umlauts, utf16,
    stray_line_ends, packed, titled,
]  # fmt: skip


@pytest.mark.parametrize("nuisance", NUISANCES)
def test_every_nuisance(nuisance, tmp_path, capsys):
    """The whole way with no option but --target; the number that decides is found."""
    path = tmp_path / "table.csv"
    path.write_bytes(nuisance())
    model = str(tmp_path / "m.skops")
    few = ["--methods", "locally-linear-identity,linear-svc"]
    assert main(["compare", str(path), "--target", "label", "--json", *few]) == 0
    result = json.loads(capsys.readouterr().out)
    assert all(row["accuracy"] > 0.8 for row in result["rows"])
    assert main(["fit", str(path), "--target", "label", "-o", model]) == 0
    capsys.readouterr()
    assert main(["score", model, str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] > 0.9
    assert main(["predict", model, str(path)]) == 0
    assert len(lines_of(capsys)) == ROWS
    assert main(["explain", model, str(path), "--rows", "10"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("row 10, line ")
    assert " x = " in out


def test_notes_of_the_nuisances(tmp_path, capsys):
    """What was filled in, dropped and left out is said, also by info."""
    (tmp_path / "a.csv").write_bytes(many_values())
    model = str(tmp_path / "m.skops")
    assert main(["fit", str(tmp_path / "a.csv"), "-o", model]) == 0
    notes = capsys.readouterr().err
    for part in ("customer_id: dropped: an id", "comment: dropped: free", "constant: dropped"):
        assert part in notes
    assert main(["info", model]) == 0
    assert "customer_id: dropped: an id" in capsys.readouterr().out


@pytest.mark.data
@pytest.mark.parametrize("name", sorted(TABLES))
def test_real_tables(name, tmp_path, capsys):
    """All real tables go the whole way, and the model beats the majority class."""
    folder = Path(os.environ["HYPERLOCAL_DATA"])
    path = folder / "tables" / f"{name}.csv.gz"
    if not path.exists():
        path = folder / f"{name}-train.csv.gz"
    target, model = ["--target", TABLES[name].target], str(tmp_path / "m.skops")
    few = ["--methods", "locally-linear-identity,majority"]
    assert main(["compare", str(path), *target, *few, "--json", "--quiet"]) == 0
    result = json.loads(capsys.readouterr().out)
    ours, majority = (row["balanced_accuracy"] for row in result["rows"])
    assert ours > majority or name == "caravan"  # 6 % of its rows are of the other class
    assert main(["fit", str(path), *target, "-o", model, "--quiet"]) == 0
    assert main(["predict", model, str(path), "--quiet"]) == 0
    assert len(lines_of(capsys)) == result["n_train"] + result["n_test"] + _left_out(result)
    assert main(["explain", model, str(path), "--rows", "0,3"]) == 0
    assert capsys.readouterr().out.count("predicted") >= 2


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "target"), [("tables/diamonds.csv.gz", "price"), ("compactiv.npz", None)]
)
def test_real_numbers(file, target, tmp_path, capsys):
    """A table and a set of arrays with a number to predict go the whole way; ours beats ridge."""
    path, model = str(Path(os.environ["HYPERLOCAL_DATA"], file)), str(tmp_path / "m.skops")
    chosen = [] if target is None else ["--target", target]
    few = ["--methods", "locally-linear-identity,ridge,mean", "--report", str(tmp_path / "p.html")]
    assert main(["compare", path, *chosen, *few, "--json", "--quiet"]) == 0
    result = json.loads(capsys.readouterr().out)
    ours, ridge, mean = (row["r2"] for row in result["rows"])
    assert ours > ridge > mean
    quick = ["--method", "locally-linear-identity", "--calibrate", "0.2"]
    assert main(["fit", path, *chosen, *quick, "-o", model, "--quiet"]) == 0
    assert main(["predict", model, path, "--interval", "0.9", "--quiet"]) == 0
    assert len(lines_of(capsys)) == 1 + result["n_train"] + result["n_test"]
    assert main(["score", model, path, "--json", "--quiet"]) == 0
    assert 0.85 < json.loads(capsys.readouterr().out)["coverage"] < 0.95
    assert main(["explain", model, path, "--rows", "0,3"]) == 0
    assert capsys.readouterr().out.count("predicted") == 2


def _left_out(result):
    """Rows that are the only one of their class, which are not compared on."""
    notes = [note for note in result["notes"] if "left out: the only one" in note]
    return sum(int(note.split()[0]) for note in notes)
