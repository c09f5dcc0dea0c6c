"""A judge's answer as data: the verdict out of the text, or a failure of its own kind.

Each platform reads unclean answers its own way; a judge's `rules` names whose way is meant. "" is ours: what is not
clean has no score.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from workbench.grade import ErrorKind
from workbench.judges.protocol import Reply

__all__ = ["RULES", "AnswerError", "json_spans", "loaded", "number", "repeated_key", "text_of", "verdict"]

RULES = ("", "adaptive", "letta", "openai", "umbraco", "vllora")
"""Whose rule decides about unclean answers; "" is the workbench's own."""

_THINKS = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_THOUGHT = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_REFUSALS = re.compile(
    r"\W*(i(['\u2019]m| am) (sorry|unable|not able)|sorry, |i (can(not|['\u2019]t)|won['\u2019]t|refuse|must decline)|as an ai)",
    re.IGNORECASE,
)
_OBJECT = re.compile(r'\{\s*"')
_BRACE = re.compile(r"[{}]")
_MOST_OBJECTS = 200
"""Objects and stray opening braces in an answer; one with more is no answer."""


class AnswerError(Exception):
    """An answer without a usable verdict.

    Args:
        kind: judge_parse, judge_cut, judge_refusal, out_of_range or not_finite.
        message: A sentence for the author of the judge.
    """

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def text_of(reply: Reply, rules: str = "") -> str:
    """What was said, without thinking and fences.

    Raises:
        AnswerError: The model refused, or under our own rules was cut short.
    """
    if reply.refusal:
        raise AnswerError(ErrorKind.JUDGE_REFUSAL, f"the judge refused: {reply.refusal[:300]}")
    if reply.finish_reason == "length" and not rules:
        raise AnswerError(ErrorKind.JUDGE_CUT, "the judge's answer was cut short; raise max_tokens")
    if not reply.text and reply.tool_calls:
        raise AnswerError(ErrorKind.JUDGE_PARSE, "the judge called a tool where it should have answered")
    if rules in {"letta", "umbraco"}:
        return reply.text
    return _unfenced(_without_thinking(reply.text).strip())


def _without_thinking(text: str) -> str:
    """The text outside thinking; what stands before a lone closing tag, or after a lone opening one, is thinking."""
    *thought, said = _THOUGHT.split(text)
    opened = [(_THINKS.search(part), part) for part in thought]
    kept = [part[: tag.start()] for tag, part in opened if tag is not None]
    return "".join([*kept, _THINKS.split(said, maxsplit=1)[0]])


def _unfenced(text: str) -> str:
    """The inside of a code fence that is all of the text."""
    if len(text) < 6 or not (text.startswith("```") and text.endswith("```")):
        return text
    return re.sub(r"\A[\w-]*[ \t]*\r?\n", "", text[3:-3], count=1).strip()


def verdict(text: str, key: str, rules: str = "") -> dict[str, Any]:
    """The JSON object that is the verdict.

    Ours is the last object in the text that has `key`, where all that have it agree. Letta and OpenAI take the whole
    text, Umbraco from the first { to the last }, Adaptive the whole text with what was cut off closed. Under every
    rule a key that stands twice in an object is no verdict: nobody can say which of the two was meant.

    Args:
        text: The answer, without thinking and fences.
        key: What the object must hold.
        rules: Whose rule is meant, out of `RULES`.

    Raises:
        AnswerError: There is none, or there are two that differ.
    """
    found: Any = None
    if rules in {"", "vllora"}:
        found = _agreed_object(text, key)
    elif rules == "umbraco":
        found = _strict(text[text.find("{") : text.rfind("}") + 1] if "{" in text else "")
    elif rules == "adaptive":
        found = loaded(text)
        found = loaded(_closed(text)) if found is None else found
    else:
        found = loaded(text)
    if not isinstance(found, dict):
        _none(text, key, rules)
    return found


def _none(text: str, key: str, rules: str) -> NoReturn:
    if not rules and _REFUSALS.match(text):
        raise AnswerError(ErrorKind.JUDGE_REFUSAL, f"the judge refused: {text[:300]}")
    said = f"{text[:200]!r}" if text else "nothing"
    raise AnswerError(
        ErrorKind.JUDGE_PARSE, f"the judge's answer holds no JSON object with {key!r}; it said {said}"
    )


def number(value: Any, rules: str = "", *, low: float = 0.0, high: float = 1.0) -> float:
    """A verdict's number, by the rules' way with strings, and with numbers outside the range.

    Raises:
        AnswerError: No number, not finite, or (ours, Adaptive's, vLLora's) outside the range.
    """
    if rules == "letta" and isinstance(value, str | bool):
        value = _coerced(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        shown = "nothing" if value is None else f"{str(value)[:80]!r} ({type(value).__name__})"
        raise AnswerError(ErrorKind.JUDGE_PARSE, f"the judge's score must be a number, not {shown}")
    if not _finite(value):
        raise AnswerError(ErrorKind.NOT_FINITE, f"the judge's score must be finite, not {str(value)[:80]}")
    if rules in {"letta", "openai"}:
        return max(low, min(high, float(value)))
    if rules != "umbraco" and not low <= value <= high:
        raise AnswerError(
            ErrorKind.OUT_OF_RANGE, f"the judge's score {value:g} is outside {low:g} to {high:g}"
        )
    return float(value)


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _coerced(value: str | bool) -> Any:
    try:
        return float(value)
    except ValueError:
        return value


def loaded(text: str, **settings: Any) -> Any:
    """A text as JSON, None where it is none.

    Args:
        text: All of it is read.
        settings: More for `json.loads`.

    Raises:
        AnswerError: An object holds a key twice.
    """
    try:
        return json.loads(text, object_pairs_hook=_no_key_twice, **settings)
    except (ValueError, RecursionError):
        return None


def _strict(text: str) -> Any:
    def refuse(name: str) -> NoReturn:
        raise ValueError(name)

    return loaded(text, parse_constant=refuse)


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if twice := repeated_key(pairs):
        raise AnswerError(ErrorKind.JUDGE_PARSE, f"the judge's answer holds the key {twice} twice")
    return dict(pairs)


def repeated_key(pairs: Sequence[tuple[str, Any]]) -> str:
    """The first key that stands twice in an object, quoted; "" where every key stands once."""
    if len(dict(pairs)) == len(pairs):
        return ""
    names = [name for name, _ in pairs]
    return repr(next(name for name in names if names.count(name) > 1)[:80])


# Models put raw line breaks and other control characters into strings, so neither is strict about them.
_DECODER = json.JSONDecoder(strict=False)
_DECODER_OF_VERDICTS = json.JSONDecoder(strict=False, object_pairs_hook=_no_key_twice)


def _agreed_object(text: str, key: str) -> Any:
    """The last object that has `key`; None where there is none.

    Raises:
        AnswerError: Two objects that have `key` differ in it, or one of several cannot be read.
    """
    found: list[Mapping[str, Any]] = []
    unread = False
    for start, end, value in json_spans(text, _DECODER_OF_VERDICTS):
        unread = unread or (value is None and _holds_value(text[start:end], key))
        if value is not None and key in value:
            found.append(value)
    if not found:
        return None
    others = [one[key] for one in found[:-1] if one[key] != found[-1][key]]
    if unread or others:
        other = f"{others[0]!r}"[:80] if others else "one that is no JSON"
        raise AnswerError(
            ErrorKind.JUDGE_PARSE,
            f"the judge's answer holds two verdicts: {other}, and {found[-1][key]!r}"[:300],
        )
    return found[-1]


def _holds_value(text: str, key: str) -> bool:
    """Whether a value stands behind the key, other than in a form to be filled in such as {"score": <number>}."""
    return re.search(rf'"{re.escape(key)}"\s*:\s*["\[{{tfn\d.-]', text) is not None


def json_spans(
    text: str, decoder: json.JSONDecoder = _DECODER
) -> Iterator[tuple[int, int, dict[str, Any] | None]]:
    """Top-level JSON objects in a text, in order: where each begins and ends, and what it holds.

    An object that is broken or cut off is None, with all inside it: what it quotes is no verdict.

    Raises:
        AnswerError: More objects and stray braces than `_MOST_OBJECTS`.
    """
    at = text.find("{")
    for _ in range(_MOST_OBJECTS):
        if at < 0:
            return
        value: Any = None
        try:
            value, end = decoder.raw_decode(text, at)
            yield at, end, value
        except (ValueError, RecursionError):
            end = at + 1
            if _OBJECT.match(text, at):
                end = _end_of(text, at)
                yield at, end, None
        at = text.find("{", end)
    if at >= 0:
        raise AnswerError(
            ErrorKind.JUDGE_PARSE, f"the judge's answer holds more than {_MOST_OBJECTS} opening braces"
        )


def _end_of(text: str, start: int) -> int:
    """Where the object that begins here ends, by its braces alone; the text's end where it is cut off."""
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.end()
    return len(text)


def _closed(text: str) -> str:
    """JSON that was cut off, with its open text, lists and objects closed."""
    stack: list[str] = []
    inside = escaped = False
    for char in text:
        if inside:
            inside, escaped = (char != '"' or escaped), (char == "\\" and not escaped)
        elif char == '"':
            inside = True
        elif char in "{[":
            stack.append("}" if char == "{" else "]")
        elif char in "}]" and stack:
            stack.pop()
    ended = text + '"' * inside
    return ended.rstrip(",: \t\r\n") + "".join(reversed(stack))
