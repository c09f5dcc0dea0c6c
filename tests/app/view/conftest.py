"""Pages that are closed in the end."""

from __future__ import annotations

import pytest

from tests.app.view.page import Page


@pytest.fixture
def page_of():
    """Make pages; they are closed in the end."""
    made = []

    def new(*args, **settings):
        made.append(Page(*args, **settings))
        return made[-1]

    yield new
    for page in made:
        page.close()
