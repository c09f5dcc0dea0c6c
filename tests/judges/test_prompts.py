"""Prompts of one's own: from text or file, in any dialect, filled in one pass."""

import json

import pytest

import workbench as wb
from tests.judges.examples import AGENT
from workbench.core.errors import FormatError
from workbench.data.templates.values import TemplateError
from workbench.graders.base import from_spec
from workbench.judges import AgentJudge, RubricJudge

THREAD = wb.StringThread(
    [("system", "SYS"), ("user", "Q {{ x }}"), ("assistant", "A {{ input }} {submission} {{{y}}}")],
    {"style": "short", "tags": ["a", "b"]},
)
ROW = wb.Sample("1", THREAD, "REF", "1")
ANSWER = "A {{ input }} {submission} {{{y}}}"


def shown(**fields):
    return RubricJudge(**fields).preview(ROW)[1]["content"]


@pytest.mark.parametrize(
    ("dialect", "prompt", "expected"),
    [
        ("jinja2", "{{ input }}|{{ submission }}|{{ ground_truth }}", f"Q {{{{ x }}}}|{ANSWER}|REF"),
        ("jinja2", "{% for turn in turns %}{{ turn.role }} {% endfor %}{{ metadata.style|upper }}", "system user assistant SHORT"),
        ("handlebars", "{{#each metadata.tags}}{{this}},{{/each}}{{{completion}}}", f"a,b,{ANSWER}"),
        ("handlebars", "{{{last_user_turn_content}}}/{{{submission}}}", f"Q {{{{ x }}}}/{ANSWER}"),
        ("mustache", "{{systemPrompt}}/{{lastUserMessage}}/{{response}}", f"SYS/Q {{{{ x }}}}/{ANSWER}"),
        ("braces", "{input}/{submission}/{ground_truth}/{{x}}", f"Q {{{{ x }}}}/{ANSWER}/REF/{{x}}"),
        ("jinja2", "{{ style }}: {{ submission }}", f"short: {ANSWER}"),
        ("mustache", "{{style}}: {{submission}}", f"short: {ANSWER}"),
        ("braces", "{style}: {submission}", f"short: {ANSWER}"),
    ],
)  # fmt: skip
def test_dialects(dialect, prompt, expected):
    """A prompt in any dialect is the whole message, with its dialect's variables, the rubric's and no second pass."""
    assert shown(prompt=prompt, dialect=dialect, rubric_vars=["style"]) == expected


@pytest.mark.parametrize(
    ("dialect", "prompt"),
    [("jinja2", "Be {{ metadata.style }}."), ("handlebars", "Be {{style}}."), ("braces", "Be {style}.")],
)
def test_a_prompt_without_the_submission_is_a_rubric(dialect, prompt):
    """What never asks for the text under judgement is followed by it, in sections and between tags."""
    text = shown(prompt=prompt, dialect=dialect, rubric_vars=["style"])
    assert "## Rubric\nBe short." in text
    assert f"<completion>\n{ANSWER}\n</completion>" in text
    assert "<reference>\nREF\n</reference>" in text


def test_a_row_without_a_variable_fails():
    """A name without a value is a template failure of its row."""
    judge = RubricJudge(prompt="{{ nothing }} {{ completion }}", dialect="jinja2")
    assert judge(ROW).error.kind == "template"


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("r.txt", ""), ("r.md", ""), ("r", ""), ("r.jinja", "jinja2"), ("r.jinja2", "jinja2"), ("r.J2", "jinja2"), ("r.hbs", "handlebars"),
        ("r.handlebars", "handlebars"), ("r.mustache", "mustache"),
    ],
)  # fmt: skip
def test_prompt_files(tmp_path, name, dialect):
    """A file is read when the judge is made; its ending chooses the dialect; the spec carries the text alone."""
    path = tmp_path / name
    variable = {"": "", "mustache": "{{response}}"}.get(dialect, "{{completion}}")
    path.write_text(f"\ufeffRate: Ä {variable}", "utf-8")
    judge = RubricJudge(prompt_path=path)
    before = judge.preview(ROW)
    path.unlink()
    assert judge.dialect == dialect
    assert judge.prompt.startswith("Rate: Ä ")
    spec = json.loads(json.dumps(judge.spec()))
    assert "prompt_path" not in spec
    assert from_spec(spec) == judge
    assert from_spec(spec).preview(ROW) == before


def test_a_given_dialect_wins_over_the_ending(tmp_path):
    """What is said counts more than what a file is called."""
    path = tmp_path / "r.jinja"
    path.write_text("{submission}")
    assert RubricJudge(prompt_path=str(path), dialect="braces").preview(ROW)[1]["content"] == ANSWER


def test_prompt_or_path(tmp_path):
    """Exactly one of the two; a path that cannot be read is told with its place; a file cannot name one."""
    path = tmp_path / "r.txt"
    path.write_text("Rate it.")
    with pytest.raises(FormatError, match="not both"):
        RubricJudge(prompt="p", prompt_path=path)
    with pytest.raises(FormatError, match="cannot be read"):
        RubricJudge(prompt_path=tmp_path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match="UTF-8"):
        RubricJudge(prompt_path=path)
    with pytest.raises(FormatError, match="prompt_path"):
        from_spec({"kind": "rubric-judge", "prompt_path": str(path)})
    path.write_text("  ")
    with pytest.raises(FormatError, match="prompt must be text"):
        RubricJudge(prompt_path=path)


def test_agents_take_prompt_files_and_dialects_too(tmp_path):
    """An agent's rubric is a prompt like any other."""
    path = tmp_path / "r.j2"
    path.write_text("Rate {{ completion }}")
    judge = AgentJudge(prompt_path=path, agent=AGENT)
    assert judge.preview(ROW)[-1]["content"] == f"Rate {ANSWER}"


def test_two_names_of_one_thing():
    """Braces of the later release are Letta's own, so they are written there."""
    assert RubricJudge(prompt="{submission}", dialect="braces", release="0.17") == RubricJudge(
        prompt="{submission}", release="0.17"
    )


def test_a_platform_that_cannot_say_the_dialect_refuses_it(tmp_path):
    """Letta has its own braces only, so a prompt in another dialect is refused by the field's name."""
    judge = RubricJudge(prompt="{{ completion }}", dialect="jinja2")
    with pytest.raises(FormatError, match="dialect='jinja2'"):
        wb.export(judge, tmp_path / "s.yaml", "letta")


def test_a_broken_template_is_refused_when_the_judge_is_made():
    """The line is told before anything is asked."""
    with pytest.raises(TemplateError, match="line 2"):
        RubricJudge(prompt="ok\n{% if %}", dialect="jinja2")
