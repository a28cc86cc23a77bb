"""What the commands share: arguments that several take, their types, and printing."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..compare import METHODS, REGRESSORS, Method, pick_methods
from ..compare.methods import methods_of
from ..compare.targets import TASKS
from ..datasets.tables import close_to
from ..estimators.table_encoder import TableEncoder


class UsageError(ValueError):
    """The command was called in a way that cannot work, whatever the files hold."""


@dataclass(frozen=True)
class Command:
    """A subcommand: what it does in a line, its arguments, and the function that runs it."""

    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


# Arguments ----------------------------------------------------------------------------------------

FORMATS = "CSV, LIBSVM, npz or parquet file, or - for standard input"
NOTES_SHOWN = 12
TARGET_HELP = "column of a table to predict, by name or by number from 0"


def add_model_and_data(parser: argparse.ArgumentParser, *, target_help: str | None) -> None:
    """``MODEL DATA``, and ``--target`` where labels are read."""
    file_argument(parser, "model", metavar="MODEL", help="a file that hyperlocal fit wrote")
    file_argument(parser, "data", metavar="DATA", help=f"a {FORMATS}")
    if target_help is not None:
        parser.add_argument("--target", metavar="NAME", help=target_help)


def file_argument(parser: argparse.ArgumentParser, *names: str, **options: Any) -> None:
    """An argument that names a file, which shells complete."""
    argument: Any = parser.add_argument(*names, **options)
    argument.complete = {"bash": "_shtab_compgen_files", "zsh": "_files"}


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """``--drop``, ``--impute``, ``--positive`` and ``--task``: how a table is used."""
    parser.add_argument(
        "--drop",
        type=comma_separated,
        metavar="LIST",
        default=[],
        help="columns to leave out, e.g. those that are known only after the label",
    )
    parser.add_argument(
        "--impute",
        type=one_of(["median", "mean"]),
        default="median",
        metavar="HOW",
        help="what missing numbers are filled in by: median (the default) or mean",
    )
    add_positive(parser)
    parser.add_argument(
        "--task",
        type=one_of(TASKS),
        default="auto",
        metavar="TASK",
        help="classification takes every label as a class, regression as a number to predict; "
        "auto (the default) says which of them labels look like",
    )


def add_positive(parser: argparse.ArgumentParser) -> None:
    """``--positive``."""
    parser.add_argument(
        "--positive",
        metavar="LABEL",
        help="the class that average precision is of, if there are two (default: the rarer)",
    )


def encoder_of(arguments: argparse.Namespace) -> TableEncoder | None:
    """The encoder of these options; None where they are the defaults."""
    if not arguments.drop and arguments.impute == "median":
        return None
    return TableEncoder(drop=tuple(arguments.drop), impute=arguments.impute)


def one_of(names: Sequence[str]) -> Callable[[str], str]:
    """A type of arguments: one of these words; a close one is suggested."""

    def choice(text: str) -> str:
        if text not in names:
            raise argparse.ArgumentTypeError(
                f"{text!r}{close_to(text, names)}; choose one of {', '.join(names)}"
            )
        return text

    return choice


def add_seed_and_jobs(parser: argparse.ArgumentParser) -> None:
    """``--seed`` and ``--jobs``."""
    parser.add_argument(
        "--seed",
        type=_seed,
        default=0,
        metavar="N",
        help="seed of everything that is random (default: 0)",
    )
    parser.add_argument(
        "--jobs",
        type=jobs,
        default=-1,
        metavar="N",
        help="threads of the local SVMs, -1 for all cores (the default)",
    )


def add_output_switches(parser: argparse.ArgumentParser) -> None:
    """``--json`` and ``--quiet``."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="no messages, no progress bar")


def add_stream_switches(parser: argparse.ArgumentParser, what: str) -> None:
    """``--stream`` and ``--folder``."""
    parser.add_argument("--stream", action="store_true", help=what)
    parser.add_argument(
        "--folder",
        metavar="DIR",
        help="where --stream keeps its working files (default: the system's temporary files)",
    )


def check_stream_switches(arguments: argparse.Namespace) -> None:
    """Raise where ``--folder`` is no folder, or is given without ``--stream``."""
    if arguments.folder is None:
        return
    if not arguments.stream:
        raise UsageError("--folder: goes with --stream")
    check_folder("--folder", arguments.folder)


def check_replaceable(option: str, path: str) -> None:
    """Raise before the work where a complete file cannot take this name: a device would be lost."""
    check_folder(option, os.path.dirname(path))
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{option}: {path} is not a file; give the name of a file")


def check_folder(option: str, folder: str) -> None:
    """Raise before the work, rather than after it, where nothing can be written to a folder."""
    if not os.path.isdir(folder or "."):
        raise ValueError(f"{option}: no folder {folder!r}; make it first")
    if not os.access(folder or ".", os.W_OK | os.X_OK):
        raise ValueError(f"{option}: {folder or '.'} cannot be written to; give another folder")


def methods_named(keys: Iterable[str], task: str) -> list[Method]:
    """The methods with these keys; one that the task does not have is bad usage."""
    known = {**METHODS, **REGRESSORS} if task == "auto" else methods_of(task)
    try:
        return pick_methods(keys, known)
    except ValueError as error:
        kind = "" if task == "auto" else f" of {task}"
        raise UsageError(str(error).replace("unknown methods", f"unknown methods{kind}")) from error


def fraction(text: str) -> float:
    """A number between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, not {text}")
    return value


def _seed(text: str) -> int:
    value = int(text)
    if not 0 <= value < 2**32:
        raise argparse.ArgumentTypeError(f"must be from 0 to 2**32 - 1, not {text}")
    return value


def jobs(text: str) -> int:
    """A number of threads, or -1."""
    value = int(text)
    if value == 0 or value < -1:
        raise argparse.ArgumentTypeError(f"must be -1 or at least 1, not {text}")
    return value


def comma_separated(text: str) -> list[str]:
    """The parts of a list."""
    return [part.strip() for part in text.split(",") if part.strip()]


# Printing -----------------------------------------------------------------------------------------


def say(text: str, *, quiet: bool) -> None:
    """Print a message to stderr, unless ``quiet``."""
    if not quiet:
        print(text, file=sys.stderr, flush=True)


def print_notes(notes: Sequence[str], *, quiet: bool) -> None:
    """Print what was dropped or filled in to stderr, a line each."""
    for note in notes[:NOTES_SHOWN]:
        say(f"  {note}", quiet=quiet)
    if notes[NOTES_SHOWN:]:
        say(f"  … and {len(notes) - NOTES_SHOWN} more notes", quiet=quiet)


def print_json(value: Any, file: Any = None) -> None:
    """Print JSON; numbers and arrays of numpy become plain ones."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=_plain), file=file)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values, one pair a line."""
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        print(f"{name.ljust(width)}  {value}")
