"""Named graders over the same samples: one run, one report, one bar."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench import background
from workbench.columns import Grades
from workbench.graders import Control, Grader
from workbench.progress import Bar, OnProgress, Progress
from workbench.report import Report, check_settings
from workbench.samples import Samples, as_samples

__all__ = ["Suite", "run"]


@dataclass(frozen=True)
class Suite:
    """Graders that judge the same samples.

    Attributes:
        graders: At least one; names must differ.

    Raises:
        ValueError: No grader, or two of one name.
        TypeError: Something that is no grader.
    """

    graders: tuple[Grader, ...]

    def __init__(self, graders: Iterable[Grader] | Grader) -> None:
        items = (graders,) if isinstance(graders, Grader) else tuple(graders)
        object.__setattr__(self, "graders", items)
        self._check()

    def _check(self) -> None:
        if not self.graders:
            raise ValueError("a suite needs at least one grader")
        for item in self.graders:
            if not isinstance(item, Grader):
                raise TypeError(
                    f"a suite holds graders, not {type(item).__name__}; write @wb.grader above a function"
                )
        names = [item.name for item in self.graders]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(
                f"two graders are called {twice[0]!r}; give one another name: @wb.grader(name=...)"
            )

    def __iter__(self) -> Any:
        return iter(self.graders)

    def __len__(self) -> int:
        return len(self.graders)

    def run(
        self,
        samples: Any,
        *,
        on_progress: OnProgress | None = None,
        workers: int | None = None,
        progress: bool = True,
        preset: str = "workbench",
        labels: Any = None,
    ) -> Report:
        """Grade every sample with every grader.

        An Interrupt (Ctrl-C, or the stop button) ends the run early and returns the report of what was
        graded; the rest is failed as *cancelled*, never zero.

        Args:
            samples: `Samples`, a DataFrame, a list of dicts, or a path.
            on_progress: Called with a `Progress` on the calling thread, ten times a second at most and at the end.
            workers: Sandbox processes; all cores but one by default.
            progress: Whether to show a bar.
            preset: Which diagnostics the report carries.
            labels: One bool or None a row, known good or known bad: what turns *saturated* into *lenient*.

        Raises:
            SamplesError: The samples cannot be read.
            IsolationError: Imported source where the machine cannot confine it.
            ValueError: Fewer than one worker.
        """
        if workers is not None and workers < 1:
            raise ValueError(f"workers must be 1 or more, not {workers!r}")
        data = as_samples(samples)
        data.require_completion()
        check_settings(data, preset=preset, labels=labels)  # now, not after an hour of grading
        for item in self.graders:
            item.check_ready()
        with Bar(len(data) * len(self.graders), show=progress) as bar:
            listeners = [listen for listen in (on_progress, bar) if listen]
            grades, stopped = _Work(self.graders, data, listeners, workers).go()
        if stopped:
            done = sum(len(g) - _cancelled(g) for g in grades.values())
            print(f"Interrupted: {done:,} of {len(data) * len(grades):,} grades kept.")  # noqa: T201
        sources = {g.name: g.source.text for g in self.graders if hasattr(g, "source")}
        return Report(data, grades, preset=preset, labels=labels, sources=sources)


def run(graders: Iterable[Grader], samples: Any, **settings: Any) -> Report:
    """Shorthand for `Suite(graders).run(samples, ...)`."""
    return Suite(graders).run(samples, **settings)


class _Work:
    """One run: graders one after the other, since each uses all workers."""

    def __init__(
        self, graders: tuple[Grader, ...], samples: Samples, listeners: list[Any], workers: int | None
    ) -> None:
        self._graders, self._samples, self._listeners = graders, samples, listeners
        self._control = Control(self._note, workers=workers)
        self._grades: dict[str, Grades] = {}
        self._current, self._now = "", (0, 0)
        self._start = self._told = time.monotonic()

    def go(self) -> tuple[Mapping[str, Grades], bool]:
        """Grades by name, and whether the run was interrupted."""
        future = background.submit(self._all())
        stopped = False
        try:
            background.wait(future, self._beat)
        except KeyboardInterrupt:
            stopped = True
            self._control.cancel.set()
            background.wait(future)  # for the rows in flight; a second Interrupt leaves at once
        if not stopped:  # else the bar stays where the run was
            self._tell()
        return self._grades, stopped

    async def _all(self) -> None:
        for item in self._graders:
            self._current = item.name
            grades = await item.grade_all(self._samples, self._control)
            self._grades[item.name] = grades
            self._now = (0, 0)

    def _note(self, done: int, failed: int) -> None:
        self._now = (done, failed)

    def _beat(self) -> None:
        if time.monotonic() - self._told >= 0.1:
            self._tell()

    def _tell(self) -> None:
        self._told = time.monotonic()
        finished = list(self._grades.values())
        moment = Progress(
            grader=self._current,
            done=sum(map(len, finished)) + self._now[0],
            failed=sum(g.n_failed for g in finished) + self._now[1],
            total=len(self._samples) * len(self._graders),
            seconds=self._told - self._start,
        )
        for listen in self._listeners:
            listen(moment)


def _cancelled(grades: Grades) -> int:
    return sum(error.kind == "cancelled" for error in grades.errors.values())
