"""The command line: ``hyperlocal compare | fit | predict | score | explain | reproduce | info``.

Results go to stdout, everything else to stderr. Exit codes: 0; 1 for a failure, such as a file that
cannot be read or nothing that could be measured; 2 for bad usage; 130 after Ctrl-C; 141 if the
reader of a pipe went away.

A subcommand is one function that takes the parsed arguments and returns an exit code, and one that
declares its arguments; both stand in ``COMMANDS``. Heavy modules are imported inside the functions,
so that ``--help`` is quick.

One way through the files: options, progress → model_file → commands → here.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from . import compare, explain, fit, info, predict, reproduce, score
from .options import Command, UsageError, own_version

FAILURE = 1
BAD_USAGE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141

COMMANDS: dict[str, Command] = {
    "compare": compare.COMMAND,
    "fit": fit.COMMAND,
    "predict": predict.COMMAND,
    "score": score.COMMAND,
    "explain": explain.COMMAND,
    "reproduce": reproduce.COMMAND,
    "info": info.COMMAND,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; default: those of the process.

    Examples
    --------
    >>> from hyperlocal.cli import main
    >>> main(["compare", "no-such-file.csv"])
    1
    """
    arguments = build_parser().parse_args(argv)
    _tolerate_narrow_encodings()
    try:
        code = COMMANDS[arguments.command].run(arguments)
        sys.stdout.flush()
        return code
    except UsageError as error:
        return _report(arguments.command, error, BAD_USAGE)
    except BrokenPipeError:
        # Python would complain when it flushes stdout at exit.
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        return BROKEN_PIPE
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        return _report(arguments.command, error, FAILURE)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


def _report(command: str, error: Exception, code: int) -> int:
    """Print an error in one line."""
    reason = " ".join(str(error).split()) or type(error).__name__
    print(f"hyperlocal {command}: error: {reason}", file=sys.stderr)
    return code


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="hyperlocal",
        description="Locally linear support vector machines.",
    )
    parser.add_argument("--version", action="version", version=f"hyperlocal {own_version()}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=command.help, description=command.help)
        command.add_arguments(subparser)
    return parser


def _tolerate_narrow_encodings() -> None:
    """Print "?" for a "µ" that the terminal's encoding lacks, rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
