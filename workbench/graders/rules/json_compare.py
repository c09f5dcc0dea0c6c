"""JSON values compared by paths: numbers, orders of lists, matchers per path, weights. Standard library only."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from workbench.graders.rules.structure import plain_json
from workbench.graders.rules.text import Verdict

_MAX_PAIRS = 250_000
"""Pairs of items that are compared to match two lists without an order."""
Called = Callable[[str, Any, Any], float]
"""A grader of one path: path, value found, value expected, to a score from 0 to 1."""


def same_scalar(found: Any, expected: Any, rule: Mapping[str, Any] | None = None) -> bool:
    """Whether two scalars are equal: 12 equals 12.0, true is not 1, null equals null, "12" is not 12.

    Args:
        found: The value.
        expected: The expected value.
        rule: `tolerance` and `relative` for numbers, `ignore_case` for texts.
    """
    rule = rule or {}
    if isinstance(found, bool) or isinstance(expected, bool) or found is None or expected is None:
        return found is expected
    if isinstance(found, str) and isinstance(expected, str):
        return found == expected or (
            bool(rule.get("ignore_case")) and found.strip().casefold() == expected.strip().casefold()
        )
    if isinstance(found, int | float) and isinstance(expected, int | float):
        margin = max(rule.get("tolerance", 0), rule.get("relative", 0) * abs(expected))
        return found == expected or (bool(margin) and abs(found - expected) <= margin)
    return False


def equal_json(
    found: Any, expected: Any, *, order: bool = True, rule: Mapping[str, Any] | None = None
) -> bool:
    """Whether two values are equal, with lists in order or in any."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() == expected.keys() and all(
            equal_json(found[key], expected[key], order=order, rule=rule) for key in expected
        )
    if isinstance(found, list) and isinstance(expected, list):
        if len(found) != len(expected):
            return False
        if order:
            return all(equal_json(one, other, rule=rule) for one, other in zip(found, expected, strict=True))
        return (
            matching(
                found, expected, lambda one, other: equal_json(one, other, order=False, rule=rule)
            ).count(None)
            == 0
        )
    return same_scalar(found, expected, rule)


def matching(
    found: Sequence[Any], expected: Sequence[Any], fits: Callable[[Any, Any], bool]
) -> list[int | None]:
    """For each expected item the index of a found item that fits it, each used once, for as many as possible.

    Raises:
        ValueError: There are too many pairs.
    """
    if len(found) * len(expected) > _MAX_PAIRS:
        raise ValueError(
            f"lists of {len(found)} and {len(expected)} items are too long to be compared in any order"
        )
    pairs = [[at for at, one in enumerate(found) if fits(one, other)] for other in expected]
    taken: dict[int, int] = {}
    for start in range(len(expected)):
        # An augmenting path, without recursion: long chains of items that fit each other are possible.
        came: dict[int, int] = {}
        stack = [start]
        while stack:
            at = stack.pop()
            free = next((one for one in pairs[at] if one not in taken and one not in came), None)
            if free is not None:
                came[free] = at
                _reassign(free, came, taken, start)
                break
            for one in pairs[at]:
                if one not in came:
                    came[one] = at
                    stack.append(taken[one])
    result: list[int | None] = [None] * len(expected)
    for one, at in taken.items():
        result[at] = one
    return result


def _reassign(item: int, came: Mapping[int, int], taken: dict[int, int], start: int) -> None:
    at = came[item]
    while at != start:
        item_before = next(one for one, owner in taken.items() if owner == at)
        taken[item] = at
        item, at = item_before, came[item_before]
    taken[item] = at


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The scalars and empty containers of a value with their paths: `a.b`, `items[0].price`; "" for the value itself."""
    inner: Sequence[tuple[str, Any]] = ()
    if isinstance(value, dict):
        inner = [(f"{path}.{key}" if path else str(key), item) for key, item in value.items()]
    elif isinstance(value, list):
        inner = [(f"{path}[{at}]", item) for at, item in enumerate(value)]
    if not inner:
        yield path, value
    for name, item in inner:
        yield from leaves(item, name)


def general(path: str) -> str:
    """A path with every index left out: `items[].price`."""
    head, *rest = path.split("[")
    return head + "".join("[]" + part.partition("]")[2] for part in rest)


class JsonComparison:
    """The comparison of one value with the expected one.

    Attributes:
        scores: Score by path of the expected value; of other paths, 0.0 each, in `extra`.
    """

    def __init__(self, settings: Mapping[str, Any], call: Called | None = None) -> None:
        self.rules: Mapping[str, Any] = settings.get("keys") or {}
        self.settings = settings
        self.call = call
        self.scores: dict[str, float] = {}
        self.extra: list[str] = []
        self.missing: list[str] = []

    def compare(self, found: Any, expected: Any, path: str = "") -> None:
        """Add the scores of an expected value's paths."""
        rule = self.rules.get(path, self.rules.get(general(path)))
        if rule == "ignore":
            return
        if rule is not None and not isinstance(rule, Mapping) and rule != "unordered":
            self.scores[path] = self._matched(rule, path, found, expected)
        elif isinstance(expected, dict) and expected:
            self._objects(found if isinstance(found, dict) else {}, expected, path)
        elif isinstance(expected, list) and expected:
            self._lists(found if isinstance(found, list) else [], expected, path, rule)
        else:
            # An empty container has no paths, so that everything in the found one is additional.
            self._extras(found, expected, path)
            same = (
                found == expected
                if isinstance(expected, dict | list)
                else same_scalar(found, expected, self._scalar_rule(rule))
            )
            self.scores[path] = float(
                same and type(found) is type(expected) if isinstance(expected, dict | list) else same
            )

    def _scalar_rule(self, rule: Any) -> Mapping[str, Any]:
        return {**self.settings, **rule} if isinstance(rule, Mapping) else self.settings

    def _matched(self, rule: Any, path: str, found: Any, expected: Any) -> float:
        if rule == "exact":
            return float(equal_json(found, expected))
        if rule == "present":
            return 1.0
        if rule == "type":
            return float(_kind(found) == _kind(expected))
        if rule == "ignore_case":
            return float(equal_json(found, expected, rule={"ignore_case": True}))
        if self.call is None:
            raise ValueError(f"unknown matcher {rule!r}")
        return self.call(path, found, expected)

    def _objects(self, found: Mapping[str, Any], expected: Mapping[str, Any], path: str) -> None:
        for key, value in expected.items():
            inner = f"{path}.{key}" if path else str(key)
            if key in found:
                self.compare(found[key], value, inner)
            elif self.rules.get(general(inner)) != "ignore" and self.settings.get("missing") != "ignore":
                self.missing.append(inner)
                self.scores.update((name, 0.0) for name, _ in leaves(value, inner))
        for key in found:
            inner = f"{path}.{key}" if path else str(key)
            if key not in expected and self.rules.get(general(inner)) != "ignore":
                self.extra.append(inner)

    def _lists(self, found: Sequence[Any], expected: Sequence[Any], path: str, rule: Any) -> None:
        if rule == "unordered" or (rule is None and not self.settings.get("order", True)):
            chosen = matching(found, expected, self._fits(path))
            for at, index in enumerate(chosen):
                if index is not None:
                    self.compare(found[index], expected[at], f"{path}[{at}]")
            rest = [one for at, one in enumerate(found) if at not in chosen]
            left = [at for at, index in enumerate(chosen) if index is None]
        else:
            for at, (one, other) in enumerate(zip(found, expected, strict=False)):
                self.compare(one, other, f"{path}[{at}]")
            rest, left = list(found[len(expected) :]), list(range(len(found), len(expected)))
        for at in left:
            self.missing.append(f"{path}[{at}]")
            self.scores.update((name, 0.0) for name, _ in leaves(expected[at], f"{path}[{at}]"))
        self.extra += [f"{path}[{len(expected) + at}]" for at in range(len(rest))]

    def _fits(self, path: str) -> Callable[[Any, Any], bool]:
        def fits(one: Any, other: Any) -> bool:
            inner = JsonComparison(self.settings, self.call)
            inner.compare(one, other, f"{path}[0]")
            return inner.is_right

        return fits

    def _extras(self, found: Any, expected: Any, path: str) -> None:
        if isinstance(expected, dict) and isinstance(found, dict):
            self._objects(found, expected, path)
        elif isinstance(expected, list) and isinstance(found, list):
            self.extra += [f"{path}[{at}]" for at in range(len(found))]

    @property
    def is_right(self) -> bool:
        """Whether every path is right, and nothing is there that must not be."""
        return all(score >= 1.0 for score in self.scores.values()) and not (
            self.extra and self.settings.get("extra") != "ignore"
        )


def _kind(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(type(value))
    return "number" if isinstance(value, int | float) else type(value).__name__


def _shares(paths: Sequence[str], weights: Mapping[str, float]) -> dict[str, float]:
    """The weight of each path: that of its longest declared prefix, 1 for its top-level key without one, shared by its paths."""
    owners = {path: _owner(path, weights) for path in paths}
    counts: dict[str, int] = {}
    for owner in owners.values():
        counts[owner] = counts.get(owner, 0) + 1
    return {path: weights.get(owner, 1.0) / counts[owner] for path, owner in owners.items()}


def _owner(path: str, weights: Mapping[str, float]) -> str:
    prefix = path
    while prefix:
        for name in (prefix, general(prefix)):
            if name in weights:
                return name
        cut = max(prefix.rfind("."), prefix.rfind("["))
        prefix = prefix[:cut] if cut > 0 else ""
    return path.split(".", maxsplit=1)[0].split("[", maxsplit=1)[0] or path


def json_match(
    text: str,
    expected: str,
    *,
    call: Called | None = None,
    measure: str = "equal",
    fenced: str = "reject",
    weights: Mapping[str, float] | None = None,
    **settings: Any,
) -> Verdict:
    """How far a JSON text is the expected one, by its paths.

    Args:
        text: The completion.
        expected: The expected JSON.
        call: Grades the paths whose matcher is a grader.
        measure: "equal" (all paths are right) or "share" (the weighted share of them).
        fenced: As in `json_in`.
        weights: Weights by path.
        settings: `keys`, `order`, `missing`, `extra`, `tolerance`, `relative`, `ignore_case`.

    Raises:
        ValueError: The reference is not JSON.
    """
    try:
        wanted = plain_json(expected)
    except ValueError as error:
        raise ValueError(f"the reference: {error}") from None
    try:
        found = plain_json(text, fenced)
    except ValueError as error:
        return 0.0, str(error), {"failure": "json"}
    comparison = JsonComparison(settings, call)
    try:
        comparison.compare(found, wanted)
    except RecursionError:
        return 0.0, "Invalid JSON: nested too deeply", {"failure": "json"}
    extra = comparison.extra if settings.get("extra") != "ignore" else []
    details: dict[str, Any] = {"keys": dict(list(comparison.scores.items())[:200])}
    details |= {
        name: paths[:50] for name, paths in (("missing", comparison.missing), ("extra", extra)) if paths
    }
    wrong = [path or "the value" for path, score in comparison.scores.items() if score < 1.0]
    reason = "; ".join(
        f"{name}: {', '.join(paths)}" for name, paths in (("wrong", wrong), ("extra", extra)) if paths
    )
    if measure == "equal":
        return float(comparison.is_right), (reason or "The expected JSON")[:300], details
    scores = {**comparison.scores, **dict.fromkeys(extra, 0.0)}
    shares = _shares(list(scores), weights or {})
    total = sum(shares.values())
    score = (
        sum(scores[path] * share for path, share in shares.items()) / total
        if total
        else float(comparison.is_right)
    )
    return score, (reason or "The expected JSON")[:300], details


def as_json_text(value: Any) -> str:
    """A value as a text for a grader: texts unchanged, others as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
