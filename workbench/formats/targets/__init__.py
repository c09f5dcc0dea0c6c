"""Register a target: a format with a reader and a writer that all targets share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.core.display_text import did_you_mean
from workbench.core.errors import FormatError
from workbench.formats.shared import FORMATS, Document, Losses, Reading, register
from workbench.formats.shared.unsupported import add_gate_loss, binary, without_unused_settings
from workbench.formats.targets.judges import runs_judges
from workbench.formats.targets.module import SETTINGS, compose
from workbench.formats.targets.parts import own_judges_of, parts_of
from workbench.formats.targets.reading import companions, detects, read
from workbench.formats.targets.target import ExportPlan, OwnJudge, Part, Target
from workbench.graders import FunctionGrader
from workbench.graders.combine import AllPass, CombiningRule, Entry, Formula, Mean, Sum
from workbench.graders.combine.formula import Expression
from workbench.graders.rule_grader import RuleGrader
from workbench.judges.kinds import Judge
from workbench.report.certificate import comment_lines
from workbench.run.suite import Suite

Range = tuple[float, float]
_NO_LIMITS = (
    "the file enforces no time or memory limit: a hanging or crashing grader stops the trainer; "
    "wb.reward(suite).{} runs the same reward in sandboxed workers"
)
_KEEPS = ("name", "description", "weight", "severity")
_RULES = (Mean, Sum, AllPass, Formula)


def write(target: Target, suite: Suite, losses: Losses) -> Document:
    """The target's file.

    Raises:
        FormatError: Losses are refused, or no grader can be written.
    """
    suite = without_unused_settings(suite, losses, keeps=_KEEPS)
    add_gate_loss(suite, losses)
    parts = parts_of(target, suite.entries, losses)
    own_judges = own_judges_of(target, suite.entries, parts)
    if not parts and not own_judges:
        hint = f"{target.title} takes code graders: functions, and rules such as exact match"
        if any(isinstance(entry.grader, Judge) for entry in suite.entries):
            hint = f"{hint}; {runs_judges(target)}"
        raise FormatError("no grader can be written", where="the suite", hint=hint)
    rule = _rule(target, suite, parts, losses)
    title = {key: text for key in ("name", "description") if (text := getattr(suite, key))}
    told = _certificate(suite, losses, parts, own_judges)
    plan = ExportPlan(parts, rule, losses.on_error, losses.reference, title, *told, own_judges)
    _tell_range(target, suite, plan, losses)
    _tell_rest(target, losses)
    text = compose(target, plan)
    if target.own_judges is None or not own_judges:
        return Document(text)
    target.own_judges.tell(plan, suite.combine, losses)
    return Document(text, target.own_judges.files(plan, text, losses.stem))


def _certificate(
    suite: Suite, losses: Losses, parts: Sequence[Part], own_judges: Sequence[OwnJudge]
) -> tuple[tuple[str, ...], Mapping[str, Any] | None]:
    """The certificate as text, and as data if every grader is exported as its own text and imported unchanged."""
    certificate = losses.certificate
    if certificate is None:
        return (), None
    # A judge that the target runs natively is not the one that was measured.
    held = [part.name for part in parts] if own_judges else None
    lines = tuple(comment_lines(certificate, held))
    whole = not losses.found and all(isinstance(grader, FunctionGrader) for grader in suite.graders)
    return lines, certificate.spec() if whole else None


def _rule(target: Target, suite: Suite, parts: Sequence[Part], losses: Losses) -> CombiningRule | None:
    """The suite's rule, if it is supported; a mean if the target needs a rule and there is none."""
    rule, names = suite.combine, {part.name for part in parts}
    if isinstance(rule, Formula) and (missing := sorted(set(Expression.read(rule.text).names) - names)):
        losses.add(
            "", "combine", f"the formula names {missing[0]!r}, which is omitted", instead="the weighted mean"
        )
        rule = Mean()
    if rule is not None and not isinstance(rule, _RULES):
        losses.add(
            "", "combine", f"it has no equivalent of the rule {rule.rule!r}", instead="the weighted mean"
        )
        rule = Mean()
    if rule is None and target.combines and len(parts) > 1:
        losses.add(
            "", "combine", "it takes one number per row, and the suite has no combining rule",
            hint="give the suite a rule, such as combine=wb.combine.Mean()", instead="the weighted mean",
        )  # fmt: skip
        rule = Mean()
    if isinstance(rule, Mean | Sum) and parts and not any(part.weight for part in parts):
        raise FormatError("the remaining graders have no weight", where="the suite, combine")
    return rule


def _tell_range(target: Target, suite: Suite, plan: ExportPlan, losses: Losses) -> None:
    """Report scores that the target would clip or refuse: the file does not clip them."""
    if target.clips is None or not plan.parts:
        return
    low, high = target.clips
    known = _range_of(suite, plan)
    allowed = f"{low:g} to {high:g}"
    if known is None:
        losses.note(
            "", "range", f"{target.name} requires scores in {allowed}; the range of these graders is unknown"
        )
    elif known[0] < low or known[1] > high:
        losses.add(
            "", "range", f"scores may be {known[0]:g} to {known[1]:g}, and {target.name} requires {allowed}",
            hint="choose weights so that the combined score fits", instead="unchanged scores",
        )  # fmt: skip


def _range_of(suite: Suite, plan: ExportPlan) -> Range | None:
    """The lowest and highest score that the file may give; None if a function may return any."""
    names = {part.name for part in plan.parts}
    ranges = {entry.name: _entry_range(entry) for entry in suite.entries if entry.name in names}
    if isinstance(plan.rule, AllPass):
        return 0.0, 1.0
    known = {name: one for name, one in ranges.items() if one is not None}
    if len(known) < len(ranges) or isinstance(plan.rule, Formula):
        return None
    if isinstance(plan.rule, Sum):
        return _summed(known, plan.weights)
    return min(low for low, _ in known.values()), max(high for _, high in known.values())


def _entry_range(entry: Entry) -> Range | None:
    unit = binary(entry.grader) or isinstance(entry.grader, RuleGrader)
    return (0.0, 1.0) if unit else None


def _summed(ranges: Mapping[str, Range], weights: Mapping[str, float]) -> Range:
    return (
        sum(weights[name] * low for name, (low, _) in ranges.items()),
        sum(weights[name] * high for name, (_, high) in ranges.items()),
    )


def _tell_rest(target: Target, losses: Losses) -> None:
    limits = [_NO_LIMITS.format(target.reward)] if target.reward else []
    for remark in (*target.remarks, *limits):
        losses.note("", target.name, remark)
    if target.words:
        return
    done = (
        "the file raises there"
        if losses.on_error is None
        else f"such a row gets {losses.on_error:g} (on_error)"
    )
    losses.note(
        "", "no score",
        f"{target.name} cannot represent a missing score: {done}. {target.no_score} "
        'Set on_error to "raise" or a number',
    )  # fmt: skip


def register_target(
    name: str,
    title: str,
    *,
    lines: Callable[[ExportPlan], str],
    documents: tuple[Callable[[Any, str], int], Callable[[Reading], Suite]] | None = None,
    **settings: Any,
) -> Target:
    """Register a target as a format with the shared reader and writer.

    Args:
        name: As users type it.
        title: One-line description.
        lines: See `Target.lines`.
        documents: For a target with other documents: how they are detected, and read.
        settings: The other attributes of `Target`.
    """

    def read_here(reading: Reading) -> Suite:
        target = target_named(name)
        if documents is not None and SETTINGS not in reading.text:
            return documents[1](reading)
        return read(target, reading)

    def write_here(suite: Suite, losses: Losses) -> Document:
        return write(target_named(name), suite, losses)

    def detect(document: Any, text: str) -> int:
        found = detects(target_named(name), document, text)
        return found or (documents[0](document, text) if documents is not None else 0)

    def companions_of(text: str, stem: str) -> Mapping[str, str]:
        return companions(target_named(name), text, stem)

    settings = {"takes_certificate": True, "companions": companions_of, **settings}
    target = Target(name, title, ".py", read_here, write_here, detect, lines=lines, **settings)
    register(target)
    return target


def target_named(name: str) -> Target:
    """A registered target.

    Raises:
        FormatError: Unknown name; the known ones are listed.
    """
    target = FORMATS.get(name)
    if not isinstance(target, Target):
        names = sorted(one.name for one in FORMATS.values() if isinstance(one, Target))
        raise FormatError(
            "unknown target",
            found=repr(name)[:80],
            expected=", ".join(names),
            hint=did_you_mean(str(name), names),
        )
    return target
