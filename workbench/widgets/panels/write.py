"""The Write panel: what was captured, what the checks say, and texts to start from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import ipywidgets as widgets

from workbench import background
from workbench.display_text import shown
from workbench.graders import Grader, SandboxedGrader
from workbench.sandbox.host.info import SandboxInfo, sandbox_info
from workbench.session.grader_text import text_of
from workbench.session.starters import TEMPLATES
from workbench.widgets.panels.panel import Panel, add_classes, heading, remark, replace_options, row, text
from workbench.widgets.views.source_view import SourceView

__all__ = ["WritePanel"]


class WritePanel(Panel):
    """The source of a grader as it is exported, its proof, and an editor for a new one.

    A text of the editor is Python with a grade function, JavaScript with one, or a grader's spec as JSON. Nothing of it
    runs in the kernel's process. What is kept in the store is found by a later session among the texts to start from. See
    `Panel` for the arguments.
    """

    title = "Write"
    css = "write"

    def build(self) -> Sequence[Any]:
        """See `Panel`."""
        self._make_viewer()
        self._make_editor()
        self._listen()
        self._ask_isolation()
        with self.session.guard.locked(self.title):
            self._show_templates()
        return [
            row(self.grader, self.prove, self.keep, self.edit, self.drop, self.restore), self.state_line, self.checks, self.source, self.isolation,
            heading("Write another"), row(self.template, self.name), self.editor, row(self.add, self.earlier),
        ]  # fmt: skip

    def _make_viewer(self) -> None:
        """One grader as it is, and what can be done to it."""
        button, wide = widgets.Button, widgets.Layout(width="100%", max_width="640px")
        self.grader = widgets.Dropdown(description="Grader", layout=wide)
        self.prove = button(
            description="Validate", icon="check", tooltip="Run the five checks in the sandbox"
        )
        self.keep = button(
            description="Keep in the store",
            icon="save",
            tooltip="For later sessions, as a new version of what is there",
        )
        self.edit = button(description="Edit a copy", tooltip="Take this text into the editor below")
        self.restore = button(icon="undo", layout=widgets.Layout(display="none"))
        self._none_chosen = False
        self.drop = button(description="Remove", tooltip="Drop this grader from the list; reports keep it")
        self.state_line, self.checks, self.isolation = widgets.HTML(), widgets.HTML(), widgets.HTML()
        self.source = SourceView()
        add_classes(prove=self.prove, keep=self.keep, checks_box=self.checks, isolation=self.isolation)

    def _make_editor(self) -> None:
        """A text to be a grader, and where to start from."""
        self.template = widgets.Dropdown(description="Start from", options=(("choose a text", -1),))
        self.name = widgets.Text(description="Name", placeholder="my_grader")
        self.editor = widgets.Textarea(
            description="Text", rows=12, layout=widgets.Layout(width="calc(100% - 6px)"),
            placeholder="async def grade(thread: StringThread) -> float:",
        )  # fmt: skip
        self.add = widgets.Button(description="Add and validate", button_style="primary", icon="plus")
        self.earlier = widgets.Button(
            description="Bring back what was there", layout=widgets.Layout(display="none"), icon="undo"
        )
        add_classes(add=self.add, editor=self.editor)
        self._show_draft()

    def _listen(self) -> None:
        self.grader.observe(self.callback(self._choose), "value")
        self.prove.on_click(self.callback(self._prove, slow=True))
        self.keep.on_click(self.callback(self._keep, slow=True))
        self.edit.on_click(self.callback(self._edit))
        self.drop.on_click(self.callback(self._remove))
        self.restore.on_click(self.callback(self._restore))
        self.earlier.on_click(self.callback(self._restore_draft))
        self.template.observe(self.callback(self._use_template), "value")
        self.editor.observe(self._keep_draft, "value")
        self.name.observe(self._keep_draft, "value")
        self.add.on_click(self.callback(self._add, slow=True))
        self.watch(self.refresh, self.session.graders, "by_name", "proofs", "unrun", "removed")
        self.watch(self.refresh, self.session.stored, "versions")
        self.watch(self._show_templates, self.session.stored, "versions")

    def _show_templates(self) -> None:
        """Texts to start from: templates by number, and what the store keeps by name."""
        self.keep.layout.display = "none" if self.session.storage.in_memory else ""
        templates = [(template.title, number) for number, template in enumerate(TEMPLATES)]
        stored = [(f"kept: {name}", name) for name in self.session.stored.names()]
        replace_options(self.template, [("choose a text", -1), *templates, *stored])

    def refresh(self) -> None:
        """See `Panel`."""
        replace_options(self.grader, [(name, name) for name in self.session.graders.by_name])
        if self._none_chosen:
            self.grader.index = None  # nobody has chosen another one since
        self._show_restore()
        self._show()

    def _choose(self) -> None:
        self._none_chosen = False
        self._show()

    @property
    def _current(self) -> Grader | None:
        grader: Grader | None = self.session.graders.by_name.get(self.grader.value)
        return grader

    def _show(self) -> None:
        grader = self._current
        self.prove.disabled = not isinstance(grader, SandboxedGrader)
        self.edit.disabled = self.keep.disabled = grader is None
        if grader is None:
            no_grader = "No grader yet: define one with @wb.grader in a cell, or below."
            self.checks.value = ""
            self.state_line.value = remark("Choose a grader." if self.session.graders.by_name else no_grader)
            self.source.show("")
            return
        source, language, file = text_of(grader)
        title = (
            f"{grader.name} as exported"
            if isinstance(grader, SandboxedGrader)
            else f"{grader.name}: {grader.kind}"
        )
        self.source.show(source, language=language, title=title, file=file)
        self._show_proof(grader)

    def _show_proof(self, grader: Grader) -> None:
        name = self.grader.value
        proof = self.session.graders.proofs.get(name)
        if not isinstance(grader, SandboxedGrader):
            words = "a rule of the workbench: no source of anybody's that needs a proof"
        elif proof is None:
            words = "not validated" + (
                ": the text is new or was changed" if name in self.session.graders.unrun else ""
            )
        else:
            words = "validated" if proof.ok else "the checks failed"
        mark = "wb-ok" if proof is not None and proof.ok else "wb-no" if proof is not None else "wb-quiet"
        # The checks first: whoever reads "validated" finds them.
        self.checks.value = proof._repr_html_() if proof is not None else ""
        version = self.session.stored.version_of(name)
        stored = f" {remark(f'· kept in the store, version {version}')}" if version else ""
        self.state_line.value = f"<b class='{mark}'>{text(words)}</b>{stored}"

    def _prove(self) -> None:
        self._check(self.session.graders.validate)

    def _keep(self) -> None:
        self._check(self.session.stored.keep)

    def _check(self, action: Callable[[str], object]) -> None:
        """Validate or keep the chosen grader, which takes its time, and show the outcome."""
        if self._current is None:
            return
        self.state_line.value = "<b>checking</b>"
        try:
            action(self.grader.value)
        finally:
            with self.session.guard.lock, self.filling_controls():
                self._show()

    def _ask_isolation(self) -> None:
        """Probe the isolation of this machine, which takes a moment, and show it when it is known."""
        future = background.submit(asyncio.to_thread(sandbox_info))
        background.then(future, self._show_isolation)

    def _show_isolation(self, future: Future[SandboxInfo]) -> None:
        with self.session.guard.locked(self.title):
            info = future.result()
            leaks = f"; probes that got through: {', '.join(info.leaks)}" if info.leaks else ""
            self.isolation.value = remark(f"isolation of this machine: {info.level}. {info.label}{leaks}")

    def _edit(self) -> None:
        grader = self._current
        if grader is not None:
            self._fill(text_of(grader).text, self._free_name(self.grader.value))

    def _use_template(self) -> None:
        choice = self.template.value
        with self.filling_controls():
            self.template.value = -1  # so that the same can be chosen again
        if isinstance(choice, str):
            self._fill(self.session.stored.text(choice), self._free_name(choice))
        elif choice >= 0:
            self._fill(TEMPLATES[choice].text, self._free_name(TEMPLATES[choice].name))

    def _free_name(self, name: str) -> str:
        """A name that replaces nothing."""
        taken = self.session.graders.by_name
        numbered = (f"{name}_{number}" for number in range(2, len(taken) + 3))
        return (
            name if name not in taken else next(candidate for candidate in numbered if candidate not in taken)
        )

    # ---- the editor

    def _keep_draft(self, _: object) -> None:
        """Keep what is written, also for the panel that comes after this one."""
        if not self._is_filling:
            self.session.drafts.source, self.session.drafts.name = self.editor.value, self.name.value

    def _show_draft(self) -> None:
        drafts = self.session.drafts
        with self.filling_controls():
            self.editor.value, self.name.value = drafts.source, drafts.name
        self.earlier.layout.display = "" if drafts.earlier else "none"

    def _fill(self, source: str, name: str) -> None:
        self.session.drafts.fill(source, name)
        self._show_draft()

    def _restore_draft(self) -> None:
        self.session.drafts.restore()
        self._show_draft()

    def _add(self) -> None:
        name = self.session.graders.add_text(self.editor.value, name=self.name.value.strip())
        with self.session.guard.lock, self.filling_controls():
            self._none_chosen, self.grader.value = False, name
            self._show()
        if isinstance(self._current, SandboxedGrader):
            code = self.session.code.text
            self._prove()
            self.session.code.text = code  # the text, and not its proof, is what was added

    # ---- what is removed can be restored

    def _remove(self) -> None:
        if self._current is None:
            return  # a double click removes one grader, and not two
        self.session.graders.remove(self.grader.value)
        self._none_chosen = True
        with self.filling_controls():
            self.refresh()

    def _show_restore(self) -> None:
        removed = self.session.graders.removed
        self.restore.layout.display = "" if removed else "none"
        if removed:
            self.restore.description = f"Put back {shown(removed[-1].name, 30)}"
            self.restore.tooltip = "The grader of that name that was removed or replaced last"

    def _restore(self) -> None:
        name = self.session.graders.restore()
        with self.filling_controls():
            self.grader.value = name
            self._show()
