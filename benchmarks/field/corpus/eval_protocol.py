"""eval-protocol: continues reward-kit under the same names of functions."""

from __future__ import annotations

from benchmarks.field.corpus import Package
from benchmarks.field.corpus.reward_kit import functions

PACKAGE = Package(
    name="eval-protocol",
    versions=("0.3.33",),
    bare=("eval_protocol", "eval_protocol.rewards"),
    stands_in=("mcp",),
    functions=functions("eval_protocol"),
)
