"""Benchmarks: one script for each question, and the papers' tables measured again.

``python -m benchmarks --help`` lists them. Not part of the installed library.
"""
