"""What a target is: a trainer or evaluator that takes graders as one Python file, described in one file of ours.

To add one, write a module here that calls `registering.register_target("name", ...)`: its signature, what it passes of the
conversation, its word for "no score", and the lines around the graders (`lines`). Everything else is shared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.formats.shared.base import Format, Losses
from workbench.formats.shared.unsupported import unique
from workbench.graders.combine import CombiningRule
from workbench.judges.base import Judge

__all__ = ["ALL", "TEXT", "TRAINERS", "OwnJudge", "OwnJudges", "Part", "Plan", "Target", "no_limits"]

TEXT = frozenset({"completion", "metadata"})
"""What a target passes that gives code the answer and the row's columns alone."""
ALL = TEXT | {
    "messages", "get_turns", "last_content", "tool_calls", "tools", "turn_calls", "turn_answers",
}  # fmt: skip
"""What a target passes that gives code the whole conversation as chat messages."""


TRAINERS = ("trl", "verl", "openrlhf", "together")
"""Signatures of trainers' own functions that files of any target can call."""


def no_limits(attribute: str) -> str:
    """What a trainer's user should know of every file: `attribute` of a reward has the limits that a file has not."""
    return (
        "the file has no limit of time or memory: a grader that hangs or crashes takes the trainer with it; "
        f"wb.reward(suite).{attribute} is the same reward, in workers that end such a row"
    )


@dataclass(frozen=True)
class Part:
    """One grader of an exported file.

    Attributes:
        name: Its name in the suite.
        function: What the file calls it: an identifier that no grader's text uses.
        text: The grader's own module.
        settings: What the file says of it, besides the text; JSON, defaults left out.
        judge: The judge that the text asks; None for code.
    """

    name: str
    function: str
    text: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    judge: Judge | None = None

    @property
    def weight(self) -> float:
        """Its weight in the suite."""
        return float(self.settings.get("weight", 1.0))


@dataclass(frozen=True)
class OwnJudge:
    """A judge that the target asks in its own way: it is no text of ours, and comes back by its spec alone.

    Attributes:
        name: Its name in the suite.
        function: What the file and the target's settings call it.
        judge: The judge of ours that it stands for.
        at: Its place among the suite's graders, from 0.
        settings: What the file says of it, its spec among them; JSON, defaults left out.
    """

    name: str
    function: str
    judge: Judge
    at: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def weight(self) -> float:
        """Its weight in the suite."""
        return float(self.settings.get("weight", 1.0))


@dataclass(frozen=True)
class Plan:
    """What one exported file holds.

    Attributes:
        parts: The graders, in the suite's order.
        rule: What makes one number of several; None where the suite has no rule.
        on_error: The number that stands for a row without a score; None to raise there.
        reference: The column that the reference stands in; "" for the usual names.
        title: The suite's name and description.
        certificate: Lines that say what was proven of the graders, without their `# `.
        claims: The certificate itself, as JSON; None where it could not be compared with what is read back.
        own_judges: The judges that the target asks in its own way, in the suite's order.
    """

    parts: tuple[Part, ...]
    rule: CombiningRule | None = None
    on_error: float | None = None
    reference: str = ""
    title: Mapping[str, str] = field(default_factory=dict)
    certificate: tuple[str, ...] = ()
    claims: Mapping[str, Any] | None = None
    own_judges: tuple[OwnJudge, ...] = ()

    @property
    def judges(self) -> list[Judge]:
        """The judges among the graders: what a file with one of them calls has to wait."""
        return [part.judge for part in self.parts if part.judge is not None]

    @property
    def functions(self) -> list[str]:
        """The functions of a file whose target takes each grader by itself: theirs, and `combined` for the suite's rule."""
        whole = ["combined"] if self.rule is not None and self.parts else []
        return [part.function for part in self.parts] + [one.function for one in self.own_judges] + whole

    @property
    def whole(self) -> str:
        """What the suite's own score is called beside the graders': a name that none of them has."""
        return unique("combined", [part.name for part in self.parts] + [one.name for one in self.own_judges])

    @property
    def weights(self) -> dict[str, float]:
        """Grader to weight."""
        return {part.name: part.weight for part in self.parts}


@dataclass(frozen=True)
class OwnJudges:
    """What a target has of its own in the place of a judge: it asks another question than the one that was measured.

    Attributes:
        title: What it is called, for messages.
        check: Refuses, with a `FormatError`, a judge that it cannot stand for.
        tell: Tells what is different there: gets the plan, the suite's rule and the losses.
        imports: Names that a file with such judges imports: a plan to lines of source.
        files: Files beside the main one: gets the plan, the main file's text and its name without the ending.
    """

    title: str
    check: Callable[[Judge], None]
    tell: Callable[[Plan, CombiningRule | None, Losses], None]
    imports: Callable[[Plan], str] = lambda _: ""
    files: Callable[[Plan, str, str], Mapping[str, str]] = lambda *_: {}


@dataclass(frozen=True)
class Target(Format):
    """A trainer or evaluator that takes graders as one Python file.

    Attributes:
        use: How a file is given to the target: a plan to a line or more.
        reads: What it passes of the conversation: `TEXT` or `ALL`.
        columns: Where a row's own columns stand there, in words; "" where a row brings its label alone.
        lines: The lines behind the graders: a plan to source text.
        imports: Names the file imports from the target's own package: lines of source.
        public: Names that the file binds for the target, whatever the graders are called.
        combines: Whether it takes one number a row, so that several graders need a rule.
        no_score: Its word for "no score", and what it does with such a row; where it has none (`words`), what it does
            with a reward that raises.
        clips: The range that it cuts scores to, or refuses outside of; None for any finite number.
        remarks: What a user should know of every file, in sentences.
        signature: The signature of its own functions that `load` reads, as `FunctionGrader.signature` names it; "" where
            only files of ours are read.
        waits: Whether its functions may be async, so that judges can wait there for a server.
        own_judges: What it has of its own in the place of a judge; None for nothing.
    """

    use: Callable[[Plan], str] = lambda _: ""
    reads: Collection[str] = ALL
    columns: str = ""
    lines: Callable[[Plan], str] = lambda _: ""
    imports: str = ""
    public: tuple[str, ...] = ()
    combines: bool = False
    no_score: str = ""
    clips: tuple[float, float] | None = None
    remarks: tuple[str, ...] = ()
    signature: str = ""
    waits: bool = False
    own_judges: OwnJudges | None = None
