"""What holds for all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# No deadlines: on a busy machine they measure the machine.
settings.register_profile("workbench", deadline=None)
settings.load_profile("workbench")


def pytest_configure() -> None:
    """Nobody's key is spent on tests, nor by the notebooks they run."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "WORKBENCH_MODEL"):
        os.environ.pop(name, None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow environments and browsers come last: a newcomer sees the quick tests first.

    It is also needed: Playwright keeps an event loop running in the main thread while a browser is open.
    """
    items.sort(key=lambda item: ("browser" in item.path.parts, _is_slow(item)))


def _is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


@pytest.fixture(autouse=True, scope="session")
def _new_prices() -> Iterator[None]:
    """Prices are as new as when they were read, whenever the tests run: else reports would get a note more."""
    from workbench.judges.asking import prices

    patch = pytest.MonkeyPatch()
    patch.setattr(prices, "_today", lambda: max(one.read for one in prices.PRICES.values() if one.read))
    yield
    patch.undo()


@pytest.fixture(autouse=True, scope="session")
def _interrupts() -> None:
    """Ctrl-C works although a shell that starts tests in the background sets it to be ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
