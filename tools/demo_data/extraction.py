"""Extraction of records from notes as JSON: 60 prompts. The record is known because the note was made from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from tools.demo_data.writers import RIGHT_RATE, Answer, DemoItem, pad, probe

_PEOPLE = (
    "Dora Lindqvist",
    "Amadou Keller",
    "Yuki Brandt",
    "Nell O'Shea",
    "Ivo Marchetti",
    "Zofia Adler",
    "Priya Nandan",
)
_TOWNS = ("Harrowby", "Ostlund", "Varenne", "Quillport", "Tessmar", "Brackenfeld", "Lowmere")
_THINGS = (
    "standing desk",
    "rain jacket",
    "espresso machine",
    "tent",
    "bookshelf",
    "bicycle pump",
    "desk lamp",
)
_FAULTS = (
    "leaks at the door",
    "makes a grinding noise",
    "will not switch on",
    "smells of burning",
    "loses its settings",
)
_DEVICES = ("dishwasher", "printer", "boiler", "projector", "freezer", "router")
_MONTHS = ("January", "March", "April", "June", "September", "November")

Record = dict[str, Any]


def _order(rng: Random) -> tuple[Record, Sequence[str]]:
    record = {
        "name": rng.choice(_PEOPLE),
        "city": rng.choice(_TOWNS),
        "item": rng.choice(_THINGS),
        "quantity": rng.randint(2, 9),
    }
    r = record
    return record, (
        f"Hi, {r['name']} here from {r['city']}. I'd like {r['quantity']} of the {r['item']}, please.",
        f"Order by phone: {r['quantity']} pieces, {r['item']}, for {r['name']}. Goes to {r['city']}.",
        f"{r['name']} wrote again, lives in {r['city']} now and wants the {r['item']}, {r['quantity']} times.",
    )


def _visit(rng: Random) -> tuple[Record, Sequence[str]]:
    record = {
        "name": rng.choice(_PEOPLE),
        "day": rng.randint(2, 28),
        "month": rng.choice(_MONTHS),
        "hour": rng.randint(8, 17),
    }
    r = record
    return record, (
        f"Could you book {r['name']} for {r['month']} {r['day']} at {r['hour']}:00?",
        f"Visit note. {r['name']}, expected on the {r['day']} of {r['month']}, {r['hour']}:00 sharp.",
        f"The {r['day']} of {r['month']} suits us, say {r['hour']}:00. Yours, {r['name']}.",
    )


def _repair(rng: Random) -> tuple[Record, Sequence[str]]:
    record = {
        "device": rng.choice(_DEVICES),
        "fault": rng.choice(_FAULTS),
        "room": rng.randint(101, 480),
        "urgent": rng.random() < 0.4,
    }
    tone = "It cannot wait." if record["urgent"] else "It can wait until next week."
    r = record
    return record, (
        f"Calling from room {r['room']}: the {r['device']} {r['fault']}. {tone}",
        f"Ticket: {r['device']}, room {r['room']}. What happens: it {r['fault']}. {tone}",
        f"The {r['device']} in {r['room']} {r['fault']}. {tone}",
    )


_KINDS: Sequence[Callable[[Random], tuple[Record, Sequence[str]]]] = (_order, _visit, _repair)
_ASK = (
    "Return a JSON object with the keys {keys}.\n\nNote: {note}",
    "{note}\n\nExtract {keys} from the text above. Reply with JSON only.",
    "Turn this message into JSON ({keys}):\n{note}",
)


def items(rng: Random, count: int) -> list[DemoItem]:
    """`count` notes, the kinds in turn."""
    return [_item(number, rng) for number in range(count)]


def _item(number: int, rng: Random) -> DemoItem:
    record, notes = _KINDS[number % len(_KINDS)](rng)
    kinds = ", ".join(key + _kind(value) for key, value in record.items())
    prompt = rng.choice(_ASK).format(keys=kinds, note=rng.choice(notes))
    return DemoItem(number, prompt, prompt, json.dumps(record, separators=(",", ":")), {"record": record})


def _kind(value: Any) -> str:
    return {bool: " (true or false)", int: " (number)"}.get(type(value), "")


def answer(item: DemoItem, writer: str, rng: Random, other_items: Sequence[DemoItem]) -> Answer:
    """One writer's completion for one note. Truth is the share of keys with the right value and type."""
    record: Record = item.facts["record"]
    if writer == "gamer":
        return probe(item, rng)
    if writer == "formatter":
        return Answer(json.dumps(dict.fromkeys(record)), 0.0, "all_null")
    if writer == "random":
        drawn = rng.choice(
            [
                candidate
                for candidate in other_items
                if set(candidate.facts["record"]) == set(record) and candidate is not item
            ]
        )
        return Answer(
            json.dumps(drawn.facts["record"]), _share(record, drawn.facts["record"]), "other_answer"
        )
    if writer == "fluent_wrong":
        return _wrong(record, "value_changed", rng)
    if rng.random() >= RIGHT_RATE.get(writer, 1.0):
        return _wrong(
            record, rng.choice(("value_changed", "key_dropped", "number_as_text", "cut_short")), rng
        )
    return _right(record, writer, rng)


def _right(record: Record, writer: str, rng: Random) -> Answer:
    if writer == "hasty":
        return Answer(json.dumps(record, separators=(",", ":")), 1.0, "bare")
    if writer == "careful":
        return Answer(json.dumps(record, indent=2 if rng.random() < 0.5 else None), 1.0, "worked")
    return Answer(pad(f"```json\n{json.dumps(record)}\n```", rng), 1.0, "fenced")


def _wrong(record: Record, operator: str, rng: Random) -> Answer:
    if operator == "cut_short":
        return Answer(json.dumps(record)[:-8], 0.0, operator)
    key = rng.choice(
        [key for key, value in record.items() if operator != "number_as_text" or type(value) is int]
    )
    changed = {name: value for name, value in record.items() if name != key}
    if operator == "value_changed":
        changed = {**record, key: _changed_value(record[key], rng)}
    elif operator == "number_as_text":
        changed = {**record, key: str(record[key])}
    return Answer(json.dumps(changed), _share(record, changed), operator)


def _changed_value(value: Any, rng: Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice((1, 2, 10))
    pool = next(pool for pool in (_PEOPLE, _TOWNS, _THINGS, _FAULTS, _DEVICES, _MONTHS) if value in pool)
    return rng.choice([candidate for candidate in pool if candidate != value])


def _share(right: Mapping[str, Any], answered: Mapping[str, Any]) -> float:
    same: int = sum(
        key in answered and type(answered[key]) is type(value) and answered[key] == value
        for key, value in right.items()
    )
    return round(same / len(right), 4)
