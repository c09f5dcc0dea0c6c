"""What models cost."""

import json
from datetime import date

import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_client import completion
from workbench.core.errors import FormatError
from workbench.judges import prices
from workbench.judges.prices import price_of, read_prices


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-4o-mini", "gpt-4o-mini"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("openai/gpt-4o-2024-08-06", "gpt-4o"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("gpt-4o-audio-preview", None),
        ("llama-3.1-8b-instruct", None),
        ("gpt-4", None),
        ("", None),
    ],
)
def test_a_model_has_its_price_or_none(model, expected):
    """Snapshots and provider's prefixes are the model; a relative is not."""
    assert price_of(model) == (wb.judges.PRICES[expected] if expected else None)


def test_the_table_is_there_to_be_edited(monkeypatch):
    """A price put in counts from then on; it is in dollars for a million tokens."""
    monkeypatch.setitem(wb.judges.PRICES, "mine", wb.judges.Price(2.0, 10.0))
    assert price_of("mine").of(wb.judges.Usage(1_000, 100)) == pytest.approx(0.003)


SAID = '{"reasoning": "fine", "score": "PASS"}'


def with_usage(**usage):
    return {**completion(SAID), "usage": {"prompt_tokens": 1_000, "completion_tokens": 100, **usage}}


@pytest.mark.parametrize(
    ("details", "cost"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 600}}, (400 * 2 + 600 * 0.5 + 100 * 10) / 1e6),
        (
            {"prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 300}},
            (100 * 2 + 600 * 0.5 + 300 * 2.5 + 100 * 10) / 1e6,
        ),
        (
            {"prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 900}},
            (600 * 0.5 + 400 * 2.5 + 100 * 10) / 1e6,
        ),
        ({"prompt_tokens_details": {"cached_tokens": 5_000}}, (1_000 * 0.5 + 100 * 10) / 1e6),
        ({"prompt_tokens_details": {"cached_tokens": "many"}}, (1_000 * 2 + 100 * 10) / 1e6),
        ({"prompt_tokens_details": None}, (1_000 * 2 + 100 * 10) / 1e6),
        ({"prompt_tokens_details": {"cached_tokens": 600}, "cost": 0.25}, 0.25),
    ],
    ids=["some", "some written", "too many written", "more than all", "nonsense", "none", "server's own"],
)
def test_cached_input_has_its_own_price(details, cost, monkeypatch):
    """Tokens that the server read from its cache cost their price; what a server charges goes before the table."""
    monkeypatch.setitem(wb.judges.PRICES, "m", wb.judges.Price(2.0, 10.0, cached_input=0.5, cache_write=2.5))
    with server(lambda *_: (200, {}, with_usage(**details))) as (address, _):
        judge = wb.BinaryJudge("polite", model="m", base_url=address)
        report = judge.run([{"prompt": "q", "completion": "a"}], progress=False, budget=1.0)
    assert report.frame["cost"].iloc[0] == pytest.approx(cost)


def test_without_a_cached_price_all_input_costs_the_same():
    """The price of `input` counts for cached tokens, too."""
    price, cached = wb.judges.Price(2.0, 10.0), wb.judges.Usage(1_000, 100, None, 600, 100)
    assert price.of(cached) == price.of(wb.judges.Usage(1_000, 100)) == price.max_of(1_000, 100)


def test_a_reservation_counts_what_a_cache_may_cost():
    """Storing a request in the server's cache may cost more than its input."""
    assert wb.judges.Price(2.0, 10.0, 0.5, 2.5).max_of(1_000, 100) == pytest.approx(0.0035)


def test_a_table_replaces_prices(monkeypatch, tmp_path):
    """From a dict or an edited copy of the installed table; models that it lacks keep their price, or lose it."""
    monkeypatch.setattr(prices, "PRICES", table := dict(wb.judges.PRICES))
    wb.judges.set_prices({"mine": (1, 2), "gpt-6-luna": {"input": 9, "output": 9, "cached_input": 3}})
    assert (price_of("mine"), price_of("gpt-6-luna").cached_input) == (wb.judges.Price(1, 2), 3)
    assert "gpt-4o" in table
    document = json.loads(prices._TABLE.read_text("utf-8"))
    document["models"] = {"gpt-4o": {**document["models"]["gpt-4o"], "input": 2.0}}
    document["read"] = "2026-11-20"
    (tmp_path / "p.json").write_text(json.dumps(document), "utf-8")
    wb.judges.set_prices(tmp_path / "p.json", replace=True)
    assert set(table) == {"gpt-4o"}
    assert (table["gpt-4o"].input, table["gpt-4o"].read) == (2.0, date(2026, 11, 20))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"m": {"input": 1}}, "needs input and output"),
        ({"m": (1, -2)}, "output must be a number of 0 or more"),
        ({"m": {"input": 1, "output": 2, "cached": 1}}, "unknown part of a price"),
        ({"m": {"input": 1, "output": 2, "read": "yesterday"}}, "read must be a day"),
        ("missing.json", "cannot be read"),
    ],
)
def test_a_wrong_table_changes_nothing(table, message, monkeypatch):
    """The error names the model, and no price is set."""
    before = dict(wb.judges.PRICES)
    with pytest.raises(FormatError, match=message):
        wb.judges.set_prices(table)
    assert before == wb.judges.PRICES


def test_the_installed_table_is_read_as_a_users():
    """The table of `PRICES` is the file that users copy; a cached price is below that of the input."""
    assert read_prices(prices._TABLE).keys() <= wb.judges.PRICES.keys()
    assert all((price.cached_input or 0) < price.input for price in wb.judges.PRICES.values())
