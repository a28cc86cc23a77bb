"""Training on many machines with Dask (needs the extra ``hyperlocal[dask]``).

Rows, codes and dual variables stay on the workers; only weights are sent. Everything runs as Dask
tasks, and the work of a lost worker is done again by others.
"""

try:
    import distributed  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "hyperlocal.dask needs Dask: pip install 'hyperlocal[dask]', or fit on one machine with "
        "hyperlocal.LocallyLinearSVC."
    ) from error

from .connection import KEEP_MEMORY
from .locally_linear import DaskLocallyLinearSVC
from .locally_linear_svr import DaskLocallyLinearSVR
from .supervised_anchors import DaskSupervisedAnchorSVC

__all__ = ["KEEP_MEMORY", "DaskLocallyLinearSVC", "DaskLocallyLinearSVR", "DaskSupervisedAnchorSVC"]
