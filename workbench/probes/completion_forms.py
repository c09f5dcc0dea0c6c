"""Forms of a completion around its reference: usual ones, those of a grader's patterns, and those that completions show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from workbench.probes.shapes import Mined, as_json_value


@dataclass(frozen=True)
class CompletionForm:
    r"""A form of a completion.

    Attributes:
        name: For display, such as "in \boxed{}".
        before: The text before the reference.
        after: The text after it.
        change: Function applied to the reference itself; none by default.
        mends: Whether the change alters how the reference is written, such as its capital letters: if only that form
            is accepted, the grader rejects its reference.
    """

    name: str
    before: str = ""
    after: str = ""
    change: Callable[[str], str] = str
    mends: bool = False

    def __call__(self, answer: str) -> str:
        """The reference in this form."""
        return f"{self.before}{self.change(answer)}{self.after}"


PLAIN = CompletionForm("as the reference has it")

FREE = (
    CompletionForm("in a sentence", "The answer is ", "."),
    CompletionForm("after some words", "I worked it out step by step, and the result is ", ""),
    CompletionForm("after a short text", "Let me think about that.\n\nFinal answer: ", ""),
    CompletionForm("at the start of a sentence", "", " is the answer."),
)
"""Sentences of several kinds: a grader that accepts at least three of them accepts references in free text."""

_GENERAL = (
    CompletionForm("in \\boxed{}", "\\boxed{", "}"),
    CompletionForm("in \\boxed{} after a text", "So the result is $\\boxed{", "}$."),
    CompletionForm("after ####", "#### "),
    CompletionForm("after 'Answer:'", "Answer: "),
    CompletionForm("after 'ANSWER:'", "ANSWER: "),
    CompletionForm("after 'Final answer:'", "Final answer: "),
    CompletionForm("in <answer>", "<answer>", "</answer>"),
    CompletionForm("in a code block", "```\n", "\n```"),
    CompletionForm("in a Python block", "```python\n", "\n```"),
    CompletionForm("in a JSON block", "```json\n", "\n```"),
    CompletionForm("in bold type", "**", "**"),
    CompletionForm("in brackets", "(", ")"),
    CompletionForm("after a think block", "<think>Let me see.</think>\n"),
    CompletionForm("as JSON", change=as_json_value),
)

_MENDED = (
    CompletionForm("in small letters", change=str.lower, mends=True),
    CompletionForm("in capital letters", change=str.upper, mends=True),
    CompletionForm("without thousands separators", change=lambda answer: answer.replace(",", ""), mends=True),
    CompletionForm("without its unit", change=lambda answer: answer.split(" ", maxsplit=1)[0], mends=True),
    CompletionForm("without a full stop", change=lambda answer: answer.rstrip("."), mends=True),
    CompletionForm("with a plain minus", change=lambda answer: answer.replace("\u2212", "-"), mends=True),
    CompletionForm("without spaces", change=lambda answer: "".join(answer.split()), mends=True),
)

_MAX_CHARACTERS = 2_000
"""Maximum characters of a completion that serves as a form. Workbench limit."""


def shapes_for(mined: Mined, examples: Iterable[tuple[str, str]]) -> list[CompletionForm]:
    """The forms to try, the plain one first.

    Args:
        mined: What the grader's source reveals: patterns and keys make forms.
        examples: Completions and references of rows; completions that contain their reference make forms.
    """
    patterns = [CompletionForm(f"as in {before}...{after}", before, after) for before, after in mined.frames]
    keys = [
        CompletionForm(f"as JSON under {key!r}", f'{{"{key}": ', "}", as_json_value)
        for key in dict.fromkeys([*mined.keys, "answer"])
    ]
    shapes = [PLAIN, *FREE, *_GENERAL, *patterns, *keys, *_both(patterns), *learned(examples), *_MENDED]
    return list({(shape.before, shape.after, shape.change): shape for shape in shapes}.values())


def _both(patterns: Sequence[CompletionForm]) -> Iterator[CompletionForm]:
    """Forms that match several patterns: reasoning in one, the reference in another."""
    for at, shape in enumerate(patterns[:3]):
        rest = [other for other in patterns[:3] if other is not patterns[at]]
        yield CompletionForm(
            f"{shape.name} next to other forms",
            "".join(f"{other.before}some text{other.after}\n" for other in rest) + shape.before,
            shape.after,
        )


OWN_FORM = "as in a row's own completion"
"""Name of a form that a completion shows."""


def learned(examples: Iterable[tuple[str, str]], most: int = 6) -> list[CompletionForm]:
    """Forms from completions that contain their reference: the text before and after its last mention."""
    found: dict[tuple[str, str], CompletionForm] = {}
    for completion, reference in examples:
        at = completion.rfind(reference) if reference else -1
        if at < 0 or completion.strip() == reference or len(completion) > _MAX_CHARACTERS:
            continue
        before, after = completion[:at], completion[at + len(reference) :]
        if before[-1:].isalnum() or after[:1].isalnum():
            continue  # a part of a longer word or number
        found.setdefault((before[-20:], after[:20]), CompletionForm(OWN_FORM, before, after))
    return list(found.values())[:most]
