"""The built-in prompts: jinja2 files next to this module, filled in with texts that cannot close their own tags, and examples.

An example is a graded row in a judge's requests, with the reply that the judge should give.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial, wraps
from importlib.resources import files
from typing import Any, TypeVar

from workbench.core.errors import FormatError, SamplesError
from workbench.core.thread import StringThread, Turn
from workbench.core.user_functions import attempt
from workbench.data.samples import Sample
from workbench.data.samples.sample import digest_of
from workbench.data.templates import Template, context_text
from workbench.data.templates import compile as compile_template
from workbench.data.templates.values import TemplateRunError
from workbench.graders.base import as_sample
from workbench.judges.budget import with_images
from workbench.judges.protocol import Messages, Reply
from workbench.judges.verdicts import AnswerError

_TAG_NAMES = (
    "completion",
    "context",
    "conversation",
    "document",
    "question",
    "reference",
    "statements",
    "answer_a",
    "answer_b",
)
_CONTROL_BYTES = bytes([*range(9), *range(14, 32), 127])


def tag_mark(material: Mapping[str, Any]) -> str:
    """The suffix of the tags' names: "" unless a text of the material contains one of these names.

    A judged completion is untrusted, so it may contain "</completion>" and instructions after it. If any of a request's texts
    contains the name of one of these tags, all tags of that request get a suffix that is in none of the texts:
    `<completion-1f0c9a2e>`. The name alone triggers it: a model may read `<|/completion|>` or `&lt;/completion&gt;` as a tag too,
    and a list of such brackets would be incomplete. The suffix depends on the texts alone, so that a request, and with it the key
    of its stored reply, is the same in every run.

    Args:
        material: Texts, and lists of texts, by name.
    """
    texts = list(_texts(material.values()))
    if not any(map(_has_tag_name, texts)):
        return ""
    all_texts = "\0".join(texts).encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(all_texts).hexdigest()[:8]
    while any(digest in text for text in texts):
        digest = hashlib.sha256(digest.encode() + all_texts).hexdigest()[:8]
    return f"-{digest}"


def _texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, list):
            yield from value
        else:
            yield str(value)


def _has_tag_name(text: str) -> bool:
    """Whether a tag's name is in a text: in any letter case, in full-width letters, or with invisible characters."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    # Dropping all that is not ASCII at this point also drops zero-width characters.
    folded = plain.encode("ascii", "ignore").translate(None, _CONTROL_BYTES).lower().decode()
    return any(name in folded for name in _TAG_NAMES)


def prompt(name: str, material: Mapping[str, Any] | None = None, **variables: Any) -> str:
    """A built-in prompt with its variables filled in.

    Args:
        name: The file's name without its ending.
        material: The judged texts and those they are compared with: texts, and lists of texts. The prompt puts them
            between tags that they cannot close; see `tag_mark`.
        variables: The other variables, which come from the judge's author.
    """
    values = {} if material is None else {**material, "tag_mark": tag_mark(material)}
    return _template(name).render(variables | values).strip()


@cache
def _template(name: str) -> Template:
    text = files("workbench.judges.prompts").joinpath(f"{name}.jinja").read_text(encoding="utf-8")
    return compile_template(text)


def question(thread: StringThread) -> str:
    """The last user turn before the completion; "" if there is none."""
    return next((turn.content for turn in reversed(thread.messages()) if turn.role == "user"), "")


def question_and_context(thread: StringThread) -> tuple[str, str]:
    """The last user turn, and the other turns as text, without the system prompt and the completion."""
    turns = thread.messages()
    last = max((index for index, turn in enumerate(turns) if turn.role == "user"), default=None)
    context = [turn for index, turn in enumerate(turns) if index != last and turn.role != "system"]
    return ("" if last is None else turns[last].content), turns_text(context)


def conversation(thread: StringThread, *, exclude_role: str = "") -> str:
    """All turns before the completion as text, without those of one role."""
    return turns_text([turn for turn in thread.messages() if turn.role != exclude_role])


def turns_text(turns: Iterable[Turn]) -> str:
    """Turns as one text."""
    return context_text([{"role": turn.role, "content": turn.content} for turn in turns])


def check_template_names(template: Template, values: Mapping[str, Any], platform: str) -> None:
    """Reject a template variable without a value: a misspelt one would send an empty text for every row.

    Args:
        template: A prompt of the author.
        values: The variables' values.
        platform: The judge's. Platforms leave such a variable empty, and so do their rules here.

    Raises:
        TemplateRunError: It names the variable, and those that have a value.
    """
    unknown = sorted(template.variables - set(values)) if not platform else []
    if unknown:
        raise TemplateRunError(
            f"the prompt uses the variable {unknown[0]!r}, which has no value",
            expected=", ".join(sorted(values)),
        )


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
        reply = Reply(reply_text(example))
        # The author's prompt may raise anything for an example that it does not fit.
        read = attempt(partial(_read_example, bare, sample, reply))
        if isinstance(read, AnswerError):
            raise FormatError("an example's reply cannot be read", where=f"examples[{at}]", found=str(read))
        if isinstance(read, Exception):
            raise FormatError(
                "an example does not fit the judge", where=f"examples[{at}]", found=str(read)[:300]
            )


def _read_example(judge: Any, sample: Sample, reply: Reply) -> None:
    judge.read_reply(sample, judge.preview(sample), reply)


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
