"""Tests of what the commands share: types of arguments, and printing."""

import argparse
import json

import numpy as np
import pytest

from hyperlocal.cli.options import (
    UsageError,
    check_folder,
    check_stream_switches,
    comma_separated,
    fraction,
    jobs,
    methods_named,
    print_facts,
    print_json,
)


def test_lists_are_separated_by_commas():
    """Spaces around commas and empty parts do not count."""
    assert comma_separated("a, b,,c ") == ["a", "b", "c"]


@pytest.mark.parametrize(("kind", "text"), [(fraction, "0"), (fraction, "1"), (jobs, "-2")])
def test_numbers_out_of_range(kind, text):
    """A number that makes no sense is an error that repeats it."""
    with pytest.raises(argparse.ArgumentTypeError, match=f"not {text}"):
        kind(text)


def test_unknown_methods_are_bad_usage():
    """The error lists the known methods."""
    with pytest.raises(UsageError, match="unknown methods tree; known are: locally-linear"):
        methods_named(["svc", "tree"], "auto")


def test_folders_must_exist(tmp_path):
    """A missing folder is an error before the work; no folder at all is the current one."""
    check_folder("--output", str(tmp_path))
    check_folder("--output", "")
    with pytest.raises(ValueError, match=r"--output: no folder '.*nowhere'; make it first"):
        check_folder("--output", str(tmp_path / "nowhere"))


def test_folder_goes_with_stream(tmp_path):
    """--folder without --stream is bad usage."""
    check_stream_switches(argparse.Namespace(stream=True, folder=str(tmp_path)))
    with pytest.raises(UsageError, match="--folder: goes with --stream"):
        check_stream_switches(argparse.Namespace(stream=False, folder=str(tmp_path)))


def test_json_of_numpy(capsys):
    """Arrays and numbers of numpy become plain ones."""
    print_json({"array": np.arange(3), "number": np.float32(0.5), "text": "µ"})
    assert json.loads(capsys.readouterr().out) == {"array": [0, 1, 2], "number": 0.5, "text": "µ"}


def test_facts_are_aligned(capsys):
    """Values begin in the same column."""
    print_facts({"a": 1, "longer": 2})
    assert capsys.readouterr().out == "a       1\nlonger  2\n"
