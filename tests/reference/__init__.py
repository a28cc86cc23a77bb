"""Slow plain numpy versions of every compiled kernel, and builders of small problems.

Everything is computed in double precision on dense arrays: rows are written out, the lifted matrix
is a full array, sub-problems are solved by bisection. The tests compare the compiled kernels with
these, for every storage of rows.
"""
