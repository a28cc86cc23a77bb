"""Transformers: encoded tables, local codes, features scaled by relevance, a learned metric."""

from .estimators.local_coder import LocalCoder
from .estimators.relevance import RelevanceScaler
from .estimators.table_encoder import TableEncoder
from .neighbors.megm import MEGM

__all__ = ["MEGM", "LocalCoder", "RelevanceScaler", "TableEncoder"]
