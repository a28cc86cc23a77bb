"""Feature maps φ(x): what a local model sees of a row.

Each map knows how to store mapped rows, how to hand them to the compiled core, how to state weights
on φ(x) as weights on the input's features, and its plain form for export.
"""

from .base import FeatureMap
from .plain import Step

__all__ = ["FeatureMap", "Step"]
