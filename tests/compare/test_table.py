"""Tests of hyperlocal.compare.table: the figures as aligned text."""

from hyperlocal.compare import Row, format_table


def test_table_is_aligned():
    """Figures end, and words begin, in the same column on every line."""
    table = format_table(
        [
            Row("a long name", 0.98765, 0.0123, 0.5, 10),
            Row("short", 1.0, 123.4, 12345.6, 1234567, note="did not converge"),
            Row("none", note="skipped: slow"),
        ]
    )
    assert table.splitlines() == [
        "method       accuracy  fit s  predict µs/row  numbers stored  note",
        "-----------  --------  -----  --------------  --------------  ----------------",
        "a long name   98.77 %  0.012            0.50              10",
        "short        100.00 %    123          12,346       1,234,567  did not converge",
        "none                –      –               –               –  skipped: slow",
    ]


def test_table_without_notes_has_no_column_for_them():
    """The last column is left out if there is nothing to note."""
    assert "note" not in format_table([Row("one", 0.5, 1, 1, 1)])
