"""Graders saved in a store by name or read from files, as text to start from."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from traitlets import Any as AnyTrait
from traitlets import HasTraits

from workbench.app.session.code_lines import LastCode, keep_code, stored_version_code
from workbench.app.session.edits import with_client_of
from workbench.app.session.grader_text import text_of
from workbench.core.errors import FormatError, WorkbenchError
from workbench.formats import load
from workbench.graders.combine import Entry
from workbench.graders.serialization import spec_of
from workbench.run.suite import Suite

if TYPE_CHECKING:
    from workbench.app.session.graders import GraderList
    from workbench.app.session.guard import ActionGuard
    from workbench.app.session.storage import Storage
    from workbench.graders import Grader
    from workbench.store import Store
    from workbench.store.graders import GraderEntry


MAX_CHARACTERS = 4_000_000
"""Maximum characters of one file: the page sends it through the kernel's comm channel."""


class FromFiles(NamedTuple):
    """The graders of some files.

    Attributes:
        names: Files that could be read.
        entries: Their graders.
        problems: What could not be read or was omitted, one sentence each.
    """

    names: list[str]
    entries: list[Entry]
    problems: list[str]


def graders_from_files(files: Sequence[Mapping[str, Any]]) -> FromFiles:
    """The graders of these files; an unreadable file does not affect the others. Nothing in them runs.

    Their source counts as imported: it runs only with kernel confinement. A file that another one names, such as a
    prompt or a module in the same folder, is read with that one.

    Args:
        files: Name and text of each; `size` replaces the text of a file that is too large.
    """
    by_name = {Path(str(file.get("name", ""))).name or "file": file for file in files}
    texts = {name: str(file.get("text", "")) for name, file in by_name.items()}
    suites: dict[str, Suite] = {}
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="workbench-opened-") as made:
        folder = Path(made)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", errors="surrogatepass")
        for name, file in by_name.items():
            try:
                _check_size(file)
                suites[name] = load(folder / name)
            except (WorkbenchError, OSError, ValueError) as error:
                failed[name] = str(error).replace(f"{folder}/", "")
    left_out = [
        f"weights, rule and gate of {name} are not imported: the app imports only its graders"
        for name, suite in suites.items()
        if not _is_list(suite)
    ]
    problems = [said for name, said in failed.items() if not any(name in texts[other] for other in suites)]
    entries = [entry for suite in suites.values() for entry in suite.entries]
    return FromFiles(list(suites), entries, problems + left_out)


def _is_list(suite: Suite) -> bool:
    """Whether the suite consists only of its graders: no weights, rule or gate. Failures count as the app decides."""
    is_plain = all(
        replace(entry, on_error="fail") == Entry(entry.grader, entry.name) for entry in suite.entries
    )
    return is_plain and suite.combine is None and suite.gate is None


def _check_size(file: Mapping[str, Any]) -> None:
    characters = max(len(str(file.get("text", ""))), int(file.get("size", 0)))
    if characters > MAX_CHARACTERS:
        raise FormatError(
            "the file is too large to open on a page",
            where=str(file.get("name", "")),
            found=f"{characters:,} characters",
            expected=f"at most {MAX_CHARACTERS:,}",
            hint="read it in a cell: app.add(wb.load(path).graders)",
        )


class StoredText(NamedTuple):
    """The newest version of a grader in a store, and its text for the editor."""

    version: int
    text: str


class GraderStorage(HasTraits):
    """The graders of a store, and which of a session's graders were saved there.

    Traits (observe them; set them through the methods):
        versions: Name to the grader that was saved here under that name, and its version in the store.

    Args:
        graders: The session's graders.
        storage: The store.
        guard: Its lock is held during changes.
        code: Gets the lines that repeat an action.
    """

    versions: Any = AnyTrait()

    def __init__(self, graders: GraderList, storage: Storage, *, guard: ActionGuard, code: LastCode) -> None:
        super().__init__()
        self._graders, self._storage = graders, storage
        self._guard, self._code = guard, code
        self.versions = {}
        self._newest: dict[str, StoredText | None] = {}

    def keep(self, name: str) -> None:
        """Save a grader of the session under its name. Called without the lock: it is validated first.

        Raises:
            WorkbenchError: It is not valid, has no form that can be saved, or is locked in the store.
        """
        grader = self._graders.by_name[name]
        try:
            entry, change = _keep(self._storage.store, name, grader)
        finally:
            # Also if nothing was saved: validation has run, and its result is shown.
            self._graders.note_validation(name, grader)
        with self._guard.lock:
            self._newest.pop(name, None)
            self.versions = {**self.versions, name: (grader, entry.version)}
            if change:
                self._code.text = keep_code(self._storage, name, change)

    def version_of(self, name: str) -> int:
        """The version under which exactly this grader was saved here; 0 if it was not."""
        grader, version = self.versions.get(name, (None, 0))
        return version if grader == self._graders.by_name.get(name) else 0

    def newest(self, name: str) -> StoredText | None:
        """The store's entry for a grader's name; None if it has none that can be read. Read again after `check_determinism`."""
        if self._storage.in_memory:
            return None
        if name not in self._newest:
            self._newest[name] = self._read_newest(name)
        return self._newest[name]

    def _read_newest(self, name: str) -> StoredText | None:
        stored = self._storage.store.graders
        try:
            return StoredText(stored.entry(name).version, text_of(stored.get(name)).text)
        except WorkbenchError:  # no such name, or a kind that is not registered here
            return None

    def check_determinism(self) -> None:
        """Read the store again: a cell, or another notebook, may have saved or deleted something."""
        self._newest = {}

    def take(self, name: str, version: int) -> None:
        """Replace a session's grader with a version from the store; `restore` undoes it.

        Args:
            name: The grader's name, here and in the store.
            version: Its version in the store.

        Raises:
            StoreError: There is no such version, or it was deleted.
            FormatError: Of a kind that is not registered here.
        """
        stored = self._storage.store.graders
        stored.entry(name)  # raises for a deleted grader, whose versions could still be read
        with self._guard.lock:
            grader = with_client_of(self._graders.by_name[name], stored.get(name, version))
            self._graders.exchange(name, grader)
            self.versions = {**self.versions, name: (grader, version)}
            self._code.text = stored_version_code(self._storage, name, version)

    def names(self) -> list[str]:
        """Names of the graders in the store; none if it is in memory."""
        return [] if self._storage.in_memory else _names(self._storage.store)

    def text(self, name: str) -> str:
        """The text of a grader in the store, for the editor. Nothing of it runs.

        Raises:
            StoreError: There is no such grader.
            FormatError: Of a kind that is not registered here.
        """
        return text_of(self._storage.store.graders.get(name)).text

    def forget(self) -> None:
        """Record that the store is gone, with everything that was saved in it."""
        self.versions, self._newest = {}, {}


def _keep(store: Store, name: str, grader: Grader) -> tuple[GraderEntry, str]:
    """Validate a grader and save it under a name; if the store has the same already, nothing is written.

    Returns:
        Its entry in the store, and what changed there: "create", "edit" or "".

    Raises:
        ValidationError: A source of it is not valid.
        CaptureError: It has no form that can be saved, such as a function of the notebook.
        StoreError: The name is not valid for a store, or it is locked there.
    """
    if name not in _names(store):
        return store.graders.create(name, grader), "create"
    if spec_of(store.graders.get(name)) == spec_of(grader):
        return store.graders.entry(name), ""
    return store.graders.edit(name, grader), "edit"


def _names(store: Store) -> list[str]:
    return [entry.key for entry in store.graders.list()]
