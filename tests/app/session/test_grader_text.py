"""Typed texts as graders, and the code that makes the same."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

import workbench as wb
from tests.app.widgets import using
from workbench.app.session.grader_text import TEMPLATES, cell_of, grader_from_text, like, text_of
from workbench.app.widgets.notebook import make
from workbench.core.errors import WorkbenchError


class App:
    """What the code of a text calls `app`."""

    def __init__(self):
        self.added = None

    def add(self, grader):
        """Remember it."""
        self.added = grader


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.name)
def test_templates_are_graders_of_their_name(template):
    """Each can be read, under its own name or another."""
    assert grader_from_text(template.text, template.name).name == template.name
    assert grader_from_text(template.text, "other").name == "other"


@pytest.mark.parametrize(
    "template", [one for one in TEMPLATES if one.text.startswith("{")], ids=lambda one: one.name
)
def test_code_of_a_spec_is_python(template):
    """True, false and null of JSON are Python's in the code, and the name is the one that was typed."""
    app, space = App(), {"wb": wb}
    space["app"] = app
    exec(cell_of(template.text, "typed"), space)
    assert app.added.spec() == grader_from_text(template.text, "typed").spec()


def test_a_docstring_that_speaks_of_a_function_is_still_python():
    """JavaScript is what Python cannot read."""
    text = (
        '"""Like\nfunction grade(sample) of the old platform."""\nasync def grade(thread):\n    return 1.0\n'
    )
    assert isinstance(grader_from_text(text), wb.FunctionGrader)
    assert cell_of(text, "mine").startswith("%%grader mine\n")
    script = "export async function grade(sample) { return 1.0 }\n"
    assert isinstance(grader_from_text(script), wb.ScriptGrader)
    assert cell_of(script, "mine").startswith("%%grader --js mine\n")


@pytest.mark.parametrize(
    "name", ["two words", "class", "a-b", "1st", "quo'te", "print", "In", "_i3", "\ufb01le"]
)
def test_code_of_a_name_that_no_magic_takes(name):
    """Such a grader is made by its class."""
    with pytest.raises(WorkbenchError):
        if (made := make(name, using.HALF, {})).name != name:
            raise WorkbenchError(f"it would be called {made.name}")
    app = App()
    exec(cell_of(using.HALF, name), {"wb": wb, "app": app})
    assert (app.added.name, app.added.source.text) == (name, using.HALF)


def test_code_of_a_name_that_is_a_module_here(monkeypatch):
    """The same name heads a cell where it is free, and not in a notebook that has imported it."""
    assert cell_of(using.HALF, "json").startswith("%%grader json\n")
    shell = SimpleNamespace(user_ns={"json": json})
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    assert cell_of(using.HALF, "json").startswith("grader = wb.FunctionGrader.")


@pytest.mark.parametrize(
    "text",
    ["", "\n\t", "{", '{"kind": 3}', '{"kind": "contains", "other": 1}', "{" * 99_999, '{"a": ' * 9_999],
)
def test_what_is_no_grader_is_an_error_of_ours(text):
    """Never a bare Python error: the error is a WorkbenchError."""
    with pytest.raises(WorkbenchError):
        grader_from_text(text)


def test_nothing_of_a_text_runs(tmp_path):
    """Reading a text has no effect, even if its top level has."""
    path = tmp_path / "ran"
    grader_from_text(f"open({str(path)!r}, 'w')\nasync def grade(thread):\n    return 1.0\n")
    assert not path.exists()


@wb.grader
async def looks_for_a_word(thread):
    """The word occurs.

    In any place.
    """
    return float("word" in (thread.completion() or "").lower() and bool(json))


def test_a_text_typed_back_is_the_same_grader():
    """Equal, with its imports, the author's name and the description; an edit keeps the name, and its docstring describes it."""
    text = text_of(looks_for_a_word).text
    assert like(looks_for_a_word, grader_from_text(text, "looks_for_a_word")) == looks_for_a_word
    edited = like(looks_for_a_word, grader_from_text(text.replace("The word", "A word"), "looks_for_a_word"))
    assert isinstance(edited, wb.FunctionGrader)
    assert edited != looks_for_a_word
    assert (edited.source.function, edited.description) == ("looks_for_a_word", "A word occurs.")
    own = wb.FunctionGrader.from_source(text, name="mine", description="One that I wrote.")
    kept = like(own, grader_from_text(text.replace("The word", "A word"), "mine"))
    assert kept.description == "One that I wrote."
