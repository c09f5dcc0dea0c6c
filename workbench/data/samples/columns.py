"""Roles of columns: recognised by their names, or given by the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from workbench.core.display_text import did_you_mean
from workbench.core.errors import SamplesError
from workbench.data.samples.cell_contents import (
    are_chats,
    are_completions,
    are_conversations,
    are_lists_of_texts,
    are_requests,
    are_texts,
    are_user_turns,
    are_verdicts,
    are_wrapped,
)
from workbench.data.samples.column_errors import listing, no_usable
from workbench.data.samples.column_names import ROLES, USABLE, VERDICT_NAMES, match_name, plain_name
from workbench.data.samples.plain import is_missing
from workbench.data.samples.proposals import (
    PEEKED,
    Peek,
    column_by_terms,
    could_be_read,
    only_chat,
    prompt_by_noun,
)  # fmt: skip
from workbench.data.samples.uncertain_readings import drop_other_things

_LISTS = (
    "completions", "responses", "generations", "samples", "predictions", "summaries", "candidates", "modelOutput", "result",
    "output_list", "rollouts",
)  # fmt: skip
"""Names of columns of completions that count only if they contain lists of them, or responses of an API."""

_BY_CONTENT: Mapping[str, tuple[tuple[str, ...], Callable[[Sequence[Any]], bool]]] = {
    "messages": (("conversations", "conversation", "contents", "chat", "dialog", "dialogue"), are_conversations),
    "prompt": (("body", "modelInput"), are_requests),
    "completion": (_LISTS, are_completions),
    "reference": (("labels",), are_texts),
}  # fmt: skip
"""Role to names that count only if the first cells have the required content, with the check for that content."""

_LONE_CHATS = (
    "items", "turns", "trajectory", "traj", "transcript", "thread", "chat_messages", "message_list", "history", "dialogs", "rounds",
    "data",
)  # fmt: skip
"""Names of columns that are the conversation if they contain messages and no other column has a prompt or a completion."""

_LONE_PROMPTS = ("context_messages", "context", "chat_history", "conversation_history", "history")
"""Names of columns that are the prompt if they contain messages and no other column has a prompt."""

_BESIDE_ANSWER = frozenset({
    "groundtruth", "groundtruths", "groundtruthanswer", "expectedanswer", "goldanswer", "goldenanswer", "referenceanswer",
    "expectedoutput", "expectedresponse", "correctanswer", "bestanswer", "expected",
})  # fmt: skip
"""References next to which a column `answer` contains the model's completions."""

_OPTIONS = frozenset({"choices", "options", "answeridx", "answerindex", "answerkey", "endings"})
"""Columns of multiple-choice prompts, whose `answer` is the right one."""

RIGHT_OPTIONS = frozenset(
    {"answer", "answeridx", "answerindex", "answerkey", "correct", "correctanswer", "correctoption", "gold", "key", "label", "solution", "target"}
)  # fmt: skip
"""Columns that name the right one of several options, as `plain_name` returns them."""

_RESPONSES = frozenset({"modeloutput", "result"})
"""Those of `_LISTS` under which an API's batch has one response."""

LISTED_NAMES = frozenset(map(plain_name, (*_LISTS, "outputs", "model_outputs"))) - _RESPONSES
"""Known names of columns with lists of completions, as `plain_name` returns them."""

COMPLETION_NAMES = frozenset(plain_name(name) for name in (*ROLES["completion"], *_LISTS))
"""Known names of columns with model completions, as `plain_name` returns them."""

_BATCH_COLUMNS = frozenset({"custom_id", "response"})
_RESULT_COLUMNS = frozenset({"custom_id", "result"})
# A column with another role may also be the id or the group.
_SHAREABLE = ("id", "group")


def batch_roles(names: Sequence[str]) -> dict[str, str]:
    """Roles of OpenAI's and Anthropic's batch output: the row's id is the name its author gave the request."""
    return {"id": "custom_id"} if set(names) >= _BATCH_COLUMNS or set(names) >= _RESULT_COLUMNS else {}


def recognise(
    names: Sequence[str],
    columns: Mapping[str, str | None] | None = None,
    *,
    source: str = "",
    peek: Peek | None = None,
) -> dict[str, str]:
    """Assign a column to each role.

    Names match exactly first, then case-insensitively; of two candidates for one role the first in
    `ROLES` wins and the other stays metadata. If there is a `messages` column, no prompt is looked for. An
    `instruction` is the prompt, or precedes an `input` in it as in Alpaca's rows; with another prompt it is metadata.

    Args:
        names: The available columns.
        columns: Role to column; overrides the recognised columns. None as the column switches a role off.
        source: File of the columns, for error messages.
        peek: Returns a column's first cells; None to use only the names.

    Returns:
        Role to column, in the order of `ROLES`, only roles that have one.

    Raises:
        SamplesError: A mapping with an unknown role or a missing column, `messages` and `prompt` both
            mapped, or no column that could form a thread.
    """
    if columns is not None and not isinstance(columns, Mapping):
        raise SamplesError(
            "columns must map each role to a column",
            found=f"{columns!r:.80}",
            expected="a dict of role to column name",
            hint="columns={'completion': 'model_out'}",
        )
    mapping = {**batch_roles(names), **(columns or {})}
    _check_mapping(mapping, names, source)
    mapped = {name for role, name in mapping.items() if name is not None and role not in _SHAREABLE}
    free = [name for name in names if name not in mapped and not _is_statement(name, names)]
    matched = {role: mapping[role] if role in mapping else match_name(ROLES[role], free) for role in ROLES}
    if peek is not None and "messages" not in mapping:
        matched["messages"] = _filled(matched["messages"], peek)
    if peek is not None and "metadata" not in mapping and matched["metadata"]:
        matched["metadata"] = None if _is_prose(peek(matched["metadata"])) else matched["metadata"]
    if peek is not None:
        _match_by_content(matched, mapping, free, peek)
    if matched["messages"] and matched["prompt"]:
        # A prompt that the user mapped has priority; otherwise the messages contain the prompt already.
        matched["messages" if mapping.get("prompt") else "prompt"] = None
    if not mapping.get("instruction") and not _leads(matched, mapping):
        matched["instruction"] = None
    by_role = {role: name for role, name in matched.items() if name is not None}
    if names and not any(role in by_role for role in USABLE):
        raise no_usable(names, source, peek)
    return by_role


def _is_statement(name: str, names: Sequence[str]) -> bool:
    """Whether a column is the hypothesis of a premise, which people wrote, and not a model's."""
    return plain_name(name) == "hypothesis" and "premise" in map(plain_name, names)


def frame_roles(
    frame: pd.DataFrame, columns: Mapping[str, str | None] | None = None, *, n_cells: int = PEEKED
) -> dict[str, str]:
    """The roles of a frame's columns; none if `recognise` raises an error, which the table constructor reports.

    Args:
        frame: Columns with different names as text.
        columns: Role to column; see `recognise`.
        n_cells: Number of first cells that are inspected.
    """
    names = {str(name): name for name in frame.columns}
    try:
        return recognise(list(names), columns, peek=lambda name: list(frame[names[name]].head(n_cells)))
    except SamplesError:
        return {}


def _is_prose(cells: Sequence[Any]) -> bool:
    """Whether cells are texts of which none is the JSON text of an object or a list."""
    return are_texts(cells) and not any(str(cell).lstrip().startswith(("{", "[")) for cell in cells)


def _filled(name: str | None, peek: Peek) -> str | None:
    """A column of messages; None if its first cells are all missing, as in logs of requests with another input."""
    cells = [] if name is None else peek(name)
    return None if cells and all(map(is_missing, cells)) else name


def _match_by_content(
    matched: dict[str, str | None], mapping: Mapping[str, str | None], free: Sequence[str], peek: Peek
) -> None:
    """Assign columns by name and content to roles that have none; verdicts are not taken as references."""
    for role, (candidates, is_fitting) in _BY_CONTENT.items():
        if role in mapping or matched[role]:
            continue
        name = match_name(candidates, free)
        if name is None or not is_fitting(peek(name)):
            continue
        if plain_name(name) == "candidates" and _may_be_options(matched, peek(name)):
            continue
        # Texts without roles are turns only if no other columns have the prompt and the completion.
        if role != "messages" or are_chats(peek(name)) or not (matched["prompt"] and matched["completion"]):
            matched[role] = name
    drop_other_things(matched, mapping, free, peek)
    _match_lone(matched, mapping, free, peek)
    if "reference" not in mapping and not matched["reference"]:
        others = [name for name in free if name != matched["completion"]]
        matched["reference"] = column_by_terms("reference", others, peek)
    if "reference" not in mapping and (label := verdict_column(matched, peek)):
        matched["reference"] = match_name(ROLES["reference"], [name for name in free if name != label])


def _may_be_options(matched: Mapping[str, str | None], cells: Sequence[Any]) -> bool:
    """Whether lists of texts may be options, of which one is right: no column has a prompt."""
    return not matched["prompt"] and not matched["messages"] and are_lists_of_texts(cells)


def _match_lone(
    matched: dict[str, str | None], mapping: Mapping[str, str | None], free: Sequence[str], peek: Peek
) -> None:
    """Assign columns whose names are ambiguous unless other columns decide."""
    spoken = {role for role in USABLE if matched[role] or role in mapping}
    if not spoken:
        named = next(filter(None, (_lone_chat(name, free, peek) for name in _LONE_CHATS)), None)
        matched["messages"] = named or only_chat(free, peek)
    if not matched["messages"] and not spoken & {"messages", "prompt", "instruction"}:
        finders: list[Callable[[Sequence[str], Peek], str | None]] = [
            _lone_prompt, partial(column_by_terms, "prompt"), prompt_by_noun, _lone_context,
            *([_lone_request] if matched["completion"] else []),
        ]  # fmt: skip
        matched["prompt"] = next(filter(None, (find(free, peek) for find in finders)), None)
    if spoken & {"completion", "messages"} or matched["messages"] or "reference" in mapping:
        return
    answer = _answer_beside_reference(matched, free, peek) or _solution_of_task(matched, free, peek)
    answer = answer or _result_of_prompt(matched, free, peek) or column_by_terms("completion", free, peek)
    if answer is not None:
        matched["completion"] = answer
        matched["reference"] = match_name(ROLES["reference"], [name for name in free if name != answer])


def _lone_prompt(names: Sequence[str], peek: Peek) -> str | None:
    """The column of turns before the completion: by its name, or the only conversation that ends with the user's turn."""
    found = match_name(_LONE_PROMPTS, names)
    if found is not None and _is_asked(peek(found), is_named=found == "history"):
        return found
    return only_chat(names, peek, is_prompt=True)


def _lone_request(names: Sequence[str], peek: Peek) -> str | None:
    """The only column of requests of an API."""
    requests = [name for name in names if are_requests(peek(name))]
    return requests[0] if len(requests) == 1 else None


def _lone_context(names: Sequence[str], peek: Peek) -> str | None:
    """The column `context` of texts: what the model got, if no other column is the prompt."""
    found = match_name(("context",), names)
    return found if found is not None and are_texts(peek(found)) else None


def _is_asked(cells: Sequence[Any], *, is_named: bool) -> bool:
    """Whether cells are prompts: messages; or texts, in a column whose name means the turns before the completion."""
    return are_chats(cells) or are_user_turns(cells) or (is_named and are_texts(cells))


def _lone_chat(name: str, names: Sequence[str], peek: Peek) -> str | None:
    """The column of a name, if it contains messages; texts as turns count for `data` and `history`."""
    found = match_name((name,), names)
    has_candidates = any(plain_name(other) in LISTED_NAMES for other in names)
    is_fitting = are_conversations if name in ("data", "history") and not has_candidates else are_chats
    return found if found is not None and is_fitting(peek(found)) else None


def _answer_beside_reference(
    matched: Mapping[str, str | None], names: Sequence[str], peek: Peek
) -> str | None:
    """The column `answer` next to a prompt and a reference of another name, so that it contains completions."""
    folded = {plain_name(name): name for name in reversed(names)}
    asked = matched["prompt"] or matched["instruction"]
    if (
        asked is None
        or "answer" not in folded
        or not _BESIDE_ANSWER & folded.keys()
        or _OPTIONS & folded.keys()
    ):
        return None
    return folded["answer"] if are_texts(peek(folded["answer"])) else None


def _result_of_prompt(matched: Mapping[str, str | None], names: Sequence[str], peek: Peek) -> str | None:
    """The column `pred`, or next to a prompt `result`, `reply` or `bot`, if its cells are texts other than ids, numbers and verdicts."""
    found = match_name(("pred",), names)
    if found is None and (matched["prompt"] or matched["instruction"]):
        found = match_name(("result", "reply", "bot"), names)
    if found is None:
        return None
    if are_wrapped(peek(found)):
        return found
    if not are_texts(peek(found)) or are_verdicts(peek(found), ()):
        return None
    return found if could_be_read(found, "completion", peek) else None


def _solution_of_task(matched: Mapping[str, str | None], names: Sequence[str], peek: Peek) -> str | None:
    """The column `solution` of rows with the id of a task and without its prompt: a sample of a model."""
    is_sample = "task_id" in names and not matched["prompt"] and not matched["instruction"]
    found = match_name(("solution",), names) if is_sample else None
    return found if found is not None and are_texts(peek(found)) else None


def verdict_column(roles: Mapping[str, str | None], peek: Peek) -> str:
    """The column that would be the reference but contains verdicts on completions; "" if there is none.

    A column `label` of truth values or verdict words; one that may also have expected values only if its words are about a
    completion, such as accept and reject.
    """
    label, completion = roles.get("reference"), roles.get("completion")
    if label is None or (name := label.casefold()) not in VERDICT_NAMES:
        return ""
    said = peek(completion) if completion else ()
    return label if are_verdicts(peek(label), said, strict=name != "label") else ""


def _leads(roles: Mapping[str, str | None], mapping: Mapping[str, str | None]) -> bool:
    """Whether an `instruction` column is the prompt, or its first part."""
    prompt = roles["prompt"]
    return not roles["messages"] and (
        prompt is None or (prompt.casefold() == "input" and not mapping.get("prompt"))
    )


def metadata_columns(names: Iterable[str], roles: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that go into a thread's metadata under their names.

    All without a role, and the reference's too, because a grade function gets only the thread.
    """
    hidden = {name for role, name in roles.items() if role != "reference"} - {roles.get("reference")}
    return tuple(name for name in names if name not in hidden)


def check_names(columns: Sequence[Any], source: str = "") -> list[str]:
    """The column names as text.

    Raises:
        SamplesError: Columns with several levels, or two columns with the same text as name.
    """
    if columns and all(isinstance(name, tuple) for name in columns):
        raise SamplesError(
            "a frame with columns on several levels cannot be read as samples",
            where=source,
            found=f"{len(columns[0])} levels of column names",
            expected="one name per column",
            hint="flatten them first: df.columns = ['_'.join(map(str, c)) for c in df.columns]",
        )
    names = [str(name) for name in columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if "" in map(str.strip, twice):
        raise SamplesError(
            f"{sum(not name.strip() for name in names)} columns have no name", where=source, found=listing(names), expected="a name for every column",
            hint="if the header has two lines, or a title is above it, keep one line with a name for every column",
        )  # fmt: skip
    if twice:
        raise SamplesError(
            "two columns have the same name",
            where=source,
            found=", ".join(map(repr, twice)),
            expected="every column once",
            hint="rename or drop one of them",
        )
    return names


def _check_mapping(mapping: Mapping[str, str | None], names: Sequence[str], source: str) -> None:
    for role, name in mapping.items():
        if role not in ROLES:
            raise SamplesError(
                f"the mapping names an unknown role {role!r}",
                where=source,
                found=repr(role),
                expected="one of " + ", ".join(ROLES),
                hint=_closest(str(role), list(ROLES)),
            )
        if name is not None and name not in names:
            raise SamplesError(
                f"there is no column {name!r} for the role {role!r}",
                where=source,
                found=listing(names),
                expected=f"a column {name!r}",
                hint=_closest(str(name), names),
            )
    question_role = next((role for role in ("prompt", "instruction") if mapping.get(role)), None)
    if mapping.get("messages") and question_role:
        raise SamplesError(
            f"the mapping gives both messages and {question_role}",
            where=source,
            found=f"messages={mapping['messages']!r}, {question_role}={mapping[question_role]!r}",
            expected="one of the two: messages contain the prompt already",
        )


def _closest(wrong: str, names: Sequence[str]) -> str:
    return did_you_mean(wrong, names) or "map a role to one of these columns"


def every_role(columns: Mapping[str, str]) -> dict[str, str | None]:
    """Every role to its column or None, so that a part of the data does not recognise another column for it."""
    return {role: columns.get(role) for role in ROLES}
