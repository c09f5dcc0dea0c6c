"""Whether a judge's prompt requests what its parser reads: verdict words, the key of the JSON object, the scale."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.display_text import one_line
from workbench.core.errors import WorkbenchError
from workbench.data.samples import Sample
from workbench.judges.kinds import Judge
from workbench.probes.certification.identity import requests_of
from workbench.probes.certification.settings import FAIL, PASS, JudgeCheck, untested

_VOCABULARIES = (
    ("yes", "no"), ("true", "false"), ("pass", "fail"), ("correct", "incorrect"), ("good", "bad"), ("accept", "reject"),
    ("valid", "invalid"), ("right", "wrong"), ("safe", "unsafe"), ("accurate", "inaccurate"), ("1", "0"),
)  # fmt: skip
"""Pairs of words that judges reply with."""
_ASKS = r"(?:answer|reply|respond|return|output|write|say|print|emit|give|conclude|end)\b"
_BETWEEN = (
    r"(?:\W+(?:with|only|just|either|exactly|simply|one|of|the|a|single|word|words|as|by|in|using|json))*\W+"
)
"""What may be between the request and a verdict word in lower case."""
_QUOTE = r"[\"'`*_\[(<{\u201c\u2018]*"
_RANGE = re.compile(
    r"\b(?:scor\w*|rat(?:e|ing)\w*|grade\w*|scale|number|points?|integer|value)\b[^.\n]{0,60}?"
    r"(?<![\d.])(-?\d+(?:\.\d+)?)\s*(?:-|\u2013|\u2014|to|through|and|up to)\s*(-?\d+(?:\.\d+)?)(?![\d.]*\d)",
    re.IGNORECASE,
)
_OUT_OF = re.compile(r"\bout of (\d+)\b", re.IGNORECASE)
_KEY = re.compile(r"[\"'\u201c](\w{2,30})[\"'\u201d]\s*:")
_AUTHOR_FIELDS = ("criteria", "prompt", "system_template", "user_template")


@dataclass(frozen=True)
class ParsedForm:
    """What a judge's parser reads.

    Attributes:
        key: The key of the JSON object with the verdict.
        words: The words it accepts, in lower case; () if it reads a number.
        low: Lowest number; None if unknown, or if it reads words.
        high: Highest number.
    """

    key: str
    words: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None

    @property
    def as_text(self) -> str:
        """Such as "PASS, FAIL or NA" and "a number from 1 to 5"."""
        if self.words:
            named = [word.upper() for word in self.words]
            return f"{', '.join(named[:-1])} or {named[-1]}" if len(named) > 1 else named[0]
        return "a number" if self.low is None else f"a number from {self.low:g} to {self.high:g}"


def parsed_form(judge: Judge) -> ParsedForm | None:
    """What the parser of a judge reads, from the format that it requests of a server; None if that is unknown."""
    try:
        declared: Any = (replace(judge, platform="") if judge.platform else judge).answer_format()
    except (WorkbenchError, TypeError, ValueError):
        return None
    schema = declared.get("json_schema", {}).get("schema", {}) if isinstance(declared, Mapping) else {}
    properties = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    scale = getattr(judge, "scale", None)
    for key in ("score", "verdict", "result", "safetyScore", "label", "grade"):
        rule = properties.get(key)
        if not isinstance(rule, Mapping):
            continue
        if isinstance(words := rule.get("enum"), list):
            return ParsedForm(key, tuple(str(word).lower() for word in words))
        if rule.get("type") in ("number", "integer"):
            low, high = rule.get("minimum"), rule.get("maximum")
            low, high = scale if low is None and scale else (low, high)
            return ParsedForm(key, (), low, high)
    return None


def author_text(judge: Judge) -> str:
    """What the author of a judge wrote into its prompt."""
    parts = [value for name in _AUTHOR_FIELDS if isinstance(value := getattr(judge, name, None), str)]
    messages = getattr(judge, "input", ()) or ()
    parts += [str(message.get("content", "")) for message in messages if isinstance(message, Mapping)]
    return "\n".join(parts)


def conflicts(judge: Judge, sample: Sample) -> list[str]:
    """What the prompt requests and the parser does not read, one phrase each; [] if they fit."""
    form = parsed_form(judge)
    if form is None:
        return []
    text = author_text(judge)
    found = [*_other_words(text, form), *_other_scale(text, form), *_other_key(text, form)]
    whole = _without_row(judge, sample) if form.words and not found else ""
    # Words that the request never names: a server that does not enforce the format cannot know them.
    if whole and not any(re.search(rf"\b{re.escape(word)}\b", whole, re.IGNORECASE) for word in form.words):
        found.append(f"the prompt never names {form.as_text}")
    return found


def _other_words(text: str, form: ParsedForm) -> Iterator[str]:
    """Another pair of words that the author requests."""
    for pair in _VOCABULARIES:
        if set(pair) <= set(form.words) or (not form.words and pair == ("1", "0")):
            continue
        first, second = (rf"{_QUOTE}\b{re.escape(word)}\b" for word in pair)
        either = rf"(?:{first}[^.\n]{{0,80}}?{second}|{second}[^.\n]{{0,80}}?{first})"
        # Lower case in a sentence ("return whether it is true or false to the source") are not verdict words.
        near = re.search(rf"\b{_ASKS}{_BETWEEN}{either}", text, re.IGNORECASE)
        far = re.finditer(rf"\b{_ASKS}[^.\n]{{0,60}}?({either})", text, re.IGNORECASE)
        if near or any(_are_marked(match[1], pair) for match in far):
            yield f"the prompt requests {pair[0].upper()} or {pair[1].upper()}, and the parser reads {form.as_text}"
            return


def _are_marked(phrase: str, pair: Sequence[str]) -> bool:
    """Whether both words are written as verdicts: in capitals, or quoted."""
    return all(word.upper() in phrase if not word.isdigit() else False for word in pair) or all(
        re.search(rf"[\"'`*]{word}[\"'`*]", phrase, re.IGNORECASE) for word in pair
    )


def _other_scale(text: str, form: ParsedForm) -> Iterator[str]:
    ranges = [(float(match[1]), float(match[2])) for match in _RANGE.finditer(text)]
    ranges += [(0.0, float(match[1])) for match in _OUT_OF.finditer(text)]
    ranges = [(low, high) for low, high in ranges if low < high <= 1_000]
    if not ranges:
        return
    if form.words and not any(word.isdigit() for word in form.words):
        low, high = ranges[0]
        if re.search(rf"\b{_ASKS}[^.\n]{{0,60}}{low:g}\s*(?:-|\u2013|to)\s*{high:g}", text, re.IGNORECASE):
            yield f"the prompt requests a number from {low:g} to {high:g}, and the parser reads {form.as_text}"
    elif form.low is not None and form.high is not None and all(high != form.high for _, high in ranges):
        low, high = ranges[0]
        yield f"the prompt requests a number up to {high:g}, and the parser reads {form.as_text}"


def _other_key(text: str, form: ParsedForm) -> Iterator[str]:
    keys = list(dict.fromkeys(_KEY.findall(text)))
    likely = [key for key in keys if re.search(r"score|verdict|result|label|grade|rating|answer|pass|decision", key, re.IGNORECASE)]  # fmt: skip
    if likely and form.key not in keys:
        yield f"the prompt requests the key {likely[0]!r}, and the parser reads {form.key!r}"


def request_text(judge: Judge, sample: Sample) -> str:
    """The messages of the first request of a row; "" if it cannot be made."""
    return "\n".join(
        str(message.get("content") or "")
        for messages in requests_of(judge, sample)[:1]
        for message in messages
    )


def _without_row(judge: Judge, sample: Sample) -> str:
    """The request of a row without the row's own texts; "" if it cannot be made."""
    text = request_text(judge, sample)
    own = sorted((turn.content for turn in sample.thread.get_turns() if turn.content), key=len, reverse=True)
    for part in own:
        text = text.replace(part, " ") if len(part) > 12 else text
    return text


def prompt_check(judges: Sequence[Judge], sample: Sample) -> JudgeCheck:
    """Whether the prompts request what the parsers read; a fact, decided before the first request."""
    if not judges:
        return untested("prompt", "the grader is not a judge")
    if all(parsed_form(judge) is None for judge in judges):
        return untested("prompt", "the form of the judge's replies is not declared")
    found = [phrase for judge in judges for phrase in conflicts(judge, sample)]
    advice = "request the words, the key and the scale that the parser reads, or use the kind of judge that reads what the prompt requests; if the text is about the completion, skip='prompt'"
    if found:
        return JudgeCheck("prompt", one_line("; ".join(found), 300), FAIL, advice=advice)
    form = next(form for judge in judges if (form := parsed_form(judge)) is not None)
    return JudgeCheck(
        "prompt", f"the prompt requests what the parser reads: {form.as_text}", PASS, advice=advice
    )
