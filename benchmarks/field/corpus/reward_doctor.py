"""reward-doctor: its reference verifiers, the patterns that people write and one that it recommends."""

from __future__ import annotations

from benchmarks.field.corpus import Function, Hole, Package
from benchmarks.field.corpus.rows import SUMS

_SAID = "Step by step, that comes to RESULT.\n"

PACKAGE = Package(
    name="reward-doctor",
    versions=("0.2.0",),
    functions=tuple(
        Function(
            name=name,
            target=f"reward_doctor.reference:{name}",
            call="fn(text, reference)",
            direct=True,
            rows=SUMS,
            shape=shape,
            description=description,
            holes=holes,
        )
        for name, shape, description, holes in (
            ("exact_match", "RESULT", "equal texts", ()),
            (
                "substring_match",
                _SAID,
                "the reference is part of the completion",
                (
                    Hole(
                        text="It is not 72 but 12.",
                        accepted=True,
                        names=r"occurs|mention|negat|anywhere",
                        claim="A completion that denies the result is right.",
                        fix="use `robust_match`, as its documentation advises",
                        source="its own documentation",
                    ),
                ),
            ),
            ("last_number", _SAID, "the last number", ()),
            ("boxed_exact", f"{_SAID}\\boxed{{RESULT}}", "the only box, equal texts", ()),
            ("robust_match", f"{_SAID}The final answer is RESULT.", "one asserted result, equal values", ()),
        )
    ),
)
