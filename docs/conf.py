"""Sphinx's settings. `make docs` gathers and runs the pages first (docs/tools/build.py); this file only shows them."""

import sys
from pathlib import Path

# Sphinx reads the gathered pages, with a copy of this file beside them: the tools are where `make docs` says.
TOOLS = Path(__file__).resolve().parent / "tools"
sys.path.insert(0, str(TOOLS))

from relbounds.version import __version__  # noqa: E402

project = "relbounds"
author = "The relbounds authors"
project_copyright = "The relbounds authors"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_copybutton",
    "cells",
    "mathml",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["tools"]
html_extra_path = ["extra"]  # finished files: the cheat sheet
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_inline", "attrs_block"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

autodoc_typehints = "none"  # docstrings say it in words
autodoc_member_order = "alphabetical"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
add_module_names = False
default_role = "literal"
toc_object_entries_show_parents = "hide"
highlight_language = "none"
copybutton_selector = "div:not(.output) > div.highlight > pre"
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "relbounds"
html_static_path = ["_static"]
html_css_files = ["relbounds.css"]
html_favicon = "_static/mark.svg"
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "text": "relbounds",
        "alt_text": "relbounds",
        "image_light": "_static/mark.svg",
        "image_dark": "_static/mark.svg",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "gallery": [], "cheat-sheet": []}
