"""Tests of hyperlocal.export.graph: the parts of an ONNX graph."""

import numpy as np
import pytest

from hyperlocal.export.graph import Graph


def test_equal_constants_are_stored_once():
    """Constants differ by value, shape and type."""
    graph = Graph(np.dtype(np.float64))
    same = {graph.number(1), graph.number(1.0), graph.constant(np.float64(1))}
    assert len(same) == 1
    others = {graph.number([1]), graph.integers(1), graph.number(2)}
    assert len(others | same) == len(graph.constants) == 4


def test_texts_are_constants_too():
    """Labels may be texts."""
    graph = Graph(np.dtype(np.float32))
    labels = np.array(["a", "b"], dtype=object)
    assert graph.constant(labels) == graph.constant(labels.copy())
    assert [text.decode() for text in graph.constants[0].string_data] == ["a", "b"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_have_the_precision_of_the_graph(dtype):
    """Constants of the model are cast, integers are not."""
    graph = Graph(np.dtype(dtype))
    graph.number(np.arange(3))
    graph.integers(0, 1)
    first, second = graph.constants
    assert first.data_type != second.data_type
    assert len(first.raw_data) == 3 * np.dtype(dtype).itemsize
