"""List prices of models: the dated table that is installed, `prices.json`, and how a user replaces it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from workbench.core.display_text import did_you_mean
from workbench.core.errors import FormatError
from workbench.core.files import read_bytes
from workbench.graders.base import is_number
from workbench.judges.protocol import Usage

_MAX_AGE = timedelta(days=180)
"""Age above which a run reports that its prices are old: providers changed their prices about twice a year in 2026."""
_today = date.today  # replaced by tests
_TABLE = Path(__file__).with_name("prices.json")
_MAX_BYTES = 4 * 2**20
"""Maximum size of a file of prices. Workbench limit."""
_NAMES = ("input", "output", "cached_input", "cache_write", "batch", "read", "note")


@dataclass(frozen=True)
class Price:
    """List price of a model.

    Attributes:
        input: US dollars per million tokens of the request.
        output: US dollars per million tokens of the reply, thinking included.
        cached_input: US dollars per million tokens of the request that the server read from its own cache of earlier
            requests; None for the price of `input`.
        cache_write: US dollars per million tokens of the request that the server stored in that cache; None as above.
        batch: Share of these prices that a request in a batch costs; 1 for no discount.
        read: Day on which it was read from the provider's list; None for a user's price, which never counts as old.
    """

    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None
    batch: float = 1.0
    read: date | None = field(default=None, compare=False, repr=False)

    def of(self, usage: Usage) -> float:
        """US dollars for one reply, by its tokens."""
        cached, written = usage.cached_tokens, usage.cache_write_tokens
        new = usage.prompt_tokens - cached - written
        dollars = self._sum(new, cached, written) + usage.completion_tokens * self.output
        return round(dollars / 1e6, 12)

    def max_of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """The maximum US dollars of a reply, with any use of the server's cache.

        Args:
            prompt_tokens: Tokens of the request.
            completion_tokens: Tokens of the reply.
        """
        dearest = max(self._sum(prompt_tokens, 0, 0), self._sum(0, 0, prompt_tokens))
        return round((dearest + completion_tokens * self.output) / 1e6, 12)

    def _sum(self, new: float, cached: float, written: float) -> float:
        cached_price = self.input if self.cached_input is None else self.cached_input
        write_price = self.input if self.cache_write is None else self.cache_write
        return new * self.input + cached * cached_price + written * write_price


def read_prices(table: Mapping[str, Any] | str | os.PathLike[str]) -> dict[str, Price]:
    """The prices of a table, without setting them.

    Args:
        table: By model, a `Price`, a pair (input, output), or a dict with `input` and `output`, optionally `cached_input`,
            `cache_write`, `batch` and `read`. Or the path of a JSON file with these dicts under `models`, such as an edited copy of
            `workbench/judges/prices.json`; its `read` is the day of all prices without one.

    Raises:
        FormatError: The file cannot be read, or a price is not a number of 0 or more; it names the model.

    Example:
        >>> read_prices({"my-model": (0.2, 0.8)})
        {'my-model': Price(input=0.2, output=0.8, cached_input=None, cache_write=None, batch=1.0)}
    """
    if isinstance(table, Mapping):
        return {str(model): _price(str(model), price, None, "") for model, price in table.items()}
    where = str(Path(table))
    try:
        document = json.loads(read_bytes(Path(table), FormatError, _MAX_BYTES))
    except OSError as error:
        raise FormatError(
            "the table of prices cannot be read", where=where, found=error.strerror or ""
        ) from None
    except (ValueError, RecursionError) as error:
        raise FormatError("the table of prices is not JSON", where=where, found=str(error)[:200]) from None
    models = document.get("models") if isinstance(document, Mapping) else None
    if not isinstance(models, Mapping):
        raise FormatError(
            "a table of prices needs models", where=where, expected='{"read": "2026-10-03", "models": {...}}',
            hint=f"edit a copy of {_TABLE}",
        )  # fmt: skip
    read = _day(document.get("read"), where)
    return {str(model): _price(str(model), price, read, where) for model, price in models.items()}


def set_prices(table: Mapping[str, Any] | str | os.PathLike[str], *, replace: bool = False) -> None:
    """Set the prices of a table in `PRICES`, for this process.

    Args:
        table: As in `read_prices`.
        replace: Whether models that it does not list lose their price. Default: they keep it.

    Raises:
        FormatError: As `read_prices`; then no price is changed.
    """
    prices = read_prices(table)
    if replace:
        PRICES.clear()
    PRICES.update(prices)


def _price(model: str, price: Any, read: date | None, where: str) -> Price:
    if isinstance(price, Price):
        return price
    where = f"{where}, {model}" if where else model
    if isinstance(price, list | tuple) and len(price) == 2:
        price = {"input": price[0], "output": price[1]}
    if not isinstance(price, Mapping) or not {"input", "output"} <= price.keys():
        raise FormatError("a price needs input and output", where=where, found=repr(price)[:80])
    for name in price.keys() - set(_NAMES):
        raise FormatError("unknown part of a price", where=where, found=repr(name)[:80], expected=", ".join(_NAMES),
                          hint=did_you_mean(str(name), _NAMES))  # fmt: skip
    numbers = {name: price[name] for name in _NAMES[:5] if price.get(name) is not None}
    for name, value in numbers.items():
        if not is_number(value) or value < 0:
            raise FormatError(
                f"{name} must be a number of 0 or more", where=where, found=repr(value)[:80],
                expected="US dollars per million tokens" if name != "batch" else "a share, such as 0.5",
            )  # fmt: skip
    return Price(**numbers, read=_day(price.get("read"), where) or read)


def _day(value: Any, where: str) -> date | None:
    try:
        return None if value is None else date.fromisoformat(value)
    except (TypeError, ValueError):
        raise FormatError(
            "read must be a day", where=where, found=repr(value)[:80], expected="2026-10-03"
        ) from None


PRICES: dict[str, Price] = read_prices(_TABLE)
"""Price by model, as the providers' lists had them on the day in `Price.read`; `prices.json` names the sources. Temporary
discounts are left out, so that a budget is not exceeded when they end.

Add your prices: `PRICES["my-model"] = Price(input=0.2, output=0.8)`; `Price(0, 0)` for a server that you run; or many,
from a dict or file, with `set_prices`."""

_SNAPSHOT = re.compile(r"-(?:\d{4}-\d\d-\d\d|\d{8}|\d\d-\d{4}|\d{3,4})\Z")
"""How providers end the name of a snapshot: with a date or number. Another version, such as 4-5 for 4, is not a snapshot."""


def price_of(model: str) -> Price | None:
    """A model's price. A dated snapshot has the price of its model; a provider's prefix ("openai/") is ignored.

    Returns:
        None if the table does not have it.

    Example:
        >>> price_of("openai/gpt-4o-mini-2024-07-18")
        Price(input=0.15, output=0.6, cached_input=0.075, cache_write=None, batch=0.5)
        >>> price_of("gpt-4o-audio") is None
        True
    """
    for name in (model, model.rpartition("/")[2]):
        for listed_name in (name, _SNAPSHOT.sub("", name)):
            if listed_name in PRICES:
                return PRICES[listed_name]
    return None


def old_prices_note(models: Iterable[str]) -> str:
    """A note for a run of these models if a price is older than 180 days; otherwise ""."""
    dates = [price.read for price in map(price_of, models) if price is not None and price.read is not None]
    if not dates or _today() - min(dates) <= _MAX_AGE:
        return ""
    return (
        f"Prices in wb.judges.PRICES were read on {min(dates)}, more than {_MAX_AGE.days} days ago; the cost of this run uses them. "
        'Look up current prices and set them: wb.judges.PRICES["my-model"] = wb.judges.Price(input=..., output=...).'
    )
