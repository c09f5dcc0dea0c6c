"""What a grader's source reveals: texts, numbers, keys and patterns in it."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.python_text import parse
from workbench.graders import Grader
from workbench.graders.serialization import parts
from workbench.judges.kinds import Judge

_MAX_WORDS, _MAX_NUMBERS, _LONGEST = 24, 6, 200
_READS = re.compile(r"\b(?:ground_truth|reference|expected|solution_gold|gold|\.label)\b")
_NOT_AN_ANSWER = frozenset(
    {"user", "assistant", "system", "tool", "role", "content", "utf-8", "ascii", "ignore"}
)
_FORMS = frozenset({"NFC", "NFD", "NFKC", "NFKD"})
_QUOTED = re.compile(r"'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"|`([^`]*)`")
_GROUP = re.compile(r"\((?!\?(?!P<))(?:[^()\\]|\\.|\[[^\]]*\])*\)")


@dataclass(frozen=True)
class Mined:
    """What a grader's source reveals.

    Attributes:
        text: The text itself: the source, or a judge's instructions.
        words: Texts in it, and the words inside its patterns.
        heaps: All texts of one list or set in it, joined by spaces.
        numbers: Whole numbers of 2 to 5,000 in it, such as a minimum length.
        keys: Names it may look up in a completion that is JSON.
        frames: The texts before and after a correct completion according to its patterns.
        rubric: Its docstrings, or a judge's criteria.
        readable: Whether there was a text to read.
    """

    text: str = ""
    words: tuple[str, ...] = ()
    heaps: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    keys: tuple[str, ...] = ()
    frames: tuple[tuple[str, str], ...] = ()
    rubric: str = ""
    readable: bool = False

    def reads(self, names: Iterable[str]) -> bool:
        """Whether the text looks the reference up, by a usual name or by one of the columns' names."""
        return _READS.search(self.text) is not None or any(name and name in self.text for name in names)


def mine(grader: Grader, columns: Iterable[str] = ()) -> Mined:
    """What the text of a grader, and of its inner graders, reveals.

    Args:
        grader: The grader. None of it runs here; its source is parsed, never compiled or imported.
        columns: Names of the rows' columns, which are not completions.
    """
    sources = [part.source.text for part in parts(grader) if hasattr(part, "source")]
    if sources:
        return _of_source("\n".join(sources), frozenset(columns))
    if any(isinstance(part, Judge) for part in parts(grader)):
        told = "\n".join(_texts(grader.spec()))
        return Mined(told, rubric=told[:4_000])
    return Mined(words=tuple(_texts(_settings(grader))))


def _settings(grader: Grader) -> dict[str, Any]:
    """A grader's settings; none if they cannot be serialised, such as for a function of a notebook."""
    try:
        spec = grader.spec()
    except WorkbenchError:
        return {}
    return {name: value for name, value in spec.items() if name not in {"kind", "name", "description"}}


def _texts(value: object) -> Iterator[str]:
    """The texts inside a spec."""
    if isinstance(value, str):
        if len(value) > 1:
            yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in {"kind", "name", "model", "client"}:
                yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def _of_source(text: str, columns: frozenset[str]) -> Mined:
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError):
        strings = [next(filter(None, found), "") for found in _QUOTED.findall(text)]
        numbers = [int(found) for found in re.findall(r"(?<![\w.])\d{1,4}(?![\w.])", text)]
        return _mined(text, strings, [], numbers, "", columns)
    told = {id(node) for node in _docstrings(tree)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told]
    strings = [node.value for node in constants if isinstance(node.value, str)]
    numbers = [node.value for node in constants if type(node.value) is int]
    rubric = "\n".join(str(node.value) for node in _docstrings(tree))
    return _mined(text, strings, list(_heaps(tree)), numbers, rubric, columns)


def _mined(
    text: str, strings: list[str], heaps: list[str], numbers: list[int], rubric: str, columns: frozenset[str]
) -> Mined:
    answers = [
        string for string in strings if string.strip() and string not in columns | _NOT_AN_ANSWER | _FORMS
    ]
    patterns = [string for string in answers if re.search(r"[\\\[(|^$*+?]", string)]
    plain = [string for string in answers if string not in patterns or "\\" not in string]
    inside = [
        word
        for pattern in patterns
        for word in re.findall(r"[A-Za-z][A-Za-z' ]{2,}", re.sub(r"\\.", " ", pattern))
    ]
    words = [word.strip() for word in [*plain, *inside] if 0 < len(word.strip()) <= _LONGEST]
    joined = [heap for heap in [*heaps, " ".join(dict.fromkeys(words))] if heap.strip()]
    return Mined(
        text,
        tuple(dict.fromkeys(words))[:_MAX_WORDS],
        tuple(dict.fromkeys(joined))[:4],
        tuple(dict.fromkeys(number for number in numbers if 2 <= number <= 5_000))[:_MAX_NUMBERS],
        tuple(dict.fromkeys(word for word in plain if re.fullmatch(r"[A-Za-z_][\w-]{0,30}", word)))[:8],
        tuple(dict.fromkeys(frame for pattern in patterns if (frame := _frame(pattern)) is not None))[:6],
        rubric,
        readable=True,
    )


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                yield first.value


def _heaps(tree: ast.Module) -> Iterator[str]:
    """The texts of every list, tuple and set, joined."""
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            texts = [
                item.value
                for item in node.elts
                if isinstance(item, ast.Constant) and isinstance(item.value, str)
            ]
            if len(texts) > 1:
                yield " ".join(texts)


def _frame(pattern: str) -> tuple[str, str] | None:
    """What a pattern requires before and after its first group, as one text that it matches; None if that is unclear."""
    group = _GROUP.search(pattern)
    if group is None:
        return None
    before, after = _literal(pattern[: group.start()]), _literal(pattern[group.end() :])
    if before is None or after is None or not (before + after).strip():
        return None
    return before, after


def _literal(pattern: str) -> str | None:
    """A text that a simple pattern matches; None for a pattern that is not simple."""
    text = re.sub(r"\(\?[a-z]+\)|[\^]|\$$|(?<!\\)\\[bZA]", "", pattern)
    text = re.sub(r"\\s[*?]|\.\*\??|\\\*[*?]|\[[^\]]*\][*?]", "", text)
    text = re.sub(r"\\s\+?", " ", text)
    text = re.sub(r"\(\?:[^()]*\)[?*]|\\\(\?|\\\)\?|\\\$\?", "", text)
    text = re.sub(r"\(\?:([^()|]*)[^()]*\)", r"\1", text)
    text = re.sub(r"\[([^\]\\^])[^\]]*\]", r"\1", text)
    text = re.sub(r"([^\\])[?*+]", r"\1", text)
    text = re.sub(r"\\n", "\n", text)
    if re.search(r"(?<!\\)\\[A-Za-z]|(?<!\\)[()|]", text):
        return None
    return re.sub(r"\\(\W)", r"\1", text)


def as_json_value(answer: str) -> str:
    """A completion as a value inside JSON: numbers, objects and lists unchanged, all else quoted."""
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        return json.dumps(answer, ensure_ascii=False)
    return answer if not isinstance(value, float) or value == value else json.dumps(answer)  # noqa: PLR0124 (NaN)
