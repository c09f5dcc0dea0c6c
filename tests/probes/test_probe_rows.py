"""A probe of a path: the graders are read, and rows are made if there are none."""

import json
import warnings

import pytest

import workbench as wb
from workbench.core.errors import FormatError, SamplesError, SamplesWarning
from workbench.probes.probe_rows import MADE_ROWS, made_rows, rows_for

NEAR = """
def near(completions, answer, **kwargs):
    return [1.0 if a in c else 0.0 for c, a in zip(completions, answer)]
"""
SHORT = """

def short(completions, **kwargs):
    return [float(len(c) < 50) for c in completions]
"""
SETTINGS = {"progress": False, "rows": 8, "tries": 20}


def test_rows_have_the_variables_of_promptfoo(tmp_path):
    """A config is probed as `workbench open` says: its assertions get the columns that their templates name."""
    config = {
        "prompts": ["{{q}}"],
        "defaultTest": {"assert": [{"type": "icontains", "value": "{{ river | trim }}"}]},
    }
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(config))
    rows, text = made_rows(wb.read_graders(tmp_path / "promptfooconfig.yaml"))
    assert rows[0].thread.metadata["river"] == rows[0].reference
    assert "'river'" in text


def test_a_path_is_probed_on_made_rows(tmp_path):
    """The result states that rows were made, and of which columns."""
    (tmp_path / "reward.py").write_text(NEAR)
    probe = wb.probe(tmp_path / "reward.py", **SETTINGS)
    assert "mention" in {finding.kind for finding in probe.findings}
    assert "60 arithmetic tasks were made" in probe.run_notes[0]
    assert "'answer'" in probe.run_notes[0]
    assert probe.run_notes[0] in str(probe)


def test_one_reward_of_several_is_named(tmp_path):
    """A file with several is refused with the call for one of them."""
    path = tmp_path / "rewards.py"
    path.write_text(NEAR + SHORT)
    with pytest.raises(ValueError, match=r"near, short.*rewards\.py:near"):
        wb.probe(path)
    assert wb.probe(f"{path}:near", **SETTINGS).grader == "near"


def test_an_import_path_is_probed():
    """A function that is installed, called in this process."""
    assert wb.probe("tests.probes.test_probe_rows:_constant", **SETTINGS).grader == "_constant"


def _constant(completions, **kwargs):  # a reward as trainers call it
    return [1.0 for _ in completions]


def test_rows_of_the_file_are_used(tmp_path):
    """An export of an eval has its graders and its rows."""
    item = {
        "datasource_item": {"q": "2+2?", "sum": "4"}, "status": "pass", "results": [{"name": "same", "score": 1.0, "passed": True}],
        "sample": {"input": [{"role": "user", "content": "2+2?"}], "output": [{"role": "assistant", "content": "4"}]},
    }  # fmt: skip
    criterion = {"type": "string_check", "name": "same", "input": "{{sample.output_text}}", "reference": "{{item.sum}}", "operation": "eq"}  # fmt: skip
    export = {
        "eval": {"object": "eval", "testing_criteria": [criterion], "data_source_config": {"type": "custom", "schema": {}}},
        "rows": [], "runs": [{"run": {"id": "r"}, "output_items": [item]}],
    }  # fmt: skip
    (tmp_path / "export.json").write_text(json.dumps(export))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplesWarning)
        samples, origin = rows_for(wb.read_graders(tmp_path / "export.json"), tmp_path / "export.json")
    assert len(samples) == 1
    assert origin.startswith("rows of the file itself")


def test_rows_of_the_user_are_not_replaced(tmp_path):
    """No note on made rows then."""
    (tmp_path / "reward.py").write_text(NEAR)
    rows = [{"prompt": f"{n}?", "completion": f"{n}", "answer": f"{n}"} for n in range(20, 30)]
    assert not any("made" in note for note in wb.probe(tmp_path / "reward.py", rows, **SETTINGS).run_notes)


def test_rows_for_certain_values_cannot_be_made(tmp_path):
    """Assertions of a test of promptfoo apply to the rows of its variables."""
    (tmp_path / "p.yaml").write_text(
        "prompts: ['{{q}}']\nproviders: [openai:m]\ntests:\n"
        "- vars: {q: a}\n  assert: [{type: contains, value: b, metric: m}]\n- vars: {q: c}\n  assert: [{type: contains, value: d, metric: m}]\n"
    )
    with pytest.raises(SamplesError, match="certain values"):
        made_rows(wb.read_graders(tmp_path / "p.yaml"))


def test_a_missing_file_is_an_error(tmp_path):
    """As when it is loaded."""
    with pytest.raises(FormatError):
        wb.probe(tmp_path / "none.py")


def test_made_rows_have_a_source():
    """Their name in messages."""
    samples, _ = made_rows(wb.Suite([wb.Contains()]))
    assert samples.source == MADE_ROWS
