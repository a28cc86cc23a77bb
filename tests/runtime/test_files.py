"""Tests of hyperlocal/runtime/files.py: a file is whole, whatever happens while it is written."""

import errno
import subprocess
import sys
import time

import pytest

from hyperlocal.runtime import files

# Writes one file again and again, with one byte as often as it fits and then the other.
WRITER = """
import itertools, runpy, sys
replace_file = runpy.run_path(sys.argv[1])["replace_file"]
for byte in itertools.cycle([b"a", b"b"]):
    replace_file(sys.argv[2], byte * 5_000_000)
    print("written", flush=True)
"""


def test_a_file_is_replaced_when_the_new_one_is_complete(tmp_path, monkeypatch):
    """An error while it is written leaves the old file, and no other."""
    path = tmp_path / "m.skops"
    files.replace_file(path, b"old")

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", fail)
    with pytest.raises(OSError, match=r"m\.skops: cannot be written \(No space left.*another"):
        files.replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["m.skops"]


def test_a_killed_process_leaves_a_whole_file(tmp_path):
    """A process that is killed at any moment of its writing leaves one of the two contents."""
    path = tmp_path / "m.skops"
    command = [sys.executable, "-c", WRITER, files.__file__, str(path)]
    for milliseconds in range(0, 25, 4):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(milliseconds / 1000)
            writer.kill()
        content = path.read_bytes()
        assert content in (b"a" * 5_000_000, b"b" * 5_000_000)


def test_a_link_stays_a_link(tmp_path):
    """What it points to is replaced."""
    path, link = tmp_path / "m.skops", tmp_path / "latest.skops"
    path.write_bytes(b"old")
    link.symlink_to(path)
    files.replace_file(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"


def test_a_private_file_stays_private(tmp_path):
    """Who may read a file is not changed when it is replaced."""
    path = tmp_path / "m.skops"
    path.write_bytes(b"old")
    for mode in (0o600, 0o664):
        path.chmod(mode)
        files.replace_file(path, b"new")
        assert path.stat().st_mode & 0o777 == mode


def test_devices_are_written_to():
    """A file does not take the place of a device."""
    files.replace_file("/dev/null", b"new")
    with open("/dev/null", "rb") as device:
        assert device.read() == b""
