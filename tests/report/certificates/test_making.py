"""`wb.certificate`: it contains the report's results, and only for the graders that were run."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import pytest

import workbench as wb
from tests.report.certificates.making import TEXT, certified, function, ran, rows
from workbench.app.session.runs import merge
from workbench.core.errors import CaptureError, NotValidatedError, ReportError
from workbench.report import Report
from workbench.report.certificate import Certificate
from workbench.report.digests import data_digest
from workbench.sandbox.host.program import CHECKS


@pytest.fixture(scope="module")
def grader():
    return function()


@pytest.fixture(scope="module")
def report(grader):
    return ran(grader)


def test_it_says_what_was_run_on_what_and_how_it_is_confined(grader, report):
    """Source hash, five checks, rows, statuses, isolation, release, date: as the grader and its report have them."""
    made = datetime(2026, 11, 22, 10, 0, 30, tzinfo=UTC)
    certificate = wb.certificate(grader, report, made=made)
    part = certificate["says_yes"]
    assert (certificate.made, certificate.rows, certificate.workbench) == (
        "2026-11-22T10:00:30Z",
        60,
        wb.__version__,
    )
    assert part.sha256 == grader.source.sha256
    assert part.validations[0].checks == dict.fromkeys(CHECKS, True)
    assert (part.scored, part.failed, part.skipped, part.isolation) == (
        60,
        0,
        0,
        report.summary["isolation"].iloc[0],
    )
    assert part.probe is None


def test_a_member_of_a_suite_is_certified_with_its_suite(grader):
    """The report contains its weight: the error names it, and does not report a changed grader."""
    suite = wb.Suite([wb.Entry(grader, weight=0.8), wb.Contains("4")], combine=wb.combine.Mean())
    with pytest.raises(ReportError, match="other settings as a part of its suite") as caught:
        wb.certificate(grader, ran(suite))
    assert "certify the suite that was run" in str(caught.value)


def test_error_rates_are_those_of_the_agreement(grader, report):
    """Rates and intervals are the report's own, by the names of RL with noisy verifiers."""
    part = wb.certificate(grader, report)["says_yes"]
    agreement = report.agreement()
    for rate, share in (
        (part.true_positive_rate, agreement.sensitivity),
        (part.true_negative_rate, agreement.specificity),
        (part.false_positive_rate, agreement.specificity.complement),
        (part.false_negative_rate, agreement.false_failure_rate),
    ):
        assert (rate.count, rate.of) == (share.k, share.n)
        assert (rate.value, rate.low, rate.high) == pytest.approx((share.value, *share.interval()), abs=1e-6)
    assert part.youden_j.value == pytest.approx(
        part.true_positive_rate.value + part.true_negative_rate.value - 1
    )
    assert part.youden_j.low < part.youden_j.value < part.youden_j.high


def test_failures_are_no_mistakes():
    """A failed and a skipped row count as such, and in no error rate."""
    data = [*rows(40), *({"prompt": "p", "completion": c, "good": True} for c in ("boom", "skip"))]
    text = TEXT.replace("    return", "    if thread.completion() == 'boom':\n        raise ValueError\n"
                        "    if thread.completion() == 'skip':\n        raise wb.Skip('x')\n    return")  # fmt: skip
    shaky = function("import workbench as wb\n" + text, "shaky")
    part = wb.certificate(shaky, ran(shaky, data))["shaky"]
    assert (part.scored, part.failed, part.skipped) == (40, 1, 1)
    assert part.youden_j.of == 40


def test_without_labels_there_are_no_rates(grader):
    """Without labels there are no error rates, which the certificate reports."""
    certificate = wb.certificate(grader, ran(grader, labels=None))
    part = certificate["says_yes"]
    assert certificate.labels is None
    assert (part.true_positive_rate, part.youden_j) == (None, None)
    assert "error rates" in str(certificate)
    assert "unknown: the rows have no labels" in str(certificate)


def test_labels_of_one_class_leave_the_other_rates_unknown(grader):
    """Where no bad row is known the false positive rate is not, and J neither."""
    data = [{**row, "good": True} for row in rows()]
    part = wb.certificate(grader, ran(grader, data))["says_yes"]
    assert part.true_positive_rate.value is not None
    assert (part.false_positive_rate.value, part.false_positive_rate.of) == (None, 0)
    assert part.youden_j.value is None


def test_few_rows_have_no_interval_of_j(grader):
    """Below ten rows of a class the large-sample interval of J is not valid, so it is omitted; exact ones are stated."""
    small = wb.certificate(grader, ran(grader, rows(18)))
    few, enough = small["says_yes"], wb.certificate(grader, ran(grader, rows(20)))["says_yes"]
    assert (few.youden_j.low, few.youden_j.high) == (None, None)
    assert "too few rows for an interval" in str(small)
    assert few.true_positive_rate.low is not None
    assert enough.youden_j.low is not None


def test_an_empty_run_is_certified_as_such(grader):
    """No rows: counts of zero and rates that are not known, never an error or a number."""
    part = wb.certificate(grader, ran(grader, wb.Samples(rows(3)).head(0)))["says_yes"]
    assert (part.scored, part.true_positive_rate.value, part.youden_j.value) == (0, None, None)


def test_an_edited_grader_is_refused(grader, report):
    """What was run is what is certified: another source, setting or place in the suite is refused by name."""
    edited = function(TEXT.replace("0.0", "0.5"))
    with pytest.raises(ReportError, match="the source of 'says_yes'"):
        wb.certificate(edited, report)
    slower = replace(grader, timeout=9.0)
    slower.validate()
    with pytest.raises(ReportError, match="the setting 'timeout' of 'says_yes'"):
        wb.certificate(slower, report)
    with pytest.raises(ReportError, match="entry.negate"):
        wb.certificate(wb.Entry(grader, negate=True), report)
    with pytest.raises(ReportError, match="does not contain the settings of 'other'"):
        wb.certificate(wb.Entry(grader, "other"), report)


def test_a_dict_that_was_changed_in_place_is_seen():
    """Settings are noted when the run begins, so a schema that is changed afterwards is another one."""
    grader = wb.JsonSchema(schema={"type": "object"})
    report = ran(grader)
    grader.schema["type"] = "array"
    with pytest.raises(ReportError, match="the setting 'schema'"):
        wb.certificate(grader, report)


def test_an_unvalidated_grader_is_refused(report):
    """A grader without its five checks gets none; the next step is one that there is here."""
    fresh = wb.FunctionGrader.from_source(TEXT, name="says_yes")
    with pytest.raises(NotValidatedError, match="not validated") as error:
        wb.certificate(fresh, report)
    assert "allow_unvalidated" not in str(error.value)


def test_what_is_no_grader_or_report_is_refused(grader, report):
    """Other things are reported by type; so is a report without the graders' settings."""
    with pytest.raises(TypeError, match="report, not list"):
        wb.certificate(grader, rows())
    with pytest.raises(TypeError, match="for graders, not for str"):
        wb.certificate(["says_yes"], report)
    bare = Report(report.samples, report.grades)
    with pytest.raises(ReportError, match="run the graders"):
        wb.certificate(grader, bare)
    custom = wb.CustomGrader(lambda _: 1.0, name="c")
    with pytest.raises(CaptureError, match="import path"):
        wb.certificate(custom, ran(custom))


def test_no_graders_and_two_of_one_name_are_refused(grader, report):
    """A certificate needs at least one grader, and unique names."""
    with pytest.raises(ValueError, match="grader"):
        wb.certificate([], report)
    with pytest.raises(ValueError, match="says_yes"):
        wb.certificate([grader, function(TEXT + "\n")], report)


def test_a_kind_that_is_no_plain_data_runs_and_is_not_certified():
    """A custom kind with an object in a field, or a failing spec, fails no run; certifying it is refused."""

    @dataclass(frozen=True, kw_only=True)
    class Odd(wb.Grader):
        thing: object = None

        async def grade(self, sample):
            return 1.0

    @dataclass(frozen=True, kw_only=True)
    class Broken(Odd):
        def spec(self):
            raise ZeroDivisionError

    odd = Odd(thing=object(), name="odd")
    report = ran([odd, Broken(name="broken")])
    assert report.summary["scored"].tolist() == [60, 60]
    assert set(report.fingerprints) == {""}
    with pytest.raises(ReportError, match="'odd' cannot be written as data"):
        wb.certificate(odd, report)


def test_rules_judges_and_scripts_are_certified():
    """A rule has the hash of its settings instead of a source's, a judge its model, a script its five checks."""
    client = wb.ScriptedClient(["PASS"] * 60)
    graders = [
        wb.ExactMatch(),
        wb.BinaryJudge("It is polite.", model="small-1", client=client, name="polite"),
        wb.ScriptGrader(script="function grade(input) { return 1; }", name="one"),
    ]
    graders[2].validate()
    certificate = certified(graders)
    rule, judge, script = certificate.graders
    assert (rule.validations, rule.models, len(rule.sha256)) == ((), (), 64)
    assert rule.sha256 != certified(wb.ExactMatch(ignore_case=True)).graders[0].sha256
    assert judge.models == ("small-1",)
    assert script.sha256 == graders[2].source.sha256 == script.validations[0].sha256
    assert certificate.check(graders) == ()


def test_a_suite_is_certified_with_its_score(grader):
    """The combined score has a separate part, and the suite's rule is certified."""
    suite = wb.Suite([wb.Entry(grader, weight=0.7), wb.ExactMatch()], combine=wb.combine.Mean(), name="both")
    certificate = certified(suite)
    assert [part.name for part in certificate.graders] == ["says_yes", "exact-match", "both"]
    assert certificate["both"].kind == "combined"
    assert certificate["both"].youden_j is not None
    report = ran(suite)
    other = wb.Suite(suite.entries, combine=wb.combine.Sum(), name="both")
    with pytest.raises(ReportError, match="the setting 'combine' of the suite"):
        wb.certificate(other, report)


def test_some_graders_of_a_report_are_certified(grader):
    """A report of several graders certifies each of them alone, and a merged report those of both."""
    rule = wb.ExactMatch()
    report = ran([grader, rule])
    assert [part.name for part in wb.certificate(rule, report).graders] == ["exact-match"]
    data = wb.Samples(rows())
    merged = ran(grader, data).merge(ran(rule, data))
    assert len(wb.certificate([grader, rule], merged).graders) == 2


def test_a_report_that_the_app_merged_certifies_all_of_its_graders(grader):
    """Graders with grades of an earlier run retain that run's settings."""
    data, rule = wb.Samples(rows()), wb.ExactMatch()
    both = merge(ran(grader, data), ran(rule, data), ["exact-match"], ["exact-match", "says_yes"])
    assert [part.scored for part in wb.certificate([rule, grader], both).graders] == [60, 60]


def test_labels_of_several_people_are_what_most_of_them_say(grader):
    """Rates are against the majority, as in the report's findings."""
    data = [{**row, "ann": row["good"], "ben": row["good"], "cyd": True} for row in rows()]
    several = wb.certificate(grader, ran(grader, data, ["ann", "ben", "cyd"]))
    one = wb.certificate(grader, ran(grader, data))
    assert several.labels == one.labels
    assert several["says_yes"].youden_j == one["says_yes"].youden_j


def test_a_probe_goes_along(grader, report):
    """Holes are named by their kind, without a text of the data; a probe of another grader is refused."""
    probe = wb.probe(grader, rows(), progress=False)
    part = wb.certificate(grader, report, probes=probe)["says_yes"]
    assert part.probe.texts == probe.tries
    assert part.probe.holes == tuple(dict.fromkeys(finding.kind for finding in probe.findings))
    assert wb.certificate(grader, report, probes=[probe]).graders[0] == part
    edited = function(TEXT.replace("0.0", "0.25"))
    with pytest.raises(ReportError, match="another version of 'says_yes'"):
        wb.certificate(grader, report, probes=wb.probe(edited, rows(), progress=False))
    with pytest.raises(ReportError, match="not certified here"):
        wb.certificate(grader, report, probes=wb.probe(wb.Contains(), rows(), progress=False))


def test_no_text_of_the_data_is_in_it(grader):
    """The digest is of the rows, and nothing else of them is there."""
    data = rows(prompt="SECRET-PROMPT", completion="SECRET-yes", topic="SECRET-TOPIC")
    report = ran(grader, data)
    certificate = wb.certificate(grader, report, probes=wb.probe(grader, data, progress=False))
    assert (
        "SECRET" not in f"{certificate.spec()}{certificate}{certificate.markdown}{certificate._repr_html_()}"
    )


def test_the_digest_of_data_is_of_what_graders_saw():
    """The order of columns and where the rows came from do not count; a value, an id or the order of rows does."""
    data = rows(20)
    same = [dict(reversed(row.items())) for row in data]
    assert (
        data_digest(wb.Samples(data)) == data_digest(wb.Samples(same)) == data_digest(wb.Samples(data)[0:20])
    )
    others = [
        data[::-1],
        data[:-1],
        [{**data[0], "completion": "yes "}, *data[1:]],
        [{**data[0], "expected": "Yes"}, *data[1:]],
        [{**data[0], "topic": None}, *data[1:]],
        [{**row, "id": f"r{at}"} for at, row in enumerate(data)],
    ]
    digests = {data_digest(wb.Samples(other)) for other in others}
    assert len(digests | {data_digest(wb.Samples(data))}) == len(others) + 1


def test_the_digest_of_data_is_the_same_on_every_machine():
    """A known value: any change of how rows are read or serialised changes it, and must be documented."""
    data = [
        {"id": "a", "prompt": "2+2?", "completion": "ä 🎈", "expected": "4", "n": 1, "x": 0.5},
        {"id": "b", "prompt": "q", "completion": "b\n", "expected": None, "n": 2, "x": 1.25},
    ]
    assert data_digest(wb.Samples(data)) == "ab93b65118c2f403287b9cf811b45438f5c7610aa092da30985f15caf7f2e3ec"


def test_rows_that_cannot_be_read_and_odd_values_have_a_digest():
    """Bytes, NaN, lone surrogates, tool calls and unreadable rows are data like any other."""
    call = {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    odd = [
        {
            "messages": [{"role": "user", "content": "\ud800"}, call],
            "m": b"\xff",
            "n": {"deep": [float("nan"), np.float64(1)]},
        },
        {"messages": "no list", "m": b"", "n": {}},
    ]
    samples = wb.Samples(odd)
    assert samples.problems
    assert len(data_digest(samples)) == 64
    assert data_digest(samples) == data_digest(wb.Samples(odd))


def test_the_digest_of_labels_is_of_the_labels(grader):
    """Another label gives another digest; the same labels as texts or truth values give the same."""
    data = rows()
    words = ["good" if row["good"] else "bad" for row in data]
    turned = ["bad" if words[0] == "good" else "good", *words[1:]]
    first, second, third = (
        wb.certificate(grader, ran(grader, data, labels)).labels for labels in ("good", words, turned)
    )
    assert first == second
    assert first.sha256 != third.sha256
    assert (first.good, first.bad) == (30, 30)


def test_it_is_a_value(grader, report):
    """Two certificates with the same content are equal, hash alike, and have a short repr."""
    made = datetime(2026, 11, 22, tzinfo=UTC)
    first, second = (wb.certificate(grader, report, made=made) for _ in range(2))
    assert isinstance(first, Certificate)
    assert first == second
    assert len({first, second}) == 1
    assert repr(first) == "Certificate('says_yes', 60 rows, 2026-11-22)"
    with pytest.raises(KeyError, match="there are says_yes"):
        first["nobody"]
