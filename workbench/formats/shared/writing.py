"""Write documents to files: all of them or none, without overwriting unrelated files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from workbench.core.errors import FormatError
from workbench.core.files import check_writable, write_atomically
from workbench.formats.shared.base import FORMATS, MAX_FILE_BYTES, Document, Format, Loss, Losses, read_text
from workbench.formats.shared.detection import detect
from workbench.formats.shared.parsing import to_json
from workbench.formats.shared.wrapping import MARK

__all__ = ["Converted", "check_encodable", "check_target", "write_document"]


@dataclass(frozen=True)
class Converted:
    """Result of an export.

    Attributes:
        paths: Files written, the main one first, the loss report last if there is one.
        losses: What the platform does not support and was dropped.
        notes: Omissions that change no score (titles, limits, changed names), and what the platform must provide,
            such as a column.
    """

    paths: tuple[Path, ...]
    losses: tuple[Loss, ...] = ()
    notes: tuple[Loss, ...] = ()

    def __str__(self) -> str:
        dropped = [f"\n  {'changed' if loss.instead else 'dropped'}: {loss}" for loss in self.losses]
        left_out = [f"\n  note: {note}" for note in self.notes]
        return f"wrote {', '.join(map(str, self.paths))}{''.join(dropped + left_out)}"


def write_document(target: Path, document: Document, losses: Losses) -> Converted:
    """Write all files or none: every path is checked first, the main file is written last."""
    files = {target.parent / name: text for name, text in document.files.items()}
    written = _written_before(target, losses.platform)
    for place, text in files.items():
        _check_companion(place, text, target, written)
    if len(losses):
        files[target.with_name(target.name + ".losses.json")] = _loss_report(losses)
    for place, text in (*files.items(), (target, document.text)):
        _check_place(place, text)
    _write_all(files, target, document.text)
    if not len(losses):
        _remove_report(target.with_name(target.name + ".losses.json"))
    for place in written.keys() - files.keys():  # of a grader that was removed
        place.unlink()
    return Converted((target, *files), tuple(losses), tuple(losses.notes))


def _write_all(files: Mapping[Path, str], target: Path, text: str) -> None:
    """Write the files, the target last; if one cannot be written, restore those before it."""
    before = {place: read_text(place) if place.exists() else None for place in files}
    written: list[Path] = []
    try:
        for place, part in (*files.items(), (target, text)):
            write_atomically(place, part)
            written.append(place)
    except FormatError:
        for place in written:
            old = before[place]
            place.unlink() if old is None else write_atomically(place, old)
        raise


def _remove_report(path: Path) -> None:
    """Remove the report of an earlier export, which is out of date."""
    if path.is_file() and path.stat().st_size <= MAX_FILE_BYTES and '"dropped"' in read_text(path):
        path.unlink()


def _loss_report(losses: Losses) -> str:
    """The report of what was dropped, and of the notes."""
    return to_json(
        {"platform": losses.platform, "dropped": list(map(asdict, losses)), "left_out": list(map(asdict, losses.notes))}
    )  # fmt: skip


def _check_place(place: Path, text: str) -> None:
    check_writable(place)
    check_encodable(text, str(place))
    if place.is_dir():
        raise FormatError(
            "the file cannot be written", where=str(place), found="a folder of that name", hint="name a file"
        )


def check_encodable(text: str, where: str) -> None:
    """Refuse a text that cannot be encoded.

    Raises:
        FormatError: A lone surrogate.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise FormatError(
            "a grader contains text that cannot be written to a file: a lone surrogate", where=where
        ) from None


def _written_before(target: Path, platform: str) -> dict[Path, str]:
    """The companions of an earlier main file that are unchanged since they were written with it."""
    main = read_text(target) if target.is_file() else ""
    known = FORMATS[platform].companions(main, target.stem) if MARK in main else {}
    places = {target.parent / name: text for name, text in known.items()}
    return {place: text for place, text in places.items() if place.is_file() and read_text(place) == text}


def _check_companion(place: Path, text: str, target: Path, written: Mapping[Path, str]) -> None:
    """Refuse to overwrite an unrelated file with a companion's name, or a companion that was edited."""
    if not place.exists():
        return
    existing = read_text(place)
    # JSON cannot carry a mark; a companion in JSON is recognised by the main file's text, which it contains.
    is_ours = place in written or (MARK in existing and place.suffix != ".json")
    if existing != text and not is_ours:
        raise FormatError(
            "the file to write exists and was not written by the workbench, or was changed since", where=str(place),
            hint="move it, or write to another folder",
        )  # fmt: skip
    if existing != text and (other := _owner(place, target)):
        raise FormatError(
            "the file to write exists and belongs to another suite", where=str(place), found=f"{other} names it",
            hint="write to another name or folder",
        )  # fmt: skip


def _owner(place: Path, target: Path) -> str:
    """Another suite in the folder that names this companion."""
    named = re.compile(rf"(?<![\w./-]){re.escape(place.name)}(?![\w.])")
    for other in sorted(place.parent.glob("*.y*ml")):
        if other == target or not other.is_file() or other.stat().st_size > MAX_FILE_BYTES:
            continue
        if named.search(other.read_text("utf-8", errors="replace")):
            return other.name
    return ""


def check_target(target: Path, chosen: Format) -> None:
    """Refuse another format's ending, and overwriting a file that does not contain graders.

    Raises:
        FormatError: Either; also for handwritten Python or JavaScript.
    """
    endings = _endings(chosen)
    # An ending that no format uses is the user's choice; only another format's ending is refused.
    # Code is imported by name, so that it needs its own ending.
    is_others = any(target.suffix in _endings(other) for other in FORMATS.values())
    if target.suffix not in endings and (is_others or (target.suffix and chosen.suffix == ".py")):
        raise FormatError(
            f"{chosen.name} is not written to {target.suffix} files", where=str(target),
            expected=" or ".join(sorted(endings)), hint="use that ending, or another format",
        )  # fmt: skip
    if not target.is_file() or not target.stat().st_size:
        return
    try:
        existing = detect(read_text(target), str(target)).name
    except FormatError:
        existing = ""
    # Overwriting a Python grader with Python is a save; another format would destroy the only copy of the code.
    if not existing or (FORMATS[existing].handwritten and existing != chosen.name):
        raise FormatError(
            "the file to write exists and is not a grader file", where=str(target),
            found=f"a handwritten {existing} file" if existing else "", hint="move it, or write to another name",
        )  # fmt: skip


def _endings(chosen: Format) -> set[str]:
    return {chosen.suffix, *chosen.variants} | ({".yml"} if chosen.suffix == ".yaml" else set())
