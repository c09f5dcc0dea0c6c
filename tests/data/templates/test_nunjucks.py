"""Templates of nunjucks: what promptfoo 0.121.20's engine writes, and what is refused."""

import pytest

from workbench.data.templates.nunjucks import nunjucks
from workbench.data.templates.values import TemplateError, TemplateRunError

VALUES = {
    "city": "Paris",
    "n": 3,
    "z": 0,
    "f": 1.5,
    "l": ["a", "b"],
    "o": {"k": "v", "n": [1, 2]},
    "t": True,
    "e": "",
    "x": None,
    "m": [{"a": 1}, {"a": 2}],
    "s": "  pad ",
    "big": 1234567.891,
    "q": 'it\'s "x" <b>',
}
WRITTEN = [
    ("{{x}}", ""),
    ("{{z}}", "0"),
    ("{{t}}", "true"),
    ("{{f}}", "1.5"),
    ("{{o.n[1]}}", "2"),
    ("{{o['k']}}", "v"),
    ("{{l|length}}", "2"),
    ("{{o|length}}", "2"),
    ("{{l|last}}", "b"),
    ("{{l|reverse|join(',')}}", "b,a"),
    ("{{city|reverse}}", "siraP"),
    ("{{m|join(',','a')}}", "1,2"),
    ("{{n|string}}", "3"),
    ("{{'5'|int + 1}}", "6"),
    ("{{'5.5'|float}}", "5.5"),
    ("{{f|round}}", "2"),
    ("{{2.345|round(2)}}", "2.35"),
    ("{{2.7|round(0,'floor')}}", "2"),
    ("{{-3|abs}}", "3"),
    ("{{big|round(1)}}", "1234567.9"),
    ("{{q|safe}}", 'it\'s "x" <b>'),
    ("{{q|escape}}", "it&#39;s &quot;x&quot; &lt;b&gt;"),
    ("{{s|trim}}", "pad"),
    ("{{city|replace('a','o')}}", "Poris"),
    ("{{city|title}}", "Paris"),
    ("{{'hello world'|title}}", "Hello World"),
    ("{{'HELLO'|capitalize}}", "Hello"),
    ("{{missing|default('d')}}", "d"),
    ("{{e|default('d')}}", ""),
    ("{{e|default('d',true)}}", "d"),
    ("{{x|default('d')}}", ""),
    ("{{x|default('d',true)}}", "d"),
    ("{{o|dump}}", '{"k":"v","n":[1,2]}'),
    ("{{l|dump}}", '["a","b"]'),
    ("{{f|dump}}", "1.5"),
    ("{{city|dump}}", '"Paris"'),
    ("{{'[1,2]'|load|first}}", "1"),
    ("{% if x %}a{% else %}b{% endif %}", "b"),
    ("{% if l %}a{% endif %}", "a"),
    ("{% if z == '0' %}a{% else %}b{% endif %}", "a"),
    ("{% if n > 2 and t %}a{% endif %}", "a"),
    ("{% if not e %}a{% endif %}", "a"),
    ("{% if 'a' in l %}y{% endif %}", "y"),
    ("{% if 'ar' in city %}y{% endif %}", "y"),
    ("{% for i in l %}{{loop.index}}{{i}}{% if not loop.last %},{% endif %}{% endfor %}", "1a,2b"),
    ("{% for k, v in o %}{{k}}={{v}};{% endfor %}", "k=v;n=1,2;"),
    ("{% for a in m %}{{a.a}}{% else %}none{% endfor %}", "12"),
    ("{% for a in e %}{{a}}{% else %}none{% endfor %}", "none"),
    ("{% set y = n + 1 %}{{y}}", "4"),
    ("{{ n / 2 }}", "1.5"),
    ("{{ n // 2 }}", "1"),
    ("{{ n % 2 }}", "1"),
    ("{{ n ** 2 }}", "9"),
    ("{{ 'a' ~ n }}", "a3"),
    ("{{ 'a' + n }}", "a3"),
    ("{{ n + f }}", "4.5"),
    ("{{ 'y' if t else 'n' }}", "y"),
    ("{{ 'y' if e }}", ""),
    ("{{ [1,2]|join('-') }}", "1-2"),
    ("{{ n }}\n", "3\n"),
    ("a {{- n -}} b", "a3b"),
    ("{%- if t -%} x {%- endif -%}", "x"),
    ("{# c #}x", "x"),
    ("{{ '{{' }}", "{{"),
    ("{% raw %}{{ n }}{% endraw %}", "{{ n }}"),
    ("{{ city|truncate(3) }}", "Par..."),
    ("{{ 'hello big world'|truncate(8) }}", "hello..."),
    ("{{ 'hello'|truncate(3,true,'!') }}", "hel!"),
    ("{{ 'a b&c/é'|urlencode }}", "a%20b%26c%2F%C3%A9"),
    ("{{ 'a\nb'|nl2br }}", "a<br />\nb"),
    ("{{ 'one two'|wordcount }}", "2"),
    ("{{ l|list|length }}", "2"),
    ("{{ city|list|join('.') }}", "P.a.r.i.s"),
    ("{{ o.k|upper }}", "V"),
    ("{{ l|first|upper }}", "A"),
    ("{{ m[0].a }}", "1"),
    ("{{ l.length }}", "2"),
    ("{{ city.length }}", "5"),
    ("{{ city[0] }}", "P"),
    ("{{ n is defined }}", "true"),
    ("{{ missing is undefined }}", "true"),
    ("{{ n == 3.0 }}", "true"),
    ("{{ t == 1 }}", "true"),
    ("{{ e or 'z' }}", "z"),
    ("{{ x or 'z' }}", "z"),
    ("{{ n and city }}", "Paris"),
    ("{{ not n }}", "false"),
    ("{{ -n }}", "-3"),
    ("{{ (n + 1) * 2 }}", "8"),
    ("{{ 10 / 4 }}", "2.5"),
    ("{{ 0.1 + 0.2 }}", "0.30000000000000004"),
    ("{{ [1,[2,3]] }}", "1,2,3"),
    ("{{ none }}", ""),
    ("{{ true }}", "true"),
]


@pytest.mark.parametrize(("text", "written"), WRITTEN)
def test_a_template_is_written_as_by_nunjucks(text, written):
    """Values, filters, tests, loops and white space, by the rules of JavaScript."""
    assert nunjucks(text).render(VALUES) == written


@pytest.mark.parametrize(
    "text",
    [
        "{{ x() }}",
        "{{ env.HOME }}",
        "{{ range(9) }}",
        "{% include 'x' %}",
        "{% macro m() %}{% endmacro %}",
        "{{ x | nothing }}",
        "{{ x",
        "{{ x.__class__() }}",
    ],
)
def test_what_could_run_code_or_leave_the_row_is_refused(text):
    """When the template is read."""
    with pytest.raises(TemplateError):
        nunjucks(text)


@pytest.mark.parametrize("text", ["{{ missing }}", "{{ o.missing }}", "{{ missing | upper }}"])
def test_a_variable_without_a_value_is_an_error(text):
    """A misspelled column is not an empty text."""
    with pytest.raises(TemplateRunError, match="missing"):
        nunjucks(text).render(VALUES)


def test_a_value_is_never_a_template():
    """One pass; attributes of Python's objects do not exist."""
    assert nunjucks("{{ a }}").render({"a": "{{ b }}", "b": "x"}) == "{{ b }}"
    assert nunjucks("{{ a.__class__ | default('none') }}").render({"a": "x"}) == "none"


def test_a_rendering_ends():
    """Loops within loops are counted."""
    text = "{% for a in l %}" * 4 + "x" + "{% endfor %}" * 4
    with pytest.raises(TemplateRunError):
        nunjucks(text).render({"l": list(range(100))})
