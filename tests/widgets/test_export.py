"""The Export panel, by its own controls."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.widgets import using
from workbench.session.export_preview import proof_states


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
            assert panel.session.guard.problem is None, (name, panel.session.guard.problem)
            if panel.write.disabled:
                assert panel._preview.problem
                assert "wb-no" in panel.losses.value
                continue
            panel.path.value = f"{name}-{drop}"
            files = dict(panel._preview.files)
            panel.write.click()
            assert panel.session.guard.problem is None, (name, panel.session.guard.problem)
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
    assert (
        "or tick &#x27;also graders that are not validated&#x27;" in panel.losses.value
    )  # not what code would pass
    panel.unproved.value = True
    panel.format.value = "letta"
    assert "allow_unvalidated" not in panel.losses.value
    assert "on_loss" not in panel.losses.value
    panel.format.value = "native"
    assert not panel.write.disabled
    panel.write.click()
    assert "allow_unvalidated=True" in panel.session.code.text
    assert (tmp_path / "out.json").exists()
    panel.unproved.value = False
    panel.prove.click()
    assert panel.prove.layout.display == "none"
    assert "validated" in panel.proofs.value
    panel.write.click()
    assert str(tmp_path) in panel.outcome.value
    assert '"validation"' in (tmp_path / "out.json").read_text("utf-8")


def test_export_counts_the_proofs_of_the_parts(make):
    """A grader made of others is proved when its parts are."""
    half = wb.FunctionGrader.from_source(using.HALF, name="half")
    both = wb.combine.Combined(
        name="both", entries=(wb.Entry(half, "half"), wb.Entry(using.GRADERS[0], "yes"))
    )
    assert proof_states(wb.Suite([both]))[0][1] is False
    half.validate()
    name, good, words = proof_states(wb.Suite([both]))[0]
    assert (name, good) == ("both", True)
    assert words.startswith("validated, ")


def test_export_into_a_folder_that_is_not_there(make, tmp_path):
    """The error is shown, nothing is written, and the panel goes on."""
    panel = make("ExportPanel")
    panel.path.value = str(tmp_path / "nowhere" / "out")
    panel.write.click()
    assert "nowhere" in panel.session.guard.problem.what
    assert list(tmp_path.iterdir()) == []
    panel.path.value = "x" * 300
    assert panel.session.guard.problem is None
    assert "too long" in panel.losses.value.lower()
    assert panel.write.disabled
    panel.path.value = str(tmp_path / "out")
    panel.write.click()
    assert panel.session.guard.problem is None
    assert (tmp_path / "out.json").exists()


def half(name="half"):
    """A function grader without a proof."""
    return wb.FunctionGrader.from_source(using.HALF, name=name)


def test_a_grader_changed_since_the_run_is_marked(make):
    """What would be written is not what the scores are of: said of graders with source and without, until they run."""
    panel = make("ExportPanel", graders=[half(), wb.Contains(expected="yes", name="same"), using.GRADERS[1]])
    assert "since the run" not in panel.proofs.value
    using.ran(panel)
    assert "since the run" not in panel.proofs.value
    panel.session.graders.add_text(using.HALF.replace("0.5", "0.25"), name="half")
    panel.session.graders.add(wb.Contains(expected="no", name="same"))
    panel.session.graders.add(wb.Length(maximum=3, name="new"))
    marks = panel.proofs.value.split("<br>")[1:]
    lines = {line.split("</span> ")[1].split(":")[0]: line for line in marks}
    assert set(lines) == {"half", "same", "new", using.GRADERS[1].name}
    changed = {name for name, line in lines.items() if "changed since the run" in line}
    assert changed == {"half", "same"}
    assert "not part of the last run" in lines["new"]
    using.ran(panel)
    assert "since the run" not in panel.proofs.value


def test_validate_all_proves_what_is_inside(make, tmp_path):
    """Parts of a combined grader, at any depth, are validated; then it is written, and the code does the same."""
    inner = wb.combine.Combined(name="inner", entries=(half("deep"), wb.ExactMatch(name="rule")))
    outer = wb.combine.Combined(name="outer", entries=(inner, half("shallow")))
    panel = make("ExportPanel", graders=[outer, half("alone")])
    panel.path.value = str(tmp_path / "out")
    assert panel.write.disabled
    panel.prove.click()
    assert panel.session.guard.problem is None
    assert (panel.prove.layout.display, panel.write.disabled) == ("none", False)
    told = panel.session.code.text
    assert told.splitlines() == [
        "app.graders['outer'].entries[0].grader.entries[0].grader.validate()",
        "app.graders['outer'].entries[1].grader.validate()",
        "app.graders['alone'].validate()",
    ]
    using.repeated(using.AppOf(panel))
    panel.write.click()
    assert panel.session.guard.problem is None
    assert (tmp_path / "out.json").exists()


def test_validate_all_names_the_part_that_fails(make):
    """The part and its check are told; the others are proved all the same."""
    broken = wb.FunctionGrader.from_source(using.BROKEN, name="broken")
    panel = make("ExportPanel", graders=[wb.combine.Combined(name="both", entries=(broken, half()))])
    panel.prove.click()
    assert "both: broken: " in panel.proofs.value
    assert " failed" in panel.proofs.value
    assert panel.write.disabled
    assert "broken" in panel.losses.value
    assert panel.session.graders.by_name["both"].entries[1].grader.validation.ok


@pytest.mark.parametrize("path", ["out/", ".", "..", "out/..", "./", ".hidden", "out/.hidden", "...", "out."])
def test_a_path_that_is_no_name_of_a_file_is_refused(make, tmp_path, monkeypatch, path):
    """A folder or a hidden name: said at once and when written, and nothing is there afterwards."""
    monkeypatch.chdir(tmp_path)
    panel = make("ExportPanel")
    panel.path.value = path
    assert panel.session.guard.problem is None
    assert panel.write.disabled
    assert "expected: a name such as" in panel.losses.value
    panel.write.click()
    assert "dot" in panel.session.guard.problem.what or "folder" in panel.session.guard.problem.what
    assert list(tmp_path.iterdir()) == []


def test_a_rule_and_a_gate_that_a_choice_leaves_out_are_told(make):
    """Some of a suite's graders are another suite: the panel says what is missing before it is written."""
    suite = wb.Suite(list(using.GRADERS), combine=wb.combine.AllPass(), gate=wb.combine.SimpleGate(value=0.5))
    panel = wb.widgets.ExportPanel(using.ROWS, suite, store=None)
    assert "cannot be applied" not in panel.losses.value
    panel.session.graders.choose(["exact", "short"])
    assert "wb-warn" in panel.losses.value
    assert "rule and gate" in panel.losses.value
    panel.session.graders.choose([])
    assert "cannot be applied" not in panel.losses.value
    panel.close()


def test_a_write_that_fails_takes_back_what_the_last_one_said(make, tmp_path):
    """Nobody reads "wrote ..." beside an error."""
    panel = make("ExportPanel")
    panel.path.value = str(tmp_path / "out")
    panel.write.click()
    assert "wrote" in panel.outcome.value
    (tmp_path / "out.json").unlink()
    (tmp_path / "out.json").mkdir()
    panel.write.click()
    assert panel.session.guard.problem is not None
    assert panel.outcome.value == ""


def test_a_file_that_is_there_is_replaced_only_when_allowed(make, tmp_path):
    """What it holds is told; each permission is for one write under one name; one's own file needs none."""
    wb.save([wb.Contains(expected="gold", name="<b>precious")], tmp_path / "out.json")
    before = (tmp_path / "out.json").read_bytes()
    panel = make("ExportPanel")
    assert panel.replace.layout.display == "none"
    panel.path.value = str(tmp_path / "out")
    assert (
        "out.json is there already and would be replaced: it holds &lt;b&gt;precious" in panel.conflicts.value
    )
    assert (panel.write.disabled, panel.replace.layout.display) == (True, "")
    panel.write.click()
    assert "in the way" in panel.session.guard.problem.what
    assert (tmp_path / "out.json").read_bytes() == before
    panel.replace.value = True
    assert not panel.write.disabled
    panel.path.value = str(tmp_path / "other")
    assert (panel.replace.value, panel.write.disabled, panel.conflicts.value) == (False, False, "")
    panel.path.value = str(tmp_path / "out")
    assert panel.write.disabled
    panel.replace.value = True
    panel.write.click()
    assert "wrote" in panel.outcome.value
    assert (panel.replace.value, panel.replace.layout.display) == (False, "none")
    panel.session.graders.add(wb.Contains(expected="more", name="more"))
    assert not panel.write.disabled
    panel.write.click()
    assert (panel.session.guard.problem, "more" in (tmp_path / "out.json").read_text("utf-8")) == (None, True)


def test_a_file_that_came_or_changed_meanwhile_is_not_replaced(make, tmp_path):
    """The panel looks again when the button is clicked; so does a file it wrote itself and somebody changed."""
    panel = make("ExportPanel")
    panel.path.value = str(tmp_path / "out")
    for name in ("first", "second"):
        assert not panel.write.disabled
        wb.save([wb.Contains(expected="x", name=name)], tmp_path / "out.json")
        panel.write.click()
        assert f"it holds {name}" in str(panel.session.guard.problem)
        assert f"it holds {name}" in panel.conflicts.value
        assert panel.write.disabled
        panel.replace.value = True
        panel.write.click()
        assert panel.session.guard.problem is None
    (tmp_path / "out.json").write_text("[]")
    panel.write.click()
    assert (
        "not a grader file" in panel.session.guard.problem.what
    )  # what export itself refuses, it refuses as ever


def test_the_column_of_the_references_can_be_named(make, tmp_path):
    """For trainers and evaluators: a grader that reads it goes where rows bring their label alone."""
    source = (
        "async def grade(thread):\n"
        "    return float(thread.completion() == (thread.metadata or {}).get('solution'))\n"
    )
    grader = wb.FunctionGrader.from_source(source, name="solved")
    grader.validate()
    panel = make("ExportPanel", graders=[grader])
    assert panel.reference.layout.display == "none"
    panel.format.value = "openrlhf"
    assert panel.reference.layout.display == ""
    assert panel.write.disabled
    assert "solution" in panel.losses.value
    panel.path.value = str(tmp_path / "out")
    panel.reference.value = "solution"
    assert not panel.write.disabled
    panel.write.click()
    text = (tmp_path / "out.py").read_bytes()
    assert b'"solution", "reference"' in text
    assert using.repeated(using.AppOf(panel)) is not None
    assert (tmp_path / "out.py").read_bytes() == text
    panel.format.value = "native"
    assert not panel.write.disabled
