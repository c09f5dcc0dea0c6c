"""Read a target's file: the graders of an exported file, or a trainer's native function by its signature."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from workbench.core.errors import FormatError
from workbench.formats.shared import Reading
from workbench.formats.shared.parsing import MAX_PYTHON, Node, parse_python
from workbench.formats.shared.training_code import essential, has_weights, trainer_weights
from workbench.formats.shared.writing import no_grader
from workbench.formats.targets.module import SETTINGS, compose, decompose
from workbench.formats.targets.target import ENTRY_SETTINGS, LIMITS, ExportPlan, OwnJudge, Part, Target
from workbench.graders import FunctionGrader
from workbench.graders.base import from_spec
from workbench.graders.capture.analysis import signature_of_target
from workbench.graders.capture.source_edit import parsed
from workbench.graders.combine import CombiningRule, Entry, Sum
from workbench.judges.kinds import Judge
from workbench.report.certificate import Certificate, comment_lines
from workbench.run.suite import Suite

_ENTRY = (*ENTRY_SETTINGS, "on_error")
_TEXT = (
    "target",
    "version",
    "name",
    "description",
    "combine",
    "on_error",
    "reference",
    "graders",
    "judges",
    "certificate",
)
_KNOWN_OF_JUDGES = ("name", "function", "at", *_ENTRY, "spec")
_KNOWN = ("name", "function", *_ENTRY, *LIMITS, "opposite", "verdict", "signature")


def read(target: Target, reading: Reading) -> Suite:
    """The suite of a target's file.

    Raises:
        FormatError: No grader in it, or generated lines were edited.
    """
    parse_python(reading.text, reading.where)
    text = reading.text.replace("\r\n", "\n")
    found = decompose(text)
    if found is not None:
        return _own(target, found, text, reading)
    if f"\n{SETTINGS}" in text:
        raise FormatError(
            "the settings of this file cannot be read", where=reading.where, expected="a line of JSON",
            hint="export the graders again",
        )  # fmt: skip
    if target.signature and (names := _functions(text, target.signature)):
        return _weighted([_theirs(target, name, reading) for name in names], reading)
    raise no_grader(text, reading.where, f"{target.title}: only files that `wb.export` wrote are supported")


def _weighted(graders: list[FunctionGrader], reading: Reading) -> Suite:
    """The rewards of a script; combined as its trainer does if it has their weights."""
    weights = trainer_weights(reading.text)
    if not weights or not weights.keys() <= {one.name for one in graders}:
        if len(graders) > 1 and has_weights(reading.text):
            reading.note(
                "",
                "the weights of the trainer were not read, since they are not a list of numbers for these rewards",
            )
        return Suite(graders)
    reading.note(
        "",
        f"weights of the trainer: {', '.join(f'{name} {weight:g}' for name, weight in weights.items())}; other rewards have weight 0",
    )
    return Suite([Entry(one, one.name, weight=weights.get(one.name, 0.0)) for one in graders], combine=Sum())


def detects(target: Target, document: Any, text: str) -> int:
    """Confidence that a text is for this target: 2 for an exported file, and for a function only this target has."""
    if document is not None or len(text) > MAX_PYTHON:
        return 0
    if f"\n{SETTINGS}" in text:
        found = decompose(text)
        return 2 if found is not None and found[0].get("target") == target.name else 0
    return 2 if target.signature and _functions(text, target.signature) else 0


def _functions(text: str, signature: str) -> list[str]:
    """The names of the top-level functions of that signature, in their order."""
    tree = parsed(text)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    functions = [node for node in (tree.body if tree else ()) if isinstance(node, kinds)]
    return list(dict.fromkeys(node.name for node in functions if signature_of_target(node) == signature))


def _theirs(target: Target, name: str, reading: Reading) -> FunctionGrader:
    # A function that every such file has is named after its file, if there is one.
    stem = PurePath(reading.where).stem if reading.folder and name in {"compute_score", "reward_func"} else ""
    try:
        grader = FunctionGrader.from_source(
            essential(reading.text, name),
            imported=True,
            function=name,
            signature=target.signature,
            name=stem or name,
        )
    except ValueError as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError("cannot capture the module", where=reading.where, found=str(error)[:300]) from error
    return grader.trusted() if reading.trust else grader


def companions(target: Target, text: str, stem: str) -> Mapping[str, str]:
    """The companions of an exported file, by name; none if it was edited.

    Args:
        target: Its target.
        text: The file's.
        stem: Its name without the ending.
    """
    found = decompose(text) if target.own_judges is not None else None
    if found is None or target.own_judges is None:
        return {}
    try:
        plan = _planned(target, found, text, Reading(text))[-1]
        return target.own_judges.files(plan, text, stem) if plan.own_judges else {}
    except ValueError:
        return {}


_Found = tuple[Mapping[str, Any], list[str], tuple[str, ...]]
"""Settings, the graders' texts, and the certificate's lines, as `decompose` gives them."""


def _planned(
    target: Target, found: _Found, text: str, reading: Reading
) -> tuple[Node, list[Node], ExportPlan]:
    """The settings of an exported file, those of its graders, and the plan that it was generated from."""
    settings, texts, certificate = found
    node = Node(settings, f"{reading.where}, settings").only(*_TEXT)
    if settings.get("target") != target.name:
        raise node.at("target").refuse(
            "this file was written for another target",
            found=repr(settings.get("target"))[:80],
            expected=target.name,
        )
    for at, one in enumerate(node.items("graders")):
        _refuse_judge(one, at)
    graders = [one.only(*_KNOWN) for one in node.items("graders")]
    own_judges = tuple(_own_judge(one.only(*_KNOWN_OF_JUDGES)) for one in node.items("judges"))
    if not (graders or own_judges) or len(graders) != len(texts):
        raise node.refuse(
            "the settings do not match the graders between the marks",
            found=f"{len(texts)} texts", expected=f"{len(graders)}",
            hint="export the graders again, or restore the marks",
        )  # fmt: skip
    rule = CombiningRule.build(settings["combine"]) if node.has("combine") else None
    plan = replace(_plan(node, graders, texts, rule, certificate), own_judges=own_judges)
    _check_frame(target, plan, text, reading)
    return node, graders, plan


def _own(target: Target, found: _Found, text: str, reading: Reading) -> Suite:
    _, texts, certificate = found
    node, graders, plan = _planned(target, found, text, reading)
    entries = [_entry(one, own, reading) for one, own in zip(graders, texts, strict=True)]
    for one, judge in zip(node.items("judges"), plan.own_judges, strict=True):
        entries.insert(judge.at, one.made(Entry, judge.judge, judge.name, **_entry_settings(one)))
    title = {key: node.text(key) for key in ("name", "description") if node.has(key)}
    claims = node.at("certificate")
    claimed = (
        None
        if claims.value is None
        else _claimed(Certificate.build(claims.value, claims.path), certificate, reading)
    )
    return Suite(entries, combine=plan.rule, certificate=claimed, **title)


def _claimed(claim: Certificate, lines: tuple[str, ...], reading: Reading) -> Certificate:
    """The certificate, if the lines at the top of the file match it."""
    words = [tuple(comment_lines(replace(claim, claimed=claimed))) for claimed in (True, False)]
    if lines not in words:
        raise FormatError(
            "the certificate's lines were edited", where=f"{reading.where}, # certificate",
            hint="export the graders again, with certificate=",
        )  # fmt: skip
    return claim


def _plan(
    node: Node,
    graders: list[Node],
    texts: list[str],
    rule: CombiningRule | None,
    certificate: tuple[str, ...],
) -> ExportPlan:
    parts = tuple(
        Part(one.text("name"), one.text("function"), own, _rest(one))
        for one, own in zip(graders, texts, strict=True)
    )
    title = {key: node.text(key) for key in ("name", "description") if node.has(key)}
    claims = node.at("certificate").value
    reference = node.text("reference", "")
    return ExportPlan(parts, rule, node.number("on_error", None), reference, title, certificate, claims)


def _refuse_judge(node: Node, index: int) -> None:
    """Refuse a judge that an earlier version exported as code: without its lines the file would lose a grader."""
    if node.has("spec"):
        spec = f'json.loads(LAST_LINE.removeprefix("{SETTINGS}"))["graders"][{index}]["spec"]'
        raise node.refuse(
            "this file contains a judge, written by an earlier version: exported files contain code only",
            found=repr(node.value.get("name"))[:80],
            hint="restore the judge from the file's last line: "
            f'wb.loads({{"format": "grader-workbench", "version": 1, "graders": [{spec}]}}), and use wb.reward(suite)',
        )


def _own_judge(node: Node) -> OwnJudge:
    """A judge that the target runs natively."""
    judge = from_spec(dict(node.at("spec").mapping()))
    if not isinstance(judge, Judge):
        raise node.at("spec").refuse("not a judge", found=judge.kind)
    settings = {key: value for key, value in node.mapping().items() if key not in {"name", "function", "at"}}
    return OwnJudge(node.text("name"), node.text("function"), judge, node.integer("at"), settings)


def _rest(grader: Node) -> dict[str, Any]:
    return {key: value for key, value in grader.mapping().items() if key not in {"name", "function"}}


_GRADE = re.compile(r"    def __init__\(\n        self,\n        score=None,.*?\n    \):\n", re.DOTALL)
_EARLIER_GRADE = (
    "    def __init__(self, score=None, *, passed=None, reasoning=None, error=None, metadata=None, **rest):\n"
)
"""The stand-in for `Grade` in files of earlier versions, which accepted any keyword: such files are still read."""


def _check_frame(target: Target, plan: ExportPlan, text: str, reading: Reading) -> None:
    """Generate the file again and compare: an edited line has an effect that must not be dropped."""
    try:
        composed = compose(target, plan)
        same = text in (composed, _GRADE.sub(_EARLIER_GRADE, composed, count=1))
    except (FormatError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        same = False
    if not same:
        raise FormatError(
            "lines around the graders were edited", where=reading.where,
            expected="the lines as the workbench wrote them: an edited line's effect is not imported",
            hint="move the change into a grader, between its marks, or export the graders again",
        )  # fmt: skip


def _entry(node: Node, text: str, reading: Reading) -> Entry:
    limits = {key: node.value[key] for key in LIMITS if node.has(key)}
    try:
        signature = node.text("signature", "thread")
        grader = FunctionGrader.from_source(
            text, imported=True, name=node.text("name"), signature=signature, **limits
        )
        return Entry(grader.trusted() if reading.trust else grader, **_entry_settings(node))
    except (ValueError, TypeError) as error:
        if isinstance(error, FormatError):
            raise
        raise node.refuse("cannot create the grader", found=str(error)[:200]) from error


def _entry_settings(node: Node) -> dict[str, Any]:
    settings = {key: node.value[key] for key in _ENTRY if node.has(key)}
    return settings | ({"negate_errors": True} if node.boolean("opposite", False) else {})
