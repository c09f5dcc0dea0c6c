"""Prepare a checkout for a release: `python -m tools.release ADDRESS TAG [EMAIL]`, in the workflow that builds the archives.

The repository does not name the host it is on, so that a fork or a mirror does not lead to another one. A package index shows
the README without the repository around it, so that its links and pictures need the full address. Both are known when a
release is made: its workflow passes them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#)([^)\s]+)\)")


def project_urls(address: str, tag: str) -> str:
    """The table of links that a package index shows, as TOML.

    Args:
        address: Of the repository, such as `https://example.org/team/grader-workbench`.
        tag: Of the release.
    """
    pages = {
        "Homepage": address,
        "Documentation": f"{address}/blob/{tag}/docs/README.md",
        "Source": f"{address}/tree/{tag}",
        "Issues": f"{address}/issues",
        "Changelog": f"{address}/blob/{tag}/CHANGELOG.md",
    }
    return "\n".join(["[project.urls]", *(f'{name} = "{page}"' for name, page in pages.items())]) + "\n"


def absolute_links(text: str, address: str, tag: str) -> str:
    """A README whose relative links and pictures lead to the files of the release."""

    def link(found: re.Match[str]) -> str:
        kind = "raw" if found[1] else "blob"
        return f"{found[1]}[{found[2]}]({address}/{kind}/{tag}/{found[3]})"

    return _LINK.sub(link, text)


def prepare(root: Path, address: str, tag: str, email: str = "") -> None:
    """Write the links, and the authors' address, into `pyproject.toml` and `README.md`.

    Args:
        root: The checkout, which is changed.
        address: Of the repository, without a slash at its end.
        tag: Of the release.
        email: Of the authors; "" for none.

    Raises:
        ValueError: `pyproject.toml` has links already, or has no place for them.
    """
    settings, readme = root / "pyproject.toml", root / "README.md"
    text = settings.read_text("utf-8")
    place = "[project.optional-dependencies]\n"
    if "[project.urls]" in text or text.count(place) != 1:
        raise ValueError(f"{settings} has [project.urls] already, or not one {place.strip()}")
    if email:
        text = re.sub(
            r'^(authors = \[\{ name = "[^"]+")', rf'\1, email = "{email}"', text, flags=re.MULTILINE
        )
    settings.write_text(text.replace(place, f"{project_urls(address, tag)}\n{place}"), encoding="utf-8")
    readme.write_text(absolute_links(readme.read_text("utf-8"), address, tag), encoding="utf-8")


if __name__ == "__main__":
    prepare(ROOT, sys.argv[1].rstrip("/"), *sys.argv[2:4])
