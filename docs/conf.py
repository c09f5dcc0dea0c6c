"""The documentation site: the pages of this folder, the notebooks with their outputs, and a reference from the docstrings.

`sphinx-build -W -b html docs docs/_build/html` builds it, with `pip install -e ".[docs,lab,scale,serve]"`. What the build writes besides,
`tutorials/` and `reference/`, is not committed.

The theme is Furo: it has a light and a dark form, and its pages can be read without JavaScript. `pydata-sphinx-theme` was built
too: its header of links fits a family of projects, and a page loads 671 KB of its scripts and styles, of Furo's 150 KB.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from tools.reference import write_pages  # noqa: E402 (its folder is on the path only now)

project = "grader workbench"
author = "The grader workbench authors"
project_copyright = author
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
html_theme = "furo"
html_title = project
html_show_sourcelink = False
html_copy_source = False
html_extra_path = ["SKILL.md"]
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

_NOTEBOOK = re.compile(r"\]\(\.\./notebooks/(\w+)\.ipynb(#[\w-]+)?\)")
_OF_REPOSITORY = re.compile(
    r"\[([^\]]+)\]\(\.\./(?!docs/)([\w./-]+\.md)(#[\w-]+)?\)|\[([^\]]+)\]\((README\.md)(#[\w-]+)?\)"
)


def _copy_notebooks() -> None:
    """A source folder of Sphinx has all pages: the notebooks are in another one, since their place is a promise."""
    tutorials = HERE / "tutorials"
    shutil.rmtree(tutorials, ignore_errors=True)
    tutorials.mkdir()
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        shutil.copy(notebook, tutorials)


def _point_inside(_app: Sphinx, page: str, source: list[str]) -> None:
    """In the repository a link leads to a file; on the site to a page, or it is the file's name where there is no page."""
    text = _NOTEBOOK.sub(r"](tutorials/\1.ipynb\2)", source[0])
    if page.startswith("tutorials/"):
        text = text.replace("](../docs/", "](../")
    else:
        text = _OF_REPOSITORY.sub(
            lambda link: f"{link[1] or link[4]} (`{link[2] or link[5]}` in the repository)", text
        )
    source[0] = text


def _write_markdown(app: Sphinx, error: Exception | None) -> None:
    """Each page as Markdown beside its HTML, and `llms.txt`, which lists them with what they are about."""
    if error or app.builder.name != "html":
        return
    lines = [f"# {project}", "", _first_sentence((HERE / "index.md").read_text("utf-8")), "", "## Pages", ""]
    for page in sorted(app.env.found_docs):
        source = HERE / f"{page}.md"
        if source.exists():
            text = source.read_text("utf-8")
            shutil.copy(source, Path(app.outdir) / f"{page}.md")
            title = text.splitlines()[0].lstrip("# ")
            lines.append(f"- [{title}]({page}.md): {_first_sentence(text)}")
    lines += ["", "## Tasks", "", "- [Skill](SKILL.md): migrate graders, probe a reward, certify a judge"]
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _first_sentence(text: str) -> str:
    """What the first paragraph below the title says first."""
    paragraphs = [part for part in text.split("\n\n")[1:] if part and part[0] not in "#`<|{!"]
    return " ".join(paragraphs[0].split()).split(". ")[0].rstrip(".") + "." if paragraphs else ""


def setup(app: Sphinx) -> None:
    """Write what the build reads, and connect what it calls."""
    _copy_notebooks()
    write_pages(HERE / "reference")
    app.connect("source-read", _point_inside)
    app.connect("build-finished", _write_markdown)
