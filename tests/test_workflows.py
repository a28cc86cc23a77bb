"""The workflows of hosted CI run what the Makefile runs, and wheels are tested as it tests them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# What CI must run; the remaining targets are for people.
CHECKED = {"test", "test-lowest", "test-nightly", "test-free-threaded", "test-wheel", "docs",
           "sanitize", "sanitize-threads"}  # fmt: skip


def read(path: Path) -> dict[str, Any]:
    """A workflow; YAML 1.1 reads its key ``on`` as true."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {("on" if key is True else key): value for key, value in content.items()}


def steps(path: Path) -> list[dict[str, Any]]:
    """All steps of all jobs of a workflow."""
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


def commands(path: Path) -> list[str]:
    """What a workflow runs in a shell."""
    return [step["run"].strip() for step in steps(path) if "run" in step]


def targets() -> set[str]:
    """The phony targets of the Makefile, each of which has a rule."""
    declared = re.search(r"^\.PHONY:((?:.*\\\n)*.*)$", MAKEFILE, re.MULTILINE)
    assert declared is not None
    names = declared[1].replace("\\", " ").split()
    assert all(re.search(rf"^{re.escape(name)}:", MAKEFILE, re.MULTILINE) for name in names)
    return set(names)


def pythons(path: Path) -> set[str]:
    """The versions of Python that a workflow asks for."""
    text = path.read_text(encoding="utf-8")
    return set(re.findall(r'python(?:-version)?: "(3\.\d+t?)"', text))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_targets_of_the_makefile(path):
    """Every command of a workflow is a target of the Makefile, so it can be run anywhere."""
    for command in commands(path):
        match = re.fullmatch(r"make ([\w-]+) PYTHON=python", command)
        assert match is not None, command
        assert match[1] in targets()


def test_every_check_is_run():
    """No check of the Makefile is missing from the workflows."""
    run = {command.split()[1] for path in WORKFLOWS for command in commands(path)}
    assert run == CHECKED


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_have_few_rights(path):
    """A workflow reads the repository; only the job that publishes has another right."""
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert set(workflow) == {"name", "on", "permissions", "jobs"}
    extended = {name for name, job in workflow["jobs"].items() if "permissions" in job}
    assert extended <= {"publish"}


def test_the_lowest_python_is_the_declared_one():
    """`make test` and `make test-lowest` run on the Python of ``requires-python``."""
    lowest = PROJECT["project"]["requires-python"].removeprefix(">=")
    workflow = next(path for path in WORKFLOWS if path.stem == "tests")
    jobs = read(workflow)["jobs"]
    assert lowest in pythons(workflow)
    assert jobs["lowest"]["steps"][1]["with"]["python-version"] == lowest


def test_wheels_are_tested_alike():
    """cibuildwheel runs the tests of `make test-wheel`, for each Python that CI tests."""
    settings = PROJECT["tool"]["cibuildwheel"]
    listed = re.search(r"^WHEEL_TESTS := (.*)$", MAKEFILE, re.MULTILINE)
    assert listed is not None
    assert settings["test-command"].endswith(f"pytest -n 2 -q {listed[1]}")
    built = {re.sub(r"cp3(\d+t?)-\*", r"3.\1", pattern) for pattern in settings["build"]}
    tested = next(pythons(path) for path in WORKFLOWS if path.stem == "tests")
    assert built == tested


def test_the_abi_of_wheels():
    """Wheels are abi3 from the second Python that is built on."""
    settings = PROJECT["tool"]["cibuildwheel"]
    abi = PROJECT["tool"]["scikit-build"]["wheel"]["py-api"]
    assert f"{abi}-*" == settings["build"][1]


FORMS = [
    path
    for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    if path.stem != "config"
]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_forms_of_issues_are_complete(path):
    """A form has a name, a description, and questions with labels and ids of their own."""
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= set(form)
    ids = [question["id"] for question in form["body"]]
    assert len(set(ids)) == len(ids) > 0
    assert all(question["attributes"]["label"] for question in form["body"])


def test_the_address_of_the_project_is_one():
    """All addresses of the metadata begin with that of the citation."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    address = citation["repository-code"]
    urls = PROJECT["project"]["urls"]
    assert {"Homepage", "Documentation", "Changelog", "Issues"} <= set(urls)
    assert all(url.startswith(address) for url in urls.values())
