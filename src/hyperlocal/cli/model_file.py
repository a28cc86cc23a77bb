"""Models in files: a pipeline from rows as a file has them to labels, and what it was made from.

Files are of skops (``pip install hyperlocal[cli]``): arrays and names of types, nothing that runs
when it is read. Loading takes the types that skops trusts, those of numpy and scikit-learn, and the
parts of models that hyperlocal itself defines; a file that names any other type is refused.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ..compare.targets import CLASSIFICATION, REGRESSION
from ..data.table import columns_of
from ..datasets import RawRows, is_sparse, read_raw, stream
from ..datasets.dataset import take_rows
from ..estimators.column_notes import notes_on
from ..estimators.table_encoder import TableEncoder
from ..export import TRUSTED_TYPES
from ..runtime.files import replace_file
from ..runtime.versions import package_version
from .progress import steps

FORMAT = "hyperlocal model 2"
ROWS_PER_BLOCK = 32_768
# Sparse rows, which some models keep, are plain data, but skops does not say so.
SPARSE_ROWS = ("scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix")
TRUSTED = [*TRUSTED_TYPES, *SPARSE_ROWS]


@dataclass(frozen=True)
class About:
    """What a model was made from."""

    method: str  #: its key in the registry
    hyperlocal: str  #: version that wrote it
    data: str  #: name of the training data
    n_rows: int  #: number of training rows
    n_columns: int  #: number of columns of the training rows, before encoding
    columns: list[str] | None = None  #: their names, if the file had columns
    target: str | None = None  #: name of the label column
    needs_dense: bool = False  #: whether sparse rows must be made dense for it
    notes: list[str] = field(default_factory=list)  #: what was dropped, filled in or pooled
    positive: str | None = None  #: the positive one of two classes, as text
    task: str = CLASSIFICATION  #: or "regression": whether it predicts classes or numbers


@dataclass(frozen=True)
class StoredModel:
    """A fitted pipeline with what it was made from."""

    pipeline: Any
    about: About

    @property
    def model(self) -> Any:
        """The estimator at the end of the pipeline."""
        return self.pipeline[-1]

    @property
    def is_regression(self) -> bool:
        """Whether it predicts numbers, rather than classes."""
        return self.about.task == REGRESSION

    @property
    def encoder(self) -> Any:
        """What encodes rows: a TableEncoder, or a scaler of scikit-learn."""
        return self.pipeline[0]

    @property
    def feature_names(self) -> list[str]:
        """Names of the encoded features that the classifier sees."""
        return list(self.encoder.get_feature_names_out(self._columns))

    @property
    def _columns(self) -> list[str]:
        return self.about.columns or [f"x{j}" for j in range(self.about.n_columns)]

    @property
    def _optional(self) -> list[str]:
        """Columns that the encoder leaves out: files need not have them."""
        kinds = getattr(self.encoder, "kinds_", {})
        return [name for name, kind in kinds.items() if kind == "dropped"]

    def read(self, path: str, *, target: str | None = None, part: str = "test") -> RawRows:
        """Read rows of a file with the columns of the model."""
        rows = read_raw(
            path, target=target, columns=self.about.columns, optional=self._optional, part=part
        )
        return self._fitted_width(path, rows)

    def stream(self, path: str, *, folder: str | None = None) -> Iterator[RawRows]:
        """Read rows of a file with the columns of the model, in blocks."""
        rows = stream(
            path, columns=self.about.columns, optional=self._optional, part="test", cache=folder
        )
        return (self._fitted_width(path, block) for block in rows.raw_blocks())

    def _fitted_width(self, path: str, rows: RawRows) -> RawRows:
        X, width = rows.X, self.about.n_columns
        if is_sparse(X) and X.shape[1] < width:
            # A LIBSVM file ends at the last feature that is not zero.
            X = type(X)((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
        if X.shape[1] != width:
            raise ValueError(
                f"{path}: {X.shape[1]} features, but the model was fitted to {width} (of "
                f"{self.about.data}); give rows with the same features"
            )
        if hasattr(self.encoder, "feature_names_in_") and isinstance(X, np.ndarray):
            X = as_table(X, self._columns)
        return replace(rows, X=X)

    def notes_on(self, X: Any) -> list[str]:
        """What the encoder fills in, or does not know, in rows of a table."""
        if not isinstance(self.encoder, TableEncoder):
            return []
        encoders = zip(self.encoder.kinds_, self.encoder.encoders_, strict=True)
        return notes_on(dict(encoders), columns_of(X))

    @property
    def has_intervals(self) -> bool:
        """Whether it was fitted with rows held out for intervals."""
        return hasattr(self.model, "conformal_")

    def intervals(self, coverage: float) -> Callable[[Any], np.ndarray]:
        """From rows to the ends of intervals that hold the value with this probability."""
        return lambda X: self.model.predict_interval(self.encoder.transform(X), coverage)

    def blocks(self, X: Any) -> Iterator[Any]:
        """The rows in pieces of bounded size, as the pipeline takes them."""
        for begin in range(0, X.shape[0], ROWS_PER_BLOCK):
            block = take_rows(X, slice(begin, begin + ROWS_PER_BLOCK))
            yield block.toarray() if self.about.needs_dense and is_sparse(block) else block

    def apply(
        self, method: Callable[[Any], np.ndarray], X: Any, *, quiet: bool, verb: str = "predicting"
    ) -> np.ndarray:
        """Concatenate what a method of the pipeline makes of the rows, with progress."""
        n_blocks = -(-X.shape[0] // ROWS_PER_BLOCK)
        pieces = []
        with steps(n_blocks, quiet=quiet, verb=verb, lines=False) as begin:
            for number, block in enumerate(self.blocks(X), start=1):
                begin(f"block {number} of {n_blocks}")
                pieces.append(method(block))
        return np.concatenate(pieces)


# Making -------------------------------------------------------------------------------------------


def make_pipeline(encoder: Any, model: Any) -> Pipeline:
    """Encoding (by a TableEncoder) or scaling, and the model."""
    step = "encode" if isinstance(encoder, TableEncoder) else "scale"
    return Pipeline([(step, encoder), ("model", model)])


def as_table(X: np.ndarray, columns: list[str]) -> Any:
    """An array as a table with these columns."""
    import pandas

    return pandas.DataFrame(X, columns=columns)


def about_rows(
    rows: RawRows, method: str, needs_dense: bool, n_rows: int, notes: Sequence[str]
) -> About:
    """What a model was made from that is fitted to ``n_rows`` rows such as these."""
    return About(
        method=method,
        hyperlocal=package_version("hyperlocal") or "",
        data=rows.name,
        n_rows=n_rows,
        n_columns=int(rows.X.shape[1]),
        columns=None if rows.columns is None else list(rows.columns),
        target=rows.target,
        needs_dense=needs_dense,
        notes=list(notes),
    )


# Files --------------------------------------------------------------------------------------------


def save(stored: StoredModel, path: str) -> None:
    """Write a model; an existing file is replaced when the new one is complete."""
    skops = _skops()
    content = skops.dumps(
        {"format": FORMAT, "about": asdict(stored.about), "pipeline": stored.pipeline},
        compression=zipfile.ZIP_DEFLATED,
    )
    strange = set(skops.get_untrusted_types(data=content)) - set(TRUSTED)
    if strange:
        raise ValueError(
            f"{stored.about.method} cannot be stored: a model file may not hold "
            f"{', '.join(sorted(strange))}; choose another method"
        )
    replace_file(path, content)


def load(path: str) -> StoredModel:
    """Read a model that :func:`save` wrote."""
    skops = _skops()
    if not os.path.isfile(path):
        raise FileNotFoundError(f"{path}: no such file; hyperlocal fit writes one")
    try:
        unknown = skops.get_untrusted_types(file=path)
    except Exception as error:  # zip, JSON and key errors: all mean a file of another kind
        raise ValueError(f"{path}: not a model that hyperlocal fit wrote ({error})") from error
    strange = sorted(set(unknown) - set(TRUSTED))
    if strange:
        raise ValueError(
            f"{path}: refused, because it holds {', '.join(strange)}, which no model that "
            "hyperlocal fit writes holds"
        )
    try:
        content = skops.load(path, trusted=TRUSTED)
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
        return StoredModel(content["pipeline"], About(**content["about"]))
    except Exception as error:  # of any kind: skops builds objects from what the file says
        raise ValueError(
            f"{path}: damaged, or written by other versions ({type(error).__name__}: {error}); fit "
            "the model again by hyperlocal fit"
        ) from error


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("model files need skops; pip install 'hyperlocal[cli]'") from error
    return skops.io
