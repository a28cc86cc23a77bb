"""Nearest rows: exact and approximate searches, covering centers, learned and local metrics."""
