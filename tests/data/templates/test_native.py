"""Templates that only put texts under their names: filled without Jinja, with what Jinja would write."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.data.templates.native import Jinja
from workbench.data.templates.values import MAX_OUTPUT, Page, TemplateRunError

TEXT = st.text(alphabet="ab {}%\n#é", max_size=8).filter(
    lambda text: not any(tag in text for tag in ("{{", "{%", "{#"))
)
PUT = st.sampled_from(
    ["{{ a }}", "{{b}}", "{{ a or '(none)' }}", '{{ b or "" }}', "{{- a }}", "{{ c -}}", "{# no #}"]
)
VALUES = st.dictionaries(
    st.sampled_from("abc"),
    st.one_of(st.text(max_size=4), st.none(), st.integers(), st.lists(st.text(max_size=2))),
    max_size=3,
)


def outcome(render, values):
    """What is written, or what is said of it."""
    page = Page()
    try:
        render(values, page)
    except TemplateRunError as error:
        return str(error)
    return page.text()


@given(st.lists(st.one_of(TEXT, PUT), max_size=6).map("".join), VALUES)
def test_what_is_filled_is_what_jinja_writes(text, values):
    """Texts, empty and missing ones, and what is no text: the same text, or the same error."""
    try:
        engine = Jinja(text)
    except Exception:  # pieces that make a tag together
        return
    assert outcome(engine.render, values) == outcome(engine._render, values)


@pytest.mark.parametrize(
    ("text", "is_filled"),
    [
        ("a {{ b }} c", True),
        ("{{ b or '(none)' }}", True),
        ("", True),
        ("{{ b.c }}", False),
        ("{{ b or c }}", False),
        ("{{ b or 1 }}", False),
        ("{{ b | upper }}", False),
        ("{{ range }}", False),
        ("{{ self }}", False),
        ("{{ \ufb01 }}", False),
        ("{% if b %}c{% endif %}", False),
        ("{{ b ~ c }}", False),
    ],
)
def test_which_templates_are_filled(text, is_filled):
    """Those of texts and names alone."""
    assert (Jinja(text)._pieces is not None) == is_filled


def test_what_is_filled_has_the_same_bounds():
    """No more characters than a page may have."""
    engine = Jinja("{{ a }}{{ a }}")
    half = "x" * (MAX_OUTPUT // 2)
    assert len(outcome(engine.render, {"a": half})) == MAX_OUTPUT
    assert outcome(engine.render, {"a": half + "x"}) == outcome(engine._render, {"a": half + "x"})


def test_what_is_too_long_is_never_made():
    """A thousand times a megabyte is refused before it is put together."""
    engine = Jinja("{{ a }}" * 1000)
    tracemalloc.start()
    try:
        assert "writes too much" in outcome(engine.render, {"a": "x" * 2**20})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * 2**20
