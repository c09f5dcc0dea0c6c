"""Examples in a judge's requests: graded rows with the reply that the judge should give, and the rows that are such examples."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

from workbench.core.errors import FormatError, SamplesError
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.data.samples.sample import digest_of
from workbench.graders.base import as_sample
from workbench.judges.images import with_images
from workbench.judges.protocol import Messages, Reply
from workbench.judges.verdicts import AnswerError

_REQUIRED, _OPTIONAL = ("input", "output", "reply"), ("reference", "metadata")
_SHAPE = "{input: text or [{role, content}], output: text, reply: object or text, reference?, metadata?}"
_MAX_EXAMPLES = 100

J = TypeVar("J", bound=type)


def checked_examples(examples: Any) -> tuple[dict[str, Any], ...]:
    """Examples as plain dicts.

    Raises:
        FormatError: One of them lacks a part, or has an unknown one.
    """
    if not isinstance(examples, list | tuple) or len(examples) > _MAX_EXAMPLES:
        raise FormatError(
            f"examples must be a list of at most {_MAX_EXAMPLES}", found=repr(examples)[:80], expected=_SHAPE
        )
    return tuple(_checked(example, at) for at, example in enumerate(examples))


def _checked(example: Any, at: int) -> dict[str, Any]:
    where = f"examples[{at}]"
    parts = dict(example) if isinstance(example, Mapping) else {}
    if missing := [key for key in _REQUIRED if key not in parts]:
        raise FormatError(
            f"an example has no {missing[0]!r}", where=where, found=repr(example)[:80], expected=_SHAPE
        )
    if unknown := sorted(set(map(str, parts)) - {*_REQUIRED, *_OPTIONAL}):
        raise FormatError(f"an example has an unknown key {unknown[0]!r}", where=where, expected=_SHAPE)
    turns = parts["input"]
    are_turns = isinstance(turns, list | tuple) and all(
        isinstance(turn, Mapping) and {"role", "content"} <= set(turn) for turn in turns
    )
    if not isinstance(parts["output"], str) or not (isinstance(turns, str) or are_turns):
        raise FormatError(
            "an example's input must be text or messages, its output text", where=where, expected=_SHAPE
        )
    if not isinstance(parts["reply"], str | Mapping):
        raise FormatError(
            "an example's reply must be an object or text", where=where, found=repr(parts["reply"])[:80]
        )
    return parts | ({} if isinstance(turns, str) else {"input": [dict(turn) for turn in turns]})


def sample_of(example: Mapping[str, Any]) -> Sample:
    """The row that an example is about."""
    turns = example["input"]
    before = (
        [("user", turns)] if isinstance(turns, str) else [(turn["role"], turn["content"]) for turn in turns]
    )
    metadata = example.get("metadata")
    thread = StringThread([*before, ("assistant", example["output"])], dict(metadata) if metadata else {})
    return Sample("example", thread, example.get("reference"), "example")


def label_reason(*, good: bool) -> str:
    """The reason in a reply that comes from a label alone."""
    return f"An annotator {'accepted' if good else 'rejected'} this completion."


def reply_text(example: Mapping[str, Any]) -> str:
    """The reply that the judge should give."""
    reply = example["reply"]
    return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)


def show_examples(cls: J) -> J:
    """Class decorator: put the judge's examples before the last message of every request of the class, and images into it."""
    for name in ("preview", "questions"):
        method = vars(cls).get(name)
        if method is not None and not getattr(method, "__isabstractmethod__", False):
            setattr(cls, name, _showing(method))
    return cls


def _showing(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def shown(self: Any, sample: Any) -> Any:
        requests = method(self, sample)
        shots = _shots(self)
        if not requests or not (shots or self.images):
            return requests

        def complete(messages: Messages) -> Messages:
            messages = _with_shots(messages, shots) if shots else messages
            return with_images(messages, as_sample(sample), self.images)

        return list(map(complete, requests)) if isinstance(requests[0], list) else complete(requests)

    return shown


def _with_shots(messages: Messages, shots: Messages) -> Messages:
    # `preview` may return a request of `questions`, which has them already.
    if messages[-1 - len(shots) : -1] == shots:
        return messages
    return [*messages[:-1], *(dict(one) for one in shots), messages[-1]]


def _shots(judge: Any) -> Messages:
    """The requests and replies of a judge's examples; made once for each judge."""
    if not judge.examples or judge.has_own_examples:
        return []
    known: Messages | None = vars(judge).get("_shots")
    if known is None:
        bare = replace(judge, examples=(), images="")
        known = []
        for example in judge.examples:
            content = bare.preview(sample_of(example))[-1]["content"]
            known += [
                {"role": "user", "content": content},
                {"role": "assistant", "content": reply_text(example)},
            ]
        object.__setattr__(judge, "_shots", known)
    return known


def check_examples(judge: Any) -> None:
    """Refuse an example whose request cannot be made, or whose reply the judge could not read.

    Raises:
        FormatError: It names the example.
    """
    if judge.has_own_examples or not judge.examples:
        return
    bare = replace(judge, examples=(), images="")
    for at, example in enumerate(judge.examples):
        sample = sample_of(example)
        try:
            bare.read_reply(sample, bare.preview(sample), Reply(reply_text(example)))
        except AnswerError as error:
            raise FormatError(
                "an example's reply cannot be read", where=f"examples[{at}]", found=str(error)
            ) from None
        except Exception as error:  # noqa: BLE001 (a prompt of the author that does not fit the example)
            raise FormatError(
                "an example does not fit the judge", where=f"examples[{at}]", found=str(error)[:300]
            ) from None


def is_example(judge: Any, sample: Sample) -> bool:
    """Whether a row is one of the judge's examples: it has the same conversation."""
    if not judge.examples:
        return False
    digests: frozenset[str] | None = vars(judge).get("_example_digests")
    if digests is None:
        digests = frozenset(digest_of(sample_of(example).thread) for example in judge.examples)
        object.__setattr__(judge, "_example_digests", digests)
    try:
        return digest_of(sample.thread) in digests
    except SamplesError:  # a tool call that is not plain data: no example has one
        return False
