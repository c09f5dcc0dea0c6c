"""What the documentation site has besides Sphinx' pages: the same pages as Markdown, `llms.txt`, and a check of its links.

`python -m tools.site FOLDER` checks every link of a built site that leads to the site itself: pages, anchors, pictures, in
HTML and in Markdown. It needs no network and does not open addresses of other sites; `sphinx -b linkcheck` does.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_NOTEBOOK = re.compile(r"\]\(\.\./notebooks/(\w+)\.ipynb(#[\w-]+)?\)")
_OF_REPOSITORY = re.compile(
    r"\[([^\]]+)\]\(\.\./(?!docs/)([\w./-]+\.md)(#[\w-]+)?\)|\[([^\]]+)\]\((README\.md)(#[\w-]+)?\)"
)
_SIBLING = re.compile(r"\]\((\w+)\.ipynb(#[\w-]+)?\)")
_TOCTREE = re.compile(r"^```\{toctree\}\n.*?^```\n", re.DOTALL | re.MULTILINE)
_FENCED = re.compile(r"^(`{3,}).*?^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_LINKED = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_MARKDOWN_LINK = re.compile(r"\]\(([^)\s]+)\)")


def point_inside(page: str, text: str, *, suffix: str = ".ipynb") -> str:
    """A page with the links of the site: a file of the repository that has no page there is named instead.

    Args:
        page: The page's name without its suffix, such as `tutorials/01_quickstart`.
        text: Its Markdown as in the repository, or a notebook's JSON.
        suffix: The ending of notebooks in the result: `.md` for the pages that are served as Markdown.
    """
    text = _NOTEBOOK.sub(rf"](tutorials/\1{suffix}\2)", text)
    if page.startswith("tutorials/"):
        return _SIBLING.sub(rf"](\1{suffix}\2)", text.replace("](../docs/", "](../"))
    return _OF_REPOSITORY.sub(
        lambda link: f"{link[1] or link[4]} (`{link[2] or link[5]}` in the repository)", text
    )


def write_markdown(
    out: Path, docs: Path, notebooks: dict[str, dict[str, Any]], reference: dict[str, str]
) -> None:
    """Write each page as Markdown next to its HTML, and `llms.txt`, which lists the pages with their first sentences.

    Args:
        out: The folder of the built site.
        docs: The folder of the pages.
        notebooks: The notebooks with their outputs, from their names to their content.
        reference: Pages of the reference, from their names to their Markdown.
    """
    pages = {
        path.stem: _TOCTREE.sub("", point_inside(path.stem, path.read_text("utf-8"), suffix=".md"))
        for path in sorted(docs.glob("*.md"))
        if path.name not in {"README.md", "SKILL.md"}
    }
    tutorials = {
        page: point_inside(page, notebook_markdown(notebook), suffix=".md")
        for page, notebook in ((f"tutorials/{name}", notebooks[name]) for name in sorted(notebooks))
    }
    lines = ["# grader workbench", "", f"> {_first_sentence(pages['index'])}", ""]
    lines += ["## Tasks", "", "- [Skill](SKILL.md): Migrate graders, probe a reward, certify a judge.", ""]
    groups = {"Pages": pages, "Tutorials": tutorials, "Reference": reference}
    for title, group in groups.items():
        lines += [f"## {title}", ""]
        for page, text in group.items():
            target = out / f"{page}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            lines.append(f"- [{text.splitlines()[0].lstrip('# ')}]({page}.md): {_first_sentence(text)}")
        lines.append("")
    for picture in docs.glob("*.png"):
        (out / picture.name).write_bytes(picture.read_bytes())
    (out / "llms.txt").write_text("\n".join(lines), encoding="utf-8")


def notebook_markdown(notebook: dict[str, Any]) -> str:
    """A notebook with its outputs as Markdown: what was printed, and the text of what was displayed."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code":
            parts.append(f"```python\n{source}\n```")
            printed = "".join(_output_text(output) for output in cell["outputs"]).rstrip()
            if printed:
                parts.append(f"````text\n{printed}\n````")
    return "\n\n".join(parts) + "\n"


def _output_text(output: dict[str, object]) -> str:
    """The text of one output of a cell; a figure, which has none, is its name."""
    if "text" in output:
        return "".join(_lines(output["text"]))
    data = output.get("data")
    if not isinstance(data, dict) or "text/plain" not in data:
        return ""
    figure = "application/vnd.plotly.v1+json" in data
    return "(a figure: see the page)\n" if figure else "".join(_lines(data["text/plain"])) + "\n"


def _lines(value: object) -> list[str]:
    return [str(line) for line in value] if isinstance(value, list) else [str(value)]


def _first_sentence(text: str) -> str:
    """What the first paragraph below the title says first."""
    paragraphs = [part.strip() for part in text.split("\n\n")[1:]]
    paragraphs = [_LINKED.sub(r"\1", part) for part in paragraphs if part and part[0] not in "#`<|{!%"]
    return " ".join(paragraphs[0].split()).split(". ")[0].rstrip(".:") + "." if paragraphs else ""


@dataclass
class _Page(HTMLParser):
    """The anchors and the links of an HTML page."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors |= {name for name in (values.get("id"), values.get("name")) if name}
        link = values.get("href" if tag in {"a", "link"} else "src")
        if link is not None and link:
            self.links.append(link)


def broken_links(site: Path) -> list[str]:
    """Every link of a built site to a file or an anchor of it that does not exist, as "page: link"."""
    pages: dict[Path, _Page] = {}
    for path in site.rglob("*.html"):
        pages[path] = _Page()
        pages[path].feed(path.read_text("utf-8"))
    links = [(path, link) for path, page in pages.items() for link in page.links]
    links += [
        (path, link) for path in (*site.rglob("*.md"), site / "llms.txt") for link in _markdown_links(path)
    ]
    return [
        f"{path.relative_to(site).as_posix()}: {link}"
        for path, link in sorted(links)
        if not _leads(path, link, pages)
    ]


def _markdown_links(path: Path) -> Iterator[str]:
    """Links outside code; anchors of Markdown depend on who renders it, so that only the files are checked."""
    text = path.read_text("utf-8") if path.exists() else ""
    for link in _MARKDOWN_LINK.findall(re.sub(r"`[^`\n]*`", "", _FENCED.sub("", text))):
        yield link.partition("#")[0] or path.name


def _leads(path: Path, link: str, pages: dict[Path, _Page]) -> bool:
    """Whether a link of a page leads somewhere; addresses with a scheme are not opened."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        return False
    anchor = unquote(parts.fragment)
    return not anchor or target not in pages or anchor in pages[target].anchors


def main() -> int:
    """Print the broken links of a built site; the exit code is 1 if there are any."""
    site = Path(sys.argv[1]).resolve()
    broken = broken_links(site)
    pages = len(list(site.rglob("*.html")))
    print("\n".join(broken) or f"{pages} pages: every link inside the site leads somewhere")  # noqa: T201
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
