"""Programs that do not do the task: stubs, objects that equal everything, printed verdicts, early exits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from workbench.probes.variants import ProbeRow, variant, with_body

_FENCED = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)\n?```", re.DOTALL)


def code_in(text: str) -> str:
    """The program in a text: what its first code block has, or else all of it."""
    found = _FENCED.search(text)
    return found[1] if found else text


def _with_bodies(row: ProbeRow, body: str, before: str = "", after: str = "") -> Iterator[str]:
    """The correct program with another body in every function, in the forms in which it is accepted."""
    if row.is_code and (text := with_body(row.reference, body)):
        yield from (form(f"{before}{text}{after}") for form in (row.say, *row.forms[:1]))
        return
    for whole in sorted(row.accepted, key=len)[:1]:
        code = code_in(whole)
        if text := with_body(code, body):
            yield whole.replace(code, f"{before}{text}{after}", 1)


@variant(
    "stub",
    "reject",
    "a program whose functions do nothing",
    alarm="always",
    rank=15,
    least=2,
    advice="run the program, on cases whose results differ",
)
def stub(row: ProbeRow) -> Iterable[str | None]:
    """The correct program's signatures with a body that does nothing."""
    return _with_bodies(row, "pass")


@variant(
    "raises",
    "reject",
    "a program whose functions always raise an exception",
    alarm="always",
    rank=15,
    least=2,
    advice="count a case that raises an exception as failed",
)
def raises(row: ProbeRow) -> Iterable[str | None]:
    """The correct program's signatures with a body that raises NotImplementedError."""
    return _with_bodies(row, "raise NotImplementedError")


_EQUAL = "class Same(int):\n    __hash__ = int.__hash__\n    def __eq__(self, other):\n        return True\n    def __ne__(self, other):\n        return False\nreturn Same()"


@variant(
    "equal-object", "reject", "a program that returns an object with an __eq__ that is always true", alarm="always", rank=16, least=2,
    judges=False, question=True, advice="compare plain values: type(result) is type(expected) and result == expected, or their JSON in another process",
)  # fmt: skip
def equal_object(row: ProbeRow) -> Iterable[str | None]:
    """The correct program's signatures; each returns an object that equals everything."""
    return _with_bodies(row, _EQUAL)


@variant(
    "prints-verdict", "reject", "a program that prints what the grader counts, and does nothing", alarm="always", rank=16, least=2,
    judges=False, advice="return results over a channel that the program cannot write to, not its output",
)  # fmt: skip
def prints_verdict(row: ProbeRow) -> Iterable[str | None]:
    """The signatures, and each text that the source prints or searches for, printed 40 times."""
    if any(sign.kind == "prints" for sign in row.mined.signs):
        words = [word for word in row.mined.words if word.isprintable() and len(word) <= 40]
        for word in words[:6]:
            yield from _with_bodies(row, "pass", before=f"for _ in range(40):\n    print({word!r})\n\n")


@variant(
    "exits-early", "reject", "a program that ends before it is tested", alarm="always", rank=16, least=2, judges=False,
    advice="count a test as passed when its result was seen, not when nothing failed",
)  # fmt: skip
def exits_early(row: ProbeRow) -> Iterable[str | None]:
    """The signatures, and an exit with success at the end, by the interpreter and by the system."""
    yield from _with_bodies(row, "pass", after="\n\nimport sys\nsys.exit(0)\n")
    yield from _with_bodies(row, "pass", after="\n\nimport os\nos._exit(0)\n")


@variant(
    "raises-for-none", "reject", "a program that raises an exception where it should return None", alarm="always", rank=29, least=2,
    judges=False, asked=True, advice="count a case that raises an exception as failed, not as a result of None",
)  # fmt: skip
def raises_for_none(row: ProbeRow) -> Iterable[str | None]:
    """An accepted program with an exception for each `return None`."""
    for whole in sorted(row.accepted, key=len)[:2]:
        other = re.sub(r"\breturn None\b", 'raise ValueError("none")', whole)
        if other != whole:
            yield other


@variant(
    "empties-arguments", "reject", "a program that empties its arguments and returns them", alarm="always", rank=29, least=2, judges=False,
    asked=True, advice="give the function copies of the arguments, and compute what is expected before it runs",
)  # fmt: skip
def empties_arguments(row: ProbeRow) -> Iterable[str | None]:
    """The signatures of the reference with a body that empties every list and dictionary, and returns the first argument."""
    body = (
        "for one in list(locals().values()):\n    if hasattr(one, 'clear'):\n        one.clear()\nreturn one"
    )
    yield from _with_bodies(row, body)


_TABLE = re.compile(r"\bCREATE\s+TABLE\s+[\"`\[]?(\w+)", re.IGNORECASE)


@variant(
    "empties-tables", "reject", "a statement that deletes the rows of a table", alarm="always", rank=16, least=2, judges=False, asked=True,
    advice="run the reference first, or each query on a database of its own that is opened read-only",
)  # fmt: skip
def empties_tables(row: ProbeRow) -> Iterable[str | None]:
    """A DELETE on each table that a column creates, if an accepted completion is a query."""
    if any(_SELECT.match(text) or _QUERY.search(text) for text in row.accepted):
        names = dict.fromkeys(
            name for value in row.columns.values() if isinstance(value, str) for name in _TABLE.findall(value)
        )
        yield from (f"DELETE FROM {name}" for name in [*names][:4])  # noqa: S608 (a text to be graded)


_QUERY = re.compile(
    r"```(?:sql|sqlite)?[ \t]*\n(.*?)\n?```|<(\w+)>\s*(SELECT\b.*?)</\2>", re.DOTALL | re.IGNORECASE
)
_SELECT = re.compile(r"\A\s*SELECT\b", re.IGNORECASE)
_SET = re.compile(r"\bduplicates?\b[^.\n]{0,40}(?:not matter|ignored|allowed)|\bas a set\b", re.IGNORECASE)


@variant(
    "rows-twice", "reject", "a query that gives every row twice", alarm="always", rank=29, least=2, judges=False, asked=True,
    advice="compare the rows with their counts: sorted lists or Counter, not sets",
)  # fmt: skip
def rows_twice(row: ProbeRow) -> Iterable[str | None]:
    """An accepted query of SQL, joined with itself by UNION ALL."""
    if _SET.search(row.conversation):
        return
    for whole in sorted(row.accepted, key=len)[:2]:
        found = _QUERY.search(whole)
        query = ((found[1] or found[3]) if found else whole).strip().rstrip(";")
        if _SELECT.match(query):
            twice = " UNION ALL ".join([f"SELECT * FROM ({query})"] * 2)  # noqa: S608 (a text to be graded)
            yield whole.replace(query, twice, 1)
