"""Unknown names propose the nearest known one, wherever a person types a name."""

import pytest

import workbench as wb
from workbench.core.display_text import did_you_mean
from workbench.core.errors import WorkbenchError
from workbench.data.extractors import Extractor
from workbench.data.templates import compile as compile_template
from workbench.data.templates.template import translate
from workbench.graders.base import from_spec

ROWS = [{"prompt": "p", "completion": "4", "expected": "4"}]


def report():
    return wb.Suite([wb.ExactMatch(name="exact"), wb.Contains(name="contains")]).run(ROWS, progress=False)


CASES = {
    "kind": (lambda: from_spec({"kind": "exact-mach"}), "exact-match"),
    "field of a kind": (lambda: from_spec({"kind": "exact-match", "ignore_cas": True}), "ignore_case"),
    "setting of a class": (lambda: wb.ExactMatch(ignorecase=True), "ignore_case"),
    "setting of a run": (lambda: wb.Suite([wb.ExactMatch()]).start(ROWS, labells=[True]), "labels"),
    "setting of a probe": (lambda: wb.probe(wb.ExactMatch(), ROWS, pass_treshold=0.5), "pass_threshold"),
    "extractor": (lambda: Extractor("last_asistant"), "last_assistant"),
    "setting of an extractor": (lambda: Extractor("pattern", {"patern": "x"}), "pattern"),
    "dialect": (lambda: compile_template("x", "jinja"), "jinja2"),
    "dialect to translate to": (lambda: translate("x", "jinja2", "handlebar"), "handlebars"),
    "format": (lambda: wb.export(wb.ExactMatch(), "x.json", format="umbracco"), "umbraco"),
    "provider": (lambda: wb.RubricJudge("r", model="m", provider="opneai"), "openai"),
    "platform": (lambda: wb.BinaryJudge("c", model="m", platform="adaptiv"), "adaptive"),
    "grader of a report": (lambda: report().rows("exct"), "exact"),
    "status": (lambda: report().rows("exact", where="score"), "scored"),
    "preset": (lambda: wb.Suite([wb.ExactMatch()]).run(ROWS, preset="vlora", progress=False), "vllora"),
    "role": (lambda: wb.read_samples(ROWS, columns={"promt": "prompt"}), "prompt"),
    "column": (lambda: wb.read_samples(ROWS, columns={"completion": "completon"}), "completion"),
    "key of a file": (
        lambda: wb.loads('{"type": "string_check", "nam": "a", "operation": "eq"}', "openai"),
        "name",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_nearest_name_is_proposed(case):
    act, name = CASES[case]
    with pytest.raises((WorkbenchError, TypeError)) as caught:
        act()
    assert f"did you mean {name!r}?" in str(caught.value)


def test_nothing_is_proposed_where_nothing_is_near():
    assert did_you_mean("qqq", ["prompt", "completion"]) == ""
    assert did_you_mean("PROMPT", ["prompt"]) == "did you mean 'prompt'?"
