"""What a judge's author wrote, and the verdicts it may return: for targets whose native judges add their own text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.core.errors import FormatError
from workbench.formats.targets.placeholder_prompt import (
    PLACE,
    Message,
    PlaceholderPrompt,
    check_kind,
    placeholder_prompt,
)
from workbench.judges import BinaryJudge, CriteriaJudge, GuardrailJudge, LabelJudge, RubricJudge, ScoreJudge
from workbench.judges.kinds import Judge
from workbench.judges.kinds.openai import TemplatedJudge

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
