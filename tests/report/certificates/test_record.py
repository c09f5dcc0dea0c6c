"""Any change to a certificate, or to its subject, is detected and named; anything other than a certificate is refused."""

import copy
import json
from dataclasses import fields, replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import workbench as wb
from tests.graders.examples import EXAMPLES
from tests.report.certificates.making import TEXT, at, certified, function, leaves, rows
from workbench.core.errors import FormatError
from workbench.graders.serialization import from_record, record_of
from workbench.report.certificate import Certificate, schema
from workbench.report.certified import Certified
from workbench.report.digests import fingerprints_of

GRADERS = wb.Suite([function(), wb.ExactMatch(ignore_case=True)], combine=wb.combine.Mean(), name="both")
CERTIFICATE = certified(GRADERS, probes=wb.probe(GRADERS, rows(), progress=False, tries=0))
SPEC = CERTIFICATE.spec()
LIMITS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=150)


def changed(path, value):
    spec = copy.deepcopy(SPEC)
    at(spec, path[:-1])[path[-1]] = value
    return spec


def read(spec):
    return Certificate.build(json.loads(json.dumps(spec)), "f.json, certificate")


def read_or_refused(spec):
    """The certificate; None where it is refused."""
    try:
        return read(spec)
    except FormatError:
        return None


def test_round_trip_is_exact():
    """Through JSON it is the same certificate, marked as a claim, and fully valid."""
    again = read(SPEC)
    assert again == CERTIFICATE
    assert again.spec() == SPEC
    assert (again.claimed, CERTIFICATE.claimed) == (True, False)
    assert again.check(GRADERS) == CERTIFICATE.check(GRADERS) == ()


def test_json_tools_may_write_numbers_in_their_way():
    """1.0 read as 1, or 60 as 60.0, is not a change."""
    spec = changed(("rows",), 60.0)
    spec["graders"][0]["true_positive_rate"]["high"] = 1
    original = copy.deepcopy(SPEC)
    original["graders"][0]["true_positive_rate"]["high"] = 1.0
    first, second = read(spec), read(original)
    assert first.check(GRADERS) == second.check(GRADERS)
    assert not any("rows" in part for part in first.check(GRADERS))


@LIMITS
@given(
    path=st.sampled_from(leaves(SPEC)),
    number=st.integers(0, 10**9),
    digits=st.text("0123456789abcdef", min_size=64, max_size=64),
)
def test_every_changed_field_is_named(path, number, digits):
    """If any leaf gets another value of its type, the certificate is no longer valid, and the field is named."""
    old = at(SPEC, path)
    new = {
        bool: not old, int: number, float: -number / 10**9, str: digits[: len(old)] if isinstance(old, str) else "",
        type(None): number, list: ["other"], dict: {"other": digits},
    }[type(old)]  # fmt: skip
    if new == old:
        return
    certificate = read_or_refused(changed(path, new))
    if certificate is None:
        return
    broken = certificate.check(GRADERS)
    assert broken
    is_seal = "digests" in path
    owner = path[2] if path[0] == "graders" and len(path) > 2 else path[0]
    name = path[path.index("digests") + 1] if is_seal else owner
    assert any(name in part and "changed" in part for part in broken)


def test_the_sentences_name_the_part():
    """Each kind of change has its own sentence."""
    rate = ("graders", 0, "true_positive_rate")
    assert read(changed((*rate, "value"), 0.9)).check(GRADERS) == (
        "the field true_positive_rate of 'says_yes' was changed",
    )
    assert read(changed(("rows",), 61)).check(GRADERS) == ("the field rows was changed",)
    digest = ("graders", 0, "digests", "probe")
    assert read(changed(digest, "0" * 16)).check(GRADERS) == (
        "the digest of the field probe of 'says_yes' was changed",
    )
    (sentence,) = read(changed(("sha256",), "0" * 64)).check(GRADERS)
    assert sentence.startswith("the field sha256 was changed")
    edited = wb.Suite([function(TEXT + "\n"), *GRADERS.entries[1:]], combine=wb.combine.Mean(), name="both")
    assert CERTIFICATE.check(edited) == ("the source of 'says_yes' has changed since",)


def test_a_field_changed_together_with_its_digest_is_seen():
    """The digest over all shows it, though not where."""
    forged = replace(CERTIFICATE.graders[0], scored=1)
    digests = replace(CERTIFICATE, graders=(forged, *CERTIFICATE.graders[1:])).sealed().graders
    (sentence,) = replace(CERTIFICATE, graders=digests).check(GRADERS)
    assert "another field together with its digest" in sentence


def test_a_forged_certificate_is_no_proof():
    """An attacker who computes all digests again has a valid certificate, which is why nothing depends on it."""
    forged = replace(CERTIFICATE, rows=10**6).sealed()
    assert read(forged.spec()).check(GRADERS) == ()


def test_a_part_that_is_gone_or_new_is_named():
    """A grader that was removed from the record or the suite, added or renamed is reported by name."""
    fewer = copy.deepcopy(SPEC)
    del fewer["graders"][1]
    broken = read(fewer).check(GRADERS)
    assert "the field graders was changed" in broken
    assert "the grader 'exact-match' is missing" in CERTIFICATE.check(GRADERS[0])
    more = wb.Suite([*GRADERS.entries, wb.Length(maximum=3)], combine=wb.combine.Mean(), name="both")
    assert "the grader 'length' is not certified" in CERTIFICATE.check(more)
    assert "the setting 'combine' of the suite has changed since" in CERTIFICATE.check(list(GRADERS.entries))


@LIMITS
@given(place=st.integers(0, len(TEXT) - 1), character=st.characters(codec="utf-8"))
@example(place=0, character="b")
def test_every_changed_character_of_a_source_is_named(place, character):
    """One changed character of the source is reported as a changed source."""
    text = TEXT[:place] + character + TEXT[place + 1 :]
    grader = wb.FunctionGrader.from_source(TEXT, name="says_yes")
    other = replace(grader, source=replace(grader.source, text=text))
    suite = wb.Suite([other, *GRADERS.entries[1:]], combine=wb.combine.Mean(), name="both")
    expected = () if text == TEXT else ("the source of 'says_yes' has changed since",)
    assert CERTIFICATE.check(suite) == expected


@pytest.mark.parametrize(
    ("grader", "setting"),
    [
        (wb.ExactMatch(), "ignore_case"),
        (wb.ExactMatch(ignore_case=True, description="x"), "description"),
        (wb.Entry(wb.ExactMatch(ignore_case=True), weight=2.0), "entry.weight"),
        (wb.Entry(wb.ExactMatch(ignore_case=True), pass_threshold=0.9), "entry.pass_threshold"),
        (wb.Entry(wb.ExactMatch(ignore_case=True), extractor="first_assistant"), "entry.extractor"),
        (wb.Entry(wb.Contains(), "exact-match"), "kind"),
    ],
)
def test_every_changed_setting_is_named(grader, setting):
    """A setting of a grader, its kind, or its place in the suite."""
    suite = wb.Suite([GRADERS.entries[0], grader], combine=wb.combine.Mean(), name="both")
    assert f"the setting '{setting}' of 'exact-match' has changed since" in CERTIFICATE.check(suite)


def test_another_cell_is_no_other_grader():
    """The origin of a text is not a setting: a cell that is run again creates the same grader."""
    grader = GRADERS[0]
    moved = replace(grader, source=replace(grader.source, origin="cell 99"))
    assert fingerprints_of(moved) == fingerprints_of(grader)


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - {"custom"}))
def test_every_kind_is_the_same_after_a_file(name):
    """A grader of each kind that went through a file has the settings that were certified."""
    grader = EXAMPLES[name]()
    loaded = from_record(json.loads(json.dumps(record_of(grader))), own=True)
    assert fingerprints_of(loaded) == fingerprints_of(grader)
    assert set(fingerprints_of(grader)) == {grader.name, ""}


def test_the_schema_fits_and_names_every_field():
    """The published schema is one, our certificates fit it, and it has exactly the fields of the classes."""
    Draft202012Validator.check_schema(schema())
    Draft202012Validator(schema()).validate(SPEC)
    definitions = schema()["$defs"]
    for cls, name in ((Certificate, "certificate"), (Certified, "certificate_grader")):
        assert set(definitions[name]["properties"]) == {f.name for f in fields(cls)} - {"claimed"}
        seals = definitions[name]["properties"]["digests"]["properties"]
        assert set(seals) == {f.name for f in fields(cls)} - {"claimed", "digests", "sha256"}


def deep(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda s: s.update(surprise=1), "surprise"),
        (lambda s: s.pop("rows"), "rows"),
        (lambda s: s.update(version=2), ".version"),
        (lambda s: s.update(rows=-1), ".rows"),
        (lambda s: s.update(rows=10**30), ".rows"),
        (lambda s: s.update(rows=True), ".rows"),
        (lambda s: s.update(made="yesterday"), ".made"),
        (lambda s: s.update(made=s["made"] + "\n"), ".made"),
        (lambda s: s.update(graders=[]), ".graders"),
        (lambda s: s.update(graders=[{}] * 20_000), ".graders"),
        (lambda s: s.update(data_sha256="0" * 63), ".data_sha256"),
        (lambda s: s["graders"][0].update(name="x" * 501), ".graders[0].name"),
        (lambda s: s["graders"][0].update(pass_threshold=float("inf")), ".graders[0].pass_threshold"),
        (lambda s: s["graders"][0].update(true_positive_rate=0.9), ".graders[0].true_positive_rate"),
        (lambda s: s["graders"][0]["true_positive_rate"].update(value=7), "true_positive_rate"),
        (lambda s: s["graders"][0]["validations"][0]["checks"].update(luck=True), "checks"),
        (lambda s: s["graders"][0]["digests"].update(more="0" * 16), ".digests"),
        (lambda s: s["graders"][0].update(models=deep(30)), "models"),
        (lambda s: s["graders"][0].update(models=deep(3_000)), "certificate"),
        (lambda s: s["graders"].append(s["graders"][0]), "duplicate"),
    ],
)
def test_what_is_no_certificate_is_refused(change, place):
    """Missing, unknown, huge, deep and wrong parts are a FormatError that names the place."""
    spec = copy.deepcopy(SPEC)
    change(spec)
    with pytest.raises(FormatError) as error:
        Certificate.build(spec, "f.json, certificate")
    assert error.value.where.startswith("f.json, certificate")
    assert place in str(error.value)
    assert len(str(error.value)) < 1_000


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@LIMITS
@given(path=st.sampled_from(leaves(SPEC)), cut=st.integers(0, 4), value=anything)
def test_anything_in_a_field_ends_well(path, cut, value):
    """For any value at any path, it is refused or read, checked and shown, and never another error."""
    path = path[: max(1, len(path) - cut)]
    try:
        certificate = Certificate.build(changed(path, value), "f.json, certificate")
    except FormatError:
        return
    assert isinstance(certificate.check(GRADERS), tuple)
    assert certificate._repr_html_()
    assert str(certificate)
    assert certificate.markdown
