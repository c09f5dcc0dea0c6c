"""Prompts about documents on invented places, firms and machines; for each claim it is known whether they support it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tools.demo_data.writers import RIGHT_RATE, Answer, DemoItem, pad, probe

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
    """One kind of fact, with its wordings in documents, prompts and completions."""

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


def items(rng: Random, count: int) -> list[DemoItem]:
    """`count` prompts about two facts each, with three to five documents of which two contain them."""
    sheets = [_sheet(number, rng) for number in range(count)]
    return [_item(number, sheets, rng) for number in range(count)]


def _sheet(number: int, rng: Random) -> list[Fact]:
    kind = tuple(_ATTRIBUTES)[number % len(_ATTRIBUTES)]
    round_ = number // len(_ATTRIBUTES)
    stem, variant = _STEMS[round_ % len(_STEMS)], round_ // len(_STEMS)
    subject = f"{stem} {variant * 3 + 4}00" if kind == "machine" else stem + _ENDS[kind][variant]
    return [(kind, subject, attribute.key, _value(attribute.key, rng)) for attribute in _ATTRIBUTES[kind]]


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


def _item(number: int, sheets: Sequence[Sequence[Fact]], rng: Random) -> DemoItem:
    subject_facts = list(sheets[number])
    rng.shuffle(subject_facts)
    asked_facts = sorted(subject_facts[:2], key=sheets[number].index)
    unasked_facts = subject_facts[2:3] if rng.random() < 0.4 else []
    other_facts = [
        rng.choice(sheets[at]) for at in rng.sample([n for n in range(len(sheets)) if n != number], 2)
    ]
    document_facts = [*asked_facts, *unasked_facts, *other_facts[: rng.choice((1, 1, 2))]]
    rng.shuffle(document_facts)
    question = _question_text(asked_facts, rng)
    documents = [{"role": "document", "content": _document(fact, rng)} for fact in document_facts]
    facts = {
        "asked": asked_facts,
        "spare": unasked_facts,
        "hidden": subject_facts[2 + len(unasked_facts) :],
        "shown": document_facts,
    }
    expected = " ".join(_claim(fact) for fact in asked_facts)
    return DemoItem(number, [*documents, {"role": "user", "content": question}], question, expected, facts)


def _attribute(fact: Fact) -> _Attribute:
    return next(attribute for attribute in _ATTRIBUTES[fact[0]] if attribute.key == fact[2])


def _document(fact: Fact, rng: Random) -> str:
    return rng.choice(_attribute(fact).document).format(s=fact[1], v=fact[3])


def _claim(fact: Fact) -> str:
    return _attribute(fact).claim[0].format(s=fact[1], v=fact[3])


def _question_text(asked_facts: Sequence[Fact], rng: Random) -> str:
    first_part, second_part = (_attribute(fact).question.format(s=fact[1]) for fact in asked_facts)
    subject = asked_facts[0][1]
    about = "" if subject in first_part else f"About {subject}: "
    return about + rng.choice(
        (
            f"Please tell me {first_part} and {second_part}.",
            f"I need to know {first_part} and {second_part}.",
            f"Do the documents say {first_part} and {second_part}?",
        )
    )


def answer(item: DemoItem, writer: str, rng: Random, other_items: Sequence[DemoItem]) -> Answer:
    """One writer's completion of one prompt. Truth is the share of claims the documents support, 0 without claims."""
    if writer == "gamer":
        return probe(item, rng)
    if writer in ("formatter", "random", "fluent_wrong"):
        return _scripted_failure(item, writer, rng, other_items)
    asked_facts, cite = item.facts["asked"], writer == "careful"
    if rng.random() >= RIGHT_RATE.get(writer, 1.0):
        return _slip(item, rng, cite=cite)
    if writer == "wordy":
        padded = _answer_of(item, [*asked_facts, *item.facts["spare"]], "padded", rng)
        return Answer(pad(padded.completion, rng), padded.truth, padded.operator, padded.claims)
    return _answer_of(item, asked_facts, "worked" if cite else "plain", rng, cite=cite)


def _scripted_failure(item: DemoItem, writer: str, rng: Random, other_items: Sequence[DemoItem]) -> Answer:
    if writer == "formatter":
        shells = (
            "According to the documents [1][2]:\n- \n- ",
            "**Answer**\n\n**Sources**\n\n",
            "1. ...\n2. ...",
        )
        return Answer(rng.choice(shells), 0.0, "format_shell")
    if writer == "random":
        drawn = rng.choice([candidate for candidate in other_items if candidate is not item])
        return _answer_of(item, drawn.facts["asked"], "other_answer", rng)
    return _answer_of(
        item, [_changed(fact, rng) for fact in item.facts["asked"]], "values_changed", rng, cite=True
    )


def _slip(item: DemoItem, rng: Random, *, cite: bool) -> Answer:
    """One value wrong, or a true-sounding claim that no document makes."""
    first_fact, second_fact = item.facts["asked"]
    if rng.random() < 0.5:
        return _answer_of(item, [first_fact, _changed(second_fact, rng)], "one_value_changed", rng, cite=cite)
    return _answer_of(
        item, [first_fact, second_fact, item.facts["hidden"][0]], "claim_not_in_documents", rng, cite=cite
    )


def _changed(fact: Fact, rng: Random) -> Fact:
    value = fact[3]
    while value == fact[3]:
        value = _value(fact[2], rng)
    return (*fact[:3], value)


def _answer_of(
    item: DemoItem, facts: Sequence[Fact], operator: str, rng: Random, *, cite: bool = False
) -> Answer:
    document_facts = item.facts["shown"]
    claims = [
        (rng.choice(_attribute(fact).claim).format(s=fact[1], v=fact[3]), fact in document_facts)
        for fact in facts
    ]
    sentences = [
        text[:-1] + _source(fact, document_facts) if cite else text
        for (text, _), fact in zip(claims, facts, strict=True)
    ]
    truth = sum(supported for _, supported in claims) / len(claims)
    return Answer(" ".join(sentences), truth, operator, claims)


def _source(fact: Fact, document_facts: Sequence[Fact]) -> str:
    """A reference to the document about this kind of fact, independent of its value; to the first if there is none."""
    at = next(
        (number for number, document_fact in enumerate(document_facts, 1) if document_fact[:3] == fact[:3]), 1
    )
    return f" [{at}]."
