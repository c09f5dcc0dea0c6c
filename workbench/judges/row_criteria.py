"""The criteria of a row's rubric: read from a cell in the forms of public data sets, and the score of a judge's verdicts on them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.data.samples.plain import NotPlainError, plain

_TEXT_KEYS = (
    "criterion",
    "criteria",
    "requirements",
    "requirement",
    "description",
    "text",
    "rubric",
    "title",
)
"""Names of a criterion's text: HealthBench's, PaperBench's and those of other public rubrics."""
_POINTS_KEYS = ("points", "weight", "score")
_NAME_KEYS = ("id", "name", "title")
_LIST_KEYS = ("rubrics", "rubric", "criteria", "items")
"""Names of the list in an object that contains nothing but a rubric."""
_CHILD_KEYS = ("sub_tasks", "children")
"""Names of the list of parts in a tree."""
_MAX_CRITERIA = 1_000
"""Maximum criteria of one row. Workbench limit: twice the leaves of the largest public rubric tree."""
_MAX_DEPTH = 50
_LINE_MARK = re.compile(r"\s*(?:[-*\u2022]|\d{1,3}[.)])\s+")
"""The bullet or number in front of a criterion in a text with one criterion per line."""


class RubricError(ValueError):
    """A cell does not contain a rubric; the message gives the criterion and what was found."""


@dataclass(frozen=True)
class RowCriterion:
    """One criterion of a row.

    Attributes:
        text: What is checked.
        points: Added to the earned points if it is met. Below 0 for a fault.
        name: Its id or title; "" if it has none.
        tags: HealthBench's tags, such as "axis:accuracy".
        parents: Texts of the nodes above it in a tree, the root first.
        label: Whether an annotator found it met; None if unlabelled. A judge never sees it.
    """

    text: str
    points: float = 1.0
    name: str = ""
    tags: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    label: bool | None = None

    @property
    def shown(self) -> str:
        """The criterion as a judge reads it: the text and those of its parents, further lines indented below its number."""
        shown = f"{self.text} (part of: {' > '.join(self.parents)})" if self.parents else self.text
        return "\n   ".join(shown.splitlines())


def read_criteria(cell: Any) -> tuple[RowCriterion, ...]:
    """The criteria of a cell.

    Forms: a list of objects with `criterion` and `points` (HealthBench), or with other usual names of the two; a list
    of texts; an object of text to points; a tree with `requirements`, `weight` and `sub_tasks` (PaperBench); any of these
    as JSON text, or inside an object under `rubrics` or `criteria`; a text with one bullet or number per line. Points are 1
    by default. In a tree a leaf's points are the product of the weights on its path, each as a share of the positive
    weights next to it, so that the points of a tree without faults sum to 1.

    Raises:
        RubricError: The cell is none of these, or has no criterion with points above 0.
    """
    try:
        value = plain(cell)
    except NotPlainError as error:
        raise RubricError(f"the rubric is not data: {error}") from None
    criteria = tuple(_read(value))
    if not criteria:
        raise RubricError("the rubric is empty")
    if len(criteria) > _MAX_CRITERIA:
        raise RubricError(f"the rubric has {len(criteria):,} criteria; at most {_MAX_CRITERIA:,} are read")
    if not possible_points(criteria) > 0:
        raise RubricError("no criterion of the rubric has points above 0, so there is no highest score")
    return criteria


def possible_points(criteria: Sequence[RowCriterion]) -> float:
    """The points of a completion that meets all criteria with points above 0, and no other."""
    return math.fsum(max(criterion.points, 0.0) for criterion in criteria)


def earned_points(criteria: Sequence[RowCriterion], met: Sequence[bool]) -> float:
    """The points of the criteria that are met."""
    return math.fsum(criterion.points for criterion, is_met in zip(criteria, met, strict=True) if is_met)


def _read(value: Any) -> Iterator[RowCriterion]:
    if isinstance(value, str):
        yield from _of_text(value)
    elif isinstance(value, list) and any(map(_has_parts, value)):
        yield from _leaves({_CHILD_KEYS[0]: value}, 1.0, (), 0)
    elif isinstance(value, list):
        for number, item in enumerate(value, 1):
            yield _criterion(item, f"criterion {number}")
    elif isinstance(value, Mapping):
        yield from _of_object(value)
    elif value is not None:
        raise RubricError(f"a rubric must be a list of criteria, not {type(value).__name__}")


def _of_text(text: str) -> Iterator[RowCriterion]:
    stripped = text.strip()
    if stripped.startswith(("[", "{")):
        try:
            yield from _read(json.loads(stripped))
        except (json.JSONDecodeError, RecursionError) as error:
            raise RubricError(f"the rubric looks like JSON and cannot be parsed: {error}"[:200]) from None
        return
    lines = [line for line in stripped.splitlines() if line.strip()]
    marks = [_LINE_MARK.match(line) for line in lines]
    if len(lines) > 1 and not all(marks):
        line = lines[marks.index(None)].strip()
        raise RubricError(
            f"a rubric as text needs one criterion per line, each after '- ' or a number; this line has none: {line[:80]!r}"
        )
    yield from (
        RowCriterion(line[mark.end() if mark else 0 :].strip())
        for line, mark in zip(lines, marks, strict=True)
    )


def _of_object(value: Mapping[str, Any]) -> Iterator[RowCriterion]:
    if _has_parts(value):
        yield from _leaves(value, 1.0, (), 0)
        return
    wrapped = next((key for key in _LIST_KEYS if isinstance(value.get(key), list | Mapping)), None)
    if wrapped is not None:
        yield from _read(value[wrapped])
    elif value and all(map(_is_points, value.values())):
        yield from (_checked(RowCriterion(text, float(points))) for text, points in value.items())
    else:
        yield _criterion(value, "criterion 1")


def _has_parts(value: Any) -> bool:
    return isinstance(value, Mapping) and any(value.get(key) for key in _CHILD_KEYS)


def _leaves(
    node: Mapping[str, Any], share: float, parents: tuple[str, ...], depth: int
) -> Iterator[RowCriterion]:
    """The leaves of a tree, each with its share of the whole."""
    if depth > _MAX_DEPTH:
        raise RubricError(f"the rubric is a tree of more than {_MAX_DEPTH} levels")
    children = next((node[key] for key in _CHILD_KEYS if node.get(key)), None)
    where = " > ".join([*parents, str(_first(node, _TEXT_KEYS) or "")])[:200] or "the root"
    if children is None:
        yield _criterion({**node, "weight": share, "points": None, "score": None}, where, parents)
        return
    if not isinstance(children, list):
        raise RubricError(f"the parts of {where!r} must be a list, not {type(children).__name__}")
    if share < 0:
        raise RubricError(
            f"{where!r} has a weight below 0 and parts; only a criterion without parts may have one"
        )
    weights = [_points(child, f"a part of {where!r}") for child in children]
    total = math.fsum(max(weight, 0.0) for weight in weights)
    if not total > 0:
        raise RubricError(f"no part of {where!r} has a weight above 0")
    below = (*parents, text) if (text := str(_first(node, _TEXT_KEYS) or "").strip()) else parents
    for child, weight in zip(children, weights, strict=True):
        yield from _leaves(child, share * weight / total, below, depth + 1)


def _criterion(item: Any, where: str, parents: tuple[str, ...] = ()) -> RowCriterion:
    if isinstance(item, str):
        return _checked(RowCriterion(item.strip(), parents=parents), where)
    if not isinstance(item, Mapping):
        raise RubricError(f"{where} must be a text or an object, not {item!r}"[:200])
    text = _first(item, _TEXT_KEYS)
    if not isinstance(text, str) or not text.strip():
        keys = ", ".join(map(str, item)) or "none"
        raise RubricError(
            f"{where} has no text; its keys are {keys}; expected {', '.join(_TEXT_KEYS[:4])}"[:300]
        )
    tags = item.get("tags")
    label = item.get("label")
    if not (label is None or isinstance(label, bool)):
        raise RubricError(f"the label of {where} must be true or false, not {label!r}"[:200])
    name = _first(item, _NAME_KEYS)
    return RowCriterion(
        text.strip(),
        _points(item, where),
        "" if name is None or name == text else str(name),
        tuple(map(str, tags)) if isinstance(tags, list) else (),
        parents,
        label,
    )


def _checked(criterion: RowCriterion, where: str = "a criterion") -> RowCriterion:
    if not criterion.text:
        raise RubricError(f"{where} has no text")
    return criterion


def _points(item: Any, where: str) -> float:
    """The points of an object: 1 without, and a number in a text counts."""
    if not isinstance(item, Mapping):
        if isinstance(item, str):
            return 1.0
        raise RubricError(f"{where} must be an object, not {item!r}"[:200])
    value = _first(item, _POINTS_KEYS)
    if value is None:
        return 1.0
    try:
        number = float(value) if isinstance(value, str) or _is_points(value) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise RubricError(f"the points of {where} must be a number, not {value!r}"[:300])
    return number


def _is_points(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _first(item: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((item[key] for key in keys if item.get(key) is not None), None)
