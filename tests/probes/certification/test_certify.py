"""`wb.certify`: the three verdicts, what is said before the first request, splits, looks, and the forms of the result."""

import json

import pytest

import workbench as wb
from tests.probes.certification.scripted_judges import (
    better,
    binary,
    own_rows,
    pairs,
    pairwise,
    rows,
    rubric,
    says,
    with_reference,
)
from workbench.core.errors import ReportError, StoreError
from workbench.judges import Reply, ScriptedClient, Usage
from workbench.probes.certification.identity import judge_fingerprint, split_of_rows
from workbench.probes.certification.prompt_words import conflicts, parsed_form

EXACT = {"labels": "good", "progress": False}


class PaidClient:
    """A client whose replies cost money."""

    def __init__(self):
        self.calls = 0

    async def complete(self, messages, **settings):
        self.calls += 1
        return Reply(says(True), Usage(100, 10), {"finish_reason": "stop"})


def paid(**settings):
    return wb.BinaryJudge("It is right.", client=PaidClient(), model="gpt-4o-mini", **settings)


def test_a_good_judge_is_certified_in_three_lines():
    """The verdict with both rates, what to do, and what it is based on."""
    found = wb.certify(binary(lambda q: q.right), rows(100), **EXACT)
    first, second, third = str(found).splitlines()[:3]
    assert found.is_certified
    assert first.startswith("judge: certified: TPR 1.00 (95 % CI 0.93 to 1.00)")
    assert second.startswith("What to do: use it")
    assert third.startswith(
        "Based on 0 examples, 0 dev, 100 test rows; earlier looks at these test rows are unknown"
    )


def test_a_bad_judge_is_not_certified_and_shows_its_rows():
    """The counts of its mistakes, and the rows to read."""
    found = wb.certify(binary(lambda q: q.right or q.chance("l") < 0.5), rows(100), **EXACT)
    assert found.verdict == "not certified"
    assert "bad rows: TNR" in found.reason
    read = found.rows("accepted bad")
    assert len(read) == found.rates.true_negative.n - found.rates.true_negative.k
    assert not len(found.rows("rejected good"))


def test_few_rows_cannot_decide():
    """The further rows of each label are given, and the label plan."""
    found = wb.certify(binary(lambda q: q.right), rows(24), **EXACT)
    assert found.verdict == "cannot be said yet"
    assert found.needs["good"] > 0
    assert found.needs["bad"] > 0
    assert "more good rows" in found.lines[0]
    assert "90 % power" in found.advice


def test_without_labels_it_is_the_label_plan_and_nothing_is_sent():
    """69 rows of each label: 55 give one rate a power of 90 %, 69 both together."""
    client = ScriptedClient(says(True))
    found = wb.certify(wb.BinaryJudge("right", client=client), rows(10), progress=False)
    assert found.needs == {"good": 69, "bad": 69} == found.plan
    assert not client.calls


def test_the_limit_may_differ_by_label():
    """A rate that reaches one limit may miss another."""
    judge, made = binary(lambda q: q.right ^ (q.chance("h0") < 0.03)), rows(120)
    assert wb.certify(judge, made, **EXACT).is_certified
    assert not wb.certify(judge, made, limit=(0.8, 0.97), **EXACT).is_certified
    with pytest.raises(ReportError, match="limit must be a rate"):
        wb.certify(judge, made, limit=80, **EXACT)


def test_the_cost_is_said_before_the_first_request(capsys):
    """Requests and dollars are printed; without a budget or a confirmation nothing is sent where no user can answer."""
    judge = paid()
    with pytest.raises(ReportError, match="needs a confirmation or a budget") as error:
        wb.certify(judge, rows(40), labels="good")
    assert "pass budget=0.26" in str(error.value)
    assert capsys.readouterr().out.startswith("certify: cost: about $0.12")
    assert judge.client.calls == 0


def test_a_function_may_confirm():
    """It gets the estimate; without its yes nothing is sent."""
    judge, seen = paid(), []
    found = wb.certify(judge, rows(40), confirm=lambda cost: seen.append(cost.requests), **EXACT)
    assert judge.client.calls == 0
    assert seen[0] >= 40
    assert found.verdict == "cannot be said yet"
    assert "not confirmed" in found.notes[0]


@pytest.mark.parametrize(("reply", "sent"), [("y", True), ("n", False), ("", False)])
def test_a_user_at_a_terminal_confirms(monkeypatch, reply, sent):
    """The estimate is in the line that waits for a yes."""
    shown = []
    monkeypatch.setattr("sys.stdin", type("Terminal", (), {"isatty": lambda self: True})())
    monkeypatch.setattr("builtins.input", lambda text: shown.append(text) or reply)
    judge = paid(max_tokens=20)
    wb.certify(judge, rows(30), skip=("repeats", "padding", "injection"), **EXACT)
    assert (judge.client.calls > 0) == sent
    assert shown[0].endswith("Send? [y/N] ")
    assert "cost: about $" in shown[0]


def test_a_budget_is_a_hard_limit():
    """Checks without money are not made, rows without money are not mistakes of the judge."""
    judge = paid(max_tokens=20)
    found = wb.certify(judge, rows(60), budget=wb.Budget(calls=50), **EXACT)
    assert judge.client.calls <= 50
    assert found.spent[0] > 0
    assert found["replies"].outcome != "FAIL"
    assert found["repeats"].outcome == "not tested"


def test_a_prompt_that_does_not_fit_the_parser_costs_nothing():
    """It is known before the first request."""
    judge = wb.BinaryJudge("Is it right? Answer YES or NO.", client=PaidClient(), model="gpt-4o-mini")
    found = wb.certify(judge, rows(40), **EXACT)
    assert judge.client.calls == 0
    assert found.reason == "prompt: the prompt requests YES or NO, and the parser reads PASS, FAIL or NA"
    assert (
        wb.certify(judge, rows(40), skip="prompt", confirm=False, **EXACT)["prompt"].outcome == "not tested"
    )


@pytest.mark.parametrize(
    "text",
    [
        "Answer whether the reply is correct.", "The reply says yes or no to the customer.", "Return whether the claim is true or false to the source?",
        "It has 1 to 3 sentences.", "Respond in the language of the user; a good or bad tone does not count.", "The score of the match, 3 to 1, is named.",
    ],
)  # fmt: skip
def test_usual_criteria_fit(text):
    """Words of a criterion that are no verdict words of the reply are no conflict."""
    judge = wb.BinaryJudge(text, client=ScriptedClient(says(True)))
    assert conflicts(judge, wb.Samples(rows(1))[0]) == []


def test_every_kind_of_judge_declares_what_it_reads():
    """The form of the verdict is known for the kinds that return one verdict."""
    label = wb.judges.LabelJudge([{"role": "user", "content": "x"}], ("yes", "no"), ("yes",))
    assert parsed_form(label).key == "result"
    assert parsed_form(wb.BinaryJudge("x")).words == ("pass", "fail", "na")
    assert parsed_form(wb.RubricJudge("x", scale=(1, 5))).high == 5
    assert parsed_form(wb.PairwiseJudge()).key == "verdict"
    assert parsed_form(wb.CriteriaJudge()).low == 0


def test_splits_depend_on_the_prompt_alone():
    """Rows of a prompt stay together, and a prompt keeps its split when rows are added."""
    few, many = wb.Samples(rows(100)), wb.Samples(rows(100) + rows(50, seed=9))
    shares = {"examples": 0.1, "dev": 0.4}
    first, second = split_of_rows(few, shares, None, 0), split_of_rows(many, shares, None, 0)
    assert first.tolist() == second[:100].tolist()
    assert 25 <= (first == "dev").sum() <= 55
    assert split_of_rows(few, shares, None, 1).tolist() != first.tolist()


def test_a_column_may_name_the_splits():
    """The column `split` is used by itself; a prompt in two splits is refused."""
    made = [{**row, "split": "dev" if at < 40 else "test"} for at, row in enumerate(rows(100))]
    found = wb.certify(binary(lambda q: q.right), made, **EXACT)
    assert found.splits == {"examples": 0, "dev": 40, "test": 60}
    assert found.rates.agreement.n == 60
    made[0]["prompt"] = made[99]["prompt"]
    with pytest.raises(ReportError, match="a prompt is in two splits"):
        wb.certify(binary(lambda q: q.right), made, **EXACT)


def test_examples_of_the_prompt_are_no_test_rows():
    """A row that the judge's prompt has as an example counts as one."""
    made = rows(100)
    example = {
        "input": [{"role": "user", "content": made[0]["prompt"]}],
        "output": made[0]["completion"],
        "passes": True,
    }
    found = wb.certify(binary(lambda q: q.right, examples=(example,)), made, **EXACT)
    assert found.splits["examples"] == 1
    assert found.rates.agreement.n == 99


def test_dev_rows_give_no_certificate(tmp_path):
    """The same table, no verdict, and no look at the test rows."""
    looks = tmp_path / "looks.jsonl"
    settings = {"split": 0.5, "looks": looks, **EXACT}
    found = wb.certify(binary(lambda q: q.right), rows(200), use="dev", **settings)
    assert found.verdict == "cannot be said yet"
    assert "on dev rows" in found.reason
    assert not looks.exists()


@pytest.mark.parametrize("kind", ["store", "looks"])
def test_a_second_look_is_told_and_decided_at_a_stricter_level(tmp_path, kind):
    """For the same judge with more rows, and for another one on the same rows; other rows have their own first look."""
    settings = {kind: tmp_path / ("w.db" if kind == "store" else "looks.jsonl"), **EXACT}
    judge = binary(lambda q: q.right)
    first, second = (wb.certify(judge, rows(n), **settings) for n in (60, 80))
    assert first.looks.sentence == "first look at these test rows"
    assert second.looks.sentence.startswith("look 2 at some of these test rows, after 1 of this judge")
    assert first.level == pytest.approx(0.025)
    assert second.level == pytest.approx(0.025 / 3)
    other = wb.certify(binary(lambda q: q.right, temperature=0.5), rows(60), **settings)
    assert (len(other.looks.same), len(other.looks.others)) == (0, 2)
    assert wb.certify(judge, rows(200)[100:], **settings).looks.number == 1


def test_the_same_certification_again_is_the_same_look(tmp_path):
    """With the same rows, labels and verdicts it is no further attempt, and is not recorded."""
    settings = {"looks": tmp_path / "looks.jsonl", **EXACT}
    judge = binary(lambda q: q.right)
    found = [wb.certify(judge, rows(60), **settings) for _ in range(3)][-1]
    assert found.looks.number == 1
    assert "the same labels and verdicts" in found.looks.sentence
    assert len((tmp_path / "looks.jsonl").read_text().splitlines()) == 1


def test_a_file_of_something_else_is_no_record(tmp_path):
    """The line is named, before a request is sent."""
    (tmp_path / "looks.jsonl").write_text('{"at": 1}\n')
    judge = paid(max_tokens=20)
    with pytest.raises(StoreError, match="line 1"):
        wb.certify(judge, rows(60), budget=1.0, looks=tmp_path / "looks.jsonl", **EXACT)
    assert judge.client.calls == 0


def test_the_fingerprint_names_the_part_that_changed():
    """Model, prompt and settings have a digest each; where a client is does not count."""
    suites = [wb.Suite(binary(lambda q: q.right, **settings)) for settings in ({}, {}, {"model": "other-1"})]
    one, same, other = (judge_fingerprint(suite, 0.5) for suite in suites)
    assert one == same
    assert {name for name in one if one[name] != other[name]} == {"settings", "model"}


def test_a_report_page_shows_the_certification(tmp_path):
    """Before the findings; a certification of another judge is refused before anything is written."""
    found = wb.certify(binary(lambda q: q.right), rows(40), **EXACT)
    report = binary(lambda q: q.right).run(rows(40), progress=False)
    page = report.to_html(tmp_path / "r.html", certifications=[found]).read_text("utf-8")
    assert page.index("<h2>Certification</h2>") < page.index("<h2>Findings</h2>")
    assert "TPR" in page
    other = wb.ExactMatch("x", name="other").run(rows(40), progress=False)
    with pytest.raises(ReportError, match="of a judge that is not in the report"):
        other.to_html(tmp_path / "o.html", certifications=[found])
    assert not (tmp_path / "o.html").exists()


def test_a_certification_is_for_one_judge():
    """Another model is named; the same judge has no difference."""
    judge = binary(lambda q: q.right)
    found = wb.certify(judge, rows(60), **EXACT)
    assert found.check(judge) == ()
    assert found.check(binary(lambda q: q.right, model="other-1")) == ("settings", "model")
    assert "prompt" in found.check(
        wb.BinaryJudge("Something else.", client=judge.client, name="judge", model="house-1")
    )


def test_a_limit_that_no_plan_reaches_is_out_of_reach():
    """Above 1,000 rows of a label no number is named."""
    found = wb.certify(binary(lambda q: q.right), rows(4), limit=0.99, progress=False)
    assert found.plan == {"good": None, "bad": None}
    assert "more than 1,000 more good rows" in found.lines[0]


def test_repeats_with_a_store_send_new_requests(tmp_path):
    """The first reply of the store is not taken for the second."""
    seen = []

    class Turning(ScriptedClient):
        def content(self, model):
            return f"turning {model}"

    def reply(messages):
        seen.append(1)
        return says(len(seen) % 2 == 0)

    judge = wb.BinaryJudge("right", client=Turning(reply), model="m", temperature=1.0, name="judge")
    found = wb.certify(judge, rows(60), store=tmp_path / "w.db", skip=("padding", "injection"), **EXACT)
    assert found["repeats"].n == 50
    assert found["repeats"].outcome == "FAIL"


def test_kappa_stands_beside_a_constant_verdict_and_the_people():
    """With two annotators the table has their own agreement."""
    made = [
        {**row, "ann": row["good"], "ben": row["good"] ^ (at % 10 == 3)} for at, row in enumerate(rows(120))
    ]
    found = wb.certify(binary(lambda q: q.right), made, labels=["ann", "ben"], progress=False)
    assert found.rates.people.value == pytest.approx(0.8, abs=0.05)
    assert found.rates.with_people.value == pytest.approx(0.9, abs=0.05)
    assert found.rates.constant == pytest.approx(0.5, abs=0.06)
    assert "kappa of people with each other" in str(found)


def test_unlabelled_rows_correct_the_pass_rate():
    """A lenient judge accepts 70 %; both corrections contain the true half."""
    judge = binary(lambda q: q.right or q.chance("c") < 0.3)
    found = wb.certify(judge, rows(120, extra=200), **EXACT)
    assert found.rates.accepted.n == 320
    assert found.rates.accepted.value > 0.6
    for estimate in (found.rates.predicted, found.rates.corrected):
        low, high = estimate.interval()
        assert low <= 0.5 <= high


def test_a_correction_that_would_not_hold_is_refused():
    """A judge that accepts everything has no correction by its error rates."""
    found = wb.certify(binary(lambda q: True), rows(60, extra=20), **EXACT)
    assert "too low for a correction" in found.rates.corrected.reason
    few = wb.certify(binary(lambda q: q.right), rows(8, extra=20), **EXACT)
    assert "at least 10 are required" in few.rates.predicted.reason


def test_stored_verdicts_need_no_request():
    """Verdicts and scores of a column are certified as they are."""
    made = [
        {**row, "verdict": "pass" if row["good"] else "fail", "rating": 0.9 * row["good"]}
        for row in rows(100)
    ]
    for column in ("verdict", "rating"):
        found = wb.certify(column, made, **EXACT)
        assert found.is_certified
        assert found.cost.requests == 0
    with pytest.raises(ReportError, match="there is no column 'verdicts'"):
        wb.certify("verdicts", made, **EXACT)


def test_transport_passes_with_enough_rows_of_each_writer():
    """With few it is inconclusive, with many it passes; a writer without labelled rows leaves it open."""
    made = [{**row, "verdict": row["good"]} for row in rows(480)]
    assert wb.certify("verdict", made, **EXACT)["transport: writer"].outcome == "PASS"
    assert wb.certify("verdict", made[:60], **EXACT)["transport: writer"].outcome == "INCONCLUSIVE"
    for row in made[:12]:
        row["writer"] = "new"
    found = wb.certify("verdict", made, **EXACT)
    assert found["transport: writer"].outcome == "INCONCLUSIVE"
    assert "before you compare pass rates" in found.advice


def test_position_bias_fires_on_stored_verdicts_of_a_biased_judge_alone():
    """Two columns have the letters of both orders: 40 % of pairs change with the order, or none."""
    balanced, biased = [], []
    for at, row in enumerate(pairs(200)):
        letters = ("A", "B") if row["good"] else ("B", "A")
        balanced.append({**row, "first": letters[0], "second": letters[1]})
        letters = ("A", "A") if at % 5 < 2 else letters
        biased.append({**row, "first": letters[0], "second": letters[1]})
    assert wb.certify(("first", "second"), balanced, **EXACT)["position"].outcome == "PASS"
    found = wb.certify(("first", "second"), biased, **EXACT)
    assert found["position"].outcome == "FAIL"
    assert "80 of 200 (40 %) pairs; the first wins" in found["position"].sentence
    assert wb.certify(binary(lambda q: q.right), rows(60), **EXACT)["position"].outcome == "not tested"


@pytest.mark.parametrize(
    ("n", "changed", "fires"),
    [(270, 135, True), (350, 110, True), (350, 3, False), (350, 1, False), (350, 0, False)],
)
def test_position_bias_at_the_rates_of_public_judges(n, changed, fires):
    """Two chat models that JudgeBench names are inconsistent on 50 % and 31 % of its pairs, reward models on under 1 %."""
    made = []
    for at, row in enumerate(pairs(n)):
        letters = ("A", "B") if row["good"] else ("B", "A")
        if at < changed:
            letters = ("A", "A") if at % 4 else ("B", "B")
        made.append({**row, "first": letters[0], "second": letters[1]})
    found = wb.certify(("first", "second"), made, **EXACT)["position"]
    assert found.outcome == ("FAIL" if fires else "PASS")


def test_a_replaced_model_is_compared_row_by_row():
    """An equal judge passes; stored verdicts of the old one will do."""
    judge, made = binary(lambda q: q.right), [{**row, "old": row["good"]} for row in rows(120)]
    assert wb.certify(judge, made, against="old", **EXACT)["replacement"].outcome == "PASS"
    for row in made[:40]:
        row["old"] = False
    found = wb.certify(judge, made, against="old", **EXACT)
    assert found["replacement"].outcome == "FAIL"
    assert found.is_certified
    assert "closer to the labels" in found["replacement"].sentence


def test_a_rubric_has_its_own_scale():
    """The middle of 1 to 5 accepts, or the threshold that is given."""
    judge = rubric(lambda q: 4 if q.right else 3, "Give a score from 1 to 5.", scale=(1, 5))
    made = rows(100)
    assert wb.certify(judge, made, **EXACT).verdict == "not certified"
    assert wb.certify(judge, made, pass_threshold=3.5, **EXACT).is_certified


def test_a_reference_in_the_prompt_is_exchanged_only_if_bad_rows_pass():
    """A judge that rejects bad rows needs no such test."""
    sound = wb.certify(with_reference(lambda q: q.said == q.reference), rows(100), **EXACT)
    assert sound["reference"].outcome == "not tested"


def test_a_judge_of_another_family_has_no_self_preference():
    """The family is read from the model's name."""
    found = wb.certify(binary(lambda q: q.right, model="gpt-4o"), own_rows(), **EXACT)
    assert found["self-preference"].outcome in ("PASS", "INCONCLUSIVE")
    assert (
        wb.certify(binary(lambda q: q.right), own_rows(), **EXACT)["self-preference"].outcome == "not tested"
    )


def test_a_judge_of_pairs_has_no_verdict_for_a_tie():
    """Rows whose winner depends on the order do not count as accepted."""
    found = wb.certify(pairwise(better), pairs(100), **EXACT)
    assert found.rates.true_positive.n == 50


def test_the_rows_to_read_are_those_that_the_rates_count():
    """A tie is neither an accepted bad row nor a rejected good one, although its score of 0.5 reaches the threshold."""
    made = []
    for at, row in enumerate(pairs(100)):
        letters = ("A", "A") if at % 5 < 2 else ("A", "B")
        made.append({**row, "first": letters[0], "second": letters[1]})
    found = wb.certify(("first", "second"), made, **EXACT)
    negative = found.rates.true_negative
    assert 0 < negative.n < 50
    assert len(found.rows("accepted bad")) == negative.n - negative.k


@pytest.mark.parametrize(
    ("settings", "error"),
    [({"compare": "langage"}, ReportError), ({"against": "olt"}, ReportError), ({"against": 3}, TypeError)],
)
def test_settings_that_cannot_be_used_fail_before_the_first_request(settings, error):
    """A column that does not exist, and an object that is not a grader."""
    judge = paid(max_tokens=20)
    with pytest.raises(error, match="there is no column|wb.certify takes a judge"):
        wb.certify(judge, rows(20), budget=1.0, **settings, **EXACT)
    assert judge.client.calls == 0


def test_a_replaced_judge_of_stored_verdicts_needs_a_confirmation():
    """The verdicts of the new judge are stored, and those of the old one are requested: that costs money, too."""
    made = [{**row, "new": row["good"]} for row in rows(20)]
    judge = paid(max_tokens=20)
    with pytest.raises(ReportError, match="certify needs a confirmation or a budget"):
        wb.certify("new", made, against=judge, **EXACT)
    assert judge.client.calls == 0
    found = wb.certify("new", made, against=judge, budget=1.0, **EXACT)
    assert found.cost.steps == {"replaced judge": 20}
    assert judge.client.calls == 20


def test_a_replaced_judge_has_the_threshold_of_its_own_scale():
    """Scores from 1 to 5 are accepted from 3 on, although the new judge's scores are from 0 to 1."""
    old = rubric(lambda q: 4 if q.right else 2, "Give a score from 1 to 5.", scale=(1, 5))
    found = wb.certify(binary(lambda q: q.right), rows(100), against=old, **EXACT)
    assert "0 of 100 (0 %) rows get another verdict" in found["replacement"].sentence


def test_a_budget_of_calls_counts_both_orders_of_a_pair():
    """Two requests per row: 40 of the first 20 rows, so that 10 remain for the repeats."""
    sent = []

    def choose(a, b, total):
        sent.append(total)
        return better(a, b, total)

    wb.certify(pairwise(choose), pairs(20), budget=wb.Budget(calls=50), **EXACT)
    assert 40 < len(sent) <= 50


def test_the_result_has_every_form(tmp_path):
    """Text, HTML, Markdown and JSON; no text of a row is in them."""
    found = wb.certify(binary(lambda q: q.right), rows(100), **EXACT)
    spec = json.loads(found.to_json(tmp_path / "c.json"))
    assert spec["verdict"] == "certified"
    assert spec["rates"]["true_positive_rate"] == {
        "value": 1.0,
        "low": 0.928878,
        "high": 1.0,
        "count": 50,
        "of": 50,
    }
    assert [check["name"] for check in spec["checks"]][:3] == ["prompt", "replies", "reversed"]
    page = found.to_html(tmp_path / "c.html").read_text("utf-8")
    assert "<script" not in page
    assert "certified: TPR" in page
    assert found.to_markdown(tmp_path / "c.md").read_text("utf-8").startswith("**judge: certified")
    assert "The sum is" not in page + found.to_json()
    assert found["length"].name == "length"
    with pytest.raises(KeyError, match="no check 'lenght'"):
        found["lenght"]


def test_unknown_settings_are_named():
    """The nearest name is proposed, and what is not a judge is refused."""
    with pytest.raises(TypeError, match="wb.certify takes a judge"):
        wb.certify(3, rows(10))
    with pytest.raises(TypeError, match="not a report"):
        wb.certify(wb.ExactMatch().run(rows(10), progress=False), rows(10))
    with pytest.raises(TypeError, match="did you mean 'budget'|no setting 'buget'"):
        wb.certify(binary(lambda q: q.right), rows(10), buget=1)
    with pytest.raises(ReportError, match="unknown check 'lenght'"):
        wb.certify(binary(lambda q: q.right), rows(10), skip="lenght")
