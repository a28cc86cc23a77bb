"""A table as its TOML file describes it: sets, methods, grids, folds, repeats.

See ``benchmarks/plans``; ``benchmarks/published`` has the paper's figures, in a CSV of that name.
"""

from __future__ import annotations

import csv
import hashlib
import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from hyperlocal.compare import Method, pick_methods

from .adapters import METHODS, Settings

BENCHMARKS = Path(__file__).parents[1]
PLANS, PUBLISHED = BENCHMARKS / "plans", BENCHMARKS / "published"
QUICK_ROWS = 1_000  # of a set, and as many to test on
QUICK_GRID = 4  # candidates of a method


@dataclass(frozen=True)
class SetPlan:
    """A data set, and how it is cut and prepared."""

    name: str
    data: str | None = None  #: the data set, if it is not of this name
    preparation: str = "standardize"
    train_share: float | None = None  #: cut anew in each repeat; None: the standard test part
    positive: int | None = None  #: the label of the first class; all others are the second
    validation: str = "shuffled"  #: folds of shuffled rows, or "blocks" of a series
    repeats: int = 1
    tune_rows: int = 3_000  #: rows for the first round of choosing, all candidates
    final_rows: int = 10_000  #: rows for the second round, the best few
    most_rows: int | None = None  #: of training and of test rows; all by default


@dataclass(frozen=True)
class MethodPlan:
    """A line of a table: a method, what it is called there, and which settings are tried."""

    key: str  #: that of the method, unless several lines have the same method
    name: str
    method: str = ""  #: key of the method, if it is another
    published: str = ""  #: its name in the paper's table, if it is there
    settings: Settings = field(default_factory=dict)  #: the same for all sets
    grid: dict[str, list] = field(default_factory=dict)  #: choices, the same for all sets
    sets: dict[str, Any] = field(default_factory=dict)  #: settings, choices, repeats for one set

    @property
    def entry(self) -> Method:
        """The method in the registry."""
        return METHODS[self.method or self.key]

    def repeats(self, plan: SetPlan) -> int:
        """How often it runs on a set: as often as the set's plan says, or less if it is slow."""
        most = self.sets.get(plan.name, {}).get("repeats", plan.repeats)
        # On rows that stay the same, a method that uses no random numbers would repeat itself.
        same = plan.train_share is None and not self.entry.is_random
        return 1 if same else min(most, plan.repeats)

    def fixed(self, set_name: str) -> Settings:
        """Settings that are not chosen."""
        return self.settings | self.sets.get(set_name, {}).get("settings", {})

    def candidates(self, set_name: str) -> list[Settings]:
        """All combinations of the choices for a set; one, empty, if there is nothing to choose.

        A key such as ``"n_anchors,n_neighbors"`` sets several settings at once.
        """
        grid = self.sets.get(set_name, {}).get("grid", self.grid)
        found = []
        for values in product(*grid.values()):
            candidate: Settings = {}
            for names, value in zip(grid, values, strict=True):
                candidate |= _assigned(names.split(","), value)
            found.append(candidate)
        return found


def _assigned(names: Sequence[str], value: Any) -> Settings:
    if len(names) == 1:
        return {names[0]: value}
    return {name.strip(): one for name, one in zip(names, value, strict=True)}


@dataclass(frozen=True)
class Cell:
    """One fit of the table: a method on one cut of a set."""

    set: SetPlan
    method: MethodPlan
    repeat: int

    @property
    def key(self) -> tuple[str, str, int]:
        """What distinguishes it from the other cells."""
        return self.set.name, self.method.key, self.repeat

    @property
    def digest(self) -> str:
        """A text that changes if the cell would be measured in another way."""
        plan = [
            _what_matters(self.set),
            self.method.entry.key,
            self.method.fixed(self.set.name),
            self.method.candidates(self.set.name),
        ]
        text = json.dumps(plan, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]


def _what_matters(plan: SetPlan) -> dict[str, Any]:
    """A set's plan for the digest: the number of repeats changes no run of its own."""
    fields = asdict(plan) | {"repeats": None}
    unused = {name for name in ("data", "positive") if fields[name] is None}
    return {name: value for name, value in fields.items() if name not in unused}


@dataclass(frozen=True)
class Published:
    """A figure of a paper."""

    method: str
    set: str
    error: float
    source: str
    deviation: float | None = None
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    note: str = ""  #: why what is found here is worse, where it is


@dataclass(frozen=True)
class Table:
    """What to run, and what the paper found."""

    name: str
    title: str
    sets: tuple[SetPlan, ...]
    methods: tuple[MethodPlan, ...]
    published: tuple[Published, ...] = ()
    missing: str = ""  #: sets and columns of the paper that cannot be had, and why
    baseline: str = ""  #: the method whose seconds others are compared with
    folds: int = 3
    finalists: int = 3

    def cells(self) -> Iterator[Cell]:
        """All cells, set by set."""
        for plan in self.sets:
            for method in self.methods:
                for repeat in range(method.repeats(plan)):
                    yield Cell(plan, method, repeat)

    def published_error(self, method: MethodPlan, set_name: str) -> Published | None:
        """The paper's figure for a cell."""
        found = [p for p in self.published if (p.method, p.set) == (method.published, set_name)]
        return found[0] if found else None

    def only(self, sets: Sequence[str] = (), methods: Sequence[str] = ()) -> Table:
        """The part of the table with these sets and methods."""
        _check_known("sets", sets, [plan.name for plan in self.sets])
        _check_known("methods", methods, [plan.key for plan in self.methods])
        return replace(
            self,
            sets=tuple(plan for plan in self.sets if not sets or plan.name in sets),
            methods=tuple(plan for plan in self.methods if not methods or plan.key in methods),
        )

    def quick(self) -> Table:
        """A version that takes minutes: few rows, few candidates, one run each."""
        sets = [replace(plan, repeats=1, most_rows=QUICK_ROWS) for plan in self.sets]
        methods = [
            replace(plan, grid=_thinned(plan.grid), sets=_thinned_all(plan))
            for plan in self.methods
        ]
        return replace(self, sets=tuple(sets), methods=tuple(methods))


def _thinned(grid: dict[str, list]) -> dict[str, list]:
    """At most two values of each choice, and few combinations: the first values stay."""
    kept, n_combinations = {}, 1
    for names, values in grid.items():
        n_kept = min(len(values), 2, QUICK_GRID // n_combinations)
        kept[names] = values[:n_kept]
        n_combinations *= n_kept
    return kept


def _thinned_all(plan: MethodPlan) -> dict[str, Any]:
    return {
        name: {**part, "grid": _thinned(part["grid"])} if "grid" in part else part
        for name, part in plan.sets.items()
    }


def _check_known(kind: str, asked: Sequence[str], known: Sequence[str]) -> None:
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise ValueError(f"unknown {kind} {', '.join(unknown)}; this table has: {', '.join(known)}")


def table_names() -> list[str]:
    """Names of the tables that can be reproduced.

    Examples
    --------
    >>> from benchmarks.reproduction import table_names
    >>> "main" in table_names()
    True
    """
    return sorted(path.stem for path in PLANS.glob("*.toml"))


def load_table(name: str) -> Table:
    """Return a table by name.

    Examples
    --------
    >>> from benchmarks.reproduction import load_table
    >>> [plan.name for plan in load_table("ll-svm-2").sets]
    ['usps', 'letter']
    """
    if name not in table_names():
        raise ValueError(f"unknown table {name!r}; known are: {', '.join(table_names())}")
    plan = tomllib.loads((PLANS / f"{name}.toml").read_text(encoding="utf-8"))
    figures = PUBLISHED / f"{name}.csv"
    published = figures.read_text(encoding="utf-8") if figures.is_file() else ""
    common = plan.pop("all_sets", {})
    methods = tuple(MethodPlan(key, **part) for key, part in plan.pop("methods").items())
    pick_methods([line.method or line.key for line in methods], METHODS)  # raises if one is unknown
    return Table(
        name=name,
        sets=tuple(SetPlan(key, **common | part) for key, part in plan.pop("sets").items()),
        methods=methods,
        published=tuple(read_published(published)),
        **plan,
    )


def read_published(text: str) -> Iterator[Published]:
    """The figures of a CSV; empty fields are figures that the paper does not give."""
    names = ("error", "deviation", "fit_seconds", "predict_seconds")
    for row in csv.DictReader(text.splitlines()):
        fields: dict[str, Any] = {name: float(row[name]) for name in names if row.get(name)}
        fields |= {name: row.get(name) or "" for name in ("method", "set", "source", "note")}
        yield Published(**fields)
