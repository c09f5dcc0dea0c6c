"""The Write panel, by its own controls."""

from __future__ import annotations

import json
import re
import threading

import pytest

import workbench as wb
from tests.widgets import using
from workbench.widgets.templates import TEMPLATES


def test_write_proves_and_shows_failing_checks(make):
    """Validate runs the five checks; a grader that fails them says which, and how it ended."""
    panel = make(
        "WritePanel", graders=[wb.FunctionGrader.from_source(using.WRONG, name="wrong"), using.GRADERS[0]]
    )
    assert "not validated" in panel.state_line.value
    panel.prove.click()
    assert "the checks failed" in panel.state_line.value
    assert "KeyError" in panel.checks.value
    assert panel.state.proofs["wrong"].failure is not None
    panel.grader.value = "has yes"
    assert panel.prove.disabled
    assert panel.checks.value == ""
    assert json.loads(panel.source.text)["kind"] == "contains"


def test_the_word_validated_comes_with_its_checks(make):
    """Whoever reads it finds the five ticks there, and they do not blink while it is said again."""
    panel = make("WritePanel", graders=[wb.FunctionGrader.from_source(using.HALF, name="half")])
    told: list[tuple[str, str]] = []
    panel.state_line.observe(lambda change: told.append((change.new, panel.checks.value)), "value")
    panel.prove.click()
    assert [checks.count("✓") for words, checks in told if ">validated<" in words] == [5]
    emptied: list[str] = []
    panel.checks.observe(lambda change: emptied.append(change.new), "value")
    panel.refresh()
    assert emptied == []


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.name)
def test_every_template_is_taken_and_proved(make, template):
    """Choosing a template and pressing Add gives a grader, proved where it has source."""
    panel = make("WritePanel", graders=())
    panel.template.value = TEMPLATES.index(template)
    panel.add.click()
    assert panel.state.problem is None
    made = panel.state.graders[template.name]
    assert panel.grader.value == template.name
    assert template.name in panel.state.chosen
    if hasattr(made, "validation"):
        assert made.validation.ok, made.validation
        assert "validated" in panel.state_line.value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no text"),
        ("  \n", "no text"),
        ("async def grade(thread:\n    return 1.0\n", "(?i)syntax|never closed"),
        ("x = 1\n", "no top-level"),
        ('{"kind": "no-such-kind"}', "no-such-kind"),
        ('{"kind": ', "no JSON"),
        ("async def grade(thread):\n    return 1.0\n" + "# " + "x" * 65_536, "64|65"),
    ],
)
def test_a_text_that_is_no_grader_says_why(make, text, words):
    """The error stands in the panel, and no grader is added or lost."""
    panel = make("WritePanel")
    panel.editor.value, panel.name.value = text, ""
    panel.add.click()
    problem, checks = panel.state.problem, panel.checks.value
    assert re.search(words, problem.what if problem else checks), (problem, checks)
    assert problem is None or "role='alert'" in panel._alert.value
    assert set(panel.state.graders) >= {one.name for one in using.GRADERS}


def test_edit_takes_a_copy_and_the_same_name_replaces_it(make):
    """A copy of the text goes into the editor; changed and added again it is another text without the old proof."""
    panel = make("WritePanel", graders=[wb.FunctionGrader.from_source(using.HALF, name="half")])
    panel.prove.click()
    panel.edit.click()
    assert (panel.editor.value, panel.name.value) == (
        using.HALF,
        "half_2",
    )  # a copy replaces nothing by itself
    panel.editor.value, panel.name.value = using.BROKEN, "half"
    panel.add.click()
    assert panel.state.graders["half"].source.text == using.BROKEN
    assert not panel.state.proofs["half"].ok
    assert panel.state.unrun == {"half"}


def test_validating_while_try_answers_does_not_hang(make):
    """Results of Try that come while Validate waits are shown afterwards: neither waits for the other."""
    write = make(
        "WritePanel", graders=[wb.FunctionGrader.from_source(using.HALF, name="half"), using.GRADERS[0]]
    )
    attempt = wb.widgets.TryPanel(write)
    ended = threading.Event()

    def press():
        write.prove.click()
        attempt.answer.value = "changed"
        write.prove.click()
        ended.set()

    threading.Thread(target=press, daemon=True).start()
    assert ended.wait(60), "deadlock: the loop and the panel wait for each other"
    using.tried(attempt)
    assert write.state.proofs["half"].ok
    attempt.close()


def test_what_was_typed_is_not_lost_to_a_template(make):
    """A template or a copy over a typed text: the text is a click away, and back again."""
    panel = make("WritePanel")
    panel.editor.value, panel.name.value = "my precious text", "precious"
    panel.template.value = 0
    assert panel.editor.value != "my precious text"
    assert panel.back.layout.display == ""
    panel.back.click()
    assert (panel.editor.value, panel.name.value) == ("my precious text", "precious")
    panel.back.click()
    assert panel.editor.value != "my precious text"


def test_a_grader_can_be_dropped(make):
    """Remove takes it out of the list; reports keep what it said."""
    panel = make("WritePanel")
    name = panel.grader.value
    panel.drop.click()
    assert name not in panel.state.graders
    assert panel.grader.value in panel.state.graders
