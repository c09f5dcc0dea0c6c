"""A certificate in native JSON: written with its graders, checked when it is read, never a validation record."""

import json
from dataclasses import replace

import pytest

import workbench as wb
from tests.report.certificates.making import TEXT, at, certified, function, leaves, ran, rows
from workbench.core.errors import FormatError, NotValidatedError
from workbench.formats import FORMATS, schema
from workbench.report.certificate import schema as certificate_schema

GRADER = function()
CERTIFICATE = certified(GRADER)


@pytest.fixture
def document():
    return json.loads(wb.dumps(GRADER, certificate=CERTIFICATE))


def loaded(document, capsys):
    """The suite of a document, and the notes that reading it printed."""
    suite = wb.loads(json.dumps(document))
    return suite, capsys.readouterr().out.splitlines()


def test_it_goes_with_the_graders(tmp_path, capsys):
    """A loaded suite has the saved certificate, as a valid claim without messages; a copy is the same file."""
    first = wb.save(GRADER, tmp_path / "a.json", certificate=CERTIFICATE)
    suite = wb.load(first)
    assert capsys.readouterr().out == ""
    assert suite.certificate == CERTIFICATE
    assert suite.certificate.claimed
    assert wb.save(suite, tmp_path / "b.json").read_bytes() == first.read_bytes()
    assert suite == wb.Suite([GRADER])
    assert "certificate" not in repr(suite)
    export = wb.export(GRADER, tmp_path / "c.json", certificate=CERTIFICATE)
    assert export.paths[0].read_bytes() == first.read_bytes()


def test_files_without_one_are_read_as_ever(capsys):
    """An older file has none, and the suite's is None."""
    suite, notes = loaded(json.loads(wb.dumps(GRADER)), capsys)
    assert (suite.certificate, notes) == (None, [])


def test_a_suite_with_a_rule_keeps_its_certificate(tmp_path):
    """Rule, gate and the combined score are certified too."""
    suite = wb.Suite([wb.Entry(GRADER, weight=0.3), wb.ExactMatch()], combine=wb.combine.Mean(), name="both")
    certificate = certified(suite)
    again = wb.load(wb.save(suite, tmp_path / "a.json", certificate=certificate))
    assert again.certificate.check(again) == ()
    assert again.certificate["both"].youden_j == certificate["both"].youden_j


def test_it_is_no_proof(document, tmp_path):
    """A loaded certified grader is validated again before it is saved or certified."""
    failing = "async def grade(thread):\n    return None\n"
    source = document["graders"][0]["source"]
    hashed = wb.FunctionGrader.from_source(failing).source.sha256
    source.update(text=failing, sha256=hashed)
    document["graders"][0]["validation"]["sha256"] = hashed
    suite = wb.loads(json.dumps(document))
    with pytest.raises(NotValidatedError, match="test_run"):
        wb.save(suite, tmp_path / "a.json")
    with pytest.raises(NotValidatedError, match="test_run"):
        wb.certificate(suite, ran(suite))


def test_a_changed_source_is_named_and_the_certificate_left_out(document, capsys, tmp_path):
    """One byte of the source, with all hashes fixed: loading reports the invalid part, and saving drops the claim."""
    text = TEXT.replace("0.0", "0.1")
    other = wb.FunctionGrader.from_source(text, name="says_yes")
    document["graders"][0]["source"].update(text=text, sha256=other.source.sha256)
    suite, notes = loaded(document, capsys)
    assert notes == ["note: the certificate is no longer valid: the source of 'says_yes' has changed since"]
    suite.grader.validate()
    assert "certificate" not in json.loads(wb.save(suite, tmp_path / "a.json").read_text("utf-8"))
    (tmp_path / "in.json").write_text(json.dumps(document), "utf-8")
    converted = wb.convert(tmp_path / "in.json", tmp_path / "out.json", "native")
    assert ["no longer valid" in note.what for note in converted.notes] == [True]


def test_a_changed_field_is_named(document, capsys):
    """Two fields of the record, two notes."""
    part = document["certificate"]["graders"][0]
    part["true_positive_rate"]["value"] = 0.999
    document["certificate"]["rows"] = 10_000
    _, notes = loaded(document, capsys)
    assert notes == [
        "note: the certificate is no longer valid: the field rows was changed",
        "note: the certificate is no longer valid: the field true_positive_rate of 'says_yes' was changed",
    ]


def test_a_changed_setting_is_named(document, capsys):
    """A setting of the grader in the file, and one that reading cuts."""
    document["graders"][0]["timeout"] = 12.0
    _, notes = loaded(document, capsys)
    assert notes == [
        "note: the certificate is no longer valid: the setting 'timeout' of 'says_yes' has changed since"
    ]


SUITE = wb.Suite(
    [wb.Entry(function(timeout=5.0, description="d"), weight=0.3, pass_threshold=0.4, negate=True), wb.Contains(expected="4", ignore_case=True)],
    combine=wb.combine.Mean(), name="both", description="two",
)  # fmt: skip
FILE = json.loads(wb.dumps(SUITE, certificate=certified(SUITE)))
NO_SETTINGS = {
    "origin",
    "function",
    "imports",
    "helpers",
    "constants",
    "sha256",
    "validation",
    "certificate",
    "format",
    "version",
}
"""What says where a source came from, or is refused when it changes."""
SETTINGS = [path for path in leaves(FILE) if not NO_SETTINGS & {*path}]


@pytest.mark.parametrize("path", SETTINGS, ids=lambda path: ".".join(map(str, path)))
def test_every_setting_of_a_file_is_certified(path, capsys):
    """Whichever setting of a grader, an entry or the suite is edited in the file, it is refused or named."""
    edited = json.loads(json.dumps(FILE))
    old = at(edited, path)
    new = {bool: not old, int: old, float: 0.125, str: f"{old}2"}[type(old)]
    at(edited, path[:-1])[path[-1]] = 1 - old if path[-1] == "grader" else new
    try:
        wb.loads(json.dumps(edited))
    except (FormatError, ValueError):
        return
    said = capsys.readouterr().out
    assert "the certificate is no longer valid" in said
    assert str(path[-1]) in said or path[-1] in {"grader", "kind", "name"}


def test_settings_of_a_file_are_many():
    """The test above looks at settings of graders, entries and the suite."""
    assert {path[0] for path in SETTINGS} == {"graders", "suite"}
    assert len(SETTINGS) > 10


def test_one_that_does_not_hold_is_not_written(tmp_path):
    """A certificate of other graders is refused by part, with the next step, before a file is there."""
    other = function(TEXT + "# edited\n")
    for write in (wb.save, wb.export):
        with pytest.raises(
            FormatError, match=r"the source of 'says_yes' has changed since[^$]*wb.certificate"
        ):
            write(other, tmp_path / "a.json", certificate=CERTIFICATE)
    with pytest.raises(FormatError, match="is not valid"):
        wb.dumps(GRADER, certificate=replace(CERTIFICATE, rows=7))
    assert list(tmp_path.iterdir()) == []


def test_a_format_without_a_place_for_it_says_so(tmp_path):
    """The graders are written, and a note states how to share the certificate."""
    names = [name for name, chosen in FORMATS.items() if chosen.takes_certificate]
    assert "native" in names
    written = wb.export(GRADER, tmp_path / "g.py", "adaptive", certificate=CERTIFICATE)
    assert [note.field for note in written.notes] == ["certificate"]
    assert "to_html" in written.notes[0].what


def test_a_loaded_certificate_is_none_of_the_loaders(tmp_path, capsys):
    """After the user's run a new certificate is made and replaces the claim."""
    suite = wb.load(wb.save(GRADER, tmp_path / "a.json", certificate=CERTIFICATE))
    mine = wb.certificate(suite, ran(suite, rows(30)))
    assert (mine.claimed, mine.rows) == (False, 30)
    again = wb.load(wb.save(suite, tmp_path / "b.json", certificate=mine))
    assert again.certificate.rows == 30
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda c: c.update(surprise=1), "$.certificate"),
        (lambda c: c.pop("digests"), "$.certificate"),
        (lambda c: c["graders"][0].update(name=""), "$.certificate.graders[0].name"),
        (lambda c: c["graders"][0].update(scored="60"), "$.certificate.graders[0].scored"),
        (lambda c: c["graders"].append(c["graders"][0]), "certificate"),
    ],
)
def test_a_malformed_certificate_is_refused(document, change, place):
    """The file and the place in it are named."""
    change(document["certificate"])
    with pytest.raises(FormatError) as error:
        wb.loads(json.dumps(document), where="f.json")
    assert error.value.where.startswith(f"f.json, {place}")


@pytest.mark.parametrize("certificate", [1, [], "x", True])
def test_what_is_no_object_is_refused(document, certificate):
    """Another kind of value in its place, too; `null` is none."""
    with pytest.raises(FormatError, match="certificate"):
        wb.loads(json.dumps({**document, "certificate": certificate}))


def test_a_deep_certificate_is_refused(document):
    """Nesting is bounded as everywhere in a file."""
    text = json.dumps({**document, "certificate": 0}).replace(
        '"certificate": 0', '"certificate": ' + "[" * 90_000
    )
    with pytest.raises(FormatError, match="nested too deeply"):
        wb.loads(text)


def test_the_published_schema_has_that_of_certificates(document):
    """The schema of files contains the schema of certificates unchanged."""
    definitions = certificate_schema()["$defs"]
    assert {name: schema()["$defs"][name] for name in definitions} == definitions
    assert "certificate" in document
