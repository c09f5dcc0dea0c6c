"""The Write panel, by its own controls."""

from __future__ import annotations

import json
import re
import threading

import pytest

import workbench as wb
from tests.widgets import using
from workbench.serialization import spec_of
from workbench.session.starters import TEMPLATES


def test_write_proves_and_shows_failing_checks(make):
    """Validate runs the five checks; a grader that fails them says which, and how it ended."""
    panel = make(
        "WritePanel", graders=[wb.FunctionGrader.from_source(using.WRONG, name="wrong"), using.GRADERS[0]]
    )
    assert "not validated" in panel.state_line.value
    panel.prove.click()
    assert "the checks failed" in panel.state_line.value
    assert "KeyError" in panel.checks.value
    assert panel.session.graders.proofs["wrong"].failure is not None
    panel.grader.value = "has yes"
    assert panel.prove.disabled
    assert panel.checks.value == ""
    assert json.loads(panel.source.text)["kind"] == "contains"


KEPT = (wb.FunctionGrader.from_source(using.HALF, name="half"), *using.GRADERS[:1])


@pytest.mark.parametrize("grader", KEPT, ids=lambda one: one.kind)
def test_what_is_kept_is_there_for_the_next_session(make, tmp_path, grader):
    """A grader kept in the store is a text to start from later, and makes the same grader."""
    store = str(tmp_path / "kept.db")
    first = make("WritePanel", graders=[grader], store=store)
    first.keep.click()
    assert first.session.guard.problem is None
    assert "kept in the store, version 1" in first.state_line.value
    assert first.checks.value.count("✓") == (5 if hasattr(grader, "validation") else 0)
    first.close()
    again = make("WritePanel", graders=[wb.ExactMatch(name="other")], store=store)
    again.template.value = grader.name
    again.add.click()
    assert again.name.value == grader.name
    assert spec_of(again.session.graders.by_name[grader.name]) == spec_of(grader)
    with wb.open_store(store) as code:
        assert spec_of(code.graders.get(grader.name)) == spec_of(grader)


def test_keeping_makes_versions_of_what_changed(make, tmp_path):
    """The same again stays one version; another text of the name is the next, and the code says how."""
    store = str(tmp_path / "kept.db")
    panel = make("WritePanel", graders=[wb.FunctionGrader.from_source(using.HALF, name="half")], store=store)
    panel.keep.click()
    assert panel.session.code.text == f"wb.open_store({store!r}).graders.create('half', app.graders['half'])"
    panel.keep.click()
    assert "version 1" in panel.state_line.value
    panel.session.graders.add_text(using.HALF.replace("0.5", "0.25"), name="half")
    assert "kept" not in panel.state_line.value
    panel.keep.click()
    assert "version 2" in panel.state_line.value
    assert panel.session.code.text.startswith(f"wb.open_store({store!r}).graders.edit(")
    assert [value for _, value in panel.template.options].count("half") == 1


def test_what_cannot_be_kept_says_why(make, tmp_path):
    """A failing check, a lock and a name no store takes are told; nothing is kept, and in memory there is no button."""
    store = str(tmp_path / "kept.db")
    graders = [
        wb.FunctionGrader.from_source(using.WRONG, name="wrong"),
        wb.Contains(name="x" * 201),
        using.GRADERS[0],
    ]
    panel = make("WritePanel", graders=graders, store=store)
    for name, words in (("wrong", "KeyError"), ("x" * 201, "200 characters")):
        panel.grader.value = name
        panel.keep.click()
        assert words in panel.session.guard.problem.what
        assert "kept" not in panel.state_line.value
    panel.grader.value = "wrong"
    assert "the checks failed" in panel.state_line.value
    panel.grader.value = using.GRADERS[0].name
    panel.keep.click()
    with wb.open_store(store) as code:
        assert [one.key for one in code.graders.list()] == [using.GRADERS[0].name]
        code.graders.lock(using.GRADERS[0].name)
    panel.session.graders.add(wb.Contains(expected="no", name=using.GRADERS[0].name))
    panel.keep.click()
    assert "is locked" in panel.session.guard.problem.what
    assert make("WritePanel").keep.layout.display == "none"


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
    assert panel.session.guard.problem is None
    made = panel.session.graders.by_name[template.name]
    assert panel.grader.value == template.name
    assert template.name in panel.session.graders.chosen
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
    problem, checks = panel.session.guard.problem, panel.checks.value
    assert re.search(words, problem.what if problem else checks), (problem, checks)
    assert problem is None or "role='alert'" in panel._alert.value
    assert set(panel.session.graders.by_name) >= {one.name for one in using.GRADERS}


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
    assert panel.session.graders.by_name["half"].source.text == using.BROKEN
    assert not panel.session.graders.proofs["half"].ok
    assert panel.session.graders.unrun == {"half"}


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
    assert ended.wait(600), "deadlock: the loop and the panel wait for each other"
    using.tried(attempt)
    assert write.session.graders.proofs["half"].ok
    attempt.close()


def test_what_was_typed_is_not_lost_to_a_template(make):
    """A template or a copy over a typed text: the text is a click away, and back again."""
    panel = make("WritePanel")
    panel.editor.value, panel.name.value = "my precious text", "precious"
    panel.template.value = 0
    assert panel.editor.value != "my precious text"
    assert panel.earlier.layout.display == ""
    panel.earlier.click()
    assert (panel.editor.value, panel.name.value) == ("my precious text", "precious")
    panel.earlier.click()
    assert panel.editor.value != "my precious text"


def test_a_grader_can_be_dropped(make):
    """Remove takes it out of the list; reports keep what it said."""
    panel = make("WritePanel")
    before = dict(panel.session.graders.by_name)
    name = panel.grader.value
    panel.drop.click()
    panel.drop.click()  # a double click is one removal
    assert set(before) - set(panel.session.graders.by_name) == {name}
    assert panel.grader.value is None
    panel.prove.click()
    panel.keep.click()
    assert panel.session.guard.problem is None
    panel.restore.click()
    assert dict(panel.session.graders.by_name) == before
    assert panel.grader.value == name
    assert panel.restore.layout.display == "none"


def test_a_replaced_grader_can_be_put_back(make):
    """Add under a name that is taken says so and keeps the one before within reach."""
    panel = make("WritePanel", graders=[wb.FunctionGrader.from_source(using.HALF, name="half")])
    panel.editor.value, panel.name.value = using.HALF.replace("0.5", "0.25"), "half"
    panel.add.click()
    assert "0.25" in panel.source.text
    assert panel.restore.description == "Put back half"
    panel.restore.click()
    assert "0.5" in panel.source.text
    panel.add.click()
    panel.add.click()  # the same again replaces nothing more
    panel.restore.click()
    assert "0.5" in panel.source.text


def test_every_text_comes_back(make):
    """Texts that templates took the place of come back one after the other; the same template can be chosen twice."""
    panel = make("WritePanel")
    for text in ("one", "two"):
        panel.editor.value = text
        panel.template.value = 0
        assert panel.editor.value == TEMPLATES[0].text
    panel.earlier.click()
    assert panel.editor.value == "two"
    panel.earlier.click()
    assert panel.editor.value == "one"
    panel.earlier.click()
    assert panel.editor.value == TEMPLATES[0].text
    panel.earlier.click()
    assert panel.editor.value == "two"
