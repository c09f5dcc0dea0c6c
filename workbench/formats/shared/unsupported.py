"""What writers share: telling, by name, which settings of a grader or an entry a platform does not know."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import MISSING, fields, replace
from typing import Any, cast

from workbench.extractors import Extractor
from workbench.formats.shared.base import Losses
from workbench.graders import Grader
from workbench.graders.combine import AllPass, CombiningRule, Entry, Formula, Mean, Sum
from workbench.graders.portable.refusals import article
from workbench.graders.rule_grader import RuleGrader
from workbench.graders.settings import role_of
from workbench.graders.text import TextGrader
from workbench.judges import BinaryJudge, LabelJudge
from workbench.suite import Suite

__all__ = [
    "add_gate_loss",
    "add_kind_loss",
    "binary",
    "check_entry",
    "check_fields",
    "check_signature",
    "identifier",
    "names_model",
    "note_limits",
    "settings_of_code",
    "settings_without_effect",
    "suite_name",
    "unique",
    "without_unused_settings",
]

_COMMON_FIELDS = {"name", "description"}


def check_entry(entry: Entry, losses: Losses, *, knows: Collection[str] = ()) -> bool:
    """Tell the settings of an entry that a platform does not have; whether what is left may be written.

    How failures count is left to the platform: `on_error` and `negate_errors` are never told. Without its
    negation a grader would say the opposite, so that it is left out whole.
    """
    if entry.negate and "negate" not in knows:
        losses.add(entry.name, "negate", "there is no negation there, and without it the grader says the opposite",
                   way_out=_ENTRY_WAYS["negate"])  # fmt: skip
        return False
    for f in fields(Entry):
        value = getattr(entry, f.name)
        if f.name in {"grader", "name", "_", "on_error", "negate_errors", *knows} or value == f.default:
            continue
        value_spec = value.spec() if isinstance(value, Extractor) else value
        losses.add(
            entry.name,
            f.name,
            f"there is no {f.name} there (it is {value_spec!r})",
            way_out=_ENTRY_WAYS.get(f.name, ""),
        )
    return True


def names_model(model: str, losses: Losses, name: str, otherwise: str) -> bool:
    """Whether a judge names its model; told where it does not, since another one might be asked there.

    Args:
        model: The judge's.
        losses: Where it is told.
        name: The entry's.
        otherwise: What a file without a model means there.
    """
    if not model:
        losses.add(
            name, "model", f"the judge names no model; {otherwise}",
            way_out="give it model=, or set WORKBENCH_MODEL before it is made",
        )  # fmt: skip
    return bool(model)


def settings_of_code(entry: Entry) -> tuple[str, ...]:
    """The setting `negate` where the grader is written as code of ours, which can say 1 - x."""
    return ("negate",) if isinstance(entry.grader, RuleGrader) else ()


_ENTRY_WAYS = {
    "weight": "combine in the platform's own settings, or export as a format with weights",
    "severity": "export as umbraco",
    "negate": "write the opposite as a grader of its own",
    "pass_threshold": "set the threshold in the platform",
    "extractor": "put the extraction into the grader itself",
}


def check_fields(
    grader: Grader, losses: Losses, name: str, *, knows: Collection[str], way_out: str = ""
) -> None:
    """Tell the fields of a grader that are not at their default and that the platform cannot say.

    Fields with a role (`graders/settings.py`) change no score of a row that works: they are no loss.
    """
    if "timeout" not in knows:
        note_limits(grader, losses, name)
    for f in fields(grader):
        if not f.init or f.name.startswith("_") or f.name in {*_COMMON_FIELDS, *knows} or role_of(f):
            continue
        value = getattr(grader, f.name)
        default = f.default_factory() if f.default_factory is not MISSING else f.default
        if value != default:
            value_spec: Any = value.spec() if isinstance(value, Extractor) else value
            losses.add(
                name, f.name, f"{f.name}={value_spec!r} has no counterpart there"[:300], way_out=way_out
            )


def add_kind_loss(entry: Entry, losses: Losses, *, way_out: str) -> None:
    """Tell that a platform has nothing like a grader; on request the grader is dropped."""
    losses.add(
        entry.name, "kind", f"it has nothing like {article(entry.grader.kind)} grader", way_out=way_out
    )


def add_gate_loss(suite: Suite, losses: Losses) -> None:
    """Tell that a platform has no verdict over a run, where the suite has one."""
    if suite.gate is not None:
        losses.add(
            "", "gate", "there are no gates over a run", way_out="export as letta, or leave the gate out"
        )


def check_signature(entry: Entry, losses: Losses) -> bool:
    """Whether a grader's function, if it is one, takes a thread; of any other form it is told."""
    signature = getattr(entry.grader, "signature", "thread")
    if signature != "thread":
        losses.add(entry.name, "signature", f"a function of the form {signature!r} cannot run there",
                   way_out="write it as async def grade(thread)")  # fmt: skip
    return bool(signature == "thread")


def unique(name: str, taken: Collection[str]) -> str:
    """The name, or with a number behind it where it is taken."""
    if name not in taken:
        return name
    number = 2
    while f"{name} {number}" in taken:
        number += 1
    return f"{name} {number}"


def suite_name(name: str, taken: Collection[str]) -> str:
    """The suite's name unless an entry has it: the combined column needs one of its own."""
    free_name = name if name not in taken else ""
    return free_name if free_name or "combined" not in taken else unique("combined", taken)


def binary(grader: Grader) -> bool:
    """Whether a grader gives 0.0 and 1.0 only."""
    return getattr(grader, "gives_verdict", False) or isinstance(grader, BinaryJudge | LabelJudge)


def settings_without_effect(entry: Entry) -> tuple[str, ...]:
    """The settings of an entry that change nothing: a threshold above 0 and up to 1 where scores are 0 and 1."""
    limit = entry.pass_threshold
    code = isinstance(entry.grader, RuleGrader) and binary(entry.grader)
    return ("pass_threshold",) if limit is not None and code and 0 < limit <= 1 else ()


def without_unused_settings(suite: Suite, losses: Losses, *, keeps: Collection[str] = ()) -> Suite:
    """The suite without what changes no grade, so that writers need not refuse it; what is left out is noted.

    A rule over one entry that gives that entry's score is no rule, a weight counts in a mean or sum only, a
    severity under `AllPass` only, and an entry's extractor is its text grader's own.

    Args:
        suite: What is to be written.
        losses: Where it goes.
        keeps: What the platform stores of: name, description, weight, severity, extractor.
    """
    rule = None if _gives_its_entry(suite) else suite.combine
    used = (
        {"weight"} if isinstance(rule, Mean | Sum) else {"severity"} if isinstance(rule, AllPass) else set()
    )
    entries = [_plain_entry(entry, {*keeps, *used}, losses) for entry in suite.entries]
    for name in ("name", "description"):
        if getattr(suite, name) and name not in keeps:
            losses.note("", name, f"{getattr(suite, name)!r} has no place there")
    return Suite(entries, combine=rule, gate=suite.gate, name=suite.name, description=suite.description)


def _gives_its_entry(suite: Suite) -> bool:
    """Whether the rule makes of the only entry's score that very score."""
    rule, entry = suite.combine, suite.entries[0]
    if len(suite) > 1:
        return False
    if isinstance(rule, AllPass):
        plain = entry.pass_threshold is None or bool(settings_without_effect(entry))
        return plain and binary(entry.grader) and entry.severity == "error"
    return _is_one(rule, entry)


def _is_one(rule: CombiningRule | None, entry: Entry) -> bool:
    if isinstance(rule, Sum):
        return entry.weight == 1
    return isinstance(rule, Mean) or (isinstance(rule, Formula) and rule.text.strip() == entry.name)


def _plain_entry(entry: Entry, used: Collection[str], losses: Losses) -> Entry:
    for f in fields(Entry):
        value = getattr(entry, f.name)
        if f.name in {"weight", "severity"} and f.name not in used and value != f.default:
            losses.note(entry.name, f.name, f"{f.name} {value!r} is used in no calculation here")
            entry = replace(entry, **{f.name: cast("Any", f.default)})
    if "extractor" in used or entry.extractor is None or not isinstance(entry.grader, TextGrader):
        return entry
    if entry.grader.extractor != Extractor():
        return entry
    return replace(entry, grader=replace(entry.grader, extractor=entry.extractor), extractor=None)


def note_limits(grader: Grader, losses: Losses, name: str) -> None:
    """Note limits of time and memory that are not at their default: every platform has its own."""
    for f in fields(grader):
        if role_of(f) == "limit" and getattr(grader, f.name) != f.default:
            losses.note(name, f.name, f"{f.name}={getattr(grader, f.name)!r}; the platform has its own limit")


def identifier(name: str, taken: Collection[str] = ()) -> str:
    """The name as an identifier of Python, JavaScript and formulas: ASCII letters, digits, underscores.

    Names in `taken` are avoided without regard to case: files are named so too.
    """
    import keyword

    plain = (
        "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name).strip("_") or "grader"
    )
    plain = f"g_{plain}" if plain[0].isdigit() or keyword.iskeyword(plain) else plain
    taken_folded = {other.casefold() for other in taken}
    candidate, number = plain, 1
    while candidate.casefold() in taken_folded:
        number += 1
        candidate = f"{plain}_{number}"
    return candidate
