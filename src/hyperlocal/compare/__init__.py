"""A comparison as one self-contained HTML page: no network, no other files, nothing to install.

:func:`write_page` fills ``page.html`` with the parts of :mod:`.parts` (tables and bars in HTML) and
:mod:`.charts` (pictures in SVG, coloured by the page's own style, so that they follow dark mode).
"""

from .page import render_page, write_page

__all__ = ["render_page", "write_page"]
