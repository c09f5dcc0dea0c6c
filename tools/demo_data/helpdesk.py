"""Open help-desk replies: 40 hand-written good ones and graded decays of them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tools.demo_data.helpdesk_cases import CASES
from tools.demo_data.writers import RIGHT_RATE, Answer, DemoItem, pad, probe

DECAYS = {"fact_missing": 0.75, "step_missing": 0.5, "fact_wrong": 0.25}
"""Operator: the truth of a reply after it, by how much the customer would have to ask or undo again."""

_OPENINGS = (
    "Thanks for writing in.",
    "Sorry for the trouble.",
    "Good that you asked.",
    "Thank you for your patience.",
)
_CLOSINGS = (
    "Write again if it does not help.",
    "We are here until 6 pm.",
    "Let us know how it goes.",
    "Kind regards, Support",
)


def items(rng: Random, count: int) -> list[DemoItem]:
    """The first `count` hand-written cases, each in one of three voices."""
    return [_item(number, rng) for number in range(count)]


def _item(number: int, rng: Random) -> DemoItem:
    question, first_step, second_step, fact, wrong = CASES[number]
    prompt = rng.choice(("{}", "Hello, {}", "{} Thanks!")).format(question)
    facts = {"steps": (first_step, second_step), "fact": fact, "wrong": wrong}
    return DemoItem(number, prompt, prompt, f"{first_step} {second_step} {fact}", facts)


def answer(item: DemoItem, writer: str, rng: Random, other_items: Sequence[DemoItem]) -> Answer:
    """One writer's reply. Truth is 1 for the whole reply, less after a decay, 0 for a reply to another prompt."""
    if writer == "gamer":
        return probe(item, rng)
    if writer == "formatter":
        return Answer(f"{rng.choice(_OPENINGS)}\n\n1.\n2.\n\n{rng.choice(_CLOSINGS)}", 0.0, "format_shell")
    if writer == "random":
        drawn = rng.choice([candidate for candidate in other_items if candidate is not item])
        return Answer(_polite(drawn.expected, rng), 0.0, "other_reply")
    if writer == "fluent_wrong":
        return _decayed(item, "fact_wrong", writer, rng)
    if rng.random() >= RIGHT_RATE.get(writer, 1.0):
        return _decayed(item, rng.choice(list(DECAYS)), writer, rng)
    return _whole(item, writer, rng)


def _whole(item: DemoItem, writer: str, rng: Random) -> Answer:
    if writer == "hasty":
        return Answer(item.expected, 1.0, "bare")
    if writer == "wordy":
        return Answer(pad(item.expected, rng), 1.0, "padded")
    return Answer(_polite(item.expected, rng), 1.0, "worked")


def _decayed(item: DemoItem, operator: str, writer: str, rng: Random) -> Answer:
    first_step, second_step = item.facts["steps"]
    fact = item.facts["fact"]
    text = {
        "fact_missing": f"{first_step} {second_step}",
        "step_missing": f"{second_step} {fact}",
        "fact_wrong": f"{first_step} {second_step} {item.facts['wrong']}",
    }[operator]
    return Answer(text if writer == "hasty" else _polite(text, rng), DECAYS[operator], operator)


def _polite(text: str, rng: Random) -> str:
    return f"{rng.choice(_OPENINGS)} {text} {rng.choice(_CLOSINGS)}"
