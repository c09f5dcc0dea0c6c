"""What a model at a server can do, found out by asking: formats of answers, and settings it does not take.

Servers that speak OpenAI's protocol differ. A request that is refused for its format is asked again with the next
simpler one: JSON schema, then JSON object, then text. What was found lacking is remembered, and tried again by one
question after `FORGET` seconds, since servers are mended, restarted and replaced. A server that is warming up answers
500 to everything, so a format that was given up for that alone is tried again by the very next question.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["FORGET", "FORMS", "Ability", "ability", "fallbacks", "form_of", "given_up_for_a_fault"]

FORGET = 600.0
"""Seconds after which what a server did not take is tried again."""

FORMS = ("json_schema", "json_object", "text")
"""Formats of an answer, the strictest first."""
_TEXT = len(FORMS) - 1

_ABOUT_FORMAT = re.compile(
    r"response.?format|json.?(schema|object|mode)|structured.?output|grammar|guided", re.IGNORECASE
)
_NO_TEMPERATURE = re.compile(
    r"temperature.{0,80}(unsupported|not supported|does not support|only the default)|"
    r"(unsupported|not supported|does not support).{0,80}temperature",
    re.IGNORECASE | re.DOTALL,
)
_MALFORMED = frozenset({400, 415, 422})
_BROKEN = frozenset({500, 501})

_known: dict[tuple[str, str], Ability] = {}


@dataclass
class Ability:
    """One model at one server.

    Attributes:
        good: Formats that were answered, by their place in `FORMS`.
        lacking: Formats that were refused where a simpler one was answered, and when each is tried again.
        shaky: Formats that are lacking since the server failed, and not since it refused them.
        renamed: Whether the limit of an answer is called max_completion_tokens here.
        dropped: Settings the model does not take, and when each is tried again.
        clock: Seconds since some moment.
    """

    good: set[int] = field(default_factory=set)
    lacking: dict[int, float] = field(default_factory=dict)
    shaky: set[int] = field(default_factory=set)
    renamed: bool = False
    dropped: dict[str, float] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic

    def _without(self, held: dict[Any, float], name: Any) -> bool:
        """Whether to do without; once its time has come, one question tries, and the others wait for the outcome."""
        if name not in held:
            return False
        if (now := self.clock()) < held[name]:
            return True
        held[name] = now + FORGET
        return False

    def fit(self, request: Mapping[str, Any], refused: Collection[int] = ()) -> dict[str, Any]:
        """The request as this model takes it, in a format that was not refused to this question."""
        fitted = {name: value for name, value in request.items() if not self._without(self.dropped, name)}
        if self.renamed and "max_tokens" in fitted:
            fitted["max_completion_tokens"] = fitted.pop("max_tokens")
        if "response_format" in fitted:
            has = (
                form
                for form in range(form_of(request), _TEXT)
                if form not in refused and not self._without(self.lacking, form)
            )
            _put_form(fitted, next(has, _TEXT))
        return fitted

    def untold(self, sent: Mapping[str, Any]) -> None:
        """A request failed by a fault that teaches nothing: what it tried again is tried by the next question."""
        now = self.clock()
        if (form := form_of(sent)) in self.lacking:
            self.lacking[form] = now
        for name in self.dropped.keys() & sent.keys():
            self.dropped[name] = now

    def worked(
        self, sent: Mapping[str, Any], asked: Mapping[str, Any], doubted: Collection[int] = ()
    ) -> None:
        """An answer came: the model has the format sent, and lacks the stricter ones that were refused.

        Args:
            sent: The request that was answered.
            asked: The request as the judge wants it.
            doubted: Formats that were given up since the server failed, which may have been about anything.
        """
        now = form_of(sent)
        self.good.add(now)
        self.lacking.pop(now, None)
        self.shaky.discard(now)
        for name in sent:
            self.dropped.pop(name, None)
        for form in range(form_of(asked), now):
            if form not in self.good:
                self.shaky.update({form} & set(doubted) - self.lacking.keys())
                self.lacking.setdefault(form, self.clock() + (0.0 if form in doubted else FORGET))

    def lesson(self, status: int, message: str, sent: Mapping[str, Any], *, again: bool = False) -> str:
        """What a refusal of a request teaches.

        Args:
            status: Of HTTP.
            message: The server's words.
            sent: The request as it was sent.
            again: Whether this question was refused in this format before.

        Returns:
            "again" to ask as `fit` has it now, "simpler" to try the next simpler format, "" for nothing.
        """
        if status in _MALFORMED and self._settings_lesson(message, sent):
            return "again"
        if form_of(sent) == _TEXT:
            return ""
        known_good = form_of(sent) in self.good
        if status in _MALFORMED and (_ABOUT_FORMAT.search(message) or not known_good):
            return "simpler"
        if status not in _BROKEN:
            return ""
        # A server that answers 500, and 500 again, may lack the format; a single one is a bad moment.
        return "simpler" if again else "" if known_good else "again"

    def _settings_lesson(self, message: str, sent: Mapping[str, Any]) -> bool:
        if "max_tokens" in sent and "max_completion_tokens" in message:
            self.renamed = True
            return True
        if "temperature" in sent and _NO_TEMPERATURE.search(message):
            self.dropped["temperature"] = self.clock() + FORGET
            return True
        return False


def form_of(request: Mapping[str, Any]) -> int:
    """Place in `FORMS` of the format a request asks for."""
    wanted = request.get("response_format")
    name = wanted.get("type") if isinstance(wanted, Mapping) else "text"
    return FORMS.index(name) if name in FORMS else 0


def given_up_for_a_fault(status: int) -> bool:
    """Whether a refusal was a failure of the server, which may be about anything."""
    return status in _BROKEN


_SHOWN = {"json_schema": "JSON schema", "json_object": "JSON object", "text": "plain text"}


def fallbacks(
    sent: Mapping[str, Any], asked: Mapping[str, Any], shaky: Collection[int] = ()
) -> Iterator[tuple[str, str]]:
    """What was not sent as the judge wants it, with the reason, and what was sent in its place.

    Args:
        sent: The request that was answered.
        asked: The request as the judge wants it.
        shaky: Formats that were given up since the server failed.
    """
    if (wanted := form_of(asked)) < (now := form_of(sent)):
        why = "failed when asked for" if wanted in shaky else "did not take"
        yield f"{why} {_SHOWN[FORMS[wanted]]}", f"as {_SHOWN[FORMS[now]]}"
    if "temperature" in asked and "temperature" not in sent:
        yield "did not take temperature", "without it"


def _put_form(request: dict[str, Any], form: int) -> None:
    if form == _TEXT:
        request.pop("response_format")
    elif form != form_of(request):
        request["response_format"] = {"type": FORMS[form]}


def ability(server: str, model: str) -> Ability:
    """What is known of a model at a server; the same object for everybody who asks."""
    return _known.setdefault((server, model), Ability())
