"""The built-in prompts: jinja2 files next to this module, filled in with texts that cannot close their own tags."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from workbench.core.thread import StringThread, Turn
from workbench.data.templates import Template, context_text
from workbench.data.templates import compile as compile_template
from workbench.data.templates.values import TemplateRunError

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
