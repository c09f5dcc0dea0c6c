"""Signs: places in a grader's source that are known causes of holes, each with its line."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from workbench.core.display_text import one_line
from workbench.core.python_text import parse

_LINE = 100
"""Maximum characters of a line that is shown. Workbench limit."""
_COLUMNS = frozenset({"metadata", "row", "item", "extra_info", "info", "meta", "example"})
"""Usual names of a parameter with a row's columns."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A place in the source that may be the cause of a hole: it is tried, never reported alone.

    Attributes:
        kind: Name, such as "set".
        line: Number of the line, from 1; 0 if the text was put together of several.
        code: The line, without the space around it.
        words: Texts in it, such as the characters that are removed.
    """

    kind: str
    line: int
    code: str
    words: tuple[str, ...] = ()


_MENTION = frozenset({
    "mention", "hedged", "negated", "retracted", "think-block", "inside-another", "echo-then-wrong", "prompt-copied", "option-text",
    "all-numbers", "one-for-all", "only-thought", "inside-longer-word", "letter-in-word",
})  # fmt: skip
_ENTRIES = frozenset({"entry-twice", "entry-for-all", "once-only", "one-for-all", "rows-twice"})
_NOTHING = frozenset({
    "accepts-anything", "accepts-anything-on-some-rows", "empty", "whitespace", "missing", "one-character", "gibberish", "opener",
    "padding", "refusal", "format-shell", "json-shell", "no-number", "vacuous",
})  # fmt: skip
_PLACE = frozenset(
    {
        "letter-after",
        "later-number",
        "retracted",
        "think-block",
        "echo-then-wrong",
        "remark-after",
        "after-an-article",
        "contradicted",
        "last-one-counts",
    }
)

EXPLAINED: Mapping[str, tuple[frozenset[str], str]] = {
    "strip-set": (frozenset({"as-it-is", "accepts-anything-on-some-rows", "outer-space"}), "it removes each of these characters, not the text they make"),
    "all-of-none": (_NOTHING, "all() of nothing is True"),
    "any-of": (frozenset({"beside-rejected", "beside-other"}), "one part that is right is enough"),
    "pair-dict": (frozenset({"key-contradicted", "entry-twice"}), "dict() keeps the last of several values of a key"),
    "set": (_ENTRIES, "a set does not count how often an entry occurs"),
    "pays-on-error": (_NOTHING | {"accepts-anything", "fails"}, "the score after an exception is a reward"),
    "cast": (frozenset({"cast-value", "other-values"}), 'bool("false") is True'),
    "modulo": (frozenset({"half-day", "other-number", "magnitude"}), "a remainder makes different values equal"),
    "truncates": (frozenset({"digits-after-point", "off-by-one", "off-a-little", "cast-value"}), "the digits after the point are dropped"),
    "unsigned": (frozenset({"sign"}), "the sign is dropped"),
    "several-dates": (frozenset({"day-month"}), "several forms of a date are tried in turn"),
    "sorted-characters": (frozenset({"anagram", "keyword-heap", "order"}), "sorting drops the order"),
    "zip": (frozenset({"entry-added", "entry-missing", "truncated", "key-missing", "entry-twice", "list-cut"}), "zip() stops at the shorter side"),
    "evaluates": (frozenset({"expression"}), "the completion is evaluated"),
    "prints": (frozenset({"prints-verdict"}), "what the completion prints is counted too"),
    "equals": (frozenset({"equal-object"}), "the returned object decides what == gives"),
    "dot": (frozenset({"thought-of-lines"}), "a dot matches no line end without re.DOTALL"),
    "conversation": (frozenset({"prompt-read", "prompt-echo", "echo-then-wrong", "prompt-copied", "required-left-out"}), "all turns are read, also the user's"),
    "folds-case": (frozenset({"case-that-matters"}), "capitals are folded"),
    "length": (frozenset({"gibberish", "padding", "padded-wrong", "more-of-the-same"}), "length is rewarded"),
    "contains": (_MENTION, "`in` finds it anywhere in the text"),
    "first": (_PLACE, "the first one found counts"),
    "last": (_PLACE, "the last one found counts"),
    "starts": (frozenset({"only-its-start", "retracted", "inside-another"}), "only the start is compared"),
    "ends": (frozenset({"only-its-end", "inside-another"}), "only the end is compared"),
}  # fmt: skip
"""What each sign explains, by kinds of findings, the most special sign first; and why."""


def signs_of(text: str) -> tuple[Sign, ...]:
    """The signs in a Python source, in the order of `EXPLAINED`; none if it cannot be parsed. Nothing of it runs."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    lines = text.splitlines()
    filtered = _filtered_names(tree)
    found: dict[tuple[str, int], Sign] = {}
    for node in ast.walk(tree):
        for kind, words in _kinds(node, filtered):
            number = getattr(node, "lineno", 1)
            code = one_line(lines[number - 1].strip() if number <= len(lines) else "", _LINE)
            found.setdefault((kind, number), Sign(kind, number, code, tuple(words)))
    order = [*EXPLAINED]
    return tuple(sorted(found.values(), key=lambda sign: (order.index(sign.kind), sign.line)))


_GENERAL = frozenset({"contains", "first", "last", "starts", "ends", "length", "folds-case"})
"""Signs that are in most sources: one alone is an explanation, several different ones are none."""


def reason(signs: Iterable[Sign], kind: str) -> str:
    """The line that explains a kind of finding and why, to end a sentence; "" if no sign does."""
    fitting = [sign for sign in signs if kind in EXPLAINED[sign.kind][0]]
    if not fitting or (fitting[0].kind in _GENERAL and len({sign.kind for sign in fitting}) > 1):
        return ""
    sign = fitting[0]
    place = f"line {sign.line}, " if sign.line else ""
    return f"; {place}`{sign.code}`: {EXPLAINED[sign.kind][1]}"


def begins_with_removed(signs: Iterable[Sign], text: str) -> bool:
    """Whether a text begins with a character that the source strips one by one, as if it were a part of a prefix."""
    return any(sign.kind == "strip-set" and text[:1] and text[0] in "".join(sign.words) for sign in signs)


def columns_read(text: str) -> tuple[str, ...]:
    """The names that a Python source looks up in a row's columns, by `row["name"]` or `row.get("name")`."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    aliases = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_metadata(node.value, frozenset())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    aliases |= {
        one.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for one in node.args.args
        if one.arg in _COLUMNS
    }
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and _is_metadata(node.value, aliases):
            names.append(node.slice)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "get"
            and _is_metadata(node.func.value, aliases)
        ):
            names += node.args[:1]
    found = [one.value for one in names if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return tuple(dict.fromkeys(found))


def _is_metadata(node: ast.AST, aliases: Iterable[str]) -> bool:
    """Whether an expression is a row's columns: `thread.metadata`, `thread.metadata or {}`, or a name for it."""
    if isinstance(node, ast.BoolOp):
        return _is_metadata(node.values[0], aliases)
    if isinstance(node, ast.Attribute):
        return node.attr == "metadata"
    return isinstance(node, ast.Name) and node.id in {*aliases}


_Kinds = Iterator[tuple[str, tuple[str, ...]]]


def _kinds(node: ast.AST, filtered: frozenset[str]) -> _Kinds:
    if isinstance(node, ast.Call):
        yield from _of_call(node, filtered)
    elif isinstance(node, ast.Compare):
        yield from _of_comparison(node)
    elif isinstance(node, ast.Subscript):
        yield from _of_index(node)
    elif isinstance(node, ast.Set | ast.SetComp):
        yield "set", ()
    elif isinstance(node, ast.BinOp) and _is_remainder(node):
        yield "modulo", ()
    elif isinstance(node, ast.DictComp) and _is_of_pairs(node):
        yield "pair-dict", ()
    elif isinstance(node, ast.ExceptHandler):
        if any(isinstance(inner, ast.Return) and _pays(inner.value) for inner in ast.walk(node)):
            yield "pays-on-error", ()
    elif isinstance(node, ast.For) and _calls(node, frozenset({"strptime", "fromisoformat"})):
        yield "several-dates", ()


def _is_remainder(node: ast.BinOp) -> bool:
    is_text = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
    return isinstance(node.op, ast.Mod) and not is_text


def _is_of_pairs(node: ast.DictComp) -> bool:
    """Whether a dict is made of pairs, of which several may have one key; those of another dict have not."""
    return isinstance(node.generators[0].target, ast.Tuple) and not _calls(
        node.generators[0].iter, frozenset({"items"})
    )


def _of_comparison(node: ast.Compare) -> _Kinds:
    listed = isinstance(node.comparators[0], ast.Tuple | ast.List | ast.Set | ast.Dict)
    if any(isinstance(operator, ast.In) for operator in node.ops) and not listed:
        yield "contains", ()
    called = any(
        isinstance(side, ast.Call) and isinstance(side.func, ast.Subscript | ast.Name)
        for side in (node.left, *node.comparators)
    )
    if called and any(isinstance(operator, ast.Eq) for operator in node.ops):
        yield "equals", ()


def _of_index(node: ast.Subscript) -> _Kinds:
    index = node.slice
    if isinstance(index, ast.Constant) and index.value == 0:
        yield "first", ()
    negative = isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub)
    begins = isinstance(index, ast.Slice) and isinstance(index.lower, ast.UnaryOp)
    if negative or begins:
        yield "last", ()


_PLAIN = {
    "set": "set", "frozenset": "set", "abs": "unsigned", "round": "truncates", "int": "truncates", "bool": "cast", "eval": "evaluates",
    "zip": "zip", "len": "length", "print": "prints",
}  # fmt: skip
_METHODS = {
    "lower": "folds-case", "upper": "folds-case", "casefold": "folds-case", "startswith": "starts", "endswith": "ends", "get_turns": "conversation",
    "messages": "conversation", "search": "first", "find": "first", "rfind": "last", "index": "first", "partition": "first",
    "rpartition": "last", "redirect_stdout": "prints",
}  # fmt: skip


def _of_call(node: ast.Call, filtered: frozenset[str]) -> _Kinds:
    function = node.func
    if isinstance(function, ast.Name):
        if function.id in _PLAIN:
            yield _PLAIN[function.id], ()
        yield from _of_collection(function.id, node, filtered)
    elif isinstance(function, ast.Attribute):
        if function.attr in _METHODS:
            yield _METHODS[function.attr], ()
        words = [text for text in _texts(node) if len(set(filter(str.isalpha, text))) > 1]
        if words and function.attr in {"strip", "lstrip", "rstrip"}:
            yield "strip-set", tuple(words)
        if function.attr in _PATTERNS and _has_plain_dot(node):
            yield "dot", ()
    elif (
        isinstance(function, ast.Call) and isinstance(function.func, ast.Name) and function.func.id == "type"
    ):
        yield "cast", ()


def _of_collection(name: str, node: ast.Call, filtered: frozenset[str]) -> _Kinds:
    """Signs of a built-in function of several values."""
    if not node.args:
        return
    if name in {"sorted", "dict"}:
        yield {"sorted": "sorted-characters", "dict": "pair-dict"}[name], ()
    if name == "all" and _may_be_empty(node.args[0], filtered):
        yield "all-of-none", ()
    if name == "any" and _is_over_parts(node.args[0], filtered):
        yield "any-of", ()


_PATTERNS = frozenset({"search", "match", "fullmatch", "compile", "findall", "finditer", "sub"})


def _has_plain_dot(node: ast.Call) -> bool:
    """Whether a pattern repeats a dot that matches no line end."""
    repeats = any(".*" in text or ".+" in text for text in _texts(node))
    return repeats and not any(flag in ast.unparse(node) for flag in ("DOTALL", "re.S", "(?s", "(?is"))


def _texts(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value


def _pays(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value > 0


_PARTS = frozenset({"splitlines", "split", "findall", "finditer"})


def _filtered_names(tree: ast.AST) -> frozenset[str]:
    """Names of lists that may be empty because they were filtered or searched for."""
    return frozenset(
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_filtered(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    )


def _is_filtered(node: ast.AST) -> bool:
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return any(part.ifs or _is_filtered(part.iter) for part in node.generators)
    return _calls(node, frozenset({"findall", "finditer"}))


def _calls(node: ast.AST, names: frozenset[str]) -> bool:
    return any(
        isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in names
        for inner in ast.walk(node)
    )


def _iterated(node: ast.AST) -> list[ast.expr]:
    return (
        [part.iter for part in node.generators] if isinstance(node, ast.ListComp | ast.GeneratorExp) else []
    )


def _may_be_empty(node: ast.AST, filtered: frozenset[str]) -> bool:
    if _is_filtered(node):
        return True
    return any(isinstance(one, ast.Name) and one.id in filtered for one in (node, *_iterated(node)))


def _is_over_parts(node: ast.AST, filtered: frozenset[str]) -> bool:
    """Whether any() looks at lines, words or matches of a text."""
    return any(
        _calls(one, _PARTS) or (isinstance(one, ast.Name) and one.id in filtered) for one in _iterated(node)
    )
