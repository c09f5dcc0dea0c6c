"""What models cost."""

import pytest

import workbench as wb
from workbench.judges.budget import price_of


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
    assert price_of("mine").of(1_000, 100) == pytest.approx(0.003)
