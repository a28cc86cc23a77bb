"""Files as bytes, packed or not; a damaged one is refused by name, and never read in part."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

ENDINGS = (".gz", ".bz2", ".xz", ".zip", ".zst")
BYTES_AT_ONCE = 1 << 16
#: What the readers raise for files that end early, have changed bytes, or need a password.
_FAULTS = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError, OSError)


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, unpacked; its first bytes say how it is packed, whatever its name."""
    with open(path, "rb") as file:
        head = file.read(4)
    opening = next((opens for magic, opens in _UNPACK.items() if head.startswith(magic)), None)
    if opening is None:
        return open(path, "rb")
    return io.BufferedReader(_Unpacked(path, opening), BYTES_AT_ONCE)


class _Unpacked(io.RawIOBase):
    """The bytes of a packed file; its faults are errors that name it.

    Parameters
    ----------
    path : Path
        Of the packed file.
    opening : callable
        Opens it.
    """

    def __init__(self, path: Path, opening: Callable[[Path], IO[bytes]]):
        self._path = path
        self._file: IO[bytes] | None = None
        self._file = self._checked(lambda: opening(path))

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, from its beginning on; the number of bytes, 0 at the end."""
        view, file = memoryview(buffer), self._file
        assert file is not None
        data = self._checked(lambda: file.read(len(view)))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
        super().close()

    def _checked(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except _FAULTS as error:
            raise ValueError(
                f"{self._path}: cannot be unpacked ({error}); copy or pack it again, or give it "
                "unpacked"
            ) from error


def _open_zip(path: Path) -> IO[bytes]:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if "[Content_Types].xml" in names:
            raise ValueError(f"{path}: an Excel file; save it as .csv")
        files = [
            name for name in names if not name.endswith("/") and not name.startswith("__MACOSX/")
        ]
        if len(files) != 1:
            raise ValueError(f"{path}: holds {len(files)} files; pack the table alone")
        return archive.open(files[0])


def _open_zst(path: Path) -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise ImportError(
            f"{path}: .zst files need zstandard; pip install 'hyperlocal[cli]', or unpack it first"
        ) from error
    return _Zstandard(zstandard, open(path, "rb"))


class _Zstandard:
    """The bytes of a .zst file; the reader of the package takes a part of a file for all of it."""

    def __init__(self, module: Any, file: IO[bytes]):
        self._module, self._file = module, file
        self._frame = module.ZstdDecompressor().decompressobj()
        self._left = io.BytesIO()  # unpacked bytes that are not all read yet
        self._is_begun = False  # whether bytes of the frame were read

    def read(self, size: int) -> bytes:
        """At most so many bytes; none at the end."""
        while not (data := self._left.read(size)):
            packed = self._frame.unused_data or self._file.read(BYTES_AT_ONCE)
            if not packed:
                if self._is_begun and not self._frame.eof:
                    raise EOFError("it ends early")
                return b""
            if self._frame.eof:
                self._frame = self._module.ZstdDecompressor().decompressobj()
            try:
                self._left = io.BytesIO(self._frame.decompress(packed))
            except self._module.ZstdError as error:
                raise EOFError(error) from error
            self._is_begun = True
        return data

    def close(self) -> None:
        """Close the file."""
        self._file.close()


_UNPACK: dict[bytes, Callable[[Path], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zX": lzma.open,
    b"PK\x03\x04": _open_zip,
    b"\x28\xb5\x2f\xfd": _open_zst,
}
