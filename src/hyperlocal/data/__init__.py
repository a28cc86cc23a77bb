"""From what users give to what the library computes with.

:mod:`~hyperlocal.data.checks` turns rows, labels and weights into contiguous arrays or raises a
clear error; :mod:`~hyperlocal.data.labelled` holds them; :mod:`~hyperlocal.data.rows` passes them
to the compiled core; :mod:`~hyperlocal.data.splits` makes held-out parts and folds;
:mod:`~hyperlocal.data.row_store` stores rows on disk.
"""
