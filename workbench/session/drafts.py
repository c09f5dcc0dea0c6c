"""What is being written in an app: it outlives the widgets it is written in."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Drafts"]


@dataclass
class Drafts:
    """Texts of a person that are no grader and no label yet.

    Attributes:
        source: The editor's text.
        name: The name beside it.
        notes: Sample and digest of its text to the note that waits for a label.
        earlier: Texts, with their names, whose place in the editor another text took; the last one last.
    """

    source: str = ""
    name: str = ""
    notes: dict[str, str] = field(default_factory=dict)
    earlier: list[tuple[str, str]] = field(default_factory=list)
    _template: str = ""

    def fill(self, source: str, name: str) -> None:
        """Put a text into the editor; what a person typed there can be restored."""
        if self._typed:
            self.earlier.append((self.source, self.name))
        self.source, self.name, self._template = source, name, source

    def restore(self) -> None:
        """Show the text before this one; this one comes after all others."""
        if not self.earlier:
            return
        current = [(self.source, self.name)] if self.source.strip() else []
        self.source, self.name = self.earlier.pop()
        self.earlier = current + self.earlier

    @property
    def _typed(self) -> bool:
        """Whether the editor holds more than what was put there."""
        return bool(self.source.strip()) and self.source != self._template
