"""Judges on targets: a file contains code only, so a judge is refused, or on request written as the target's native one.

A native judge adds its own prompt; what it needs from a judge is what the author wrote, and the verdicts it may return.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.core.errors import FormatError
from workbench.formats.shared import Losses
from workbench.formats.targets.placeholder_prompt import (
    PLACE,
    Message,
    PlaceholderPrompt,
    check_kind,
    placeholder_prompt,
)
from workbench.formats.targets.target import OwnJudge, Target
from workbench.graders.combine import Entry
from workbench.graders.portable_rule import article
from workbench.judges import BinaryJudge, CriteriaJudge, GuardrailJudge, LabelJudge, RubricJudge, ScoreJudge
from workbench.judges.kinds import REPAIRED_PLATFORMS, Judge
from workbench.judges.kinds.openai import TemplatedJudge
from workbench.judges.openai_client import chat_settings

_ENTRY = ("severity", "pass_threshold", "on_error")


def tell_judge(target: Target, entry: Entry, losses: Losses) -> None:
    """Report that a file for the target does not contain a judge, what runs it, and what is written instead.

    Raises:
        FormatError: Losses are refused.
    """
    problem = f"an exported file runs code only, and {article(entry.grader.kind)} sends requests to a model"
    hint = runs_judges(target)
    if target.own_judges is None:
        losses.add(entry.name, "kind", problem, hint=hint)
        return
    if (error := why_not(target, entry)) is None:
        instead = f"{target.own_judges.title} (it uses another prompt than the one measured here)"
        losses.add(entry.name, "kind", problem, hint=hint, instead=instead)
        return
    found = f"{error.what}: {error.found}" if error.found else error.what
    hint = f"{hint}; it cannot become {target.own_judges.title} either, because of its {error.where or 'kind'}: {found}"
    losses.add(entry.name, "kind", problem, hint="; ".join(filter(None, [hint, error.hint])))


def runs_judges(target: Target) -> str:
    """What to type to use a suite with judges in the target."""
    function = f".{target.reward}" if target.reward else "(prompts, completions)"
    return (
        f'use wb.reward(suite){function}, or wb.save(suite, "graders.json") and, in a shell, '
        f"workbench serve graders.json (path {target.served}): both call judges"
    )


def why_not(target: Target, entry: Entry) -> FormatError | None:
    """Why a judge cannot become the target's native one; None if it can."""
    assert isinstance(entry.grader, Judge)
    if target.own_judges is None:
        return FormatError("the target has no native judges", where="kind")
    if entry.extractor is not None:
        return FormatError("the target's native judge gets the whole completion", where="extractor",
                           hint='use the extractor "last_assistant"')  # fmt: skip
    if entry.negate:
        return FormatError("it has no negation, and without it the judge measures the opposite", where="negate",
                           hint="write the opposite as the judge's criterion")  # fmt: skip
    try:
        target.own_judges.check(entry.grader)
    except FormatError as error:
        return error
    return None


def tell_settings(own: OwnJudge, losses: Losses) -> None:
    """Report the settings of an entry and of its judge that no native judge supports."""
    for name in _ENTRY:
        if name in own.settings:
            losses.add(own.name, name, f"it has no {name} (here {own.settings[name]!r})")
    judge = own.judge
    if isinstance(judge, CriteriaJudge | RubricJudge) and judge.pass_threshold is not None:
        losses.add(own.name, "pass_threshold", f"it is not supported (here {judge.pass_threshold:g}): only a score is written")  # fmt: skip
    if isinstance(judge, GuardrailJudge):
        losses.add(own.name, "safety_threshold", f"scores below {judge.safety_threshold:g} are not flagged there: only the safety score is written")  # fmt: skip
    if isinstance(judge, RubricJudge):
        _note_limits(own.name, judge, losses)
    if judge.client is not None:
        losses.note(own.name, "client", "its client's settings are not written: address, limits and key variable")  # fmt: skip


def _note_limits(name: str, judge: RubricJudge, losses: Losses) -> None:
    for limit in ("timeout", "max_retries"):
        if getattr(judge, limit) is not None:
            losses.note(name, limit, f"{limit}={getattr(judge, limit)!r}; the target has its own limit")


def tell_answers(own: OwnJudge, reads: str, losses: Losses) -> None:
    """Report that the target reads replies by rules other than the measured ones."""
    repaired = own.judge.platform in REPAIRED_PLATFORMS
    repairs = "; a malformed reply is not requested again" if repaired else ""
    losses.add(own.name, "answers", f"replies are not read by the rules measured here: {reads}{repairs}")


def sent_settings(judge: Judge) -> dict[str, Any]:
    """Temperature, limits and the like, as the judge sends them in its request."""
    left_out = ("response_format", "timeout", "max_retries")
    asked = {name: value for name, value in judge.request_settings().items() if name not in left_out}
    sent = chat_settings(asked, {})
    return {name: value for name, value in sent.items() if name != "model" and value is not None}


def quoted_lines(text: str, indent: int) -> list[str]:
    """A text as Python string literals, one per line of the text."""
    return [" " * indent + literal(line) for line in text.splitlines(keepends=True) or [""]]


def literal(value: Any) -> str:
    """JSON data as Python literals, the same in every version."""
    if isinstance(value, str):
        return escaped(json.dumps(value, ensure_ascii=False))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(key)}: {literal(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    return repr(value)


def escaped(text: str) -> str:
    """JSON without characters that end a line for some readers, and without lone surrogates, which cannot be encoded."""
    special = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]")
    return special.sub(lambda one: f"\\u{ord(one[0]):04x}", text)


_RUBRIC = "## Rubric\n"
_AFTER_RUBRIC = "\n\n## Original question\n"


@dataclass(frozen=True)
class Verdict:
    """The verdicts a judge may return: labels, or a number on a scale.

    Attributes:
        words: The labels; none for a number.
        passing: Those that score 1.0; the others score 0.0, or nothing if they are in `skips`.
        skips: Labels that leave a row without a score.
        meanings: What a label means, as a clause that follows it.
        scale: Lowest and highest number.
        ends: What these two mean; "" if the judge does not define it.
    """

    words: tuple[str, ...] = ()
    passing: tuple[str, ...] = ()
    skips: tuple[str, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)
    scale: tuple[float, float] = (0.0, 1.0)
    ends: tuple[str, str] = ("", "")

    @property
    def range(self) -> str:
        """The scale as text, such as "0 (unsafe) to 1 (safe)"."""
        ends = [
            f"{number:g}" + (f" ({meaning})" if meaning else "")
            for number, meaning in zip(self.scale, self.ends, strict=True)
        ]
        return " to ".join(ends)


@dataclass(frozen=True)
class Wording:
    """What a judge's author wrote.

    Attributes:
        title: Its role: "Criterion", "Criteria" or "Rubric"; "" for a template of the whole prompt.
        text: The author's text. `<<name>>` is a placeholder if `has_places` is set.
        slots: The parts of the conversation shown to the judge with the completion, as `PlaceholderPrompt.slots`.
        columns: The row's columns shown to it.
        has_places: Whether the texts have placeholders.
        preface: The author's text before it; "" for none.
    """

    title: str
    text: str
    slots: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    has_places: bool = False
    preface: str = ""

    @property
    def written(self) -> str:
        """All of the author's text."""
        return f"{self.preface}\n\n{self.text}"

    def paragraphs(self, place: Callable[[str], str]) -> list[str]:
        """The texts with a target's placeholders: `place` gets `completion`, a slot, or `column.NAME`."""
        text = f"{self.title}:\n{self.text}" if self.title else self.text
        texts = [one for one in (self.preface, text) if one]
        return [PLACE.sub(lambda found: place(found[1]), one) for one in texts] if self.has_places else texts


def verdict_of(judge: Judge) -> Verdict:
    """The verdicts a judge may return.

    Raises:
        FormatError: It sends more than one request, or its verdict is neither a label nor a number.
    """
    check_kind(judge)
    if isinstance(judge, BinaryJudge):
        meanings = {
            "PASS": "the response meets the criterion",
            "FAIL": "it does not",
            "NA": "the criterion is conditional, and its condition is not met here",
        }
        return Verdict(tuple(meanings), ("PASS",), ("NA",), meanings)
    if isinstance(judge, LabelJudge):
        return Verdict(tuple(dict.fromkeys(judge.labels)), judge.passing_labels)
    if isinstance(judge, GuardrailJudge):
        return Verdict(ends=("unsafe", "safe"))
    if isinstance(judge, RubricJudge):
        return Verdict(scale=judge.scale, ends=("complete failure", "perfect"))
    return Verdict(scale=judge.scale) if isinstance(judge, ScoreJudge) else Verdict()


def wording_of(judge: Judge) -> Wording:
    """The text of a judge's author.

    Raises:
        FormatError: It cannot be exported: more than one request, a template with more than placeholders, no model, or
            an extractor, since a target's native judge gets the whole completion.
    """
    check_kind(judge)
    if judge.extractor.spec() != type(judge.extractor)().spec():
        raise FormatError(
            "the target's native judge gets the whole completion", where="extractor", found=judge.extractor.name,
            hint='use the extractor "last_assistant"',
        )  # fmt: skip
    # The target decides how replies are read and which server is called.
    judge = replace(judge, platform="", client=None)
    if not judge.model.strip():
        hint = "set model=, or set WORKBENCH_MODEL before creating it"
        raise FormatError("the judge has no model", where="model", hint=hint)
    prompt = placeholder_prompt(judge)
    title, text, preface = _titled(judge, prompt)
    has_places = bool(preface) or title not in {"Criterion", "Criteria"}
    shown = PLACE.findall(preface + text) if not title else prompt.slots
    slots = tuple(slot for slot in prompt.slots if slot in shown)
    return Wording(title, text.strip(), slots, prompt.columns, has_places, preface)


def _titled(judge: Judge, prompt: PlaceholderPrompt) -> tuple[str, str, str]:
    """Title, text and preface."""
    texts = [_fullest(message) for message in prompt.messages]
    if isinstance(judge, CriteriaJudge | GuardrailJudge):
        return "Criteria", judge.criteria, ""
    if isinstance(judge, TemplatedJudge):
        return "", "\n\n".join(texts[1:]), ""  # the first one specifies the reply's format
    if isinstance(judge, BinaryJudge):
        return _binary(judge, texts)
    assert isinstance(judge, RubricJudge)
    if _AFTER_RUBRIC in texts[1]:
        return "Rubric", texts[1].partition(_RUBRIC)[2].rpartition(_AFTER_RUBRIC)[0], ""
    return "", texts[1], ""


def _binary(judge: BinaryJudge, texts: list[str]) -> tuple[str, str, str]:
    system = texts[0] if judge.system_template is not None else ""
    if judge.user_template is not None:
        return "", texts[-1], system
    shown = [_example(example) for example in judge.examples]
    return "Criterion", "\n\n".join([judge.criteria, *(["Examples:", *shown] if shown else [])]), system


def _example(example: Mapping[str, Any]) -> str:
    """An example as text: the reply's format is the target's."""
    asked = [str(turn["content"]) for turn in example["input"] if turn["role"] == "user"]
    label = {True: "PASS", False: "FAIL", None: "NA"}[example["passes"]]
    reason = f": {example['reasoning']}" if example.get("reasoning") else ""
    return f"Request: {asked[-1] if asked else ''}\nResponse: {example['output']}\nResult: {label}{reason}"


def _fullest(message: Message) -> str:
    """A message's text with all placeholders filled."""
    text = message[1]
    return text if isinstance(text, str) else text[max(text, key=lambda key: len(key.split()))]
