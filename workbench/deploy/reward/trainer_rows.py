"""What trainers pass, as rows that graders read: the whole conversation, the reference, every other column as metadata."""

from __future__ import annotations

import marshal
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.thread import StringThread
from workbench.data.row_columns import row_wire
from workbench.data.samples import Sample
from workbench.data.samples.column_names import LABEL_NAMES, ROLES
from workbench.data.samples.plain import NotPlainError, ObjectError, plain

MAX_TURNS = 10_000
"""Maximum turns of one conversation: the longest of an agent have some hundreds, and each turn costs time in every grader."""
_PROBLEM_LENGTH = 500
"""Maximum characters of the reason why a row cannot be read: its data may be megabytes."""


@dataclass(frozen=True)
class RewardRow:
    """One completion, ready to be graded.

    Attributes:
        name: Its name in errors and statistics, such as "row 3".
        thread: The conversation, of plain values; None if it cannot be read.
        reference: The correct completion; None if there is none.
        problem: Why it cannot be read; "" if it can.
        left_out: Columns that graders do not get because their values cannot be sent to a worker: a sentence each.
    """

    name: str
    thread: StringThread | None
    reference: Any = None
    problem: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def sample(self) -> Sample:
        """The row as a sample."""
        assert self.thread is not None
        return Sample(self.name, self.thread, self.reference, self.name)

    def packed(self, *, whole: bool) -> bytes:
        """The row in the form that a worker reads.

        Args:
            whole: Whether to include reference and name, which graders of other platforms need.
        """
        assert self.thread is not None
        wire = row_wire(self.thread, self.reference, self.name) if whole else self.thread.to_wire()
        return marshal.dumps(wire)


def rows_of(
    prompts: Sequence[Any],
    completions: Sequence[Any],
    columns: Mapping[str, Sequence[Any]],
    *,
    reference: str = "",
) -> list[RewardRow]:
    """One row per completion; a row that cannot be read has the reason, and does not affect the others.

    Args:
        prompts: Texts or lists of messages, one per completion.
        completions: Texts or lists of messages.
        columns: Name to values, one per completion: the row's metadata, under the columns' own names.
        reference: The column of the references; by default the one with a usual name.

    Raises:
        TypeError: A column is not a list.
        ValueError: Not one value per completion, or no such column.
    """
    if isinstance(completions, str) or not hasattr(completions, "__len__"):
        raise TypeError(f"completions must be a list, not {type(completions).__name__}")
    for name, values in (("prompts", prompts), *columns.items()):
        check_length(name, values, len(completions))
    if reference and reference not in columns:
        raise ValueError(f"there is no column {reference!r}; there are {', '.join(columns) or 'none'}")
    names = tuple(columns)
    every = zip(*columns.values(), strict=True) if names else iter(() for _ in completions)
    return [
        _completed_row(f"row {at}", prompt, completion, dict(zip(names, values, strict=True)), reference)
        for at, (prompt, completion, values) in enumerate(zip(prompts, completions, every, strict=True))
    ]


def check_length(name: str, values: Any, count: int, *, of: str = "completions") -> None:
    """Reject a column that is not a list with as many values as there are rows.

    Raises:
        TypeError: Not a list.
        ValueError: Another number of values.
    """
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
        raise TypeError(f"{name} must be a list with one value per completion, not {type(values).__name__}")
    if len(values) != count:
        raise ValueError(f"{name} has {len(values)} values, and there are {count} {of}")


def row_of(
    name: str, prompt: Any, completion: Any, metadata: Mapping[str, Any], *, column: str = ""
) -> RewardRow:
    """One row; never raises because of its data.

    Args:
        name: See `RewardRow`.
        prompt: A text, a message or a list of messages; None for none.
        completion: The same.
        metadata: The row's other columns.
        column: The metadata's key of the reference; by default the first usual one that is there.
    """
    try:
        keys = (column,) if column else ROLES["reference"]
        values, left_out = _plain_values(metadata, keys)
        reference = next((values[key] for key in keys if _is_reference(values.get(key), key, column)), None)
        return RewardRow(name, thread_of(prompt, completion, values), reference, left_out=left_out)
    except (TypeError, ValueError, NotPlainError) as error:
        return RewardRow(name, None, problem=str(error)[:_PROBLEM_LENGTH])


def _is_reference(value: Any, key: str, column: str) -> bool:
    """Whether a column's value can be the reference: a boolean under `label` is a verdict, unless it was named."""
    return value is not None and not (isinstance(value, bool) and key == "label" and not column)


def labelled_row(
    name: str,
    prompt: Any,
    completion: Any,
    label: Any,
    metadata: Any = None,
    *,
    column: str = "",
) -> RewardRow:
    """One row of a trainer that passes a label without its column's name: see `row_of` and `with_reference`."""
    if not isinstance(metadata, Mapping | None):
        return RewardRow(name, None, problem=f"the metadata must be a dict, not {type(metadata).__name__}")
    return _completed_row(name, prompt, completion, with_reference(metadata, label, column=column), column)


def with_column(row: RewardRow, column: str) -> RewardRow:
    """The row with its reference in that column as well, or with that column's value as the reference.

    Args:
        row: A row.
        column: The column of the references; "" to return the row unchanged.
    """
    if not column or row.thread is None:
        return row
    turns, own, *rest = row.thread.to_wire()
    metadata = {**(own or {}), **({} if row.reference is None else {column: row.reference})}
    thread = StringThread.from_wire((turns, metadata, *rest))
    return replace(row, thread=thread, reference=metadata.get(column))


def _plain_values(
    metadata: Mapping[str, Any], references: Collection[str]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The columns whose values can be sent to a worker, and the kinds of the others, such as pictures.

    Raises:
        NotPlainError: A reference that cannot be sent, or plain values that are too deep.
    """
    values, left_out = {}, []
    made: dict[int, Any] = {}  # by identity: a label is under every usual name, and is converted once
    for key, value in metadata.items():
        try:
            if id(value) not in made:
                made[id(value)] = plain(value)
            values[str(key)] = made[id(value)]
        except NotPlainError as error:
            if key in references or not isinstance(error, ObjectError):
                raise NotPlainError(f"column {key!r} contains {error}") from None
            left_out.append(f"column {key!r} contains {error}")
    return values, tuple(left_out)


def thread_of(prompt: Any, completion: Any, metadata: Any) -> StringThread:
    """The conversation of a prompt and its completion.

    Raises:
        TypeError: Neither text nor messages.
        ValueError: A message without a role, or more than `MAX_TURNS` of them.
    """
    if isinstance(prompt, str) and isinstance(completion, str):  # the usual case, and twice as fast
        return StringThread([("user", _text(prompt)), ("assistant", _text(completion))], metadata)
    if completion is None:
        raise TypeError("the completion is None")
    messages = [*_messages(prompt, "user"), *_messages(completion, "assistant")]
    if len(messages) > MAX_TURNS:
        raise ValueError(f"the conversation has {len(messages):,} turns; expected at most {MAX_TURNS:,}")
    thread = StringThread.from_messages(messages, metadata)
    turns, _, calls, tools, answers = thread.to_wire()
    if calls is None and tools is None:
        return thread
    # Each turn's calls alone: `plain` would turn the indices of the turns into text.
    plain_calls = {turn: plain(turn_calls) for turn, turn_calls in (calls or {}).items()} or None
    return StringThread.from_wire((turns, metadata, plain_calls, plain(tools), answers))


def _messages(value: Any, role: str) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, str):
        return [{"role": role, "content": value}]
    if isinstance(value, list):  # before the abstract types, whose check takes longer than the rest
        return value
    if isinstance(value, Mapping):
        return [value]
    if isinstance(value, Sequence) or hasattr(value, "tolist"):
        return list(value)
    raise TypeError(f"a conversation must be text or messages, not {type(value).__name__}")


def _completed_row(
    name: str, prompt: Any, completion: Any, metadata: Mapping[str, Any], column: str
) -> RewardRow:
    """`row_of` for trainers: a completion without an assistant message is missing, not empty."""
    if isinstance(completion, Mapping | list | tuple):
        messages = [completion] if isinstance(completion, Mapping) else completion
        if not any(_says(message) for message in messages):
            return RewardRow(name, None, problem="the completion has no assistant message")
    return row_of(name, prompt, completion, metadata, column=column)


def _says(message: Any) -> bool:
    """Whether a message is one of the assistant's with a content or tool calls."""
    if not isinstance(message, Mapping):
        return True  # which `from_messages` reads, or rejects with the reason
    is_said = message.get("content") is not None or bool(message.get("tool_calls"))
    return is_said and message.get("role") == "assistant"


def _text(value: str) -> str:
    # Exactly text: an instance of a subclass cannot be sent to a worker.
    return value if type(value) is str else str.__str__(value)


def with_reference(metadata: Mapping[str, Any] | None, reference: Any, *, column: str = "") -> dict[str, Any]:
    """Metadata with the reference under every usual name, for trainers that drop its column's name.

    Args:
        metadata: The row's columns; their values stay.
        reference: The row's label; None if it has none.
        column: Another name for it, the first one.

    Under the first name it is the reference, even if the row has a column of that name; other columns of the row stay,
    unless they are empty.
    """
    columns = dict(metadata or {})
    if reference is None:
        return columns
    names = (*filter(None, [column]), *LABEL_NAMES)
    own = {key: value for key, value in columns.items() if value is not None}
    return {**columns, **dict.fromkeys(names, reference), **own, names[0]: reference}
