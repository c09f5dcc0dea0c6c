"""Orders the pieces and writes them as one module.

A statement that reads a name when it runs must be below everything that reading may use: the
name itself and all its dependencies when it is called. Beyond that, pieces are in the conventional order:
imports, then dependencies before their users.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from workbench.graders.capture.modules import Import
from workbench.graders.capture.refusals import CapturedItem

FUTURE = "from __future__ import annotations"


def arranged(items: Mapping[str, CapturedItem], roots: Iterable[str]) -> list[CapturedItem]:
    """Items in an order in which they load, found by walking from `roots`."""
    reading = _reading_order(items, [*roots, *sorted(items)])
    placed: dict[str, CapturedItem] = {}
    open_: set[str] = set()
    for name in reading:
        _place(name, items, reading, (placed, open_))
    return list(placed.values())


def assembled(items: Sequence[CapturedItem], imports: Sequence[str], *, future: bool) -> str:
    """The module's text: two blank lines around definitions, none between constants."""
    blocks = ["\n".join(imports)] if imports else []
    if future:
        blocks.insert(0, FUTURE)
    text = "\n\n".join(blocks)
    before: CapturedItem | None = None
    texts: set[str] = set()
    for item in items:
        if item.text in texts:
            continue  # one statement that sets two names
        texts.add(item.text)
        text += _gap(text, before, item) + item.text
        before = item
    return text.rstrip() + "\n"


def import_lines(imports: Mapping[str, set[Import]]) -> list[str]:
    """Import lines without doubles: whole modules first, then names, those of one module on one line."""
    statements = {import_ for lines in imports.values() for import_ in lines}
    modules = sorted(str(import_) for import_ in statements if not import_.attribute)
    names: dict[str, list[str]] = {}
    for import_ in sorted(import_ for import_ in statements if import_.attribute):
        names.setdefault(import_.module, []).append(str(import_).partition(" import ")[2])
    return modules + [f"from {module} import {', '.join(parts)}" for module, parts in sorted(names.items())]


def _gap(text: str, before: CapturedItem | None, item: CapturedItem) -> str:
    if not text:
        return ""
    if item.definition or (before is not None and before.definition):
        return "\n\n\n"
    return "\n\n" if before is None else "\n"


def _reading_order(items: Mapping[str, CapturedItem], roots: Iterable[str]) -> list[str]:
    """Dependencies before their users, as far as circular reads allow."""
    order: dict[str, None] = {}
    entered: set[str] = set()

    def visit(name: str) -> None:
        if name in entered or name not in items:
            return
        entered.add(name)
        item = items[name]
        # Sets are unordered: sorted, one function always makes the same text.
        for needed in sorted(item.eager | item.late, key=lambda n: (not _is_constant(items, n), n)):
            visit(needed)
        order[name] = None

    for root in roots:
        visit(root)
    return list(order)


def _is_constant(items: Mapping[str, CapturedItem], name: str) -> bool:
    return name in items and items[name].constant


def _place(
    name: str,
    items: Mapping[str, CapturedItem],
    reading: list[str],
    state: tuple[dict[str, CapturedItem], set[str]],
) -> None:
    placed, open_ = state
    # Open: functions that call each other may be in any order.
    if name in placed or name in open_:
        return
    open_.add(name)
    first = names_read_by_running(name, items)
    for needed in reading:
        if needed in first:
            _place(needed, items, reading, state)
    placed[name] = items[name]


def names_read_by_running(name: str, items: Mapping[str, CapturedItem]) -> set[str]:
    """Everything that running one item may read: its names, and their dependencies when called."""
    pending, reached = list(items[name].eager), set[str]()
    while pending:
        needed = pending.pop()
        if needed in items and needed not in reached:
            reached.add(needed)
            pending += items[needed].eager | items[needed].late
    return reached - {name}
