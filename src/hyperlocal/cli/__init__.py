"""The command line: ``hyperlocal compare | fit | predict | score | explain | export | info``.

Results go to stdout, everything else to stderr. Exit codes: 0; 1 for a failure, such as a file that
cannot be read or nothing that could be measured; 2 for bad usage; 130 after Ctrl-C; 141 if the
reader of a pipe has closed it.

A subcommand is one function that takes the parsed arguments and returns an exit code, and one that
declares its arguments; both are in ``COMMANDS``.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from ..datasets.tables import close_to
from ..runtime.versions import package_version
from . import compare, explain, export, fit, info, predict, score
from .options import Command, UsageError

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
    "export": export.COMMAND,
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
    return run_command(
        "hyperlocal", "Local and locally linear support vector machines.", COMMANDS, argv
    )


def run_command(
    program: str, description: str, commands: Mapping[str, Command], argv: Sequence[str] | None
) -> int:
    """Run the subcommand that the arguments name; an error is one line on stderr."""
    arguments = build_parser(program, description, commands).parse_args(argv)
    _tolerate_narrow_encodings()
    try:
        code = commands[arguments.command].run(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Otherwise Python would write an error message when it flushes stdout at exit.
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        return BROKEN_PIPE
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        print(f"{program} {arguments.command}: error: {reason}", file=sys.stderr)
        return BAD_USAGE if isinstance(error, UsageError) else FAILURE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


def build_parser(
    program: str, description: str, commands: Mapping[str, Command]
) -> argparse.ArgumentParser:
    """Return the parser of all subcommands."""
    parser = _Parser(prog=program, description=description)
    parser.add_argument(
        "--version", action="version", version=f"hyperlocal {package_version('hyperlocal')}"
    )
    _add_completion(parser)
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in commands.items():
        subparser = subparsers.add_parser(name, help=command.help, description=command.help)
        command.add_arguments(subparser)
        parser.known.setdefault(name, [])
        for option in re.findall(r"--\w[\w-]*", subparser.format_usage()):
            parser.known.setdefault(option, []).append(name)
    return parser


class _Parser(argparse.ArgumentParser):
    """A parser whose errors suggest what was meant, or name the commands that take an option."""

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.known: dict[str, list[str]] = {}  #: commands, and options with those that take them

    def error(self, message: str) -> NoReturn:
        """Exit with the message, and with a suggestion."""
        pattern = r"unrecognized arguments: (--\w[\w-]*)|invalid choice: '([\w-]+)'"
        found = re.search(pattern, message)
        word = "" if found is None else found[1] or found[2]
        takers = self.known.get(word)
        hint = f" (an option of {', '.join(takers)})" if takers else close_to(word, [*self.known])
        if not hint and re.search(r"unrecognized arguments: --\w+[ =]", message):
            hint = " (settings of a method are given to hyperlocal fit by --set NAME=VALUE)"
        super().error(message + hint)


def _add_completion(parser: argparse.ArgumentParser) -> None:
    """``--print-completion SHELL``, where shtab is installed."""
    try:
        import shtab
    except ImportError:
        return
    shtab.add_argument_to(
        parser, "--print-completion", help="print a script that completes this command, and exit"
    )


def _tolerate_narrow_encodings() -> None:
    """Print "?" for a "µ" that the terminal's encoding lacks, rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
