"""Shared by writers: report, by name, which settings of a grader or an entry a platform does not support."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from dataclasses import MISSING, fields, replace
from functools import lru_cache
from typing import Any, cast

from workbench.core.errors import FormatError
from workbench.data.extractors import Extractor
from workbench.formats.shared import Losses
from workbench.graders import Grader
from workbench.graders.arguments import role_of
from workbench.graders.capture.source_edit import parsed
from workbench.graders.combine import AllPass, Assertions, CombiningRule, Entry, Formula, Mean, Sum
from workbench.graders.portable_rule import article
from workbench.graders.rule_grader import RuleGrader
from workbench.graders.text.text_grader import TextGrader
from workbench.judges import BinaryJudge, LabelJudge
from workbench.run.suite import Suite

_COMMON_FIELDS = {"name", "description"}


def check_entry(entry: Entry, losses: Losses, *, knows: Collection[str] = ()) -> bool:
    """Report an entry's settings that the platform does not support; return whether the rest may be written.

    How failures count is the platform's decision: `on_error` and `negate_errors` are not reported. Without its
    negation a grader would measure the opposite, so such an entry is omitted.
    """
    if entry.negate and "negate" not in knows:
        losses.add(entry.name, "negate", "it has no negation, and without it the grader measures the opposite",
                   hint=_ENTRY_WAYS["negate"])  # fmt: skip
        return False
    for f in fields(Entry):
        value = getattr(entry, f.name)
        if (
            f.name in {"grader", "name", "_", "on_error", "negate_errors", "allows", *knows}
            or value == f.default
        ):
            continue
        value_spec = value.spec() if isinstance(value, Extractor) else value
        losses.add(
            entry.name,
            f.name,
            f"it has no {f.name} (here {value_spec!r})",
            hint=_ENTRY_WAYS.get(f.name, ""),
        )
    return True


def names_model(model: str, losses: Losses, name: str, otherwise: str) -> bool:
    """Whether a judge names its model; if not, a loss is reported, since the platform might use another one.

    Args:
        model: The judge's.
        losses: Collects the report.
        name: The entry's.
        otherwise: The effect of a missing model on the platform.
    """
    if not model:
        losses.add(
            name, "model", f"the judge has no model; {otherwise}",
            hint="set model=, or set WORKBENCH_MODEL before creating it",
        )  # fmt: skip
    return bool(model)


def settings_of_code(entry: Entry) -> tuple[str, ...]:
    """The setting `negate` if the grader is exported as workbench code, which can compute 1 - x."""
    return ("negate",) if isinstance(entry.grader, RuleGrader) else ()


_ENTRY_WAYS = {
    "weight": "combine in the platform's settings, or export to a format with weights",
    "severity": "export as umbraco",
    "negate": "write the opposite as a separate grader",
    "pass_threshold": "set the threshold in the platform",
    "extractor": "put the extraction into the grader itself",
}


def check_fields(
    grader: Grader, losses: Losses, name: str, *, knows: Collection[str], hint: str = ""
) -> None:
    """Report a grader's non-default fields that the platform does not support.

    Fields with a role (`graders/settings.py`) do not change the score of a working row: omitting them is not a loss.
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
            losses.add(name, f.name, f"it has no equivalent of {f.name}={value_spec!r}"[:300], hint=hint)


def add_kind_loss(entry: Entry, losses: Losses, *, hint: str) -> None:
    """Report that a platform has no equivalent of a grader; on request the grader is dropped."""
    losses.add(entry.name, "kind", f"it has no equivalent of {article(entry.grader.kind)} grader", hint=hint)


def add_gate_loss(suite: Suite, losses: Losses) -> None:
    """Report that a platform has no verdict over a run, if the suite has one."""
    if suite.gate is not None:
        losses.add("", "gate", "it has no gates over a run", hint="export as letta, or remove the gate")


def rule_text(make: Callable[[], str], entry: Entry, losses: Losses, *, hint: str) -> str | None:
    """The text that `make` writes for a rule; None if it cannot be written, which is reported as a loss of the grader."""
    try:
        return make()
    except FormatError as error:
        losses.add(entry.name, error.where or "kind", error.what, hint=error.hint or hint)
        return None


def check_signature(entry: Entry, losses: Losses) -> bool:
    """Whether a grader's function, if it is one, takes a thread; other signatures are reported as a loss."""
    signature = getattr(entry.grader, "signature", "thread")
    if signature != "thread":
        losses.add(entry.name, "signature", f"a function with the signature {signature!r} cannot run there",
                   hint="write it as async def grade(thread)")  # fmt: skip
    return bool(signature == "thread")


def unique(name: str, taken: Collection[str]) -> str:
    """The name, with a number appended if it is taken."""
    if name not in taken:
        return name
    number = 2
    while f"{name} {number}" in taken:
        number += 1
    return f"{name} {number}"


def suite_name(name: str, taken: Collection[str]) -> str:
    """The suite's name, or another one if an entry has it: the combined column needs a unique name."""
    free_name = name if name not in taken else ""
    return free_name if free_name or "combined" not in taken else unique("combined", taken)


def binary(grader: Grader) -> bool:
    """Whether a grader returns only 0.0 and 1.0."""
    return getattr(grader, "gives_verdict", False) or isinstance(grader, BinaryJudge | LabelJudge)


def settings_without_effect(entry: Entry) -> tuple[str, ...]:
    """Entry settings without effect: a threshold in (0, 1] if all scores are 0 or 1."""
    limit = entry.pass_threshold
    code = isinstance(entry.grader, RuleGrader) and binary(entry.grader)
    return ("pass_threshold",) if limit is not None and code and 0 < limit <= 1 else ()


def without_unused_settings(suite: Suite, losses: Losses, *, keeps: Collection[str] = ()) -> Suite:
    """The suite without settings that change no grade, so that writers need not refuse it; omissions are noted.

    A rule over one entry that returns that entry's score has no effect. A weight counts only in a mean or sum, a
    severity only under `AllPass`. An entry's extractor is moved to its text grader.

    Args:
        suite: The suite to write.
        losses: Collects the notes.
        keeps: Which of name, description, weight, severity and extractor the platform stores.
    """
    rule = None if _gives_its_entry(suite) else suite.combine
    used = (
        {"weight"} if isinstance(rule, Mean | Sum) else {"severity"} if isinstance(rule, AllPass) else set()
    )
    entries = [_plain_entry(entry, {*keeps, *used}, losses) for entry in suite.entries]
    for name in ("name", "description"):
        if getattr(suite, name) and name not in keeps:
            losses.note("", name, f"{getattr(suite, name)!r} is not exported")
    return Suite(entries, combine=rule, gate=suite.gate, name=suite.name, description=suite.description)


def _gives_its_entry(suite: Suite) -> bool:
    """Whether the rule returns exactly the score of the only entry."""
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
    if isinstance(rule, Assertions):
        return (
            rule == Assertions() and entry.weight > 0 and entry.severity == "error" and binary(entry.grader)
        )
    return isinstance(rule, Mean) or (isinstance(rule, Formula) and rule.text.strip() == entry.name)


def _plain_entry(entry: Entry, used: Collection[str], losses: Losses) -> Entry:
    for f in fields(Entry):
        value = getattr(entry, f.name)
        if f.name in {"weight", "severity"} and f.name not in used and value != f.default:
            losses.note(
                entry.name, f.name, f"{f.name} {value!r} is not used in any calculation of this suite"
            )
            entry = replace(entry, **{f.name: cast("Any", f.default)})
    if "extractor" in used or entry.extractor is None or not isinstance(entry.grader, TextGrader):
        return entry
    if entry.grader.extractor != Extractor():
        return entry
    return replace(entry, grader=replace(entry.grader, extractor=entry.extractor), extractor=None)


def note_limits(grader: Grader, losses: Losses, name: str) -> None:
    """Note time and memory limits that differ from the default: every platform has its own."""
    for f in fields(grader):
        if role_of(f) == "limit" and getattr(grader, f.name) != f.default:
            losses.note(name, f.name, f"{f.name}={getattr(grader, f.name)!r}; the platform has its own limit")


def identifier(name: str, taken: Collection[str] = ()) -> str:
    """The name as an identifier of Python, JavaScript and formulas: ASCII letters, digits, underscores.

    Names in `taken` are avoided ignoring case, because files are named after them too.
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


_CLASSES = frozenset({"Grade", "Skip"})


_KEPT = {"letta": {"reasoning"}, "osmosis": {"skip"}, "openai": set[str](), "adaptive": set[str]()}


# Cached because several writers check the same text.
@lru_cache(maxsize=256)
def outcomes_in(text: str) -> frozenset[str]:
    """Which of `Grade` and `Skip` a grader's text names."""
    nodes = ast.walk(parsed(text) or ast.Module([], []))
    return frozenset(
        name
        for node in nodes
        for name in (getattr(node, "attr", ""), getattr(node, "id", ""))
        if name in _CLASSES
    )


def note_outcomes(text: str, platform: str, losses: Losses, name: str) -> bool:
    """Report what a platform loses of a grader that returns more than a number.

    Args:
        text: The grader's module.
        platform: The platform whose module will contain it.
        losses: Collects the report.
        name: The grader's.

    Returns:
        Whether the platform can represent the grader at all.
    """
    named = outcomes_in(text)
    if named and platform == "adaptive":
        losses.add(
            name, f"source (wb.{min(named)})", "Adaptive's grade functions return only a number",
            hint="return only the number, and select the rows it applies to before grading",
        )  # fmt: skip
        return False
    if "Grade" in named and "reasoning" not in _KEPT[platform]:
        losses.add(
            name, "source (wb.Grade)", "the platform takes only the score; reasoning and metadata are dropped",
            hint="return only the number",
        )  # fmt: skip
    if "Skip" in named and "skip" not in _KEPT[platform]:
        losses.add(
            name, "source (wb.Skip)", "the platform has no skipped rows: the row counts as failed there",
            hint="run the grader on rows it applies to",
        )  # fmt: skip
    return True


# The thread members that the lines around a grade function can provide.
_READS = {
    "adaptive": {
        "completion",
        "metadata",
        "messages",
        "get_turns",
        "last_content",
        "system",
        "user",
        "assistant",
        "tool",
    },
    "openai": {"completion", "metadata", "tool_calls"},
    "letta": {"completion", "metadata"},
    "osmosis": {
        "completion",
        "metadata",
        "messages",
        "get_turns",
        "last_content",
        "tool_calls",
        "turn_calls",
        "turn_answers",
    },
}


_THREAD_NAMES = {
    "messages", "get_turns", "last_content", "tool_calls", "tools", "turn_calls", "turn_answers", "from_messages",
    "system", "user", "assistant", "tool", "to_wire",
}  # fmt: skip


def check_reads(
    text: str, platform: str, losses: Losses, name: str, *, allowed: Collection[str] = ()
) -> bool:
    """Whether a platform passes all that a grade function reads of the thread; missing members are reported.

    Members that the text checks with `hasattr` are optional; see `check_calls`.

    Args:
        text: The function's module.
        platform: Whose shim it would run in.
        losses: Collects the report.
        name: The grader's.
        allowed: Members that may be read because the platform's part of them is enough.
    """
    lacking = reads_beyond(text, _READS[platform] | set(allowed))
    for missing in lacking:
        losses.add(
            name, f"source (thread.{missing})", "the platform does not pass the whole conversation to code",
            hint="read only the completion and the metadata, or use an endpoint",
        )  # fmt: skip
    return note_outcomes(text, platform, losses, name) and not lacking


def reads_beyond(text: str, known: Collection[str]) -> list[str]:
    """Unknown members of a thread that a text reads without checking them with `hasattr`."""
    return sorted(_members_needed(text) - set(known))


# Cached because several writers check the same text.
@lru_cache(maxsize=256)
def _members_needed(text: str) -> frozenset[str]:
    nodes = list(ast.walk(parsed(text) or ast.Module([], [])))
    # The text does not show whose attribute it is, so all of these names count.
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute)} & _THREAD_NAMES
    return frozenset(read - _optional(nodes))


def _optional(nodes: list[ast.AST]) -> set[str]:
    """Names that the text checks with `hasattr`."""
    calls = [
        node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "hasattr"
    ]
    arguments = [call.args[-1] for call in calls if len(call.args) == 2]
    return {str(argument.value) for argument in arguments if isinstance(argument, ast.Constant)}


def check_calls(grader: Any, platform: str, losses: Losses, name: str) -> bool:
    """Whether a code grader needs no tool calls, or the platform passes them to code; otherwise a loss is reported."""
    if "tool_calls" in _READS[platform] or not looks_at_calls(grader):
        return True
    losses.add(name, "kind", "the platform does not pass tool calls to code",
               hint="export as umbraco, osmosis or openai")  # fmt: skip
    return False


def looks_at_calls(grader: Any) -> bool:
    """Whether a code grader's rule reads tool calls."""
    extractor = getattr(getattr(grader, "extractor", None), "name", "")
    templates = f"{getattr(grader, 'input', '')}{getattr(grader, 'reference', '')}"
    looks = grader.kind == "tool-call" or extractor in {"tool_arguments", "tool_output"}
    return looks or "output_tools" in templates or "choices" in templates
