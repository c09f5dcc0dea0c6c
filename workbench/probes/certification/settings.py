"""The settings of `wb.certify` and the names of its checks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.display_text import did_you_mean
from workbench.core.errors import ReportError
from workbench.graders.base import is_number
from workbench.probes.certification.cost import Confirm
from workbench.probes.certification.identity import DEV, TEST, names_of

CHECKS = (
    "prompt", "replies", "reversed", "injection", "refusals", "reference", "repeats", "position", "length", "padding",
    "self-preference", "transport", "annotators", "replacement",
)  # fmt: skip
"""Names of the checks that `skip` takes, the ones that explain others first."""


@dataclass(frozen=True, kw_only=True)
class CertifySettings:
    """Further settings of `wb.certify`.

    Attributes:
        store: Where judges' replies and looks at test rows are stored, as in `Suite.run`.
        looks: A file in which looks at test rows are recorded instead, such as "looks.jsonl".
        confirm: True to send the requests without a budget, or a function that is called with the estimated cost.
        split: A column with the split of each row (examples, dev, test), or shares such as {"examples": 0.1, "dev": 0.4}.
        use: "test", or "dev" to see the table without using a test row.
        against: The judge that this one replaces: a grader, or a column with its stored verdicts.
        compare: Columns over whose values the judge has to be equally good, in addition to writer, model and topic.
        skip: Names of checks that are not made, see `CHECKS`.
        unlabelled: Maximum unlabelled rows that are judged, for the corrected rates.
        pass_threshold: Lowest score that accepts a row, if the judge returns no verdict itself; the middle of its scale by default.
        seed: Of the rows drawn and of the splits.
        progress: Whether the cost and a bar are shown.
    """

    store: Any = None
    looks: str | os.PathLike[str] | None = None
    confirm: Confirm = None
    split: Any = None
    use: str = TEST
    against: Any = None
    compare: Sequence[str] = ()
    skip: Sequence[str] = ()
    unlabelled: int = 300
    pass_threshold: float | None = None
    seed: int = 0
    progress: bool = True

    def __post_init__(self) -> None:
        if self.use not in (TEST, DEV):
            raise ReportError("unknown split to use", found=repr(self.use), expected="test, or dev")
        for name in names_of(self.skip):
            if name not in CHECKS:
                raise ReportError(
                    f"unknown check {name!r}", expected=", ".join(CHECKS), hint=did_you_mean(name, CHECKS)
                )
        if isinstance(self.unlabelled, bool) or not isinstance(self.unlabelled, int) or self.unlabelled < 0:
            raise ReportError("unlabelled must be a whole number, 0 or more", found=repr(self.unlabelled))
        if self.pass_threshold is not None and not is_number(self.pass_threshold):
            raise ReportError("pass_threshold must be a finite number", found=repr(self.pass_threshold))


def certify_settings(settings: dict[str, Any]) -> CertifySettings:
    """The settings by name.

    Raises:
        TypeError: An unknown setting; the nearest one is proposed.
        ReportError: A value that a setting does not take.
    """
    known = CertifySettings.__dataclass_fields__
    if unknown := sorted(set(settings) - set(known)):
        near = did_you_mean(unknown[0], known)
        raise TypeError(
            f"certify has no setting {unknown[0]!r}; {near or 'its further settings are ' + ', '.join(known)}"
        )
    return CertifySettings(**settings)


def rate_limits(limit: Any) -> tuple[float, float]:
    """The lowest true-positive and the lowest true-negative rate.

    Raises:
        ReportError: It is neither a rate between 0 and 1 nor two.
    """
    both = (limit, limit) if is_number(limit) else tuple(limit) if isinstance(limit, tuple | list) else ()
    if len(both) != 2 or not all(is_number(one) and 0 < one < 1 for one in both):
        raise ReportError(
            "limit must be a rate between 0 and 1, or two",
            found=repr(limit)[:60],
            expected="such as 0.80 or (0.80, 0.90)",
        )
    return float(both[0]), float(both[1])
