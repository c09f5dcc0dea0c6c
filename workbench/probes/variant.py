"""The register of transformations: what makes a known-bad or known-good text of a row, and what it may prove."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from workbench.discovery import refuse_taken
from workbench.probes.row import Row

__all__ = ["VARIANTS", "Alarm", "Make", "Variant", "variant"]

_NEAR_MISSES = 20
"""Rank from which texts resemble the right answer."""

Make = Callable[[Row], Iterable[str | None]]
"""From a row to texts, none where the transformation makes no sense there; None is a row without an answer."""
Alarm = Literal["always", "reference", "form", "free", "strict", "number", "never"]


@dataclass(frozen=True)
class Variant:
    """A transformation.

    Attributes:
        name: Short and hyphenated.
        expects: Whether its texts have to be rejected or accepted.
        says: What its texts are, to end the sentence "accepts ..." or "rejects the right answer ...".
        make: Its function.
        alarm: When a text that fooled the grader is a finding rather than a note. "reference": only where the grader
            reads the reference, since one that looks at the form alone was never asked to; "form": only where it does not read it; "always"; "free": a
            known-good form counts only where the grader takes answers in sentences of any kind; "strict": only where it
            does not, so that the whole text is the answer; "number": only where
            it evidently reads numbers as numbers; "never": a property, true of healthy graders too.
        rank: Causes before consequences: the lowest is told first.
        least: Rows that have to be fooled, where so many were tried: one may be a coincidence of the data.
        judges: Whether it is worth a question to a model.
        advice: What to do about it.
        crash: Whether a grader that fails on such a text is told so: any answer may look like that.
        names: Words that make an alarm of a property where they stand in the grader's source: who handles the case by
            name meant to handle it.
        beside: Whether its texts are a wrong answer with something beside it: a row counts only where the wrong answer
            alone is rejected.
        distinct: Whether rows with different references have to be fooled by it: no text is right for all of them.
    """

    name: str
    expects: Literal["reject", "accept"]
    says: str
    make: Make
    alarm: Alarm = "reference"
    rank: int = 50
    least: int = 1
    judges: bool = True
    advice: str = ""
    crash: bool = False
    names: tuple[str, ...] = ()
    beside: bool = False
    distinct: bool = False

    @property
    def gross(self) -> bool:
        """Whether its texts are no answer, or that of another question, rather than a near miss."""
        return self.rank < _NEAR_MISSES


VARIANTS: dict[str, Variant] = {}
"""Every transformation by its name."""


def variant(
    name: str,
    expects: Literal["reject", "accept"],
    says: str,
    *,
    alarm: Alarm = "reference",
    rank: int = 50,
    **settings: object,
) -> Callable[[Make], Make]:
    """Register a function from a row to texts; `wb.probe` tries it from then on.

    Args:
        name: Short and hyphenated.
        expects: "reject" for known-bad texts, "accept" for known-good ones.
        says: What its texts are, to end the sentence "accepts ..." or "rejects the right answer ...".
        alarm: When it is a finding; see `Variant`.
        rank: Causes before consequences.
        settings: The other attributes of `Variant`.

    Raises:
        ValueError: Another function has the name.
    """

    def register(make: Make) -> Make:
        taken = VARIANTS.get(name)
        refuse_taken("transformation", name, taken and taken.make, make)
        VARIANTS[name] = Variant(name, expects, says, make, alarm, rank, **settings)  # type: ignore[arg-type]
        return make

    return register
