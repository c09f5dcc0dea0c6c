"""What each platform's reader and writer promise beyond the matrix: recognition, release, headers, companions."""

import json
import tempfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.formats.documents import DOCUMENTS, companions, text_of
from tests.formats.matrix import PLATFORMS
from tests.graders.examples import ALTERNATIVES, EXAMPLES, FUNCTION, LETTA, SUITES, scripted
from tests.seeds.blocks import blocks
from workbench.core.errors import FormatError
from workbench.formats import FORMATS
from workbench.formats.shared.writing import detect

LETTAS = {"max_retries": 5, "timeout": 120.0}
"""What a rubric of Letta's has that says nothing of it."""

SEEDS = [
    ("umbraco", "umbraco", "json"),
    ("adaptive", "adaptive", "python"),
    ("osmosis", "osmosis", "python"),
]


def sample(text, truth=None, /, **metadata):
    return wb.Sample("0", wb.StringThread([("user", "q"), ("assistant", text)], metadata), truth, "0")


def looks_whole(platform, text):
    return {"adaptive": "graders.create.", "osmosis": "import Grader", "umbraco": "graderTypeId"}[
        platform
    ] in text


@pytest.mark.parametrize(
    ("platform", "text"),
    [(p, text) for p, seed, lang in SEEDS for _, text in blocks(seed, lang) if looks_whole(p, text)],
)
def test_seed_examples_are_recognised(platform, text):
    """Every whole example of the documents is taken for its platform's."""
    assert detect(text).name == platform


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("kind", EXAMPLES)
def test_written_documents_are_recognised(kind, platform, tmp_path):
    """Every written file is detected as its format."""
    name, ending = PLATFORMS[platform]
    path = tmp_path / f"g{ending}"
    try:
        wb.export(EXAMPLES[kind](), path, name, allow_unvalidated=True)
    except FormatError:
        assert not path.exists()
    else:
        assert detect(path.read_text("utf-8")).name == name


@pytest.mark.parametrize(
    "text",
    ["", "hello", "x = 1\n", "[]", "{}", "- a\n", "a: b\n", '{"graders": []}', '{"name": "x"}', "import os\n"],
)  # fmt: skip
def test_unknown_documents_say_what_to_do(text):
    """What no platform wrote is an error that lists them and names the option."""
    with pytest.raises(FormatError) as error:
        wb.loads(text)
    if "contains no grader" in error.value.what:  # Python, which no platform's name makes readable
        assert "async def grade" in error.value.hint
        return
    assert "format=" in str(error.value)
    assert "--from" in str(error.value)
    assert all(name in str(error.value) for name in FORMATS)


def test_two_candidates_are_named(monkeypatch):
    """A document that fits two formats alike is not guessed at."""
    twin = replace(FORMATS["umbraco"], name="twin")
    monkeypatch.setitem(FORMATS, "twin", twin)
    with pytest.raises(FormatError, match="it could be umbraco or twin"):
        wb.loads('{"graderTypeId": "contains"}')


def test_unknown_formats_are_listed(tmp_path):
    """An unknown format, in reading, writing and converting."""
    (tmp_path / "g").write_text("{}")
    for call in (
        lambda: wb.loads("{}", "no-such-format"),
        lambda: wb.export(wb.Contains(), tmp_path / "x", "no-such-format"),
        lambda: wb.convert(tmp_path / "g", tmp_path / "x", "no-such-format"),
    ):
        with pytest.raises(FormatError, match="native"):
            call()


# --- Letta


def letta(release, text="graders: {a: {kind: tool, function: exact_match}}"):
    return wb.loads(text, "letta", release=release)


def test_eras_change_the_rules():
    """An empty submission is graded in 0.4, 0.0 from 0.8; rubrics are templates from 0.17."""
    ascii_only = "graders: {a: {kind: tool, function: ascii_printable_only}}"
    assert [letta(release, ascii_only)(sample("")).score for release in ("", "0.7", "0.8")] == [1.0, 1.0, 0.0]
    judge = "graders: {a: {kind: model_judge, prompt: 'Rate {submission}'}}"
    assert [letta(release, judge).graders[0].release for release in ("", "0.16", "0.17", "0.26")] == [
        "0.4",
        "0.4",
        "0.17",
        "0.17",
    ]
    with pytest.raises(FormatError, match="release number"):
        letta("latest")
    with pytest.raises(FormatError, match="no releases"):
        wb.loads('{"graderTypeId": "contains"}', release="0.8")


@pytest.mark.parametrize("release", ["0.4", "0.8", "0.9", "0.17"])
def test_a_written_suite_keeps_its_release(release, tmp_path):
    """A suite read by a later release's rules is read by them again without naming the release."""
    text = "graders: {a: {kind: tool, function: contains, extractor: all_assistant}, b: {kind: rubric, prompt: 'p {x}', rubric_vars: [x]}}"
    suite = letta(release, text)
    wb.export(suite, tmp_path / "s.yaml", "letta")
    assert wb.load(tmp_path / "s.yaml").entries == suite.entries


def test_two_releases_of_judges_are_refused(tmp_path):
    """One file follows one release."""
    judges = [
        wb.Entry(wb.RubricJudge(prompt="p", model="m", release=release, platform="letta"), f"g{release}")
        for release in ("0.4", "0.17")
    ]
    with pytest.raises(FormatError, match="rules of one release"):
        wb.export(wb.Suite(judges), tmp_path / "s.yaml", "letta")


def test_the_reward_is_the_score(tmp_path):
    """A reward metric is the row's score, there and back."""
    text = "graders: {a: {kind: tool, function: contains}, b: {kind: tool, function: ascii_printable_only}}\nreward: {kind: metric, metric_key: b}"
    suite = wb.loads(text)
    wb.export(suite, tmp_path / "s.yaml", "letta")
    assert "reward:" in (tmp_path / "s.yaml").read_text()
    assert wb.load(tmp_path / "s.yaml").combine == suite.combine == wb.combine.Formula("b")
    with pytest.raises(FormatError, match="reward composer"):
        wb.loads(text.replace("kind: metric, metric_key: b", "kind: custom, function: 'a.py:f'"))


def test_functions_keep_their_extractors(tmp_path):
    """A custom function gets the result of the suite's extractor, named or written."""
    own = "from letta_evals.decorators import extractor\n\n\n@extractor\ndef last_word(trajectory, config):\n    return config['mark'] + trajectory[-1][-1].content.split()[-1]\n"
    named = "graders: {a: {kind: tool, function: 'mine.py:mentions', extractor: pattern, extractor_config: {pattern: 'x+'}}}"
    written = "graders: {a: {kind: tool, function: 'mine.py:mentions', extractor: 'mine.py:last_word', extractor_config: {mark: '#'}}}"
    (tmp_path / "out").mkdir()
    for text, good, bad in [(named, "4 xx", "4"), (written, "a b", "b a")]:
        (tmp_path / "mine.py").write_text(LETTA + ("\n\n" + own if text == written else ""))
        (tmp_path / "suite.yaml").write_text(text)
        suite = wb.load(tmp_path / "suite.yaml", trust=True)
        (tmp_path / "out" / "s_a.py").unlink(missing_ok=True)
        wb.convert(
            tmp_path / "suite.yaml", tmp_path / "out" / "s.yaml", "letta", trust=True, allow_unvalidated=True
        )
        again = wb.load(tmp_path / "out" / "s.yaml", trust=True)
        for one in (suite, again):
            reference = "xx" if text == named else "#b"
            assert one(sample(good, reference)).score == 1.0
            assert one(sample(bad, reference)).score == 0.0


def test_one_function_of_several_is_taken(tmp_path):
    """A module with two graders gives the one that is named."""
    two = LETTA + LETTA.partition("@grader")[2].replace("mentions", "never").replace(
        "float(found)", "0.25"
    ).join(["\n\n@grader", ""])
    (tmp_path / "mine.py").write_text(two)
    (tmp_path / "suite.yaml").write_text(
        "graders: {a: {kind: tool, function: 'mine.py:mentions'}, b: {kind: tool, function: 'mine.py:never'}}"
    )
    parts = wb.load(tmp_path / "suite.yaml", trust=True)(sample("4", "4")).parts
    assert {name: part.score for name, part in parts.items()} == {"a": 1.0, "b": 0.25}
    (tmp_path / "suite.yaml").write_text("graders: {a: {kind: tool, function: 'mine.py:none'}}")
    with pytest.raises(FormatError, match="no function 'none'"):
        wb.load(tmp_path / "suite.yaml")


def test_what_is_run_is_left_out_and_said(tmp_path):
    """Target and dataset are not part of a suite of graders; a conversion notes them."""
    companions(tmp_path)
    (tmp_path / "suite.yaml").write_text(text_of("letta", DOCUMENTS["letta"][1]))
    written = wb.convert(tmp_path / "suite.yaml", tmp_path / "s.json", "native", allow_unvalidated=True)
    assert {note.field for note in written.notes} >= {"dataset", "target", "max_samples", "num_runs"}
    assert "note: " in str(written)
    assert "dataset" in str(written)


def test_written_yaml_is_for_people(tmp_path):
    """Prompts are block scalars, descriptions are display names, and any YAML reader reads it."""
    judge = wb.RubricJudge(
        prompt="Rate.\n- well\n  - ☕🎈\n",
        description="Quality",
        name="q",
        model="m",
        platform="letta",
        **LETTAS,
    )
    path = wb.export(judge, tmp_path / "s.yaml", "letta").paths[0]
    text = path.read_text("utf-8")
    assert "prompt: |\n      Rate.\n      - well\n        - ☕🎈\n" in text
    assert yaml.safe_load(text)["graders"]["q"]["display_name"] == "Quality"
    assert wb.load(path).graders[0] == judge
    assert wb.load(path).graders[0].description == "Quality"


# --- OpenAI


def test_endpoint_headers_hold_no_secret(tmp_path):
    """A credential in a header is refused without being shown; a variable's name is written."""
    for name, value in [
        ("Authorization", "Bearer abc"),
        ("x-note", "sk-" + "a1" * 12),
        ("x-functions-key", "abc"),
    ]:
        record = {"type": "endpoint", "name": "e", "url": "https://x.example", "headers": {name: value}}
        with pytest.raises(FormatError) as error:
            wb.loads(json.dumps(record))
        assert value not in str(error.value)
        assert "$NAME" in str(error.value)
    grader = wb.loads(json.dumps({**record, "headers": {"Authorization": "$REWARD"}})).graders[0]
    written = wb.export(grader, tmp_path / "e.json", "openai")
    assert json.loads((tmp_path / "e.json").read_text())["headers"] == {"Authorization": "$REWARD"}
    assert "headers.Authorization" in str(written)


def test_python_keeps_text_and_image(tmp_path):
    """Source and image tag come back unchanged, through our own format too."""
    record = {
        "type": "python",
        "name": "p",
        "source": "def grade(sample, item):\n    return 1.0\n",
        "image_tag": "2024-01-01",
    }
    (tmp_path / "a.json").write_text(json.dumps(record))
    wb.convert(tmp_path / "a.json", tmp_path / "b.json", "native")
    wb.convert(tmp_path / "b.json", tmp_path / "c.json", "openai")
    assert json.loads((tmp_path / "c.json").read_text()) == record


def test_written_graders_fit_the_packages_types(tmp_path):
    """Every type the package has reads what is written, and a wrapped grader is read."""
    from openai.types import graders as types

    known = {
        "string-check": types.StringCheckGrader,
        "text-similarity": types.TextSimilarityGrader,
        "score-judge": types.ScoreModelGrader,
        "label-judge": types.LabelModelGrader,
        "function": types.PythonGrader,
    }
    for kind, model in known.items():
        wb.export(EXAMPLES[kind](), tmp_path / "g.json", "openai", allow_unvalidated=True)
        record = json.loads((tmp_path / "g.json").read_text())
        model.model_validate(record)
        assert wb.loads(json.dumps({"grader": record})).graders == wb.load(tmp_path / "g.json").graders


def test_formula_names_are_the_maps(tmp_path):
    """Names that formulas cannot contain, that collide, or are functions there are renamed in both places."""
    names = ["min", "x 2", "x", "x-", "Ä"]
    entries = [wb.Entry(wb.Contains(expected=str(at)), name) for at, name in enumerate(names)]
    suite = wb.Suite(entries, combine=wb.combine.Mean())
    wb.export(suite, tmp_path / "m.json", "openai")
    graders = json.loads((tmp_path / "m.json").read_text())["graders"]
    assert len({name.casefold() for name in graders}) == 5
    again = wb.load(tmp_path / "m.json")
    for text in ("0", "1 2", "34", "0 1 2 3 4", ""):
        assert again(sample(text)).score == pytest.approx(suite(sample(text)).score)


def test_a_formula_without_its_grader_is_not_written(tmp_path):
    """Dropping a grader that the formula reads leaves nothing to write."""
    parts = [wb.Entry(wb.JsonSchema(schema={}), "a"), wb.Entry(wb.Contains(expected="4"), "b")]
    with pytest.raises(FormatError, match="formula needs a dropped grader"):
        wb.export(
            wb.Suite(parts, combine=wb.combine.Formula("a + b")),
            tmp_path / "m.json",
            "openai",
            on_loss="report",
        )
    assert list(tmp_path.iterdir()) == []


# --- wrapped functions


@pytest.mark.parametrize("platform", ["openai", "letta", "osmosis"])
def test_wrapped_text_comes_back(platform, tmp_path):
    """A grade function in another platform's clothes is the same text again, future imports and all."""
    ending = FORMATS[platform].suffix
    grader = wb.FunctionGrader.from_source(FUNCTION, name="f")
    wb.export(grader, tmp_path / f"g{ending}", platform, allow_unvalidated=True)
    again = wb.load(tmp_path / f"g{ending}").graders[0]
    assert (again.source.text, again.signature) == (grader.source.text, "thread")


@pytest.mark.parametrize("platform", ["openai", "osmosis"])
def test_a_changed_frame_counts(platform, tmp_path):
    """If the lines around the function were edited, the whole file is the grader."""
    path = tmp_path / f"g{FORMATS[platform].suffix}"
    wb.export(wb.FunctionGrader.from_source(FUNCTION, name="f"), path, platform, allow_unvalidated=True)
    old, new = (
        ("return _wb_drive(_wb_grade(thread))", "return 0.25")
        if platform == "openai"
        else ("await _wb_grade(thread)", "0.25")
    )
    text = path.read_text()
    shown = old if platform == "osmosis" else json.dumps(old)[1:-1]
    assert shown in text
    path.write_text(text.replace(shown, new))
    assert wb.load(path, trust=True)(sample("4", "4", reference="4")).score == 0.25


def test_a_function_reads_the_reference_by_its_columns_name(tmp_path):
    """A grader that reads `expected` does so on platforms that call it otherwise."""
    text = "async def grade(thread):\n    return float(thread.completion() == thread.metadata['expected'])\n"
    rows = wb.Samples([{"prompt": "q", "completion": "4", "expected": "4"}])
    for platform in ("osmosis", "letta", "openai"):
        path = tmp_path / f"g{FORMATS[platform].suffix}"
        wb.export(
            wb.FunctionGrader.from_source(text, name=f"f{platform}"), path, platform, allow_unvalidated=True
        )
        assert wb.load(path, trust=True)(rows[0]).score == 1.0


@pytest.mark.parametrize("platform", ["openai", "letta", "adaptive"])
def test_what_a_platform_does_not_pass_is_refused(platform, tmp_path):
    """A function that reads more of the thread than the platform gives it is not written half blind."""
    reads = "tool_calls" if platform != "openai" else "messages"
    grader = wb.FunctionGrader.from_source(
        f"async def grade(thread):\n    return float(len(thread.{reads}()))\n", name="f"
    )
    path = tmp_path / "g"
    with pytest.raises(FormatError, match=rf"thread\.{reads}"):
        wb.export(grader, path, platform, allow_unvalidated=True)
    with pytest.raises(FormatError, match="no grader can be written"):
        wb.export(grader, path, platform, allow_unvalidated=True, on_loss="report")


def test_adaptive_imports_are_renamed_everywhere(tmp_path):
    """Workbench imports become the platform's everywhere; strings with odd line ends are unchanged."""
    text = 'import re; from workbench import StringThread\nMARK = "a\\u2028b\x0c"\n\n\nasync def grade(thread):\n    from workbench import (\n        StringThread,\n    )\n\n    return float(isinstance(thread, StringThread))\n\n\nimport workbench as wb\n'
    wb.export(
        wb.FunctionGrader.from_source(text, name="f"), tmp_path / "g.json", "adaptive", allow_unvalidated=True
    )
    fn = json.loads((tmp_path / "g.json").read_text())["graders"][0]["fn"]
    assert "workbench" not in fn
    assert fn.count("adaptive_harmony") == 3
    assert "\x0c" in fn


@given(st.text(st.characters() | st.sampled_from("'\\\n\r\t\x00\x0c\u2028{}"), max_size=12))
def test_any_text_survives_a_python_file(text):
    """For any criteria of a judge, the call's literal reads back the same, and so does YAML and JSON."""
    criteria = f"c{text}\n{text}"
    judge = wb.BinaryJudge(criteria=criteria, name="j", model="m", platform="adaptive")
    with tempfile.TemporaryDirectory() as folder:
        wb.export(judge, Path(folder, "g.py"), "adaptive")
        if "\\ud" not in ascii(text):
            wb.export(judge, Path(folder, "g.json"), "adaptive")
        for path in Path(folder).iterdir():
            assert wb.load(path).graders[0].criteria == criteria


@given(
    st.text(
        st.characters(codec="utf-8") | st.sampled_from("'\\\n\r\t\x00\x0c\u2028{}: -#|>&*!%@`"), max_size=12
    )
)
def test_any_text_survives_yaml(text):
    """For any rubric, it reads back the same from a suite file."""
    judge = wb.RubricJudge(prompt=f"{text}p\n{text}", name="j", model="m", platform="letta", **LETTAS)
    with tempfile.TemporaryDirectory() as folder:
        wb.export(judge, Path(folder, "s.yaml"), "letta")
        assert wb.load(Path(folder, "s.yaml")).graders[0] == judge


def test_an_explicit_temperature_of_zero_stays(tmp_path):
    """0 is not the platform's default, so it is written again; what was not given is not."""
    shared = {"type": "score_model", "name": "s", "input": [{"role": "user", "content": "q"}], "model": "m"}
    for given_params in ({}, {"temperature": 0}, {"temperature": 0.5, "seed": 1}):
        record = {**shared, **({"sampling_params": given_params} if given_params else {})}
        grader = wb.loads(json.dumps(record)).graders[0]
        assert grader.request_settings()["temperature"] == given_params.get("temperature", 0.0)
        wb.export(grader, tmp_path / "s.json", "openai")
        assert json.loads((tmp_path / "s.json").read_text()).get("sampling_params", {}) == given_params


def test_settings_no_score_depends_on_are_noted(tmp_path):
    """Titles and limits are omitted with a note, without a refusal."""
    grader = wb.FunctionGrader.from_source(FUNCTION, name="f", timeout=2.0, description="Good.")
    written = wb.export(
        wb.Suite(grader, description="All."), tmp_path / "g.py", "osmosis", allow_unvalidated=True
    )
    assert {note.field for note in written.notes} == {"timeout", "description", "name"}
    assert written.losses == ()


GUARDRAIL = {"evaluatorId": "regex", "evaluatorConfig": {"pattern": "^B$"}}
FULL_GUARDRAIL = {
    "evaluatorId": "regex",
    "evaluatorConfig": {"pattern": "^B$", "ignoreCase": True, "multiline": False},
}


@pytest.mark.parametrize(
    ("kind", "config", "full"),
    [
        ("exact-match", {"expectedValue": "B"}, {"expectedValue": "B", "ignoreCase": True}),
        ("contains", {"searchPattern": "B"}, {"searchPattern": "B", "ignoreCase": True}),
        ("regex", {"pattern": "^B$"}, {"pattern": "^B$", "ignoreCase": True, "multiline": False}),
        ("json-schema", {"expectedKeys": "a,b"}, {"expectedKeys": "a,b", "requireAllKeys": True}),
        (
            "tool-call",
            {"expectedTools": "a,b"},
            {"expectedTools": "a,b", "validationMode": "Any", "validateOrder": False},
        ),
        ("guardrail", GUARDRAIL, FULL_GUARDRAIL),
        ("llm-judge", {"evaluationCriteria": "c"}, {"evaluationCriteria": "c", "passThreshold": 0.7}),
    ],
)
def test_what_an_umbraco_config_leaves_out(kind, config, full):
    """Each setting has Umbraco's default, and another value of it is another grader."""
    record = {"graderTypeId": kind, "name": "g"}
    bare, stated = (wb.loads(json.dumps(record | {"config": values}))[0] for values in (config, full))
    assert bare == stated
    inner = full.get("evaluatorConfig", full)
    for key in [key for key, value in inner.items() if isinstance(value, bool)]:
        other = inner | {key: not inner[key]}
        other = full | {"evaluatorConfig": other} if kind == "guardrail" else other
        assert wb.loads(json.dumps(record | {"config": other}))[0] != bare


def test_an_umbraco_test_of_one_check_goes_anywhere(tmp_path):
    """The rule that all must pass has no effect over one check, so it stops no conversion."""
    (tmp_path / "u.json").write_text(
        '{"graderTypeId": "contains", "config": {"searchPattern": "4"}, "weight": 0.5}'
    )
    for platform in ("adaptive", "letta", "openai", "osmosis", "vllora"):
        path = tmp_path / f"g{FORMATS[platform].suffix}"
        written = wb.convert(tmp_path / "u.json", path, platform)
        assert any(note.field == "weight" for note in written.notes)
        assert wb.load(path, trust=True)(sample("44")).score == 1.0
        path.unlink()


def test_a_trusted_custom_grader_is_saved_without_its_trust(tmp_path):
    """Trust is for the reader of a file to give, so it is not in the file."""
    path = wb.save(EXAMPLES["custom"](), tmp_path / "a.json")
    trusted = wb.load(path, trust=True)
    assert trusted(sample("x")).score == 0.5
    assert wb.load(wb.save(trusted, tmp_path / "b.json"))[0].trust is False


def test_data_that_looks_like_a_grader_is_left_alone(tmp_path):
    """An agent's own keys are not taken for a grader's."""
    judge = scripted(EXAMPLES["agent-judge"]())
    odd = {
        **judge.agent,
        "extra": {"kind": "custom", "trust": True, "imported": False, "source": {"sha256": "x"}},
    }
    path = wb.save(replace(judge, agent=odd, client=None), tmp_path / "a.json")
    assert wb.load(path)[0].agent == odd


def test_functions_of_other_platforms_are_saved(tmp_path):
    """Signature and extractor stand in our own file."""
    for at, make in enumerate(ALTERNATIVES["function"]):
        grader = make()
        path = wb.save(grader, tmp_path / f"{at}.json", allow_unvalidated=True)
        assert wb.load(path)[0] == grader


def test_losses_are_reported_with_what_is_left(tmp_path):
    """The report in the same folder lists what was dropped and what was omitted."""
    suite = wb.Suite(
        [*SUITES["mean"]().entries, wb.JsonSchema(schema={}, name="s")],
        combine=wb.combine.Mean(),
        description="D",
    )
    written = wb.export(suite, tmp_path / "g.py", "adaptive", on_loss="report")
    told = json.loads((tmp_path / "g.py.losses.json").read_text())
    assert {one["grader"] for one in told["dropped"]} == {"", "s", "four", "short"} - {
        name for name in ("four", "short") if name not in {loss.grader for loss in written.losses}
    }
    assert [one["field"] for one in told["left_out"]] == ["description"]
    assert len(wb.load(tmp_path / "g.py")) == 2


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "openai.json",
            '{"type": "endpoint", "name": "e", "url": "http://10.0.0.1", "headers": {"x-a": "$HOME"}}',
        ),
        ("adaptive.json", '[{"type": "REMOTE", "key": "e", "url": "http://10.0.0.1"}]'),
        ("adaptive.py", 'client.graders.create.external_endpoint(key="e", url="http://10.0.0.1")\n'),
    ],
)
def test_an_endpoint_of_a_platforms_file_is_somebody_elses(name, text, trust, tmp_path):
    """It reaches nothing inside and is sent nothing of the environment until it is trusted."""
    path = tmp_path / name
    path.write_text(text)
    read = wb.load(path, format=name.partition(".")[0], trust=trust).entries[0].grader
    assert (read.imported, read.trust) == (True, trust)
    with nullcontext() if trust else pytest.raises(wb.errors.IsolationError):
        read.check_ready()


RUBRIC = "graders:\n  q:\n    kind: rubric\n    model: m\n    prompt: |\n      Asked {input}, said {submission}. {topic}\n"


def test_places_that_are_not_filled_are_told_at_load(tmp_path, capsys):
    """A rubric with `{input}` under rules that do not substitute it gives a note on loading; with other rules it does not."""
    path = tmp_path / "suite.yaml"
    path.write_text(RUBRIC)
    for read in (lambda: wb.load(path), lambda: wb.loads(RUBRIC)):
        assert len(read()) == 1
        told = capsys.readouterr().out
        assert told.startswith("note: grader 'q', prompt: {input}, {submission} is sent literally")
        assert "{topic}" not in told
    wb.load(path, release="0.17")
    wb.loads(RUBRIC.replace("{", "(").replace("}", ")"))
    assert capsys.readouterr().out == ""
    done = wb.convert(path, tmp_path / "g.json", "native")
    assert [note.field for note in done.notes if note.grader == "q"] == ["prompt"]
