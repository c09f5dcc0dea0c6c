"""Proposals for a role's column, by its name and content; never by its position."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from workbench.data.samples.cell_contents import MAX_ID, are_all, are_chats, are_completions, plain_cells
from workbench.data.samples.chats import chat_of, is_dialogue
from workbench.data.samples.column_names import is_name_of
from workbench.data.samples.plain import is_missing

Peek = Callable[[str], Sequence[Any]]
"""The first cells of a column."""

PEEKED = 256
"""Cells of a column that are inspected."""

_MANY, _SHARE = 20, 0.1
"""Minimum number of texts, and maximum share of different ones, for texts to count as categories of rows."""

_LEVELS, _FEW = 3, 8
"""Levels of objects, and first cells, in which a completion is looked for."""

_TEXT_KEYS = frozenset(
    {"answer", "completion", "content", "generated_text", "output", "response", "solution", "text"}
)
"""Keys of the text in an object about a completion."""

_WORDS = {
    "completion": frozenset({
        "answer", "answers", "assistant", "candidate", "completion", "generated", "generation", "hypothesis", "out", "output",
        "outputs", "pred", "prediction", "reply", "response", "responses", "sampled", "submission",
    }),
    "prompt": frozenset({
        "ask", "asked", "input", "inputs", "instruction", "problem", "prompt", "query", "question", "request",
    }),
    "reference": frozenset({
        "correct", "expected", "gold", "golden", "gt", "ideal", "label", "reference", "solution", "target", "true", "truth",
    }),
}  # fmt: skip
"""Words in the name of a column to its possible role."""

_MAKERS = frozenset({
    "agent", "ai", "assistant", "bot", "chatbot", "chatgpt", "claude", "gemini", "generated", "gpt", "llama", "llm", "mistral", "model",
    "output", "predicted", "qwen",
})  # fmt: skip
"""Words that name the writer of a completion."""

_DERIVED = frozenset(
    {"clean", "cleaned", "extracted", "grader", "judge", "normalized", "parsed", "processed", "short"}
)
"""Words in the name of a column that is not another completion, but made from it."""

_NOUNS = {
    "completion": frozenset({
        "answer", "completion", "generation", "output", "prediction", "reply", "response", "solution", "summary", "translation",
    }),
    "prompt": frozenset({"instruction", "problem", "prompt", "query", "question"}),
    "reference": frozenset({"answer", "completion", "output", "reply", "response", "solution", "summary", "translation"}),
}  # fmt: skip
"""Nouns of which the composed name of a column needs one, by role."""

_ACCEPTED = frozenset({"acceptable", "accepted", "possible"})
"""Words before several references."""

_ATTRIBUTES = {
    "completion": _MAKERS | {"content", "final", "full", "raw", "text"},
    "prompt": frozenset({
        "adversarial", "ai", "attack", "base", "content", "current", "filled", "final", "forbidden", "formatted", "full", "harmful",
        "inference", "initial", "input", "jailbreak", "llm", "malicious", "model", "original", "raw", "rendered", "test", "text", "unsafe",
        "user",
    }),
    "reference": _ACCEPTED | {
        "correct", "expected", "gold", "golden", "ground", "gt", "ideal", "reference", "target", "text", "true", "truth",
    },
}  # fmt: skip
"""Words next to these nouns, by role."""

_USER_NOUNS = frozenset(
    {"input", "message", "question", "query", "request", "speech", "text", "transcript", "turn", "utterance"}
)
"""Words next to a user in the name of a prompt."""
_PROMPTS = (
    ("input", frozenset({"input", "llm", "model", "text"})),
    *((name, _USER_NOUNS | {name}) for name in ("customer", "human", "user")),
)
"""Names of a prompt whose terms may have other meanings alone: a required term, and all possible ones."""

_ALL_NOUNS = frozenset(noun for nouns in _NOUNS.values() for noun in nouns)

_NEVER = frozenset({
    "annotator", "at", "author", "category", "context", "contexts", "cost", "count", "dataset", "date", "difficulty", "docs",
    "distractor", "distractors", "document", "documents", "domain", "error", "format", "generator", "hash", "id", "ids", "idx", "incorrect",
    "index", "key", "lang", "language", "len", "length", "name", "num", "number", "pair", "path", "rater", "score", "source", "sources",
    "split", "status", "subject", "tag", "tags", "time", "timestamp", "tokens", "topic", "ts", "tstamp", "type", "url", "uuid", "version",
    "worker", "writer", "wrong",
})  # fmt: skip
"""Words in the name of a column with metadata about a row."""

_OF_TASK = frozenset(
    {"case", "demo", "example", "hidden", "private", "public", "sample", "shot", "test", "unit"}
)
"""Words in the name of a numbered column that is a part of the prompt or of its tests, such as `sample_output_1`."""

_NO_PROSE = re.compile(
    r"[-+]?[\d.,]+(?:e[-+]?\d+)?%?|\d{4}-\d\d-\d\d.*|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,}|https?://\S+|true|false|(?:[^\W\d]|-)*\d[\w-]*",
    re.IGNORECASE,
)
"""Texts that are numbers, times, ids or addresses."""


def proposed(
    names: Sequence[str], peek: Peek, *, roles: Sequence[str], taken: Sequence[str]
) -> dict[str, str]:
    """Role to its proposed column, if name and content indicate exactly one.

    Args:
        names: The available columns.
        peek: Returns a column's first cells.
        roles: Those without a column, among prompt, completion and reference.
        taken: Columns that have a role already.
    """
    fitting = {role: several_for(role, names, peek, taken=taken) for role in roles}
    return {role: columns[0] for role, columns in fitting.items() if len(columns) == 1}


def several_for(role: str, names: Sequence[str], peek: Peek, *, taken: Sequence[str]) -> list[str]:
    """The columns that name and content indicate for a role; see `proposed`."""
    free = [name for name in names if name not in taken]
    return [name for name in free if _is_named_for(name, role) and could_be_read(name, role, peek)]


def column_by_terms(role: str, names: Sequence[str], peek: Peek) -> str | None:
    """The only column whose name consists of terms of a role, such as `generated_solution` or `input_prompt`, and contains texts.

    A completion's name also needs the name of its writer, or two terms of a completion: `final_answer` may be the reference. A
    "model solution" is one that people wrote.
    """
    found = [
        name
        for name in names
        if _consists_of(_words_in_order(name), role) and could_be_read(name, role, peek)
    ]
    if len(found) != 1:
        return None
    rivals = several_for(role, names, peek, taken=found) if role == "completion" else []
    is_tied = any(
        _last_term(name) in _NOUNS[role] | {"content", "text"} and not _words_of(name) & _DERIVED
        for name in rivals
    )
    return None if is_tied else found[0]


def prompt_by_noun(names: Sequence[str], peek: Peek) -> str | None:
    """The only column whose name ends with a noun of a prompt, such as `writing_prompt`, and contains texts; not a judge's or a system's."""
    found = [
        name
        for name in names
        if _last_term(name) in ("prompt", "question", "query")
        and not _words_of(name) & _OTHER_PROMPTS
        and could_be_read(name, "prompt", peek)
    ]
    return found[0] if len(found) == 1 else None


_OTHER_PROMPTS = frozenset({
    "check", "checklist", "criteria", "demo", "example", "hidden", "private", "shot", "unit", "criterion", "decomposed", "eval", "evaluation", "evaluator", "feedback", "follow", "followup", "grader", "judge",
    "judging", "negative", "next", "rubric", "scoring", "search", "sql", "suggested", "system", "template",
})  # fmt: skip
"""Words before the prompt of something else than the model that is graded."""


def is_made_by_model(name: str) -> bool:
    """Whether a name with a number, such as `r1_solution_2`, is of a completion and its writer, and not of a reference."""
    words = _words_in_order(name)
    others = set(words[:-1])
    known = _NEVER | _WORDS["reference"] | _WORDS["prompt"] | _OF_TASK
    return bool(others) and words[-1].removesuffix("s") in _NOUNS["completion"] and not others & known


def may_be_answers(name: str, peek: Peek) -> bool:
    """Whether a column has a name such as `final_answer` or `solution`, and contains texts, numbers or lists of them."""
    cells = [cell for cell in peek(name) if not is_missing(cell)]
    values = [one for cell in cells for one in (cell if isinstance(cell, list) else [cell])]
    is_plain = bool(values) and all(
        isinstance(one, str | int | float) and not isinstance(one, bool) for one in values
    )
    return is_plain and _last_term(name) in ("answer", "solution") and not _words_of(name) & _NEVER


def _last_term(name: str) -> str:
    """The last term of a name, in the singular; "" if it has none."""
    return ["", *_words_in_order(name)][-1].removesuffix("s")


def _consists_of(names: Sequence[str], role: str) -> bool:
    """Whether a name consists of terms of a role, in the singular or the plural."""
    order = [word.removesuffix("s") if word.removesuffix("s") in _ALL_NOUNS else word for word in names]
    words = frozenset(order)
    if len(words) < 2:
        return False
    if role == "prompt" and any(required in words and words <= terms for required, terms in _PROMPTS):
        return True
    nouns = words & _NOUNS[role]
    if not nouns or order[-1] not in nouns | {"content", "text"}:
        return False
    if not words <= _NOUNS[role] | _ATTRIBUTES[role] or {"model", "solution"} <= words:
        return False
    if role == "reference":
        return bool(words & (_WORDS["reference"] | _ACCEPTED))
    # `output_answer` may be the expected output of a data set.
    is_made = bool(words & (_MAKERS | {"generation", "prediction"})) or len(nouns) > 1
    return role == "prompt" or (is_made and words != {"output", "answer"})


def only_chat(names: Sequence[str], peek: Peek, *, is_prompt: bool = False) -> str | None:
    """The only column whose cells all are conversations, under any name but a reference's.

    Args:
        names: The available columns.
        peek: Returns a column's first cells.
        is_prompt: Whether the user's turn is to be the last one; if not, there must be turns of a user and of the assistant.
    """
    is_fitting = _is_asked if is_prompt else is_dialogue
    named = [name for name in names if not _words_of(name) & _WORDS["reference"]]
    found = [name for name in named if are_all(is_fitting, peek(name))]
    return found[0] if len(found) == 1 else None


def _is_asked(value: Any) -> bool:
    """Whether a value is a list of messages, the last one of a user."""
    chat = chat_of(value) if isinstance(value, list) else None
    return bool(chat and chat[-1].get("role") == "user")


def nested_texts(names: Sequence[str], peek: Peek, *, taken: Sequence[str]) -> list[str]:
    """The dotted paths of the only text in a column's objects, if it may be a completion."""
    found = []
    for name in names:
        words = _words_of(name)
        if name in taken or words & _WORDS["reference"]:
            continue
        cells = plain_cells(peek(name))
        if not cells or not all(isinstance(cell, Mapping) for cell in cells):
            continue
        texts = {
            key
            for cell in cells
            for key, value in cell.items()
            if isinstance(value, str) and _is_prose(value)
        }
        others = any(isinstance(value, dict | list) for cell in cells for value in cell.values())
        if len(texts) == 1 and not others and texts <= _TEXT_KEYS and not words & _NEVER:
            found.append(f"{name}.{texts.pop()}")
            continue
        found += dict.fromkeys(
            path for cell in cells[:_FEW] for path in _completion_paths(cell, name, _LEVELS)
        )
    return found


def nested_chat(names: Sequence[str], peek: Peek) -> str:
    """The path of a conversation inside the lists and objects of a column, such as `steps.0.messages`; "" if there is none."""
    paths = (_chat_path(cell, name, _LEVELS * 2) for name in names for cell in plain_cells(peek(name)[:_FEW]))
    return next(filter(None, paths), "")


def _chat_path(value: Any, path: str, levels: int) -> str:
    """The path of the first conversation in a value; "" if there is none."""
    if is_dialogue(value):
        return path
    if not levels or not isinstance(value, Mapping | list):
        return ""
    inner = value.items() if isinstance(value, Mapping) else enumerate(value[:1])
    paths = (_chat_path(one, f"{path}.{key}", levels - 1) for key, one in inner)
    return next(filter(None, paths), "")


def _completion_paths(value: Mapping[str, Any], path: str, levels: int) -> Iterator[str]:
    """The dotted paths of texts whose key is a name for a completion."""
    for key, inner in value.items():
        if isinstance(inner, Mapping) and levels > 1 and not _words_of(str(key)) & _WORDS["reference"]:
            yield from _completion_paths(inner, f"{path}.{key}", levels - 1)
        elif isinstance(inner, str) and is_name_of("completion", str(key)) and _is_prose(inner):
            yield f"{path}.{key}"


def _is_named_for(name: str, role: str) -> bool:
    """Whether a column's name indicates this role, and no other one."""
    words = _words_of(name)
    if role != "reference" and is_name_of("reference", name):
        return False  # followed, the references would be graded
    speaks = {other for other, known in _WORDS.items() if words & known}
    if "reference" in speaks and role != "reference":
        return False
    return role in speaks and (speaks == {role} or role == "reference") and not words & _NEVER


def _words_of(name: str) -> frozenset[str]:
    return frozenset(_words_in_order(name))


def _words_in_order(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return re.findall(r"[a-z]+", spaced.casefold())


def could_be_read(name: str, role: str, peek: Peek) -> bool:
    """Whether a column's cells fit that role: texts or messages; for references numbers, too; never ids, times, truth values."""
    if _words_of(name) & _NEVER:
        return False
    cells = [cell for cell in peek(name) if not is_missing(cell)]
    if not cells:
        return False
    if all(isinstance(cell, str) for cell in cells):
        is_prose = sum(map(_is_prose, cells))
        is_fitting = is_prose * 2 > len(cells) and (role == "prompt" or not _are_few(cells))
        return is_fitting or (role == "reference" and _is_named_for(name, role))
    if any(
        isinstance(cell, bool | dt.date | dt.time | dt.datetime) or type(cell).__name__ == "bool_"
        for cell in cells
    ):
        return False
    if role == "reference":
        return _is_named_for(name, role) and all(isinstance(cell, int | str) for cell in cells)
    return are_chats(cells) or (role == "completion" and are_completions(cells))


def _is_prose(cell: str) -> bool:
    text = cell.strip()
    # No id is longer.
    return len(text) > MAX_ID or (bool(text) and _NO_PROSE.fullmatch(text) is None)


def _are_few(cells: Sequence[str]) -> bool:
    """Whether the texts of many rows have few different values, such as names of models or topics."""
    return len(cells) >= _MANY and len(set(cells)) <= _SHARE * len(cells)


def mapping_text(columns: Mapping[str, str]) -> str:
    """A mapping as code to type."""
    return "columns={" + ", ".join(f"{role!r}: {name!r}" for role, name in columns.items()) + "}"
