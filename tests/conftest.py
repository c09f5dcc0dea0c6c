"""What holds for all tests."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow environments and browsers come last: a newcomer sees the quick tests first.

    It is also needed: Playwright keeps an event loop running in the main thread while a browser is open.
    """
    items.sort(key=lambda item: ("browser" in item.path.parts, _is_slow(item)))


def _is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None
