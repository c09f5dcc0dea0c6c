"""Transformations: functions from a row to adversarial or equivalent texts, their register, and what these can show.

Each module of this package contains one family, registered by `@variant(name, "reject" or "accept", what its texts are)`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any, Literal

from workbench.core.discovery import load_modules, refuse_taken
from workbench.core.python_text import parse
from workbench.probes.acceptance import (
    BEGINS_WITH,
    EXTRAS_ARE_FREE,
    FIRST_LINE_COUNTS,
    PART_IS_ENOUGH,
    SLIPS_ARE_FREE,
    WANTS_BARE,
    tolerance_of,
)
from workbench.probes.shapes import (
    Mined,
    number_in,
    number_with_words,
    numbers_in,
    parsed_json,
    plainly,
    same,
)
from workbench.probes.shapes import mentions as is_mentioned


def program_of(text: str) -> str | None:
    """What a Python program does not share with its comments, its layout and its docstrings; None if it does not parse."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            body[0].value.value = ""
    return ast.dump(tree)


def is_same_program(one: str, other: str) -> bool:
    """Whether two texts are the same Python program, apart from comments, layout and docstrings."""
    first = program_of(one)
    return first is not None and first == program_of(other)


_SQL = re.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE)\b")


_SWAPPED = {"==": "!=", "+": "-", "-": "+", "*": "/", "/": "*", "<": ">", ">": "<", "=": "=="}


def other_digits(text: str) -> Iterator[str]:
    """A text with the first digit of one of its numbers changed, the last number first; no program that is the same."""
    places = [found.start() for found in re.finditer(r"\d[\d,]*(?:\.\d+)?", text)]
    changed = (f"{text[:at]}{int(text[at]) % 9 + 1}{text[at + 1 :]}" for at in reversed(places))
    return _other_programs(text, changed)


def other_signs(text: str) -> Iterator[str]:
    """Code with one operator or bracket replaced; no program that is the same."""
    swapped = {**_SWAPPED, "=": "<>"} if _SQL.search(text) else _SWAPPED
    changed = (
        text[: found.start()] + swapped.get(found[0], ";") + text[found.end() :]
        for found in re.finditer(r"==|[-+*/<>=\[\](){}:]", text)
    )
    return _other_programs(text, changed)


def _other_programs(text: str, changed: Iterable[str]) -> Iterator[str]:
    """The changed texts, except those that are the same program."""
    program = program_of(text)
    return (other for other in changed if program is None or program_of(other) != program)


def with_body(text: str, body: str) -> str:
    """A Python program whose functions have another body; "" if it does not parse, or has no function that returns a value."""
    if program_of(text) is None:
        return ""
    tree = parse(text)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    returned = [
        node
        for one in functions
        for node in ast.walk(one)
        if isinstance(node, ast.Return) and node.value is not None
    ]
    if not returned:
        return ""
    for function in functions:
        function.body = parse(body).body
    return ast.unparse(tree)


_CODE = re.compile(r"[(){};=<>\[\]\\]|^\s*(?:def|return|import|SELECT|class)\b")
_PROGRAM = re.compile(
    r"^\s*(?:(?:async\s+)?def|class|import|from|return|for|while|SELECT|INSERT|UPDATE|WITH)\b", re.MULTILINE
)


@dataclass(frozen=True)
class ProbeRow:
    """One row as transformations see it.

    Attributes:
        number: Its position among the rows drawn.
        prompt: The user's prompt; "" if there is none.
        completion: What the model wrote; "" if there is none.
        reference: The correct completion as text; "" if unknown.
        others: Completions that are surely wrong here, at least two if there is a reference: other rows' references
            first.
        mined: What the grader's source reveals.
        say: Puts a text into the form in which the grader accepts the reference.
        seed: Makes random choices for this row reproducible.
        good: A text known to be correct, or else accepted by the grader; None if there is neither.
        mended: Whether that form changes how the reference is written, such as its capital letters.
        forms: Other forms in which the grader accepts references, such as in a box, a tag or a code block.
        alternatives: Other correct completions, if the reference is one of several.
        columns: The row's columns by name.
        own: The completions that the data has for this row.
        accepted: Those of them that the grader accepts.
        conversation: All turns before the completion.
        wants_nothing: Whether the reference is the empty text while others are not: an empty completion is correct.
    """

    number: int
    prompt: str
    completion: str
    reference: str
    others: tuple[str, ...]
    mined: Mined
    say: Callable[[str], str] = field(repr=False)
    seed: int = 0
    good: str | None = None
    mended: bool = False
    forms: tuple[Callable[[str], str], ...] = ()
    alternatives: tuple[str, ...] = ()
    columns: Mapping[str, Any] = field(default_factory=dict, repr=False)
    own: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    wants_nothing: bool = False
    conversation: str = field(default="", repr=False)

    @property
    def random(self) -> Random:
        """A separate random generator, the same at each use."""
        return Random(f"{self.seed}-{self.number}")  # noqa: S311 (no secret)

    @cached_property
    def value(self) -> float | None:
        """The reference as a number; None if it is not one."""
        return number_in(self.reference)

    @cached_property
    def number_text(self) -> str:
        """The number of a reference that is one, also with words such as a unit; "" for any other."""
        text = self.reference.strip()
        return text if self.value is not None else number_with_words(text) or ""

    def with_number(self, text: str) -> str:
        """The reference with its number written in another way, in the form in which the grader accepts it."""
        return self.say(self.reference.replace(self.number_text, text, 1))

    @cached_property
    def json(self) -> Any:
        """The reference as an object or list of JSON; None if it is not one."""
        return parsed_json(self.reference)

    @cached_property
    def named_values(self) -> list[Any]:
        """The values of the columns that the grader's source names."""
        return [value for name, value in self.columns.items() if self.mined.names(name)]

    @property
    def is_plain(self) -> bool:
        """Whether the grader accepts the reference as written, with nothing around it."""
        return bool(self.reference) and self.say(self.reference) == self.reference

    @cached_property
    def wants_bare(self) -> bool:
        """Whether the prompt requires the result alone: then it need not be accepted with more around it."""
        return WANTS_BARE.search(self.prompt) is not None

    @cached_property
    def extras_are_free(self) -> bool:
        """Whether the prompt lets a completion have more than what is correct."""
        return EXTRAS_ARE_FREE.search(self.prompt) is not None

    @cached_property
    def part_is_enough(self) -> bool:
        """Whether the prompt lets some entries be left out."""
        return PART_IS_ENOUGH.search(self.prompt) is not None

    @cached_property
    def slips_are_free(self) -> bool:
        """Whether the prompt lets some letters or words differ from the reference."""
        return SLIPS_ARE_FREE.search(self.prompt) is not None

    def contains_all(self, text: str | None) -> bool:
        """Whether a text has the reference, or every entry of one that is a list."""
        entries = [str(one) for one in self.json] if isinstance(self.json, list) else [self.reference]
        return any(entries) and all(is_mentioned(text or "", entry) for entry in entries)

    @property
    def is_letter(self) -> bool:
        """Whether the reference is one letter, as in multiple choice."""
        return len(self.reference) == 1 and self.reference.isalpha()

    @property
    def chosen_letters(self) -> str:
        """The reference if it is the letters of several options that the prompt lists, such as "ACD"; "" for any other."""
        letters = self.reference
        is_choice = re.fullmatch(r"[A-Z]{2,8}", letters) and len(set(letters)) == len(letters)
        listed = is_choice and all(
            re.search(rf"(?m)(?:^|\s)\(?{letter}[).:]\s", self.prompt) for letter in letters
        )
        return letters if listed else ""

    @cached_property
    def is_verdict(self) -> bool:
        """Whether a completion may start with the reference and then continue.

        So it is with yes, no, true and false, and with what the prompt has first: on its first line, or at the start.
        """
        if self.reference.lower() in {"yes", "no", "true", "false"}:
            return True
        if FIRST_LINE_COUNTS.search(self.prompt):
            starts = {plainly(text.strip().partition("\n")[0]) for text in self.accepted}
            if not starts or plainly(self.reference) in starts:
                return True
        first = BEGINS_WITH.search(self.prompt) if self.reference else None
        return (
            first is not None
            and re.search(rf"['\"`*]{re.escape(self.reference)}['\"`*]", first[1], re.IGNORECASE) is not None
        )

    @property
    def is_code(self) -> bool:
        """Whether the reference looks like code, markup or a formula, where every character may matter."""
        return self.json is None and _CODE.search(self.reference) is not None

    @cached_property
    def mutant(self) -> str:
        """A program with another digit or operator than the reference's, which still parses; "" if there is none."""
        changed = (*other_digits(self.reference), *other_signs(self.reference)) if self.is_program else ()
        return next((text for text in changed if program_of(text) is not None), "")

    @property
    def rival(self) -> str:
        """A wrong completion that could be meant for this row: of a program one of the same name."""
        return self.mutant if self.is_program else self.other

    @cached_property
    def is_program(self) -> bool:
        """Whether the reference is a program: Python with a definition or another statement, or SQL."""
        return self.is_code and _PROGRAM.search(self.reference) is not None

    @property
    def words(self) -> Sequence[str]:
        """A plain-language reference's words; none for a number, a letter, JSON and code."""
        if self.value is not None or self.is_letter or self.is_code or self.json is not None:
            return ()
        return self.reference.split()

    def is_right(self, text: str | None) -> bool:
        """Whether a text is the row's reference itself, as written or in the form in which it is accepted."""
        said = (text or "").strip()
        if self.wants_nothing:
            return not plainly(said) or said == self.say("").strip()
        if any(same(said, one) for one in self.alternatives):
            return True
        return bool(self.reference) and said in {self.reference, self.say(self.reference).strip()}

    def shortest_accepted(self, most: int = 2) -> list[str]:
        """Accepted completions of the row, the shortest first, at most `most`: those that transformations change."""
        return sorted(self.accepted, key=len)[:most]

    @cached_property
    def tolerance(self) -> float:
        """Largest relative difference from the reference that the prompt or a column allows, 0 for none."""
        if not self.value:
            return 0.0
        return tolerance_of(self.prompt, self.value, self.columns)

    def is_near(self, text: str | None) -> bool:
        """Whether the last number of a text is within the tolerance that the row states."""
        numbers = numbers_in(text or "") if self.tolerance else []
        return bool(numbers) and abs(numbers[-1] - (self.value or 0)) <= 1.01 * self.tolerance * abs(
            self.value or 0
        )

    def names_alternative(self, text: str | None) -> bool:
        """Whether a text contains another correct completion than the reference."""
        others = [one for one in self.alternatives if not same(one, self.reference)]
        return any(is_mentioned(text or "", one) for one in others)

    @property
    def other(self) -> str:
        """A completion that is surely wrong."""
        return self.others[0]


_OF_TASK = 14
"""Rank from which texts are completions of a task: with a score by distance another row's reference may come close."""

Make = Callable[[ProbeRow], Iterable[str | None]]
"""From a row to texts, none if the transformation does not apply; None is a row without a completion."""
Alarm = Literal["always", "reference", "accepted", "form", "free", "text", "strict", "number", "never"]


@dataclass(frozen=True)
class Variant:
    """A transformation.

    Attributes:
        name: Short and hyphenated.
        expects: Whether its texts have to be rejected or accepted.
        says: What its texts are, to end the sentence "accepts ..." or "rejects the reference ...".
        make: Its function.
        alarm: When a misgraded text is a finding rather than a note. "reference": only if the grader reads the reference,
            since a check of the form has none; "accepted": only if it also accepts the reference in some form; "form": only if it does not read it; "always"; "free": a known-good form
            counts only if the grader accepts references in sentences of any kind; "text": only if it accepts references with
            other text around them, in sentences or as a row's completion has it; "strict": only if it does not, so that
            the whole text is the completion; "number": only if it evidently parses numbers; "never": a property, true of
            sound graders too.
        rank: Causes before consequences: the lowest is reported first.
        least: Minimum number of misgraded rows, if at least that many were graded: one may be a coincidence of the data.
        judges: Whether it is worth a request to a model.
        advice: What to do about it.
        crash: Whether a failure on such a text is reported: any completion may look like that.
        names: Words that turn a property into a finding if they occur in the grader's source: code that handles the case
            by name is meant to handle it.
        beside: Whether its texts add something to a wrong completion: a row counts only if the wrong completion alone
            is rejected.
        rival: Whether its texts end with `ProbeRow.rival`: a changed program counts only if it is rejected alone.
        question: Whether only the grader's author can decide if its texts are wrong: a warning instead of an error.
        together: Whether a row counts only if all its texts are misgraded: one that is not shows that the grader can do it.
        needs: A transformation that the grader has to grade right in nearly all rows, else this one shows nothing.
        seen: A pattern of which the rows' own completions must show a match: a form that these models never write does not matter.
        asked: Whether the prompt itself, or the source, shows that its texts are wrong: then also in a check of the form.
        distinct: Whether rows with different references must be misgraded: no text is correct for all of them.
    """

    name: str
    expects: Literal["reject", "accept"]
    says: str
    make: Make
    alarm: Alarm = "reference"
    rank: int = 50
    least: int = 1
    judges: bool = True
    advice: str = ""
    crash: bool = False
    names: tuple[str, ...] = ()
    beside: bool = False
    distinct: bool = False
    rival: bool = False
    question: bool = False
    together: bool = False
    needs: str = ""
    seen: str = ""
    asked: bool = False

    @property
    def gross(self) -> bool:
        """Whether its texts are not completions at all, rather than wrong ones."""
        return self.rank < _OF_TASK


VARIANTS: dict[str, Variant] = {}
"""Every transformation by its name."""


def variant(
    name: str,
    expects: Literal["reject", "accept"],
    says: str,
    *,
    alarm: Alarm = "reference",
    rank: int = 50,
    **settings: object,
) -> Callable[[Make], Make]:
    """Register a function from a row to texts; `wb.probe` then includes it.

    Args:
        name: Short and hyphenated.
        expects: "reject" for known-bad texts, "accept" for known-good ones.
        says: What its texts are, to end the sentence "accepts ..." or "rejects the reference ...".
        alarm: When it is a finding; see `Variant`.
        rank: Causes before consequences.
        settings: The other attributes of `Variant`.

    Raises:
        ValueError: Another function has the name.
    """

    def register(make: Make) -> Make:
        taken = VARIANTS.get(name)
        refuse_taken("transformation", name, taken and taken.make, make)
        VARIANTS[name] = Variant(name, expects, says, make, alarm, rank, **settings)  # type: ignore[arg-type]
        return make

    return register


# Each module registers its transformations when it is loaded.
load_modules(sys.modules[__name__])
