"""Every rendering ends, within its room, with text or an error of ours."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.data.templates import DIALECTS
from workbench.data.templates import compile as compile_template
from workbench.data.templates.native import Jinja
from workbench.data.templates.values import (
    MAX_OUTPUT,
    MAX_SOURCE,
    MAX_STEPS,
    MAX_TOKENS,
    Page,
    TemplateError,
    TemplateRunError,
)

LONG = {"rows": list(range(1000)), "wide": ["x"] * 1000, "big": "x" * 2**20}

BOMBS = [
    ("handlebars", "{{#each rows}}{{#each ../rows}}{{#each ../../rows}}{{/each}}{{/each}}{{/each}}"),
    ("handlebars", "{{#each rows}}{{@root.big}}{{/each}}"),
    ("handlebars", "{{big}}" * 10),
    ("mustache", "{{#rows}}{{#wide}}{{#wide}}{{/wide}}{{/wide}}{{/rows}}"),
    ("mustache", "{{#wide}}{{big}}{{/wide}}"),
    ("braces", "{big}" * 10),
    ("openai", "{{item.big}}" * 10),
    ("jinja2", "{% for i in range(10**9) %}{% endfor %}"),
    ("jinja2", "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}"),
    ("jinja2", "{% for i in rows %}{{ big }}{% endfor %}"),
    ("jinja2", "{{ 'a' * 10**9 }}"),
    ("jinja2", "{{ rows * 10**6 }}"),
    ("jinja2", "{{ 2 ** 10000 }}"),
    ("jinja2", "{{ 10**4000 * 10**4000 * 10**4000 }}"),
    ("jinja2", "{{ '%0999999999d' % 5 }}"),
    ("jinja2", "{{ '{:999999999}'.format(5) }}"),
    ("jinja2", "{{ 'a'.ljust(10**9) }}"),
    ("jinja2", "{{ 'a'.join(rows) }}"),
    ("jinja2", "{{ wide|join(big) }}"),
    ("jinja2", "{{ big|replace('x', big) }}"),
    ("jinja2", "{% set n = namespace(t='aaaaaaaa') %}{% for i in range(60) %}{% set n.t = n.t ~ n.t %}{% endfor %}"),
    ("jinja2", "{% set n = namespace(t='aaaaaaaa') %}{% for i in range(60) %}{% set n.t = n.t + n.t %}{% endfor %}"),
    ("jinja2", "{% set n = namespace(t=[1]) %}{% for i in range(60) %}{% set n.t = n.t + n.t %}{% endfor %}"),
    ("jinja2", "{% set n = namespace(t=[1]) %}{% for i in range(60) %}{% set n.t = [n.t, n.t] %}{% endfor %}"),
    ("jinja2", "{% set n = namespace(t=[1]) %}{% for i in range(60) %}{% set n.t = {1: n.t, 2: n.t} %}{% endfor %}"),
    ("jinja2", "{% set n = namespace(t=[1]) %}{% for i in range(60) %}{% set n.t = (n.t, n.t) %}{% endfor %}"),
    ("jinja2", "{% set n = namespace(t=[1]) %}{% for i in range(60) %}{% set n.t = dict(a=n.t, b=n.t) %}{% endfor %}"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "text"), BOMBS)
def test_a_bomb_is_stopped(dialect, text):
    """What would fill memory or time ends in an error that says so."""
    values = {"item": LONG, "sample": {}} if dialect == "openai" else LONG
    options = {"names": ["big"]} if dialect == "braces" else {}
    with pytest.raises(TemplateRunError):
        compile_template(text, dialect, **options).render(values)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("{{ t|unique|list|length }}", 50_000),
        ("{{ t|sort|length }}", 50_000),
        ("{{ t is sequence and -1 is in t }}", 5_000),
        ("{{ -1 in t }}", 5_000),
        ("{{ t == u }}", 5_000),
        ("{{ long.count(-1) }}", 50_000),
        ("{{ long.index(49999) }}", 50_000),
        ("{{ [long]|string|length }}", 5_000),
        ("{{ [t]|tojson|length }}", 5_000),
    ],
)
def test_going_through_a_long_value_is_work(text, steps):
    """Whatever kind of sequence it is, and whichever way it is gone through."""
    long = list(range(50_000))
    page = Page()
    values = {"rows": LONG["rows"], "t": tuple(long), "u": tuple(long), "long": long}
    with suppress(TemplateRunError):
        Jinja(text).render(values, page)
    assert page.steps <= MAX_STEPS - steps


@pytest.mark.parametrize(
    "text",
    [
        "{{ (" + "1," * 100_000 + ")|length }}",
        "{{ [" + "1," * 100_000 + "]|length }}",
        "{{ 1 }}" * 100_000,
        "{% if a %}b{% endif %}" * 30_000,
        "{{ " + "~".join(["a"] * 100_000) + " }}",
    ],
    ids=["tuple", "list", "outputs", "ifs", "joined"],
)
def test_a_template_of_too_many_parts_is_refused(text):
    """Before it is compiled: that takes time with each of them."""
    with pytest.raises(TemplateError) as caught:
        compile_template(text)
    assert f"{MAX_TOKENS:,}" in caught.value.expected


@pytest.mark.parametrize(
    "text",
    [
        "{% macro f() %}{{ f() }}{% endmacro %}", "{% include 'x' %}", "{% extends 'x' %}", "{% import 'x' as y %}",
        "{% for x in rows recursive %}{% endfor %}", "{% block a %}{% endblock %}", "{% set x %}a{% endset %}",
        "{% filter upper %}a{% endfilter %}", "{{ x|attr('y') }}", "{{ x|center(9) }}", "{{ x|xmlattr }}", "{% autoescape true %}{% endautoescape %}",
        "{{ " + "(" * 10_000, "{% if a %}" * 10_000, "{{ " + "not " * 10_000 + "a }}", "{% for a in b %}" * 40 + "{% endfor %}" * 40,
        "{{ a" + "[0]" * 10_000 + " }}", "{{ a" + "|upper" * 10_000 + " }}", "{{ a" + " + a" * 10_000 + " }}", "{{ " + "[" * 3000 + "]" * 3000 + " }}",
        "{% elif %}", "{{ x", "{% for %}", "{{ x y }}", "{# open", "{{ 'a }}", "{{ 9" + "9" * 5000 + " }}",
    ],
)  # fmt: skip
def test_jinja_that_could_grow_or_break_is_refused(text):
    """Macros, imports, unknown filters, endless nesting and broken grammar are errors before anything runs."""
    with pytest.raises(TemplateError):
        compile_template(text)


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__ }}", "{{ ''['__class__'] }}", "{{ x.__init__.__globals__ }}", "{{ x|map(attribute='__class__')|list }}",
        "{{ range.__self__ }}", "{{ self }}", "{{ loop }}", "{{ cycler }}", "{{ lipsum() }}", "{{ namespace }}", "{{ x.append(1) }}",
        "{{ d.clear() }}", "{{ x.sort }}", "{% for i in x %}{{ loop.__init__ }}{% endfor %}", "{{ x is callable }}{{ x.__len__() }}",
        "{% set n = namespace() %}{{ n.__class__ }}", "{{ d.update({}) }}", "{{ nope }}", "{{ nope.a.b }}", "{% for i in nope %}{% endfor %}", "{{ 1/0 }}", "{{ x[9] }}",
    ],
)  # fmt: skip
def test_jinja_shows_data_only(text):
    """No way leads to Python's internals; a name without a value is an error where it is put."""
    try:
        shown = compile_template(text).render({"x": ["a"], "d": {}})
    except (TemplateRunError, TemplateError):
        return
    assert "class" not in shown
    assert "built-in" not in shown
    assert shown in {"[]", "False"}, shown


def test_a_template_has_a_length():
    """A template of a megabyte is the largest."""
    for dialect in DIALECTS:
        with pytest.raises(TemplateError, match="too long"):
            compile_template("x" * (MAX_SOURCE + 1), dialect)
        assert compile_template("x" * 1000, dialect).render({}) == "x" * 1000


def test_a_completion_of_a_megabyte_fits():
    """The room is for real data."""
    assert MAX_OUTPUT > len(compile_template("{{x}}", "mustache").render({"x": "x" * 2**20})) == 2**20


@pytest.mark.parametrize("dialect", DIALECTS)
def test_values_are_plain_and_shallow(dialect):
    """An object, or a list that holds itself, is named and refused."""
    endless: list[object] = []
    endless.append(endless)
    for value in (object(), endless):
        with pytest.raises(TemplateRunError, match="'x' is not plain data"):
            compile_template("a", dialect).render({"x": value})


WORDS = "{{ }} {{{ }}} {% %} { } #if /if #each /each else x . .. / @index ~ ! -- | ( ) [ ] = > ^ & # item sample endfor endif raw 0 é"
PIECES = st.sampled_from([*WORDS.split(" "), " ", "\n", '"', "'", "\\", "for x in y", "if x", "as |a|"])


@settings(max_examples=100)
@given(st.lists(PIECES, max_size=30).map("".join), st.sampled_from(DIALECTS))
def test_any_text_renders_or_is_refused(text, dialect):
    """Whatever the template, the outcome is text or an error of ours."""
    try:
        template = compile_template(text, dialect)
        shown = template.render({"x": ["a", {"b": None}], "item": {"a": 1}, "sample": {}})
    except (TemplateError, TemplateRunError):
        return
    assert isinstance(shown, str)


@given(st.text(max_size=200), st.sampled_from(DIALECTS))
def test_text_without_tags_is_itself(text, dialect):
    """Nothing is lost of what is no tag."""
    quiet = text.replace("{", "(").replace("}", ")").replace("\r", "\n")
    assert compile_template(quiet, dialect).render({}) == quiet


def test_unknown_names_list_what_there_is():
    """A dialect or an option that does not exist is named."""
    with pytest.raises(TemplateError, match="braces, handlebars, jinja2, mustache, openai"):
        compile_template("x", "liquid")
    with pytest.raises(TemplateError, match="no such option"):
        compile_template("x", "mustache", names=["a"])
    with pytest.raises(TemplateError, match="text"):
        compile_template(7)


MANY = 400_000
LONG_TEXTS = ["{{" * MANY, "{{" + " " * MANY, "\n" * MANY + "{{! x }}" + "\n" * MANY + "x", "\\" * MANY, "{" * MANY, " \n" * MANY, "{{{" + " " * MANY + "}", "{{! " + "-" * MANY, '{{"' + "\\" * MANY, "{x}" * 100_000]  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", LONG_TEXTS, ids=range(len(LONG_TEXTS)))
def test_long_texts_are_read_in_one_go(dialect, text):
    """Half a megabyte of openings, spaces or line breaks takes no longer than reading it."""
    options = {"names": ["x"]} if dialect == "braces" else {}
    with suppress(TemplateError, TemplateRunError):
        compile_template(text, dialect, **options).render({"x": "y"})


def test_long_numbers_are_compared_in_one_go():
    """Text that almost is a number, too."""
    text = "{{#each rows}}{{#with @root.x}}{{#with @root.n}}{{.}}{{/with}}{{/with}}{{/each}}"
    assert compile_template(text, "handlebars").render({"rows": [1], "x": "1" * MANY + "x", "n": 1}) == "1"
