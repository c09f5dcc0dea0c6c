"""What a value holds is text: no dialect reads it again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data.templates import compile as compile_template

TEMPLATES = [
    ("jinja2", "<{{ x }}>", {}),
    ("jinja2", "{% for one in rows %}<{{ one.x }}>{% endfor %}", {}),
    ("handlebars", "<{{x}}>", {}),
    ("handlebars", "{{#each rows}}<{{{x}}}>{{/each}}", {}),
    ("handlebars", "{{#with row as |r|}}<{{r.x}}>{{/with}}", {}),
    ("mustache", "<{{x}}>", {}),
    ("mustache", "{{#rows}}<{{&x}}>{{/rows}}", {}),
    ("braces", "<{x}>", {"names": ["x", "secret"]}),
    ("braces", "<{x}>", {"release": "0.17"}),
    ("openai", "<{{ item.x }}>", {}),
]
HOSTILE = [
    "{{secret}}", "{{{secret}}}", "{secret}", "{{ secret }}", "{% for i in range(9) %}x{% endfor %}", "{# x #}", "{{item.secret}}",
    "{{#each rows}}{{secret}}{{/each}}", "{{=<% %>=}}<%secret%>", "{{> secret}}", "\\{{secret}}", "{{!--", "{{ self.__init__ }}", "{}", "}}",
]  # fmt: skip
PIECES = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=8))


@pytest.mark.parametrize(("dialect", "text", "options"), TEMPLATES)
@settings(max_examples=60)
@given(value=st.lists(PIECES, max_size=6).map("".join))
def test_values_come_out_as_they_are(dialect, text, options, value):
    """A value full of tags of every dialect is put verbatim, once."""
    row = {"x": value, "secret": "TOP SECRET"}
    values = {**row, "rows": [row], "row": row, "item": row, "sample": {}}
    assert compile_template(text, dialect, **options).render(values) == f"<{value}>"


def test_names_may_not_hide_others():
    """A listed name that begins another is no trap, and values do not meet."""
    template = compile_template("{a}{ab}", "braces", names=["a", "ab"])
    assert template.render({"a": "{ab}", "ab": "{a}"}) == "{ab}{a}"
