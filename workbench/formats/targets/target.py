"""A target: a trainer or evaluator that takes graders as one Python file, described in one module.

To add one, write a module here that calls `register_target("name", ...)`: its signature, what it passes of the
conversation, how it represents a missing score, and the lines around the graders (`lines`). The rest is shared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.formats.shared import Format, Losses
from workbench.formats.shared.unsupported import unique
from workbench.graders.combine import CombiningRule
from workbench.judges.kinds import Judge

TEXT = frozenset({"completion", "metadata"})
"""A target passes only the completion and the row's columns to code."""
ALL = TEXT | {
    "messages", "get_turns", "last_content", "tool_calls", "tools", "turn_calls", "turn_answers",
}  # fmt: skip
"""A target passes the whole conversation to code, as chat messages."""


ENTRY_SETTINGS = ("weight", "severity", "negate", "pass_threshold")
"""The settings of an entry in a file, except `on_error`."""
LIMITS = ("timeout", "memory_mb", "description")
"""The settings of a function grader in a file, except its text."""
TRAINERS = ("trl", "verl", "openrlhf", "together")
"""Signatures of trainers' native functions that files of any target can call."""


@dataclass(frozen=True)
class Part:
    """One code grader of an exported file.

    Attributes:
        name: Its name in the suite.
        function: The function's name in the file: an identifier that no grader's text uses.
        text: The grader's own module.
        settings: The part's settings in the file, other than the text; JSON, defaults omitted.
    """

    name: str
    function: str
    text: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def weight(self) -> float:
        """Its weight in the suite."""
        return float(self.settings.get("weight", 1.0))


@dataclass(frozen=True)
class OwnJudge:
    """A judge that the target runs natively: the file has no text for it, and it is imported from its spec alone.

    Attributes:
        name: Its name in the suite.
        function: Its name in the file and in the target's settings.
        judge: The workbench judge it represents.
        at: Its index among the suite's graders, from 0.
        settings: The judge's settings in the file, its spec among them; JSON, defaults omitted.
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
class ExportPlan:
    """The content of one exported file.

    Attributes:
        parts: The graders, in the suite's order.
        rule: Combines their scores; None if the suite has no rule.
        on_error: The number for an unscored row; None to raise.
        reference: The column with the reference; "" for the usual names.
        title: The suite's name and description.
        certificate: Lines with the evidence about the graders, without their `# `.
        claims: The certificate as JSON; None if the file read back could not be compared with it.
        own_judges: The judges that the target runs natively, in the suite's order.
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
    def functions(self) -> list[str]:
        """The functions of a file whose target takes graders separately: one per grader, and `combined` for the suite's rule."""
        whole = ["combined"] if self.rule is not None and self.parts else []
        return [part.function for part in self.parts] + [one.function for one in self.own_judges] + whole

    @property
    def whole(self) -> str:
        """The name of the suite's score, different from every grader's name."""
        return unique("combined", [part.name for part in self.parts] + [one.name for one in self.own_judges])

    @property
    def weights(self) -> dict[str, float]:
        """Grader to weight."""
        return {part.name: part.weight for part in self.parts}


@dataclass(frozen=True)
class OwnJudges:
    """A target's native judge, used instead of an exported one: its prompt differs from the one that was measured.

    Attributes:
        title: Its title, for messages.
        check: Refuses, with a `FormatError`, a judge that it cannot represent.
        tell: Method that reports the differences: gets the plan, the suite's rule and the losses.
        imports: Names that a file with such judges imports: a plan to lines of source.
        files: Companion files: gets the plan, the main file's text and its name without the ending.
    """

    title: str
    check: Callable[[Judge], None]
    tell: Callable[[ExportPlan, CombiningRule | None, Losses], None]
    imports: Callable[[ExportPlan], str] = lambda _: ""
    files: Callable[[ExportPlan, str, str], Mapping[str, str]] = lambda *_: {}


@dataclass(frozen=True)
class Target(Format):
    """A trainer or evaluator that takes graders as one Python file.

    Attributes:
        use: How to pass a file to the target: a plan to one or more lines.
        reads: What it passes of the conversation: `TEXT` or `ALL`.
        columns: Where the target has a row's columns, as a phrase; "" if a row has only its label.
        lines: The lines after the graders: a plan to source text.
        imports: Names the file imports from the target's package: lines of source.
        public: Names that the file binds for the target, independent of the graders' names.
        combines: Whether it takes one number per row, so that several graders need a rule.
        no_score: How it represents a missing score and treats such a row; if it cannot (`words`), how it treats
            a reward that raises.
        clips: The range that it cuts scores to, or accepts; None for any finite number.
        remarks: What a user should know about every file, in sentences.
        signature: The signature of its native functions that `load` reads, as `FunctionGrader.signature` names it; ""
            if only exported files are read.
        reward: The attribute of `wb.reward(suite)` that is its function, for trainers; "" if there is none.
        served: The path of `workbench serve` in its wire form, or the general one.
        own_judges: Its native judges; None if it has none.
    """

    use: Callable[[ExportPlan], str] = lambda _: ""
    reads: Collection[str] = ALL
    columns: str = ""
    lines: Callable[[ExportPlan], str] = lambda _: ""
    imports: str = ""
    public: tuple[str, ...] = ()
    combines: bool = False
    no_score: str = ""
    clips: tuple[float, float] | None = None
    remarks: tuple[str, ...] = ()
    signature: str = ""
    reward: str = ""
    served: str = "/score"
    own_judges: OwnJudges | None = None
