"""Cells of a table: which are missing, and how text is read as a number or a date."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from .arguments import LARGEST_NUMBER

MOST_TYPOS = 0.05  # part of a column of numbers or dates that may be something else
_MISSING = frozenset({"", "?", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null"})
_TRUTH = {"true": 1.0, "false": 0.0}
_UNIT = re.compile(r"([-+]?)\s*[$€£¥]?\s*([-+]?[\d.,]+)\s*[€£%]?")
_QUANTITY = re.compile(r"[-+]?[\d.,]+\s*(°[CF]?|[^\W\d_]{1,10}(?:[/²³][^\W\d_]{0,8})?)")
_CODE = re.compile(r"[-+]?0\d")  # "0012" is a code: as a number it would lose its zeros
_COMMA = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+|\d+),\d+")
_SPACED = re.compile(r"\d{1,3}([ \u00a0\u202f'’]\d{3})+")  # thousands apart: "1 204"
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?")
#: Formats of dates and times of day that are tried after ISO 8601, in this order.
DATE_FORMATS = (
    "%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y",
    "%d/%m/%y", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S",
    "%Y/%m/%d", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%d-%b-%Y", "%d-%b-%y", "%d %b %Y",
    "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%a %b %d %H:%M:%S %z %Y", "%m/%d/%Y %I:%M %p",
    "%m/%d/%Y %I:%M:%S %p", "%H:%M", "%H:%M:%S", "%I:%M %p",
)  # fmt: skip


def text_of(cell: Any) -> str | None:
    """A cell as text without outer blanks; None if it is missing.

    Examples
    --------
    >>> from hyperlocal.data.cells import text_of
    >>> text_of(" Private "), text_of("?"), text_of(float("nan")), text_of(3.0)
    ('Private', None, None, '3')
    """
    if isinstance(cell, str):
        text = cell.strip()
    elif isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        text = str(int(cell))  # a column of codes may be read as floats, because some are missing
    else:
        text = "" if cell is None else str(cell).strip()
    return None if text.lower() in _MISSING else text


def has_decimal_commas(texts: Sequence[str | None]) -> bool:
    """Whether numbers are written "1.234,5": some have a decimal comma, none a decimal point."""
    found = [bare_number(text) for text in texts if text is not None and "," in text]
    if not found or not all(_COMMA.fullmatch(text) for text in found):
        return False
    return not all(_THOUSANDS.fullmatch(text) for text in found)


def bare_number(text: str) -> str:
    """Text without signs of money and per cent, blanks between thousands, and bookkeepers' minus.

    Examples
    --------
    >>> from hyperlocal.data.cells import bare_number
    >>> bare_number("-$3"), bare_number("12 %"), bare_number("1 204 €"), bare_number("(1,204)")
    ('-3', '12', '1204', '-1,204')
    """
    if text.startswith("(") and text.endswith(")"):
        inner = bare_number(text[1:-1])
        return f"-{inner}" if inner[:1].isdigit() else text
    found = _UNIT.fullmatch(_SPACED.sub(_without_blanks, text))
    return text if found is None else f"{found[1]}{found[2]}"


def unit_of(texts: Sequence[str | None]) -> str:
    """The word that follows almost all numbers of a column; empty if there is none.

    Examples
    --------
    >>> from hyperlocal.data.cells import unit_of
    >>> unit_of(["12 km", "3.5 km", None]), unit_of(["12 km", "80 m"]), unit_of(["12", "3"])
    ('km', '', '')
    """
    found = [_QUANTITY.fullmatch(text) for text in texts if text is not None]
    units = Counter(match[1].lower() for match in found if match is not None)
    unit, count = units.most_common(1)[0] if units else ("", 0)
    return unit if count >= (1 - MOST_TYPOS) * len(found) else ""


def without_unit(text: str | None, unit: str) -> str | None:
    """Text without this word at its end.

    Examples
    --------
    >>> from hyperlocal.data.cells import without_unit
    >>> without_unit("12 KM", "km"), without_unit("4o", "km")
    ('12', '4o')
    """
    if text is None or not unit or not text.lower().endswith(unit):
        return text
    return text[: -len(unit)].rstrip()


def _without_blanks(found: re.Match[str]) -> str:
    return "".join(filter(str.isdigit, found[0]))


def number_of(text: str | None, decimal_comma: bool = False) -> float:
    """Text as a number; NaN if it is none, or huge. Signs of money and per cent are left out.

    Words for truth values are 1 and 0: a table may hold them as such, or as text.

    Examples
    --------
    >>> from hyperlocal.data.cells import number_of
    >>> number_of("$1,204.5"), number_of("1.204,5 €", decimal_comma=True), number_of("4o")
    (1204.5, 1204.5, nan)
    >>> number_of("TRUE"), number_of("false")
    (1.0, 0.0)
    """
    text = None if text is None else bare_number(text)
    if text is not None and (truth := _TRUTH.get(text.lower())) is not None:
        return truth
    if text is None or _CODE.match(text):
        return np.nan
    if decimal_comma:
        text = text.replace(".", "").replace(",", ".") if "," in text else text
    elif _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    try:
        number = float(text)
    except ValueError:
        return np.nan
    return number if abs(number) <= LARGEST_NUMBER else np.nan


def seconds_of(text: str | None, style: str) -> float:
    """Text as seconds since 1970; NaN if it is no date of this style ("iso" or a format)."""
    if text is None:
        return np.nan
    try:
        time = datetime.fromisoformat(text) if style == "iso" else datetime.strptime(text, style)
    except ValueError:
        return np.nan
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def date_style(texts: Sequence[str | None], n_tried: int = 50) -> str | None:
    """The style in which most of these texts are dates; None if that are not almost all."""
    found = [text for text in texts if text is not None]
    some = found[:: max(1, len(found) // n_tried)]
    best = max(("iso", *DATE_FORMATS), key=lambda style: _part_of_dates(some, style))
    return best if found and _part_of_dates(found, best) >= 1 - MOST_TYPOS else None


def _part_of_dates(texts: Sequence[str], style: str) -> float:
    dates = (not text.isdigit() and np.isfinite(seconds_of(text, style)) for text in texts)
    return sum(dates) / max(1, len(texts))


def for_distinct(codes: np.ndarray, values: Sequence[Any], function: Callable) -> np.ndarray:
    """``function`` of each cell as floats, called once for each different value."""
    return np.array([function(value) for value in values], dtype=np.float64)[codes]
