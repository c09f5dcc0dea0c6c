"""The register of transformations: functions from a row to adversarial or equivalent texts, and what these can show."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from workbench.core.discovery import refuse_taken
from workbench.probes.row import ProbeRow

__all__ = ["VARIANTS", "Alarm", "Make", "Variant", "variant"]

_NEAR_MISSES = 20
"""Rank from which texts resemble the reference."""

Make = Callable[[ProbeRow], Iterable[str | None]]
"""From a row to texts, none if the transformation does not apply; None is a row without a completion."""
Alarm = Literal["always", "reference", "form", "free", "strict", "number", "never"]


@dataclass(frozen=True)
class Variant:
    """A transformation.

    Attributes:
        name: Short and hyphenated.
        expects: Whether its texts have to be rejected or accepted.
        says: What its texts are, to end the sentence "accepts ..." or "rejects the reference ...".
        make: Its function.
        alarm: When a misgraded text is a finding rather than a note. "reference": only if the grader reads the reference,
            since a check of the form has none; "form": only if it does not read it; "always"; "free": a known-good form
            counts only if the grader accepts references in sentences of any kind; "strict": only if it does not, so that
            the whole text is the completion; "number": only if it evidently parses numbers; "never": a property, true of
            sound graders too.
        rank: Causes before consequences: the lowest is reported first.
        least: Minimum number of misgraded rows, if at least that many were graded: one may be a coincidence of the data.
        judges: Whether it is worth a request to a model.
        advice: What to do about it.
        crash: Whether a failure on such a text is reported: any completion may look like that.
        names: Words that turn a property into a finding if they occur in the grader's source: code that handles the case
            by name is meant to handle it.
        beside: Whether its texts add something to a wrong completion: a row counts only if the wrong completion alone
            is rejected.
        distinct: Whether rows with different references must be misgraded: no text is correct for all of them.
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
        """Whether its texts are not completions, or belong to another prompt, rather than being a near miss."""
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
    """Register a function from a row to texts; `wb.probe` then includes it.

    Args:
        name: Short and hyphenated.
        expects: "reject" for known-bad texts, "accept" for known-good ones.
        says: What its texts are, to end the sentence "accepts ..." or "rejects the reference ...".
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
