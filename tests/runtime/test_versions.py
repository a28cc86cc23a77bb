"""Tests of hyperlocal.runtime.versions: what a bug report needs."""

import io
import os
import platform
import sys

import numpy as np
import pytest
import sklearn

from hyperlocal import _core, show_versions
from hyperlocal.runtime import versions


def printed():
    stream = io.StringIO()
    show_versions(stream)
    lines = stream.getvalue().splitlines()
    return dict(line.strip().split(": ", 1) for line in lines)


def test_versions_are_those_in_use():
    """Each fact stands in a line with its name."""
    facts = printed()
    assert facts["python"] == platform.python_version()
    assert facts["numpy"] == np.__version__
    assert facts["scikit-learn"] == sklearn.__version__
    assert facts["cores"] == str(os.cpu_count())
    assert facts["compiled core"] == _core.INSTRUCTION_SET
    assert {"hyperlocal", "scipy", "threadpoolctl", "BLAS"} <= facts.keys()


def test_it_prints_to_stdout_by_default(capsys):
    """Without a stream the lines go to stdout."""
    show_versions()
    assert "hyperlocal: " in capsys.readouterr().out


def test_extras_are_listed_where_they_are_installed(monkeypatch):
    """An extra that is missing has no line; what hyperlocal needs always has one."""
    absent = {"matplotlib", "scipy"}
    known = versions.package_version
    monkeypatch.setattr(
        versions, "package_version", lambda name: None if name in absent else known(name)
    )
    facts = printed()
    assert "matplotlib" not in facts
    assert facts["scipy"] == "not installed"


def test_a_missing_core_is_reported(monkeypatch):
    """Where the compiled core cannot be imported, the reason stands in its line."""
    monkeypatch.setitem(sys.modules, "hyperlocal._core", None)
    assert printed()["compiled core"].startswith("missing (")


@pytest.mark.parametrize("libraries", [[], [{"user_api": "openmp"}]])
def test_a_machine_without_a_known_blas(libraries, monkeypatch):
    """Libraries that threadpoolctl does not know are no error."""
    monkeypatch.setattr(versions, "threadpool_info", lambda: libraries)
    assert versions.blas() == "none found"
