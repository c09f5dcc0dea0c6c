"""Braces, OpenAI's paths, and jinja2."""

import pytest

from workbench.data.templates import compile as compile_template
from workbench.data.templates.values import MissingVariableError, TemplateError, TemplateRunError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n  {{! alone }}\n{{#rows}}\n- {{n}}{{s}}\n{{/rows}}\nend", "a\n- 1S\n- 2S\nend"),
        (
            "{{rows}}|{{half}}|{{#rows}}{{#rows}}{{/rows}}x{{/rows}}|{{d.e.f}}|{{d.x.y}}",
            "[object Object],[object Object]|0.5|xx|F|",
        ),
        ("{{^zero}}z{{/zero}}{{^empty}}e{{/empty}}{{#zero}}-{{/zero}}{{#d}}{{e.f}}{{s}}{{/d}}", "zeFS"),
        ("{{=<% %>=}}<% s %>{{s}}<%={{ }}=%>{{&s}}{{{s}}}", "S{{s}}SS"),
    ],
)
def test_mustache_as_the_real_one_wrote_it(text, expected):
    """A few of the compared templates, for where the real one is not installed."""
    values = {
        "rows": [{"n": 1}, {"n": 2}],
        "s": "S",
        "half": 0.5,
        "zero": 0,
        "empty": [],
        "d": {"e": {"f": "F"}},
    }
    assert compile_template(text, "mustache").render(values) == expected


@pytest.mark.parametrize(
    "text", ["{{> p}}", "{{#a}}", "{{/a}}", "{{#a}}{{/b}}", "{{a", "{{=x=}}", "{{< p}}", "{{$ b}}"]
)
def test_mustache_mistakes_name_their_place(text):
    """Partials, blocks and what is not closed."""
    with pytest.raises(TemplateError, match="line 2, column"):
        compile_template("x\n" + text, "mustache")


def braces(text, values, **options):
    return compile_template(text, "braces", **options).render(values)


def test_the_first_release_fills_listed_names_only():
    """Other braces, double ones and the reserved names are text."""
    text = "{style} {other} {input} {{style}} {{ }} {"
    assert braces(text, {"style": "short"}, names=["style"]) == "short {other} {input} {short} {{ }} {"
    assert braces("{a}", {"a": 1}) == "{a}"


def test_the_later_release_fills_all_and_escapes():
    """Double braces are one, names without a value an error, lone braces text."""
    later = {"release": "0.17"}
    assert (
        braces('{input} {{"score": 1}} {x} { a }', {"input": "Q", "x": [1]}, **later)
        == 'Q {"score": 1} [1] { a }'
    )
    with pytest.raises(MissingVariableError, match="needs the variable 'nope'") as caught:
        braces("{nope}", {"input": "Q"}, **later)
    assert isinstance(caught.value, KeyError)
    with pytest.raises(ValueError, match="cannot be named 'input'"):
        compile_template("x", "braces", names=["input"], **later)
    with pytest.raises(TemplateError, match=r"expected: 0\.4, 0\.17"):
        compile_template("x", "braces", release="2")


def test_braces_say_what_they_ask_for():
    """The variables are the names that stand in the text."""
    assert compile_template("{a} {b}", "braces", names=["a", "c"]).variables == {"a"}
    assert compile_template("{a} {{b}}", "braces", release="0.17").variables == {"a"}


VALUES = {
    "item": {"q": "Why", "n": 2.0, "yes": True, "none": None, "list": [{"a": "x"}, 7], "é": 1},
    "sample": {"output_text": "hi", "output_json": {"a": {"b": [10, 20]}}},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{item.q}}? {{ item.q }} {{\titem.q\n}}", "Why? Why Why"),
        ("{{sample.output_json.a.b[1]}} {{item.list[0].a}} {{item.list.1}}", "20 x 7"),
        ("{{item.list}} {{item.n}} {{item.yes}} {{item.none}}", '[{"a":"x"},7] 2.0 true null'),
        ("{ {item.q} } {{ unclosed", "{ {item.q} } {{ unclosed"),
        ("{{{item.q}}}", "{Why}"),
    ],
)
def test_openai_paths(text, expected):
    """Dots and places; text as it is, everything else as JSON."""
    if text.startswith("{{{"):
        with pytest.raises(TemplateError, match="not a path"):
            compile_template(text, "openai")
        return
    assert compile_template(text, "openai").render(VALUES) == expected


@pytest.mark.parametrize(
    "text", ["{{other.x}}", "{{item.a | upper}}", "{{ }}", "{{item..a}}", "{{item[x]}}", "{{items.a}}"]
)
def test_openai_namespaces(text):
    """Only item and sample, and only paths."""
    with pytest.raises(TemplateError, match="line 1, column 1"):
        compile_template(text, "openai")


def test_an_openai_path_that_leads_nowhere():
    """It is an error that names the path, or nothing where that was asked for."""
    for text in ("{{item.nope}}", "{{item.list[9]}}", "{{item.q.x}}", "{{sample.output_json[0]}}"):
        with pytest.raises(TemplateRunError, match="does not exist"):
            compile_template(text, "openai").render(VALUES)
        assert compile_template(text, "openai", lenient=True).render(VALUES) == ""
    assert compile_template("{{item.a}}{{ sample.b }}", "openai").variables == {"item", "sample"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ name }} <b> & {{ tag }}", 'top <b> & <b> & "q"'),
        ("{% for r in rows %}{{ loop.index }}/{{ loop.length }}{{ r.name }}{{ ', ' if not loop.last }}{% else %}none{% endfor %}", "1/2x, 2/2y"),
        ("{% for k, v in d.items() %}{{ k }}={{ v }}{% endfor %}{% for r in [] %}{% else %}none{% endfor %}", "a=1none"),
        ("{% if nope %}a{% elif nope.x.y %}b{% else %}c{% endif %}{{ nope|default('d') }}", "cd"),
        ("{{ rows|map(attribute='name')|join(', ') }} {{ rows|selectattr('ok')|list|length }} {{ [3, 1]|sort }}", "x, y 1 [1, 3]"),
        ("{{ tag|tojson }} {{ d|tojson }} {{ none_ }} {{ true }}", '"<b> & \\"q\\"" {"a": 1} None True'),
        ("{% set n = namespace(t=0) %}{% for i in range(5) %}{% set n.t = n.t + i %}{% endfor %}{{ n.t }}", "10"),
        ("{{ name|upper }}{{ 'a,b'.split(',') }}{{ 7 // 2 }}{{ 2 ** 3 }}{{ 'ab' ~ 1 }}{{ 'x' * 3 }}{{ (1, 2) }}", "TOP['a', 'b']38ab1xxx(1, 2)"),
        ("a\n{%- if true %} b {%- endif %}\n", "a b\n"),
        ("{{ odd.items }} {{ name|replace('t', 'T')|indent(2) }} {{ 2.567|round(1) }} {{ name|string|safe }}", "column Top 2.6 top"),
    ],
)  # fmt: skip
def test_jinja(text, expected):
    """The language people know, without escapes; a dict's key comes before its method."""
    values = {"name": "top", "tag": '<b> & "q"', "rows": [{"name": "x", "ok": True}, {"name": "y", "ok": False}],
              "d": {"a": 1}, "none_": None, "odd": {"items": "column"}}  # fmt: skip
    assert compile_template(text).render(values) == expected


def test_jinja_says_what_it_asks_for():
    """Names of loops and our own functions are no variables."""
    text = "{{ a.b }}{% for x in rows %}{{ x }}{{ range(3) }}{% endfor %}{% if c %}{% endif %}"
    assert compile_template(text).variables == {"a", "rows", "c"}


def test_templates_are_values():
    """A template shows and compares as its text and dialect."""
    one, two = compile_template("{{x}}", "mustache"), compile_template("{{x}}", "mustache")
    assert one == two
    assert repr(one) == "Template(text='{{x}}', dialect='mustache', variables=frozenset({'x'}))"
