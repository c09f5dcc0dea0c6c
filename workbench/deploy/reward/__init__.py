"""`wb.reward`: a suite as the reward function of a trainer, in its process; one file per trainer's signature in `trainers`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Self

import numpy as np

from workbench.core.discovery import load_modules
from workbench.core.errors import CaptureError, FormatError, WorkbenchError
from workbench.core.grades import Grades
from workbench.deploy.reward import trainers
from workbench.deploy.reward.grading import Early, Graders, RewardGrades
from workbench.deploy.reward.stats import RewardStats, RowWarnings, warn_of_label_alone
from workbench.deploy.reward.trainer_rows import RewardRow, rows_of
from workbench.deploy.reward.trainers import TRAINERS, NoScoreError
from workbench.graders import Grader
from workbench.graders.base import is_number
from workbench.graders.combine import CombiningRule, Entry
from workbench.graders.serialization import parts
from workbench.run.part_run import check_ready
from workbench.run.suite import Suite
from workbench.sandbox.host.worker_pool import release


def reward(
    suite: Suite | Grader | Entry | Iterable[Grader | Entry],
    *,
    combine: CombiningRule | None = None,
    workers: int | None = None,
    on_error: str | float = "raise",
    reference: str = "",
    allow_unvalidated: bool = False,
) -> Reward:
    """Make a reward function that cannot hang: a row that loops, crashes or exhausts memory affects only itself.

    Graders that are code run in sandbox workers that stay warm in this process and are ended with the reward, with
    `close`, or with the process. They are usable from any thread and event loop, after a fork, and after pickling.
    A reward is one long run: module globals of a grader persist from call to call in each worker.

    Args:
        suite: A suite, a grader, or several.
        combine: The rule that combines the scores of several graders, instead of the suite's own.
        workers: Sandbox processes of each grader that is code; all cores but one by default.
        on_error: Score of a row without one, for trainers that cannot represent a missing score: "raise", or a number.
            Trainers that can, such as TRL with None, get that.
        reference: The column of the references; by default the one with a usual name. Trainers that pass a label without
            its column's name (verl, OpenRLHF, slime) have it under this name too.
        allow_unvalidated: Accept graders that are not validated.

    Raises:
        NotValidatedError: A grader is not validated, or failed validation.
        IsolationError: Imported source on a machine that cannot confine it.
        TypeError: Not a grader; a function needs the decorator `@wb.grader`. `reference` is not a text.
        ValueError: `on_error` is neither "raise" nor a finite number, fewer than one worker.

    Example:
        >>> import workbench as wb
        >>> short = wb.reward(wb.Length(maximum=5))
        >>> short(["Say hi", "Say hello"], ["hi", "hello there"])
        [1.0, 0.0]
    """
    whole = _as_suite(suite, combine)
    for entry in whole.entries:
        check_ready(entry, None)
        for part in parts(entry.grader) if not allow_unvalidated else ():
            if hasattr(part, "require_validated"):
                part.require_validated()
    return Reward(whole, workers=workers, on_error=on_error, reference=reference)


def _as_suite(given: Any, combine: CombiningRule | None) -> Suite:
    if not isinstance(given, Suite):
        if not isinstance(given, Grader | Entry) and (callable(given) or not isinstance(given, Iterable)):
            raise TypeError(
                f"a reward is made of graders, not of {type(given).__name__}; decorate a function with @wb.grader"
            )
        return Suite(given, combine=combine)
    if combine is None:
        return given
    return Suite(
        given.entries, combine=combine, gate=given.gate, name=given.name, description=given.description
    )


class Reward:
    """A suite as a reward function; made by `wb.reward`.

    Call it with prompts, completions and columns for a list of scores, None for rows without one, or pass a trainer the
    function in its signature: `.trl`, `.verl`, `.openrlhf`, `.slime`, `.verifiers`. `dir(reward)` lists them.

    Attributes:
        suite: The graders.
        on_error: See `wb.reward`.
        reference: See `wb.reward`.
        stats: Counts of each grader since the reward was made.
    """

    def __init__(
        self,
        suite: Suite,
        *,
        workers: int | None = None,
        on_error: str | float = "raise",
        reference: str = "",
    ) -> None:
        if workers is not None and not (isinstance(workers, int) and workers >= 1):
            raise ValueError(f"workers must be a whole number of at least 1, not {workers!r}")
        if not isinstance(reference, str):
            raise TypeError(f"reference must be the name of a column, not {type(reference).__name__}")
        if on_error != "raise" and not is_number(on_error):
            raise ValueError(f"on_error must be 'raise' or a finite number, not {on_error!r}")
        self.suite, self.on_error, self.reference, self._workers = suite, on_error, reference, workers
        self._graders = Graders(suite.entries, suite.combine, workers=workers)
        rule = [] if suite.combine is None else [suite.column]
        self.stats = RewardStats([*(entry.name for entry in suite.entries), *rule])
        self._warnings = RowWarnings(suite.entries)
        # Its workers end with it. Not at exit: there all of them end together.
        for owner in self._graders.owners:
            weakref.finalize(self, release, owner).atexit = False

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Sequence[Any]
    ) -> list[float | None]:
        """Scores in order, None for rows without one.

        Args:
            prompts: Texts or lists of messages, one per completion.
            completions: Texts or lists of messages.
            columns: The rows' other columns, one value per completion: metadata, and the reference among them.

        Raises:
            ValueError: Several graders without a combining rule; lists of different lengths.
            TypeError: A column is not a list, or a trainer that has its own signature called this.
        """
        if "trainer_state" in columns:
            raise TypeError(
                "TRL called the reward itself; pass reward.trl, as in GRPOTrainer(reward_funcs=reward.trl)"
            )
        self._require_single(len(self.suite.entries))
        return self.scores(self.grade(rows_of(prompts, completions, columns, reference=self.reference)))

    def grade(self, rows: Sequence[RewardRow], *, only: str = "") -> RewardGrades:
        """Grade rows, count them, and return all grades; from any thread.

        Args:
            rows: What to grade.
            only: The single grader to call; "" for all, and the suite's rule.

        Raises:
            SandboxError: No worker could be started, or confinement is weaker than the source needs; a grader's failure on
                a row is a grade instead.
        """
        return self._counted(self._graders.grade(rows, only=only))

    async def agrade(
        self, rows: Sequence[RewardRow], *, only: str = "", early: Early | None = None, large: bool = False
    ) -> RewardGrades:
        """The same as `grade` inside async code, on any event loop; raises the same.

        Args:
            rows: What to grade.
            only: The single grader to call; "" for all, and the suite's rule.
            early: Called on the event loop with partial results, whenever more rows are finished, if the call takes long.
            large: Whether the rows take so long to pack that the event loop must not wait for it.
        """
        known: list[RewardGrades] = []

        def tell(graded: RewardGrades) -> None:
            known[:] = [graded]
            if early is not None:
                early(graded)

        def count_known() -> None:
            for graded in known:
                self._counted(graded.of(np.flatnonzero(graded.known)))

        with ExitStack() as undo:
            # Rows reported early have got their results, even if the others are cancelled.
            undo.callback(count_known)
            graded = await self._graders.agrade(rows, only=only, early=tell if early else None, large=large)
            undo.pop_all()
        return self._counted(graded)

    def reset(self) -> None:
        """Restart counting, as if the reward had just been made."""
        self.stats.reset()
        self._warnings = RowWarnings(self.suite.entries)

    def _counted(self, graded: RewardGrades) -> RewardGrades:
        combined = {} if graded.combined is None else {self.suite.column: graded.combined}
        self.stats.add({**graded.parts, **combined}, graded.seconds)
        self._warnings.look(graded, self.stats)
        return graded

    def scores(self, graded: RewardGrades) -> list[float | None]:
        """The score of each row, None for rows without one.

        Raises:
            ValueError: Several graders without a combining rule.
        """
        values = self.column(graded)[1]
        return [
            None if missing else value
            for value, missing in zip(values.tolist(), np.isnan(values), strict=True)
        ]

    def numbers(self, graded: RewardGrades) -> list[float]:
        """The score of each row, `on_error` for rows without one.

        Raises:
            NoScoreError: A row without one, and `on_error` is "raise".
        """
        scores = self.scores(graded)
        if self.on_error != "raise":
            return [float(self.on_error) if score is None else score for score in scores]
        for at, score in enumerate(scores):
            if score is None:
                raise self._no_score(graded, at)
        return [score for score in scores if score is not None]

    def _no_score(self, graded: RewardGrades, at: int) -> NoScoreError:
        name, _, grades = self.column(graded)
        grade = grades[at]
        why = str(grade.error) if grade.error else f"skipped: {grade.reasoning or 'no reason given'}"
        return NoScoreError(
            "completion not scored, and this trainer cannot represent a missing score",
            where=f"grader {name!r}, {graded.rows[at].name}",
            found=why,
            hint="wb.reward(..., on_error=0.0) gives such rows a fixed score",
        )

    def column(self, graded: RewardGrades) -> tuple[str, Any, Grades]:
        """Name, effective scores, and grades of each row's single score.

        Raises:
            ValueError: Several graders without a combining rule.
        """
        if graded.combined is not None:
            return self.suite.column, graded.combined.scores, graded.combined
        self._require_single(len(graded.parts))
        ((name, grades),) = graded.parts.items()
        entry = next(entry for entry in self.suite.entries if entry.name == name)
        return name, entry.count(grades).scores, grades

    def _require_single(self, n_graders: int) -> None:
        """Refuse several graders without a rule; also before rows are graded, since judges cost money."""
        if self.suite.combine is None and n_graders > 1:
            raise ValueError(
                f"a reward needs one score per row: {n_graders} graders give {n_graders} scores without a combining rule; "
                "pass one: wb.reward(suite, combine=wb.combine.Mean())"
            )

    @property
    def single(self) -> bool:
        """Whether each row has a single score."""
        return self.suite.combine is not None or len(self.suite.entries) == 1

    @property
    def weights(self) -> list[float]:
        """One weight for each function of a trainer that takes several, such as TRL's `reward_weights`."""
        return [1.0] if self.single else [float(entry.weight) for entry in self.suite.entries]

    @property
    def name(self) -> str:
        """The trainers' name for the single score."""
        return self.suite.score_name

    def __getattr__(self, name: str) -> Any:
        """The reward in a trainer's signature.

        Raises:
            AttributeError: No such trainer.
            ValueError: A trainer that takes one score, and several graders without a rule.
        """
        if name.startswith("_") or name not in TRAINERS:
            known = f"; the trainers are {', '.join(sorted(TRAINERS))}" if not name.startswith("_") else ""
            raise AttributeError(f"a reward has no {name!r}{known}")
        cls = TRAINERS[name]
        if not cls.passes_columns:
            warn_of_label_alone(self.suite.entries, name, self.reference)
        if self.single:
            return cls(self, self.name)
        if not cls.several:
            raise ValueError(
                f"{name} takes one score per row, and there are {len(self.suite.entries)} graders without a combining rule; "
                "pass one: wb.reward(suite, combine=wb.combine.Mean())"
            )
        return [cls(self, entry.name, entry.name) for entry in self.suite.entries]

    def __dir__(self) -> list[str]:
        """The public names, with the trainers."""
        hidden = {"agrade", "grade", "numbers", "scores", "single"}
        return sorted({*super().__dir__(), *TRAINERS} - hidden)

    def __repr__(self) -> str:
        """The graders and the supported trainers."""
        names = ", ".join(entry.name for entry in self.suite.entries)
        return f"Reward({names}; {', '.join(f'.{name}' for name in sorted(TRAINERS))})"

    def close(self) -> None:
        """End its workers; the next call starts them again."""
        self._graders.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Callable[..., Reward], tuple[Any, ...]]:
        """As the suite's own record: workers start in the process that reads it, and counts start at zero."""
        settings = {"workers": self._workers, "on_error": self.on_error, "reference": self.reference}
        return _rebuilt, (_record(self.suite), settings)


def _record(suite: Suite) -> Any:
    """The suite as plain data with its validations; itself if something in it cannot be serialised."""
    try:
        spec = suite.spec()
        if Suite.build(spec) != suite:  # such as a client that the user passed to a judge
            return suite
    except (CaptureError, FormatError, WorkbenchError):
        return suite
    validations = [getattr(part, "validation", None) for part in _parts_of(suite)]
    return {"suite": spec, "validations": validations}


def _rebuilt(record: Any, settings: Mapping[str, Any]) -> Reward:
    if isinstance(record, Suite):
        return Reward(record, **settings)
    suite = Suite.build(record["suite"])
    for part, validation in zip(_parts_of(suite), record["validations"], strict=True):
        if validation is not None:
            part.remember(validation)
    return Reward(suite, **settings)


def _parts_of(suite: Suite) -> list[Any]:
    """Every grader in it, in one order."""
    return [part for grader in suite.graders for part in parts(grader)]


# Signatures are found by import: every module in `trainers` registers its signature.
load_modules(trainers)

__all__ = ["TRAINERS", "NoScoreError", "Reward", "reward"]
