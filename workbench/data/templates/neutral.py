"""The tree of a template in a form common to all dialects, and the reader of each dialect.

A text is a list of parts. A name is the origin of its value: an outermost variable, or the value that an enclosing each or
with has put in scope, counted from the outside (1, 2, ...), and the steps from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from workbench.data.templates import handlebars_tree
from workbench.data.templates.handlebars import Handlebars
from workbench.data.templates.native import parsed
from workbench.data.templates.small_dialects import Braces, Mustache, OpenAI
from workbench.data.templates.values import TemplateError, at

LOOP_NAMES = {"@index": "index0", "@first": "first", "@last": "last"}
"""Loop variables: Handlebars' name to jinja2's name."""


class Name(NamedTuple):
    """The origin of a value.

    Attributes:
        level: 0 for an outermost variable, else the level of its each or with.
        steps: Names on the way, the variable's own first at level 0; a loop variable ("@index") alone.
    """

    level: int
    steps: tuple[str, ...]


@dataclass(frozen=True)
class LiteralText:
    """Literal text."""

    text: str


@dataclass(frozen=True)
class Placeholder:
    """A value."""

    name: Name


@dataclass(frozen=True)
class Branch:
    """If and else; one of them may be empty."""

    name: Name
    then: Parts
    other: Parts


@dataclass(frozen=True)
class Repeat:
    """`each` or `with`: its inside sees another value.

    Attributes:
        word: "each" or "with".
        then: Inside.
        other: For a value that is empty.
    """

    word: str
    name: Name
    then: Parts
    other: Parts


Part = LiteralText | Placeholder | Branch | Repeat
Parts = tuple[Part, ...]


def joined(parts: list[Part]) -> Parts:
    """The parts with adjacent texts joined, and empty ones removed."""
    result: list[Part] = []
    for part in parts:
        if isinstance(part, LiteralText) and result and isinstance(result[-1], LiteralText):
            result[-1] = LiteralText(result[-1].text + part.text)
        elif part != LiteralText(""):
            result.append(part)
    return tuple(result)


def _handlebars(text: str) -> Parts:
    return _Handlebars(text).parts(Handlebars(text).program, (Name(0, ()),), {})


class _Handlebars:
    """Walks the tree with the meanings of `this` and each `../`."""

    def __init__(self, text: str) -> None:
        self.text = text

    def parts(
        self,
        program: handlebars_tree.TemplateProgram | None,
        contexts: tuple[Name, ...],
        block_names: dict[str, Name],
    ) -> Parts:
        parts: list[Part] = []
        for statement in program.body if program else ():
            if isinstance(statement, handlebars_tree.Content):
                parts.append(LiteralText(statement.value))
            elif isinstance(statement, handlebars_tree.MustacheStatement):
                parts.append(Placeholder(self.name(statement.call, contexts, block_names)))
            elif isinstance(statement, handlebars_tree.Block):
                parts += self.block(statement, contexts, block_names)
        return joined(parts)

    def block(
        self, block: handlebars_tree.Block, contexts: tuple[Name, ...], block_names: dict[str, Name]
    ) -> Parts:
        if block.raw:
            return self.parts(block.program, contexts, block_names)
        word, position = block.call.head.original, block.call.position
        if word not in {"if", "unless", "each", "with"} or block.call.options:
            raise at(self.text, position, "this block has no counterpart: its value decides whether it tests, enters or repeats",
                     hint="use #if, #with or #each")  # fmt: skip
        name = self.name(block.call.params[0], contexts, block_names)
        other = self.parts(block.inverse, contexts, block_names)
        if word in {"if", "unless"}:
            body = self.parts(block.program, contexts, block_names)
            return (Branch(name, body, other) if word == "if" else Branch(name, other, body),)
        inner = Name(_level(contexts, block_names) + 1, ())
        names = block.program.names if block.program else ()
        parameters = dict(zip(names, (inner, Name(inner.level, ("@index",))), strict=False))
        return (
            Repeat(
                word,
                name,
                self.parts(block.program, (inner, *contexts), {**block_names, **parameters}),
                other,
            ),
        )

    def name(self, expression: Any, contexts: tuple[Name, ...], block_names: dict[str, Name]) -> Name:
        path = (
            expression.head
            if isinstance(expression, handlebars_tree.Call) and not expression.params
            else expression
        )
        if not isinstance(path, handlebars_tree.Path):
            raise at(self.text, expression.position, "only names have a counterpart, not values or lookups")
        if path.data:
            return self.data(path, contexts)
        if path.parts and path.parts[0] in block_names and not path.depth and not path.scoped:
            base, steps = block_names[path.parts[0]], path.parts[1:]
        else:
            base, steps = contexts[min(path.depth, len(contexts) - 1)], path.parts
        name = Name(base.level, (*base.steps, *steps))
        if path.depth >= len(contexts) or (not name.level and not name.steps):
            raise at(self.text, path.position, f"{path.original!r} names all variables, or none")
        return name

    def data(self, path: handlebars_tree.Path, contexts: tuple[Name, ...]) -> Name:
        if path.parts[:1] == ("root",) and len(path.parts) > 1:
            return Name(0, path.parts[1:])
        word = "@" + ".".join(path.parts)
        if path.depth or word not in LOOP_NAMES or not contexts[0].level:
            raise at(
                self.text,
                path.position,
                f"{path.original!r} has no counterpart",
                expected=", ".join(LOOP_NAMES),
            )
        return Name(contexts[0].level, (word,))


def _level(contexts: tuple[Name, ...], block_names: dict[str, Name]) -> int:
    return max(name.level for name in (*contexts, *block_names.values()))


def _mustache(text: str) -> Parts:
    return _mustache_parts(text, Mustache(text).tags)


def _mustache_parts(text: str, tags: Any) -> Parts:
    parts: list[Part] = []
    for tag in tags:
        if tag.kind == "text":
            parts.append(LiteralText(tag.text))
            continue
        if tag.kind == "#" or tag.text == ".":
            raise at(text, tag.position, "a section has no counterpart: its value decides whether it tests, enters or repeats",
                     hint="in handlebars use #if, #with or #each")  # fmt: skip
        name = Name(0, tuple(tag.text.split(".")) if tag.text.find(".") > 0 else (tag.text,))
        parts.append(
            Placeholder(name) if tag.kind == "put" else Branch(name, (), _mustache_parts(text, tag.body))
        )
    return joined(parts)


def _braces(text: str) -> Parts:
    # Every name in braces, as the later release parses them.
    pattern = Braces(text, release="0.17").pattern
    parts: list[Part] = []
    start = 0
    for match in pattern.finditer(text):
        parts.append(LiteralText(text[start : match.start()]))
        parts.append(Placeholder(Name(0, (match[1],))) if match[1] else LiteralText(match[0][0]))
        start = match.end()
    return joined([*parts, LiteralText(text[start:])])


def _openai(text: str) -> Parts:
    pieces = OpenAI(text).pieces
    return joined(
        [
            LiteralText(piece) if isinstance(piece, str) else Placeholder(Name(0, tuple(map(str, piece[1]))))
            for piece in pieces
        ]
    )


def _jinja(text: str) -> Parts:
    return _Jinja(text).parts(parsed(text).body, {}, 0)


class _Jinja:
    """Walks jinja's own tree with the names its loops have made."""

    def __init__(self, text: str) -> None:
        self.text = text

    def refuse(self, node: Any, construct: str) -> TemplateError:
        line = self.text.split("\n")[node.lineno - 1 : node.lineno]
        excerpt = line[0].strip()[:60] if line else ""
        error = TemplateError(f"{construct} has no counterpart", where=f"line {node.lineno}", found=excerpt)
        error.line = node.lineno
        return error

    def parts(self, body: Any, levels: dict[str, int], level: int) -> Parts:
        parts: list[Part] = []
        for node in body:
            match type(node).__name__:
                case "Output":
                    parts += [self.output(output_node, levels) for output_node in node.nodes]
                case "If":
                    parts.append(self.branch(node, levels, level))
                case "For":
                    parts.append(self.loop(node, levels, level))
                case kind:
                    raise self.refuse(node, f"a {kind.lower()} tag")
        return joined(parts)

    def output(self, node: Any, levels: dict[str, int]) -> Part:
        kind = type(node).__name__
        if kind == "TemplateData":
            return LiteralText(node.data)
        if kind == "Const" and isinstance(node.value, str):
            return LiteralText(node.value)
        # Added by the workbench's own writer for a name without a value.
        plain = (
            kind == "Filter"
            and node.name == "default"
            and len(node.args) == 1
            and getattr(node.args[0], "value", 0) == ""
        )
        return Placeholder(self.name(node.node if plain else node, levels))

    def branch(self, node: Any, levels: dict[str, int], level: int) -> Part:
        other = self.parts(node.else_, levels, level)
        # From the last one: each is the else of the one before it.
        for elif_node in reversed(node.elif_):
            other = (self.branch_of(elif_node, other, levels, level),)
        return self.branch_of(node, other, levels, level)

    def branch_of(self, node: Any, other: Parts, levels: dict[str, int], level: int) -> Part:
        negated = type(node.test).__name__ == "Not"
        name = self.name(node.test.node if negated else node.test, levels)
        body = self.parts(node.body, levels, level)
        return Branch(name, other, body) if negated else Branch(name, body, other)

    def loop(self, node: Any, levels: dict[str, int], level: int) -> Part:
        if type(node.target).__name__ != "Name" or node.test is not None:
            raise self.refuse(node, "a loop over pairs or with a condition")
        name = self.name(node.iter, levels)
        inner = {**levels, node.target.name: level + 1, "loop": level + 1}
        body, other = self.parts(node.body, inner, level + 1), self.parts(node.else_, levels, level)
        return Repeat("each", name, body, other)

    def name(self, node: Any, levels: dict[str, int]) -> Name:
        steps: list[str] = []
        while type(node).__name__ in {"Getattr", "Getitem"}:
            step = node.attr if type(node).__name__ == "Getattr" else getattr(node.arg, "value", None)
            if isinstance(step, bool) or not isinstance(step, str | int):
                raise self.refuse(node, "a computed key")
            steps.insert(0, str(step))
            node = node.node
        if type(node).__name__ != "Name":
            raise self.refuse(node, "an expression other than a name")
        if node.name == "loop" and "loop" in levels:
            word = next(
                (neutral_name for neutral_name, spelling in LOOP_NAMES.items() if steps == [spelling]), None
            )
            if word is None:
                raise self.refuse(node, f"loop.{'.'.join(steps)}")
            return Name(levels["loop"], (word,))
        level = levels.get(node.name, 0)
        return Name(level, tuple(steps) if level else (node.name, *steps))


READERS: dict[str, Callable[[str], Parts]] = {
    "braces": _braces,
    "handlebars": _handlebars,
    "jinja2": _jinja,
    "mustache": _mustache,
    "openai": _openai,
}
