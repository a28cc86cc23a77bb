"""Tests of the HTML page: structure, no network, no code from the data, a click in a browser."""

import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from hyperlocal.cli import main
from hyperlocal.compare import (
    REGRESSORS,
    Outcome,
    Row,
    pick_methods,
    prepare,
    render_page,
    run,
    write_page,
)
from hyperlocal.datasets import Dataset, make_banana

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
VOID = {"meta", "br", "img", "input", "link", "hr"}


class Page(HTMLParser):
    """Collects tags, and checks that they nest."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.labels = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def outcomes_of(experiment, keys):
    return [run(method, experiment, n_jobs=1) for method in pick_methods(keys)]


@pytest.fixture(scope="module")
def banana():
    return prepare(Dataset("banana", *make_banana(200, random_state=0), feature_names=("p", "q")))


@pytest.fixture(scope="module")
def outcomes(banana):
    skipped = Outcome(Row("too slow", note="skipped: slow"))
    return [*outcomes_of(banana, ["locally-linear-identity", "linear-svc", "svc"]), skipped]


@pytest.fixture(scope="module")
def text(banana, outcomes):
    return render_page(banana, outcomes)


@pytest.fixture(scope="module")
def values_text():
    X, _ = make_banana(200, random_state=0)
    experiment = prepare(Dataset("v", X, X[:, 0] * X[:, 1] * 1000, feature_names=("p", "q")))
    methods = pick_methods(["locally-linear-identity", "ridge", "svr"], REGRESSORS)
    return render_page(experiment, [run(method, experiment, n_jobs=1) for method in methods])


def test_structure(text):
    """A table with a button for each measured method, and a section for each button."""
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    buttons = page.all("button")
    assert [one["aria-controls"] for one in buttons] == ["model-0", "model-1", "model-2"]
    assert {one["aria-controls"] for one in buttons} <= set(page.ids)
    assert [one["id"] for one in page.all("section")] == ["model-0", "model-1", "model-2"]
    for attributes in page.all("section") + page.all("svg"):
        assert attributes["aria-labelledby"] in page.ids
    assert all("scope" in one for one in page.all("th"))
    assert page.all("html")[0]["lang"] == "en"
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.all(
        "meta"
    )
    assert "prefers-color-scheme: dark" in text
    assert "skipped: slow" in text


def test_no_network(text):
    """Nothing is fetched: the only addresses are of pictures in the page itself."""
    page = Page(text)
    addresses = [
        one[key] for _, one in page.tags for key in ("src", "href", "action") if key in one
    ]
    assert len(addresses) == 3
    assert all(address.startswith("data:image/png;base64,") for address in addresses)
    assert "://" not in text
    assert "url(" not in text
    assert "default-src 'none'" in text


def test_confusion_and_explanations(banana, outcomes, text):
    """Matrices add up to the test rows; locally linear rows are explained by feature names."""
    cells = re.findall(r'<td(?: class="(?:right|wrong)" style="[^"]*")?>(\d+)</td>', text)
    matrices = [int(cell) for cell in cells]
    n_test = len(banana.y_test)
    n_numbers = len(outcomes)  # the first column of the table of methods
    assert sum(matrices) - sum(range(1, n_numbers + 1)) - _other_whole_cells(outcomes) == 3 * n_test
    assert "Lowest margin" in text
    assert re.search(r'<th scope="row">p = -?[\d.]+</th>', text)
    assert text.count("Lowest margin") == 3  # linear and kernel SVMs are explained too


def _other_whole_cells(outcomes):
    """Numbers stored, where the table writes them as digits alone."""
    counts = (outcome.row.n_numbers for outcome in outcomes)
    return sum(count for count in counts if count is not None and count < 1000)


def test_metric_notes_and_majority(tmp_path):
    """The chosen metric comes first, notes are listed, and the majority class is a line."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=120), "z": rng.normal(size=120), "one": 1})
    table.index.name = "line"
    table.loc[0, "z"] = np.nan
    y = np.where(table["x"] > 0.3, "yes", "no")
    experiment = prepare(Dataset("t", table, y))
    outcomes = outcomes_of(experiment, ["locally-linear-identity", "majority"])
    text = render_page(experiment, outcomes, metric="auc")
    headings = re.findall(r'<th scope="col">([^<]*)</th>', text)
    assert headings[2:4] == ["AUC", "accuracy"]
    assert "by AUC" in text
    assert "<li>one: dropped: constant</li>" in text
    assert "Always predicting the most frequent class has AUC 50.00 %." in text
    assert re.search(r"margin</strong>: line \d+, of class", text)
    assert re.search(r'<th scope="row">x = -?[\d.]+</th>', text)
    assert "Calibration" in text


def test_no_errors():
    """Where all test rows are right, the page says so instead of a matrix."""
    X = np.r_[np.zeros((30, 2)), np.ones((30, 2))] + np.linspace(0, 0.1, 60)[:, None]
    experiment = prepare(Dataset("easy", X, np.repeat([0, 1], 30)))
    text = render_page(experiment, outcomes_of(experiment, ["linear-svc"]))
    assert "All 15 test rows are classified correctly." in text


def test_labels_cannot_run(tmp_path):
    """Names in the data are text on the page, whatever they look like."""
    X, y = make_banana(80, random_state=0)
    evil = "<script>alert(1)</script>"
    data = Dataset(evil, X, np.where(y == 1, evil, "b"), feature_names=(evil, "x"))
    experiment = prepare(data)
    write_page(
        tmp_path / "page.html", experiment, outcomes_of(experiment, ["locally-linear-identity"])
    )
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert evil not in text
    assert len(Page(text).all("script")) == 1


def test_other_shapes():
    """Three classes, one feature, and nothing measured each make a page."""
    X, y = make_banana(90, random_state=0)
    three = prepare(Dataset("three", X, np.arange(90) % 3))
    Page(render_page(three, outcomes_of(three, ["locally-linear-identity", "linear-svc"])))
    one = prepare(Dataset("one", X[:, :1], y))
    assert "Not drawn" in render_page(one, outcomes_of(one, ["linear-svc"]))
    assert "No method could be measured" in render_page(one, [Outcome(Row("a", note="failed"))])


def test_many_classes():
    """Above thirty classes the most frequent confusions are listed instead of a matrix."""
    rng = np.random.default_rng(0)
    data = prepare(Dataset("many", rng.normal(size=(160, 2)), np.arange(160) % 40))
    text = render_page(data, outcomes_of(data, ["linear-svc"]))
    assert "most frequent confusions of 40 classes" in text


def test_command_writes_the_page(tmp_path, capsys):
    """``compare --report`` writes a page and says so."""
    X, y = make_banana(60, random_state=0)
    np.savez(tmp_path / "small.npz", X=X, y=y)
    page = tmp_path / "page.html"
    arguments = ["--methods", "linear-svc", "--report", str(page)]
    assert main(["compare", str(tmp_path / "small.npz"), *arguments]) == 0
    assert f"wrote {page}" in capsys.readouterr().err
    Page(page.read_text(encoding="utf-8"))


def dumped(text, tmp_path, script):
    """The page after a script has run in a browser window of the smallest width, of 500 pixels."""
    path = tmp_path / "page.html"
    path.write_text(text.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=500,900", "--dump-dom"]
    done = subprocess.run(
        [BROWSER, *options, path.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    return Page(done.stdout)


CLICKS = {
    "line": "document.querySelector(\"#methods tr[data-model='1'] td\").click();",
    "point": "document.querySelector(\".point[data-model='1']\")"
    ".dispatchEvent(new MouseEvent('click'));",
    "button": "document.querySelectorAll('#methods button')[1].click();",
}


@pytest.mark.skipif(BROWSER is None, reason="needs a browser: chromium or chrome")
@pytest.mark.parametrize("where", CLICKS)
def test_click_in_a_browser(where, text, tmp_path):
    """A click on a line of the table, its button or a point shows that model and no other."""
    page = dumped(text, tmp_path, CLICKS[where])
    hidden = {one["id"]: "hidden" in one for one in page.all("section")}
    assert hidden == {"model-0": True, "model-1": False, "model-2": True}
    pressed = [one["aria-pressed"] for one in page.all("button")]
    assert pressed == ["false", "true", "false"]


@pytest.mark.skipif(BROWSER is None, reason="needs a browser: chromium or chrome")
@pytest.mark.parametrize("kind", ["classes", "values"])
def test_a_narrow_window(kind, text, values_text, tmp_path):
    """The page itself is never wider than the window; its table scrolls."""
    measure = """
    const table = document.querySelector(".scroll");
    document.body.dataset.wide = document.documentElement.scrollWidth > window.innerWidth;
    document.body.dataset.scrolls = table.scrollWidth > table.clientWidth;
    """
    page = dumped(text if kind == "classes" else values_text, tmp_path, measure)
    (body,) = page.all("body")
    assert body["data-wide"] == "false"
    assert body["data-scrolls"] == "true"


def test_values(values_text):
    """Values have charts of predictions and residuals, and explanations of the worst rows."""
    page = Page(values_text)
    assert len(page.ids) == len(set(page.ids))
    assert sum(one["id"].startswith(("values-", "residuals-")) for one in page.all("title")
               if "id" in one) == 6  # fmt: skip
    for part in ("A middle prediction", "Most too high", "Most too low", "true value "):
        assert part in values_text
    assert re.search(r'<th scope="row">q = -?[\d.]+</th>', values_text)
    assert "Confusion" not in values_text
