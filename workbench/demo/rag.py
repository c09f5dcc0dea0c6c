"""Questions over documents about invented places, firms and machines: support is known claim by claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from workbench.demo.writers import RIGHT_RATE, Answer, Item, pad, probe

__all__ = ["answer", "items"]

_STEMS = ("Var", "Ost", "Quill", "Tess", "Harrow", "Bracken", "Lume", "Nord", "Pell", "Sarn", "Wick", "Ald")
_ENDS = {"town": ("mouth", "by", "ford", "haven"), "firm": (" & Sons", " Works", " Freight", " Dairy")}
_PEOPLE = (
    "Ilse Marn",
    "Tomas Reyk",
    "Adaeze Holt",
    "Wim Castell",
    "Noor Aziz",
    "Greta Sund",
    "Paolo Venn",
    "Mei Darrow",
)
_RIVERS = ("Sel", "Orrin", "Tave", "Little Moss", "Krain", "Ebb")
_WARES = ("canal barges", "oat biscuits", "glass lenses", "wool blankets", "brass valves", "school desks")


@dataclass(frozen=True)
class _Attribute:
    """One kind of fact: how a document, a question and an answer put it."""

    key: str
    document: tuple[str, str]
    question: str
    claim: tuple[str, str]


_ATTRIBUTES = {
    "town": (
        _Attribute(
            "founded",
            (
                "Founding year of {s}: {v}.",
                "The town charter of {s} dates from {v}.",
            ),
            "when {s} was founded",
            ("{s} was founded in {v}.", "The founding of {s} was in {v}."),
        ),
        _Attribute(
            "mayor",
            ("{v} has been mayor of {s} since the spring.", "In {s} the mayor's chain is worn by {v}."),
            "who its mayor is",
            ("The mayor of {s} is {v}.", "{s} has {v} as its mayor."),
        ),
        _Attribute(
            "river",
            ("The river {v} runs past the market of {s}.", "{s} lies on a bend of the river {v}."),
            "which river it lies on",
            ("{s} lies on the river {v}.", "The river at {s} is called {v}."),
        ),
        _Attribute(
            "people",
            ("{v} people lived in {s} at the last count.", "The census gives {s} {v} inhabitants."),
            "how many people live there",
            ("{s} has {v} inhabitants.", "The population of {s} is {v}."),
        ),
    ),
    "firm": (
        _Attribute(
            "founded",
            ("{s} opened its doors in {v}.", "The first ledger of {s} is from {v}."),
            "when {s} was founded",
            ("{s} was founded in {v}.", "The founding of {s} was in {v}."),
        ),
        _Attribute(
            "boss",
            ("{v} took over the running of {s}.", "{s} is led by {v}."),
            "who runs it",
            ("{s} is run by {v}.", "The head of {s} is {v}."),
        ),
        _Attribute(
            "ware",
            ("{s} is known for its {v}.", "Most of what {s} sells are {v}."),
            "what it makes",
            ("{s} makes {v}.", "What {s} makes are {v}."),
        ),
        _Attribute(
            "staff",
            ("{s} employs {v} people.", "{v} men and women work at {s}."),
            "how many people work there",
            ("{s} has {v} employees.", "The staff of {s} numbers {v}."),
        ),
    ),
    "machine": (
        _Attribute(
            "year",
            (
                "The makers built their first {s} in {v}.",
                "{v} saw the first {s} leave the hall.",
            ),
            "when the {s} was first built",
            ("The {s} was first built in {v}.", "Building of the {s} began in {v}."),
        ),
        _Attribute(
            "weight",
            ("Lifting a {s} means lifting {v} kg.", "A {s} tips the scales at {v} kg."),
            "what it weighs",
            ("The {s} weighs {v} kg.", "The weight of the {s} is {v} kg."),
        ),
        _Attribute(
            "power",
            ("The motor of the {s} gives {v} kW.", "A {s} draws {v} kW at full load."),
            "how much power it has",
            ("The {s} has {v} kW.", "The power of the {s} is {v} kW."),
        ),
        _Attribute(
            "designer",
            ("{v} drew the plans of the {s}.", "The {s} is the work of the engineer {v}."),
            "who designed it",
            ("The {s} was designed by {v}.", "The designer of the {s} is {v}."),
        ),
    ),
}

Fact = tuple[str, str, str, str]
"""Kind, subject, key, value."""


def items(rng: Random, count: int) -> list[Item]:
    """`count` questions of two facts each, over three to five documents of which two hold them."""
    sheets = [_sheet(number, rng) for number in range(count)]
    return [_item(number, sheets, rng) for number in range(count)]


def _sheet(number: int, rng: Random) -> list[Fact]:
    kind = tuple(_ATTRIBUTES)[number % len(_ATTRIBUTES)]
    round_ = number // len(_ATTRIBUTES)
    stem, variant = _STEMS[round_ % len(_STEMS)], round_ // len(_STEMS)
    subject = f"{stem} {variant * 3 + 4}00" if kind == "machine" else stem + _ENDS[kind][variant]
    return [(kind, subject, one.key, _value(one.key, rng)) for one in _ATTRIBUTES[kind]]


def _value(key: str, rng: Random) -> str:
    if key in ("mayor", "boss", "designer"):
        return rng.choice(_PEOPLE)
    if key in ("river", "ware"):
        return rng.choice(_RIVERS if key == "river" else _WARES)
    low, high = {
        "founded": (1410, 1960),
        "year": (1890, 2015),
        "people": (2100, 58000),
        "staff": (12, 900),
        "weight": (180, 9000),
        "power": (4, 320),
    }[key]
    return str(rng.randint(low, high))


def _item(number: int, sheets: Sequence[Sequence[Fact]], rng: Random) -> Item:
    own = list(sheets[number])
    rng.shuffle(own)
    asked = sorted(own[:2], key=sheets[number].index)
    spare = own[2:3] if rng.random() < 0.4 else []
    others = [rng.choice(sheets[at]) for at in rng.sample([n for n in range(len(sheets)) if n != number], 2)]
    shown = [*asked, *spare, *others[: rng.choice((1, 1, 2))]]
    rng.shuffle(shown)
    question = _question(asked, rng)
    documents = [{"role": "document", "content": _document(fact, rng)} for fact in shown]
    facts = {"asked": asked, "spare": spare, "hidden": own[2 + len(spare) :], "shown": shown}
    expected = " ".join(_claim(fact) for fact in asked)
    return Item(number, [*documents, {"role": "user", "content": question}], question, expected, facts)


def _attribute(fact: Fact) -> _Attribute:
    return next(one for one in _ATTRIBUTES[fact[0]] if one.key == fact[2])


def _document(fact: Fact, rng: Random) -> str:
    return rng.choice(_attribute(fact).document).format(s=fact[1], v=fact[3])


def _claim(fact: Fact) -> str:
    return _attribute(fact).claim[0].format(s=fact[1], v=fact[3])


def _question(asked: Sequence[Fact], rng: Random) -> str:
    first, second = (_attribute(fact).question.format(s=fact[1]) for fact in asked)
    subject = asked[0][1]
    about = "" if subject in first else f"About {subject}: "
    return about + rng.choice(
        (
            f"Please tell me {first} and {second}.",
            f"I need to know {first} and {second}.",
            f"Do the documents say {first} and {second}?",
        )
    )


def answer(item: Item, writer: str, rng: Random, others: Sequence[Item]) -> Answer:
    """What one writer makes of one question. Truth is the share of claims the documents support, 0 without claims."""
    if writer == "gamer":
        return probe(item, rng)
    if writer in ("formatter", "random", "fluent_wrong"):
        return _bad(item, writer, rng, others)
    asked, cite = item.facts["asked"], writer == "careful"
    if rng.random() >= RIGHT_RATE.get(writer, 1.0):
        return _slip(item, rng, cite=cite)
    if writer == "wordy":
        told = _told(item, [*asked, *item.facts["spare"]], "padded", rng)
        return Answer(pad(told.completion, rng), told.truth, told.operator, told.claims)
    return _told(item, asked, "worked" if cite else "plain", rng, cite=cite)


def _bad(item: Item, writer: str, rng: Random, others: Sequence[Item]) -> Answer:
    if writer == "formatter":
        shells = (
            "According to the documents [1][2]:\n- \n- ",
            "**Answer**\n\n**Sources**\n\n",
            "1. ...\n2. ...",
        )
        return Answer(rng.choice(shells), 0.0, "format_shell")
    if writer == "random":
        other = rng.choice([one for one in others if one is not item])
        return _told(item, other.facts["asked"], "other_answer", rng)
    return _told(
        item, [_changed(fact, rng) for fact in item.facts["asked"]], "values_changed", rng, cite=True
    )


def _slip(item: Item, rng: Random, *, cite: bool) -> Answer:
    """One value wrong, or a true-sounding claim that no document makes."""
    first, second = item.facts["asked"]
    if rng.random() < 0.5:
        return _told(item, [first, _changed(second, rng)], "one_value_changed", rng, cite=cite)
    return _told(item, [first, second, item.facts["hidden"][0]], "claim_not_in_documents", rng, cite=cite)


def _changed(fact: Fact, rng: Random) -> Fact:
    value = fact[3]
    while value == fact[3]:
        value = _value(fact[2], rng)
    return (*fact[:3], value)


def _told(item: Item, facts: Sequence[Fact], operator: str, rng: Random, *, cite: bool = False) -> Answer:
    shown = item.facts["shown"]
    claims = [
        (rng.choice(_attribute(fact).claim).format(s=fact[1], v=fact[3]), fact in shown) for fact in facts
    ]
    said = [
        text[:-1] + _source(fact, shown) if cite else text
        for (text, _), fact in zip(claims, facts, strict=True)
    ]
    truth = sum(supported for _, supported in claims) / len(claims)
    return Answer(" ".join(said), truth, operator, claims)


def _source(fact: Fact, shown: Sequence[Fact]) -> str:
    """The number of the document on this matter, whatever it says; the first where there is none."""
    at = next((number for number, one in enumerate(shown, 1) if one[:3] == fact[:3]), 1)
    return f" [{at}]."
