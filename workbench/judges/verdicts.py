"""The verdict of a judge's reply, without what the reply quotes from the judged text, or why there is none.

Each platform parses malformed replies in its own way; a judge's `platform` names the platform. "" is the workbench: a
malformed reply has no score.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from workbench.core.grade import ErrorKind
from workbench.core.python_text import cached_property
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.judges.protocol import Messages, Reply

PLATFORMS = ("", "adaptive", "letta", "openai", "umbraco", "vllora")
"""Platforms whose rules for malformed replies are implemented; "" is the workbench."""

_THINKING_START = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_THINKING_END = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_REFUSALS = re.compile(
    r"\W*(i(['\u2019]m| am) (sorry|unable|not able)|sorry, |i (can(not|['\u2019]t)|won['\u2019]t|refuse|must decline)|as an ai)",
    re.IGNORECASE,
)
_OBJECT_START = re.compile(r'\{\s*"')
_BRACE_OF_OBJECT = re.compile(r'\{(?=[ \t\r\n]*["}])')
"""A brace that may start an object. Others, as in LaTeX and code, are skipped."""
_BRACE = re.compile(r"[{}]")
_MAX_OBJECTS = 200
"""Maximum number of objects in a reply, broken ones included. Workbench limit: many times more than one verdict needs."""
_MAX_READS = 4
"""Maximum total length of broken objects parsed, in lengths of the text: bounds the time to linear in the text's length."""
MAX_ANSWER_CHARACTERS = 1_000_000
"""Maximum characters of a reply, thinking and arguments of tool calls included. Workbench limit: twice the longest of 2026."""


class AnswerError(Exception):
    """A reply without a usable verdict.

    Args:
        kind: judge_parse, judge_cut, judge_too_long, judge_refusal, out_of_range or not_finite.
        message: A sentence for the author of the judge.
    """

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def answer_text(reply: Reply, platform: str = "") -> str:
    """A reply's text without thinking and code fences; under Letta's and Umbraco's rules the unchanged text.

    Raises:
        AnswerError: The model refused or called a tool, the reply is too long, or (workbench rules) it was truncated.
    """
    check_complete(reply, platform)
    if not reply.text and reply.tool_calls:
        raise AnswerError(ErrorKind.JUDGE_PARSE, "the judge called a tool instead of replying with a verdict")
    if platform in {"letta", "umbraco"}:
        return reply.text
    return _without_fence(_without_thinking(reply.text).strip())


def check_complete(reply: Reply, platform: str = "") -> None:
    """Fail on a refusal, on a reply over `MAX_ANSWER_CHARACTERS`, and under the workbench's rules on a truncated one.

    Raises:
        AnswerError: One of these occurred.
    """
    if reply.refusal:
        raise AnswerError(ErrorKind.JUDGE_REFUSAL, f"the judge refused: {reply.refusal[:300]}")
    length = len(reply.text) + sum(len(str(call.get("function"))) for call in reply.tool_calls)
    if length > MAX_ANSWER_CHARACTERS:
        message = f"the judge's reply has {length:,} characters; at most {MAX_ANSWER_CHARACTERS:,} are read"
        raise AnswerError(ErrorKind.JUDGE_TOO_LONG, message)
    if reply.finish_reason == "length" and not platform:
        raise AnswerError(ErrorKind.JUDGE_CUT, "the judge's reply was truncated; raise max_tokens")


def _without_thinking(text: str) -> str:
    """The text outside thinking. Text before a lone closing tag, or after a lone opening one, is thinking.

    Chat templates often put the opening tag into the prompt, so that a reply has only the closing one.
    """
    *closed_parts, last_part = _THINKING_END.split(text)
    opened_parts = [(_THINKING_START.search(part), part) for part in closed_parts]
    outside = [part[: tag.start()] for tag, part in opened_parts if tag is not None]
    return "".join([*outside, _THINKING_START.split(last_part, maxsplit=1)[0]])


def _without_fence(text: str) -> str:
    """The inside of a code fence if the text is nothing else; otherwise the text."""
    if len(text) < 6 or not (text.startswith("```") and text.endswith("```")):
        return text
    return re.sub(r"\A[\w-]*[ \t]*\r?\n", "", text[3:-3], count=1).strip()


def verdict_object(text: str, key: str, platform: str = "") -> dict[str, Any]:
    """The JSON object that contains the verdict.

    The workbench (and vLLora) uses the last object in the text that has `key`, if all objects with `key` agree. Letta and
    OpenAI parse the whole text; Umbraco parses from the first { to the last }; Adaptive parses the whole text, closed
    where it was truncated. Under every rule an object that has a key twice is not a verdict, because it is ambiguous.

    Args:
        text: The reply, without thinking and code fences.
        key: The key that the object must have.
        platform: The platform, one of `PLATFORMS`.

    Raises:
        AnswerError: There is no such object, or there are two that differ.
    """
    value: Any = None
    if platform in {"", "vllora"}:
        value = _agreed_object(text, key)
    elif platform == "umbraco":
        value = _parse_strict_json(text[text.find("{") : text.rfind("}") + 1] if "{" in text else "")
    elif platform == "adaptive":
        value = parse_json(text)
        value = parse_json(_closed(text)) if value is None else value
    else:
        value = parse_json(text)
    if not isinstance(value, dict):
        _raise_no_verdict(text, key, platform)
    return value


def _raise_no_verdict(text: str, key: str, platform: str) -> NoReturn:
    if not platform and _REFUSALS.match(text):
        raise AnswerError(ErrorKind.JUDGE_REFUSAL, f"the judge refused: {text[:300]}")
    answer = f"{text[:200]!r}" if text else "empty"
    raise AnswerError(
        ErrorKind.JUDGE_PARSE, f"the judge's reply has no JSON object with {key!r}; it was {answer}"
    )


def score_value(value: Any, platform: str = "", *, low: float = 0.0, high: float = 1.0) -> float:
    """A verdict's score, from `low` to `high`.

    Letta parses strings and booleans as numbers; Letta and OpenAI clamp a number outside the range; Umbraco accepts it.

    Raises:
        AnswerError: Not a number, not finite, or (workbench, Adaptive, vLLora) outside the range.
    """
    if platform == "letta" and isinstance(value, str | bool):
        value = _to_number(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        description = "nothing" if value is None else f"{str(value)[:80]!r} ({type(value).__name__})"
        raise AnswerError(ErrorKind.JUDGE_PARSE, f"the judge's score must be a number, not {description}")
    if not _is_finite(value):
        raise AnswerError(ErrorKind.NOT_FINITE, f"the judge's score must be finite, not {str(value)[:80]}")
    if platform in {"letta", "openai"}:
        return max(low, min(high, float(value)))
    if platform != "umbraco" and not low <= value <= high:
        raise AnswerError(
            ErrorKind.OUT_OF_RANGE, f"the judge's score {value:g} is outside {low:g} to {high:g}"
        )
    return float(value)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the range of a float
        return False


def _to_number(value: str | bool) -> Any:
    try:
        return float(value)
    except ValueError:
        return value


def parse_json(text: str, **settings: Any) -> Any:
    """The value of a text that is entirely JSON; None if it is not JSON.

    Args:
        text: The text.
        settings: Further arguments for `json.loads`.

    Raises:
        AnswerError: An object has a key twice.
    """
    try:
        return json.loads(text, object_pairs_hook=_refuse_repeated_keys, **settings)
    except (ValueError, RecursionError):
        return None


def _parse_strict_json(text: str) -> Any:
    """Parse a constant; NaN and Infinity are rejected, as by .NET's parser."""

    def refuse(name: str) -> NoReturn:
        raise ValueError(name)

    return parse_json(text, parse_constant=refuse)


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if key := repeated_key(pairs):
        raise AnswerError(ErrorKind.JUDGE_PARSE, f"the judge's reply has the key {key} twice")
    return dict(pairs)


def repeated_key(pairs: Sequence[tuple[str, Any]]) -> str:
    """The first key that an object has twice, quoted; "" if every key is unique."""
    if len(dict(pairs)) == len(pairs):
        return ""
    counts = Counter(name for name, _ in pairs)
    return repr(next(name for name, count in counts.items() if count > 1)[:80])


# Models put raw line breaks and other control characters into strings, so neither decoder is strict about them.
_DECODER = json.JSONDecoder(strict=False)
_VERDICT_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_refuse_repeated_keys)


def _agreed_object(text: str, key: str) -> Any:
    """The last object that has `key`; None where there is none.

    Raises:
        AnswerError: Two objects have different values of `key`, or one of several cannot be parsed.
    """
    verdicts: list[Mapping[str, Any]] = []
    has_broken_verdict = False
    for start, end, value in json_spans(text, _VERDICT_DECODER):
        has_broken_verdict = has_broken_verdict or (value is None and _gives_value(text[start:end], key))
        if value is not None and key in value:
            verdicts.append(value)
    if not verdicts:
        return None
    last = verdicts[-1]
    differing = [verdict[key] for verdict in verdicts[:-1] if verdict[key] != last[key]]
    if has_broken_verdict or differing:
        first = f"{differing[0]!r}"[:80] if differing else "one that is not JSON"
        raise AnswerError(
            ErrorKind.JUDGE_PARSE,
            f"the judge's reply has two verdicts: {first}, and {last[key]!r}"[:300],
        )
    return last


def _gives_value(text: str, key: str) -> bool:
    """Whether broken JSON has a value for the key; false for repeated instructions such as {"score": <number>}."""
    return re.search(rf'"{re.escape(key)}"\s*:\s*["\[{{tfn\d.-]', text) is not None


def json_spans(
    text: str, decoder: json.JSONDecoder = _DECODER
) -> Iterator[tuple[int, int, dict[str, Any] | None]]:
    """The top-level JSON objects in a text, in order: the start, the end and the value of each.

    The value of an object that is broken or truncated is None. Objects inside it are not searched, because quoted
    objects are not verdicts.

    Raises:
        AnswerError: There are more objects than `_MAX_OBJECTS`, or broken objects inside each other.
    """
    start, to_read = _next_object(text, 0), _MAX_READS * len(text)
    for _ in range(_MAX_OBJECTS):
        if start < 0:
            return
        value: Any = None
        try:
            value, end = decoder.raw_decode(text, start)
            yield start, end, value
        except (ValueError, RecursionError) as error:
            # How far the decoder read; unknown after a RecursionError.
            to_read -= getattr(error, "pos", len(text)) - start
            if to_read < 0:
                raise AnswerError(
                    ErrorKind.JUDGE_PARSE, "the judge's reply has too many broken JSON objects"
                ) from None
            end = start + 1
            if _OBJECT_START.match(text, start):
                end = _object_end(text, start)
                yield start, end, None
        start = _next_object(text, end)
    if start >= 0:
        raise AnswerError(
            ErrorKind.JUDGE_PARSE, f"the judge's reply has more than {_MAX_OBJECTS} JSON objects"
        )


def _next_object(text: str, start: int) -> int:
    """Where the next object may start; -1 if there is none."""
    found = _BRACE_OF_OBJECT.search(text, start)
    return -1 if found is None else found.start()


def _object_end(text: str, start: int) -> int:
    """Where an object ends, by its braces alone; the text's end if it is truncated."""
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.end()
    return len(text)


def _closed(text: str) -> str:
    """Truncated JSON with its open string, lists and objects closed."""
    closers: list[str] = []
    in_string = escaped = False
    for char in text:
        if in_string:
            in_string, escaped = (char != '"' or escaped), (char == "\\" and not escaped)
        elif char == '"':
            in_string = True
        elif char in "{[":
            closers.append("}" if char == "{" else "]")
        elif char in "}]" and closers:
            closers.pop()
    closed_text = text + '"' * in_string
    # A comma or colon at the end announces a value that is missing.
    return closed_text.rstrip(",: \t\r\n") + "".join(reversed(closers))


QUOTED = "[quoted from what is judged]"
"""Replaces a removed object."""
_IGNORED = b" \t\r\n\\\"'"
"""Bytes that a quote may change: spaces, and the quotation marks of JSON inside JSON and of Python's dicts."""


def without_quotes(text: str, sample: Sample, messages: Messages) -> str:
    """A reply's text without the JSON objects that are quoted from the judged text.

    A judge may repeat parts of the judged text, and a completion may contain a verdict ("score": 1.0). Such an object must not
    be parsed as the judge's verdict.

    An object counts as quoted if it occurs in the conversation, or in another column of the row that the request
    included. An object that occurs only in the author's prompt, such as an example of a reply, is not a quote. A column
    that the judge never saw is not searched. Spaces, quotation marks and backslashes are not compared.

    Args:
        text: The reply, without thinking and code fences.
        sample: The judged sample.
        messages: The request.

    Raises:
        AnswerError: The reply has too many braces; see `json_spans`.
    """
    if "{" not in text:
        return text
    row = _RowTexts(sample, messages)
    parts, position = [], 0
    for start, end, _ in json_spans(text):
        if row.holds(_normalized(text[start:end])):
            parts += [text[position:start], QUOTED]
            position = end
    return "".join([*parts, text[position:]])


class _RowTexts:
    """The texts of a row and its request. Each is made when first needed, because most replies quote nothing."""

    def __init__(self, sample: Sample, messages: Messages) -> None:
        self._sample, self._messages = sample, messages

    def holds(self, quote: bytes) -> bool:
        """Whether a quote is in the conversation, or in a column that the request included."""
        return quote in self._conversation or (quote in self._columns and quote in self._question)

    @cached_property
    def _conversation(self) -> bytes:
        return _joined(_conversation_texts(self._sample.thread))

    @cached_property
    def _columns(self) -> bytes:
        return _joined(_column_texts(self._sample))

    @cached_property
    def _question(self) -> bytes:
        return _joined(_message_texts(self._messages))


def _joined(texts: Iterable[str]) -> bytes:
    # A null character between them, so that no quote matches across the border of two texts.
    return _normalized("\0".join(texts))


def _normalized(text: str) -> bytes:
    # Bytes, because `bytes.translate` removes characters many times faster than `str.translate`.
    return text.encode("utf-8", "surrogatepass").translate(None, _IGNORED)


def _conversation_texts(thread: StringThread) -> Iterator[str]:
    yield from (turn.content for turn in thread.get_turns())
    if calls := thread.tool_calls():
        yield _as_text(calls)


def _column_texts(sample: Sample) -> Iterator[str]:
    return map(_as_text, filter(None, (sample.reference, sample.thread.metadata, sample.thread.tools)))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _message_texts(messages: Messages) -> Iterator[str]:
    for message in messages:
        content = message.get("content")
        for part in content if isinstance(content, list) else [content]:
            yield str(part.get("text", "")) if isinstance(part, Mapping) else str(part)
