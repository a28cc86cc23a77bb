"""How a TableEncoder encodes a column, decided by what the column holds: :func:`plan`."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

from ..data.arguments import check_auto, check_choice, check_flag, check_number
from ..data.cells import MOST_TYPOS, date_style, has_decimal_commas, number_of, seconds_of, unit_of
from ..data.table import Column
from ..datasets.tables import close_to, listed
from .column_encoders import (
    CYCLES,
    DAY,
    CategoryEncoder,
    ColumnEncoder,
    DateEncoder,
    NumberEncoder,
    TextEncoder,
)
from .column_notes import counts_of, missing, missing_dates, typos

MOST_WORDS = 10  # different ones in a column of numbers: "none", "unknown" and the like
MOST_TEXT_FEATURES = 1 << 20  # each has a name
FEWEST_ROWS = 20  # in which all values being different means something
_ID = re.compile(r"(?i)(^|[_\W])(id|uuid|guid|key|index|rownames|unnamed: 0)($|[_\W]|str$)")


@dataclass(frozen=True)
class Rules:
    """The arguments of a TableEncoder that decide how a column is encoded."""

    impute: str
    standardize: bool
    text: str
    n_text_features: int
    max_categories: int
    min_frequency: Any

    def __post_init__(self) -> None:
        check_number("max_categories", self.max_categories, integer=True, above=1, inclusive=True)
        check_auto("min_frequency", self.min_frequency, integer=True, above=1, inclusive=True)
        check_number("n_text_features", self.n_text_features, integer=True)
        if self.n_text_features > MOST_TEXT_FEATURES:
            raise ValueError(f"n_text_features must be at most {MOST_TEXT_FEATURES:,}.")
        check_choice("text", self.text, ["drop", "tfidf", "hash"])
        check_choice("impute", self.impute, ["median", "mean"])
        check_flag("standardize", self.standardize)

    def fewest_rows(self, n_rows: int) -> int:
        """Fewest rows of a value that has a column of its own."""
        if self.min_frequency == "auto":
            return min(max(n_rows // 200, 1), 10)
        return int(self.min_frequency)


@dataclass(frozen=True)
class Plan:
    """How a column is encoded, ``encoder`` None if it is dropped; and notes for the user."""

    encoder: ColumnEncoder | None
    notes: tuple[str, ...] = ()


def plan(column: Column, name: str, rules: Rules, as_category: bool) -> Plan:
    """Decide how to encode a column."""
    if as_category or column.kind == "category":
        return _plan_category(column, rules, may_drop=False)
    if column.kind == "time":
        return _plan_dates(column, "iso", rules)
    if column.kind in ("number", "flag"):
        return _plan_numbers(column, name, rules)
    texts = column.texts
    if not any(text is not None for text in texts):
        return Plan(None, ("dropped: no values",))
    unit = unit_of(texts)
    bare = column.without(unit)
    comma = has_decimal_commas(bare.texts)
    if _mostly_numbers(bare, comma):
        return _plan_numbers(bare, name, rules, comma, unit)
    style = date_style(texts)
    if style is not None:
        return _plan_dates(column, style, rules)
    return _plan_category(column, rules, may_drop=True)


def _mostly_numbers(column: Column, comma: bool) -> bool:
    """Whether all but a few cells are numbers, or half of them, many, with few words between."""
    counts = counts_of(column)
    present = np.array([text is not None for text in column.texts])
    good = np.array([np.isfinite(number_of(text, comma)) for text in column.texts])
    n_good, n_cells = counts[good].sum(), counts[present].sum()
    has_few_words = good.sum() >= FEWEST_ROWS and (present & ~good).sum() <= MOST_WORDS
    return bool(n_good >= (0.5 if has_few_words else 1 - MOST_TYPOS) * n_cells > 0)


def _plan_numbers(
    column: Column, name: str, rules: Rules, comma: bool = False, unit: str = ""
) -> Plan:
    numbers = column.as_numbers(comma)
    known = numbers[np.isfinite(numbers)]
    values = np.unique(known)
    n_missing = len(numbers) - len(known)
    if len(values) < 2 and not (len(values) and n_missing):
        reason = "dropped: no values" if not len(values) else "dropped: constant"
        return Plan(None, (*typos(column, lambda text: number_of(text, comma), "number"), reason))
    if _is_id(known, values, name):
        return Plan(None, (f"dropped: an id ({len(values):,} different whole numbers)",))
    fill = float(np.median(known) if rules.impute == "median" else np.mean(known))
    is_flag = len(values) == 2
    if is_flag:
        fill = float(values[int(np.mean(known == values[1]) > 0.5)])
    filled = np.where(np.isfinite(numbers), numbers, fill)
    center, scale = _center_and_scale(filled, values, is_flag, rules)
    notes = typos(column, lambda text: number_of(text, comma), "number")
    notes += missing(n_missing, fill)
    kind = "flag" if is_flag else "number"
    return Plan(NumberEncoder(kind, fill, center, scale, n_missing > 0, comma, unit), notes)


def _center_and_scale(
    filled: np.ndarray, values: np.ndarray, is_flag: bool, rules: Rules
) -> tuple[float, float]:
    if not rules.standardize:
        return 0.0, 1.0
    if is_flag:  # like one-hot columns: 0 and 1
        return float(values[0]), float(values[1] - values[0])
    return float(filled.mean()), float(filled.std()) or 1.0


def _is_id(known: np.ndarray, values: np.ndarray, name: str) -> bool:
    """Whether whole numbers count the rows, or are named as an id and mostly different."""
    if len(known) < FEWEST_ROWS or not np.array_equal(values, np.round(values)):
        return False
    # With gaps, where up to a third of the rows were left out or held out.
    if (np.diff(known) >= 1).all() and known[-1] - known[0] < 1.5 * len(known):
        return True
    return _ID.search(name) is not None and len(values) > len(known) / 2


def _plan_dates(column: Column, style: str, rules: Rules) -> Plan:
    seconds = column.as_times(style)
    known = seconds[~np.isnan(seconds)]
    if len(np.unique(known)) < 2:
        return Plan(None, ("dropped: constant" if len(known) else "dropped: no values",))
    fill, first = float(np.median(known)), float(known.min())
    days = (np.where(np.isnan(seconds), fill, seconds) - first) / DAY
    center, scale = (float(days.mean()), float(days.std())) if rules.standardize else (0.0, 1.0)
    span = float(known.max()) - first
    cycles = tuple(
        cycle
        for cycle, length in CYCLES.items()
        if span > length / 2 and np.ptp(known % length) > length / 100
    )
    n_missing = len(seconds) - len(known)
    notes = typos(column, lambda text: seconds_of(text, style), "date")
    notes += missing_dates(n_missing)
    return Plan(DateEncoder(style, first, fill, center, scale, cycles, n_missing > 0), notes)


def _plan_category(column: Column, rules: Rules, may_drop: bool) -> Plan:
    counts: dict[str | None, int] = {}
    for text, count in zip(column.texts, counts_of(column).tolist(), strict=True):
        counts[text] = counts.get(text, 0) + count
    n_missing = counts.pop(None, 0)
    ranked = sorted(counts, key=lambda text: (-counts[text], text or ""))[: rules.max_categories]
    fewest = rules.fewest_rows(len(column))
    frequent = sorted(text for text in ranked if text and counts[text] >= fewest)
    n_known = sum(counts.values())
    n_rare = n_known - sum(counts[text] for text in frequent)
    if may_drop and _is_free_text(len(counts), n_known, n_rare):
        return _plan_text(column, len(counts), rules)
    if len(counts) + (n_missing > 0) < 2:
        return Plan(None, ("dropped: constant" if counts else "dropped: no values",))
    notes: tuple[str, ...] = ()
    if n_rare:
        n_pooled = len(counts) - len(frequent)
        what = "rare value" if n_pooled == 1 else "rare values"
        notes = (f"{n_pooled:,} {what} ({n_rare:,} row{'s' * (n_rare > 1)}) pooled",)
    return Plan(CategoryEncoder(tuple(frequent), n_missing > 0, n_rare > 0), notes)


def _is_free_text(n_values: int, n_known: int, n_rare: int) -> bool:
    all_differ = n_known >= FEWEST_ROWS and n_values > n_known / 2
    return all_differ or n_rare > n_known / 2


def _plan_text(column: Column, n_values: int, rules: Rules) -> Plan:
    if rules.text == "drop":
        return Plan(None, (f"dropped: free text ({n_values:,} different values)",))
    codes = column.as_cells().codes
    assert codes is not None
    texts = [text or "" for text in column.texts]
    vectorizer = _vectorizer(rules)
    vectorizer.fit([texts[code] for code in codes])
    words: Sequence[str] = (
        vectorizer.get_feature_names_out().tolist()
        if rules.text == "tfidf"
        else [f"hash {j}" for j in range(rules.n_text_features)]
    )
    return Plan(TextEncoder(vectorizer, tuple(words)))


def _vectorizer(rules: Rules) -> Any:
    if rules.text == "tfidf":
        return TfidfVectorizer(max_features=rules.n_text_features, sublinear_tf=True)
    return HashingVectorizer(n_features=rules.n_text_features, alternate_sign=True)


def known_names(argument: str, given: Collection[str], names: Sequence[str]) -> set[str]:
    """The given names of columns; an error names those that there are not."""
    if isinstance(given, str) or not isinstance(given, Collection):
        raise TypeError(f"{argument} must be a sequence of names of columns, not {given!r}.")
    for name in set(given) - set(names):
        hint = f"{close_to(name, names)}; columns are {listed(list(names))}"
        raise ValueError(f"{argument}: no column {name!r}{hint}")
    return set(given)
