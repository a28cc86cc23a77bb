"""Contributions relative to references, in C: the constants of ``paths.h``."""

from __future__ import annotations

from pathlib import Path

from .c_source import Source, number
from .paths import LevelPaths, PlainPaths

FUNCTIONS = Path(__file__).with_name("paths.h")


def path_functions(source: Source, paths: PlainPaths) -> list[str]:
    """The parts of a header that explain a row; their arrays are added to the constants."""
    alpha, beta, _, bias = paths.lengths or [0.0, 0.0, 0, 0.0]
    pieces = paths.pieces
    sizes = {
        "R": len(paths.shares),
        "Z": paths.references.shape[1],
        "L": len(paths.levels),
        "M": max(level.logits.shape[1] for level in paths.levels),
        "E": paths.inner.shape[1],
        "P": paths.levels[0].curvature.shape[2],
        "COARSE": paths.coarse.shape[1],
        "FINE": paths.fine.shape[1],
        "NORMALIZE": int(bool(paths.lengths)),
        "ALPHA": number(alpha),
        "BETA": number(beta),
        "BIAS": number(bias),
        "TOLERANCE": number(paths.tolerance),
    }
    arrays = ("references", "shares", "inner", "inner_shift", "coarse", "fine")
    names = {f"hl_path_{name}": source.floats(getattr(paths, name)) for name in arrays}
    names["hl_path_columns"] = source.integers(pieces.columns)
    names["hl_path_factors"] = source.floats(pieces.factors)
    names["hl_path_shifts"] = source.floats(pieces.shifts)
    levels = ",\n".join(f"  {{{_level(source, level)}}}" for level in paths.levels)
    levels = f"static const hl_gated hl_path_levels[] = {{\n{levels}}};"
    functions = FUNCTIONS.read_text(encoding="utf-8").rstrip()
    return [
        "\n".join(f"#define HL_PATH_{name} {size}" for name, size in sizes.items()),
        "\n".join(f"#define {name} {constant}" for name, constant in names.items()),
        functions.replace("/* LEVELS */", levels),
    ]


def _level(source: Source, level: LevelPaths) -> str:
    arrays = (level.logits, level.logit_shift, level.slopes, level.curvature, level.intercept)
    numbers = [str(level.logits.shape[1]), str(level.n_active), number(level.factor)]
    return ", ".join([*numbers, *map(source.floats, arrays)])
