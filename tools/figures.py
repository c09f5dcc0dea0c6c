"""Print the figures of this codebase with their goals: its size, its names, its handlers, and the files that a call enters.

python -m tools.figures            everything, in half a minute
python -m tools.figures --static   without running the package
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "workbench"

MIN_LINES, MAX_LINES = 40, 450  #: lines of a module
MAX_SAME_NAME = 2  #: files of one name
MAX_HANDLERS = 20  #: handlers of every exception
SYSTEMS = {"openai.py", "openrlhf.py", "promptfoo.py", "slime.py", "verl.py", "trl.py"}
"""Files that are named after another system: its reader, its reward and its wire form each register under its name."""
STAND_INS = {
    "formats/frame/runtime.py",
    "graders/rules/threads.py",
    "sandbox/platforms/letta.py",
    "sandbox/platforms/osmosis.py",
}
"""Modules whose classes replace those of a package in a worker or an exported file, and so must have their names."""

#: Files and functions that a call may enter.
WAY_GOALS = {
    "run": (25, 190),
    "findings": (20, 140),
    "one judge call": (15, 91),
    "one request": (25, 126),
    "cell to figure": (65, 550),
}

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Figure(NamedTuple):
    """One line of the table.

    Attributes:
        name: What is counted.
        value: The number or numbers.
        goal: The goal, as text.
        examples: Where to look first; "" for nothing.
    """

    name: str
    value: str
    goal: str
    examples: str = ""


@dataclass(frozen=True)
class Module:
    """One file of the package.

    Attributes:
        path: Relative to the package, with slashes.
        text: Its text.
        tree: Its syntax tree.
    """

    path: str
    text: str
    tree: ast.Module

    @property
    def n_lines(self) -> int:
        """Its number of lines."""
        return self.text.count("\n")

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.path.rpartition("/")[2]


def modules(package: Path = PACKAGE) -> list[Module]:
    """Every Python file of a package, by path."""
    paths = sorted(package.rglob("*.py"))
    texts = {path: path.read_text("utf-8") for path in paths}
    return [
        Module(path.relative_to(package).as_posix(), text, ast.parse(text)) for path, text in texts.items()
    ]


def static_figures(found: Sequence[Module]) -> list[Figure]:
    """The figures that need no run."""
    n_lines = sum(module.n_lines for module in found)
    short = [module for module in found if module.n_lines < MIN_LINES]
    long = [module.path for module in found if module.n_lines > MAX_LINES]
    packages = {module.path.partition("/")[0] for module in found if "/" in module.path}
    classes = _repeated(
        (name for module in found if module.path not in STAND_INS for name in _classes(module)), 1
    )
    names = _repeated(
        (module.name for module in found if module.name not in {"__init__.py", *SYSTEMS}), MAX_SAME_NAME
    )
    handlers = Counter(module.path for module in found for _ in broad_handlers(module))
    comments = 100 * sum(map(_n_comments, found)) / n_lines
    lengths = [length for module in found for length in _function_lengths(module)]
    return [
        Figure("files", f"{len(found):,}", "at most 360"),
        Figure("lines", f"{n_lines:,}", "at most 80,000"),
        Figure(
            f"files under {MIN_LINES} lines",
            f"{len(short)} ({100 * len(short) / len(found):.0f} %)", "at most 3 %",
            f"{sum(module.name == '__init__.py' for module in short)} of them are __init__.py",
        ),
        Figure(f"files over {MAX_LINES} lines", f"{len(long)}", "0", ", ".join(long[:4])),
        Figure("packages", f"{len(packages)}", "14"),
        Figure("class names defined twice or more", f"{len(classes)}", "0", ", ".join(classes[:8])),
        Figure(f"file names used more than {MAX_SAME_NAME} times", f"{len(names)}", "0", ", ".join(names[:8])),
        Figure("median lines of a function's body", f"{median(lengths):.0f}", "6 to 9"),
        Figure(
            "handlers of every exception", f"{handlers.total()}", f"at most {MAX_HANDLERS}",
            ", ".join(f"{path} {n}" for path, n in handlers.most_common(4)),
        ),
        Figure("comments per 100 lines", f"{comments:.1f}", "about 4"),
    ]  # fmt: skip


def _repeated(names: Iterable[str], max_times: int) -> list[str]:
    """Names that occur more often, the most frequent first, each with its count."""
    return [f"{name} {n}" for name, n in Counter(names).most_common() if n > max_times]


def _classes(module: Module) -> Iterator[str]:
    return (node.name for node in module.tree.body if isinstance(node, ast.ClassDef))


def broad_handlers(module: Module) -> Iterator[ast.ExceptHandler]:
    """Handlers that name Exception or BaseException, or nothing; not those of the frame of exported files.

    That frame is compared with the text of files that were exported before, so it does not change.
    """
    if module.path.endswith("formats/frame/runtime.py"):
        return
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.ExceptHandler):
            continue
        types = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        if any(kind is None or ast.unparse(kind) in {"Exception", "BaseException"} for kind in types):
            yield node


def _n_comments(module: Module) -> int:
    """Comments for readers: settings of the formatter, the linter and the type checker do not count."""
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    comments = (token.string.lstrip("#: ") for token in tokens if token.type == tokenize.COMMENT)
    return sum(not text.startswith(("fmt:", "noqa", "type:")) for text in comments)


def _function_lengths(module: Module) -> Iterator[int]:
    """Lines of each function's body, without its signature and docstring."""
    for node in ast.walk(module.tree):
        if isinstance(node, FunctionNode):
            body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
            yield (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def traced_figures() -> list[Figure]:
    """The files and functions that each way enters; runs the package."""
    from tools.traced_ways import all_ways

    return [
        Figure(
            f"{way.name}: files (functions) entered",
            f"{len(way.files)} ({len(way.functions)})",
            "at most {} ({})".format(*WAY_GOALS[way.name]),
        )
        for way in all_ways()
    ]


def table(figures: Sequence[Figure]) -> str:
    """Figures as lines of text, with their goals."""
    widths = [max(len(figure[column]) for figure in figures) for column in range(3)]
    name, value, goal = widths
    lines = (
        f"{f.name:<{name}}  {f.value:>{value}}  goal {f.goal:<{goal}}  {f.examples}".rstrip() for f in figures
    )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Print the figures of this codebase with their goals.")
    parser.add_argument("--static", action="store_true", help="do not run the package")
    options = parser.parse_args(arguments)
    figures = static_figures(modules()) + ([] if options.static else traced_figures())
    sys.stdout.write(table(figures) + "\n")


if __name__ == "__main__":
    main()
