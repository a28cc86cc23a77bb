"""Tests of benchmarks.common: ratios in words, and tables."""

from benchmarks.common import in_words, markdown_table, speed


def test_speed_says_what_is_true():
    """A slow-down is called slower, by how much it is, and never a fraction of faster."""
    ratios = (20.4, 1.0, 0.25, 0.48, None)
    words = ["20 times faster", "as fast", "4 times slower", "2.1 times slower", ""]
    assert [speed(ratio) for ratio in ratios] == words


def test_ratios_of_a_row_are_words():
    """Columns and rows of ratios get words, and other figures stay figures."""
    row = {"set": "usps", "seconds": 0.5, "times faster (median)": 0.4}
    assert in_words(row) == {"set": "usps", "seconds": 0.5, "speed (median)": "2.5 times slower"}
    ratios = {"method": "times faster", "fit s": 19.0}
    assert in_words(ratios) == {"method": "speed", "fit s": "19 times faster"}


def test_no_table_calls_a_slow_down_faster():
    """A table of ratios on both sides of one has both words."""
    table = markdown_table([{"set": "a", "times faster": 3.0}, {"set": "b", "times faster": 0.5}])
    assert table.splitlines()[2:] == ["| a | 3 times faster |", "| b | 2 times slower |"]
