"""Writes the tables of all estimators, their parameters and methods, at every build.

Everything is read from the classes, so nothing can be out of date: ``results/estimators.inc`` is
included by ``api.rst``.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmark_tables import keep
from sklearn.base import BaseEstimator

# Modules whose estimators are public, in the order of the tables.
TITLES = {
    "hyperlocal": "Main estimators",
    "hyperlocal.papers": "Methods of papers",
    "hyperlocal.linear": "Linear and kernel baselines",
    "hyperlocal.preprocessing": "Transformers",
    "hyperlocal.dask": "Many machines",
    "hyperlocal.vision": "Objects in pictures",
}
MOST_COLUMNS = 6
# Methods in the order of the tables; others follow by name.
METHODS = (
    *("fit", "partial_fit", "fit_stream", "predict", "predict_proba", "decision_function"),
    *("transform", "fit_transform", "score", "explain", "local_coef", "local_intercept"),
)
# What scikit-learn adds to every estimator.
OF_EVERY_ESTIMATOR = re.compile(
    r"[gs]et_params|get_metadata_routing|set_.*_request|set_output|set_callbacks"
)
# The word that a parameter's text must have where its default differs from that of others.
REASON = re.compile(r"\bbecause\b")
NO_DEFAULT = "(required)"


def public_estimators() -> dict[str, list[type]]:
    """The estimators of each public module, each of them once."""
    seen: set[type] = set()
    found = {}
    for module in filter(find_spec, TITLES):
        exported = import_module(module)
        names = [getattr(exported, name) for name in exported.__all__]
        own = [one for one in names if inspect.isclass(one) and issubclass(one, BaseEstimator)]
        found[module] = [one for one in own if one not in seen]
        seen.update(own)
    return {module: estimators for module, estimators in found.items() if estimators}


def parameters(estimator: type) -> dict[str, str]:
    """Defaults by parameter, as they are written in Python."""
    signature = inspect.signature(estimator.__init__)  # type: ignore[misc]
    return {
        name: NO_DEFAULT if one.default is one.empty else repr(one.default)
        for name, one in list(signature.parameters.items())[1:]
        if one.kind is not one.VAR_KEYWORD
    }


def methods(estimator: type) -> list[str]:
    """Public methods, those of the tables' order first."""
    names = [
        name
        for name in dir(estimator)
        if not name.startswith("_")
        and not OF_EVERY_ESTIMATOR.fullmatch(name)
        and not isinstance(inspect.getattr_static(estimator, name), property)
        and _is_method(estimator, name)
    ]
    return sorted(names, key=lambda name: (_rank(name), name))


def _is_method(estimator: type, name: str) -> bool:
    static = inspect.getattr_static(estimator, name)
    # scikit-learn's available_if hides a method behind a descriptor of its own.
    return callable(static) or hasattr(static, "fn")


def _rank(name: str) -> int:
    return METHODS.index(name) if name in METHODS else len(METHODS)


def parameter_text(estimator: type, name: str) -> str:
    """What the class docstring says of a parameter; empty if it says nothing.

    Examples
    --------
    >>> class Demo:
    ...     '''Title.
    ...
    ...     Parameters
    ...     ----------
    ...     C, tol : float
    ...         Two numbers,
    ...         in two lines.
    ...     '''
    >>> parameter_text(Demo, "tol")
    'Two numbers, in two lines.'
    """
    text = inspect.cleandoc(estimator.__doc__ or "")
    pattern = rf"^(?:\w+, )*{re.escape(name)}(?:, \w+)* :.*\n(?P<text>(?:(?: {{4}}.*)?\n?)*)"
    found = re.search(pattern, text, re.MULTILINE)
    return " ".join(found["text"].split()) if found else ""


def uncommon_defaults() -> list[tuple[str, str, str, str]]:
    """Parameter, estimator, its default and the common one, where no reason is given."""
    estimators = [one for own in public_estimators().values() for one in own]
    defaults: dict[str, dict[type, str]] = {}
    for estimator in estimators:
        for name, default in parameters(estimator).items():
            defaults.setdefault(name, {})[estimator] = default
    return [
        (name, estimator.__name__, default, common)
        for name, by_estimator in sorted(defaults.items())
        for common in [Counter(by_estimator.values()).most_common(1)[0][0]]
        for estimator, default in by_estimator.items()
        if default != common and not REASON.search(parameter_text(estimator, name))
    ]


# ---- the tables ----------------------------------------------------------------------------------


def tables() -> str:
    """All tables, as reStructuredText."""
    parts = []
    for module, estimators in public_estimators().items():
        n_parts = -(-len(estimators) // MOST_COLUMNS)
        for number in range(n_parts):
            shown = estimators[number::n_parts]
            title = f"{TITLES[module]}: ``{module}``"
            parts.append(f"**{title}**" + (f" ({number + 1} of {n_parts})" if n_parts > 1 else ""))
            parts.append(_table(module, shown))
    return "\n\n".join(parts)


def _table(module: str, estimators: Sequence[type]) -> str:
    """A table with a row per parameter and per method, and a column per estimator."""
    heads = [f":class:`~{module}.{estimator.__name__}`" for estimator in estimators]
    defaults = [parameters(estimator) for estimator in estimators]
    known = [methods(estimator) for estimator in estimators]
    rows = [["", *heads]]
    for name in dict.fromkeys(name for one in defaults for name in one):
        cells = [f"``{one[name]}``" if name in one else "" for one in defaults]
        rows.append([f"``{name}``", *cells])
    for name in sorted({name for one in known for name in one}, key=lambda n: (_rank(n), n)):
        rows.append([f"``{name}()``", *("✓" if name in one else "" for one in known)])
    lines = [".. list-table::", "   :header-rows: 1", "   :stub-columns: 1", ""]
    for row in rows:
        lines += [f"   {'* -' if not place else '  -'} {cell}" for place, cell in enumerate(row)]
    return "\n".join(lines)


def write_tables(folder: Path) -> None:
    """Write the file that ``api.rst`` includes."""
    folder.mkdir(exist_ok=True)
    keep(folder / "estimators.inc", tables())


def setup(app: Any) -> dict[str, Any]:
    """Write the tables before Sphinx looks for them."""
    app.connect("builder-inited", lambda app: write_tables(Path(app.srcdir) / "results"))
    return {"version": "1", "parallel_read_safe": True}
