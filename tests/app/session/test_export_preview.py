"""What an export would write."""

from __future__ import annotations

import tempfile

import pytest

import workbench as wb
from tests.app.widgets import using
from workbench.app.session.export import (
    WrittenFiles,
    file_name,
    platforms,
    preview,
    validation_states,
)


def half():
    """A suite of one function grader that is not validated."""
    return wb.Suite([wb.FunctionGrader.from_source(using.HALF, name="half")])


@pytest.mark.parametrize("name", [each.name for each in platforms()])
def test_a_preview_is_what_export_writes(name, tmp_path):
    """The same files, byte for byte, and the same losses; or the same refusal."""
    suite = wb.Suite([using.GRADERS[0], using.GRADERS[1]])
    for on_loss in ("refuse", "report"):
        seen = preview(suite, "mine", name, on_loss=on_loss)
        target = tmp_path / on_loss / file_name("mine", name)
        target.parent.mkdir()
        if seen.problem:
            with pytest.raises(wb.errors.WorkbenchError) as error:
                wb.export(suite, target, name, on_loss=on_loss)
            first = str(error.value).splitlines()[0].replace(f"{target.parent}/", "")
            assert str(seen.problem).splitlines()[0] == first
            assert seen.files == {}
            continue
        written = wb.export(suite, target, name, on_loss=on_loss)
        assert {one.name: one.read_bytes() for one in target.parent.iterdir()} == {
            one: text.encode() for one, text in seen.files.items()
        }
        assert (seen.losses, seen.notes) == (written.losses, written.notes)
        assert next(iter(seen.files.values())) == written.paths[0].read_text("utf-8")


def test_what_is_not_validated_is_refused_and_then_allowed():
    """The refusal names the grader."""
    seen = preview(half(), "mine")
    assert "half" in str(seen.problem)
    assert preview(half(), "mine", allow_unvalidated=True).files
    assert validation_states(half()) == [("half", False, "not validated")]


def test_a_failed_proof_is_told():
    """Which check it was."""
    suite = wb.Suite(
        [wb.FunctionGrader.from_source("async def grade(thread):\n    return missing\n", name="broken")]
    )
    suite.graders[0].validate()
    ((name, good, words),) = validation_states(suite)
    assert (name, good) == ("broken", False)
    assert words.endswith(" failed")


@pytest.mark.parametrize(
    "name", ["", "  ", "a/b/c", "../up", "/etc/passwd", "..", "x" * 300, "a\x00b", using.NASTY, "a.b"]
)
def test_any_name_is_previewed_or_refused(name, tmp_path, monkeypatch):
    """A file's name never leads out of the folder that is thrown away, and never ends in a bare error."""
    monkeypatch.setattr(
        tempfile, "tempdir", str(tmp_path)
    )  # its own: other processes preview at the same time
    seen = preview(wb.Suite([using.GRADERS[0]]), name)
    assert bool(seen.files) != bool(seen.problem)
    assert str(tmp_path) not in str(seen.problem)
    assert list(tmp_path.glob("workbench-preview-*")) == []


def test_every_format_has_a_title():
    """What a list offers."""
    assert all(each.title and each.title != each.name for each in platforms())
    assert platforms()[0].name == "native"


def test_what_is_in_the_way(tmp_path):
    """Existing unrelated files, with their graders; not missing files, unchanged ones, or those written here."""
    target, there = str(tmp_path / "out.json"), tmp_path / "out.json"
    files, written = preview(wb.Suite([using.GRADERS[0]]), "out").files, WrittenFiles()
    assert written.in_the_way(target, "native", files) == []
    there.write_text(files["out.json"])
    assert written.in_the_way(target, "native", files) == []
    wb.save([wb.Contains(expected="x", name=f"g{n}") for n in range(8)], there)
    assert written.in_the_way(target, "native", files) == [
        "out.json exists and would be replaced: it contains g0, g1, g2, g3, g4, g5 and 2 more"
    ]
    written.note([there], "native")
    assert written.in_the_way(target, "native", files) == []
    there.write_text(there.read_text() + " ")
    assert len(written.in_the_way(target, "native", files)) == 1
    there.write_text(there.read_text() + " " * 1_000_000)
    assert written.in_the_way(target, "native", files) == ["out.json exists and would be replaced"]
    assert written.in_the_way(target, "native", {}) == []


@pytest.mark.parametrize("target", ["a\x00b/out.json", "/no/such/folder/out.json", f"{'x' * 300}/out.json"])
def test_a_place_that_cannot_be_looked_at_is_left_to_export(target):
    """The error appears when it writes."""
    assert WrittenFiles().in_the_way(target, "native", {"out.json": "{}"}) == []
