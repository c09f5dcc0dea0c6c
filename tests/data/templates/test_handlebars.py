"""Handlebars beyond what the real one is compared on: what is refused, and how it says so."""

import pytest

from workbench.data.templates import compile as compile_template
from workbench.data.templates.values import TemplateError, TemplateRunError


def handlebars(text, **values):
    return compile_template(text, "handlebars").render(values)


@pytest.mark.parametrize(
    ("text", "what", "line", "column"),
    [
        ("a\n  {{> part}}", "partials", 2, 3),
        ("{{#> part}}{{/part}}", "partials", 1, 1),
        ("{{upper name}}", "no helper 'upper'", 1, 3),
        ("x\n{{#repeat 3}}{{/repeat}}", "no block helper 'repeat'", 2, 4),
        ("{{#if a}}\n{{/each}}", "'each' is closed, 'if' is open", 2, 1),
        ("{{#if a}}", "not closed", 1, 1),
        ("{{a", "not closed", 1, 1),
        ("{{else}}", "without a block", 1, 1),
        ("{{a.this}}", "invalid path", 1, 3),
        ("{{a}}}", "ends with '}}}'", 1, 1),
        ("{{#if a b}}{{/if}}", "if takes 1 argument", 1, 4),
        ("{{#if a as |x|}}{{/if}}", "each and with only", 1, 4),
        ("{{if a}}", "no helper 'if'", 1, 3),
        ("{{each}}", "no helper 'each'", 1, 3),
        ("{{* decorate}}", "decorators", 1, 1),
        ("{{{{x}}}} {{{{/x}}}}", "only {{{{raw}}}}", 1, 1),
        ("{{a | upper}}", "cannot be parsed", 1, 5),
    ],
)
def test_a_mistake_names_its_place(text, what, line, column):
    """A template that cannot be read says what is wrong, and where."""
    with pytest.raises(TemplateError) as caught:
        compile_template(text, "handlebars")
    assert what in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert f"line {line}, column {column}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n  {{#if yes}}\n  in\n  {{else}}\n  out\n  {{/if}}\nb", "a\n  in\nb"),
        ("{{#each rows}}\n- {{this}}\n{{/each}}\n{{! c }}\nend", "- 1\n- 2\nend"),
        ("a {{~yes~}} b {{#if no~}} x {{~else~}} y {{~/if}}", "atrueb y"),
        ("{{rows}} {{half}} {{d}} {{none}}{{nope.x}}", "1,2 0.5 [object Object] "),
        ("{{#if zero}}a{{else if empty}}b{{else}}c{{/if}}{{#if d}}d{{/if}}{{#with zero}}w{{/with}}", "cdw"),
        (
            "{{#each d as |v k|}}{{k}}{{v}}{{@first}}{{@last}}{{../half}}{{/each}}{{#each empty}}{{else}}E{{/each}}",
            "a1truetrue0.5E",
        ),
        ("\\{{yes}} \\\\{{yes}} {{{{raw}}}}{{x}}{{{{/raw}}}}", "{{yes}} \\true {{x}}"),
    ],
)
def test_what_the_real_one_wrote(text, expected):
    """A few of the compared templates with the text they gave, for where the real one is not installed."""
    values = {
        "yes": True,
        "no": False,
        "rows": [1, 2],
        "half": 0.5,
        "d": {"a": 1},
        "none": None,
        "zero": 0,
        "empty": [],
    }
    assert handlebars(text, **values) == expected


def test_what_a_template_asks_for():
    """The variables are the names looked up in the outermost context."""
    text = "{{a.b}} {{#each rows as |r|}}{{inner}}{{r.x}}{{@index}}{{@root.top}}{{/each}}{{#if c}}{{d}}{{else}}{{e}}{{/if}}"
    assert compile_template(text, "handlebars").variables == {"a", "rows", "top", "c", "d", "e"}


def test_double_and_triple_braces_agree():
    """Nothing is escaped: a judge reads text."""
    text = '<b> & "q" \' ` ='
    assert handlebars("{{x}}{{{x}}}{{&x}}", x=text) == text * 3


@pytest.mark.parametrize("dialect", ["handlebars", "mustache"])
def test_blocks_within_blocks_are_counted(dialect):
    """Ten thousand levels are refused, not a crash."""
    word = "if x" if dialect == "handlebars" else "x"
    with pytest.raises(TemplateError, match="within"):
        compile_template("{{#" + word + "}}" * 1 + ("{{#" + word + "}}") * 10_000, dialect)


def test_deep_brackets_are_refused():
    """So are ten thousand brackets."""
    with pytest.raises(TemplateError, match="brackets"):
        compile_template("{{lookup " + "(lookup " * 10_000 + "a b" + ")" * 10_000 + "}}", "handlebars")


def test_else_if_chains_are_counted():
    """A chain is a nest."""
    with pytest.raises(TemplateError, match="within"):
        compile_template("{{#if a}}" + "{{else if a}}" * 10_000 + "{{/if}}", "handlebars")


def test_bytes_are_no_text():
    """A value without a text is an error, not its repr."""
    with pytest.raises(TemplateRunError, match="bytes"):
        handlebars("{{x}}", x=b"raw")
