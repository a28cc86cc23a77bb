"""Objects in pictures: a linear SVM on histograms of oriented gradients, slid over a pyramid.

Needs scikit-image (``pip install hyperlocal[vision]``), which is imported when a detector is used.
"""

from .boxes import Detections, match_detections, overlaps, precision_recall, suppress_overlaps
from .detector import WindowDetector

__all__ = [
    "Detections",
    "WindowDetector",
    "match_detections",
    "overlaps",
    "precision_recall",
    "suppress_overlaps",
]
