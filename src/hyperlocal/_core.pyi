"""Types of the compiled kernels (``cpp/bindings/``). Outputs are written into given arrays."""

from collections.abc import Callable
from enum import Enum

import numpy as np

Array = np.ndarray

INSTRUCTION_SET: str

class Coding(Enum):
    hard = ...
    soft = ...
    inverse_distance = ...
    lle = ...
    llc = ...
    lcc = ...

class Loss(Enum):
    hinge = ...
    squared_hinge = ...
    log = ...

class Coupling(Enum):
    one_vs_rest = ...
    crammer_singer = ...
    multinomial = ...
    regression = ...

class _Rows:
    def __init__(self, *arrays: Array | int | bool | float) -> None: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def width(self) -> int: ...
    def squared_norms(self, begin: int, end: int, out: Array) -> None: ...
    def gather(self, chosen: Array, out: Array) -> None: ...
    def encode(
        self,
        begin: int,
        end: int,
        anchors: Array,
        products: Array,
        half_norms: Array,
        coding: Coding,
        beta: float,
        ridge: float,
        locality: float,
        chosen: Array,
        weights: Array,
        distances: Array,
    ) -> None: ...
    def group_sums(self, groups: Array, row_weights: Array, sums: Array, masses: Array) -> None: ...

class RowsFloat32(_Rows): ...
class RowsFloat64(_Rows): ...

class _Lifted:
    def __init__(
        self,
        rows: _Rows,
        anchors: Array,
        weights: Array,
        n_anchors: int,
        bias: float,
        shared_bias: bool = False,
    ) -> None: ...
    def scores(self, begin: int, end: int, weights: Array, out: Array) -> None: ...
    def add(self, steps: Array, weights: Array, column_begin: int, column_end: int) -> None: ...
    def squared_norms(self, begin: int, end: int, out: Array) -> None: ...
    def group_by_anchor(
        self, begin: int, end: int, starts: Array, rows: Array, places: Array
    ) -> None: ...
    def combine(self, begin: int, end: int, places: Array, partial: Array, out: Array) -> None: ...

class LiftedFloat32(_Lifted): ...
class LiftedFloat64(_Lifted): ...

class _Dual:
    def __init__(
        self,
        lifted: _Lifted,
        target: Array,
        costs: Array,
        squared_norms: Array,
        n_columns: int,
        loss: Loss,
    ) -> None: ...
    def epoch(
        self,
        weights: Array,
        alpha: Array,
        active: Array,
        order: Array,
        column_begin: int,
        column_end: int,
        bounds: Array,
        reports: Array,
    ) -> None: ...
    def check(
        self,
        weights: Array,
        alpha: Array,
        active: Array,
        begin: int,
        end: int,
        scores: Array,
        bounds: Array,
        losses: Array,
        gaps: Array,
    ) -> None: ...
    def crammer_singer_epoch(
        self,
        weights: Array,
        alpha: Array,
        active: Array,
        order: Array,
        bounds: Array,
        reports: Array,
    ) -> None: ...
    def crammer_singer_check(
        self,
        weights: Array,
        alpha: Array,
        active: Array,
        begin: int,
        end: int,
        scores: Array,
        bounds: Array,
        losses: Array,
        gaps: Array,
    ) -> None: ...

class DualFloat32(_Dual): ...
class DualFloat64(_Dual): ...

class _MovingGate:
    def __init__(
        self,
        places: _Rows,
        anchors: Array,
        neighbours: Array,
        reserves: Array,
        codes: Array,
        squared_norms: Array,
        row_norms: Array,
        beta: float,
        normalize: bool,
    ) -> None: ...
    def recode(self, rows: Array) -> None: ...

class MovingGateFloat32(_MovingGate): ...
class MovingGateFloat64(_MovingGate): ...

class _AnchorEpoch:
    def __init__(
        self,
        dual: _Dual,
        gate: _MovingGate,
        weights: Array,
        alpha: Array,
        active: Array,
        momentum: Array,
        spread: Array,
        rates: Array,
        n_moves: int,
        crammer_singer: bool,
        own_share: float,
        order: Array,
        batch_size: int,
        bounds: Array,
        reports: Array,
        right: Array,
        n_threads: int,
    ) -> None: ...
    def run(
        self,
        part: int,
        column_begin: int,
        column_end: int,
        before_batch: Callable[[int], None] | None = None,
    ) -> bool: ...
    def cancel(self) -> None: ...

class AnchorEpochFloat32(_AnchorEpoch): ...
class AnchorEpochFloat64(_AnchorEpoch): ...

def sgd_epoch(
    lifted: _Lifted,
    target: Array,
    costs: Array,
    loss: Loss,
    crammer_singer: bool,
    weights: Array,
    average: Array | None,
    visits: float,
    lambda_: float,
    t0: float,
    skip: int,
    decay_bias: bool,
    order: Array,
    column_begin: int,
    column_end: int,
    learned_gate: _MovingGate | None = None,
) -> None: ...

class Kernel(Enum):
    linear = ...
    poly = ...
    rbf = ...

class _Nearest:
    def __init__(self, n_queries: int, k: int) -> None: ...
    def add(self, products: Array, half_norms: Array, slack: Array) -> None: ...
    def finish(
        self,
        rows: _Rows,
        queries: _Rows,
        begin: int,
        chosen: Array,
        distances: Array,
        bounds: Array,
    ) -> None: ...

class NearestFloat32(_Nearest): ...
class NearestFloat64(_Nearest): ...

def nearest_of_lists(
    rows: _Rows,
    queries: _Rows,
    begin: int,
    end: int,
    lists: Array,
    chosen: Array,
    distances: Array,
) -> None: ...

class _Cells:
    def __init__(self, points: Array, cells: Array, middles: Array) -> None: ...
    def nearest(
        self,
        queries: _Rows,
        begin: int,
        end: int,
        n_probes: int,
        chosen: Array,
        distances: Array,
    ) -> None: ...

class CellsFloat32(_Cells): ...
class CellsFloat64(_Cells): ...

class _Neighborhood:
    def __init__(
        self,
        rows: _Rows,
        target: Array,
        costs: Array,
        n_classes: int,
        kernel: Kernel,
        sigma: float,
        degree: int,
        coef0: float,
        tol: float,
        max_steps: int,
    ) -> None: ...
    def scores(
        self,
        queries: _Rows,
        begin: int,
        end: int,
        neighbors: Array,
        distances: Array,
        in_question: Array | None,
        out: Array,
        n_unsolved: Array,
    ) -> None: ...
    def gram_scores(
        self, neighbors: Array, grams: Array, out: Array, n_unsolved: Array
    ) -> None: ...
    def train(
        self,
        centres: _Rows,
        begin: int,
        end: int,
        neighbors: Array,
        scales: Array,
        starts: Array,
        classes: Array,
        beta: Array,
        bias: Array,
        n_unsolved: Array,
    ) -> None: ...

class NeighborhoodFloat32(_Neighborhood): ...
class NeighborhoodFloat64(_Neighborhood): ...

class _KeptSvms:
    def __init__(
        self,
        neighborhood: _Neighborhood,
        nearest: Array,
        scales: Array,
        starts: Array,
        classes: Array,
        bias: Array,
        support_starts: Array,
        support: Array,
        beta: Array,
    ) -> None: ...
    def scores(self, queries: _Rows, begin: int, end: int, centres: Array, out: Array) -> None: ...

class KeptSvmsFloat32(_KeptSvms): ...
class KeptSvmsFloat64(_KeptSvms): ...

def pegasos_epoch(
    rows: _Rows,
    bias: float,
    target: Array | None,
    values: Array | None,
    costs: Array,
    loss: Loss,
    coupling: Coupling,
    epsilon: float,
    scaled: Array,
    past: Array | None,
    columns: Array,
    steps: float,
    lambda_: float,
    radius: float,
    batch_size: int,
    order: Array,
    column_begin: int,
    column_end: int,
) -> None: ...
def kernel_pegasos_block(
    products: Array,
    kernel: Array,
    target: Array,
    costs: Array,
    lambda_: float,
    steps: float,
    squared_norms: Array,
    losses: Array,
    added: Array,
) -> None: ...
def tree_epoch(
    rows: _Rows,
    target: Array,
    costs: Array,
    first_column: int,
    nodes: Array,
    mean: Array,
    square: Array,
    depth: int,
    alpha: float,
    sharpness: float,
    hard: bool,
    rates: Array,
    order: Array,
) -> tuple[float, float, float]: ...
def tree_gradient(
    rows: _Rows,
    target: Array,
    costs: Array,
    first_column: int,
    nodes: Array,
    depth: int,
    alpha: float,
    sharpness: float,
    hard: bool,
    order: Array,
    gradient: Array,
    scores: Array,
) -> tuple[float, float, float]: ...
def tree_scores(
    rows: _Rows, begin: int, end: int, nodes: Array, depth: int, out: Array
) -> bool: ...
def tree_paths(
    rows: _Rows, begin: int, end: int, nodes: Array, depth: int, path: Array, gates: Array
) -> None: ...
def latent_epoch(
    rows: _Rows,
    target: Array,
    costs: Array,
    weights: Array,
    n_models: int,
    q: float,
    alpha: float,
    step: float,
    first_visit: float,
    n_visits: float,
    order: Array,
    seed: int,
    held: Array,
) -> float: ...
def latent_scores(
    products: Array, n_models: int, q: float, make_gates: bool, scores: Array
) -> None: ...
