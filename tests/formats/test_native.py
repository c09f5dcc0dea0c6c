"""Native JSON: exact round trip, atomic writes, and refusals that name the place."""

import json
import os
import stat

import pytest
from jsonschema import Draft202012Validator

import workbench as wb
from workbench.core.errors import FormatError, NotValidatedError
from workbench.formats.platforms.native import read, schema, write

GRADER = wb.FunctionGrader.from_source(
    "# a comment: ä 🎈\nasync def grade(thread: StringThread) -> float:\n    return 0.5\n",
    name="half",
    description="Always a half.",
    timeout=2.5,
)
GRADER.validate()


@pytest.fixture
def document():
    return json.loads(write([GRADER]))


def test_round_trip_is_exact(tmp_path):
    """What is read equals what was written, and writing it again gives the same bytes."""
    first = wb.save([GRADER], tmp_path / "a.json")
    loaded = wb.load(first)
    assert list(loaded) == [GRADER]
    assert loaded[0].validation == GRADER.validation
    assert wb.save(loaded, tmp_path / "b.json").read_bytes() == first.read_bytes()


def test_loaded_source_is_imported(tmp_path):
    """A loaded grader is untrusted unless it is trusted explicitly."""
    path = wb.save(GRADER, tmp_path / "a.json")
    assert wb.load(path)[0].source.imported
    assert not wb.load(path)[0].trust
    assert wb.load(path, trust=True)[0].trust


@pytest.mark.parametrize("reading", [read, wb.loads])
def test_a_text_is_trusted_only_on_request(reading):
    """A grader read from a text is untrusted too."""
    text = wb.dumps(GRADER)
    assert not reading(text)[0].trust
    assert reading(text, trust=True)[0].trust


def test_a_conversion_proves_its_sources(tmp_path):
    """A source that fails validation is not exported unless requested."""
    failing = wb.FunctionGrader.from_source("async def grade(thread):\n    return None\n")
    source = wb.save(failing, tmp_path / "a.json", allow_unvalidated=True)
    for target, platform in ((tmp_path / "b.json", "native"), (tmp_path / "b.py", "adaptive")):
        with pytest.raises(NotValidatedError, match="test_run"):
            wb.convert(source, target, platform)
        assert list(tmp_path.iterdir()) == [source]
    wb.convert(source, tmp_path / "b.json", "native", allow_unvalidated=True)
    assert wb.load(tmp_path / "b.json")[0] == wb.load(source)[0]


def test_a_judge_without_a_model_is_noted(tmp_path):
    """A user of the file has to choose the model; a judge with a model needs no note."""
    named, nameless = wb.BinaryJudge("c", model="m", name="named"), wb.BinaryJudge("c", name="nameless")
    (note,) = wb.export([named, nameless], tmp_path / "a.json", "native").notes
    assert (note.grader, note.field) == ("nameless", "model")
    assert "WORKBENCH_MODEL" in note.what


def test_schema_is_valid_and_fits(document):
    """The published schema is a schema, and our own files fit it."""
    Draft202012Validator.check_schema(schema())
    Draft202012Validator(schema()).validate(document)


def test_unvalidated_is_refused_and_nothing_written(tmp_path):
    """A grader that is not validated is not saved unless requested."""
    fresh = wb.FunctionGrader.from_source("async def grade(t):\n    return 1.0\n")
    with pytest.raises(NotValidatedError, match="allow_unvalidated=True"):
        wb.save(fresh, tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []
    wb.save(fresh, tmp_path / "a.json", allow_unvalidated=True)
    assert wb.load(tmp_path / "a.json")[0].validation is None


def test_a_proof_of_another_text_is_dropped(document):
    """A record counts only for the text it was made for."""
    document["graders"][0]["validation"]["sha256"] = "0" * 64
    assert read(json.dumps(document))[0].validation is None


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda d: d.update(format="no-such-format"), "not a grader workbench file"),
        (lambda d: d.pop("format"), "not a grader workbench file"),
        (lambda d: d.update(version=2), "another version"),
        (lambda d: d.update(version=True), "version"),
        (lambda d: d.update(graders=[]), "graders"),
        (lambda d: d.update(extra=1), "extra"),
        (lambda d: d["graders"][0].update(kind="pickle"), "unknown kind"),
        (lambda d: d["graders"][0].update(trust=True), "graders"),
        (lambda d: d["graders"][0].update(surprise=1), "surprise"),
        (lambda d: d["graders"][0].update(timeout=-1), "timeout"),
        (lambda d: d["graders"][0].update(timeout="1"), "timeout"),
        (lambda d: d["graders"][0].update(memory_mb=10**9), "memory_mb"),
        (
            lambda d: d["graders"][0]["source"].update(text="async def grade(t):\n    return 1.0\n"),
            "changed after it was saved",
        ),
        (lambda d: d["graders"][0]["source"].update(imported=False), "imported"),
        (lambda d: d["graders"][0]["source"].pop("sha256"), "sha256"),
        (lambda d: d["graders"][0]["source"].update(text="x" * 70000), "the source"),
        (lambda d: d["graders"][0]["source"].update(text="\ud800"), "lone surrogate"),
        (lambda d: d["graders"][0]["validation"].update(isolation="perfect"), "isolation"),
        (lambda d: d["graders"].append(d["graders"][0]), "two graders"),
        (lambda d: d["graders"][0].update(name=""), "name"),
    ],
)
def test_what_does_not_fit_is_refused(document, change, part):
    """Foreign, tampered and malformed documents are errors that name the place."""
    change(document)
    with pytest.raises(FormatError, match=part):
        read(json.dumps(document), where="f.json")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "not JSON"),
        ("{", "line 1, column"),
        ("[]", "a JSON list"),
        ("null", "a JSON NoneType"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 60 + "1" + "}" * 60, "nested too deeply"),
        ('{"format": "grader-workbench", "version": 1, "graders": [], "graders": [1]}', "duplicate key"),
        ('{"format": "grader-workbench", "version": NaN}', "NaN is not a JSON number"),
        ('{"format": "grader-workbench", "version": ' + "9" * 5000 + "}", "plain JSON"),
    ],
)
def test_hostile_text_is_refused(text, part):
    """Broken, deep, ambiguous and overlong JSON ends in a clear error."""
    with pytest.raises(FormatError, match=part):
        read(text)


def test_files_that_cannot_be_read(tmp_path):
    """The error states whether a file is missing, binary or huge."""
    with pytest.raises(FormatError, match="cannot be read"):
        wb.load(tmp_path / "none.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match="not UTF-8"):
        wb.load(tmp_path / "binary.json")
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(17 * 2**20)
    with pytest.raises(FormatError, match="too large"):
        wb.load(tmp_path / "huge.json")


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    """When the disk is full the old file is still whole and no litter is left."""
    path = wb.save(GRADER, tmp_path / "a.json")
    before = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FormatError, match="No space left"):
        wb.save(GRADER, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_missing_folder_is_an_error(tmp_path):
    """A folder that is not there is named."""
    with pytest.raises(FormatError, match="cannot be written"):
        wb.save(GRADER, tmp_path / "no" / "a.json")


def test_file_mode_is_kept(tmp_path):
    """A file that was shared stays shared."""
    path = wb.save(GRADER, tmp_path / "a.json")
    path.chmod(0o640)
    wb.save(GRADER, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_nothing_and_twins_are_refused():
    """An empty list and two graders of one name are mistakes."""
    with pytest.raises(FormatError, match="no graders"):
        write([])
    with pytest.raises(FormatError, match="two graders"):
        write([GRADER, GRADER])


def test_a_forged_proof_is_checked_before_it_is_passed_on(document):
    """A file that claims a validation record for an invalid source is detected when it is saved again."""
    import hashlib

    record = document["graders"][0]
    record["source"]["text"] = "async def grade(t):\n    return None\n"
    digest = hashlib.sha256(record["source"]["text"].encode()).hexdigest()
    record["source"]["sha256"] = record["validation"]["sha256"] = digest
    forged = read(json.dumps(document))
    assert forged[0].validation.claimed
    with pytest.raises(NotValidatedError, match="test_run"):
        write(forged)


def test_what_is_no_grader_is_refused():
    """A number is not saved."""
    with pytest.raises(TypeError, match="not int"):
        wb.save([3], "never.json")


def test_save_export_and_dumps_are_one(tmp_path):
    """The same text, and the same refusals, whichever of the three is called."""
    text = wb.dumps(GRADER)
    assert wb.save(GRADER, tmp_path / "a.json").read_text("utf-8") == text
    wb.export(GRADER, tmp_path / "b.json", "native")
    assert (tmp_path / "b.json").read_text("utf-8") == text
    unproved = wb.FunctionGrader.from_source("async def grade(thread):\n    return 0.5\n")
    target = tmp_path / "c.json"
    for writing in (
        lambda: wb.dumps(unproved),
        lambda: wb.save(unproved, target),
        lambda: wb.export(unproved, target, "native"),
    ):
        with pytest.raises(NotValidatedError, match="not validated"):
            writing()


def test_a_file_of_one_grader_gives_it():
    """`.grader` is the grader of a suite with one; for several the error states how to get each."""
    assert wb.loads(wb.dumps(wb.Contains("a"))).grader == wb.Contains("a")
    several = wb.Suite([wb.Contains("a"), wb.Length(1)])
    with pytest.raises(
        AttributeError, match=r"suite\[0\], or by name: suite\['contains'\], suite\['length'\]"
    ):
        several.grader  # noqa: B018


def test_the_graders_of_a_large_export_are_read(tmp_path):
    """An export of OpenAI with its runs may be larger than a file of graders alone."""
    criterion = {
        "type": "string_check",
        "name": "same",
        "input": "{{sample.output_text}}",
        "reference": "4",
        "operation": "eq",
    }
    export = {
        "eval": {
            "object": "eval",
            "testing_criteria": [criterion],
            "data_source_config": {"type": "custom", "schema": {}},
        },
        "rows": [],
        "runs": [],
    }
    (tmp_path / "export.json").write_text(json.dumps({**export, "about": "x" * 17 * 2**20}), "utf-8")
    assert [grader.name for grader in wb.read_graders(tmp_path / "export.json").graders] == ["same"]
