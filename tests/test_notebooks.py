"""Every notebook is stored the way JupyterLab, Binder and a reviewer need it."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest
from IPython.core.inputtransformer2 import TransformerManager

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
NOTEBOOKS = sorted(path for path in FOLDER.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
CELL_MAGIC = re.compile(r"\A%%(\w+).*\n")
PYTHON_MAGICS = {"grader", "time", "timeit", "capture", "prun"}
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|href)=[\"']([^\"']+)[\"']")

pytestmark = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)


def read(path: Path) -> dict:
    return json.loads(path.read_text("utf-8"))


def test_stored_without_outputs(path):
    """No outputs and no execution counts: differences are the author's text only."""
    for cell in read(path)["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], cell["id"]
            assert cell["execution_count"] is None, cell["id"]


def test_small(path):
    """At most 200 KiB: more means that a widget's or a chart's code came along."""
    assert path.stat().st_size <= 200 * 1024


def test_metadata(path):
    """The python3 kernel is named, else JupyterLab asks for one; no widget state is stored."""
    notebook = read(path)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert "widgets" not in notebook["metadata"]
    assert set(notebook["metadata"]["language_info"]) == {"name"}  # a version would change with each author
    assert (notebook["nbformat"], notebook["nbformat_minor"]) >= (4, 5)


def test_format_is_valid(path):
    """The format's own schema accepts it."""
    import nbformat

    nbformat.validate(nbformat.from_dict(read(path)))


def test_cells_have_ids(path):
    """Every cell has an id of its own: links and differences stay on their cell."""
    ids = [cell.get("id") for cell in read(path)["cells"]]
    assert all(ids)
    assert len(set(ids)) == len(ids)


def test_code_parses(path):
    """Every code cell is Python once IPython has read its magics; bodies of ours and of timing magics too."""
    for cell in read(path)["cells"]:
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        assert source.strip(), f"empty cell {cell['id']}"
        if source.startswith("%%grader --js"):
            continue  # a script, not Python
        magic = CELL_MAGIC.match(source)
        if magic and magic[1] in PYTHON_MAGICS:
            source = source[magic.end() :]
        ast.parse(TransformerManager().transform_cell(source), filename=str(cell["id"]))


def test_links_to_files_resolve(path):
    """A link to a file leads to a file of the repository."""
    for cell in read(path)["cells"]:
        if cell["cell_type"] == "markdown":
            for found in LINK.findall("".join(cell["source"])):
                target = (found[0] or found[1]).partition("#")[0]
                if target and "://" not in target and not target.startswith(("mailto:", "attachment:")):
                    assert (path.parent / target).exists(), f"{cell['id']}: {target}"


def test_parts_of_the_guide_are_linked(path):
    """Each notebook leads to all others, by one link or two: they read as one guide."""
    links = {
        other.name: set(re.findall(r"\]\((\w+\.ipynb)\)", other.read_text("utf-8"))) for other in NOTEBOOKS
    }
    near = links[path.name]
    assert near | {far for one in near for far in links[one]} >= {other.name for other in NOTEBOOKS}


def test_is_shipped(path):
    """The built package carries it, so that `workbench lab` has it."""
    shipped = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text("utf-8"))
    wheel = shipped["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert wheel[f"notebooks/{path.name}"] == f"workbench/notebooks/{path.name}"


def test_begins_with_a_title(path):
    """The first cell is text with one heading: what the reader sees in a list of files."""
    first = read(path)["cells"][0]
    assert first["cell_type"] == "markdown"
    assert "".join(first["source"]).startswith("# ")
