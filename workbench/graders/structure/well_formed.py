"""The grader of well-formed text."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import yaml

from workbench.core.errors import FormatError
from workbench.core.thread import StringThread
from workbench.graders.arguments import as_texts, check_choice
from workbench.graders.base import kind
from workbench.graders.portable_rule import PythonBody, refusal
from workbench.graders.rules.structure import (
    root_verdict,
    tag_format,
    well_formed_json,
    well_formed_xml,
    without_fence,
)
from workbench.graders.rules.text import Verdict
from workbench.graders.text.text_grader import TextGrader

FORMATS = ("json", "xml", "yaml", "sql", "tags")
_MAX_YAML = 200_000
"""Characters of YAML, which is read at about 50,000 a second."""
_MAX_SQL = 1_000_000
"""Characters of SQL: SQLite's limit of a statement."""
_MAX_CHECKED = 100_000_000
"""Characters read in search of the ends of statements, about a second."""
_SYNTAX = re.compile(
    r"syntax error|incomplete input|unrecognized token|unterminated|malformed", re.IGNORECASE
)


@kind("well-formed", family="structure")
@dataclass(frozen=True, kw_only=True)
class WellFormed(TextGrader):
    """1.0 if the text is well-formed JSON, XML, YAML or SQL, or has its tags in order, else 0.0. A check of the form only.

    | format | well-formed |
    | --- | --- |
    | json | strict JSON, no object has a key twice |
    | xml | one document; document types are rejected |
    | yaml | one document that is a mapping or a list (a sentence is a YAML text, too), no mapping has a key twice |
    | sql | statements that SQLite can parse; tables and columns need not exist |
    | tags | `tags` in this order, each opened and closed once, none inside another, no text around them |

    Attributes:
        format: See the table.
        tags: Names of tags, such as `("think", "answer")`.
        opened: For tags: whether the prompt has opened the first tag, as templates of reasoning models do.
        outside: For tags: "reject" or "allow" text around them.
        empty: For tags: "reject" or "allow" tags without text.
        root: For json and yaml: "object" or "list"; "" for any.
        fenced: "allow" reads a text that is one code block (JSON: the only JSON code block); "reject" does not.

    Error kinds: none; a text that is too long scores 0.0.

    Example:
        >>> from workbench import StringThread
        >>> grader = WellFormed("tags", tags=("think", "answer"))
        >>> grader(StringThread([("assistant", "<think>a</think><answer>b</answer>")])).score
        1.0
    """

    format: str = field(kw_only=False)
    tags: tuple[str, ...] = ()
    opened: bool = False
    outside: str = "reject"
    empty: str = "reject"
    root: str = ""
    fenced: str = "reject"

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls("json", fenced="allow")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("format", self.format, FORMATS)
        for name in ("outside", "empty", "fenced"):
            check_choice(name, getattr(self, name), ("reject", "allow"))
        check_choice("root", self.root, ("", "object", "list"))
        object.__setattr__(self, "tags", as_texts("tags", self.tags))
        is_named = all(re.fullmatch(r"[A-Za-z][\w.-]*", name) for name in self.tags)
        if (self.format == "tags") != bool(self.tags) or not is_named or len(set(self.tags)) < len(self.tags):
            raise FormatError(
                "tags must be different names for the format tags, and empty for others",
                found=repr(self.tags)[:80],
            )

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Whether the text is well-formed."""
        if self.format == "json":
            return well_formed_json(text, root=self.root, fenced=self.fenced)
        if self.format == "xml":
            return well_formed_xml(text, fenced=self.fenced)
        if self.format == "tags":
            return tag_format(
                text, tags=self.tags, outside=self.outside, opened=self.opened, empty=self.empty
            )
        plain = without_fence(text, self.fenced)
        return _yaml(plain, self.root) if self.format == "yaml" else _sql(plain)

    def python_rest(self, reference_names: tuple[str, ...]) -> PythonBody:  # noqa: ARG002
        """The lines of the Python function once `text` is known."""
        if self.format == "json":
            call = f"well_formed_json(text, root={self.root!r}, fenced={self.fenced!r})"
        elif self.format == "xml":
            call = f"well_formed_xml(text, fenced={self.fenced!r})"
        elif self.format == "tags":
            settings = (
                f"tags={self.tags!r}, outside={self.outside!r}, opened={self.opened!r}, empty={self.empty!r}"
            )
            call = f"tag_format(text, {settings})"
        else:
            raise refusal(
                self,
                "format",
                f"{self.format} needs a package that is not in the sandbox",
                "check json, xml or tags",
            )
        return PythonBody((f"structure.{call.partition('(')[0]}",), (f"return {call}[0]",))


def _yaml(text: str, root: str) -> Verdict:
    if len(text) > _MAX_YAML:
        return 0.0, f"Invalid YAML: more than {_MAX_YAML} characters", {}
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)  # aliases are not expanded
        twice = next(_repeated(node, set()), None) if node is not None else None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        return 0.0, f"Invalid YAML: {' '.join(str(error).split())}"[:200], {}
    if twice is not None:
        return 0.0, f"Invalid YAML: the key {twice!r} occurs twice", {}
    if not isinstance(node, yaml.CollectionNode):
        return 0.0, "The YAML is a single value, not a mapping or a list", {}
    return root_verdict({} if isinstance(node, yaml.MappingNode) else [], root, "YAML")


def _repeated(node: Any, seen: set[int]) -> Iterator[str]:
    """Keys that a mapping has twice."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<"]
        yield from (key for key in keys if keys.count(key) > 1)
        for pair in node.value:
            for inner in pair:
                yield from _repeated(inner, seen)
    elif isinstance(node, yaml.SequenceNode):
        for inner in node.value:
            yield from _repeated(inner, seen)


def _sql(text: str) -> Verdict:
    """Whether SQLite parses every statement. EXPLAIN compiles without running, on an empty database in memory."""
    # Every semicolon is checked with the text before it.
    is_short = len(text) <= _MAX_SQL and text.count(";") * len(text) <= _MAX_CHECKED
    statements = list(_statements(text)) if is_short else []
    if not statements:
        return 0.0, "There is no SQL statement", {}
    with sqlite3.connect(":memory:") as database:
        database.set_authorizer(
            lambda action, *_: sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY
        )
        try:
            for statement in statements:
                if (fault := _fault(database, statement)) is not None:
                    return 0.0, f"Invalid SQL: {fault}"[:200], {}
        finally:
            database.set_authorizer(None)
    database.close()
    return 1.0, f"Well-formed SQL: {len(statements)} statement{'s' if len(statements) > 1 else ''}", {}


_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION}
"""What compiling may touch; the rest is refused after the parser has accepted the statement."""


def _fault(database: sqlite3.Connection, statement: str) -> str | None:
    try:
        database.execute(f"EXPLAIN {statement}")
    except sqlite3.ProgrammingError:
        return None  # parameters without values: the statement was parsed
    except (sqlite3.Error, sqlite3.Warning) as error:
        return str(error) if _SYNTAX.search(str(error)) else None
    except ValueError as error:  # a null character
        return str(error)
    return None


def _statements(text: str) -> Iterator[str]:
    """The statements of a text: a semicolon inside a string, a comment or a trigger ends none."""
    start = 0
    for at, sign in enumerate(text):
        if sign == ";" and sqlite3.complete_statement(text[start : at + 1]):
            yield from _with_text(text[start:at])
            start = at + 1
    yield from _with_text(text[start:])


def _with_text(statement: str) -> Iterator[str]:
    if re.sub(r"--[^\n]*|/\*.*?\*/", "", statement, flags=re.DOTALL).strip():
        yield statement.strip()
