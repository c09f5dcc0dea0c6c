"""Completions that a user saved in Try mode, graded again whenever a grader changes, and the effect of each change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.app.session.grader_text import waits_for
from workbench.app.session.trial import Trial
from workbench.app.view.texts import shown_name
from workbench.core.display_text import one_line
from workbench.core.grade import Grade, Status
from workbench.data.samples import Sample
from workbench.graders.combine import Entry

if TYPE_CHECKING:
    from workbench.app.session.session import Session


_CHARACTERS = 200  # of a completion in the list


@dataclass(frozen=True)
class SavedCompletion:
    """A saved completion.

    Attributes:
        sample: The conversation with that completion.
        good: Whether a user labelled it good; None if not labelled.
        original: The conversation before it was changed.
        text: The completion as typed; None for the conversation's.
        expected: The reference as typed; None for the conversation's.
        row: The drawn row it is; None for a pasted conversation.
        code: The expression that gives the conversation.
    """

    sample: Sample
    good: bool | None
    original: Sample
    text: str | None
    expected: str | None
    row: int | None
    code: str


@dataclass(eq=False)
class _Graded:
    """A saved completion, its running graders, and each grade with the grader that gave it."""

    number: int
    answer: SavedCompletion
    trial: Trial
    grades: dict[str, tuple[Entry, Grade]] = field(default_factory=dict)


class SavedCompletions:
    """The saved completions of a session, oldest first. Its methods are called with the session's lock.

    Rules and sandboxed code grade them immediately and after every edit; graders that call a model or a service do not.

    Args:
        session: The session.
        changed: Called with the lock held when a grade has arrived.
    """

    def __init__(self, session: Session, changed: Callable[[], object]) -> None:
        self._session, self._changed = session, changed
        self._answers: dict[int, _Graded] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._answers)

    def keep(self, answer: SavedCompletion) -> None:
        """Save one more; if it is saved already, update its label."""
        for kept in self._answers.values():
            if _is_same_conversation(kept.answer.sample, answer.sample):
                kept.answer = answer
                return
        self._count += 1
        take = partial(self._take, self._count)
        self._answers[self._count] = _Graded(self._count, answer, Trial(take, self._session.guard.lock))
        self.refresh()

    def drop(self, number: int) -> None:
        """Remove one."""
        if (kept := self._answers.pop(number, None)) is not None:
            kept.trial.stop()

    def get(self, number: int) -> SavedCompletion | None:
        """One of them; None for one that was removed."""
        kept = self._answers.get(number)
        return None if kept is None else kept.answer

    def refresh(self) -> None:
        """Grade by graders that changed since, or are new."""
        entries = self._entries()
        for kept in self._answers.values():
            for name in [n for n, (entry, _) in kept.grades.items() if not is_same(entry, entries.get(n))]:
                del kept.grades[name]
            kept.trial.keep(entries, is_same)
            unasked = {name: entry for name, entry in entries.items() if name not in kept.grades}
            kept.trial.ask(kept.answer.sample, unasked)

    def _entries(self) -> Mapping[str, Entry]:
        entries = self._session.graders.chosen_entries()
        return {name: entry for name, entry in entries.items() if not waits_for(entry.grader)}

    def _take(self, number: int, name: str, entry: Entry, grade: Grade) -> None:
        with self._session.guard.locked("Try"):
            if (kept := self._answers.get(number)) is not None:
                kept.grades[name] = (entry, grade)
                self._changed()

    def data(self, mark: float) -> list[dict[str, Any]]:
        """Each as `SavedData`, the newest first.

        Args:
            mark: The pass threshold.
        """
        order = list(self._session.graders.by_name)
        return [_data(kept, mark, order) for kept in reversed(self._answers.values())]

    def close(self) -> None:
        """Cancel the work in progress."""
        for kept in self._answers.values():
            kept.trial.stop()


def is_same(a: Entry, b: Entry | None) -> bool:
    """Whether these are the same grader with the same settings in the suite: an equal judge may use another client."""
    return b is not None and a == b and a.grader is b.grader


def _is_same_conversation(a: Sample, b: Sample) -> bool:
    """Whether two samples are graded alike; threads do not compare by content."""
    return (a.id, a.reference, a.thread.to_wire()) == (b.id, b.reference, b.thread.to_wire())


def _data(kept: _Graded, mark: float, order: Sequence[str]) -> dict[str, Any]:
    good = kept.answer.good
    grades = {name: kept.grades[name][1] for name in order if name in kept.grades}
    verdicts = {name: accepts(grade, mark) for name, grade in grades.items()}
    wrong = [
        name
        for name, verdict in verdicts.items()
        if good is not None and verdict is not None and verdict != good
    ]
    return {
        "number": kept.number,
        "text": one_line(kept.answer.sample.thread.completion() or "", _CHARACTERS),
        "label": good,
        "note": _note(verdicts, wrong, good=good),
        "errs": bool(wrong),
        "grades": [
            {"grader": shown_name(name), "said": outcome(grade, good, mark)} for name, grade in grades.items()
        ],
    }


def _note(verdicts: Mapping[str, bool | None], wrong: list[str], *, good: bool | None) -> str:
    """A short summary of its grades."""
    if not verdicts:
        return "not graded"
    if wrong:
        verb = ("reject" if good else "accept") + ("s" if len(wrong) == 1 else "")
        return f"{', '.join(one_line(name, 40) for name in wrong[:3])}{', …' if len(wrong) > 3 else ''} {verb} it"
    if good is not None:
        return "no errors"
    return f"{sum(map(bool, verdicts.values()))} of {len(verdicts)} accept it"


_NUMBERS = ("None", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


def accepts(grade: Grade | None, mark: float) -> bool | None:
    """Whether a grade passes: by the grader's own verdict, or else by the pass threshold; None without a score."""
    if grade is None or grade.score is None:
        return None
    return grade.score >= mark if grade.passed is None else grade.passed


def outcome(grade: Grade | None, good: bool | None, mark: float) -> dict[str, str] | None:
    """A grade's score and part, for a completion labelled good, bad, or neither; None if there is no grade yet."""
    if grade is None:
        return None
    accepted = accepts(grade, mark)
    if accepted is None or grade.score is None:
        status = "failed" if grade.status is Status.FAILED else "skipped"
        return {"score": status, "part": status}
    prefix = {True: "good_", False: "bad_", None: ""}[good]
    return {"score": f"{grade.score:.4g}", "part": f"{prefix}{'accepted' if accepted else 'refused'}"}


def moved(before: Grade | None, after: Grade | None, mark: float) -> str:
    """The effect of an edited completion on a grader; "" for none."""
    if before is None or after is None:
        return ""
    was, now = accepts(before, mark), accepts(after, mark)
    if was == now:
        return ""
    return {True: "now accepted", False: "now rejected", None: "no score now"}[now]


def verdict_of_answer(verdicts: Mapping[str, bool | None], good: bool | None) -> dict[str, str] | None:
    """How many graders accept a completion, and which of them disagree with the label; None before the first grade.

    Args:
        verdicts: Whether each grader accepts it, None without a score.
        good: Whether a user labelled it good; None if not labelled.
    """
    if not verdicts:
        return None
    accepting = sum(bool(verdict) for verdict in verdicts.values())
    lead = f"{_number(accepting, len(verdicts))} accept{'s' if accepting == 1 else ''} this completion."
    if good is None:
        return {
            "shape": "note",
            "lead": lead,
            "text": "Label it good or bad to see which graders err.",
        }
    wrong = [name for name, verdict in verdicts.items() if verdict is not None and verdict != good]
    word = "good" if good else "bad"
    if not wrong:
        return {"shape": "good", "lead": lead, "text": f"Its label is {word}: all graders agree with it."}
    names = ", ".join(one_line(name, 60) for name in wrong)
    verb = ("reject" if good else "accept") + ("s" if len(wrong) == 1 else "")
    text = f"Its label is {word}: {names} {verb} it. Save it to grade it again after every edit."
    return {"shape": "bad", "lead": lead, "text": text}


def _number(count: int, total: int) -> str:
    few, all_of_them = (_NUMBERS[each] if each < len(_NUMBERS) else f"{each:,}" for each in (count, total))
    return f"{few} of {all_of_them.lower()}"
