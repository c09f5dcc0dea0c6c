"""The Export mode: which platform supports which grader, the settings of an export, and its file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.app.session.action import export_code, grader_code
from workbench.app.session.export import (
    Fit,
    FitTable,
    Preview,
    WrittenFiles,
    chooses_on_error,
    file_name,
    has_failed,
    is_trainer,
    parts_not_validated,
    preview,
    validation_states,
)
from workbench.app.view import Mode, mode
from workbench.app.view.texts import shown_name
from workbench.core.display_text import capital, counted, one_line, shown
from workbench.core.errors import WorkbenchError
from workbench.formats import Loss, export
from workbench.formats.shared import Format, get_format
from workbench.graders import SandboxedGrader
from workbench.graders.combine import Entry

if TYPE_CHECKING:
    from workbench.app.session.session import Session


_NAMED = 3  # number of graders from which a sentence gives the count instead of names
_IN_CODE = (
    (r"call \S+\.validate\(\)( first)?", "validate it above"),
    (r"pass allow_unvalidated=True", "tick “export without validation”"),
)
"""Hints in code, as patterns, and the page's wording."""
_ON_REQUEST = re.compile(r'on_loss="report" (drops it|writes (?P<instead>.*) instead) and reports the loss')


def sentence(entries: Mapping[str, Entry], fits: Mapping[str, Fit | None], preview: Preview) -> str:
    """How many graders there are, how they are exported, and what is lost.

    Args:
        entries: The graders that are exported, by name.
        fits: How the platform supports each one alone; None if not known yet.
        preview: What would be written for all of them.
    """
    if not entries:
        return "No grader is selected: tick those to export in the list."
    outcome = "Nothing is lost."
    if preview.problem:
        outcome = _problem(fits)
    elif preview.losses:
        outcome = f"{counted(len(preview.losses), 'setting')} {'is' if len(preview.losses) == 1 else 'are'} lost, see below."
    return f"{_forms(entries, fits)} {outcome}"


def _forms(entries: Mapping[str, Entry], fits: Mapping[str, Fit | None]) -> str:
    """The graders grouped by how the platform supports them."""
    count = counted(len(entries), "grader")
    known = {name: fit.fit for name, fit in fits.items() if fit is not None and name in entries}
    if len(known) < len(entries):
        return f"{count}."
    by_form = {
        form: [name for name in entries if known[name] == form] for form in ("yes", "code", "loss", "no")
    }
    told = [(names, _told(form, names, entries)) for form, names in by_form.items() if names]
    if len(told) == 1:
        every = "all " if len(entries) > 1 else ""
        return f"{count}, {every}{told[0][1]}."
    return f"{count}: {', '.join(f'{_who(names)} {words}' for names, words in told)}."


def _told(form: str, names: Sequence[str], entries: Mapping[str, Entry]) -> str:
    if form != "code":
        return {"yes": "exported natively", "loss": "with a loss", "no": "not supported"}[form]
    own = [name for name in names if isinstance(entries[name].grader, SandboxedGrader)]
    if len(own) == len(names):
        return "as code with the same text"
    made = [name for name in names if name not in own]
    if not own:
        return "as equivalent code"
    return f"as code: {_who(own)} with the same text, {_who(made)} as an equivalent program"


def _who(names: Sequence[str]) -> str:
    """One or two names, or the count."""
    return ", ".join(map(shown_name, names)) if len(names) < _NAMED else f"{len(names):,}"


def _problem(fits: Mapping[str, Fit | None]) -> str:
    """Which graders prevent the export, if known."""
    refused = [name for name, fit in fits.items() if fit is not None and fit.fit in {"no", "loss"}]
    if refused:
        who = _who(refused) if len(refused) < _NAMED else f"{len(refused):,} of them"
        return one_line(f"Nothing would be written because of {who}.", 600)
    if len(fits) > 1 and None not in fits.values():
        return "Each one alone could be written, but not all of them together."
    return "Nothing would be written."


def problem_lines(problem: WorkbenchError | None, platform: Format) -> list[str]:
    """Why nothing would be written, as sentences: the error and its subject, what was found, each hint.

    Args:
        problem: The error; None for none.
        platform: The format of the file.
    """
    if problem is None:
        return []
    own = f"{platform.name} does not support this: "
    what = (
        f"{platform.label}: {problem.what.removeprefix(own)}"
        if problem.what.startswith(own)
        else problem.what
    )
    about = f" ({problem.where})" if problem.where else ""
    facts = [
        f"{label} {words}"
        for label, words in (("found", problem.found), ("expected", problem.expected))
        if words
    ]
    sentences = [*facts, *_ways_out(problem.hint)]
    first = what if what.startswith(platform.label) else capital(what)
    return [_ended(f"{first}{about}"), *(_ended(capital(sentence)) for sentence in sentences)]


def _ways_out(hint: str) -> list[str]:
    """The hints of an error in the page's wording."""
    for pattern, words in _IN_CODE:
        hint = re.sub(pattern, words, hint)
    match = _ON_REQUEST.search(hint)
    if match is None:
        return [hint] if hint else []
    effect = f"{match['instead']} is written then" if match["instead"] else "it is omitted then"
    first = hint[: match.start()].removesuffix("; ")
    return [*filter(None, [first]), f"or choose “drop and list” under “unsupported”: {effect}"]


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


ON_LOSS = ("refuse", "report")
"""How to treat unsupported settings; see `export`."""
ON_ERROR = {"raise": "raise", "0.0": 0.0, "-1.0": -1.0}
"""The page's value for an unscored row, to the value for `export`."""


@dataclass(frozen=True)
class ExportSettings:
    """A user's settings.

    Attributes:
        platform: Name of a format.
        file: Where to write, as it was typed; "" for the default.
        on_loss: See `ON_LOSS`.
        on_error: A key of `ON_ERROR`.
        reference: The column with the references; "" for the usual names.
        allow_unvalidated: Whether graders that are not validated are exported.
    """

    platform: str = "native"
    file: str = ""
    on_loss: str = "refuse"
    on_error: str = "raise"
    reference: str = ""
    allow_unvalidated: bool = False

    def for_platform(self, name: str) -> ExportSettings:
        """The same for another platform: the old platform's file ending is removed.

        Raises:
            FormatError: Unknown platform.
        """
        get_format(name)
        path = Path(self.file)
        old = get_format(self.platform)
        has_ending = path.suffix in {old.suffix, *old.variants}
        file = str(path.with_suffix("")) if self.file and has_ending else self.file
        return replace(self, platform=name, file=file)

    def changed(self, settings: Mapping[str, Any]) -> ExportSettings:
        """With these settings, as the page sends them.

        Raises:
            WorkbenchError: Unknown setting, or a value that it does not support.
        """
        for name, value in settings.items():
            if not _fits(name, value):
                raise WorkbenchError("invalid export setting", found=one_line(f"{name}={value!r}"))
        return replace(self, **settings)

    @property
    def arguments(self) -> dict[str, Any]:
        """The settings as `export` takes them; those that this platform does not have are omitted."""
        on_error = ON_ERROR[self.on_error] if chooses_on_error(self.platform) else "raise"
        reference = self.reference.strip() if is_trainer(get_format(self.platform)) else ""
        chosen = {"on_loss": self.on_loss, "on_error": on_error, "allow_unvalidated": self.allow_unvalidated}
        return chosen | ({"reference": reference} if reference else {})

    def data(self) -> dict[str, Any]:
        """`ExportData["settings"]`."""
        return {
            "on_loss": self.on_loss, "on_error": self.on_error, "reference": one_line(self.reference),
            "allow_unvalidated": self.allow_unvalidated,
        }  # fmt: skip


def _fits(name: str, value: Any) -> bool:
    if name in {"on_loss", "on_error"}:
        return value in (ON_LOSS if name == "on_loss" else tuple(ON_ERROR))
    if name in {"file", "reference"}:
        return isinstance(value, str) and len(value) <= 1_000
    return name == "allow_unvalidated" and isinstance(value, bool)


_LANGUAGES = {".json": "json", ".py": "python", ".yaml": "yaml", ".js": "javascript", ".af": "json"}
_MAX_CHARACTERS = 200_000  # maximum characters of a file to show
_MAX_LOSSES = 100
_WORDS = 1_000  # maximum characters of a loss or a problem


@mode("export", "Export", position=4)
class ExportMode(Mode):
    """Export as the page shows it. Its methods are called with the session's lock; those that take long acquire it.

    Args:
        session: Whose graders are exported.
        on_change: Called with the lock, on a background thread, when `data` has changed.
    """

    def __init__(self, session: Session, on_change: Callable[[], object] = lambda: None) -> None:
        super().__init__(session, on_change)
        self._settings = ExportSettings()
        self._table = FitTable(self._step)
        self._files = WrittenFiles()
        self._previewed: tuple[tuple[Any, ...], Preview] = ((), Preview())
        self._written: tuple[tuple[Any, ...], str] = ((), "")  # input of the last export, and its message
        self._seen: tuple[str, ...] = ()  # the existing files that the page has shown

    def close(self) -> None:
        """Stop computing what platforms support."""
        self._table.close()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait, without the lock, until the table is complete; whether this happened in time."""
        return self._table.wait(timeout)

    def _step(self) -> None:
        with self._session.guard.locked("Export"):
            self._on_change()

    def show_code(self) -> None:
        """Set the line that would write the previewed file."""
        settings = self._settings
        if not self._session.graders.chosen:
            return
        with suppress(WorkbenchError):  # an invalid name is reported below the table
            self._session.code.text = export_code(
                self._session.graders.suite_code(), file_name(settings.file, settings.platform), settings.platform,
                **settings.arguments,
            )  # fmt: skip

    def do_export(self, platform: str) -> None:
        """Select a platform.

        Raises:
            FormatError: Unknown name.
        """
        self._settings = self._settings.for_platform(platform)
        self.show_code()

    def do_export_settings(self, settings: Mapping[str, Any]) -> None:
        """Change settings: those of `ExportData["settings"]`, and `file`.

        Raises:
            WorkbenchError: Unknown setting, or a value that it does not support.
        """
        self._settings = self._settings.changed(settings)
        self.show_code()

    def do_write(self) -> None:
        """Write the previewed file, and set the line that would. Existing files that were shown are replaced.

        Raises:
            WorkbenchError: The graders are refused, or a file exists that the page has not shown.
        """
        with self._session.guard.lock:
            self._write()
        self._session.store_written()

    def _write(self) -> None:
        suite, settings = self._session.graders.chosen_suite(), self._settings
        target = file_name(settings.file, settings.platform)
        in_the_way = self._files.in_the_way(target, settings.platform, self._preview().files)
        if new := [one for one in in_the_way if one not in self._seen]:
            self._seen = tuple(in_the_way)
            raise WorkbenchError(
                "the file to write exists", where=target, found="; ".join(new),
                hint="press Write again to replace it, or write to another name",
            )  # fmt: skip
        exported = export(suite, target, settings.platform, **settings.arguments)
        self._files.note(exported.paths, settings.platform)
        names = ", ".join(path.name for path in exported.paths)
        self._written = (self._made_of(), f"Wrote {names} in {Path(target).resolve().parent}")
        self.show_code()

    def ask_export_file(self, name: str) -> str:
        """The whole text of a previewed file, to be saved on the page's machine.

        Raises:
            WorkbenchError: Unknown file.
        """
        by_name = {one_line(each): text for each, text in self._preview().files.items()}
        if name not in by_name:
            raise WorkbenchError(
                "unknown file", found=one_line(name, 120), expected=one_line(", ".join(by_name), 300)
            )
        return by_name[name]

    def do_validate_all(self) -> None:
        """Validate the selected graders that are not validated. Called without the lock: it takes long."""
        with self._session.guard.lock:
            graders = {name: self._session.graders.by_name[name] for name in self._session.graders.chosen}
        lines: list[str] = []  # what was done so far
        try:
            for name, grader in graders.items():
                for part_code, part in parts_not_validated(grader, grader_code(name)):
                    self._session.graders.validate(name) if part is grader else part.validate()
                    lines.append(f"{part_code}.validate()")
        finally:
            with self._session.guard.lock:
                self._session.code.text = "\n".join(lines) or self._session.code.text

    def data(self) -> dict[str, Any]:
        """`ExportData`."""
        graders, settings = self._session.graders, self._settings
        ready = {
            name: graders.entry(name) for name, grader in graders.by_name.items() if not has_failed(grader)
        }
        fits = self._table.rows(ready)
        made, platform = self._preview(), get_format(settings.platform)
        at = [each.name for each in self._table.platforms].index(platform.name)
        chosen = graders.chosen_entries()
        column = {name: fits[name][at] if name in fits else None for name in chosen}
        return {
            "platforms": [
                {
                    "name": each.name,
                    "title": one_line(each.label),
                    "group": "trainer" if is_trainer(each) else "platform",
                }
                for each in self._table.platforms
            ],
            "graders": [self._grader(name, fits.get(name)) for name in graders.by_name],
            "chosen": platform.name,
            "title": f"To {platform.label}",
            "sentence": sentence(chosen, column, made),
            "settings": settings.data(),
            "choices": self._choices(),
            **self._file_data(made),
            "losses": _loss_lines(made.losses),
            "notes": _loss_lines(made.notes),
            "problem": [shown(line, _WORDS) for line in problem_lines(made.problem, platform)],
        }

    def _grader(self, name: str, fits: list[Fit | None] | None) -> dict[str, Any]:
        cells = [{"fit": "busy", "note": ""} if fit is None else fit._asdict() for fit in fits or ()]
        draft = fits is None
        return {
            "name": shown_name(name), "ticked": name in self._session.graders.chosen, "draft": draft,
            "say": "a draft: exported once its five checks pass" if draft else self._change(name), "fits": cells,
        }  # fmt: skip

    def _change(self, name: str) -> str:
        """Why the last run's grades do not apply to a grader; "" if they do, or before a run."""
        report = self._session.results.report
        if report is None or name not in self._session.graders.unrun:
            return ""
        return "changed since the run" if name in report.grades else "not part of the last run"

    def _choices(self) -> dict[str, Any]:
        platform, chosen = self._settings.platform, self._session.graders.chosen
        states = validation_states(self._session.graders.chosen_suite()) if chosen else []
        return {
            "on_loss": list(ON_LOSS),
            "on_error": list(ON_ERROR) if chooses_on_error(platform) else [],
            "has_reference": is_trainer(get_format(platform)),
            "not_validated": [
                f"{shown_name(name)}: {one_line(words)}" for name, validated, words in states if not validated
            ],
        }

    def _file_data(self, made: Preview) -> dict[str, Any]:
        settings = self._settings
        try:
            target = file_name(settings.file, settings.platform)
        except WorkbenchError:
            target = settings.file
        in_the_way = self._files.in_the_way(target, settings.platform, made.files)
        self._seen = tuple(in_the_way)
        made_of, words = self._written
        return {
            "file": one_line(target, 1_000),
            "files": [_file(name, text) for name, text in made.files.items()],
            "in_the_way": [shown(one, _WORDS) for one in in_the_way],
            "written": shown(words, _WORDS) if words and made_of == self._made_of() else "",
        }

    def _made_of(self) -> tuple[Any, ...]:
        """All inputs of the export."""
        graders = self._session.graders
        suite = graders.chosen_suite() if graders.chosen else None
        return self._settings, suite, () if suite is None else tuple(validation_states(suite))

    def _preview(self) -> Preview:
        """What would be written for the selected graders."""
        settings, suite, validations = made_of = self._made_of()
        if made_of != self._previewed[0]:
            made = Preview(
                problem=WorkbenchError("no grader is selected", hint="tick those to export in the list")
            )
            if suite is not None:
                made = preview(suite, settings.file, settings.platform, **settings.arguments)
            self._previewed = ((settings, suite, validations), made)
        return self._previewed[1]


def _file(name: str, text: str) -> dict[str, Any]:
    return {
        "name": one_line(name),
        "text": shown(text, _MAX_CHARACTERS),
        "language": _LANGUAGES.get(Path(name).suffix, ""),
        "lines": len(text.splitlines()),
    }


def _loss_lines(losses: tuple[Loss, ...]) -> list[str]:
    told = [shown(str(loss), _WORDS) for loss in losses[:_MAX_LOSSES]]
    more = len(losses) - len(told)
    return [*told, f"and {more:,} more"] if more > 0 else told
