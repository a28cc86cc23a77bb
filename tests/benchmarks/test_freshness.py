"""Tests of benchmarks.freshness: which tracked results are older than the code they measure."""

import re
from pathlib import Path

from benchmarks import freshness
from benchmarks.common import RESULTS, environment, read_result
from benchmarks.environment import digests, loaded_packages

README_SCRIPT = Path(freshness.__file__).with_name("readme.py")


def test_a_result_of_now_is_fresh():
    """What is measured now is not older than the code."""
    assert freshness.state_of(environment(0)) == {"state": freshness.FRESH, "changed": ""}


def test_the_packages_that_changed_are_named():
    """A result with other digests says of which packages; one without any says that."""
    older = {"code": {**digests(loaded_packages()), "cpp": "0", "no_such_package": "1"}}
    state = freshness.state_of(older)
    assert state == {"state": freshness.OLDER, "changed": "cpp, no_such_package"}
    assert freshness.state_of({})["state"] == freshness.UNRECORDED


def test_every_tracked_result_has_a_state():
    """The state of each tracked result is known; the output of the test says which are older."""
    states = freshness.states()
    assert [row["result"] for row in states] == sorted(path.stem for path in RESULTS.glob("*.json"))
    due = [f"{row['result']}: {row['state']} {row['changed']}" for row in states]
    print("\n".join(line for line in due if freshness.FRESH not in line))


def test_all_that_the_readme_shows_is_run_again():
    """The results that make up the README are those of ``make benchmarks``, with commands."""
    shown = set(re.findall(r'read_result\("(\w+)"\)', README_SCRIPT.read_text()))
    assert shown == set(freshness.SHOWN_IN_README)
    for name in freshness.SHOWN_IN_README:
        assert read_result(name)["command"].startswith("python -m benchmarks.")
