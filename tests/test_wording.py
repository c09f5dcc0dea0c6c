"""The prose of the project: messages, docstrings, comments, docs, notebooks and the app use the field's terms.

`WORDS` lists what is not used, in the sense that its pattern catches, and what to write instead. Code in backticks, code
blocks and identifiers are not prose. `DATA` are modules whose strings are data: texts of rows, prompts, names of others.
"""

from __future__ import annotations

import ast
import io
import json
import re
import textwrap
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]


class Word(NamedTuple):
    """A word that is not used.

    Attributes:
        pattern: What is not used; case is ignored, and a blank is any white space.
        instead: What to write.
    """

    pattern: str
    instead: str


class Prose(NamedTuple):
    """A piece of prose.

    Attributes:
        line: Its first line, from 1; 0 in a notebook.
        text: The text, without code.
        kind: "comment", "docstring", "string" or "page".
    """

    line: int
    text: str
    kind: str


WORDS = {
    "is no": Word(
        r"(?<!there )\b(?:is|are|was|were|be|been) no (?!longer\b|more\b|less\b|fewer\b|later\b|earlier\b)(?=[a-z])",
        "is not a, does not have",
    ),
    "nobody": Word(
        r"\b(?:nobody|somebody|whoever|anybody|whatever)\b", "the actor: user, grader, judge, worker"
    ),
    "tell": Word(r"\b(?:told|tells?|telling)\b", "report, warn, state, distinguish"),
    "say": Word(r"\b(?:says?|said(?! yet\b)|saying)\b", "state, report, return, support, mean"),
    "hang on": Word(r"\b(?:hangs?|hung) on\b", "depend on"),
    "rest on": Word(r"\brests? on\b", "depend on"),
    "hold": Word(
        r"(?<!lock )(?<!lock is )(?<!locks )\b(?:holds?|held|holding)\b(?![-\s]out\b)(?! (?:the|a|its|this|that) (?:\w+ )?lock\b)",
        "contain, have, be true, be valid",
    ),
    "stand": Word(r"\b(?:stands?|stood|standing)\b(?![-\s](?:alone|in)\b)", "be, be in, represent, appear"),
    "mend": Word(r"\bmend(?:s|ed|ing)?\b", "fix"),
    "anew": Word(r"\b(?:anew|afresh|once more|one time more)\b", "again, restart, rerun, retry"),
    "beside": Word(r"\bbesides?\b", "next to, with, as well as"),
    "behind": Word(r"\bbehind\b(?! a (?:reverse )?proxy)", "after"),
    "place": Word(r"\bin (?:the )?place of\b", "instead of, at"),
    "under way": Word(r"\b(?:under way|in vain)\b", "in flight, running; without result"),
    "pass mark": Word(r"\bpass[-\s]marks?\b", "pass threshold"),
    "dead prompt": Word(r"\b(?:dead|live) (?:prompt|group)s?\b", "zero-variance group, informative group"),
    "teach": Word(r"\bteach(?:es|ing)?\b", "be informative"),
    "cleared": Word(r"\bcleared\b", "within limit"),
    "prove": Word(r"\b(?:un)?prov(?:e|es|ed|en|ing)\b|\bproofs?\b", "validate, show; validation, evidence"),
    "stranger": Word(r"\bstrangers?\b", "untrusted, imported"),
    "travel": Word(r"\btravel(?:s|led|ling)?\b", "be captured, be exported"),
    "ours": Word(r"\b(?:ours|yours|one's own|theirs)\b", "the named owner: the package's, the user's"),
    "come to": Word(r"\b(?:come|comes|came) (?:to|in|out)\b", "reach, be imported, result in"),
    "go on": Word(r"\b(?:go|goes|going|went|gone) on\b", "continue, resume"),
    "left behind": Word(r"\b(?:left behind|what is left|leaves? for)\b", "remaining, omitted, exported"),
    "lent": Word(r"\b(?:lent|residents?)\b", "worker pool, batch"),
    "fool": Word(r"\bfool(?:s|ed|ing)?\b", "exploit, accepted adversarial variant"),
    "most": Word(r"\bat the (?:most|least)\b", "at most, at least"),
    "so many": Word(
        r"\b(?:so many|up to there|perhaps|now and then|a while|at times|by now|begun)\b",
        "a number with its unit; n",
    ),
    "answer": Word(
        # Not the name in regression files, nor what a judge is sent.
        r"(?<!final )(?<!ground_truth )(?<!\Aright )\banswer(?:s|ed|ing)?\b(?![- ]relevancy)(?! again, with the JSON object)",
        "completion (of a row), reply (of a model), response",
    ),
    # "Original question" is a heading of Letta's prompt.
    # A "question" is one of the three strengths of a probe's findings.
    "question": Word(
        r"\b(?:the|this|each|every|one|whole|same|last|first|its|user's) (?<!original )questions?\b|\bquestions? (?:to|asked|put|of a row)\b",
        "prompt (of a row), request (to a model)",
    ),
    "ask": Word(r"(?<!\.)\bask(?:s|ed|ing)?\b", "request, send, call, require"),
    "kept": Word(r"\bkept\b", "saved, cached, stored, unchanged"),
    "lost worker": Word(
        r"\blost workers?\b|\bworkers? (?:that )?(?:is|are|was|were) lost\b",
        "worker crashed, was killed, timed out",
    ),
    "word for": Word(
        r"\b(?:no|a|own|one|another) word\b|\bin words\b|\bwords? (?:for|of)\b", "term, value, text, message"
    ),
    "as it is": Word(r"\bas (?:it is|they are|it was|they were)\b(?! \w+ed\b)", "unchanged, literally"),
    "own": Word(r"\bof (?:its|their|our|his|her|your) own\b", "separate, its"),
    "bring back": Word(r"\b(?:bring|brings|brought) back\b", "return, restore"),
    "settled": Word(r"\b(?:un)?settled\b|\blies? inside\b", "inconclusive, decided"),
    "at once": Word(r"\bat once\b", "immediately; at the same time"),
    "but for": Word(r"\bbut for\b", "except"),
    "here": Word(r"\b(?:somewhat|thereby|thereof|wherein|whereby)\b", "plain words"),
}

#: Modules whose strings are data and not prose: only their comments and docstrings are looked at.
DATA = (
    "workbench/data/demo/",
    "workbench/probes/variants/",
    "benchmarks/in_browser.py",  # JavaScript
    "benchmarks/field/corpus/",  # rows
    "workbench/probes/shapes.py",
    "workbench/probes/completion_forms.py",  # texts of rows
    "workbench/judges/kinds/binary.py",  # what judges are sent
    "workbench/judges/kinds/pairwise.py",
    "workbench/core/display_html.py",  # a stylesheet
    "workbench/graders/rules/promptfoo_assertions.py",  # phrases of promptfoo
    "workbench/graders/rules/choices.py",  # phrases of completions
    "workbench/graders/rules/numbers.py",
    "workbench/graders/rules/tokens.py",
    "workbench/graders/rules/math.py",
)

PYTHON = ("workbench", "benchmarks")
PAGES = (
    "docs",
    "notebooks",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks/README.md",
    "workbench/data/demo/DATA_CARD.md",
)
APP = ("frontend/src",)


def files() -> list[Path]:
    """Every file with prose, in order."""
    found = {path for root in PYTHON for path in (ROOT / root).rglob("*.py")}
    found |= {path for root in APP for path in (ROOT / root).rglob("*.ts*")}
    for page in (ROOT / name for name in PAGES):
        found |= {page} if page.is_file() else {*page.rglob("*.md"), *page.rglob("*.ipynb")}
    return sorted(
        path for path in found if "node_modules" not in path.parts and ".ipynb_checkpoints" not in path.parts
    )


def prose(path: Path) -> Iterator[Prose]:
    """The prose of one file."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        yield from _of_python(text)
    elif path.suffix == ".ipynb":
        for cell in json.loads(text)["cells"]:
            if cell["cell_type"] == "markdown":
                yield Prose(0, _without_code("".join(cell["source"])), "page")
            else:
                yield from (Prose(0, piece.text, piece.kind) for piece in _comments("".join(cell["source"])))
    elif path.suffix == ".md":
        yield Prose(1, _without_code(text), "page")
    else:
        yield from _of_script(text)


#: The name of a field or parameter in a docstring.
_FIELD = re.compile(r"^ {8,}\w+:(?= )", re.MULTILINE)


def _of_python(text: str) -> Iterator[Prose]:
    tree = ast.parse(text)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
            words = "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            words = node.value
        else:
            continue
        if id(node) in docstrings:
            yield Prose(node.lineno, _without_code(_FIELD.sub("", words)), "docstring")
        elif (program := _program(words)) is not None:
            yield from (Prose(node.lineno + p.line - 1, p.text, p.kind) for p in _of_python(program))
        elif " " in words.strip() and not re.fullmatch(r"(?=.*_)[\w ]+", words):  # not a list of names
            yield Prose(node.lineno, _without_code(words), "string")
    yield from _comments(text)


def _program(text: str) -> str | None:
    """A string that is Python code, such as a part of an exported file: its comments and strings alone are prose."""
    try:
        program = textwrap.dedent(text).replace("{}", "_")
        tree = ast.parse(program)
    except (SyntaxError, ValueError):
        return None
    plain = all(
        isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call | ast.Dict) for node in tree.body
    )
    return None if plain else program


def _comments(text: str) -> Iterator[Prose]:
    """The comments of Python code; none of a cell that is not Python."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield Prose(token.start[0], _without_code(token.string), "comment")
    except (tokenize.TokenError, SyntaxError):
        return


def _of_script(text: str) -> Iterator[Prose]:
    """Comments, strings with blanks, and text between tags of a TypeScript file."""
    text = re.sub(
        r"\bclass=(?:\"[^\"]*\"|\{[^}]*\})", lambda found: " " * len(found.group()), text
    )  # names of styles
    for found in re.finditer(
        r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"|'[^'\n]*'|(?<!=)>(?![(,:)\]])[^<>{}=;]* [^<>{}=;]*<",
        text,
        re.DOTALL,
    ):
        if " " in found.group():
            yield Prose(text.count("\n", 0, found.start()) + 1, _without_code(found.group()), "string")


def _without_code(text: str) -> str:
    """A text without code: blocks between fences, examples at a prompt, what stands in backticks, addresses."""
    text = re.sub(
        r"^( *)(```|~~~).*?^ *\2",
        lambda found: "\n" * found.group().count("\n"),
        text,
        flags=re.DOTALL | re.MULTILINE,
    )
    text = re.sub(
        r"^ *>>> .*(?:\n(?! *$).*)*", lambda found: "\n" * found.group().count("\n"), text, flags=re.MULTILINE
    )
    text = re.sub(
        r"`[^`]*`|\{\w+\}|https?://\S+|\]\([^)]*\)", lambda found: "\n" * found.group().count("\n"), text
    )
    return re.sub(r"\n[ #]*", "\n", text)


def places(name: str, *, under: str = "") -> list[str]:
    """Where a word is used, as "file:line: text around it"."""
    pattern = re.compile(WORDS[name].pattern.replace(" ", r"\s"), re.IGNORECASE)
    found = []
    for path in files():
        short = path.relative_to(ROOT).as_posix()
        if not short.startswith(under):
            continue
        for piece in _prose_of(path):
            if piece.kind == "string" and short.startswith(DATA):
                continue
            for match in pattern.finditer(piece.text):
                line = piece.line + piece.text.count("\n", 0, match.start())
                around = piece.text[max(0, match.start() - 50) : match.end() + 50].replace("\n", " ")
                found.append(f"{short}:{line}: {around}")
    return found


_PROSE: dict[Path, list[Prose]] = {}


def _prose_of(path: Path) -> list[Prose]:
    if path not in _PROSE:
        _PROSE[path] = list(prose(path))
    return _PROSE[path]


@pytest.mark.parametrize("name", WORDS)
def test_a_word_is_not_used(name: str) -> None:
    """Prose is plain English in the field's terms."""
    found = places(name)
    assert not found, f"{name!r} is used {len(found)} times; write {WORDS[name].instead}:\n" + "\n".join(
        found[:40]
    )
