"""What a grader's source reveals, the forms in which it may require the reference, and when two texts are equal."""

from __future__ import annotations

import ast
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.python_text import parse
from workbench.graders import CustomGrader, Grader
from workbench.graders.serialization import parts
from workbench.judges.kinds import Judge
from workbench.probes.signs import Sign, columns_read, signs_of

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
        signs: Places in it that are known causes of holes.
        missing: Names of columns that it looks up and no row has.
        parameters: Columns that its functions take as parameters, as trainers pass them, and use.
        removed: Patterns of what it removes from a text before comparing.
    """

    text: str = ""
    words: tuple[str, ...] = ()
    heaps: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    keys: tuple[str, ...] = ()
    frames: tuple[tuple[str, str], ...] = ()
    rubric: str = ""
    readable: bool = False
    signs: tuple[Sign, ...] = ()
    missing: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def names(self, column: object) -> bool:
        """Whether the source has the name of a column as a text, or as a parameter that it uses."""
        return (
            str(column) in self.parameters
            or re.search(rf"[\"']{re.escape(str(column))}[\"']", self.text) is not None
        )

    def reads(self, names: Iterable[str]) -> bool:
        """Whether the text looks the reference up, by a usual name or by one of the columns' names: as a text, parameter or attribute."""
        return _READS.search(self.text) is not None or any(
            name and (self.names(name) or re.search(rf"\.{re.escape(name)}\b", self.text)) for name in names
        )


def mine(grader: Grader, columns: Iterable[str] = ()) -> Mined:
    """What the text of a grader, and of its inner graders, reveals.

    Args:
        grader: The grader. None of it runs here; its source is parsed, never compiled or imported.
        columns: Names of the rows' columns, which are not completions.
    """
    sources = [part.source.text for part in parts(grader) if hasattr(part, "source")]
    live = [text for part in parts(grader) if isinstance(part, CustomGrader) and (text := part.source_text())]
    if sources or live:
        mined = _of_source("\n".join([*sources, *live]), frozenset(columns))
        is_one_text = len(sources) == 1 and not live
        signs = mined.signs if is_one_text else tuple(replace(sign, line=0) for sign in mined.signs)
        return replace(mined, signs=signs)
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
    mined = _mined(text, strings, list(_heaps(tree)), numbers, rubric, columns)
    return replace(
        mined,
        parameters=tuple(sorted(columns & set(_parameters(tree)))),
        removed=tuple(dict.fromkeys(_removed(tree))),
    )


def _removed(tree: ast.Module) -> Iterator[str]:
    """Patterns of `re.sub(pattern, "", text)` and `PATTERN.sub("", text)`, and the texts of `text.replace(part, "")`."""
    compiled = {
        target.id: node.value.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).endswith("compile")
        and node.value.args
        and isinstance(node.value.args[0], ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        arguments = [one.value if isinstance(one, ast.Constant) else None for one in node.args]
        receiver = ast.unparse(node.func.value)
        if node.func.attr == "sub" and receiver in {"re", "regex"} and len(arguments) > 1:
            pattern, other = arguments[:2]
        elif node.func.attr == "sub" and arguments:
            pattern, other = compiled.get(receiver), arguments[0]
        elif node.func.attr == "replace" and len(arguments) > 1 and isinstance(arguments[0], str):
            pattern, other = re.escape(arguments[0]), arguments[1]
        else:
            continue
        if isinstance(pattern, str) and isinstance(other, str) and not other.strip():
            yield pattern


def _parameters(tree: ast.Module) -> Iterator[str]:
    """The parameters of functions that these read."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            read = {
                one.id
                for one in ast.walk(node)
                if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
            }
            yield from (one.arg for one in (*node.args.args, *node.args.kwonlyargs) if one.arg in read)


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
        signs=signs_of(text),
        missing=tuple(name for name in columns_read(text) if columns and name not in columns),
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


PADDING = (
    "Let me think about this carefully and look at it from more than one side. Every detail was read twice, and "
    "nothing that seemed important was left out. This is a thorough and complete treatment of the whole question. "
)
"""Text without content, for any prompt."""

_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "eou"
"""Without "a" and "i": a one-letter word may be a correct completion, and an "a" looks like multiple choice."""


def gibberish(length: int, random: Random) -> str:
    """Pronounceable words without meaning, at least four letters each; `length` characters in total."""
    words: list[str] = []
    size = 0
    while size < length:
        pairs = range(random.randint(2, 4))
        word = "".join(random.choice(_CONSONANTS) + random.choice(_VOWELS) for _ in pairs)
        words.append(word)
        size += len(word) + 1
    return " ".join(words)[:length].strip()


_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][-+]?\d+)?")
_FAR = 0.1
"""Minimum relative difference of two numbers that no tolerance accepts. Workbench limit."""


def as_text(value: Any) -> str:
    """A reference as a model would write it in a completion; "" for none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, bool | list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def number_in(text: str) -> float | None:
    """The number that a text is, such as 1234.5 for "1,234.5"; None if it is not a number."""
    text = text.strip().replace("\u2212", "-")
    if not any(character.isdigit() for character in text) or not _NUMBER.fullmatch(text):
        return None
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


_WITH_WORDS = re.compile(r"[$\u20ac\u00a3]?\s*([-+\u2212]?\d[\d,]*(?:\.\d+)?)(?:[^\d]*)")


def number_with_words(text: str) -> str | None:
    """The number of a text such as "33 kg" and "$40"; None if it is a bare number, or has none or several."""
    found = _WITH_WORDS.fullmatch(text.strip())
    return found[1] if found and number_in(text) is None else None


def numbers_in(text: str) -> list[float]:
    """All numbers in a text, also written with raised or wide digits."""
    plain = unicodedata.normalize("NFKC", text).replace("\u2212", "-")
    return [
        float(found.replace(",", "")) for found in re.findall(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?", plain)
    ]


def plainly(text: str) -> str:
    """A text in lower case, without typographic accents, outer punctuation and repeated space."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).strip(" .,:;!?\"'`*$()[]")


def parsed_json(text: str) -> Any:
    """The object or list that a text is in JSON; None if it is anything else."""
    if text[:1] not in {"{", "["}:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def same(one: str, other: str) -> bool:
    """Whether two texts are equal apart from notation."""
    if plainly(one) == plainly(other):
        return True
    numbers = number_in(one), number_in(other)
    if None not in numbers:
        return numbers[0] == numbers[1]
    values = parsed_json(one), parsed_json(other)
    return None not in values and values[0] == values[1]


def apart(one: str, other: str) -> bool:
    """Whether two texts surely differ in meaning: neither contains the other, and numbers differ by a tenth."""
    numbers = number_in(one), number_in(other)
    if numbers[0] is not None and numbers[1] is not None:
        far = abs(numbers[0] - numbers[1]) > _FAR * max(abs(numbers[0]), abs(numbers[1]))
        return far and one not in other and other not in one
    if same(one, other):
        return False
    a, b = plainly(one), plainly(other)
    return bool(a and b) and a not in b and b not in a


def mentions(text: str, answer: str) -> bool:
    """Whether a reference occurs in a text, in any case; one or two characters count only as a separate word."""
    needle = plainly(answer)
    if not needle:
        return False
    if len(needle) > 2:
        return needle in plainly(text) or needle.replace(",", "") in plainly(text)
    return (
        re.search(rf"(?<!\w){re.escape(needle)}(?!\w)", unicodedata.normalize("NFKC", text).casefold())
        is not None
    )
