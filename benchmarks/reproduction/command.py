"""``python -m benchmarks reproduce``: a paper's table, measured here, beside its own figures."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from hyperlocal.cli.options import (
    Command,
    UsageError,
    add_output_switches,
    comma_separated,
    print_facts,
    print_json,
    say,
)
from hyperlocal.cli.progress import steps

from .comparison import compared, format_comparison, verdict
from .results import ResultsFolder
from .runner import not_installed, pending, run
from .table import Table, load_table, table_names


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "table", nargs="?", metavar="TABLE", help="a table by name (default: list the tables)"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a small version in minutes: 1,000 rows of each set, few settings, one run",
    )
    parser.add_argument(
        "--out",
        default="reproduced",
        metavar="DIR",
        help="where results are kept, a folder for each table; what is there is not measured "
        "again (default: reproduced)",
    )
    parser.add_argument(
        "--sets", type=comma_separated, default=[], metavar="LIST", help="some of its sets"
    )
    parser.add_argument(
        "--methods", type=comma_separated, default=[], metavar="LIST", help="some of its methods"
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="fit what was measured anew, with the settings chosen then: all times of one machine",
    )
    parser.add_argument(
        "--show", action="store_true", help="print what the folder holds; measure nothing"
    )
    add_output_switches(parser)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.table is None:
        return _list_tables(arguments.json)
    table = _table(arguments)
    name = f"{table.name}-quick" if arguments.quick else table.name
    folder = ResultsFolder(f"{arguments.out}/{name}")
    if arguments.show:
        _print(table, folder, arguments)
        return 0
    cells = pending(table, folder, again=arguments.again)
    _announce(table, len(cells), arguments)
    with steps(len(cells), quiet=arguments.quiet, verb="measuring") as begin:
        run(table, folder, command=_command(arguments), begin=begin, again=arguments.again)
    _print(table, folder, arguments)
    return 0


def _list_tables(as_json: bool) -> int:
    titles = {name: load_table(name).title for name in table_names()}
    if as_json:
        print_json(titles)
    else:
        print_facts(titles)
    return 0


def _table(arguments: argparse.Namespace) -> Table:
    try:
        table = load_table(arguments.table).only(arguments.sets, arguments.methods)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return table.quick() if arguments.quick else table


def _announce(table: Table, n_cells: int, arguments: argparse.Namespace) -> None:
    say(f"{table.title}: {n_cells} of {len(list(table.cells()))} fits to do", quiet=arguments.quiet)
    for package in not_installed(table):
        say(f"not installed: {package}; its rows are left out", quiet=arguments.quiet)
    if table.missing:
        say(f"not reproduced: {table.missing}", quiet=arguments.quiet)


def _command(arguments: argparse.Namespace) -> str:
    """The command as it would be typed, without the folder, which differs between readers."""
    parts = ["python -m benchmarks reproduce", arguments.table]
    parts += [f"--{name}" for name in ("quick", "again") if getattr(arguments, name)]
    for name in ("sets", "methods"):
        if getattr(arguments, name):
            parts += [f"--{name}", ",".join(getattr(arguments, name))]
    return " ".join(parts)


def _print(table: Table, folder: ResultsFolder, arguments: argparse.Namespace) -> None:
    rows = compared(table, folder.read())
    if arguments.json:
        facts = {"table": table.name, "title": table.title, "missing": table.missing}
        absent = not_installed(table)
        print_json({**facts, "not_installed": absent, "rows": [asdict(row) for row in rows]})
        return
    print(format_comparison(rows))
    if verdict(rows):
        print(verdict(rows))


COMMAND = Command(
    "measure a table of the papers again, and print it beside the published figures",
    _add_arguments,
    _run,
)
