"""The panel: several judges, or repeats of one, whose votes or scores become one grade."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from workbench.core.discovery import higher_level
from workbench.core.errors import FormatError
from workbench.core.grade import Grade, GradeError
from workbench.data.samples import Sample
from workbench.graders.arguments import HANDLING, check_choice
from workbench.graders.base import Grader, is_number, kind
from workbench.graders.combine.entry import Entry, as_entry, check_names
from workbench.judges.kinds import Judge
from workbench.judges.kinds.binary import BinaryJudge
from workbench.judges.openai_client import OpenAIClient
from workbench.judges.panel_votes import Vote, VotingRule, fold_of, n_needed, with_totals
from workbench.judges.protocol import ScriptedClient, check_number, refuse_unless

_MAX_MEMBERS = 100


@kind("panel", family="judges")
@dataclass(frozen=True, kw_only=True)
class Panel(Grader):
    """The majority, mean or median of several judges, of several prompts, or of repeats of one judge.

    A member that fails is left out, and a member that skips the row abstains, as long as the quorum has a vote; below it
    the row fails, or is skipped if no member failed. An exhausted budget fails the row: it is not a fault of a member.
    Members are judges or any other graders, as entries with weight, threshold or extractor. A majority counts
    verdicts: a member's `passed`, or else a score above 0.5; 0.5 itself is a vote for neither side.

    Metadata: `votes`, one dict per member with `judge`, `status`, `score`, `passes` and `reasoning` or `error`; `tie`;
    `dissent`, the members against the outcome; `members`, their number. `report.panels` has agreement (Krippendorff's
    alpha) and the dissent, failures and agreement with labels of every member; the finding *panel-dissent* has the rows.

    Attributes:
        entries: The members: judges, or `Entry(judge, name, weight=..., pass_threshold=...)`.
        vote: "majority" (1.0 or 0.0), "mean" (by the entries' weights) or "median" (of equal weights).
        repeats: How often each member grades a row. Judges then need a temperature above 0 (self-consistency).
        quorum: Minimum number of votes; None for more than half of the members.
        on_tie: A majority without a winner: "half" (0.5 without a verdict), "zero" (0.0, fails), "skip" or "fail".
        early_stop: Whether a majority calls only as many members as decide it: two of three if they agree. Members are
            called in their order, so list cheap ones first.
        pass_threshold: The lowest mean or median that passes; None for no verdict.
        fold_weights: Weights of the entries for each part of the prompts, as `fit` returns them.

    Source: Verga et al. 2024 (arXiv 2404.18796) for panels of models; Wang et al. 2022 (arXiv 2203.11171) for
    self-consistency.

    Example:
        >>> import workbench as wb
        >>> def judge(name, score):
        ...     return wb.BinaryJudge("is right", name=name, client=wb.ScriptedClient('{"score": "%s"}' % score))
        >>> panel = Panel([judge("a", "PASS"), judge("b", "PASS"), judge("c", "FAIL")])
        >>> grade = panel(wb.StringThread([("user", "2+2?"), ("assistant", "4")]))
        >>> grade.score, grade.metadata["dissent"]
        (1.0, ['c'])
    """

    hidden_from_dir = "members"
    entries: tuple[Entry, ...] = field(kw_only=False)
    vote: str = "majority"
    repeats: int = 1
    quorum: int | None = None
    on_tie: str = "half"
    early_stop: bool = field(default=False, metadata=HANDLING)
    pass_threshold: float | None = None
    fold_weights: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.entries, Grader | Entry):
            object.__setattr__(self, "entries", (self.entries,))
        object.__setattr__(self, "entries", tuple(map(as_entry, self.entries)))
        super().__post_init__()
        refuse_unless(bool(self.entries), "a panel needs at least one member", "none")
        check_names(self.entries)
        check_choice("vote", self.vote, ("majority", "mean", "median"))
        check_choice("on_tie", self.on_tie, ("half", "zero", "skip", "fail"))
        is_count = isinstance(self.repeats, int) and not isinstance(self.repeats, bool) and self.repeats >= 1
        refuse_unless(is_count, "repeats must be 1 or more", self.repeats)
        self._check_members()
        self._check_weights()
        self._check_rule()

    def _check_members(self) -> None:
        n = len(self.members)
        refuse_unless(n <= _MAX_MEMBERS, f"a panel has at most {_MAX_MEMBERS} members", n)
        whole = isinstance(self.quorum, int) and not isinstance(self.quorum, bool)
        refuse_unless(
            self.quorum is None or (whole and 1 <= self.quorum <= n), f"quorum must be 1 to {n}", self.quorum
        )
        fixed = [e.name for e in self.entries if getattr(e.grader, "sent_temperature", None) == 0]
        if self.repeats > 1 and fixed:
            raise FormatError(
                f"repeats of {fixed[0]!r} would return the same reply",
                found="temperature 0",
                expected="a temperature above 0",
                hint="dataclasses.replace(judge, temperature=1.0)",
            )

    def _check_weights(self) -> None:
        object.__setattr__(self, "fold_weights", tuple(map(tuple, self.fold_weights)))
        for weights in self.fold_weights:
            fits = len(weights) == len(self.entries) and all(is_number(one) and one >= 0 for one in weights)
            refuse_unless(
                fits,
                f"fold_weights must have {len(self.entries)} weights of 0 or more for each fold",
                weights,
            )
            refuse_unless(sum(weights) > 0, "a fold needs a weight above 0", weights)
        declared = [entry.weight for entry in self.entries]
        refuse_unless(sum(declared) > 0, "a panel needs a member with a weight above 0", declared)

    def _check_rule(self) -> None:
        has_weights = bool(self.fold_weights) or len({entry.weight for entry in self.entries}) > 1
        refuse_unless(
            not (self.vote == "median" and has_weights),
            "a median has no weights",
            "",
            "vote='mean' or 'majority'",
        )
        refuse_unless(isinstance(self.early_stop, bool), "early_stop must be True or False", self.early_stop)
        is_vote = self.vote == "majority"
        refuse_unless(
            is_vote or not self.early_stop,
            "only a majority can be decided early",
            self.vote,
            "early_stop=False",
        )
        refuse_unless(
            is_vote or self.on_tie == "half", "only a majority has ties", self.vote, "on_tie='half'"
        )
        self._check_scales()
        if self.pass_threshold is not None:
            check_number("pass_threshold", self.pass_threshold)
            refuse_unless(not is_vote, "a majority has a verdict", "", "pass_threshold on the entries")

    def _check_scales(self) -> None:
        scales = {entry.name: getattr(entry.grader, "scale", (0.0, 1.0)) for entry in self.entries}
        is_vote = self.vote == "majority"
        refuse_unless(is_vote or len(set(scales.values())) == 1, "members need one scale", scales)
        for entry in self.entries if is_vote else ():
            thresholds = (entry.pass_threshold, getattr(entry.grader, "pass_threshold", None))
            refuse_unless(
                scales[entry.name] == (0.0, 1.0) or thresholds != (None, None),
                f"{entry.name!r} needs a pass threshold to vote",
                f"scale {scales[entry.name]}",
                "Entry(judge, pass_threshold=...)",
            )

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        client = ScriptedClient('{"reasoning": "r", "score": "PASS"}')
        return cls(tuple(Entry(BinaryJudge("is right", name=name, client=client)) for name in "abc"))

    @property
    def members(self) -> list[tuple[str, int]]:
        """Name and index of the entry of each member, in the order in which they are called."""
        names = [entry.name for entry in self.entries]
        if self.repeats == 1:
            return [(name, at) for at, name in enumerate(names)]
        return [
            (f"{name} #{repeat + 1}", at) for repeat in range(self.repeats) for at, name in enumerate(names)
        ]

    @property
    def needs_answer(self) -> str:
        """See `Grader.needs_answer`: the strictest requirement of a member."""
        needs = {
            entry.grader.needs_answer and "turn" if entry.extractor else entry.grader.needs_answer
            for entry in self.entries
        }
        return next((need for need in ("completion", "turn") if need in needs), "")

    @property
    def at_once(self) -> int:
        """Concurrent rows: as many as the member with the fewest allows."""
        return min(entry.grader.at_once for entry in self.entries)

    def ends_run(self) -> Callable[[Grade], GradeError | None]:
        """As the first member's."""
        return self.entries[0].grader.ends_run()

    def check_ready(self) -> None:
        """Raise any error that would end a run before its first row: a member is not ready, or two would return one reply."""
        if twins := _equal_judges(self.entries):
            raise FormatError(
                f"members {twins[0]!r} and {twins[1]!r} would return the same reply",
                found="one prompt, one model, temperature 0",
                expected="different prompts or models, or a temperature above 0",
                hint="dataclasses.replace(judge, temperature=1.0), or Panel(judge, repeats=...) of such a judge",
            )
        for entry in self.entries:
            entry.grader.check_ready()

    async def grade(self, sample: Sample) -> Grade:
        """Call the members concurrently, or in steps if the vote may be decided early."""
        weights = self._weights(sample)
        members = [(name, self.entries[at], weights[at]) for name, at in self.members]
        quorum = self.quorum or len(members) // 2 + 1
        votes: list[Vote] = []
        while waiting := members[len(votes) :]:
            count = (
                n_needed(votes, [weight for *_, weight in waiting], quorum)
                if self.early_stop
                else len(waiting)
            )
            if not count:
                break
            votes += await asyncio.gather(*(_vote(*member, sample) for member in waiting[:count]))
        rule = VotingRule(self.vote, quorum, self.on_tie, self.pass_threshold)
        grade = rule.grade(votes, len(members))
        return replace(grade, **with_totals(grade, votes))

    def _weights(self, sample: Sample) -> Sequence[float]:
        """The entries' weights for a row: fitted without the labels of its prompt, or the declared ones."""
        if not self.fold_weights:
            return [entry.weight for entry in self.entries]
        return self.fold_weights[fold_of(sample.thread, len(self.fold_weights))]

    def fit(self, report: Any, labels: Any = None) -> Panel:
        """This panel with weights from labels, cross-fitted: the label of a row never enters the weights of its score.

        Prompts are divided into five parts by their text. The weights of a part come from the labels of the other four:
        the log-odds of each member's mean of true-positive and true-negative rate (Nitzan & Paroush 1982), at least 0.

        Args:
            report: A report of this panel over labelled rows.
            labels: As in `Report`; the report's by default.

        Raises:
            ReportError: No votes of this panel, fewer than 10 labels of one class, or no member better than chance.
        """
        fitted: Panel = higher_level("fit_panel")(self, report, labels)
        return fitted

    def _field_spec(self, f: Any) -> Any:
        if f.name == "entries":
            return [entry.spec() for entry in self.entries]
        value = super()._field_spec(f)
        return [list(weights) for weights in value] if f.name == "fold_weights" else value

    @classmethod
    def build(cls, values: dict[str, Any]) -> Self:
        """Create the grader from a spec's fields, without `kind`."""
        entries = values.get("entries")
        if not isinstance(entries, list | tuple) or not entries:
            raise FormatError("a panel needs entries", found=repr(entries)[:80])
        built = tuple(entry if isinstance(entry, Entry) else Entry.build(entry) for entry in entries)
        return super().build({**values, "entries": built})


def _equal_judges(entries: Sequence[Entry]) -> tuple[str, str] | None:
    """Names of two judges that send the same requests to the same server at temperature 0; None if all differ."""
    seen: list[tuple[str, Judge]] = []
    for entry in entries:
        judge = entry.grader
        # Other clients than `OpenAIClient` may return another reply to the same request.
        if (
            not isinstance(judge, Judge)
            or judge.sent_temperature
            or not isinstance(judge.chat_client(), OpenAIClient)
        ):
            continue
        bare = replace(judge, name="")
        for name, other in seen:
            if bare == other and judge.chat_client() == other.chat_client() and entry.extractor is None:
                return name, entry.name
        if entry.extractor is None:
            seen.append((entry.name, bare))
    return None


async def _vote(name: str, entry: Entry, weight: float, sample: Sample) -> Vote:
    return Vote(name, await entry.grade(sample), weight)
