"""Which tracked results are older than the code they measure, and running them again.

    python -m benchmarks.freshness               # the state of every tracked result
    python -m benchmarks.freshness --run readme  # again what the README shows, by recorded commands
    python -m benchmarks.freshness --run mnist prediction

Every result records a digest of each package of the library that was loaded, and of the compiled
kernels. A result is older than the code if one of them has changed since.
"""

from __future__ import annotations

import shlex
import subprocess
import sys

from .common import RESULTS, Row, plain_parser, print_table, read_result
from .environment import digests, load_average

SHOWN_IN_README = (
    "mnist",
    "defaults_confirm",
    "liblinear_race",
    "anchor_learning_accuracy",
    "similar",
    "real_tables",
    "large_data_covtype",
)
FRESH, OLDER, UNRECORDED = "fresh", "older than the code", "code not recorded"


def state_of(result: Row) -> Row:
    """Whether a result is fresh, and which packages have changed since."""
    recorded: dict[str, str] | None = result.get("code")
    if recorded is None:
        return {"state": UNRECORDED, "changed": ""}
    now = digests(recorded)
    changed = [package for package, digest in recorded.items() if now.get(package) != digest]
    return {"state": OLDER if changed else FRESH, "changed": ", ".join(changed)}


def states() -> list[Row]:
    """The state of every tracked result."""
    names = sorted(path.stem for path in RESULTS.glob("*.json"))
    results = [(name, read_result(name)) for name in names]
    return [
        {"result": name, "date": result["date"][:10], **state_of(result)}
        for name, result in results
    ]


def run_again(name: str) -> None:
    """Run the command that a result records."""
    _, *arguments = shlex.split(read_result(name)["command"])
    busy = ", ".join(f"{load:.1f}" for load in load_average())
    print(f"{name}: python {shlex.join(arguments)} (load {busy})", flush=True)
    subprocess.run([sys.executable, *arguments], check=True)


def main() -> None:
    """Print the states, or run some results again."""
    parser = plain_parser(__doc__)
    parser.add_argument(
        "--run", nargs="+", metavar="NAME", help="results to measure again; readme: all it shows"
    )
    wanted = parser.parse_args().run or []
    for name in wanted:
        for each in SHOWN_IN_README if name == "readme" else (name,):
            run_again(each)
    if not wanted:
        print_table(states())


if __name__ == "__main__":
    main()
