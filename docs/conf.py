"""How Sphinx builds these pages: offline, and without a warning (``make docs``)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from dp_cmdp import __version__

project = "dp_cmdp"
author = copyright = "The dp_cmdp contributors"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "command_line",
    "docstrings",
    "face",
    "mathml",
    "notebooks",
    "repository",
]
highlight_language = "text"  # of blocks that do not say theirs: formulas, commands
exclude_patterns = ["_ext"]
autodoc_default_options = {"members": True}

nb_execution_mode = "cache"  # a tutorial is executed again when its code changes
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_output_stderr = "remove-warn"

myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"  # drawn by the browser: nothing is loaded from elsewhere
myst_heading_anchors = 3  # as GitHub does, so that links work in both places

autodoc_inherit_docstrings = False
autodoc_typehints = "none"  # the docstrings say types
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
napoleon_use_ivar = True
napoleon_use_param = False  # "rng, ledger: as in …" stays one entry
napoleon_preprocess_types = True
add_module_names = False

copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"  # code, not its output
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

nitpicky = True
# types in docstrings are words ("array_like, optional"): names of this package must be known
nitpick_ignore_regex = [("py:(class|obj)", r"(?!dp_cmdp\.).*")]

html_theme = "furo"
html_title = f"dp_cmdp {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_search_summary = True  # excerpts beside what a search finds
html_copy_source = False
html_show_sourcelink = False
