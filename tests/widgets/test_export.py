"""The Export panel, by its own controls."""

from __future__ import annotations

import workbench as wb
from tests.widgets import using
from workbench.widgets.exporting import state_of_proof


def test_export_preview_is_what_is_written(make, tmp_path, monkeypatch):
    """For every format that can say the graders, the preview has each file's text byte for byte."""
    monkeypatch.chdir(tmp_path)
    graders = [
        wb.FunctionGrader.from_source(using.HALF, name="half"),
        wb.StringCheck(name="same", operation="eq", reference="yes"),
    ]
    graders[0].validate()
    panel = make("ExportPanel", graders=graders)
    seen = []
    for _, name in panel.format.options:
        panel.format.value = name
        for drop in (False, True):
            panel.drop.value = drop
            assert panel.state.problem is None, (name, panel.state.problem)
            if panel.write.disabled:
                assert panel._preview.problem
                assert "wb-no" in panel.losses.value
                continue
            panel.path.value = f"{name}-{drop}"
            files = dict(panel._preview.files)
            panel.write.click()
            assert panel.state.problem is None, (name, panel.state.problem)
            assert {one: (tmp_path / one).read_text("utf-8") for one in files} == files
            for one, text in files.items():
                panel.file.value = one
                assert panel.view.text == text
            seen.append(name)
            assert bool(panel._preview.losses) <= drop
            assert panel.losses.value.count("<b>dropped</b>") == len(panel._preview.losses)
            again = using.repeated  # the shown code does the same
            before = {one: (tmp_path / one).read_bytes() for one in files}
            assert again(using.AppOf(panel)) is not None
            assert {one: (tmp_path / one).read_bytes() for one in files} == before
    assert {"native"} <= set(seen)
    assert len(set(seen)) >= 3


def test_export_refuses_what_is_not_validated_until_it_is_allowed(make, tmp_path):
    """Without a proof nothing is written; with one, or with the box, it is."""
    panel = make("ExportPanel", graders=[wb.FunctionGrader.from_source(using.HALF, name="half")])
    panel.path.value = str(tmp_path / "out")
    assert panel.write.disabled
    assert "not validated" in panel.proofs.value
    assert "half" in panel.losses.value
    panel.unproved.value = True
    assert not panel.write.disabled
    panel.write.click()
    assert "allow_unvalidated=True" in panel.state.code
    assert (tmp_path / "out.json").exists()
    panel.unproved.value = False
    panel.prove.click()
    assert panel.prove.layout.display == "none"
    assert "validated" in panel.proofs.value
    panel.write.click()
    assert str(tmp_path) in panel.said.value
    assert '"validation"' in (tmp_path / "out.json").read_text("utf-8")


def test_export_counts_the_proofs_of_the_parts(make):
    """A grader made of others is proved when its parts are."""
    half = wb.FunctionGrader.from_source(using.HALF, name="half")
    both = wb.Combined(name="both", entries=(wb.Entry(half, "half"), wb.Entry(using.GRADERS[0], "yes")))
    assert state_of_proof(wb.Suite([both]))[0][1] is False
    half.validate()
    name, good, words = state_of_proof(wb.Suite([both]))[0]
    assert (name, good) == ("both", True)
    assert words.startswith("validated, ")


def test_export_into_a_folder_that_is_not_there(make, tmp_path):
    """The error is shown, nothing is written, and the panel goes on."""
    panel = make("ExportPanel")
    panel.path.value = str(tmp_path / "nowhere" / "out")
    panel.write.click()
    assert "nowhere" in panel.state.problem.what
    assert list(tmp_path.iterdir()) == []
    panel.path.value = "x" * 300
    assert panel.state.problem is None
    assert "too long" in panel.losses.value.lower()
    assert panel.write.disabled
    panel.path.value = str(tmp_path / "out")
    panel.write.click()
    assert panel.state.problem is None
    assert (tmp_path / "out.json").exists()
