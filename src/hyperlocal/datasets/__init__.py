"""Data: named benchmark sets, readers of CSV, LIBSVM, npz and parquet files, and synthetic sets.

Readers return a :class:`Dataset`: training rows, and test rows where a standard split exists.

- :func:`~hyperlocal.datasets.load_dataset` finds a benchmark set by name, in a local folder or at
  OpenML;
- :func:`read_table` reads a user's own file, whatever its format, and :func:`read_raw` reads the
  columns that a model needs;
- :func:`stream` reads it in blocks of rows, if it is larger than memory;
- :func:`make_banana`, :func:`make_sines`, :func:`make_spiral` and :func:`make_xor` draw small
  problems in the plane, and :func:`deformed_digits` makes a stream of images from a few.

Modules in the order of their imports: dataset, text, reading; arrays, svmlight, delimited, parquet;
tables; streams and benchmark.
"""

from .benchmark import known_datasets, load_dataset
from .dataset import Dataset, RawRows, is_sparse
from .deformed import deformed_digits
from .streams import RowStream, stream
from .synthetic import make_banana, make_sines, make_spiral, make_xor
from .tables import read_raw, read_table

__all__ = [
    "Dataset",
    "RawRows",
    "RowStream",
    "deformed_digits",
    "is_sparse",
    "known_datasets",
    "load_dataset",
    "make_banana",
    "make_sines",
    "make_spiral",
    "make_xor",
    "read_raw",
    "read_table",
    "stream",
]
