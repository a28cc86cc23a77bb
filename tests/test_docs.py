"""The code in the pages runs, and their lists of names are complete."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

import hyperlocal
import hyperlocal.linear
import hyperlocal.papers
from hyperlocal.export.trusted import PUBLIC_ESTIMATORS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "guide").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# Pages and examples that import a module within a package for now. The list only becomes shorter.
NOT_YET = {"docs/command_line.md"}
ANY_BLOCK = re.compile(r"^```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def code_blocks(page: Path) -> list[tuple[str, str]]:
    """Kind and text of each block of Python in a page (``py``: needs extras)."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [p for p in PAGES if code_blocks(p)], ids=lambda page: page.stem)
def test_code_of_page_runs(page: Path) -> None:
    """All blocks of a page run one after the other, and sessions print what the page shows."""
    names: dict[str, object] = {"__name__": page.stem}
    for number, (kind, text) in enumerate(code_blocks(page)):
        place = f"{page.name}, block {number}"
        if kind == "python":
            exec(compile(text, place, "exec"), names)
        else:
            run_session(text, names, place)


def run_session(text: str, names: dict[str, object], place: str) -> None:
    """Run a session with prompts; fail where the output differs."""
    test = doctest.DocTestParser().get_doctest(text, names, place, place, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test, clear_globs=False)
    names.update(test.globs)
    assert runner.failures == 0, f"{place} prints something else"


def imported_modules(text: str) -> list[str]:
    """Names of our modules that are imported in lines of code, prompts or not."""
    return re.findall(r"^(?:>>> |\.\.\. )?\s*(?:from|import) (hyperlocal[\w.]*)", text, re.M)


@pytest.mark.parametrize("page", [*PAGES, *EXAMPLES], ids=lambda page: page.stem)
def test_imports_are_public(page: Path) -> None:
    """Pages and examples import from the package and its subpackages, never from modules within."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".md":
        text = "\n".join(ANY_BLOCK.findall(text))
    deep = [
        name
        for name in imported_modules(text)
        if name.count(".") > 1 or any(part.startswith("_") for part in name.split("."))
    ]
    known = page.relative_to(ROOT).as_posix() in NOT_YET
    assert bool(deep) == known, f"{deep}; a page that imports public names is not in NOT_YET"


def test_reference_lists_every_public_name() -> None:
    """No public name is missing from the API reference."""
    listed = (DOCS / "api.rst").read_text(encoding="utf-8").split()
    assert set(hyperlocal.__all__) <= set(listed)


def public_classifiers() -> dict[str, type]:
    """The classifiers that users import, by name."""
    return {name: kind for name, kind in PUBLIC_ESTIMATORS.items() if "SVC" in name}


def test_table_of_abilities_is_true() -> None:
    """The guide lists every classifier, with the methods that it has."""
    page = (DOCS / "methods.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `(\w+)` \| [✓–] \| ([✓–])[^|]*\| ([✓–])[^|]*\| ([✓–])", page, re.M)
    methods = ("explain", "predict_proba", "partial_fit")
    listed = {name: [mark == "✓" for mark in marks] for name, *marks in table}
    assert listed == {
        name: [has(classifier(), method) for method in methods]
        for name, classifier in public_classifiers().items()
    }


def has(model: Any, method: str) -> bool:
    """Whether an estimator has a method, with the parameters that enable it."""
    wanted = {"loss": "log", "solver": "sgd"}
    model.set_params(**{key: wanted[key] for key in wanted.keys() & model.get_params().keys()})
    return hasattr(model, method)
