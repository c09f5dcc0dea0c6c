"""The documentation site: the pages of this folder, the notebooks with their outputs, and a reference from the docstrings.

`sphinx-build -W -b html docs docs/_build/html` builds it, with `pip install -e ".[docs,lab,scale,serve]"`. What the build writes besides,
`tutorials/` and `reference/`, is not committed.

The theme is Furo: it has a light and a dark form, and its pages can be read without JavaScript. `pydata-sphinx-theme` was built
too: its header of links fits a family of projects, and a page loads 671 KB of its scripts and styles, of Furo's 150 KB.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from jupyter_cache import get_cache

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from tools.reference import reference_markdown, write_pages  # noqa: E402 (its folder is on the path only now)
from tools.site import point_inside, write_markdown  # noqa: E402

project = "grader workbench"
author = "The grader workbench authors"
project_copyright = author
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
html_theme = "furo"
html_title = project
html_show_sourcelink = False
html_copy_source = False
html_extra_path = ["SKILL.md"]
# Wider than Furo: lines of code and of output have up to 130 characters.
html_static_path = ["site.css"]
html_css_files = ["site.css"]
exclude_patterns = ["_build", "README.md", "SKILL.md", "light.txt", "**.ipynb_checkpoints"]
templates_path: list[str] = []

myst_enable_extensions = ["dollarmath"]
myst_dmath_double_inline = True
myst_dmath_allow_digits = False
myst_dmath_allow_space = False
myst_heading_anchors = 4
# Every notebook runs once; what it printed and drew is on its page. A cell that fails ends the build.
nb_execution_mode = "cache"
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
# Figures as HTML with Plotly's script from its own server: a page would have 4 MB more with it inside.
os.environ["PLOTLY_RENDERER"] = "notebook_connected"
suppress_warnings = ["mystnb.unknown_mime_type"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
# In our docstrings single backticks enclose code.
default_role = "code"


def _copy_notebooks() -> None:
    """A source folder of Sphinx has all pages: the notebooks are in another one, since their place is a promise."""
    tutorials = HERE / "tutorials"
    shutil.rmtree(tutorials, ignore_errors=True)
    tutorials.mkdir()
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        shutil.copy(notebook, tutorials)


def _point_inside(_app: Sphinx, page: str, source: list[str]) -> None:
    """In the repository a link leads to a file; on the site to a page, or it is the file's name where there is no page."""
    source[0] = point_inside(page, source[0])


def _write_markdown(app: Sphinx, error: Exception | None) -> None:
    """The pages as Markdown; the notebooks get their outputs from the cache of this build."""
    if error is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    cache = get_cache(str(out.parent / ".jupyter_cache"))
    notebooks = {
        path.stem: cache.merge_match_into_notebook(nbformat.read(path, 4))[1]
        for path in (HERE / "tutorials").glob("*.ipynb")
    }
    write_markdown(out, HERE, notebooks, reference_markdown())


def setup(app: Sphinx) -> None:
    """Write what the build reads, and connect what it calls."""
    _copy_notebooks()
    write_pages(HERE / "reference")
    app.connect("source-read", _point_inside)
    app.connect("build-finished", _write_markdown)
