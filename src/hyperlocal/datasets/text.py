"""Text files as they come: packed or not, in any usual encoding, with any line ends."""

from __future__ import annotations

import codecs
import io
from pathlib import Path
from typing import Any

from .packed import ENDINGS, open_bytes

SAMPLE_LINES = 100  # the part of a text file from which its format is recognized
SAMPLE_BYTES = 1 << 18
FEWEST_LINES = 10  # in the sample, where lines are longer than its bytes
MOST_CONTROLS = 0.01  # part of a text that may be control characters
_CONTROLS = bytes(code for code in range(1, 32) if chr(code) not in "\t\n\v\f\r\x1a\x1b")
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip


def table_name(path: Path) -> str:
    """Return the name of a file without its endings."""
    return Path(path.stem).stem if path.suffix in ENDINGS else path.stem


def is_number(text: str) -> bool:
    """Whether text is a number as Python writes it."""
    try:
        float(text)
    except ValueError:
        return False
    return True


# ---- encodings -----------------------------------------------------------------------------------


def _as_cp1252(error: UnicodeError) -> tuple[str, int]:
    """Bytes that are not UTF-8, as Windows and Latin-1 write them."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("hyperlocal-cp1252", _as_cp1252)


def encoding_of(head: bytes) -> str:
    """The encoding of a text that begins so: by its mark, by the zeros of UTF-16, else UTF-8.

    Examples
    --------
    >>> from hyperlocal.datasets.text import encoding_of
    >>> encoding_of(b"a,b"), encoding_of("a,b".encode("utf-16")), encoding_of(b"a\\0,\\0b\\0")
    ('utf-8', 'utf-16', 'utf-16-le')
    """
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding
    for encoding, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if len(head) > 3 and zeros.count(0) > 0.4 * len(head):
            return encoding
    return "utf-8"


def open_text(path: Path) -> TidyText:
    """Open a text file, packed or not; bytes that are not UTF-8 are read as cp1252."""
    with open_bytes(path) as file:
        head = file.read(SAMPLE_BYTES)
    encoding = encoding_of(head)
    n_controls = len(head) - len(head.translate(None, _CONTROLS))
    if encoding == "utf-8" and n_controls > MOST_CONTROLS * len(head):
        raise ValueError(f"{path}: not a text; save it as .csv, .npz or .parquet")
    raw: Any = open_bytes(path)
    text = io.TextIOWrapper(raw, encoding=encoding, errors="hyperlocal-cp1252", newline="")
    # Old files end lines with a carriage return; in others it may be part of a cell.
    return TidyText(text, " " if b"\n" in head else "\n")


class TidyText(io.TextIOBase):
    """A text whose lines end with a line feed, without zero characters.

    Parameters
    ----------
    file : text file
        Opened with ``newline=""``.
    instead : str
        What a carriage return becomes that no line feed follows.
    """

    def __init__(self, file: io.TextIOWrapper, instead: str):
        self._file, self._instead = file, instead
        self.empty_lines: list[int] = []  #: of those that were read, counted from 1
        self._n_lines, self._begun = 0, ""

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def read(self, size: int | None = -1) -> str:
        """About so many characters, all by default."""
        return self._tidy(self._file.read(size))

    def readline(self, size: int = -1) -> str:  # type: ignore[override]
        """The next line."""
        line = self._tidy(self._file.readline(size))
        while line and not line.endswith("\n"):  # it ended with a stray carriage return
            more = self._tidy(self._file.readline(size))
            if not more:
                break
            line += more
        return line

    def __next__(self) -> str:  # type: ignore[override]
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def _tidy(self, text: str) -> str:
        while text.endswith("\r"):  # does a line feed follow?
            more = self._file.read(1)
            text += more
            if not more:
                break
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", self._instead)
        text = text.replace("\0", "") if "\0" in text else text
        *lines, self._begun = (self._begun + text).split("\n")
        first = self._n_lines + 1
        self.empty_lines += [j for j, line in enumerate(lines, first) if not line or line.isspace()]
        self._n_lines += len(lines)
        return text

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def sample_lines(path: Path) -> list[str]:
    """The first lines of a text, without their ends; the last one only if it is complete."""
    with open_text(path) as file:
        text = file.read(SAMPLE_BYTES)
        while text.count("\n") < FEWEST_LINES and (more := file.read(SAMPLE_BYTES)):
            text += more
        lines = text.split("\n")
        return lines[: -1 if len(lines) > 1 and file.read(1) else None]
