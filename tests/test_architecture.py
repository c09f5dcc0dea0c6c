"""The page on the architecture agrees with the code, and the paths that the documentation and the settings name exist."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from tests import docs_pages

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
PROSE = re.sub(r"^```.*?^```", "", PAGE, flags=re.DOTALL | re.MULTILINE)
PATHS = sorted(set(re.findall(r"`([\w.]+/[\w./]+)`", PROSE)))
"""Every path in backticks: a name without a second part, such as `host/`, is a folder of the package in its row."""
PAGES = [*docs_pages.PAGES, ROOT / "benchmarks" / "README.md"]
TREES = ("workbench", "tests", "docs", "benchmarks", "tools", "frontend", "binder", "notebooks")
SETTINGS = ("pyproject.toml", ".ci/run", ".pre-commit-config.yaml", "tests/conftest.py", "binder/postBuild")
BUILT = "workbench/notebooks/"
"""Where the wheel contains the notebooks."""
WAYS = ("A cell to its figure", "One judge call", "One HTTP request")


def layers() -> list[str]:
    """The packages of the contract, lowest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    return [name for name in reversed(contract["layers"]) if name != "__main__"]


def section(title: str) -> str:
    """The text below one heading."""
    return PROSE.partition(f"## {title}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_exists(path):
    """A path is inside the repository, or inside `workbench/`."""
    assert (ROOT / path).exists() or (ROOT / "workbench" / path).exists()


def test_the_table_has_the_packages_of_the_contract():
    """The table lists every package once, each after those it may import."""
    assert re.findall(r"^\| `(\w+)` \|", section("Packages"), re.MULTILINE) == layers()


def test_the_picture_has_the_packages_of_the_contract():
    """The picture lists them from top to bottom, each above those it may import."""
    picture = PAGE.partition("```text\n")[2].partition("```")[0]
    names = [re.split(r" {2,}", line.strip())[-2] for line in picture.splitlines()]
    assert names == list(reversed(layers()))


def test_a_module_is_listed_with_its_package():
    """A row of the table names files and folders of its own package only."""
    for row in re.findall(r"^\| `\w+` \|.*$", section("Packages"), re.MULTILINE):
        package = row.split("`")[1]
        folders, modules = re.findall(r"`(\w+/)`", row), re.findall(r"`([\w/]+\.py)`", row)
        assert modules
        assert all(module.startswith(f"{package}/") for module in modules)
        assert all((ROOT / "workbench" / package / folder).is_dir() for folder in folders)


@pytest.mark.parametrize("title", WAYS)
def test_a_way_names_files_of_the_package(title):
    """Each row of a way names its files, and no row is repeated."""
    rows = re.findall(r"^\|.*\.py.*$", section(title), re.MULTILINE)
    assert len(rows) >= 10
    assert all(before != after for before, after in pairwise(rows))
    assert all((ROOT / "workbench" / path).exists() for path in re.findall(r"`([\w/]+\.py)`", "".join(rows)))


def test_the_pages_of_the_index_lead_here():
    """A reader finds the page from the index of the documentation and from CONTRIBUTING."""
    assert "](architecture.md)" in (ROOT / "docs" / "README.md").read_text("utf-8")
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert "](docs/architecture.md)" in contributing
    assert len(contributing.splitlines()) <= 150


def paths_in(text: str) -> set[str]:
    """Paths below one of `TREES`, without a trailing dot or a test's name."""
    found = re.findall(rf"(?<![\w./-])((?:{'|'.join(TREES)})/[\w./-]*\w)", text)
    return {path for path in found if not path.startswith(BUILT)}


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: page.name
)
def test_paths_of_a_page_exist(page):
    """A page names files where they are; files that its examples add do not count."""
    text = re.sub(r"^```python\n.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert not [path for path in paths_in(text) if not (ROOT / path).exists()]


@pytest.mark.parametrize("name", SETTINGS)
def test_paths_of_the_settings_exist(name):
    """CI, the tools' settings and the lists of slow tests name files where they are; a name may be the start of several."""
    paths = paths_in((ROOT / name).read_text("utf-8"))
    assert not [path for path in paths if not list((ROOT / path).parent.glob(f"{Path(path).name}*"))]
