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
    Written,
    format_names,
    named,
    preview,
    proofs_to_come,
    state_of_proof,
)
from workbench.widgets.panels.panel import Panel, classed, options, quiet, row, text
from workbench.widgets.views.source_view import SourceView

__all__ = ["ExportPanel"]

_LEXERS = {".json": "json", ".py": "python", ".yaml": "yaml", ".js": "javascript", ".toml": "toml"}

_DROP, _UNPROVED = "leave out what the format cannot say, and say so", "also graders that are not validated"

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
        self.proofs, self.losses, self.said = widgets.HTML(), widgets.HTML(), widgets.HTML()
        self.prove = widgets.Button(description="Validate all", icon="check")
        self.write = widgets.Button(description="Write the file", button_style="primary", icon="save")
        self.way = widgets.HTML()
        self.replace = widgets.Checkbox(False, description="replace the file that is there", indent=False)
        self.file = widgets.Dropdown(description="Preview")
        self.view = SourceView()
        classed(write_file=self.write, losses=self.losses, written=self.said, proofs=self.proofs)
        classed(in_the_way=self.way, replace=self.replace)
        self._preview, self._written = Preview(), Written()
        self._way: tuple[str, ...] = ("",)
        for control in (self.format, self.path, self.drop, self.unproved):
            control.observe(self.acts(self.refresh), "value")
        self.replace.observe(self.acts(self._show_way), "value")
        self.file.observe(self.acts(self._show_file), "value")
        self.prove.on_click(self.acts(self._prove, slow=True))
        self.write.on_click(self.acts(self._write))
        self.watch(self.refresh, "graders", "chosen", "proofs")
        self.watch(self._show_proofs, "unrun", "report")
        return [
            self.format, self.path, row(self.drop, self.unproved), row(self.proofs, self.prove), self.losses,
            self.file, self.view, row(self.way, self.replace), row(self.write, self.said),
        ]  # fmt: skip

    def refresh(self) -> None:
        """See `Panel`."""
        self.said.value = ""
        if not self.state.chosen:
            self._preview = Preview(problem="no grader is chosen: choose some in Run")
        else:
            self._preview = preview(
                self.state.chosen_suite(), self.path.value, self.format.value,
                on_loss=self._on_loss, allow_unvalidated=self.unproved.value,
            )  # fmt: skip
        self._show_proofs()
        self._show_losses()
        self._show_way()
        self.file.options = options((name, name) for name in self._preview.files)
        self.file.index = 0 if self._preview.files else None
        self.file.layout.display = "" if len(self._preview.files) > 1 else "none"
        self._show_file()

    @property
    def _on_loss(self) -> str:
        return "report" if self.drop.value else "refuse"

    def _show_proofs(self) -> None:
        states = state_of_proof(self.state.chosen_suite()) if self.state.chosen else []
        news = {name: self._news(name) for name in self.state.chosen}
        lines = [_mark(name, good, words, news.pop(name, "")) for name, good, words in states]
        lines += [_mark(name, True, "needs no proof", said) for name, said in news.items()]
        whose = quiet("What is chosen in Run is exported:") if lines else ""
        self.proofs.value = "<br>".join([whose, *lines])
        self.prove.layout.display = "" if not all(good for _, good, _ in states) else "none"

    def _news(self, name: str) -> str:
        """What the last run does not know of a grader; "" for nothing, or before a run."""
        if self.state.report is None or name not in self.state.unrun:
            return ""
        return "changed since the run" if name in self.state.report.grades else "not part of the last run"

    def _show_losses(self) -> None:
        found = self._preview
        problem = found.problem
        for code, control in _CONTROLS.items():
            problem = problem.replace(code, control)
        parts = [f"<pre class='wb-no'>{html.escape(visible(problem))}</pre>"] if problem else []
        left_out = self.state.left_out if self.state.chosen else ""
        parts += [f"<li class='wb-warn'>{text(left_out, 600)}</li>"] if left_out else []
        parts += [f"<li><b>dropped</b> {text(loss, 600)}</li>" for loss in found.losses]
        parts += [f"<li>{text(note, 600)}</li>" for note in found.notes]
        fits = quiet("Everything can be said in this format.")
        self.losses.value = f"<ul>{''.join(parts)}</ul>" if parts else fits

    def _show_way(self) -> None:
        """Say what would be replaced; another name, or another file there, is allowed anew."""
        files, format = self._preview.files, self.format.value  # noqa: A001
        target = named(self.path.value, format) if files else ""
        way = (target, *self._written.in_the_way(target, format, files))
        if way != self._way:
            self._way = way
            with self.filling():
                self.replace.value = False
        told = way[1:]
        self.way.value = "<br>".join(f"<span class='wb-warn'>{text(one, 600)}</span>" for one in told)
        self.way.layout.display = self.replace.layout.display = "" if told else "none"
        self.write.disabled = not files or (bool(told) and not self.replace.value)

    def _check_way(self) -> None:
        """Refuse to replace what nobody allowed to be replaced; it may have come since the panel looked."""
        self._show_way()
        if self._way[1:] and not self.replace.value:
            raise WorkbenchError(
                "a file is in the way", where=self._way[0], found="; ".join(self._way[1:]),
                hint=f"set {self.replace.description!r}, or write to another name",
            )  # fmt: skip

    def _show_file(self) -> None:
        name = self.file.value
        told = self._preview.files.get(name, "")
        self.view.show(
            told, language=_LEXERS.get(Path(name or "").suffix, ""), title=name or "", file=name or ""
        )

    def _prove(self) -> None:
        with self.state.lock:
            graders = {name: self.state.graders[name] for name in self.state.chosen}
        done: list[str] = []
        try:
            for name, grader in graders.items():
                for code, part in proofs_to_come(grader, grader_code(name)):
                    self.state.validate(name) if part is grader else part.validate()
                    done.append(f"{code}.validate()")
        finally:
            with self.state.lock, self.filling():
                self.state.code = "\n".join(done) or self.state.code
                self.refresh()

    def _write(self) -> None:
        self.said.value = ""  # what is said here is of this click
        target = named(self.path.value, self.format.value)
        self._check_way()
        written = export(
            self.state.chosen_suite(), target, self.format.value,
            on_loss=self._on_loss, allow_unvalidated=self.unproved.value,
        )  # fmt: skip
        self._written.note(written.paths)
        self._show_way()
        folder = quiet(f"in {Path(target).resolve().parent}")
        what, *losses = str(written).splitlines()
        self.said.value = "<br>".join(
            [f"<b>{text(what)}</b> {folder}", *(text(one, 600) for one in losses[:20])]
        )
        self.state.code = export_code(
            self.state.suite_code(), target, self.format.value,
            on_loss=self._on_loss, allow_unvalidated=self.unproved.value,
        )  # fmt: skip


def _mark(name: str, good: bool, words: str, news: str = "") -> str:
    sign, kind = ("✓", "wb-ok") if good else ("✗", "wb-no")
    changed = f" <span class='wb-warn'>{text(news)}</span>" if news else ""
    return f"<span class='{kind}'>{sign}</span> {text(name, 80)}: {text(words)}{changed}"
