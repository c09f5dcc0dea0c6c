"""Tool calls with their arguments, compared with expected ones. Standard library only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.graders.rules.json_compare import Called, JsonComparison, matching
from workbench.graders.rules.structure import plain_json
from workbench.graders.rules.text import Verdict

Call = tuple[str, Any]
"""Name and arguments of a call; None for arguments that are not a JSON object."""


def last_calls(thread: Any, turns: str = "last") -> list[Any]:
    """The tool calls after the last user turn, or in all turns; none if the platform does not provide them."""
    if not hasattr(thread, "tool_calls"):
        return []
    if turns == "all" or not hasattr(thread, "turn_calls"):
        return list(thread.tool_calls())
    roles = [role for role, _ in thread.get_turns()]
    start = len(roles) - roles[::-1].index("user") if "user" in roles else 0
    return [call for at in range(start, len(roles)) for call in thread.turn_calls(at)]


def read_calls(records: Sequence[Any]) -> list[Call]:
    """The calls of a conversation, in order; a record without a name has the name ""."""
    return [_read(record) for record in records]


def _read(record: Any) -> Call:
    inner = record.get("function", record) if isinstance(record, Mapping) else {}
    inner = inner if isinstance(inner, Mapping) else record
    name = inner.get("name")
    given: Any = next(
        (inner[key] for key in ("arguments", "args", "parameters", "input") if key in inner), {}
    )
    if isinstance(given, str):
        try:
            given = plain_json(given) if given.strip() else {}
        except ValueError:
            given = None
    return (name if isinstance(name, str) else ""), (
        {} if given is None and "arguments" not in inner else given
    )


def expected_calls(expected: str) -> list[Call]:
    """The calls of a reference: a list or one of `{"name", "arguments"}`, OpenAI's records, or BFCL's `{"name": {...}}`.

    Raises:
        ValueError: It is something else.
    """
    try:
        value = plain_json(expected)
    except ValueError as error:
        raise ValueError(f"the reference: {error}") from None
    records = value if isinstance(value, list) else [value]
    calls = []
    for record in records:
        is_named = isinstance(record, Mapping) and ("name" in record or "function" in record)
        if isinstance(record, Mapping) and not is_named and len(record) == 1:
            calls.append(next(iter(record.items())))
        elif is_named:
            calls.append(_read(record))
        elif isinstance(record, str):
            calls.append((record, {}))
        else:
            calls.append(("", None))
    if any(not name or not isinstance(arguments, dict) for name, arguments in calls):
        raise ValueError(f"the reference {expected[:60]!r} is not a list of calls with a name and arguments")
    return calls


def tool_calls(
    records: Sequence[Any],
    expected: str,
    *,
    mode: str = "unordered",
    arguments: str = "exact",
    measure: str = "equal",
    call: Called | None = None,
    **settings: Any,
) -> Verdict:
    """Whether the calls are the expected ones, with their arguments.

    Args:
        records: The calls, as in a conversation.
        expected: The expected calls, as JSON.
        mode: "strict", "unordered", "subset" or "superset".
        arguments: "exact", "subset", "superset" or "ignore".
        measure: "equal", or "f1" of the calls.
        call: Grades the arguments whose matcher is a grader.
        settings: `keys`, `optional`, `allowed_lists`, `tolerance`, `relative`, `ignore_case`, `order`.

    Raises:
        ValueError: The reference is not a list of calls.
    """
    wanted, made = expected_calls(expected), read_calls(records)

    def fits(one: Call, other: Call) -> bool:
        return _fits(one, other, arguments, settings, call)

    pairs = _in_order(made, wanted, fits) if mode == "strict" else matching(made, wanted, fits)
    matched = sum(one is not None for one in pairs)
    missing = [wanted[at] for at, one in enumerate(pairs) if one is None]
    extra = [one for at, one in enumerate(made) if at not in pairs]
    details = {
        "matched": matched,
        **({"missing": [_shown(one) for one in missing][:20]} if missing else {}),
        **({"extra": [_shown(one) for one in extra][:20]} if extra else {}),
    }
    right = _is_right(mode, made, wanted, missing, extra)
    reason = _reason(missing, extra) or "The expected calls"
    if measure == "f1":
        total = len(made) + len(wanted)
        return (2 * matched / total if total else 1.0), reason, details
    return float(right), reason, details


def _is_right(
    mode: str, made: Sequence[Call], wanted: Sequence[Call], missing: Sequence[Call], extra: Sequence[Call]
) -> bool:
    if mode == "subset":
        # No call is a subset of every list, and would pass every row.
        return not extra and (bool(made) or not wanted)
    return not missing and ((mode == "superset" and bool(wanted)) or not extra)


def _in_order(made: Sequence[Call], wanted: Sequence[Call], fits: Any) -> list[int | None]:
    """The calls that fit in order: the longest common subsequence."""
    lengths = [[0] * (len(made) + 1) for _ in range(len(wanted) + 1)]
    if len(made) * len(wanted) > 40_000:
        raise ValueError(f"{len(made)} calls are too many to be compared in order")
    for at in range(len(wanted) - 1, -1, -1):
        for index in range(len(made) - 1, -1, -1):
            same = lengths[at + 1][index + 1] + 1 if fits(made[index], wanted[at]) else 0
            lengths[at][index] = max(same, lengths[at + 1][index], lengths[at][index + 1])
    chosen: list[int | None] = [None] * len(wanted)
    at = index = 0
    while at < len(wanted) and index < len(made):
        if fits(made[index], wanted[at]) and lengths[at][index] == lengths[at + 1][index + 1] + 1:
            chosen[at] = index
            at, index = at + 1, index + 1
        elif lengths[at + 1][index] >= lengths[at][index + 1]:
            at += 1
        else:
            index += 1
    return chosen


def _fits(made: Call, wanted: Call, arguments: str, settings: Mapping[str, Any], call: Called | None) -> bool:
    name, given = made
    if name != wanted[0]:
        return False
    if arguments == "ignore":
        return True
    if not isinstance(given, dict):
        return False
    expected, optional = wanted[1], _named(settings.get("optional") or (), name)
    for key, value in given.items():
        if key not in expected and arguments in {"exact", "subset"} and key not in optional:
            return False
        if key in expected and not _is_value(value, expected[key], f"{name}.{key}", key, settings, call):
            return False
    missing = [
        key for key in expected if key not in given and not _may_miss(key, expected[key], optional, settings)
    ]
    return arguments == "subset" or not missing


def _named(paths: Sequence[str], name: str) -> set[str]:
    """The arguments that paths such as "search.limit" or "limit" mean in a call of this name."""
    return {path.removeprefix(f"{name}.") for path in paths}


def _may_miss(key: str, expected: Any, optional: set[str], settings: Mapping[str, Any]) -> bool:
    # BFCL lists "" among the allowed values of an argument that may be missing.
    is_listed = bool(settings.get("allowed_lists")) and isinstance(expected, list) and "" in expected
    return key in optional or is_listed


def _is_value(
    found: Any, expected: Any, path: str, key: str, settings: Mapping[str, Any], call: Called | None
) -> bool:
    rules = settings.get("keys") or {}
    rule = rules.get(path, rules.get(key))
    choices = expected if settings.get("allowed_lists") and isinstance(expected, list) else [expected]
    inner = {
        name: settings.get(name)
        for name in ("tolerance", "relative", "ignore_case", "order")
        if settings.get(name) is not None
    }
    for choice in choices:
        comparison = JsonComparison({**inner, "keys": {path: rule} if rule is not None else {}}, call)
        comparison.compare(found, _plain(choice, settings), path)
        if comparison.is_right:
            return True
    return False


def _plain(choice: Any, settings: Mapping[str, Any]) -> Any:
    """An allowed object of BFCL, whose values are lists of allowed values, if each of these has one value."""
    is_object = settings.get("allowed_lists") and isinstance(choice, dict)
    if is_object and all(isinstance(value, list) and len(value) == 1 for value in choice.values()):
        return {key: value[0] for key, value in choice.items()}
    return choice


def _shown(call: Call) -> str:
    name, arguments = call
    given = "not a JSON object" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    return f"{name or '(no name)'}({given})"[:200]


def _reason(missing: Sequence[Call], extra: Sequence[Call]) -> str:
    parts = (("missing", missing), ("not expected", extra))
    return "; ".join(f"{name}: {', '.join(map(_shown, calls))}" for name, calls in parts if calls)[:400]
