"""The jinja2 environment: its sandbox, an allow-list of filters and methods, and counters.

Loaded on first use only, because jinja2 is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any

from jinja2 import ChainableUndefined, Undefined, pass_environment
from jinja2.environment import Environment
from jinja2.filters import make_attrgetter
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from workbench.data.templates.values import MAX_OUTPUT, MAX_STEPS, JsonList, Page, TemplateRunError

PAGE: ContextVar[Page] = ContextVar("page")
"""The remaining limits of the current rendering."""

_MAX_MADE = 100_000
"""Maximum parts, counted as often as they appear, of a list or dict made in a template."""

_MAX_BITS = 4096
_FREE = 10
"""Parts of a value that are read, or compared, in the time of one step."""
_KEPT_FILTERS = (
    "abs capitalize count d default dictsort first float int items last length list lower map max min reject "
    "rejectattr reverse select selectattr sort title trim truncate unique upper wordcount"
)
_METHODS: dict[type, frozenset[str]] = {
    str: frozenset(
        [
            "capitalize",
            "count",
            "endswith",
            "find",
            "index",
            "isdigit",
            "islower",
            "isupper",
            "lower",
            "lstrip",
            "rfind",
            "rstrip",
            "split",
            "splitlines",
            "startswith",
            "strip",
            "title",
            "upper",
        ]
    ),
    dict: frozenset({"get", "items", "keys", "values"}),
    list: frozenset({"count", "index"}),
}


class UndefinedVariable(ChainableUndefined):
    """A name without a value: false in a test, an error in an output or a loop."""

    __str__ = __iter__ = __len__ = Undefined._fail_with_undefined_error  # noqa: SLF001 (as its own subclasses do)


class Sandbox(ImmutableSandboxedEnvironment):
    """Plain data, a few methods, and operators that reject a result that is too large before they compute it."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def getattr(self, obj: Any, attribute: str) -> Any:
        """A dict's key first: a row's column called "items" is meant, not the method."""
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:  # noqa: ARG002 (jinja's signature)
        """Whether the template may read it."""
        if attr.startswith("_"):
            return False
        if isinstance(obj, LoopContext | Namespace | Undefined):
            return True
        return any(attr in names for kind, names in _METHODS.items() if isinstance(obj, kind))

    def wrap_str_format(self, value: Any) -> None:  # noqa: ARG002 (jinja's signature)
        """No `str.format`: a width in it fills the memory."""
        return

    def call(self, __context: Any, __obj: Any, *values: Any, **named: Any) -> Any:  # noqa: PYI063 (jinja's signature)
        """Call a method; the lengths of its object and arguments are counted as steps."""
        PAGE.get().step(1 + sum(map(_weight, (getattr(__obj, "__self__", None), *values))))
        return super().call(__context, __obj, *values, **named)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Apply an operator if its result will not be too large."""
        PAGE.get().step()
        if not _is_small_enough(operator, left, right):
            raise TemplateRunError(f"the result of {operator} is too large, or it takes numbers only")
        result = super().call_binop(context, operator, left, right)
        return _bounded(result) if isinstance(result, list | tuple) else result


def _is_small_enough(operator: str, left: Any, right: Any) -> bool:
    sequences = [side for side in (left, right) if isinstance(side, str | list | tuple)]
    if operator == "%":
        # On a text `%` is formatting, and a width such as `%1000000000d` fills the memory.
        return not isinstance(left, str | bytes)
    if sequences and operator == "+":
        return sum(map(len, sequences)) <= MAX_OUTPUT
    if sequences and operator == "*":
        times = right if sequences[0] is left else left
        return isinstance(times, int) and len(sequences[0]) * times <= MAX_OUTPUT
    if isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length() * right if operator == "**" else left.bit_length() + right.bit_length()
        return bits <= _MAX_BITS
    return True


def _measure(value: Any, limit: int) -> None:
    """Reject a value that is not plain data, or has too many parts when each is counted as often as it appears."""
    pending, count = [value], 0
    while pending:
        item = pending.pop()
        # The larger limit is that of a value inserted as text, whose characters count.
        count += len(item) if isinstance(item, str) and limit > _MAX_MADE else 1
        if count > limit:
            raise TemplateRunError("a list or dict of the template is too large", expected=f"{limit:,} parts")
        if isinstance(item, Mapping):
            pending += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple):
            pending += item
        elif not isinstance(item, str | int | float | None):
            raise TemplateRunError(f"a {type(item).__name__} is not data and has no text")
    if count > _FREE:
        PAGE.get().step(count // _FREE)


def _printable(value: Any) -> Any:
    """The output of an expression: text unchanged, other values as Python writes them, within the limit."""
    if isinstance(value, str) or (isinstance(value, int | float) or value is None):
        return value
    if isinstance(value, Undefined):
        return str(value)
    if isinstance(value, range):
        value = list(value)
    _measure(value, MAX_OUTPUT)
    return str(value)


def _bounded(value: Any) -> Any:
    _measure(value, _MAX_MADE)
    return value


def _counted_items(value: Any) -> Iterator[Any]:
    page = PAGE.get()
    for item in value:
        page.step()
        yield item


def _joined(values: Iterable[Any], separator: str = "") -> str:
    texts: list[str] = []
    size = 0
    for value in values:
        PAGE.get().step()
        texts.append(str(_printable(value)))
        size += len(texts[-1]) + len(separator)
        if size > MAX_OUTPUT:
            raise TemplateRunError(
                "a text of the template is too long", expected=f"{MAX_OUTPUT:,} characters"
            )
    return separator.join(texts)


@pass_environment
def _join(env: Environment, value: Any, d: str = "", attribute: str | int | None = None) -> str:
    return _joined(value if attribute is None else map(make_attrgetter(env, attribute), value), str(d))


def _replace(value: Any, old: str, new: str, count: int | None = None) -> str:
    text, times = str(_printable(value)), -1 if count is None else count
    if len(text) + text.count(old) * len(new) > MAX_OUTPUT:
        raise TemplateRunError("a text of the template is too long", expected=f"{MAX_OUTPUT:,} characters")
    return text.replace(old, new, times)


def _round(value: float, precision: int = 0) -> float:
    return round(float(value), max(-20, min(20, precision)))


def _tojson(value: Any, indent: int | None = None) -> str:
    _measure(value, MAX_OUTPUT)
    # As jinja writes it, except for its HTML escapes.
    return json.dumps(value, ensure_ascii=False, indent=None if indent is None else min(indent, 8))


def _indent(value: Any, width: int = 4, first: bool = False) -> str:
    lines = str(_printable(value)).split("\n")
    space = " " * min(width, 40)
    indented_lines = [space + line if line else line for line in lines[1:]]
    return _joined([(space if first else "") + lines[0], *indented_lines], "\n")


def _range(*bounds: int) -> range:
    numbers = range(*bounds)
    first, last = numbers.start, numbers.stop
    if abs(last - first) > MAX_STEPS * abs(numbers.step):
        raise TemplateRunError(
            "range() is too long", found=f"range{bounds}"[:80], expected=f"at most {MAX_STEPS:,}"
        )
    return numbers


def _dict(*values: Any, **named: Any) -> dict[str, Any]:
    result: dict[str, Any] = _bounded(dict(*values, **named))
    return result


GLOBALS: dict[str, Any] = {"range": _range, "dict": _dict, "namespace": Namespace}


def _weight(value: Any) -> int:
    """Number of steps for one pass over a value."""
    if isinstance(value, str):
        return len(value) // 1000
    return len(value) if isinstance(value, list | tuple | dict | range) else 0


def _weighed(value: Any) -> Any:
    """A value that is about to be compared: two long lists are compared to their ends."""
    PAGE.get().step(1 + _weight(value) // _FREE)
    return value


def _charged(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The filter, with the length of its arguments counted as steps of the rendering."""

    @wraps(rule)
    def charged(*values: Any, **named: Any) -> Any:
        PAGE.get().step(1 + sum(map(_weight, values)))
        return rule(*values, **named)

    return charged


@cache
def environment() -> Sandbox:
    """The environment that all templates share."""
    # Not optimized: jinja would work out constant expressions while it compiles, where nothing is counted.
    sandbox = Sandbox(
        autoescape=False,
        undefined=UndefinedVariable,
        finalize=_printable,
        optimized=False,
        keep_trailing_newline=True,
    )
    own: dict[str, Callable[..., Any]] = {
        "indent": _indent, "join": _join, "replace": _replace, "round": _round, "tojson": _tojson,
        "string": lambda value: str(_printable(value)), "safe": lambda value: value,
    }  # fmt: skip
    builtin = {name: sandbox.filters[name] for name in _KEPT_FILTERS.split()}
    sandbox.filters = {name: _charged(rule) for name, rule in {**builtin, **own}.items()}
    sandbox.filters |= {
        "_turns": _counted_items,
        "_joined": _joined,
        "_bounded": _bounded,
        "_weighed": _weighed,
    }
    sandbox.globals = dict(GLOBALS)
    return sandbox


assert JsonList.__str__ is not list.__str__  # `_printable` relies on it for the lists that read as JSON
