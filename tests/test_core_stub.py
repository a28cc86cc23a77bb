"""The stub of the compiled core is what nanobind generates from it."""

import subprocess
import sys
from pathlib import Path

import hyperlocal
from hyperlocal import _core

STUB = Path(__file__).parents[1] / "src" / "hyperlocal" / "_core.pyi"


def test_the_stub_is_up_to_date(tmp_path):
    """``_core.pyi`` equals a stub generated now; ``make stub`` writes it anew."""
    fresh = tmp_path / "stub.pyi"
    module = f"{hyperlocal.__name__}._core_baseline"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", module, "-o", str(fresh)]
    subprocess.run(command, check=True)
    assert STUB.read_text() == fresh.read_text()


def test_all_names_of_the_stub_exist():
    """What the stub declares is found in the module that was picked."""
    declared = {
        line.split()[1].split("(")[0].split(":")[0]
        for line in STUB.read_text().splitlines()
        if line.startswith(("class ", "def "))
    }
    assert declared <= set(dir(_core))
    assert _core.INSTRUCTION_SET in ("baseline", "x86-64-v3")
