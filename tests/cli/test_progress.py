"""Tests of the progress bar on stderr."""

import sys

import pytest

from hyperlocal.cli import progress


class Terminal:
    """A stderr that says it is a terminal."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return True


def test_progress_bar_on_a_terminal(monkeypatch):
    """On a terminal there is a bar with the name of the method being fitted."""
    pytest.importorskip("rich")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress.steps(2, quiet=False) as begin:
        begin("first")
        begin("second")
    assert "second" in terminal.text
    assert "fitting" not in terminal.text


def test_progress_lines_without_rich(monkeypatch):
    """On a terminal without rich there is a line per method."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with progress.steps(1, quiet=False) as begin:
        begin("first")
    assert terminal.text == "fitting first …\n"


def test_quiet_progress(monkeypatch):
    """With --quiet there is neither."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress.steps(1, quiet=True) as begin:
        begin("first")
    assert terminal.text == ""
