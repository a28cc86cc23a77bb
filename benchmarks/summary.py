"""Print the tracked results as markdown tables.

    python -m benchmarks.summary [NAME …]

Figures are read from ``results/``, never typed: what is printed is what was measured.
"""

from __future__ import annotations

from itertools import groupby

from .common import RESULTS, Row, markdown_table, plain_parser, read_result


def tracked_names() -> list[str]:
    """Names of all tracked results."""
    return sorted(path.stem for path in RESULTS.glob("*.json"))


def summary(name: str) -> str:
    """One result: how it was measured, then a table for each of its parts."""
    result = read_result(name)
    tables = [table(part, list(rows)) for part, rows in groupby(result["rows"], key=part_of)]
    return "\n\n".join([f"## {name}", provenance(result), *tables])


def part_of(row: Row) -> str:
    """The table a row belongs to."""
    return row.get("part", "")


def table(part: str, rows: list[Row]) -> str:
    """A part's rows under its name."""
    plain = [{key: value for key, value in row.items() if key != "part"} for row in rows]
    return f"### {part}\n\n{markdown_table(plain)}" if part else markdown_table(plain)


def provenance(result: Row) -> str:
    """Command, date, machine and versions in one paragraph."""
    machine = result["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    return (
        f"`{result['command']}`, seed {result['seed']}, {result['date'][:10]}; "
        f"{machine['cpu']}, {machine['cores']} cores, {machine['instruction_set']}; {versions}."
    )


def main() -> None:
    """Print the named results, or all."""
    parser = plain_parser(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="results to print; all by default")
    names = parser.parse_args().names or tracked_names()
    print("\n\n".join(summary(name) for name in names))


if __name__ == "__main__":
    main()
