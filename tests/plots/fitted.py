"""Small estimators that the tests of displays fit."""

from hyperlocal import LocallyLinearSVC, SupervisedAnchorSVC


def local(n_anchors=8, **options):
    """A locally linear model with few anchors."""
    return LocallyLinearSVC(n_anchors, n_neighbors=3, random_state=0, **options)


def moving(**options):
    """A model whose six anchors move for two epochs."""
    return SupervisedAnchorSVC(
        6, n_neighbors=3, anchor_epochs=2, keep_if_better=False, random_state=0, **options
    )
