"""``python -m benchmarks``: the papers' tables, and every script as a subcommand."""

from __future__ import annotations

import ast
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from hyperlocal.cli import run_command
from hyperlocal.cli.options import Command

from .reproduction import command

FOLDER = Path(__file__).parent
# Imported by the scripts, not run.
SHARED = ("__init__", "__main__", "common", "environment", "table_pages")


def scripts() -> dict[str, str]:
    """Names of the scripts, and the first line of what each says about itself."""
    paths = sorted(path for path in FOLDER.glob("*.py") if path.stem not in SHARED)
    return {path.stem: _first_line(path) for path in paths}


def _first_line(path: Path) -> str:
    """Read, not imported: some scripts need packages that are not installed everywhere."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].replace("%", "%%")


def run_script(name: str, arguments: Sequence[str]) -> int:
    """Run a script as ``python -m benchmarks.NAME`` would."""
    sys.argv[1:] = arguments
    runpy.run_module(f"benchmarks.{name}", run_name="__main__", alter_sys=True)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit code; a script parses its own arguments."""
    name, *rest = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    if name in scripts():
        return run_script(name, rest)
    listed = {
        script: Command(about, lambda parser: None, lambda arguments: 0)
        for script, about in scripts().items()
    }
    commands = {"reproduce": command.COMMAND} | listed
    return run_command("python -m benchmarks", "Measure this library.", commands, [name, *rest])


if __name__ == "__main__":
    raise SystemExit(main())
