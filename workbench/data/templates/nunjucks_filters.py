"""Values and filters of nunjucks, by the rules of JavaScript."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from workbench.data.templates.values import (
    JS_SPACE,
    MissingVariableError,
    TemplateRunError,
    falsy,
    member,
    script_text,
)

_TRIMMED = f"[{JS_SPACE}]"


class Missing:
    """A name without a value, and the name."""

    def __init__(self, name: str) -> None:
        self.name = name


def text_of(value: Any) -> str:
    """The text that is written; a name without a value is an error."""
    if isinstance(value, Missing):
        raise MissingVariableError(
            f"the variable {value.name!r} has no value in this row",
            hint=f"add a column {value.name!r}, or write {{{{ {value.name} | default('') }}}}",
        )
    return script_text(value)


def is_false(value: Any) -> bool:
    """Whether a value counts as false."""
    return isinstance(value, Missing) or falsy(value)


def list_of(value: Any) -> list[Any]:
    """The items of a value: of an object, its keys and values."""
    if isinstance(value, list):
        return value
    if isinstance(value, Mapping):
        return [{"key": key, "value": item} for key, item in value.items()]
    return list(text_of(value))


def _trim(value: Any) -> str:
    return re.sub(f"^{_TRIMMED}+|{_TRIMMED}+$", "", text_of(value))


def _capitalize(value: Any) -> str:
    text = text_of(value).lower()
    return text[:1].upper() + text[1:]


def _title(value: Any) -> str:
    return " ".join(word[:1].upper() + word[1:].lower() for word in text_of(value).split(" "))


def _replace(value: Any, old: Any, new: Any, count: Any = None) -> str:
    text = text_of(value)
    if not isinstance(old, str):
        old = text_of(old)
    return text.replace(old, text_of(new), -1 if count is None else int(count))


def _join(value: Any, mark: Any = "", attribute: Any = None) -> str:
    items = list_of(value)
    if attribute is not None:
        items = [member(item, text_of(attribute)) for item in items]
    return text_of(mark).join("" if item is None else text_of(item) for item in items)


def _length(value: Any) -> int:
    if isinstance(value, Mapping):
        return len(value)
    return int(member(value, "length") or 0) if not isinstance(value, Missing) else 0


def number_of(value: Any) -> float:
    """The number at the start of a value, NaN without one."""
    if isinstance(value, bool) or value is None:
        return float(bool(value))
    if isinstance(value, int | float):
        return float(value)
    match = re.match(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", text_of(value)[:400])
    return float(match[1]) if match else math.nan


def shortest(number: float) -> int | float:
    """The number as an int if it is whole."""
    return int(number) if math.isfinite(number) and number == int(number) and abs(number) < 2**53 else number


def _int(value: Any, default: Any = 0) -> Any:
    number = number_of(value)
    return default if math.isnan(number) else int(number)


def _float(value: Any, default: Any = 0) -> Any:
    number = number_of(value)
    return default if math.isnan(number) else shortest(number)


def _round(value: Any, digits: Any = 0, method: Any = "round") -> Any:
    factor = 10.0 ** int(digits)
    scaled = number_of(value) * factor
    rounded = {"ceil": math.ceil, "floor": math.floor}.get(method, lambda x: math.floor(x + 0.5))(scaled)
    return shortest(rounded / factor)


def _dump(value: Any, indent: Any = None) -> str:
    if isinstance(value, Missing):
        text_of(value)
    compact = (",", ":") if not indent else None
    return json.dumps(
        _whole(value), ensure_ascii=False, indent=int(indent) if indent else None, separators=compact
    )


def _whole(value: Any) -> Any:
    if isinstance(value, float):
        return shortest(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _whole(item) for key, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list) else value


def _default(value: Any, other: Any = "", is_false: Any = False) -> Any:
    return other if isinstance(value, Missing) or (is_false and falsy(value)) else value


def _truncate(value: Any, size: Any = 255, kill_words: Any = False, end: Any = None) -> str:
    text = text_of(value)
    if len(text) <= int(size):
        return text
    cut = text[: int(size)]
    if not kill_words and " " in cut:
        cut = cut[: cut.rindex(" ")]
    return cut + ("..." if end is None else text_of(end))


def _load(value: Any) -> Any:
    try:
        return json.loads(text_of(value))
    except ValueError as error:
        raise TemplateRunError("the filter load needs JSON", found=str(error)[:80]) from None


def _escape(value: Any) -> str:
    text = text_of(value)
    for sign, entity in (
        ("&", "&amp;"),
        ('"', "&quot;"),
        ("'", "&#39;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ("`", "&#96;"),
    ):
        text = text.replace(sign, entity)
    return text


FILTERS: dict[str, Callable[..., Any]] = {
    "lower": lambda value: text_of(value).lower(),
    "upper": lambda value: text_of(value).upper(),
    "trim": _trim,
    "capitalize": _capitalize,
    "title": _title,
    "replace": _replace,
    "join": _join,
    "length": _length,
    "first": lambda value: (list_of(value) or [None])[0],
    "last": lambda value: (list_of(value) or [None])[-1],
    "reverse": lambda value: text_of(value)[::-1] if isinstance(value, str) else list_of(value)[::-1],
    "list": list_of,
    "int": _int,
    "float": _float,
    "round": _round,
    "abs": lambda value: shortest(abs(number_of(value))),
    "string": text_of,
    "safe": lambda value: value,
    "dump": _dump,
    "load": _load,
    "default": _default,
    "d": _default,
    "truncate": _truncate,
    "urlencode": lambda value: quote(text_of(value), safe="!'()*-._~"),
    "escape": _escape,
    "e": _escape,
    "nl2br": lambda value: re.sub(r"\r\n|\n", "<br />\n", text_of(value)),
    "wordcount": lambda value: len(re.findall(r"\w+", text_of(value), re.ASCII)),
}
TESTS: dict[str, Callable[[Any], bool]] = {
    "defined": lambda value: not isinstance(value, Missing),
    "undefined": lambda value: isinstance(value, Missing),
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "mapping": lambda value: isinstance(value, Mapping),
}
