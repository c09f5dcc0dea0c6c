"""Our Handlebars and mustache write what the real ones write."""

import pytest

from tests.data.templates.real import modules, real
from workbench.data.templates import compile as compile_template
from workbench.data.templates.values import TemplateError

VALUES = {
    "s": 'text <b> & "q" {{s}} {s}', "empty": "", "n": 3, "zero": 0, "half": 0.5, "whole": 2.0, "big": 1e21,
    "tiny": 1e-7, "yes": True, "no": False, "none": None, "list": ["a", "b", "c"], "nothing": [], "nested": [[1, 2], [], [3]],
    "d": {"a": "A", "b": {"c": "C", "list": [1, 0]}, "two words": "tw", "n": None}, "bare": {},
    "rows": [{"name": "x", "tags": ["p", "q"], "ok": True}, {"name": "y", "tags": [], "ok": False}, {"name": "", "d": {"a": 1}}],
    "mixed": [0, "", None, False, "z", {"a": 1}, [1, None, [2]]], "a": "outer", "name": "top", "emoji": "a😀b",
}  # fmt: skip

HANDLEBARS = [
    "{{s}}", "{{{s}}}", "{{&s}}", "{{ s }}|{{empty}}|{{n}}|{{zero}}|{{half}}|{{whole}}|{{big}}|{{tiny}}", "{{yes}}{{no}}[{{none}}]",
    "{{list}} {{nothing}} {{nested}} {{mixed}} {{d}}", "{{d.b.c}} {{d/b/c}} {{d.[two words]}} {{d.[a]}} {{[d].a}}", "{{d.x.y}}[{{nope}}]",
    "{{this.s}} {{./s}} {{this/d/a}}", "{{list.length}} {{list.1}} {{list.[2]}} {{list.9}} {{s.length}} {{emoji.length}} {{emoji.0}}",
    "{{#if yes}}Y{{else}}N{{/if}}{{#if no}}Y{{else}}N{{/if}}{{#if nothing}}Y{{else}}N{{/if}}{{#if bare}}Y{{else}}N{{/if}}",
    "{{#if zero}}Y{{else}}N{{/if}}{{#if zero includeZero=true}}Y{{else}}N{{/if}}{{#unless zero includeZero=true}}Y{{/unless}}",
    "{{#if no}}1{{else if zero}}2{{else if s}}3{{else}}4{{/if}}", "{{#if no}}1{{else if zero}}2{{else}}4{{/if}}", "{{#unless no}}U{{else}}E{{/unless}}",
    "{{#if no}}1{{else unless s}}2{{else}}3{{/if}}", "{{#if no}}1{{else each list}}{{this}}{{/if}}", "{{^if no}}x{{else}}y{{/if}}", "{{#if no}}a{{^}}b{{/if}}",
    "{{#each list}}{{@index}}{{@key}}{{@first}}{{@last}}{{this}},{{/each}}", "{{#each d}}{{@key}}={{this}}@{{@index}}{{@first}}{{@last}};{{/each}}",
    "{{#each rows}}{{name}}:{{#each tags}}{{.}}{{../name}}{{../../name}}{{@../index}}{{@index}}{{else}}none{{/each}};{{/each}}",
    "{{#each nothing}}x{{else}}E{{/each}}{{#each s}}x{{else}}E{{/each}}{{#each bare}}x{{else}}E{{/each}}{{#each nope}}x{{/each}}",
    "{{#each rows as |row i|}}{{i}}{{row.name}}{{#each row.tags as |t|}}{{t}}{{row.name}}{{i}}{{/each}};{{/each}}", "{{#each d as |v k|}}{{k}}:{{v}} {{/each}}",
    "{{#with d}}{{a}}{{../s}}{{#with b}}{{c}}{{../a}}{{@root.name}}{{/with}}{{/with}}", "{{#with none}}x{{else}}E{{/with}}{{#with zero}}[{{this}}]{{/with}}{{#with nothing}}x{{else}}E{{/with}}",
    "{{#with d as |x|}}{{x.a}}{{x.b.c}}{{/with}}", "{{#with d}}{{#if a}}{{../name}}{{/if}}{{/with}}", "{{#with this}}{{#with this}}{{../name}}{{/with}}{{/with}}",
    "{{#each nested}}{{#each this}}({{this}}/{{../../name}}){{/each}}{{/each}}", "{{#each mixed}}[{{this}}|{{#if this}}t{{else}}f{{/if}}]{{/each}}", "{{#each mixed}}{{#with this}}({{.}}){{/with}}{{/each}}",
    "{{#list}}{{this}}{{@index}}{{/list}}{{#nothing}}x{{else}}E{{/nothing}}{{#d}}{{a}}{{../name}}{{/d}}{{#yes}}{{name}}{{/yes}}{{#no}}x{{/no}}{{#zero}}z{{.}}{{/zero}}{{#empty}}e{{/empty}}",
    "{{^list}}x{{/list}}{{^nothing}}E{{/nothing}}{{^no}}n{{else}}y{{/no}}{{^s}}x{{else}}y{{/s}}", "{{#d.b}}{{c}}{{/d.b}}{{#d.b.list}}{{.}}{{/d.b.list}}",
    "{{lookup list 1}}{{lookup d 'a'}}{{lookup d name}}{{lookup (lookup d 'b') \"c\"}}{{#with (lookup rows 0)}}{{name}}{{/with}}{{#each (lookup d.b 'list')}}{{.}}{{/each}}{{lookup none 1}}",
    "a{{! comment }}b{{!-- a }} comment --}}c{{!--}}d{{!----}}e", "a {{~s~}} b {{~#if yes~}} c {{~else~}} d {{~/if~}} e {{~! x ~}} f {{~!-- y --~}} g",
    "\\{{s}} {{s}} \\\\{{n}} \\{{ a }} \\{{b}}\\{{c}} x\\y {{n}}", "\\{{", "{{{{raw}}}} {{s}} {{#if}} {{{{/raw}}}}", "a\n{{{{raw}}}}\n {{s}}\n{{{{/raw}}}}\nb", "{{\"s\"}} {{'n'}} {{12}} {{#\"d\"}}{{a}}{{/\"d\"}}",
    "{{#if yes}}\n  in\n{{/if}}\nafter", "before\n  {{#if no}}\n  in\n  {{else}}\n  out\n  {{/if}}\nafter", "{{! alone }}\nx\n  {{!-- alone --}}  \ny {{! not }}\n", "{{#each list}}\n- {{this}}\n{{/each}}\nend",
    "{{#each rows}}\n{{#if ok}}\n  {{name}}\n{{else}}\n  no {{@index}}\n{{/if}}\n{{/each}}", "x {{#if yes}}\n y\n{{/if}}", "{{#if yes}} \r\n a\r\n {{/if}} \r\nb", "{{s}}\n{{#if yes}}{{/if}}\nz", " {{#if yes}}\n{{/if}} ",
    "{{#if no}}\na\n{{else if yes}}\nb\n{{else}}\nc\n{{/if}}\n", "{{#if no}}\na\n{{else if no}}\nb\n{{else if yes}}\nc\n{{else}}\nd\n{{/if}}\nz", "{{#if no~}}\na\n{{~else if no~}}\nb\n{{~else if yes~}}\n c \n{{~else~}}\nd\n{{~/if}}\nz",
    "{{^no}}\n a\n{{else}}\n b\n{{/no}}\nc", "{{elsewhere}}{{else-where}}", "{{#each list}}{{#if @first}}F{{/if}}{{#unless @last}}, {{/unless}}{{/each}}", "{{@root.name}} {{@index}} {{@root.d.a}} {{@nope.x}}", "{{#with d}}{{this.a}} {{./a}} {{.}}{{/with}}",
    "{{../name}}{{../../s}}", '{ {{s}} } {"a": {{n}} }', "{{s}}}", "{{{s}}", "{{{s}}}}", "{{s", "{{#if yes}}", "{{/if}}", "{{else}}", "{{#if yes}}{{/unless}}", "{{s.this}}", "{{d/../s}}", "{{}}", "{{ }}", "{{#}}{{/}}", "{{a b}}", "{{#if}}x{{/if}}", "{{#each}}x{{/each}}", "{{if yes}}",
    "{{#if yes}}a{{else}}b{{else}}c{{/if}}", "{{nope x}}", "{{#nope x}}{{/nope}}", "{{> partial}}", "{{a=1}}", "{{'a}}", "{{!-- open }}", "{{! open", "{{&&s}}", "{{s|upper}}", "{{#if s}}x{{/if", "{{{{raw}}}} x", "{{#each list as |a}}{{/each}}", "{{~s~}}", "{{ ~s }}", "{{d.}}", "{{.d}}", "{{d..a}}", "{{@}}", "{{%}}", "a {{{~s~}}} b",
]  # fmt: skip

MUSTACHE = [
    "{{s}}", "{{{s}}}", "{{&s}}", "{{& s }}{{{ s }}}{{ s }}", "{{n}}|{{zero}}|{{half}}|{{whole}}|{{big}}|{{tiny}}|{{yes}}|{{no}}|{{none}}|{{nope}}|{{empty}}", "{{list}} {{nothing}} {{nested}} {{mixed}} {{d}} {{bare}}",
    "{{d.b.c}} {{d.x.y}} {{d.b.list}} {{list.length}} {{list.1}} {{s.length}} {{d.two words}}", "{{#yes}}Y{{/yes}}{{#no}}N{{/no}}{{#zero}}Z{{/zero}}{{#empty}}E{{/empty}}{{#none}}X{{/none}}{{#nothing}}L{{/nothing}}{{#bare}}B{{/bare}}{{#n}}[{{.}}]{{/n}}{{#s}}[{{.}}{{name}}]{{/s}}",
    "{{^yes}}Y{{/yes}}{{^no}}N{{/no}}{{^zero}}Z{{/zero}}{{^empty}}E{{/empty}}{{^none}}X{{/none}}{{^nothing}}L{{/nothing}}{{^bare}}B{{/bare}}{{^nope}}P{{/nope}}", "{{#list}}{{.}},{{/list}}", "{{#rows}}{{name}}:{{#tags}}{{.}}{{name}}{{/tags}}{{^tags}}none{{/tags}};{{/rows}}",
    "{{#d}}{{a}}{{#b}}{{c}}{{a}}{{name}}{{/b}}{{/d}}", "{{#d.b}}{{c}}{{/d.b}}{{#d.b.list}}<{{.}}>{{/d.b.list}}", "{{#nested}}({{#.}}{{.}}{{/.}}){{/nested}}", "{{#rows}}{{d.a}}|{{d.b.c}};{{/rows}}", "a{{! comment }}b{{!\n multi\n}}c", "{{=<% %>=}}<% s %> {{s}} <%={{ }}=%>{{n}}", "{{=| |=}}|s||#yes|y|/yes|", "{{= <<   >> =}}<<n>>",
    "{{#yes}}\n  in\n{{/yes}}\nafter", "a\n  {{! alone }}  \nb", "{{#rows}}\n- {{name}}\n  {{#tags}}\n  * {{.}}\n  {{/tags}}\n{{/rows}}\nend", "x {{#yes}}\ny\n{{/yes}}", " {{#yes}}{{/yes}} \nz", "{{#yes}}\r\na\r\n{{/yes}}\r\nb", "  {{#yes}}\nx{{/yes}}  ", "{{s}}\n{{#no}}\n{{/no}}\n", "{{=<% %>=}}\n<%#yes%>\nx\n<%/yes%>\n", "  {{! x }}", "a {{! x }}\nb", "{{#yes}} {{/yes}}\n", "\u00a0{{! x }}\ny",
    "{{#yes}}", "{{/yes}}", "{{#yes}}{{/no}}", "{{s", "{{{s}}", "{{=x=}}", "{{#yes}}{{#no}}{{/yes}}{{/no}}", "}} {{", "{ {s} } {s}", "{{}}", "{{#list}}{{#yes}}{{.}}{{/yes}}{{/list}}", "{{two words}}{{#d}}{{two words}}{{/d}}", "{{ # yes }}x{{ / yes }}", "{{#mixed}}[{{.}}]{{/mixed}}", "{{a}}{{{a}}}{{&a}}\n\n{{a}}",
]  # fmt: skip


def ours(dialect, text, values):
    try:
        return compile_template(text, dialect).render(values)
    except TemplateError:
        return None


def compare(cases):
    for (dialect, text, values), expected in zip(cases, real(cases), strict=True):
        assert ours(dialect, text, values) == expected, (dialect, text)


@pytest.mark.parametrize(("dialect", "texts"), [("handlebars", HANDLEBARS), ("mustache", MUSTACHE)])
def test_a_table_of_templates(dialect, texts):
    """Every construct gives the real implementation's text, and both refuse the same mistakes."""
    compare([(dialect, text, VALUES) for text in texts])


def test_missing_packages_are_seen(monkeypatch, tmp_path):
    """Without node's packages these tests are skipped with the way to get them; on CI they fail."""
    monkeypatch.setenv("WORKBENCH_NODE_MODULES", str(tmp_path))
    for value, outcome in (("", pytest.skip.Exception), ("true", pytest.fail.Exception)):
        monkeypatch.setenv("CI", value)
        with pytest.raises(outcome, match="npm install"):
            modules.__wrapped__()
