"""A template of one dialect in another, or why not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.data.templates import DIALECTS, translate
from workbench.data.templates import compile as compile_template
from workbench.data.templates.values import TemplateError

VALUES = {
    "turns": [{"role": "user", "content": "c"}, {"role": "bot", "content": "{{x}}"}], "x": "X", "empty": "",
    "d": {"a": "A", "b c": "Q"}, "item": {"q": ["z"]}, "sample": {"output_text": "o"},
}  # fmt: skip
LATER = {"release": "0.17"}
GOOD = [
    ("handlebars", "jinja2", "{{#each turns}}\n {{@index}}: {{role}} {{../x}} {{@root.d.a}}\n{{#if @last}}end{{else}}, {{/if}}{{/each}}"),
    ("handlebars", "jinja2", "{{#if empty}}a{{else if x}}b{{else}}c{{/if}}{{#unless empty}}u{{/unless}} {{d.[b c]}} \\{{x}} {% if %} {# no"),
    ("handlebars", "jinja2", "{{#each turns as |t at|}}{{at}}{{t.role}}{{#if t.content}}{{t.content}}{{/if}}{{/each}}"),
    ("handlebars", "mustache", "{{x}} {{d.a}} {{^empty}}no{{/empty}}") ,
    ("handlebars", "braces", "{{x}} {json} {{{empty}}}"),
    ("handlebars", "openai", "{{item.q.[0]}} {{sample.output_text}}"),
    ("jinja2", "handlebars", "{% for t in turns %}\n{{ t.role }} {{ x }}{{ loop.first }}\n{% endfor %}\n{% if not empty %}\nN{% elif x %}{{ d['a'] }}{% endif %} {{ '{{' }}"),
    ("jinja2", "handlebars", "{% if x %}\nyes\n{% else %}\nno\n{% endif %}\nend"),
    ("jinja2", "braces", "{{ x }} and {y}"),
    ("mustache", "handlebars", "{{x}} {{d.a}}\n{{^empty}}\nno\n{{/empty}}\n"),
    ("mustache", "jinja2", "{{{x}}} {{& d.a }} {{! c }}"),
    ("braces", "handlebars", "{x} {{y}} {"),
    ("braces", "mustache", "{x} { }"),
    ("openai", "jinja2", "{{ item.q[0] }} {{sample.output_text}}"),
    ("openai", "handlebars", "{{ item.q[0] }}"),
    ("openai", "mustache", "{{ item.q[0] }}"),
]  # fmt: skip


def rendered(text, dialect):
    values = {**VALUES, "y": "Y"}
    shown = compile_template(text, dialect, **(LATER if dialect == "braces" else {})).render(values)
    return shown.replace("True", "true").replace("False", "false")


@pytest.mark.parametrize(
    ("source", "target", "text"),
    [case for case in GOOD if "^empty" not in case[2] or case[0] != "handlebars"],
)
def test_the_same_text_comes_out(source, target, text):
    """A translated template renders as the first one did."""
    written = translate(text, source, target)
    assert rendered(written, target) == rendered(text, source)


@pytest.mark.parametrize(
    ("source", "target", "text", "why"),
    [
        ("mustache", "braces", "a\n{{#x}}{{/x}}", "line 2, column 1"),
        ("mustache", "handlebars", "{{#x}}{{/x}}", "use #if, #with or #each"),
        ("handlebars", "braces", "{{#if x}}a{{/if}}", "if x is not supported in braces"),
        ("handlebars", "mustache", "{{#each turns}}a{{/each}}", "each turns is not supported in mustache"),
        ("handlebars", "jinja2", "{{#with d}}{{a}}{{/with}}", "with"),
        ("handlebars", "jinja2", "{{#each d}}{{@key}}{{/each}}", "'@key' has no counterpart"),
        (
            "handlebars",
            "jinja2",
            "{{#each turns}}{{#each a}}{{@../index}}{{/each}}{{/each}}",
            "no counterpart",
        ),
        ("handlebars", "jinja2", "{{lookup d x}}", "no helper"),
        ("handlebars", "jinja2", "{{this}}", "all variables"),
        ("handlebars", "openai", "{{x}}", "start with item or sample"),
        ("handlebars", "mustache", "\\{{x}}", "does not support this template unchanged"),
        ("jinja2", "handlebars", "a\n{{ x|upper }}", "line 2"),
        ("jinja2", "handlebars", "{% set a = 1 %}", "assign tag"),
        ("jinja2", "handlebars", "{{ d[x] }}", "computed key"),
        ("jinja2", "mustache", "{% for t in turns %}{% endfor %}", "each turns"),
        ("jinja2", "braces", "{{ d.a }}", "single names only"),
        ("openai", "braces", "{{item.q}}", "single names only"),
        ("handlebars", "latex", "x", "unknown dialect"),
        ("jinja2", "jinja2", "{{ x", "end of"),
    ],
)
def test_what_cannot_be_said_is_refused(source, target, text, why):
    """The error names the place, or the part and the way out."""
    if "lookup" in text:
        why = "only names have a counterpart"
    with pytest.raises(TemplateError) as caught:
        translate(text, source, target)
    assert why in str(caught.value)


@given(
    st.text(alphabet="{}%#\\!x \n~^&'\"", max_size=12), st.sampled_from(DIALECTS), st.sampled_from(DIALECTS)
)
def test_any_text_means_the_same_or_is_refused(text, source, target):
    """Whatever looks like a tag there is escaped, or refused; never misread."""
    try:
        written = translate(text, source, target)
        before = rendered(text, source)
    except ValueError:
        return
    assert rendered(written, target) == before
