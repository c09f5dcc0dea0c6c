"""Word problems with whole-number results: 120 prompts, the steps and the result computed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from tools.demo_data.writers import RIGHT_RATE, Answer, DemoItem, pad, probe

_NAMES = (
    "Mira",
    "Tobias",
    "Anouk",
    "Femi",
    "Ravi",
    "Lucía",
    "Hana",
    "Joris",
    "Salma",
    "Petra",
    "Kofi",
    "Ines",
)
_GOODS = ("notebooks", "lamps", "mugs", "candles", "plants", "jars of honey", "umbrellas", "puzzles")

Story = tuple[str, tuple[str, ...], int, int, str]
"""Question, steps, answer, the number one step earlier, unit."""


def _shopping(rng: Random, name: str) -> Story:
    goods, count, price = rng.choice(_GOODS), rng.randint(3, 12), rng.randint(4, 19)
    spent = count * price
    paid = (spent // 50 + 1) * 50
    question = rng.choice(
        (
            f"{name} buys {count} {goods} at {price} euros each and pays with {paid} euros. How much change is due?",
            (
                f"At the market, {goods} cost {price} euros apiece. {name} takes {count} of them and hands over {paid} euros."
                " What does the seller give back?"
            ),
            f"How many euros does {name} get back from {paid} euros after buying {count} {goods} for {price} euros each?",
        )
    )
    steps = (f"{count} x {price} = {spent} euros for the {goods}.", f"{paid} - {spent} = {paid - spent}.")
    return question, steps, paid - spent, spent, "euros"


def _seats(rng: Random, name: str) -> Story:
    rows, wide, absent = rng.randint(8, 24), rng.randint(9, 30), rng.randint(5, 60)
    seats = rows * wide
    question = rng.choice(
        (
            f"A hall has {rows} rows of {wide} seats. {name} counts {absent} empty ones. How many people are sitting?",
            (
                f"{name} sells every ticket for a theatre with {rows} rows of {wide} seats, but {absent} guests stay away."
                " How many come?"
            ),
            f"There are {wide} chairs in each of {rows} rows and {absent} of all chairs are free. How many are taken?",
        )
    )
    steps = (f"There are {rows} x {wide} = {seats} seats.", f"Taken: {seats} - {absent} = {seats - absent}.")
    return question, steps, seats - absent, seats, "people"


def _savings(rng: Random, name: str) -> Story:
    start, weekly, weeks = rng.randint(20, 200), rng.randint(6, 45), rng.randint(5, 40)
    added = weekly * weeks
    question = rng.choice(
        (
            f"{name} has {start} euros and saves {weekly} euros a week. How much is there after {weeks} weeks?",
            (
                f"With {start} euros in the tin, {name} adds {weekly} euros every week for {weeks} weeks."
                " What is in the tin then?"
            ),
            f"For {weeks} weeks {name} puts aside {weekly} euros a week, on top of {start} euros. How many euros in all?",
        )
    )
    steps = (
        f"Saved: {weeks} x {weekly} = {added}.",
        f"With what was there: {start} + {added} = {start + added}.",
    )
    return question, steps, start + added, added, "euros"


def _reading(rng: Random, name: str) -> Story:
    daily, days, left = rng.randint(12, 48), rng.randint(4, 21), rng.randint(15, 140)
    read = daily * days
    question = rng.choice(
        (
            f"{name} reads {daily} pages a day for {days} days and has {left} pages left. How long is the book?",
            (
                f"After {days} days at {daily} pages a day, {left} pages of {name}'s novel are unread."
                " How many pages does it have?"
            ),
            (
                f"A book still has {left} pages to go after {name} has read {daily} pages on each of {days} days."
                " How many pages are in it?"
            ),
        )
    )
    steps = (f"Read so far: {daily} x {days} = {read} pages.", f"{read} + {left} = {read + left} pages.")
    return question, steps, read + left, read, "pages"


def _fence(rng: Random, name: str) -> Story:
    long, wide, gate = rng.randint(14, 60), rng.randint(6, 13), rng.randint(2, 5)
    round_it = 2 * (long + wide)
    question = rng.choice(
        (
            (
                f"{name} fences a garden {long} m long and {wide} m wide, leaving a gate of {gate} m."
                " How many metres of fence are needed?"
            ),
            f"How much fence, in metres, goes round a plot of {long} m by {wide} m if {name} leaves {gate} m open?",
            f"A {long} m by {wide} m field gets a fence with one gap of {gate} m. What length does {name} order?",
        )
    )
    steps = (f"Once round is 2 x ({long} + {wide}) = {round_it} m.", f"Less the gap: {round_it - gate} m.")
    return question, steps, round_it - gate, round_it, "metres"


def _sharing(rng: Random, name: str) -> Story:
    each, people, extra = rng.randint(7, 35), rng.randint(3, 14), rng.randint(10, 90)
    shared = each * people
    question = rng.choice(
        (
            (
                f"{name} has {shared + extra} stickers, keeps {extra} and shares the rest equally among {people} friends."
                " How many does each friend get?"
            ),
            (
                f"From {shared + extra} stickers {extra} are put away; {people} children share the others evenly."
                " How many has each?"
            ),
            f"{people} friends divide {shared + extra} stickers among themselves after {name} took {extra}. How many each?",
        )
    )
    steps = (f"To share: {shared + extra} - {extra} = {shared}.", f"{shared} / {people} = {each}.")
    return question, steps, each, shared, "stickers"


_STORIES: Sequence[Callable[[Random, str], Story]] = (_shopping, _seats, _savings, _reading, _fence, _sharing)
_ASK = ("", " Give the number.", " Show your work.")
_FINAL = (
    "Answer: {n}",
    "The answer is {n}.",
    "So it is {n} {unit}.",
    "**{n}**",
    "#### {n}",
    "\\boxed{{{n}}}",
)


def items(rng: Random, count: int) -> list[DemoItem]:
    """`count` problems, the kinds in turn."""
    return [_item(number, rng) for number in range(count)]


def _item(number: int, rng: Random) -> DemoItem:
    question, steps, right, before, unit = _STORIES[number % len(_STORIES)](rng, rng.choice(_NAMES))
    prompt = question + rng.choice(_ASK)
    facts = {"steps": steps, "right": right, "before": before, "unit": unit}
    return DemoItem(number, prompt, prompt, str(right), facts)


def answer(item: DemoItem, writer: str, rng: Random, other_items: Sequence[DemoItem]) -> Answer:
    """One writer's completion of one problem. Truth is 1 for the right number given as the result, else 0."""
    if writer == "gamer":
        return probe(item, rng)
    if writer == "formatter":
        shell = rng.choice(
            ("Step 1: ...\nStep 2: ...\nAnswer:", "Given:\nAsked:\nSolution:\nAnswer: ___", "\\boxed{}")
        )
        return Answer(shell, 0.0, "format_shell")
    if writer == "random":
        return _unrelated(item, rng, other_items)
    if writer == "fluent_wrong" or rng.random() >= RIGHT_RATE.get(writer, 1.0):
        return _wrong(item, writer, rng)
    return _right(item, writer, rng)


def _right(item: DemoItem, writer: str, rng: Random) -> Answer:
    if writer == "hasty":
        return Answer(_bare(item.facts["right"], rng), 1.0, "bare")
    worked = _worked(item, item.facts["right"], rng)
    return Answer(pad(worked, rng), 1.0, "padded") if writer == "wordy" else Answer(worked, 1.0, "worked")


def _wrong(item: DemoItem, writer: str, rng: Random) -> Answer:
    right, before = item.facts["right"], item.facts["before"]
    slips = {
        "slip_by_one": right + rng.choice((-1, 1)),
        "slip_by_ten": right + 10,
        "step_missing": before,
        "digit_appended": right * 10 + rng.randint(0, 9),
    }
    operator = rng.choice(list(slips))
    number = slips[operator]
    text = _bare(number, rng) if writer == "hasty" else _worked(item, number, rng)
    return Answer(text, 0.0, operator)


def _unrelated(item: DemoItem, rng: Random, other_items: Sequence[DemoItem]) -> Answer:
    drawn = rng.choice([candidate for candidate in other_items if candidate.expected != item.expected])
    return Answer(_bare(drawn.facts["right"], rng), 0.0, "other_answer")


def _bare(number: int, rng: Random) -> str:
    return rng.choice(("{n}", "{n}", "{n}", "{n}.", " {n}", "= {n}")).format(n=number)


def _worked(item: DemoItem, number: int, rng: Random) -> str:
    """The steps and a final line; a wrong number stands in the last step as well, or ends the work early."""
    facts = item.facts
    steps = list(facts["steps"])
    if number == facts["before"]:
        steps = steps[:1]
    elif number != facts["right"]:
        steps[-1] = re.sub(rf"\b{facts['right']}\b", str(number), steps[-1])
    final = rng.choice(_FINAL).format(n=number, unit=facts["unit"])
    return rng.choice(("\n", " ")).join(steps) + "\n" + final
