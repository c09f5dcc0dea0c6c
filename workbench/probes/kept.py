"""Regression rows: texts that a grader once misgraded, and correct completions that it must continue to accept."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from workbench.analysis.diagnostics import Finding
from workbench.data.samples import Samples
from workbench.probes.base import Base
from workbench.probes.board import with_texts
from workbench.probes.causes import MENTIONS
from workbench.probes.tried import Family, TriedText

__all__ = ["RIGHT", "kept_rows", "kinds_behind"]

RIGHT = "right answer"
"""The `probe` column of rows that are not made by a transformation."""
_PER_HOLE, _PER_FORM, _RIGHT = 10, 5, 20
"""Maximum rows of each kind: enough to notice that a hole is open again, few enough to read. Workbench limit."""

Line = tuple[str, int, str | None, bool, bool]
"""Name, row, text, label, and whether the grader was right about it."""


def kept_rows(
    samples: Samples,
    found: Sequence[Family],
    base: Base | None,
    findings: Sequence[Finding],
    held: AbstractSet[str],
) -> Samples:
    """The regression rows.

    Args:
        samples: The rows drawn.
        found: The graded texts.
        base: What is correct; None if nothing was graded.
        findings: Confirmed holes: their texts are included.
        held: Transformations that apply to this grader: other forms need not be accepted in future.
    """
    lines: list[Line] = []
    proven = kinds_behind({finding.kind for finding in findings}, found)
    for row, text in list((base.right if base else {}).items())[:_RIGHT]:
        lines.append((RIGHT, row, text, True, True))
    for family in found:
        name, good = family.variant.name, family.variant.expects == "accept"
        if name in proven:
            lines += [(name, text.row, text.text, good, False) for text in _spread(family, _PER_HOLE)]
        elif good and name in held and not family.fooled and name != "as-it-is":
            lines += [(name, text.row, text.text, True, True) for text in family.texts[:_PER_FORM]]
    ids = [f"{samples.ids[row]} {name} {number}" for number, (name, row, *_) in enumerate(lines)]
    id_column = samples.columns.get("id", "id")
    kept = with_texts(
        samples, [line[1] for line in lines], [line[2] for line in lines],
        probe=[line[0] for line in lines], label=[line[3] for line in lines], was=[line[4] for line in lines], **{id_column: ids},
    )  # fmt: skip
    if "reference" in samples.columns:
        return kept
    # Otherwise `label` would be taken for the reference when the rows are read from a file.
    frame = kept.frame
    frame["reference"] = None
    return Samples(frame, columns={**kept.columns, "reference": "reference"}, source=samples.source)


def kinds_behind(kinds: AbstractSet[str], found: Sequence[Family]) -> set[str]:
    """Findings' kinds with the transformations that a leading one sums up."""
    always = {
        family.variant.name
        for family in found
        if family.variant.alarm == "always" and family.variant.expects == "reject"
    }
    return {
        *kinds,
        *(MENTIONS if "mention" in kinds else ()),
        *(always if "accepts-anything" in kinds else ()),
    }


def _spread(family: Family, most: int) -> list[TriedText]:
    """Misgraded texts, from as many rows as possible, the shortest first."""
    shortest = {text.row: text for text in reversed(family.fooled)}
    first = sorted(shortest.values(), key=lambda text: len(text.text or ""))
    rest = [text for text in family.fooled if text is not shortest[text.row]]
    return [*first, *rest][:most]
