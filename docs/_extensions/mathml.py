"""Equations as MathML: browsers draw them, without a script from the network."""

from __future__ import annotations

from typing import Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert


def visit_inline(self: Any, node: Any) -> None:
    """An equation within a line."""
    self.body.append(convert(node.astext()))
    raise SkipNode


def visit_block(self: Any, node: Any) -> None:
    """An equation on its own."""
    equation = convert(node.astext(), display="block")
    self.body.append(self.starttag(node, "div", CLASS="equation") + equation + "</div>\n")
    raise SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Make this the renderer of equations."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
