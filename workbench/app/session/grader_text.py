"""A grader as text (Python, JavaScript, or a spec as JSON), as a cell, as a user edits it, and texts to start from."""

from __future__ import annotations

import ast
import builtins
import json
import keyword
import re
import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.python_text import parse
from workbench.graders import CustomGrader, FunctionGrader, Grader, SandboxedGrader, ScriptGrader
from workbench.graders.code import SourceGrader
from workbench.graders.serialization import from_record, parts
from workbench.judges import Endpoint
from workbench.judges.kinds import Judge
from workbench.run.suite import Suite

if TYPE_CHECKING:
    from workbench.sandbox.host.validation import Validation


def suite_of(graders: Any) -> Suite | None:
    """Graders as a suite; None if none are given."""
    if graders is None or (isinstance(graders, list | tuple) and not graders):
        return None
    return graders if isinstance(graders, Suite) else Suite(graders)


def needs_validation(grader: Grader) -> bool:
    """Whether it has source that must be validated before export."""
    return any(isinstance(part, SandboxedGrader) for part in parts(grader))


def asks_models(grader: Grader) -> bool:
    """Whether it calls a model, which costs time and money."""
    return any(isinstance(part, Judge) for part in parts(grader))


def waits_for(grader: Grader) -> str:
    """Why a grader does not run before the user presses Run; "" for rules and sandboxed code, which cost nothing."""
    reasons = (
        (Judge, "calls a model, which costs money"),
        (Endpoint, "calls a service"),
        (CustomGrader, "runs your function, of unknown cost"),
    )
    return next((why for kind, why in reasons if any(isinstance(part, kind) for part in parts(grader))), "")


def validation_of(grader: Grader) -> Validation | None:
    """The last validation of exactly this text; None if there is none, and for graders without source."""
    return grader.validation if isinstance(grader, SandboxedGrader) else None


def copy_validation(old: Grader, new: Grader) -> None:
    """Give a grader the validation of an equal one, so that the same text is not validated again."""
    validation = validation_of(old)
    if validation is not None and isinstance(new, SandboxedGrader) and new.validation is None:
        new.remember(validation)


@dataclass
class Drafts:
    """A user's text that is not saved yet.

    Attributes:
        notes: Sample id and digest of its text to the note that is saved with the label.
        tags: The same to the tags.
    """

    notes: dict[str, str] = field(default_factory=dict)
    tags: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Edit:
    """A text that a user typed to replace a grader's, and its outcome.

    Attributes:
        text: The text.
        seq: The page's number for it, by which replies to older texts are recognised.
        error: Why it is not a grader; "" if it is.
        validation: The validation; None while it runs.
    """

    text: str
    seq: int
    error: str = ""
    validation: Validation | None = None

    @property
    def is_open(self) -> bool:
        """Whether it has no outcome yet: validation is running or was stopped."""
        return self.validation is None and not self.error


def needs_checks(grader: Grader) -> bool:
    """Whether a grader has source that is not validated yet."""
    return isinstance(grader, SandboxedGrader) and grader.validation is None


def fails(grader: Grader) -> bool:
    """Whether a grader's validation failed."""
    return isinstance(grader, SandboxedGrader) and grader.validation is not None and not grader.validation.ok


def like(before: Grader | None, grader: Grader) -> Grader:
    """An edited grader with what its text does not contain, from the one before: limits, origin, the author's name for it.

    The same text is the same grader: a user who types back what was there has changed nothing.
    """
    if not isinstance(before, SourceGrader) or not isinstance(grader, SourceGrader):
        return grader
    is_same = type(grader) is type(before) and grader.source.text == before.source.text
    earlier = before.source
    return replace(
        grader,
        source=earlier
        if is_same
        else replace(grader.source, function=earlier.function, imported=earlier.imported),
        description=grader.description or _description_after(before, grader.source.text),
        timeout=before.timeout,
        memory_mb=before.memory_mb,
    )


def _description_after(before: SourceGrader, text: str) -> str:
    """The description after an edit: the first line of the docstring if it was that before, else unchanged."""
    if before.description == _first_docstring_line(before.source.text):
        return _first_docstring_line(text)
    return before.description


def _first_docstring_line(text: str) -> str:
    """The first line of the docstring of a module's grade function; "" without one."""
    try:
        body = parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    functions = (
        one for one in body if isinstance(one, ast.AsyncFunctionDef | ast.FunctionDef) and one.name == "grade"
    )
    document = next((ast.get_docstring(one) for one in functions), None)
    return (document or "").strip().partition("\n")[0].strip()


def with_client_of(before: Grader | None, grader: Grader) -> Grader:
    """A grader with the client of the one before it, if both call a model: a store does not save clients."""
    client = getattr(before, "client", None)
    if client is None or getattr(grader, "client", client) is not None:
        return grader
    return cast("Grader", replace(cast("Any", grader), client=client))


def without(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """A copy of a dict without some keys: traits notify observers only of a different value."""
    return {name: value for name, value in values.items() if name not in names}


_IPYTHON = frozenset({"In", "Out", "get_ipython", "exit", "quit", "display"})
_HISTORY = re.compile(r"_{1,3}|_i*\d*|_(oh|dh|ih)|__\w+__")


def taken_by(name: str, namespace: Mapping[str, Any]) -> str:
    """Why a cell's grader cannot be bound to a name: it would shadow something else; "" if it can."""
    owner = "a Python keyword" if keyword.iskeyword(name) else ""
    owner = owner or ("a builtin" if hasattr(builtins, name) else "")
    owner = owner or ("an IPython name" if name in _IPYTHON or _HISTORY.fullmatch(name) else "")
    return owner or ("a module of this notebook" if isinstance(namespace.get(name), ModuleType) else "")


def notebook_names() -> Mapping[str, Any]:
    """The names of the running notebook; none outside of one."""
    if "IPython" not in sys.modules:
        return {}
    from IPython import get_ipython

    return getattr(get_ipython(), "user_ns", {})


_SCRIPT = re.compile(r"^\s*(export\s+)?(async\s+)?function\s+\w+\s*\(", re.MULTILINE)


class GraderText(NamedTuple):
    """A grader as text: its code if it has some, else its spec.

    Attributes:
        text: `grader_from_text` creates the same grader from it; for a function of the notebook, why there is none.
        language: "python", "javascript", "json" or "".
        file: A name for its file; "" for none.
    """

    text: str
    language: str
    file: str


def text_of(grader: Grader) -> GraderText:
    """The text of a grader."""
    if isinstance(grader, SandboxedGrader):
        ending = "js" if grader.language == "javascript" else "py"
        return GraderText(grader.source.text, grader.language, f"{_file(grader.name)}.{ending}")
    try:
        spec = json.dumps(grader.spec(), indent=2, ensure_ascii=False, default=repr)
    except WorkbenchError as error:  # a function without an import path has no spec
        return GraderText(str(error), "", "")
    return GraderText(spec, "json", f"{_file(grader.name)}.json")


def _file(name: str) -> str:
    """A name for a file, without characters that a path or a shell would interpret."""
    safe = "".join(character if character.isalnum() or character in "-_." else "_" for character in name)[:80]
    return safe.strip(".") or "grader"


def grader_from_text(source: str, name: str = "") -> Grader:
    """Create a grader from a text that a user typed. Nothing of it runs.

    Raises:
        WorkbenchError: It is empty, not a JSON object of a known kind, or not a module with a grade function.
    """
    if not source.strip():
        raise WorkbenchError("the text is empty", hint="choose a template to start from")
    if source.lstrip().startswith("{"):
        return _from_spec(source, name)
    make = ScriptGrader.from_source if _is_script(source) else FunctionGrader.from_source
    return make(source, name=name)


def _from_spec(source: str, name: str) -> Grader:
    try:
        spec = json.loads(source)
    except (ValueError, RecursionError) as error:
        raise FormatError(
            "the spec is not valid JSON", found=str(error)[:200], expected='{"kind": ..., ...}'
        ) from None
    return from_record({**spec, **({"name": name} if name else {})})


def cell_of(source: str, name: str) -> str:
    """The lines that create the same grader in a cell."""
    if source.lstrip().startswith("{"):
        spec = {**json.loads(source), "name": name}
        document = {"format": "grader-workbench", "version": 1, "graders": [spec]}
        return f"grader = wb.loads({document!r})[0]\napp.add(grader)"
    script = _is_script(source)
    if not _heads_a_cell(name):
        kind = "ScriptGrader" if script else "FunctionGrader"
        return f"grader = wb.{kind}.from_source({source!r}, name={name!r})\napp.add(grader)"
    return f"%%grader {'--js ' if script else ''}{name}\n{source}"


def _heads_a_cell(name: str) -> bool:
    """Whether `%%grader` accepts a name without changing it."""
    normalized = unicodedata.normalize("NFKC", name)  # as Python reads a name
    return name.isidentifier() and normalized == name and not taken_by(name, notebook_names())


def _is_script(source: str) -> bool:
    """Whether a text is JavaScript: a Python module may mention a function in its docstring."""
    if not _SCRIPT.search(source):
        return False
    try:
        parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return False


@dataclass(frozen=True)
class Starter:
    """A text for the editor.

    Attributes:
        title: In the list.
        name: The grader's initial name.
        text: A Python module, or a spec as JSON.
        note: A short description.
    """

    title: str
    name: str
    text: str
    note: str = ""


_REGEX = '''import re

PATTERN = re.compile(r"\\[\\d+\\]")


async def grade(thread: StringThread) -> float:
    """1.0 if the completion cites a source, such as [1]."""
    return 1.0 if PATTERN.search(thread.completion() or "") else 0.0
'''

_JSON = '''import json

NEEDED = ("name", "price")


async def grade(thread: StringThread) -> float:
    """The share of the required keys that the completion has; 0.0 if it is not a JSON object."""
    try:
        answer = json.loads(thread.completion() or "")
    except ValueError:
        return 0.0
    return sum(key in answer for key in NEEDED) / len(NEEDED) if isinstance(answer, dict) else 0.0
'''

_KEYWORDS = '''import re

KEYWORDS = ("refund", "30 days")


async def grade(thread: StringThread) -> float:
    """The share of the keywords that the completion contains as whole words."""
    text = (thread.completion() or "").lower()
    mentioned = [word for word in KEYWORDS if re.search(rf"\\b{re.escape(word)}\\b", text)]
    return len(mentioned) / len(KEYWORDS)
'''

_TOOL = '''EXPECTED = ["search"]


async def grade(thread: StringThread) -> float:
    """1.0 if the assistant called exactly these tools, in any order."""
    called = [call["function"]["name"] for call in thread.tool_calls()]
    return 1.0 if sorted(called) == sorted(EXPECTED) else 0.0
'''

_JUDGE = {
    "kind": "binary-judge",
    "name": "helpful",
    "criteria": "The completion does what the user requested, and every claim in it is correct.",
    "model": "",
}

_RULE = {"kind": "contains", "name": "contains", "expected": "yes", "ignore_case": True}

_FIRST = '''import workbench as wb


async def grade(thread: wb.StringThread) -> float:
    """What a good completion has."""
    answer = thread.completion() or ""
    return 1.0 if answer else 0.0
'''

TEMPLATES = (
    Starter("empty grade function", "my_grader", _FIRST, "a rule in Python"),
    Starter("regular expression", "cites_a_source", _REGEX, "a pattern that the completion contains"),
    Starter("JSON output", "has_keys", _JSON, "the share of required keys"),
    Starter("keywords", "mentions", _KEYWORDS, "the share of words it mentions"),
    Starter("tool call", "calls_tools", _TOOL, "the tools it called"),
    Starter("LLM judge", "helpful", json.dumps(_JUDGE, indent=2), "a model with your criteria"),
    Starter("built-in rule", "contains", json.dumps(_RULE, indent=2), "a built-in rule, no code"),
)
"""Templates for a new grader; a session without graders shows the first."""
