"""Threads, progress and versions: what every other package may use."""
