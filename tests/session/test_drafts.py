"""What is being written, without a widget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.session.drafts import Drafts

TEXTS = st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=6)


@given(TEXTS)
def test_no_typed_text_is_lost(texts):
    """However often something else is put into the editor, every text of a person comes back."""
    drafts = Drafts()
    for text in texts:
        drafts.source = text
        drafts.fill("a template", "name")
    seen = {drafts.source}
    for _ in range(len(texts) + 1):
        drafts.restore()
        seen.add(drafts.source)
    assert set(texts) <= seen | {"a template"}


def test_what_was_put_there_is_nobodys_text():
    """An untouched template makes room for the next without a trace; nothing to bring back changes nothing."""
    drafts = Drafts()
    drafts.fill("one", "a")
    drafts.fill("two", "b")
    assert drafts.earlier == []
    drafts.restore()
    assert (drafts.source, drafts.name) == ("two", "b")
