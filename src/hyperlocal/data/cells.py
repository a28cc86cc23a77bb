"""Cells of a table: which are missing, and how text is read as a number or a date."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

_MISSING = frozenset({"", "?", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null"})
_UNIT = re.compile(r"([-+]?)\s*[$€£¥]?\s*([-+]?[\d.,]+)\s*[€£%]?")
_CODE = re.compile(r"[-+]?0\d")  # "0012" is a code: as a number it would lose its zeros
_COMMA = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+|\d+),\d+")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?")
#: Formats of dates that are tried after ISO 8601, in this order.
DATE_FORMATS = (
    "%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y",
    "%d/%m/%y", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S",
    "%Y/%m/%d", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%d-%b-%Y", "%d-%b-%y", "%d %b %Y",
    "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%a %b %d %H:%M:%S %z %Y",
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
    """Text without signs of money and per cent around it.

    Examples
    --------
    >>> from hyperlocal.data.cells import bare_number
    >>> bare_number("-$3"), bare_number("12 %")
    ('-3', '12')
    """
    found = _UNIT.fullmatch(text)
    return text if found is None else f"{found[1]}{found[2]}"


def number_of(text: str | None, decimal_comma: bool = False) -> float:
    """Text as a number; NaN if it is none, or infinite. Signs of money and per cent are left out.

    Examples
    --------
    >>> from hyperlocal.data.cells import number_of
    >>> number_of("$1,204.5"), number_of("1.204,5 €", decimal_comma=True), number_of("4o")
    (1204.5, 1204.5, nan)
    """
    text = None if text is None else bare_number(text)
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
    return number if np.isfinite(number) else np.nan


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
    """The first style in which all these texts are dates; None if there is none."""
    found = [text for text in texts if text is not None and not text.isdigit()]
    some = found[:: max(1, len(found) // n_tried)]
    if not some or len(found) < len([text for text in texts if text is not None]):
        return None
    for style in ("iso", *DATE_FORMATS):
        if _all_dates(some, style) and _all_dates(found, style):
            return style
    return None


def _all_dates(texts: Sequence[str], style: str) -> bool:
    return all(np.isfinite(seconds_of(text, style)) for text in texts)


def for_distinct(codes: np.ndarray, values: Sequence[Any], function: Callable) -> np.ndarray:
    """``function`` of each cell as floats, called once for each different value."""
    return np.array([function(value) for value in values], dtype=np.float64)[codes]
