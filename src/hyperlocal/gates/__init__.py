"""The gate γ(x): which local models are active at a row, and their weights.

Anchors are placed (:mod:`~hyperlocal.gates.anchors`), rows are coded on them
(:mod:`~hyperlocal.gates.codes`), and a :class:`Gate` does both for new rows.
"""

from .codes import Codes, encode
from .gate import Gate

__all__ = ["Codes", "Gate", "encode"]
