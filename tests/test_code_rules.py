"""The rules of the code base, read from its own source."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import hyperlocal

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "hyperlocal"
MODULES = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}

LONGEST_FILE = 400
LONGEST_FUNCTION = 60  # lines of its body
LONGEST_ESTIMATOR = 250
DEEPEST_INHERITANCE = 2

# Public in spite of their underscore: methods of named tuples.
PUBLIC = {"_asdict", "_fields", "_make", "_replace"}
# The method by which estimators take part in scikit-learn's callbacks, for which there is no other
# name; one module may use it.
CALLBACKS = ("runtime/progress.py", "_init_callback_context")


def check(rule: str, broken: set[str], details: str = "") -> None:
    """Fail where files break a rule."""
    assert not broken, f"{rule}: {sorted(broken)} {details}"


def nodes(name: str, kind: type) -> Iterator[ast.AST]:
    return (node for node in ast.walk(TREES[name]) if isinstance(node, kind))


def is_private(name: object) -> bool:
    """Whether a name begins with one underscore."""
    return isinstance(name, str) and re.match("_[^_]", name) is not None and name not in PUBLIC


def is_own(node: ast.AST) -> bool:
    """Whether an expression is ``self``, ``cls``, ``super()`` or our compiled module."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id in ("self", "cls", "_core")


def private_reads(name: str) -> Iterator[str]:
    """Private attributes of other objects that a module reads, by a dot or by ``getattr``."""
    for node in nodes(name, ast.Attribute):
        if is_private(node.attr) and not is_own(node.value):
            yield f"line {node.lineno}: {ast.unparse(node)}"
    for node in nodes(name, ast.Call):
        by_name = isinstance(node.func, ast.Name) and node.func.id.endswith("attr")
        if by_name and len(node.args) > 1 and not is_own(node.args[0]):
            attribute = node.args[1]
            is_known = isinstance(attribute, ast.Constant) and (name, attribute.value) != CALLBACKS
            if is_known and is_private(attribute.value):
                yield f"line {node.lineno}: {ast.unparse(node)}"


def test_private_attributes_are_private():
    """No module reads a private attribute of another object."""
    found = {name: reads for name in TREES if (reads := list(private_reads(name)))}
    check("private attributes", set(found), str(found))


def test_no_attribute_dictionaries():
    """Attributes are named, not copied or removed through ``vars`` and ``__dict__``."""
    broken = {
        name
        for name in TREES
        if any(isinstance(n.func, ast.Name) and n.func.id == "vars" for n in nodes(name, ast.Call))
        or any(node.attr == "__dict__" for node in nodes(name, ast.Attribute))
        or any(node.id == "FITTED_STATE" for node in nodes(name, ast.Name))
    }
    check("attribute dictionaries", broken)


def imported(name: str) -> Iterator[str]:
    """Full names of what a module imports from other packages."""
    for node in nodes(name, ast.Import):
        yield from (alias.name for alias in node.names)
    for node in nodes(name, ast.ImportFrom):
        if not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_only_public_scikit_learn():
    """No name of scikit-learn that begins with an underscore is imported."""
    broken = {
        name
        for name in TREES
        for path in imported(name)
        if path.split(".")[0] == "sklearn" and any(map(is_private, path.split(".")))
    }
    check("private scikit-learn", broken)


def n_lines(name: str) -> int:
    return len(MODULES[name].read_text(encoding="utf-8").splitlines())


def test_files_are_short():
    """At most 400 lines, 250 for an estimator."""
    limits = {
        name: LONGEST_ESTIMATOR if name.startswith("estimators/") else LONGEST_FILE
        for name in MODULES
    }
    check("length", {name for name, limit in limits.items() if n_lines(name) > limit})


def test_compiled_files_are_short():
    """At most 400 lines, for C++ and for the C that is exported with models."""
    found = [*SOURCE.rglob("*.h"), *(TESTS.parent / "cpp").rglob("*.[ch]pp")]
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in found}
    assert any(path.suffix == ".hpp" for path in found)
    check("length", {path.name for path, length in lengths.items() if length > LONGEST_FILE})


def other_files() -> Iterator[Path]:
    """Python files besides the sources: tests, benchmarks, tools, examples."""
    for folder in ("tests", "benchmarks", "tools", "examples", "docs"):
        yield from sorted((TESTS.parent / folder).rglob("*.py"))


def test_other_files_are_short():
    """At most 400 lines."""
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in other_files()}
    check("length", {path.name for path, length in lengths.items() if length > LONGEST_FILE})


def test_hooks_are_abstract():
    """What a subclass must define is an abstract method: a class without it cannot be made."""
    broken = {
        name
        for name in TREES
        for node in nodes(name, ast.Raise)
        if isinstance(node.exc, ast.Name) and node.exc.id == "NotImplementedError"
    }
    check("NotImplementedError", broken)


def n_body_lines(function: ast.FunctionDef) -> int:
    """Lines of a function after its docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_functions_are_short():
    """No function has a body of more than 60 lines."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in other_files()}
    trees |= {MODULES[name]: tree for name, tree in TREES.items()}
    broken = {
        f"{path.name}:{node.name}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and n_body_lines(node) > LONGEST_FUNCTION
    }
    check("functions", broken)


def own_classes() -> Iterator[type]:
    """All classes that are defined in the package."""
    for found in pkgutil.walk_packages(hyperlocal.__path__, "hyperlocal."):
        if found.name.split(".")[-1].startswith("_"):
            continue
        module = importlib.import_module(found.name)
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if kind.__module__ == found.name:
                yield kind


def depth(kind: type) -> int:
    """How many of our own classes are above a class, on the longest way."""
    bases = [base for base in kind.__bases__ if base.__module__.split(".")[0] == "hyperlocal"]
    return max((depth(base) + 1 for base in bases), default=0)


def test_inheritance_is_shallow():
    """Among our own classes it is at most two deep."""
    pytest.importorskip("sklearn.callback", reason="what stands in for it is one level more")
    broken = {kind for kind in own_classes() if depth(kind) > DEEPEST_INHERITANCE}
    paths = (kind.__module__.removeprefix("hyperlocal.").replace(".", "/") for kind in broken)
    check("inheritance", {f"{path}.py" for path in paths})


def has_public_name(name: str) -> bool:
    """Whether a module defines a function or class that others may use."""
    defined = (ast.FunctionDef, ast.ClassDef)
    return any(isinstance(n, defined) and not n.name.startswith("_") for n in TREES[name].body)


def mirrored(name: str) -> str:
    """The path of the tests of a module."""
    path = Path(name)
    return (path.parent / f"test_{path.name.lstrip('_')}").as_posix()


def test_tests_mirror_sources():
    """Each module that defines a public name has a file of tests of its name."""
    modules = [name for name in MODULES if not name.endswith("__init__.py")]
    missing = {
        name for name in modules if has_public_name(name) and not (TESTS / mirrored(name)).exists()
    }
    check("mirrored tests", missing)


def test_tests_state_their_claim():
    """Each test has a docstring."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in TESTS.rglob("test_*.py")}
    broken = {
        f"{path.name}:{node.name}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    }
    check("claims", broken)
