"""How Sphinx builds this site: `make docs`. Nothing is fetched from the network."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import hyperlocal

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))
sys.path.insert(0, str(HERE.parent / "tools"))
# Tables are written by the scripts that measured them.
sys.path.insert(0, str(HERE.parent))
# Builds look the same on every machine.
os.environ["OMP_NUM_THREADS"] = "1"

project = "hyperlocal"
author = "The hyperlocal developers"
copyright = author
version = release = hyperlocal.__version__

extensions = [
    "benchmark_tables",
    "estimator_table",
    "mathml",
    "myst_parser",
    "numpydoc",
    "package_table",
    "public_names",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/**/*.ipynb"]
templates_path = ["_templates"]
nitpicky = True
# Properties stand in their class's own list; other projects' names would need the network.
nitpick_ignore_regex = [("py:obj", r".*_"), ("py:.*", r"(numpy|scipy|sklearn)\..*")]
suppress_warnings = ["config.cache"]

# ---- markdown ------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# ---- reference -----------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
toc_object_entries_show_parents = "hide"

# ---- gallery -------------------------------------------------------------------------------------

warnings.filterwarnings("ignore", message=".*non-interactive.*", category=UserWarning)
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "within_subsection_order": "gallery_style.TellingOrder",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("hyperlocal",),
    "reset_modules": ("gallery_style.reset",),
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "plot_gallery": "True",
    "reference_url": {"hyperlocal": None},
}

# ---- pages ---------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "hyperlocal"
html_static_path = ["_static"]
html_css_files = ["hyperlocal.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "hyperlocal"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Pages without pages below them have nothing to show at the left; code gets the space.
PARENTS = {"methods", "api", "benchmarks", "reproduction"}
html_sidebars = {page.stem: [] for page in sorted(HERE.glob("*.md")) if page.stem not in PARENTS}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
