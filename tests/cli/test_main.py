"""Tests of the command line: exit codes, errors and help."""

import os
import subprocess
import sys

import pytest

from hyperlocal.cli import main, run_command
from hyperlocal.cli.options import Command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: COMMAND"),
        (["divide"], "invalid choice: 'divide'"),
        (["comprae"], "(did you mean 'compare'?)"),
        (["compare", "--taget", "x"], "--taget (did you mean '--target'?)"),
        (["explain", "m", "d", "--methods", "x"], "--methods x (an option of compare)"),
        (["fit", "a.csv", "-o", "m", "--C", "10"], "given to hyperlocal fit by --set NAME=VALUE"),
        (["compare", "--test-size", "1.5"], "must be between 0 and 1, not 1.5"),
        (["compare", "--test-size", "half"], "must be between 0 and 1, not half"),
        (["compare", "--seed", "-1"], "must be from 0 to 2**32 - 1"),
        (["compare", "--jobs", "0"], "must be -1 or at least 1, not 0"),
    ],
)
def test_bad_usage(arguments, message, capsys):
    """Wrong arguments end with exit code 2 and say which."""
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert message in capsys.readouterr().err


def test_interrupt(capsys):
    """Ctrl-C ends with exit code 130 and no traceback."""

    def interrupt(arguments):
        raise KeyboardInterrupt

    wait = Command("wait", lambda parser: None, interrupt)
    assert run_command("program", "", {"wait": wait}, ["wait"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_pipe_whose_reader_left(monkeypatch, capsys):
    """A reader that goes away ends the command quietly, with exit code 141."""
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert main(["info"]) == 141
    assert capsys.readouterr().err == ""


def test_module_runs():
    """``python -m hyperlocal --version`` prints name and version."""
    command = [sys.executable, "-m", "hyperlocal", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("hyperlocal ")
    assert done.stderr == ""
