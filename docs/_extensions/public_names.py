"""Bare names in docstrings, such as ``LocallyLinearSVC``, refer to the public name so spelled."""

from __future__ import annotations

from typing import Any

from sphinx.util.nodes import make_refnode


def find_public(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """A link to the one documented object whose name ends so, wherever it is; else nothing."""
    if node.get("refdomain") != "py":
        return None
    domain = env.get_domain("py")
    found = domain.find_obj(env, None, None, node["reftarget"], None, 1)
    places = {(entry.docname, entry.node_id): name for name, entry in found}
    if len(places) != 1:
        return None
    (page, anchor), name = next(iter(places.items()))
    return make_refnode(app.builder, node["refdoc"], page, anchor, contnode, name)


def setup(app: Any) -> dict[str, bool]:
    """Ask here for references that Sphinx does not find itself."""
    app.connect("missing-reference", find_public)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
