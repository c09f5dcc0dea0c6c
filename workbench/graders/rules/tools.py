"""The rule of tool calls, as Umbraco's test runner has it. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.graders.rules.verdict import Verdict, listed, verdict


def tool_names(calls: Sequence[Any]) -> list[str]:
    """The names of calls, in order: `function.name` or `name`; a record without one is omitted."""
    records = [call for call in calls if isinstance(call, Mapping)]
    inner = [call["function"] if isinstance(call.get("function"), Mapping) else call for call in records]
    return [name for name in (call.get("name") for call in inner) if isinstance(name, str) and name]


def tool_call(
    actual: Sequence[str],
    *,
    expected: tuple[str, ...],
    mode: str = "any",
    order: bool = False,
    ignore_case: bool = False,
) -> Verdict:
    """Whether the tools called are the expected ones, in one of the modes; see `ToolCallMatch`."""
    expected_keys = [name.lower() if ignore_case else name for name in expected]
    called_keys = [name.lower() if ignore_case else name for name in actual]
    passed, wrong = _in_mode(mode, (expected_keys, called_keys), (expected, actual))
    if passed and order and mode in {"all", "exact"}:
        expected_set = set(expected_keys)
        passed = [name for name in called_keys if name in expected_set] == expected_keys
        relevant_calls = [name for name, key in zip(actual, called_keys, strict=True) if key in expected_set]
        wrong = f"Tool call order mismatch. Expected: {listed(expected)}, Got: {listed(relevant_calls)}"
    return verdict(passed, f"Tools called: {listed(actual)}", wrong, toolCalls=list(actual))


def _in_mode(
    mode: str, keys: tuple[list[str], list[str]], names: tuple[Sequence[str], Sequence[str]]
) -> tuple[bool, str]:
    (expected_keys, called_keys), (expected, actual) = keys, names
    called_set = set(called_keys)
    want, got = listed(expected), listed(actual)
    if not mode:
        return False, "Unknown validation mode"
    if mode == "any":
        return not called_set.isdisjoint(expected_keys), f"Expected at least one of {want} but got {got}"
    if mode == "none":
        return called_set.isdisjoint(expected_keys), f"Expected none of {want} but found matches"
    if mode == "set":
        return called_set == set(expected_keys), f"Expected the set {want} but got {got}"
    missing = [name for name, key in zip(expected, expected_keys, strict=True) if key not in called_set]
    if mode == "all":
        return not missing, f"Missing expected tools: {listed(missing)}"
    # Umbraco's Exact: as many calls as names, and every name among them. Neither a set nor a multiset test.
    return len(called_keys) == len(expected_keys) and not missing, f"Expected exactly {want} but got {got}"
