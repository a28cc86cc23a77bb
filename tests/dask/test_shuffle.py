"""Tests of hyperlocal.dask.shuffle: partitions are read, described and sampled on the workers."""

import numpy as np

from hyperlocal.dask.collections import row_parts
from hyperlocal.dask.shuffle import Shuffle, pooled, send
from hyperlocal.dask.targets import ClassTarget

X = np.arange(40.0).reshape(20, 2)
y = np.repeat([0, 1], 10)


def test_partitions_are_described_and_sampled(client):
    """By rows, classes and their masses; a sample has the size that is asked for."""
    shuffle = Shuffle(client, row_parts(X, y, None, n_parts=2), seed=0)
    facts = shuffle.read()
    assert shuffle.n_parts == 2
    assert [fact.n_rows for fact in facts] == [10, 10]
    assert [fact.labels.classes.tolist() for fact in facts] == [[0], [1]]
    assert [fact.labels.masses.tolist() for fact in facts] == [[10.0], [10.0]]
    samples = shuffle.draw(np.array([3, 0]))
    assert [sample.X.shape for sample in samples] == [(3, 2)]
    target = ClassTarget(np.array([0, 1]), np.ones(2))
    data = pooled(samples, np.float64, target, population=20)
    assert data.n_represented == 20
    assert set(map(tuple, data.X)) <= set(map(tuple, X[:10]))


def test_what_is_sent_can_be_used_by_tasks(client):
    """As the result of a task."""
    assert client.submit(sum, send(client, [1, 2])).result(timeout=30) == 3
