"""The gate γ(x): which local models are active at a row, and their weights.

Anchors are placed (:mod:`~hyperlocal.gates.anchors`), rows are coded on them
(:mod:`~hyperlocal.gates.codes`), and a :class:`~hyperlocal.gates.gate.Gate` does both for new rows.
"""
