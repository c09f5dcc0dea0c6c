"""Notes of rows, such as reasons: stored individually, or by rule if many rows share one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, ItemsView, Iterator, MutableMapping, Sequence, ValuesView
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


class _Stretch(NamedTuple, Generic[T]):
    """The notes of a range of rows, as integer codes, each of which represents a note; negative for no note."""

    first: int
    codes: NDArray[Any]
    note: Callable[[int], T]


class _Items(ItemsView[int, T]):
    """The items of a `RowNotes`, in one pass."""

    _mapping: RowNotes[T]

    def __iter__(self) -> Iterator[tuple[int, T]]:
        return self._mapping._pairs()  # noqa: SLF001 (a class of this module)


class _Values(ValuesView[T]):
    """The notes of a `RowNotes`, in one pass."""

    _mapping: RowNotes[T]

    def __iter__(self) -> Iterator[T]:
        return (note for _, note in self._mapping._pairs())  # noqa: SLF001 (a class of this module)


class RowNotes(MutableMapping[int, T]):
    """Row number to note, ascending; like a dict, with less memory.

    A million reasons with two different texts take a megabyte here and eighty in a dict. An individual note of a row
    overrides that of its range.

    Args:
        notes: Initial notes.
    """

    def __init__(self, notes: dict[int, T] | None = None) -> None:
        self._own: dict[int, T] = dict(notes or {})
        self._stretches: list[_Stretch[T]] = []

    def put_stretch(self, first: int, codes: NDArray[Any], note: Callable[[int], T]) -> None:
        """Add the notes of a range of rows, none of which has a note yet, and all of which are after earlier ranges.

        Args:
            first: The first row.
            codes: Integers (m,), negative for a row without a note. Stored, and changed if a row loses its note.
            note: From a code to the note.
        """
        if len(codes):
            self._stretches.append(_Stretch(first, codes, note))

    def take(self, rows: NDArray[np.intp]) -> RowNotes[T]:
        """The notes of some rows, renumbered in this order; notes that many rows share stay shared."""
        taken: RowNotes[T] = RowNotes(self.own(rows))
        if self._stretches and len(rows):
            codes, note = self.shared(rows)
            if (codes >= 0).any():
                taken.put_stretch(0, codes, note)
        return taken

    def own(self, rows: NDArray[np.intp]) -> dict[int, T]:
        """The individual notes of some rows (m,), by their indices among these."""
        if not self._own:
            return {}
        place = {int(row): at for at, row in enumerate(rows)}
        return {place[row]: note for row, note in self._own.items() if row in place}

    def shared(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.int64], Callable[[int], T]]:
        """The notes that some rows (m,) share with others, as if they were one range.

        Returns:
            Codes (m,), negative for a row without one, and from a code to its note; an individual note has priority.
        """
        numbers = np.searchsorted([stretch.first for stretch in self._stretches], rows, side="right") - 1
        order = np.argsort(numbers, kind="stable")
        bounds = np.searchsorted(numbers[order], np.arange(len(self._stretches) + 1))
        codes = np.full(len(rows), -1, np.int64)
        rules = {id(stretch.note): stretch.note for stretch in self._stretches}
        ranks = {rule: rank for rank, rule in enumerate(rules)}
        for stretch, start, stop in zip(self._stretches, bounds, bounds[1:], strict=False):
            places = order[start:stop]
            places = places[rows[places] - stretch.first < len(stretch.codes)]
            own = stretch.codes[rows[places] - stretch.first].astype(np.int64)
            # A separate code for each pair of a rule and a code.
            codes[places] = np.where(own < 0, -1, own * len(rules) + ranks[id(stretch.note)])
        notes = list(rules.values())
        return codes, lambda code: notes[code % len(notes)](code // len(notes))

    @classmethod
    def joined(cls, parts: Sequence[tuple[RowNotes[T], int]]) -> RowNotes[T]:
        """The notes of consecutive parts with the given numbers of rows, numbered continuously."""
        whole: RowNotes[T] = cls()
        first = 0
        for notes, count in parts:
            whole._append(notes.copy(), first)
            first += count
        return whole

    def _append(self, notes: RowNotes[T], first: int) -> None:
        self._own |= {first + row: note for row, note in notes._own.items()}
        self._stretches += [stretch._replace(first=first + stretch.first) for stretch in notes._stretches]

    def copy(self) -> RowNotes[T]:
        """A copy of the notes, which later changes of these do not affect."""
        twin = RowNotes(self._own)
        twin._stretches = [stretch._replace(codes=stretch.codes.copy()) for stretch in list(self._stretches)]
        return twin

    def __getitem__(self, row: int) -> T:
        if row in self._own:
            return self._own[row]
        stretch, code = self._found(row)
        return stretch.note(code)

    def __setitem__(self, row: int, note: T) -> None:
        self._own[row] = note

    def __delitem__(self, row: int) -> None:
        if row not in self:
            raise KeyError(row)
        self._own.pop(row, None)
        if self._is_in_stretch(row):
            stretch, _ = self._found(row)
            stretch.codes[row - stretch.first] = -1

    def __contains__(self, row: object) -> bool:
        return row in self._own or self._is_in_stretch(row)

    def _is_in_stretch(self, row: object) -> bool:
        try:
            self._found(row)
        except KeyError:
            return False
        return True

    def _found(self, row: object) -> tuple[_Stretch[T], int]:
        """The range of a row, and the code of its note there.

        Raises:
            KeyError: It has none, or is not an integer.
        """
        if not isinstance(row, int | np.integer):
            raise KeyError(row)
        place = bisect_right(self._stretches, row, key=lambda stretch: stretch.first) - 1
        if place >= 0:
            stretch = self._stretches[place]
            if (
                row - stretch.first < len(stretch.codes)
                and (code := int(stretch.codes[row - stretch.first])) >= 0
            ):
                return stretch, code
        raise KeyError(row)

    def __iter__(self) -> Iterator[int]:
        if not self._stretches:
            return iter(sorted(self._own))
        shared = [stretch.first + np.flatnonzero(stretch.codes >= 0) for stretch in self._stretches]
        own = np.fromiter(self._own, np.intp, len(self._own))
        return iter(np.union1d(np.concatenate(shared), own).tolist())

    def items(self) -> ItemsView[int, T]:
        """Row numbers and notes; a note that many rows share is created once."""
        return _Items(self)

    def values(self) -> ValuesView[T]:
        """The notes, ascending by row; a note that many rows share is created once."""
        return _Values(self)

    def _pairs(self) -> Iterator[tuple[int, T]]:
        known: dict[tuple[int, int], T] = {}
        at = 0
        for row in self:
            while at + 1 < len(self._stretches) and self._stretches[at + 1].first <= row:
                at += 1
            if row in self._own:
                yield row, self._own[row]
                continue
            stretch = self._stretches[at]
            code = int(stretch.codes[row - stretch.first])
            key = (id(stretch.note), code)  # the same rule for many ranges
            if key not in known:
                known[key] = stretch.note(code)
            yield row, known[key]

    def __len__(self) -> int:
        if not self._stretches:
            return len(self._own)
        shared = sum(int((stretch.codes >= 0).sum()) for stretch in self._stretches)
        return shared + sum(not self._is_in_stretch(row) for row in self._own)

    def __bool__(self) -> bool:
        return bool(self._own) or any((stretch.codes >= 0).any() for stretch in self._stretches)

    def __reduce__(self) -> tuple[type[RowNotes[T]], tuple[dict[int, T]]]:
        """Pickled as each row's note, which takes as much memory as a dict: a rule may be a function that cannot be pickled."""
        return RowNotes, (dict(self.items()),)

    def __repr__(self) -> str:
        return f"RowNotes({dict(self.items())!r})"
