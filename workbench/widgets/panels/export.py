"""The Export panel: a platform, what would be written, what it cannot say, and the file."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ipywidgets as widgets

from workbench.display_text import visible
from workbench.errors import WorkbenchError
from workbench.formats import export
from workbench.session.code_lines import export_code, grader_code
from workbench.session.export_preview import (
    Preview,
    WrittenFiles,
    chooses_on_error,
    chooses_reference,
    file_name,
    format_names,
    preview,
    proof_states,
    unproved_parts,
)
from workbench.widgets.panels.panel import Panel, add_classes, options, remark, row, text
from workbench.widgets.views.source_view import SourceView

__all__ = ["ExportPanel"]

_LEXERS = {".json": "json", ".py": "python", ".yaml": "yaml", ".js": "javascript", ".toml": "toml"}

_DROP, _UNPROVED = "leave out what the format cannot say, and say so", "also graders that are not validated"

_ON_ERROR = [("raises an error there", "raise"), ("counts as 0.0", 0.0), ("counts as -1.0", -1.0)]
_CONTROLS = {"pass allow_unvalidated=True": f"tick '{_UNPROVED}'", 'on_loss="report"': f"'{_DROP}'"}
"""What a way out in code is called in the panel."""


class ExportPanel(Panel):
    """The chosen graders as a platform's file: seen before it is written, with what would be lost.

    See `Panel` for the arguments.
    """

    title = "Export"
    css = "export"

    def build(self) -> Sequence[Any]:
        """See `Panel`."""
        wide = widgets.Layout(width="100%", max_width="640px")
        self.format = widgets.Dropdown(description="Format", options=options(format_names()), layout=wide)
        self.path = widgets.Text("graders", description="File", continuous_update=False, layout=wide)
        self.drop = widgets.Checkbox(False, description=_DROP, indent=False)
        self.unproved = widgets.Checkbox(False, description=_UNPROVED, indent=False)
        self.on_error = widgets.Dropdown(
            description="No score",
            options=options(_ON_ERROR),
            tooltip="what a row without a score becomes there",
        )
        self.reference = widgets.Text(
            description="Reference",
            continuous_update=False,
            placeholder="its column, if it has no usual name",
        )
        self.proofs, self.losses, self.outcome = widgets.HTML(), widgets.HTML(), widgets.HTML()
        self.prove = widgets.Button(description="Validate all", icon="check")
        self.write = widgets.Button(description="Write the file", button_style="primary", icon="save")
        self.conflicts = widgets.HTML()
        self.replace = widgets.Checkbox(False, description="replace the file that is there", indent=False)
        self.file = widgets.Dropdown(description="Preview")
        self.view = SourceView()
        add_classes(write_file=self.write, losses=self.losses, written=self.outcome, proofs=self.proofs)
        add_classes(in_the_way=self.conflicts, replace=self.replace)
        self._preview, self._written = Preview(), WrittenFiles()
        self._conflicts: tuple[str, ...] = ("",)  # the target, and a sentence for each file in the way
        for control in (self.format, self.path, self.drop, self.unproved, self.on_error, self.reference):
            control.observe(self.callback(self.refresh), "value")
        self.replace.observe(self.callback(self._show_conflicts), "value")
        self.file.observe(self.callback(self._show_file), "value")
        self.prove.on_click(self.callback(self._prove, slow=True))
        self.write.on_click(self.callback(self._write))
        self.watch(self.refresh, self.session.graders, "by_name", "chosen", "proofs")
        self.watch(self._show_proofs, self.session.graders, "unrun")
        self.watch(self._show_proofs, self.session.results, "report")
        return [
            self.format, self.path, row(self.drop, self.unproved), self.on_error, self.reference,
            row(self.proofs, self.prove), self.losses, self.file, self.view, row(self.conflicts, self.replace), row(self.write, self.outcome),
        ]  # fmt: skip

    def refresh(self) -> None:
        """See `Panel`."""
        self.outcome.value = ""
        self.on_error.layout.display = "" if chooses_on_error(self.format.value) else "none"
        self.reference.layout.display = "" if chooses_reference(self.format.value) else "none"
        if not self.session.graders.chosen:
            self._preview = Preview(problem="no grader is chosen: choose some in Run")
        else:
            self._preview = preview(
                self.session.graders.chosen_suite(), self.path.value, self.format.value,
                **self._choices,
            )  # fmt: skip
        self._show_proofs()
        self._show_losses()
        self._show_conflicts()
        self.file.options = options((name, name) for name in self._preview.files)
        self.file.index = 0 if self._preview.files else None
        self.file.layout.display = "" if len(self._preview.files) > 1 else "none"
        self._show_file()

    @property
    def _choices(self) -> dict[str, Any]:
        on_error = self.on_error.value if chooses_on_error(self.format.value) else "raise"
        on_loss = "report" if self.drop.value else "refuse"
        reference = self.reference.value.strip() if chooses_reference(self.format.value) else ""
        settings = {"on_loss": on_loss, "on_error": on_error, "allow_unvalidated": self.unproved.value}
        return settings | ({"reference": reference} if reference else {})

    def _show_proofs(self) -> None:
        states = proof_states(self.session.graders.chosen_suite()) if self.session.graders.chosen else []
        changes = {name: self._change(name) for name in self.session.graders.chosen}
        lines = [_mark(name, proved, words, changes.pop(name, "")) for name, proved, words in states]
        lines += [_mark(name, True, "needs no proof", change) for name, change in changes.items()]
        intro = remark("What is chosen in Run is exported:") if lines else ""
        self.proofs.value = "<br>".join([intro, *lines])
        self.prove.layout.display = "" if not all(proved for _, proved, _ in states) else "none"

    def _change(self, name: str) -> str:
        """What the last run does not know of a grader; "" for nothing, or before a run."""
        if self.session.results.report is None or name not in self.session.graders.unrun:
            return ""
        return (
            "changed since the run"
            if name in self.session.results.report.grades
            else "not part of the last run"
        )

    def _show_losses(self) -> None:
        problem = self._preview.problem
        for code, control in _CONTROLS.items():
            problem = problem.replace(code, control)
        parts = [f"<pre class='wb-no'>{html.escape(visible(problem))}</pre>"] if problem else []
        left_out = self.session.graders.left_out if self.session.graders.chosen else ""
        parts += [f"<li class='wb-warn'>{text(left_out, 600)}</li>"] if left_out else []
        parts += [f"<li><b>dropped</b> {text(loss, 600)}</li>" for loss in self._preview.losses]
        parts += [f"<li>{text(note, 600)}</li>" for note in self._preview.notes]
        no_losses = remark("Everything can be said in this format.")
        self.losses.value = f"<ul>{''.join(parts)}</ul>" if parts else no_losses

    def _show_conflicts(self) -> None:
        """Say what would be replaced; another name, or another file there, is allowed anew."""
        files, format = self._preview.files, self.format.value  # noqa: A001
        target = file_name(self.path.value, format) if files else ""
        conflicts = (target, *self._written.in_the_way(target, format, files))
        if conflicts != self._conflicts:
            self._conflicts = conflicts
            with self.filling_controls():
                self.replace.value = False
        sentences = conflicts[1:]
        self.conflicts.value = "<br>".join(
            f"<span class='wb-warn'>{text(sentence, 600)}</span>" for sentence in sentences
        )
        self.conflicts.layout.display = self.replace.layout.display = "" if sentences else "none"
        self.write.disabled = not files or (bool(sentences) and not self.replace.value)

    def _check_conflicts(self) -> None:
        """Refuse to replace what nobody allowed to be replaced; it may have come since the panel looked."""
        self._show_conflicts()
        target, *sentences = self._conflicts
        if sentences and not self.replace.value:
            raise WorkbenchError(
                "a file is in the way", where=target, found="; ".join(sentences),
                hint=f"set {self.replace.description!r}, or write to another name",
            )  # fmt: skip

    def _show_file(self) -> None:
        name = self.file.value
        content = self._preview.files.get(name, "")
        self.view.show(
            content, language=_LEXERS.get(Path(name or "").suffix, ""), title=name or "", file=name or ""
        )

    def _prove(self) -> None:
        with self.session.guard.lock:
            graders = {name: self.session.graders.by_name[name] for name in self.session.graders.chosen}
        code: list[str] = []  # what was done so far
        try:
            for name, grader in graders.items():
                for part_code, part in unproved_parts(grader, grader_code(name)):
                    self.session.graders.validate(name) if part is grader else part.validate()
                    code.append(f"{part_code}.validate()")
        finally:
            with self.session.guard.lock, self.filling_controls():
                self.session.code.text = "\n".join(code) or self.session.code.text
                self.refresh()

    def _write(self) -> None:
        self.outcome.value = ""  # what stands here is of this click
        target = file_name(self.path.value, self.format.value)
        self._check_conflicts()
        exported = export(self.session.graders.chosen_suite(), target, self.format.value, **self._choices)
        self._written.note(exported.paths)
        self._show_conflicts()
        folder = remark(f"in {Path(target).resolve().parent}")
        what, *losses = str(exported).splitlines()
        self.outcome.value = "<br>".join(
            [f"<b>{text(what)}</b> {folder}", *(text(one, 600) for one in losses[:20])]
        )
        self.session.code.text = export_code(
            self.session.graders.suite_code(), target, self.format.value, **self._choices
        )


def _mark(name: str, proved: bool, words: str, change: str = "") -> str:
    sign, kind = ("✓", "wb-ok") if proved else ("✗", "wb-no")
    changed = f" <span class='wb-warn'>{text(change)}</span>" if change else ""
    return f"<span class='{kind}'>{sign}</span> {text(name, 80)}: {text(words)}{changed}"
