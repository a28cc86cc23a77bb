"""Frames in, frames out: every transformer names its columns, in pandas and in polars."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from hyperlocal.maps.additive import AdditiveKernelMap
from hyperlocal.preprocessing import MEGM, LocalCoder

ROWS = np.random.default_rng(0).uniform(size=(40, 3))
TRANSFORMERS = [
    (MEGM(2, max_iter=2), ["megm0", "megm1"]),
    (
        LocalCoder(3, n_neighbors=2, sparse_output=False, random_state=0),
        ["localcoder0", "localcoder1", "localcoder2"],
    ),
    (AdditiveKernelMap(n_steps=1), ["a_0", "b_0", "c_0"]),
]


@pytest.mark.parametrize(("transformer", "names"), TRANSFORMERS, ids=str)
@pytest.mark.parametrize(
    ("kind", "frame"),
    [
        ("pandas", pd.DataFrame(ROWS, columns=list("abc"))),
        ("polars", pl.DataFrame(ROWS, schema=list("abc"))),
    ],
    ids=["pandas", "polars"],
)
def test_frames_come_out(transformer, names, kind, frame):
    """``set_output`` gives a frame of the wanted kind with the same numbers and named columns."""
    y = (ROWS[:, 0] > 0.5).astype(int)
    fitted = clone(transformer).fit(frame, y)
    assert fitted.feature_names_in_.tolist() == list("abc")
    plain = fitted.transform(frame)
    out = fitted.set_output(transform=kind).transform(frame)
    assert isinstance(out, type(frame))
    assert list(out.columns) == names
    np.testing.assert_allclose(out.to_numpy(), plain)
