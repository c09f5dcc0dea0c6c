"""What is being written in an app: it outlives the widgets it is written in. No widget here."""

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
        before: Texts, with their names, whose place in the editor something else took; the last one last.
    """

    source: str = ""
    name: str = ""
    notes: dict[str, str] = field(default_factory=dict)
    before: list[tuple[str, str]] = field(default_factory=list)
    _filled: str = ""

    def put(self, source: str, name: str) -> None:
        """Fill the editor; what somebody typed there can be brought back."""
        if self._typed:
            self.before.append((self.source, self.name))
        self.source, self.name, self._filled = source, name, source

    def bring_back(self) -> None:
        """Show the text before this one; this one comes after all others."""
        if not self.before:
            return
        now = [(self.source, self.name)] if self.source.strip() else []
        self.source, self.name = self.before.pop()
        self.before = now + self.before

    @property
    def _typed(self) -> bool:
        """Whether the editor holds more than what was put there."""
        return bool(self.source.strip()) and self.source != self._filled
