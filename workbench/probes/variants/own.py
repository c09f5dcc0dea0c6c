"""Changes of completions that the grader accepts, for rows whose truth is in the prompt or in columns, not in a reference."""

from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from workbench.probes.shapes import mentions as is_mentioned
from workbench.probes.shapes import parsed_json
from workbench.probes.variants import ProbeRow, variant

_MOST = 3
"""Accepted completions of a row that are changed, the shortest first. Workbench limit."""

_ONCE = re.compile(
    r"\bexactly once\b|\bonly once\b|\bonce each\b|\beach\b[^.?!]{0,40}\bonce\b|\b(?:no|without|not)\b[^.?!]{0,20}\b(?:repeat|repetition|duplicat|twice)|"
    r"\bmore than once\b|\bno two\b|\b(?:exactly )?as often as (?:it|they|each)\b",
    re.IGNORECASE,
)
"""Words of a prompt that lets each entry be used once."""
_MARKS = (", ", "; ", "\n", " ")


_TAGGED = re.compile(r"<([a-z_]+)>([^<]*)</\1>\s*\Z|\\boxed\{([^{}]*)\}\s*\Z")
"""The last tag or box of a completion that ends with it."""


def _expressions(row: ProbeRow) -> Iterator[tuple[str, str, ast.expr]]:
    """Accepted completions that are, or end with, an expression of whole numbers: the text, the expression, its tree."""
    for text in row.shortest_accepted(_MOST):
        found = _TAGGED.search(text)
        inner = (found[2] or found[3] or "").strip() if found else text.strip()
        if (tree := _arithmetic(inner)) is not None:
            yield text, inner, tree


@variant(
    "once-only", "reject", "an accepted completion that uses an entry more or less often, although the prompt has each used exactly once",
    alarm="always", rank=29, least=2, judges=False, asked=True, advice="count each entry: compare sorted lists, not sets",
)  # fmt: skip
def once_only(row: ProbeRow) -> Iterable[str | None]:
    """The same value with a number more or less, or a list of what the prompt names with an entry repeated at its end."""
    if not _ONCE.search(row.prompt):
        return
    for text, inner, tree in _expressions(row):
        yield from (_with_last(text, inner, other) for other in _same_value(inner, tree))
    for text in row.shortest_accepted(_MOST):
        for mark in _MARKS:
            entries = [entry.strip() for entry in text.strip().split(mark) if entry.strip()]
            if len(entries) > 2 and len(text) <= 400:
                if all(is_mentioned(row.prompt, entry) for entry in entries) and _arithmetic(text) is None:
                    yield mark.join([*entries, entries[0]])
                break


@variant(
    "not-given", "reject", "an expression of other numbers than the prompt gives", alarm="always", rank=28, least=2, judges=False, asked=True,
    advice="compare the numbers of the expression with those of the row, each as often as it is given",
)  # fmt: skip
def not_given(row: ProbeRow) -> Iterable[str | None]:
    """The value of an accepted expression as a sum of one, if the prompt has each number used once."""
    if not _ONCE.search(row.prompt):
        return
    for text, inner, tree in _expressions(row):
        value = _value(tree)
        if value is not None and value.denominator == 1 and not is_mentioned(row.prompt, str(value - 1)):
            yield _with_last(text, inner, f"{value - 1} + 1")


def _with_last(text: str, part: str, other: str) -> str:
    """A text with the last occurrence of a part replaced: a thought before it may have the same."""
    before, _, after = text.rpartition(part)
    return before + other + after


def _value(tree: ast.expr) -> Fraction | None:
    """The value of an expression of whole numbers; None if it divides by zero."""
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int):
        return Fraction(tree.value)
    if (
        isinstance(tree, ast.UnaryOp)
        and isinstance(tree.op, ast.USub)
        and (inner := _value(tree.operand)) is not None
    ):
        return -inner
    if not isinstance(tree, ast.BinOp) or type(tree.op) not in _OPERATORS:
        return None
    left, right = _value(tree.left), _value(tree.right)
    if left is None or right is None or (isinstance(tree.op, ast.Div) and right == 0):
        return None
    result: Fraction = _OPERATORS[type(tree.op)](left, right)
    return result


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip


def _arithmetic(text: str) -> ast.expr | None:
    """The expression of whole numbers that a text is; None if it is anything else."""
    if (
        len(text) > 200
        or not re.fullmatch(r"[\d\s()+*/-]+", text)
        or not re.search(r"\d\s*[-+*/]", text)
        or "**" in text
    ):
        return None
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _same_value(text: str, tree: ast.expr) -> Iterator[str]:
    """Expressions of the same value that use a number twice more, or leave out a factor of one."""
    numbers = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, int)
    ]
    for number in dict.fromkeys(number for number in numbers if number):
        yield f"({text})*{number}/{number}"
        yield f"({text})+{number}-{number}"
    shorter = re.sub(r"\s*[*/]\s*1(?!\d)|(?<!\d)1\s*\*\s*", "", text, count=1)
    if shorter and shorter != text:
        yield shorter


_MAY_BE_LEFT_OUT = re.compile(
    r"\b(?:may|can)\b[^.?!]{0,40}\b(?:left out|leave (?:it|them) out|omit|omitted|write it out|written out|skipped)\b|\boptional\b",
    re.IGNORECASE,
)
_DEFAULT = re.compile(
    r"\b([A-Za-z_]\w*)\s*=\s*(\"[^\"]*\"|'[^']*'|-?\d+(?:\.\d+)?|true|false|null|True|False|None)"
)


@variant(
    "default-written-out", "accept", "with a default value written out, although the prompt lets it be written or left out",
    alarm="always", rank=30, judges=False, asked=True, advice="fill in the defaults on both sides before comparing: {**defaults, **arguments}",
)  # fmt: skip
def default_written_out(row: ProbeRow) -> Iterable[str | None]:
    """An accepted object of JSON with the defaults added that it omits, those of a column or of the prompt's signature."""
    if not _MAY_BE_LEFT_OUT.search(row.prompt):
        return
    for text in row.shortest_accepted(_MOST):
        value = parsed_json(text.strip())
        if isinstance(value, dict):
            yield from _with_defaults(value, _defaults(row))


def _defaults(row: ProbeRow) -> dict[str, Any]:
    columns = [
        value
        for name, value in row.columns.items()
        if "default" in name.lower() and isinstance(value, Mapping)
    ]
    if columns:
        return dict(columns[0])
    found: dict[str, Any] = {}
    for name, written in _DEFAULT.findall(row.prompt):
        plain = {"True": "true", "False": "false", "None": "null"}.get(written, written.replace("'", '"'))
        found[name] = json.loads(plain)
    return found


def _with_defaults(value: dict[str, Any], defaults: Mapping[str, Any]) -> Iterator[str]:
    """The object with one default, and with all of them, in the inner object that lacks them."""
    inner = next(
        (key for key in ("arguments", "parameters", "args", "input") if isinstance(value.get(key), dict)),
        None,
    )
    there = value if inner is None else value[inner]
    missing = {key: default for key, default in defaults.items() if key not in there}
    for some in [dict([item]) for item in missing.items()] + ([missing] if len(missing) > 1 else []):
        filled = {**there, **some}
        yield json.dumps(filled if inner is None else {**value, inner: filled}, ensure_ascii=False)


_MARKUP = re.compile(r"^[ \t]*(?:[-*+\u2022]|\d+[.)]|#+|>)[ \t]+", re.MULTILINE)


@variant(
    "vacuous", "reject", "a completion without any of the parts that are checked one by one", alarm="always", rank=28, least=2,
    judges=False, asked=True, advice="require at least one part: all() of nothing is True",
)  # fmt: skip
def vacuous(row: ProbeRow) -> Iterable[str | None]:
    """An accepted completion without the marks of its list, if the source tests all parts and the prompt requires these marks."""
    if not any(sign.kind == "all-of-none" for sign in row.mined.signs):
        return
    for text in row.shortest_accepted(_MOST):
        marks = {mark.strip() for mark in _MARKUP.findall(text)}
        plain = _MARKUP.sub("", text)
        if marks and plain != text and _requires_list(row.prompt, marks):
            yield " ".join(plain.split())
            yield plain


def _requires_list(prompt: str, marks: Iterable[str]) -> bool:
    quoted = any(re.search(rf"[\"'`]{re.escape(mark)}\s?[\"'`]", prompt) for mark in marks)
    return (
        quoted
        or re.search(r"\bbullet|\bnumbered\b|\bas a list\b|\bheading", prompt, re.IGNORECASE) is not None
    )


@variant(
    "beside-rejected", "reject", "an accepted completion with one after it that is rejected alone", alarm="always", rank=47, least=2,
    judges=False, question=True, asked=True, advice="grade the whole completion, not whether one part of it is right",
)  # fmt: skip
def beside_rejected(row: ProbeRow) -> Iterable[str | None]:
    """An accepted completion and a rejected one of the same row, if the source is content with any part of a text."""
    if any(sign.kind == "any-of" for sign in row.mined.signs):
        rejected = [text for text in row.own if text not in row.accepted]
        yield from (f"{good}\n{bad}" for good in row.shortest_accepted(_MOST)[:2] for bad in rejected[:2])


_PAIR = re.compile(r"^([^\n:=>-]{1,40}?)[ \t]*(:|=|->|\u2192|-)[ \t]*(\S[^\n]*)$")


@variant(
    "key-contradicted", "reject", "a completion that gives a key two values", alarm="always", rank=46, least=2, judges=False, question=True,
    asked=True, advice="reject a key that occurs twice: dict() keeps the last value",
)  # fmt: skip
def key_contradicted(row: ProbeRow) -> Iterable[str | None]:
    """An accepted list of keys and values, with an entry before each that has the same key and another value."""
    if not any(sign.kind == "pair-dict" for sign in row.mined.signs):
        return
    for text in row.shortest_accepted(_MOST):
        for mark in ("\n", ", "):
            pairs = [_PAIR.match(entry.strip()) for entry in text.strip().split(mark)]
            some = [pair for pair in pairs if pair is not None]
            if len(pairs) > 1 and len(some) == len(pairs):
                values = [pair[3] for pair in some]
                yield mark.join([line_with(some[0], _other_value), *(pair[0] for pair in some)])
                # Values of other keys, where an invented one cannot be read.
                turned = [_replaced(pair, values[at - 1]) for at, pair in enumerate(some)]
                yield mark.join(
                    part for other, pair in zip(turned, some, strict=True) for part in (other, pair[0])
                )


def _replaced(pair: re.Match[str], value: str) -> str:
    return line_with(pair, lambda _: value)


def line_with(pair: re.Match[str], change: Callable[[str], str]) -> str:
    """The line of a key and a value, with another value."""
    text = pair[0]
    start = pair.start(3) - pair.start(0)
    return text[:start] + change(pair[3])


def _other_value(value: str) -> str:
    return str(int(value) + 7) if re.fullmatch(r"\d{1,9}", value) else "Zuborek"


_TAGS = re.compile(r"<([a-z_]+)>(.*?)</\1>", re.DOTALL)


@variant(
    "emptied-tags", "reject", "an accepted completion whose tags have nothing in them", alarm="always", rank=47, least=2, judges=False,
    question=True, asked=True, advice="require some content in each tag: .+? instead of .*?, and strip it",
)  # fmt: skip
def emptied_tags(row: ProbeRow) -> Iterable[str | None]:
    """The tags of an accepted completion that has nothing outside them, with one line end in each."""
    for text in row.shortest_accepted(_MOST):
        if re.search(r"\w", _TAGS.sub("", text)):
            continue
        emptied = _TAGS.sub(lambda found: f"<{found[1]}>\n</{found[1]}>", text)
        if emptied != text:
            yield emptied


@variant(
    "tags-crossed", "reject", "an accepted completion whose fields are closed with each other's tags", alarm="always", rank=29, least=2,
    judges=False, asked=True, advice="close a tag with its own name: <(\\w+)>(.*?)</\\1>",
)  # fmt: skip
def tags_crossed(row: ProbeRow) -> Iterable[str | None]:
    """The closing tags of two neighbouring fields exchanged, or put first, if the prompt names both tags."""
    for text in row.shortest_accepted(_MOST):
        found = [*_TAGS.finditer(text)]
        names = [one[1] for one in found[:2]]
        if len(set(names)) == 2 and all(re.search(rf"\b{name}\b", row.conversation) for name in names):
            first, second = found[:2]
            yield _TAGS.sub(lambda one: f"</{one[1]}>{one[2]}<{one[1]}>", text)
            yield f"{text[: first.start()]}</{names[0]}>{first[2]}<{names[0]}>{text[first.end() :]}"
            yield (
                f"{text[: first.start()]}<{names[0]}>{first[2]}</{names[1]}>{text[first.end() : second.start()]}"
                f"<{names[1]}>{second[2]}</{names[0]}>{text[second.end() :]}"
            )


_MARKED = (
    (re.compile(r"(?<![\w*])\*(?=\w)[^*\n]+(?<=\w)\*(?![\w*])"), "**"),
    (re.compile(r"\*\*[^*\n]+\*\*"), "****"),
    (re.compile(r"\[[^\[\]\n]+\]"), "[]"),
    (re.compile(r"(?m)^(\s*(?:[-*+]|\d+[.)])[ \t]+)\S.*$"), r"\1"),
)
"""Marked content, such as "[name]" and the items of a list, and the mark alone."""
_HEADING = re.compile(
    r"\s*(?:#+\s|\*\*[^*]+\*\*:?\s*\Z|(?:section|part|step|chapter|paragraph)\s+\d+\b)", re.IGNORECASE
)


@variant(
    "emptied-form", "reject", "an accepted completion with its marks and headings alone", alarm="always", rank=47, least=2, judges=False,
    question=True, asked=True, advice="require some words after each mark and below each heading",
)  # fmt: skip
def emptied_form(row: ProbeRow) -> Iterable[str | None]:
    """Items of a list and brackets without their content, and headings without what is below them; only without a reference."""
    for text in () if row.reference else row.shortest_accepted(_MOST):
        if text.lstrip().startswith(("[", "{", "```")):
            continue  # JSON or code
        for mark, alone in _MARKED:
            emptied, count = mark.subn(alone, text)
            if count:
                yield emptied
            if count and set(alone) == {"*"}:
                yield f"{text.replace('*', '')} {' '.join([alone] * count)}"
        headings = [line for line in text.splitlines() if _HEADING.match(line)]
        if len(headings) > 1 and len(headings) < len(text.splitlines()):
            yield "\n".join(
                match[0] if (match := re.match(r"\s*\w+\s+\d+", line)) else line for line in headings
            )


CITED = re.compile(r"\[(\d{1,3})\]")


def with_other_sources(text: str) -> str:
    """A text with 90 added to each cited number: sources that no prompt has."""
    return CITED.sub(lambda found: f"[{int(found[1]) + 90}]", text)


@variant(
    "no-such-source", "reject", "an accepted completion that cites sources that do not exist", alarm="always", rank=29, least=2, judges=False,
    asked=True, advice="compare the cited numbers with the row's sources",
)  # fmt: skip
def no_such_source(row: ProbeRow) -> Iterable[str | None]:
    """Every cited number with 90 added, if the prompt numbers its sources."""
    if not CITED.search(row.prompt):
        return
    for text in row.shortest_accepted(_MOST):
        other = with_other_sources(text)
        if other != text:
            yield other


MORE_KEYS = re.compile(
    r"\b(?:more|extra|additional|further|other|any) (?:keys|fields|arguments|properties|parameters|entries)\b",
    re.IGNORECASE,
)


@variant(
    "extra-argument", "reject", "a call with an argument that was made up", alarm="always", rank=46, least=2, judges=False, question=True,
    asked=True, advice="compare the names of all arguments, not only those that are expected",
)  # fmt: skip
def extra_argument(row: ProbeRow) -> Iterable[str | None]:
    """The arguments of an accepted call in JSON and one more, unless the prompt allows others."""
    if MORE_KEYS.search(row.prompt):
        return
    for text in row.shortest_accepted(_MOST):
        found = re.search(r'("(?:arguments|parameters)"\s*:\s*\{)\s*(?=")', text)
        if found:
            yield f'{text[: found.end(1)]}"zuborek": true, {text[found.end() :]}'
