"""The documentation's pages as tests see them: their code, the output they show, their links and their commands.

A page is run as one script that has the page's own line numbers, so that a traceback names the line of the page. Its
blocks run from top to bottom in one namespace, in a folder of their own:

- a `python` block runs as it stands;
- in a `console` block of docs/ every line that begins with `workbench` runs as a command, but for `WAITING` ones;
- a `text` block right below one of them is what it prints, with `...` for what may differ.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
CODE_PAGES = {"architecture.md", "extend.md"}
"""Pages about changing the code: their blocks are files, which `test_extend.py` adds to a copy of this repository."""
RUN = [page for page in PAGES if page.name not in {"CHANGELOG.md", "CONTRIBUTING.md", *CODE_PAGES}]
"""The pages whose blocks are run."""
WAITING = {"demo", "lab", "serve"}
"""Commands that are not run here: one does the whole job of a test of its own, the others open a browser or serve for ever."""

_COMMAND = (
    "import subprocess as _subprocess, sys as _sys; "
    "_command = lambda words: (lambda done: done.returncode and _sys.exit(done.stderr))(_subprocess.run("
    "[_sys.executable, '-W', 'error', '-m', 'workbench', *words], stderr=_subprocess.PIPE, text=True))"
)
"""The first line of a page's script: commands write messages to standard error, which a page shows as prose."""

_FENCE = re.compile(r"^(`{3,})(\w*)[^\n]*\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_MARK = "\x01{}\x01"


@dataclass
class Block:
    """A fenced block of a page.

    Attributes:
        language: What stands behind the opening fence.
        text: What stands between the fences.
        line: The number of the line after the opening fence, from 1.
        output: The text block right below it; None where there is none.
    """

    language: str
    text: str
    line: int
    output: str | None = field(default=None)

    @property
    def commands(self) -> list[str]:
        """The `workbench` commands of a console block."""
        lines = self.text.splitlines() if self.language == "console" else []
        return [line for line in lines if line.startswith("workbench ")]


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page in order; a text block that shows output belongs to the block above it."""
    found: list[Block] = []
    end = 0
    for fence in _FENCE.finditer(text):
        block = Block(fence[2], fence[3], text.count("\n", 0, fence.start(3)) + 1)
        follows = found and not text[end : fence.start()].strip()
        if block.language == "text" and follows and found[-1].language in {"python", "console"}:
            found[-1].output = block.text
        else:
            found.append(block)
        end = fence.end()
    return found


def script(text: str, *, shell: bool) -> tuple[str, list[Block]]:
    """A page as a script with the same line numbers, and the blocks that it runs; with `shell` its commands too."""
    lines = [""] * (text.count("\n") + 1)
    lines[0] = _COMMAND
    run = [block for block in blocks(text) if block.language == "python" or (shell and block.commands)]
    for number, block in enumerate(run):
        lines[block.line - 2] = f"print({_MARK.format(number)!r}, flush=True)"  # in the opening fence's place
        if block.language == "python":
            body = block.text.splitlines()
            lines[block.line - 1 : block.line - 1 + len(body)] = body
        else:
            lines[block.line - 1] = "; ".join(map(_call, _run_here(block.commands))) or "pass"
    return "\n".join(lines) + "\n", run


def _run_here(commands: list[str]) -> list[str]:
    return [command for command in commands if shlex.split(command)[1] not in WAITING]


def _call(command: str) -> str:
    arguments = shlex.split(command, comments=True)[1:]
    return f"_command({arguments!r})"


def outputs(page: Path, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run a page in a folder; each of its blocks with what it printed.

    Raises:
        AssertionError: A block failed, warned, or wrote to standard error.
    """
    text, run = script(page.read_text("utf-8"), shell=page.parent == ROOT / "docs")
    path = folder / f"page-{page.stem}.py"  # a name that no module has
    path.write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", path.name],
        cwd=folder,
        capture_output=True,
        text=True,
        env=_environment(),
    )
    assert (done.returncode, done.stderr) == (0, ""), f"{page.name}: {done.stderr}{done.stdout}"
    for number, block in enumerate(run):
        after = done.stdout.partition(_MARK.format(number) + "\n")[2]
        yield block, after.partition(_MARK[0])[0]


def _environment() -> dict[str, str]:
    """Ours, without what would change what a page prints: a reader's model, server and key, and this terminal's width."""
    names = ("WORKBENCH_", "OPENAI_", "COLUMNS")
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    return {**kept, "PYTHONPATH": path}


def is_output(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed; `...` stands for anything."""
    pattern = ".*?".join(map(re.escape, shown.strip("\n").split("...")))
    clean = "\n".join(line.rstrip() for line in printed.splitlines()).strip("\n")
    return re.fullmatch(pattern, clean, re.DOTALL) is not None


def prose(text: str) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", text)


def commands(text: str) -> list[str]:
    """Every `workbench ...` command a page names, in a block or in a line of prose."""
    shown = [command for block in blocks(text) for command in block.commands]
    return shown + re.findall(r"`(workbench [^`]+)`", prose(text))


def links(text: str) -> list[str]:
    """The targets of a page's links and pictures that stay in this repository."""
    found = re.findall(r"\]\(([^()\s]+)\)", prose(text))
    return [link for link in found if not re.match(r"\w+:", link)]


def anchors(text: str) -> set[str]:
    """What GitHub calls the headings of a page."""
    names: dict[str, int] = {}
    found = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", prose(text), re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = "".join(
            "-" if letter == " " else letter
            for letter in plain
            if letter in "-_ " or unicodedata.category(letter)[0] in "LN"
        )
        again = names.get(slug, 0)
        names[slug] = again + 1
        found.add(f"{slug}-{again}" if again else slug)
    return found


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere: no such file, or no such heading in it."""
    wrong = []
    for link in links(page.read_text("utf-8")):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (
            anchor and (target.suffix != ".md" or anchor not in anchors(target.read_text("utf-8")))
        ):
            wrong.append(link)
    return wrong
