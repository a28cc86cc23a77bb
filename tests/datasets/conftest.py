"""What the tests of readers share."""

import pytest


@pytest.fixture
def write(tmp_path):
    """A function that writes a text file of the temporary folder and returns its path."""

    def write_file(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write_file
