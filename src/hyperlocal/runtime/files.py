"""Files that are whole: an error or a killed process leaves what was there before."""

from __future__ import annotations

import os
import shutil
import uuid
from contextlib import suppress


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file under another name, and rename it when it is complete; links stay links.

    A killed process may leave the unfinished file, whose name begins with a point and ends in
    ``.part``. Devices and pipes are written to, since a file must not take their place. Who may
    read and write a file stays as it was.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as device:
            device.write(content)
        return
    folder, name = os.path.split(target)
    unfinished = os.path.join(folder, f".{name}.{uuid.uuid4().hex}.part")
    try:
        with open(unfinished, "xb") as file:
            with suppress(OSError):  # a new file, or a disk that knows no modes
                shutil.copymode(target, unfinished)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # else a power failure could leave an empty file
        os.replace(unfinished, target)
    except OSError as error:
        raise OSError(
            f"{os.fspath(path)}: cannot be written ({error.strerror or error}); make space, or "
            "choose another folder"
        ) from error
    finally:
        with suppress(FileNotFoundError):
            os.remove(unfinished)
