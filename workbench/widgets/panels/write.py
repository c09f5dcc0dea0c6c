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
from workbench.session.stored_graders import kept_names, kept_text
from workbench.widgets.panels.panel import Panel, classed, heading, quiet, replace_options, row, text
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
        self._make_shown()
        self._make_editor()
        self._listen()
        self._ask_isolation()
        with self.state.guard(self.title):
            self._offer()
        return [
            row(self.grader, self.prove, self.keep, self.edit, self.drop, self.restore), self.state_line, self.checks, self.source, self.isolation,
            heading("Write another"), row(self.template, self.name), self.editor, row(self.add, self.back),
        ]  # fmt: skip

    def _make_shown(self) -> None:
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
        self._unchosen = False
        self.drop = button(description="Remove", tooltip="Drop this grader from the list; reports keep it")
        self.state_line, self.checks, self.isolation = widgets.HTML(), widgets.HTML(), widgets.HTML()
        self.source = SourceView()
        classed(prove=self.prove, keep=self.keep, checks_box=self.checks, isolation=self.isolation)

    def _make_editor(self) -> None:
        """A text to be a grader, and where to start from."""
        self.template = widgets.Dropdown(description="Start from", options=(("choose a text", -1),))
        self.name = widgets.Text(description="Name", placeholder="my_grader")
        self.editor = widgets.Textarea(
            description="Text", rows=12, layout=widgets.Layout(width="calc(100% - 6px)"),
            placeholder="async def grade(thread: StringThread) -> float:",
        )  # fmt: skip
        self.add = widgets.Button(description="Add and validate", button_style="primary", icon="plus")
        self.back = widgets.Button(
            description="Bring back what was there", layout=widgets.Layout(display="none"), icon="undo"
        )
        classed(add=self.add, editor=self.editor)
        self._fill()

    def _listen(self) -> None:
        self.grader.observe(self.acts(self._choose), "value")
        self.prove.on_click(self.acts(self._prove, slow=True))
        self.keep.on_click(self.acts(self._keep, slow=True))
        self.edit.on_click(self.acts(self._edit))
        self.drop.on_click(self.acts(self._drop))
        self.restore.on_click(self.acts(self._restore))
        self.back.on_click(self.acts(self._bring_back))
        self.template.observe(self.acts(self._start), "value")
        self.editor.observe(self._typed, "value")
        self.name.observe(self._typed, "value")
        self.add.on_click(self.acts(self._add, slow=True))
        self.watch(self.refresh, "graders", "proofs", "unrun", "kept", "gone")
        self.watch(self._offer, "kept")

    def _offer(self) -> None:
        """Texts to start from: templates by number, and what the store keeps by name."""
        self.keep.layout.display = "none" if self.state.labelling.in_memory else ""
        texts = [(one.title, at) for at, one in enumerate(TEMPLATES)]
        kept = [(f"kept: {name}", name) for name in kept_names(self.state.labelling)]
        replace_options(self.template, [("choose a text", -1), *texts, *kept])

    def refresh(self) -> None:
        """See `Panel`."""
        replace_options(self.grader, [(name, name) for name in self.state.graders])
        if self._unchosen:
            self.grader.index = None  # nobody has chosen another one since
        self._offer_back()
        self._show()

    def _choose(self) -> None:
        self._unchosen = False
        self._show()

    @property
    def _current(self) -> Grader | None:
        found: Grader | None = self.state.graders.get(self.grader.value)
        return found

    def _show(self) -> None:
        grader = self._current
        self.prove.disabled = not isinstance(grader, SandboxedGrader)
        self.edit.disabled = self.keep.disabled = grader is None
        if grader is None:
            none = "No grader yet: define one with @wb.grader in a cell, or below."
            self.checks.value = ""
            self.state_line.value = quiet("Choose a grader." if self.state.graders else none)
            self.source.show("")
            return
        said, language, file = text_of(grader)
        title = (
            f"{grader.name} as exported"
            if isinstance(grader, SandboxedGrader)
            else f"{grader.name}: {grader.kind}"
        )
        self.source.show(said, language=language, title=title, file=file)
        self._show_proof(grader)

    def _show_proof(self, grader: Grader) -> None:
        name = self.grader.value
        proof = self.state.proofs.get(name)
        if not isinstance(grader, SandboxedGrader):
            words = "a rule of the workbench: no source of anybody's that needs a proof"
        elif proof is None:
            words = "not validated" + (": the text is new or was changed" if name in self.state.unrun else "")
        else:
            words = "validated" if proof.ok else "the checks failed"
        mark = "wb-ok" if proof is not None and proof.ok else "wb-no" if proof is not None else "wb-quiet"
        # The checks first: whoever reads "validated" finds them.
        self.checks.value = proof._repr_html_() if proof is not None else ""
        version = self.state.kept_version(name)
        kept = f" {quiet(f'· kept in the store, version {version}')}" if version else ""
        self.state_line.value = f"<b class='{mark}'>{text(words)}</b>{kept}"

    def _prove(self) -> None:
        self._check(self.state.validate)

    def _keep(self) -> None:
        self._check(self.state.keep)

    def _check(self, act: Callable[[str], object]) -> None:
        """Do to the chosen grader what takes its time, and show what came of it."""
        if self._current is None:
            return
        self.state_line.value = "<b>checking</b>"
        try:
            act(self.grader.value)
        finally:
            with self.state.lock, self.filling():
                self._show()

    def _ask_isolation(self) -> None:
        """Try the locks of this machine, which takes a moment, and show what holds when it is known."""
        asked = background.submit(asyncio.to_thread(sandbox_info))
        background.then(asked, self._isolated)

    def _isolated(self, asked: Future[SandboxInfo]) -> None:
        with self.state.guard(self.title):
            info = asked.result()
            leaks = f"; probes that got through: {', '.join(info.leaks)}" if info.leaks else ""
            self.isolation.value = quiet(f"isolation of this machine: {info.level}. {info.label}{leaks}")

    def _edit(self) -> None:
        grader = self._current
        if grader is not None:
            self._put(text_of(grader).text, self._free_name(self.grader.value))

    def _start(self) -> None:
        wanted = self.template.value
        with self.filling():
            self.template.value = -1  # so that the same can be chosen again
        if isinstance(wanted, str):
            self._put(kept_text(self.state.labelling, wanted), self._free_name(wanted))
        elif wanted >= 0:
            self._put(TEMPLATES[wanted].text, self._free_name(TEMPLATES[wanted].name))

    def _free_name(self, name: str) -> str:
        """A name that replaces nothing."""
        taken = self.state.graders
        numbered = (f"{name}_{number}" for number in range(2, len(taken) + 3))
        return name if name not in taken else next(one for one in numbered if one not in taken)

    # ---- the editor

    def _typed(self, _: object) -> None:
        """Keep what is written, also for the panel that comes after this one."""
        if not self._filled:
            self.state.drafts.source, self.state.drafts.name = self.editor.value, self.name.value

    def _fill(self) -> None:
        drafts = self.state.drafts
        with self.filling():
            self.editor.value, self.name.value = drafts.source, drafts.name
        self.back.layout.display = "" if drafts.before else "none"

    def _put(self, source: str, name: str) -> None:
        self.state.drafts.put(source, name)
        self._fill()

    def _bring_back(self) -> None:
        self.state.drafts.bring_back()
        self._fill()

    def _add(self) -> None:
        name = self.state.write(self.editor.value, name=self.name.value.strip())
        with self.state.lock, self.filling():
            self._unchosen, self.grader.value = False, name
            self._show()
        if isinstance(self._current, SandboxedGrader):
            code = self.state.code
            self._prove()
            self.state.code = code  # the text, and not its proof, is what was added

    # ---- what is taken away can be put back

    def _drop(self) -> None:
        if self._current is None:
            return  # a double click takes one grader away, and not two
        self.state.take_away(self.grader.value)
        self._unchosen = True
        with self.filling():
            self.refresh()

    def _offer_back(self) -> None:
        gone = self.state.gone
        self.restore.layout.display = "" if gone else "none"
        if gone:
            self.restore.description = f"Put back {shown(gone[-1].name, 30)}"
            self.restore.tooltip = "The grader of that name that was removed or replaced last"

    def _restore(self) -> None:
        name = self.state.put_back()
        with self.filling():
            self.grader.value = name
            self._show()
