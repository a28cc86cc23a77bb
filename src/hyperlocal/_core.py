"""The compiled kernels, built once per instruction set; the best one this machine runs is used.

Set the environment variable ``HYPERLOCAL_CORE=baseline`` to use the portable build.
"""

import os
from importlib import import_module

_core = import_module("hyperlocal._core_baseline")
INSTRUCTION_SET = "baseline"
if os.environ.get("HYPERLOCAL_CORE") != "baseline" and _core.cpu_supports_x86_64_v3():
    try:
        _core = import_module("hyperlocal._core_x86_64_v3")
        INSTRUCTION_SET = "x86-64-v3"
    except ImportError:  # built on a platform without that instruction set
        pass

Coding = _core.Coding
Loss = _core.Loss
Coupling = _core.Coupling
RowsFloat32, RowsFloat64 = _core.RowsFloat32, _core.RowsFloat64
LiftedFloat32, LiftedFloat64 = _core.LiftedFloat32, _core.LiftedFloat64
DualFloat32, DualFloat64 = _core.DualFloat32, _core.DualFloat64
sgd_epoch = _core.sgd_epoch
pegasos_epoch = _core.pegasos_epoch
kernel_pegasos_block = _core.kernel_pegasos_block
MovingGateFloat32, MovingGateFloat64 = _core.MovingGateFloat32, _core.MovingGateFloat64
AnchorEpochFloat32, AnchorEpochFloat64 = _core.AnchorEpochFloat32, _core.AnchorEpochFloat64
Kernel = _core.Kernel
NearestFloat32, NearestFloat64 = _core.NearestFloat32, _core.NearestFloat64
nearest_of_lists = _core.nearest_of_lists
CellsFloat32, CellsFloat64 = _core.CellsFloat32, _core.CellsFloat64
NeighborhoodFloat32 = _core.NeighborhoodFloat32
NeighborhoodFloat64 = _core.NeighborhoodFloat64
KeptSvmsFloat32, KeptSvmsFloat64 = _core.KeptSvmsFloat32, _core.KeptSvmsFloat64
tree_epoch, tree_gradient = _core.tree_epoch, _core.tree_gradient
tree_scores, tree_paths = _core.tree_scores, _core.tree_paths
latent_epoch, latent_scores = _core.latent_epoch, _core.latent_scores
