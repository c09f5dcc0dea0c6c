"""Osmosis' cases: context, artifacts, configs, discovery, validation, graders and the older decorators."""

import pytest

import workbench as wb
from tests.conformance.cases import cases, check_score
from workbench.analysis.statistics.group_scores import pass_at_k
from workbench.sandbox.platforms import osmosis, osmosis_legacy

NAMES = {
    name: getattr(osmosis, name) for name in ("Grader", "GraderContext", "GraderConfig", "RolloutSample")
}
LEGACY = {name: getattr(osmosis_legacy, name) for name in ("osmosis_reward", "osmosis_rubric")}
IMPORTS = "from osmosis_ai.rollout import Grader, GraderConfig, GraderContext, RolloutSample\n"


def module(source, names=NAMES):
    """The names of a case's source; the cases are our own text."""
    namespace = {"__name__": "case", **names}
    exec(source, namespace)
    return {name: value for name, value in namespace.items() if name not in names}


@pytest.mark.parametrize("case", cases("osmosis", "artifacts:sanitize"))
def test_artifacts(case):
    """Three error codes, 65,536 bytes inclusive."""
    item, expected = case["item"], case["expected"]
    given = eval(item["artifacts_expr"]) if "artifacts_expr" in item else item["artifacts"]
    result = osmosis.sanitize_artifacts(given, case["config"].get("max_bytes", 65536))
    if "artifacts" in expected:
        assert result == expected["artifacts"]
    if "error_code" in expected:
        assert result["_error"]["code"] == expected["error_code"]
    if expected.get("accepted"):
        assert result == given


@pytest.mark.parametrize("case", cases("osmosis", "context"))
def test_context(case):
    """Rewards by id, the last one counts; artifacts are a dict."""
    item, expected = case["item"], case["expected"]
    ctx = osmosis.GraderContext(samples={name: osmosis.RolloutSample(name) for name in item["samples"]})

    def play():
        for method, *arguments in item["calls"]:
            getattr(ctx, method)(*arguments)
        if item.get("validate"):
            osmosis.require_rewards(ctx.samples)

    if "error" in expected:
        with pytest.raises((ValueError, TypeError)) as caught:
            play()
        assert type(caught.value).__name__ == expected["error"]
        assert expected.get("message_contains", "") in str(caught.value)
        return
    play()
    if "rewards" in expected:
        assert {name: sample.reward for name, sample in ctx.get_samples().items()} == expected["rewards"]
    if "artifacts" in expected:
        assert ctx.artifacts == expected["artifacts"]


@pytest.mark.parametrize("case", cases("osmosis", "config"))
def test_configs(case):
    """A name is required, extra keys are allowed, concurrency is None or at least 1."""
    cls = getattr(osmosis, case["grader"].partition(":")[2])
    if case["expected"]["valid"]:
        assert cls(**case["config"]).model_dump() == case["expected"].get(
            "dump", cls(**case["config"]).model_dump()
        )
    else:
        with pytest.raises((ValueError, TypeError)):
            cls(**case["config"])


@pytest.mark.parametrize("case", cases("osmosis", "grader:source"))
def test_graders(case):
    """A module's grader over samples, in the sandbox."""
    item, expected = case["item"], case["expected"]
    metadata = {**(item["metadata"] or {}), "samples": item["samples"]}
    sample = wb.Sample(id="row", thread=wb.StringThread([], metadata), reference=item["label"], group="0")
    grade = wb.RolloutGrader.from_source(IMPORTS + case["config"]["source"])(sample)
    if "rewards" in expected:
        assert grade.metadata["rewards"] == expected["rewards"]
    else:
        assert grade.error is not None


@pytest.mark.parametrize("case", cases("osmosis", "grader:runs"))
def test_which_rows_are_graded(case):
    """A label or metadata, empty ones too."""
    assert osmosis.grader_runs(**case["item"]) == case["expected"]["grader_runs"]


@pytest.mark.parametrize("case", cases("osmosis", "discovery"))
def test_discovery(case):
    """One class and one config by identity, or an error that names them."""
    names, expected = module(case["config"]["source"]), case["expected"]
    if "error_contains" in expected:
        with pytest.raises(ValueError, match=expected["error_contains"]):
            osmosis.discover_grader(names)
        return
    grader, config = osmosis.discover_grader(names)
    assert (grader and grader.__name__) == expected["grader"]
    assert (config and config.name) == expected["config"]


@pytest.mark.parametrize("case", cases("osmosis", "validate_backend"))
def test_validation(case):
    """Every problem of a grader class by its code."""
    grader, config = osmosis.discover_grader(module(case["config"]["source"]))
    codes = [code for code, _ in osmosis.validate_backend(grader, config)]
    assert codes == case["expected"]["codes"]


@pytest.mark.parametrize("case", cases("osmosis", "legacy"))
def test_decorators(case):
    """Rules of the decorated functions at 0.2.17."""
    expected = case["expected"]
    if "decorate_error" in expected:
        with pytest.raises(TypeError):
            module(case["config"]["source"], LEGACY)
        return
    function = module(case["config"]["source"], LEGACY)["f"]
    call = case["item"]["call"]
    if "error" in expected:
        with pytest.raises((TypeError, ValueError)):
            function(*call["args"], **call["kwargs"])
    else:
        check_score(expected, function(*call["args"], **call["kwargs"]))


@pytest.mark.parametrize("case", cases("osmosis", "metric"))
def test_pass_at_k(case):
    """The unbiased estimate."""
    value = pass_at_k(case["item"]["n"], case["item"]["correct"], case["config"]["k"])
    assert value == pytest.approx(case["expected"]["value"])
