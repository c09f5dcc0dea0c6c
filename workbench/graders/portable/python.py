"""Code graders as a self-contained Python module."""

from __future__ import annotations

from workbench.data.samples.columns import ROLES
from workbench.graders.base import Grader
from workbench.graders.portable.refusals import article, refusal
from workbench.graders.portable.rule import Portable
from workbench.graders.portable.slices import sliced

__all__ = ["is_portable", "portable"]

_TITLE = " grader, written by the grader workbench."
_BEFORE_NEGATION = "score_before_negation"


def portable(grader: Grader, *, reference_field: str | None = None, negate: bool = False) -> str:
    """A self-contained Python module `async def grade(thread: StringThread) -> float` that scores the same.

    The rules are sliced from the workbench's files with their helpers and imports; only the standard library is
    used, and the module loads without `StringThread`: only annotations mention it. A row that fails here
    raises there. Patterns have no separate time limit: the platform's applies.

    Args:
        grader: A code grader.
        reference_field: Key of the reference in the thread's metadata; None for the first of `reference`,
            `expected`, `ground_truth`, `label`, `answer`.
        negate: Return 1 - score, as a negated entry of a suite does; a row that fails still raises.

    Raises:
        FormatError: This grader, or one of its settings, cannot be exported; the error names the field and a hint.
    """
    if not isinstance(grader, Portable):
        raise refusal(grader, "", grader.why_not_portable)
    body = grader.python_body((reference_field,) if reference_field else ROLES["reference"])
    imports, pieces = sliced(list(map(_place, body.rules)))
    title = f'"""{article(grader.kind).capitalize()}{_TITLE}"""'
    head = [title, "", "from __future__ import annotations", "", *imports]
    statements = "\n".join(f"    {line}" for line in body.lines)
    # The rule's lines return at several points, so a function around them inverts the score.
    if negate:
        pieces = [*pieces, f"def {_BEFORE_NEGATION}(thread: StringThread) -> float:\n{statements}"]
        statements = f"    return 1.0 - {_BEFORE_NEGATION}(thread)"
    main = f"async def grade(thread: StringThread) -> float:\n{statements}\n"
    return "\n".join(head) + "\n\n\n" + "\n\n\n".join([*pieces, main])


def is_portable(text: str) -> bool:
    """Whether a module was written by `portable`, by its first line: its rule reads only the last completion."""
    return text.partition("\n")[0].rstrip('"').endswith(_TITLE)


def _place(rule: str) -> tuple[str, str]:
    """The module that contains a rule, and its name there."""
    module, _, name = rule.rpartition(".")
    if not module:
        raise ValueError(f"a rule must be named module.function, such as text.contains, not {rule!r}")
    return (module if module.startswith("workbench.") else f"workbench.graders.rules.{module}"), name
