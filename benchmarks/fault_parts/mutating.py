"""Documents and values with random errors: the same from the same seed."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

__all__ = ["mutated_json", "mutated_text", "odd_value"]

_ODD_TEXTS = (
    "",
    "\0",
    "\ud800",
    "\u202e",
    "\r\n",
    "NaN",
    "-1e999",
    "9" * 400,
    "{{x}}",
    "{%",
    "]]>",
    "<script>",
    "*a",
    "&a ",
    "!!python/object ",
    "[" * 200,
    '{"a":' * 100,
    "'''",
    '"""',
    "\\",
    "/*",
    "(?P<",
    "((a+)+)+$",
    "import os\n",
    "../../x",
    "None",
    "\t",
)
_ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**70,
    0.5,
    1e308,
    "",
    "x",
    [],
    {},
    [None],
    {"": None},
    [[]],
    *_ODD_TEXTS,
)


def odd_value(chance: random.Random) -> Any:
    """A JSON value of any type, which is invalid in most places of a document."""
    return copy.deepcopy(chance.choice(_ODD_VALUES))


def mutated_text(text: str, chance: random.Random, other: str = "") -> str:
    """A text after one to four changes: truncated, doubled, moved, filled with odd texts or with a part of another one."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        start, end = sorted(chance.randint(0, len(text)) for _ in range(2))
        end = min(end, start + chance.choice((1, 8, 80, 8_000)))
        piece = text[start:end]
        changes = (
            text[:start] + text[end:],
            text[:end] + piece + text[end:],
            text[:start] + chance.choice(_ODD_TEXTS) + text[end:],
            text[:start] + chance.choice(_ODD_TEXTS) + text[start:],
            text[:start] + piece[::-1] + text[end:],
            text[:start] + other[start:end] + text[end:],
            text[:start] + chr(chance.randrange(0xD7FF)) + text[start + 1 :],
            text[:start],
        )
        text = chance.choice(changes)
    return text


def mutated_json(value: Any, chance: random.Random) -> Any:
    """A copy with one to three parts of another type, missing, doubled or under another name."""
    whole = [copy.deepcopy(value)]
    for _ in range(chance.choice((1, 1, 2, 3))):
        holder, place = chance.choice(list(_places(whole)))
        change = chance.randrange(4)
        if change == 0 and isinstance(holder, dict):
            holder[chance.choice(("name", "type", "config", "surprise", ""))] = holder.pop(place)
        elif change == 1 and holder is not whole:
            del holder[place]
        elif change == 2 and isinstance(holder, list):
            holder.insert(place, copy.deepcopy(holder[place]))
        else:
            holder[place] = odd_value(chance)
        whole = whole or [None]
    return whole[0]


def _places(value: Any) -> Any:
    """Each part of a value, as its container and its key."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def json_text(value: Any) -> str:
    """The value as JSON, lone surrogates and all."""
    return json.dumps(value)
