"""The fitted chain: gate, map and weights, and what follows from them.

Lifted rows, losses and the optimisation problem stand here too: solvers take them from here.
"""
