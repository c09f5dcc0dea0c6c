"""The ladder: completions of one prompt compared in pairs, in both orders, and ranked by their strengths."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind, Grade, GradeError
from workbench.core.grades import Grades
from workbench.core.thread import StringThread
from workbench.core.user_functions import attempt
from workbench.data.samples import Sample, Samples
from workbench.data.samples.cells import CellProblem
from workbench.data.samples.plain import NotPlainError, plain
from workbench.graders.arguments import check_choice
from workbench.graders.base import Grader, from_spec, kind
from workbench.graders.concurrent_rows import NOT_GRADED, STOP_INTERVAL, STOP_SECONDS, Control
from workbench.judges.bradley_terry import PairResults, fit_strengths, neighbours, ranks_of
from workbench.judges.kinds.pairwise import PairComparison, PairwiseJudge
from workbench.judges.panel_votes import summed_costs
from workbench.judges.protocol import Messages, SampleError, ScriptedClient, refuse_unless

_RIVAL = "ladder rival"
"""Key of the metadata under which the judge gets the other completion."""
_MAX_ANCHORS = 50
_STOPPED = "not graded: the run was stopped"
_ALONE = "the only completion of its prompt, so there is nothing to compare it with"


@kind("ladder", family="judges")
@dataclass(frozen=True, kw_only=True)
class Ladder(Grader):
    """The rank of a completion among those of its prompt, from 0 to 1, or its strength, by comparisons in pairs.

    A pairwise judge compares completions of one prompt, each pair in both orders, so that the order in which it reads them
    favours neither. Strengths are those of Bradley and Terry, with ties as half a win. `report.ladder(by="model")` has the
    strengths of the models, or other writers, over all prompts, with intervals clustered by prompt, and the effect of the order.

    A comparison that fails is left out; a completion without any comparison fails. An exhausted budget fails all
    completions of the prompt. A prompt with one completion is skipped.

    Metadata: `wins`, `ties` and `losses` over both orders; `strength` (log-odds against an average completion of the
    prompt); `comparisons`, with `against` (the other row's id, or the anchor), `first` and `second`, the results when the
    completion is read first and second (each pair is listed by one of its two rows); `failed_comparisons`.

    Attributes:
        grader: A `PairwiseJudge`, or the criterion of one. Its `against` is not used.
        design: "all" compares all pairs of a prompt's completions. "adaptive" compares neighbours of the ranking so far,
            in `rounds` rounds: about n * rounds / 2 pairs instead of n * (n - 1) / 2. "anchors" compares every completion
            with fixed texts; its score is the share won, and needs no other completion.
        score: "rank" (0 for the last, 1 for the first, equal strengths share a rank) or "strength" (the chance to beat an
            average completion of the prompt).
        anchors: Key of the row's metadata with the texts to compare with, for the design "anchors".
        rounds: Of the adaptive design; None for 1 more than log2 of the completions.

    Error kinds: as `PairwiseJudge`; sample if a single completion is graded with a design that needs several, or a row
    has no anchors.

    Source: Bradley & Terry 1952; Zheng et al. 2023 (arXiv 2306.05685) for judges in both orders. See
    `workbench.judges.bradley_terry` for the model and the libraries that were considered.

    Example:
        >>> import workbench as wb
        >>> def model(messages):  # prefers the completion that is longer
        ...     a, b = (messages[-1]["content"].split(f"<{tag}>")[1].split(f"</{tag}>")[0] for tag in ("answer_a", "answer_b"))
        ...     return '{"verdict": "A"}' if len(a) > len(b) else '{"verdict": "B"}'
        >>> ladder = Ladder(wb.PairwiseJudge("is longer", client=wb.ScriptedClient(model)))
        >>> rows = [{"prompt": "q", "completion": text} for text in ("short", "the longest", "longer")]
        >>> ladder.run(rows, progress=False).scores["ladder"].tolist()
        [0.0, 1.0, 0.5]
    """

    why_not_portable: ClassVar[str] = "it compares completions with each other"
    hidden_from_dir = "grade_samples n_comparisons n_rounds questions"
    grader: PairwiseJudge = field(kw_only=False)
    design: str = "all"
    score: str = "rank"
    anchors: str = "anchors"
    rounds: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.grader, str):
            object.__setattr__(self, "grader", PairwiseJudge(self.grader))
        super().__post_init__()
        refuse_unless(isinstance(self.grader, PairwiseJudge), "a ladder needs a PairwiseJudge", self.grader)
        refuse_unless(
            self.grader.swap, "a ladder needs both orders", "swap=False", "PairwiseJudge(swap=True)"
        )
        check_choice("design", self.design, ("all", "adaptive", "anchors"))
        check_choice("score", self.score, ("rank", "strength"))
        refuse_unless(isinstance(self.anchors, str) and self.anchors, "anchors must be a name", self.anchors)
        whole = isinstance(self.rounds, int) and not isinstance(self.rounds, bool) and self.rounds >= 1
        refuse_unless(self.rounds is None or whole, "rounds must be 1 or more", self.rounds)
        refuse_unless(
            self.rounds is None or self.design == "adaptive",
            "only an adaptive design has rounds",
            self.design,
        )

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        client = ScriptedClient('{"reasoning": "r", "verdict": "A"}')
        return cls(PairwiseJudge("is better", client=client), design="anchors", anchors="style")

    @property
    def whole_groups(self) -> bool:
        """Whether a row's grade depends on the other completions of its prompt."""
        return self.design != "anchors"

    @property
    def at_once(self) -> int:
        """As the judge's."""
        return self.grader.at_once

    def check_ready(self) -> None:
        """Raise any error that would end a run before its first row."""
        self.grader.check_ready()

    def ends_run(self) -> Callable[[Grade], GradeError | None]:
        """As the judge's."""
        return self.grader.ends_run()

    def _field_spec(self, f: Field[Any]) -> Any:
        return self.grader.spec() if f.name == "grader" else super()._field_spec(f)

    @classmethod
    def build(cls, values: dict[str, Any]) -> Self:
        """Create the grader from a spec's fields, without `kind`."""
        judge = values.get("grader")
        if isinstance(judge, dict):
            values = {**values, "grader": from_spec(judge)}
        elif not isinstance(judge, PairwiseJudge):
            raise FormatError("a ladder needs a pairwise judge", found=repr(judge)[:80])
        return super().build(values)

    def questions(self, sample: Sample) -> list[Messages]:
        """The two requests of a comparison, with the completion itself as the other one: for estimates of cost."""
        judge = replace(self.grader, against=_RIVAL)
        return judge.questions(_with_rival(sample, judge.judged_text(sample)))

    def n_comparisons(self, sample: Sample, completions: float) -> float:
        """How many comparisons a row causes, if a prompt has this number of completions."""
        if self.design == "anchors":
            return len(_anchors_of(sample, self.anchors))
        all_pairs = (completions - 1) / 2
        return min(all_pairs, self.n_rounds(completions) / 2) if self.design == "adaptive" else all_pairs

    def n_rounds(self, completions: float) -> int:
        """Rounds of the adaptive design, if a prompt has this number of completions."""
        return self.rounds or math.ceil(math.log2(max(completions, 1))) + 1

    async def grade(self, sample: Sample) -> Grade:
        """Compare one completion with its anchors; a design without anchors needs several completions."""
        if self.design != "anchors":
            return Grade.failed(
                ErrorKind.SAMPLE,
                f"the design {self.design!r} ranks the completions of a prompt, and this is one completion; "
                "run it over rows that share their prompts, or use design='anchors'",
            )
        (grade,) = await self.grade_samples([sample], [0], Control())
        return grade

    async def grade_together(self, samples: Sequence[Sample]) -> list[Grade]:
        """See `Grader.grade_together`."""
        codes = {group: code for code, group in enumerate(dict.fromkeys(sample.group for sample in samples))}
        return await self.grade_samples(samples, [codes[sample.group] for sample in samples], Control())

    async def grade_all(self, samples: Samples, control: Control) -> Grades:
        """Compare the completions of each prompt, or every completion with its anchors."""
        grades = Grades.empty(len(samples))
        if not len(samples):
            return grades
        if control.is_part and self.whole_groups:
            grades.finish(
                ErrorKind.SAMPLE,
                f"the design {self.design!r} needs all completions of a prompt together, and this run grades the rows in "
                "parts; read them into memory first, or use design='anchors'",
            )
            return grades
        rows = await asyncio.to_thread(lambda: list(samples.read()))
        for at, row in enumerate(rows):
            if isinstance(row, CellProblem):
                grades.put(at, Grade.failed(row.kind, str(row)))
        readable = {at: row for at, row in enumerate(rows) if not isinstance(row, CellProblem)}
        codes = samples.group_codes
        found = await self.grade_samples(
            list(readable.values()), [int(codes[at]) for at in readable], control
        )
        for at, grade in zip(readable, found, strict=True):
            grades.put(at, grade)
        control.progress(len(grades), grades.n_failed, grades)
        return grades

    async def grade_samples(
        self, samples: Sequence[Sample], groups: Sequence[int], control: Control
    ) -> list[Grade]:
        """One grade per sample.

        Args:
            samples: The rows, n of them.
            groups: Prompt of each, (n,).
            control: Of the run.
        """
        run = _PairRun(self, samples, control)
        if self.design == "anchors":
            return await run.against_anchors()
        members: dict[int, list[int]] = {}
        for at, group in enumerate(groups):
            members.setdefault(group, []).append(at)
        return await run.within(list(members.values()))


class _PairRun:
    """The comparisons of one run."""

    def __init__(self, ladder: Ladder, samples: Sequence[Sample], control: Control) -> None:
        self._ladder, self._samples, self._control = ladder, samples, control
        self._judge = replace(ladder.grader, against=_RIVAL)
        self._places = asyncio.Semaphore(ladder.at_once)
        self._ends_run = ladder.ends_run()
        self._end_error: GradeError | None = None
        self._done = 0

    async def within(self, groups: Sequence[Sequence[int]]) -> list[Grade]:
        """Grades of completions compared with those of their group."""
        grades: list[Grade] = [Grade.skipped(_ALONE)] * len(self._samples)
        several = [group for group in groups if len(group) > 1]
        found = await self._all_of([self._group(group) for group in several])
        for group, comparisons in zip(several, found, strict=True):
            for at, grade in zip(group, self._graded(group, comparisons or ()), strict=True):
                grades[at] = grade
        return grades

    async def against_anchors(self) -> list[Grade]:
        """Grades of completions compared with the anchors of their rows."""
        found = await self._all_of([self._anchored(at) for at in range(len(self._samples))])
        return [grade or Grade.failed(ErrorKind.CANCELLED, _STOPPED) for grade in found]

    async def _all_of(self, work: Sequence[Any]) -> list[Any]:
        """The results of coroutines, None for those in flight two seconds after the run was stopped."""
        tasks = [asyncio.ensure_future(one) for one in work]
        running = set(tasks)
        try:
            while running:
                _, running = await asyncio.wait(running, timeout=STOP_INTERVAL)
                if running and self._control.cancel.is_set():
                    await asyncio.wait(running, timeout=STOP_SECONDS)
                    break
        finally:  # also if this call is cancelled: `asyncio.wait` does not cancel what it waits for
            stopped = [task for task in tasks if not task.done()]
            for task in stopped:
                task.cancel()
        await asyncio.gather(*stopped, return_exceptions=True)
        return [None if task.cancelled() else task.result() for task in tasks]

    async def _group(self, group: Sequence[int]) -> list[PairComparison]:
        """The comparisons of one prompt's completions."""
        if self._ladder.design == "all":
            pairs = [(a, b) for place, a in enumerate(group) for b in group[place + 1 :]]
            return list(await asyncio.gather(*(self._pair(*pair) for pair in pairs)))
        comparisons: list[PairComparison] = []
        for _ in range(self._ladder.n_rounds(len(group))):
            order = np.argsort(-_strengths(group, comparisons), kind="stable")
            pairs = list(neighbours([group[at] for at in order], {(c.a, c.b) for c in comparisons}))
            if not pairs:
                break
            comparisons += await asyncio.gather(*(self._pair(*pair) for pair in pairs))
        return comparisons

    async def _pair(self, a: int, b: int) -> PairComparison:
        rival = attempt(lambda: self._ladder.grader.judged_text(self._samples[b]))  # by a user's extractor
        if isinstance(rival, Exception):
            return PairComparison(a, b, Grade.failed(ErrorKind.SAMPLE, f"{type(rival).__name__}: {rival}"))
        grade = await self._compare(self._samples[a], rival)
        self._done += 1
        self._control.progress(min(self._done, len(self._samples)), 0)
        return PairComparison(a, b, grade)

    async def _compare(self, sample: Sample, rival: str) -> Grade:
        async with self._places:
            if self._control.cancel.is_set():
                return Grade.failed(ErrorKind.CANCELLED, _STOPPED)
            if self._end_error is not None:
                return Grade(error=self._end_error)
            grade: Grade = await self._judge.grade(_with_rival(sample, rival))
        self._end_error = self._end_error or self._ends_run(grade)
        return grade

    async def _anchored(self, at: int) -> Grade:
        try:
            anchors = _anchors_of(self._samples[at], self._ladder.anchors)
        except SampleError as error:
            return Grade.failed(ErrorKind.SAMPLE, str(error))
        grades = await asyncio.gather(*(self._compare(self._samples[at], anchor) for anchor in anchors))
        comparisons = [PairComparison(0, number, grade) for number, grade in enumerate(grades, 1)]
        known = _known(comparisons)
        if (stopped := _error_of_run(comparisons)) is not None:
            grade = Grade(error=stopped)
        elif not known:
            grade = _failure(comparisons)
        else:
            results = [result for one in known for result in one.results]
            metadata = _record(0, comparisons, {one.b: f"anchor {one.b}" for one in known})
            reasoning = _counts_text(metadata, len(known), "anchors")
            grade = Grade(sum(results) / len(results), reasoning=reasoning, metadata=metadata)
        return _with_costs(grade, comparisons)

    def _graded(self, group: Sequence[int], comparisons: Sequence[PairComparison]) -> Iterator[Grade]:
        """The grade of each completion of a prompt; one without any result has no rank, and is not ranked among the others."""
        names = {at: self._samples[at].id for at in group}
        known = {at for one in _known(comparisons) for at in (one.a, one.b)}
        ranked = [at for at in group if at in known]
        strengths = dict(zip(ranked, _strengths(ranked, comparisons), strict=True))
        ranks = dict(zip(ranked, ranks_of(np.array(list(strengths.values()))), strict=True))
        stopped = _error_of_run(comparisons) or (
            None if comparisons else GradeError(ErrorKind.CANCELLED, _STOPPED)
        )
        for at in group:
            own = [one for one in comparisons if at in (one.a, one.b)]
            metadata = _record(at, own, names)
            if stopped is not None:
                grade = Grade(error=stopped)
            elif at not in known:
                grade = replace(_failure(own), metadata=metadata)
            else:
                strength = float(strengths[at])
                score = float(ranks[at]) if self._ladder.score == "rank" else 1 / (1 + math.exp(-strength))
                metadata = {**metadata, "strength": strength, "completions": len(group)}
                grade = Grade(
                    score, reasoning=_counts_text(metadata, len(_known(own)), "others"), metadata=metadata
                )
            yield _with_costs(
                grade, [one for one in own if one.a == at]
            )  # each pair is paid for, and listed, once


def _with_rival(sample: Sample, rival: str) -> Sample:
    """The sample with another completion, where the judge looks for it."""
    metadata = sample.thread.metadata if isinstance(sample.thread.metadata, Mapping) else {}
    turns, _, calls, tools, answers = sample.thread.to_wire()
    shown = StringThread.from_wire((turns, {**metadata, _RIVAL: rival}, calls, tools, answers))
    return replace(sample, thread=shown)


def _known(comparisons: Sequence[PairComparison]) -> list[PairComparison]:
    return [one for one in comparisons if one.grade.score is not None]


def _error_of_run(comparisons: Sequence[PairComparison]) -> GradeError | None:
    """Why comparisons were not sent, such as an exhausted budget; None if all were."""
    errors = (one.grade.error for one in comparisons)
    return next((error for error in errors if error is not None and error.kind in NOT_GRADED), None)


def _failure(comparisons: Sequence[PairComparison]) -> Grade:
    """The failed grade of a completion without any result."""
    errors = [one.grade.error for one in comparisons if one.grade.error is not None]
    if not errors:
        return Grade.failed(ErrorKind.SAMPLE, "no comparison was made")
    message = f"all {len(errors)} comparisons failed: {errors[0].message}"
    return Grade(error=GradeError(errors[0].kind, message, any(error.transient for error in errors)))


def _counts_text(metadata: Mapping[str, Any], n: int, rivals: str) -> str:
    return f"won {metadata['wins']}, tied {metadata['ties']}, lost {metadata['losses']} against {n} {rivals}, both orders counted"


def _strengths(group: Sequence[int], comparisons: Sequence[PairComparison]) -> NDArray[np.float64]:
    """Strength of each completion of a group, 0 for all without comparisons."""
    known, place = _known(comparisons), {at: number for number, at in enumerate(group)}
    if not known:
        return np.zeros(len(group))
    a = np.array([place[one.a] for one in known for _ in range(2)])
    b = np.array([place[one.b] for one in known for _ in range(2)])
    results = np.array([result for one in known for result in one.results])
    is_first = np.tile([True, False], len(known))
    pairs = PairResults(a, b, results, is_first, np.zeros(len(a), np.intp), len(group))
    strengths: NDArray[np.float64] = np.round(fit_strengths(pairs)[:-1], 9)
    return strengths


def _record(at: int, comparisons: Sequence[PairComparison], names: Mapping[int, str]) -> dict[str, Any]:
    """Counts over both orders, and the comparisons that this completion lists."""
    known = _known(comparisons)
    results = [r if one.a == at else 1 - r for one in known for r in one.results]
    listed = [
        {"against": names[one.b], "first": one.results[0], "second": one.results[1]}
        for one in known
        if one.a == at
    ]
    failed = sum(one.a == at and one.grade.score is None for one in comparisons)
    counts = {"wins": results.count(1.0), "ties": results.count(0.5), "losses": results.count(0.0)}
    return {**counts, "comparisons": listed, "failed_comparisons": failed}


def _with_costs(grade: Grade, comparisons: Sequence[PairComparison]) -> Grade:
    """The grade with time, tokens and cost of the comparisons that it lists."""
    grades = [one.grade for one in comparisons]
    is_cached = bool(grades) and all(one.metadata.get("cached") for one in grades)
    metadata = {**grade.metadata, **({"cached": True} if is_cached else {})}
    return replace(grade, **summed_costs(grades), metadata=metadata)


def _anchors_of(sample: Sample, column: str) -> list[str]:
    """The texts to compare with: a text, or a list of them.

    Raises:
        SampleError: There are none, or they are not texts.
    """
    metadata = sample.thread.metadata if isinstance(sample.thread.metadata, Mapping) else {}
    try:
        value = plain(metadata.get(column))
    except NotPlainError as error:
        raise SampleError(f"the row's {column!r} are not texts: {error}") from None
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise SampleError(f"the row has no texts to compare with in {column!r}")
    if len(texts) > _MAX_ANCHORS:
        raise SampleError(f"the row has {len(texts)} anchors; at most {_MAX_ANCHORS} are compared")
    return texts
