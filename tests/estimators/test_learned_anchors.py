"""Tests of hyperlocal.estimators.learned_anchors."""

import pytest

from hyperlocal import SupervisedAnchorSVC
from hyperlocal.papers import SupervisedAnchorSVR


@pytest.mark.parametrize("kind", [SupervisedAnchorSVC, SupervisedAnchorSVR])
@pytest.mark.parametrize(
    "changed", [{"keep_if_better": "no"}, {"anchor_epochs": -1}, {"anchor_step": -0.5}]
)
def test_arguments_are_checked_for_classes_and_values(kind, changed):
    """The error names the argument."""
    with pytest.raises((TypeError, ValueError), match=next(iter(changed))):
        kind(**changed).fit([[0.0], [1.0]], [0, 1])
