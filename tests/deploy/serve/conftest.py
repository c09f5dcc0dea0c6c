"""One server for the tests that need no settings of their own."""

import pytest

from tests.deploy.serve.servers import expected, served


@pytest.fixture(scope="module")
def server():
    """A server of the grader `expected`."""
    with served(expected()) as running:
        yield running


@pytest.fixture(scope="module")
def lenient():
    """The same with 0.5 for a row without a score."""
    with served(expected(), on_error=0.5) as running:
        yield running
