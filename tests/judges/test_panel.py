"""The panel: votes, ties, failed members, quorum, early stop, repeats, weights."""

import asyncio
import json
from dataclasses import replace

import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_client import completion
from workbench.core.errors import FormatError
from workbench.graders.base import from_spec
from workbench.judges import OpenAIClient, Reply, Usage
from workbench.judges.panel_votes import fold_of

THREAD = wb.StringThread([("user", "2+2?"), ("assistant", "4")])
BROKEN = "no verdict"


def binary(name, verdict, **settings):
    """A judge that always returns PASS, FAIL or NA, or a reply without a verdict."""
    text = BROKEN if verdict == BROKEN else json.dumps({"reasoning": f"{name} read it", "score": verdict})
    return wb.BinaryJudge("is right", name=name, client=wb.ScriptedClient(text), **settings)


def panel(verdicts, **settings):
    verdicts = [{"P": "PASS", "F": "FAIL", "N": "NA", "x": BROKEN}[letter] for letter in verdicts]
    return wb.Panel(
        [binary(name, verdict) for name, verdict in zip("abcdefg", verdicts, strict=False)], **settings
    )


def scored(*scores, **settings):
    members = [
        wb.RubricJudge(
            "Rate.", name=name, client=wb.ScriptedClient(json.dumps({"rationale": "r", "score": score}))
        )
        for name, score in zip("abcdefg", scores, strict=False)
    ]
    return wb.Panel(members, **settings)


@pytest.mark.parametrize(
    ("verdicts", "score", "passed", "dissent"),
    [
        ("PPP", 1.0, True, []),
        ("PPF", 1.0, True, ["c"]),
        ("PFF", 0.0, False, ["a"]),
        ("FFF", 0.0, False, []),
        ("PPx", 1.0, True, []),
        ("PPN", 1.0, True, []),
        ("PFPFP", 1.0, True, ["b", "d"]),
        ("PPPxx", 1.0, True, []),
    ],
)
def test_the_majority_decides(verdicts, score, passed, dissent):
    """Failed members are left out and skips abstain; the members against the outcome are named."""
    grade = panel(verdicts)(THREAD)
    assert (grade.score, grade.passed, grade.metadata["dissent"]) == (score, passed, dissent)
    assert [vote["judge"] for vote in grade.metadata["votes"]] == list("abcdefg"[: len(verdicts)])
    assert grade.metadata["tie"] is False


def test_the_reasoning_has_every_member():
    """The count, each member's verdict and reason, and why a member failed."""
    lines = panel("PFPx")(THREAD).reasoning.split("\n")
    assert lines[0] == "pass: 2 pass, 1 fail"
    assert lines[2] == "b: 0, b read it"
    assert lines[4].startswith("d: failed, judge_parse:")


@pytest.mark.parametrize(
    ("on_tie", "expected"),
    [("half", (0.5, None, "scored")), ("zero", (0.0, False, "scored")), ("skip", (None, None, "skipped")), ("fail", (None, None, "failed"))],
)  # fmt: skip
def test_a_tie_is_reported(on_tie, expected):
    """A tie is never decided silently: metadata and reasoning name it, and the setting its value."""
    grade = panel("PFPF", on_tie=on_tie)(THREAD)
    assert (grade.score, grade.passed, str(grade.status)) == expected
    assert grade.metadata["tie"] is True
    assert "tie: 2 pass, 2 fail" in (grade.reasoning or grade.error.message)


@pytest.mark.parametrize(
    ("verdicts", "quorum", "status"),
    [("Pxx", None, "failed"), ("Pxx", 1, "scored"), ("PPx", 3, "failed"), ("NNP", None, "skipped"), ("NNN", 1, "skipped"), ("NxP", None, "failed")],
)  # fmt: skip
def test_below_the_quorum_there_is_no_score(verdicts, quorum, status):
    """Failed by the names and errors of the failed members; skipped if none failed."""
    grade = panel(verdicts, quorum=quorum)(THREAD)
    assert grade.status == status
    if status == "failed":
        assert "quorum" in grade.error.message
        assert grade.error.kind == "judge_parse"
        assert "b: judge_parse" in grade.error.message or "c: judge_parse" in grade.error.message


@pytest.mark.parametrize(
    ("vote", "score"), [("mean", (0.1 + 0.4 + 1.0) / 3), ("median", 0.4), ("majority", 0.0)]
)
def test_scores_are_combined(vote, score):
    """Mean, median, or the majority of scores above a half."""
    grade = scored(0.1, 1.0, 0.4, vote=vote)(THREAD)
    assert grade.score == pytest.approx(score)


def test_equal_scores_give_exactly_that_mean():
    """Without rounding, and a threshold gives a verdict with its dissenters."""
    assert scored(0.1, 0.1, 0.1, vote="mean")(THREAD).score == 0.1
    grade = scored(0.9, 0.9, 0.2, vote="mean", pass_threshold=0.6)(THREAD)
    assert (grade.passed, grade.metadata["dissent"]) == (True, ["c"])


def test_a_half_is_no_vote_for_either_side():
    """A score of exactly 0.5 without a verdict leaves the balance as it is."""
    assert scored(0.5, 0.9)(THREAD).score == 1.0
    assert scored(0.5, 0.5)(THREAD).metadata["tie"] is True


def test_entries_have_weights_and_thresholds():
    """A member with the weight of both others decides; a threshold makes a score a verdict."""
    heavy = wb.Panel([wb.Entry(binary("a", "FAIL"), weight=2.5), binary("b", "PASS"), binary("c", "PASS")])
    assert heavy(THREAD).score == 0.0
    assert "by weight" in heavy(THREAD).reasoning
    strict = wb.Panel(
        [wb.Entry(one.grader, one.name, pass_threshold=0.95) for one in scored(0.9, 0.9, 1.0).entries]
    )
    assert strict(THREAD).score == 0.0


def test_an_early_stop_asks_no_more_than_it_must():
    """Two of three that agree decide; the third is asked if they do not. The score is that of asking all."""
    for verdicts, asked in (
        ("PPF", 2),
        ("PFP", 3),
        ("FFP", 2),
        ("PPPFF", 3),
        ("PFPPF", 4),
        ("xPP", 3),
        ("PFPFP", 5),
    ):
        grade = panel(verdicts, early_stop=True)(THREAD)
        assert len(grade.metadata["votes"]) == asked, verdicts
        assert grade.score == panel(verdicts)(THREAD).score
        assert grade.metadata["members"] == len(verdicts)


def test_an_early_stop_with_weights():
    """A member that outweighs the others decides alone, if the quorum allows it."""
    members = [wb.Entry(binary("a", "FAIL"), weight=3), binary("b", "PASS"), binary("c", "PASS")]
    assert len(wb.Panel(members, early_stop=True, quorum=1)(THREAD).metadata["votes"]) == 1
    assert len(wb.Panel(members, early_stop=True)(THREAD).metadata["votes"]) == 2


def test_repeats_of_one_judge():
    """Self-consistency: the majority of several replies; the same judge at temperature 0 is refused."""
    replies = [json.dumps({"reasoning": "", "score": verdict}) for verdict in ("PASS", "FAIL", "PASS")]
    judge = wb.BinaryJudge("is right", temperature=1.0, client=wb.ScriptedClient(replies))
    grade = wb.Panel(judge, repeats=3)(THREAD)
    assert grade.score == 1.0
    assert [vote["judge"] for vote in grade.metadata["votes"]] == [f"binary-judge #{at}" for at in (1, 2, 3)]
    with pytest.raises(FormatError, match="temperature"):
        wb.Panel(replace(judge, temperature=0.0), repeats=3)


def test_repeats_are_paid_and_stored_separately(tmp_path, monkeypatch):
    """With a store each repeat has a reply, and a second run pays for none."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    verdicts = iter(["PASS", "FAIL", "PASS"])

    def answer(*_):
        return 200, {}, completion(json.dumps({"reasoning": "", "score": next(verdicts)}))

    rows = [{"prompt": "q", "completion": "a"}]
    with server(answer) as (address, requests), wb.open_store(f"sqlite:///{tmp_path}/s.db") as store:
        judge = wb.BinaryJudge("is right", model="m", temperature=1.0, client=OpenAIClient(address))
        first, second = (wb.Panel(judge, repeats=3).run(rows, store=store, progress=False) for _ in range(2))
    assert len(requests) == 3
    assert list(first.scores["panel"]) == list(second.scores["panel"]) == [1.0]
    assert first.panels["votes"].tolist() == [1, 1, 1]
    assert second.spending.startswith("cost: $0.00 for 0 tokens")


def test_an_exhausted_budget_is_no_failed_member():
    """The row fails as budget: a vote of the members that were still paid for would be another panel."""
    rows = [{"prompt": f"q{at}", "completion": "a"} for at in range(4)]
    members = [replace(one.grader, model="m") for one in panel("PPP").entries]
    report = wb.Panel(members, quorum=1).run(rows, budget=wb.Budget(calls=7), progress=False)
    scored_rows = int(report.summary.loc["panel", "scored"])
    assert scored_rows == 2
    assert set(report.errors["error_kind"]) == {"budget"}


def test_costs_are_those_of_all_members():
    """Tokens and cost are sums; unknown if one member's is."""

    def judge(name, cost):
        reply = Reply('{"reasoning": "", "score": "PASS"}', Usage(10, 5, cost=cost))
        return wb.BinaryJudge("c", name=name, client=wb.ScriptedClient([reply] * 9))

    grade = wb.Panel([judge("a", 0.25), judge("b", 0.5)])(THREAD)
    assert (grade.tokens, grade.cost) == (30, 0.75)
    assert "[a]" in grade.metadata["raw"]
    assert wb.Panel([judge("a", 0.25), judge("b", None)])(THREAD).cost is None


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"vote": "plurality"}, "vote"),
        ({"quorum": 0}, "quorum"),
        ({"quorum": 4}, "quorum"),
        ({"repeats": 0}, "repeats"),
        ({"on_tie": "coin"}, "on_tie"),
        ({"vote": "mean", "early_stop": True}, "early"),
        ({"vote": "mean", "on_tie": "zero"}, "ties"),
        ({"pass_threshold": 0.5}, "verdict"),
        ({"vote": "median", "fold_weights": ((1, 1, 1),)}, "median"),
        ({"fold_weights": ((1, 1),)}, "fold_weights"),
        ({"fold_weights": ((0, 0, 0),)}, "weight above 0"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, words):
    """By name."""
    with pytest.raises(FormatError, match=words):
        panel("PPF", **settings)


def test_members_on_other_scales_are_refused():
    """A mean over two scales is no mean; a score from 0 to 10 needs a threshold to vote."""
    wide = wb.RubricJudge("Rate.", name="wide", scale=(0, 10))
    with pytest.raises(FormatError, match="one scale"):
        wb.Panel([wide, binary("b", "PASS")], vote="mean")
    with pytest.raises(FormatError, match="threshold"):
        wb.Panel([wide, binary("b", "PASS")])
    wb.Panel([wb.Entry(wide, pass_threshold=6), binary("b", "PASS")])
    with pytest.raises(ValueError, match="'a'"):
        wb.Panel([binary("a", "PASS"), binary("a", "PASS")])
    with pytest.raises(ValueError, match="at least one"):
        wb.Panel([])


def test_spec_and_file(tmp_path):
    """Members, weights and rule come back from JSON and from a file."""
    made = wb.Panel(
        [wb.Entry(binary("a", "PASS"), weight=2.0), wb.Entry(scored(0.1).entries[0].grader, "r", pass_threshold=0.7)],
        quorum=1, on_tie="skip", early_stop=True, fold_weights=((1.0, 0.5), (0.25, 1.0)), name="judges",
    )  # fmt: skip
    assert from_spec(json.loads(json.dumps(made.spec()))) == made
    wb.save([made], tmp_path / "g.json")
    assert wb.load(tmp_path / "g.json").graders[0] == made


def test_members_may_be_any_graders():
    """A rule and a function vote like judges."""
    rule = wb.Contains("4", name="rule")
    grade = wb.Panel([rule, binary("b", "PASS"), wb.Length(99, name="long")])(THREAD)
    assert (grade.score, grade.metadata["dissent"]) == (1.0, ["long"])


def test_weights_of_a_row_depend_on_its_prompt_alone():
    """Completions of one prompt share a fold, in any data set; the fold's weights are used."""
    one, two = (wb.StringThread([("user", "2+2?"), ("assistant", text)]) for text in "ab")
    assert fold_of(one, 5) == fold_of(two, 5)
    folds = [fold_of(wb.StringThread([("user", f"q{at}"), ("assistant", "a")]), 5) for at in range(500)]
    assert all(60 < folds.count(fold) < 140 for fold in range(5))
    prompt = next(f"q{at}" for at, fold in enumerate(folds) if fold == 3)
    weights = tuple((0.0, 0.0, 1.0) if fold == 3 else (1.0, 1.0, 0.0) for fold in range(5))
    grade = panel("PPF", fold_weights=weights)(wb.StringThread([("user", prompt), ("assistant", "a")]))
    assert grade.score == 0.0


def test_one_bad_server_of_three(monkeypatch):
    """Over HTTP: one member's server is down or replies nonsense; the row has the vote of the others, with a note of it."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def answer(_path, body, _headers):
        kind = body["model"]
        if kind == "broken":
            return 500, {}, {"error": {"message": "out of memory"}}
        if kind == "silent":
            return None
        return 200, {}, completion(json.dumps({"reasoning": kind, "score": "PASS"}))

    with server(answer) as (address, requests):
        client = OpenAIClient(address, max_retries=0)
        members = [
            wb.BinaryJudge("c", name=model, model=model, client=client)
            for model in ("good", "fine", "broken", "silent")
        ]
        rows = [{"prompt": f"q{at}", "completion": "a"} for at in range(3)]
        report = wb.Panel(members[:3]).run(rows, progress=False)
        both = wb.Panel(members).run(rows, progress=False)
    assert list(report.scores["panel"]) == [1.0] * 3
    assert report.panels.set_index("judge")["failed"].to_dict() == {"good": 0, "fine": 0, "broken": 3}
    assert any("a judge failed on 3 rows" in line for line in report.facts)
    assert both.scores["panel"].isna().all()
    assert "broken: judge_" in both.errors["error"][0]
    assert "silent: judge_" in both.errors["error"][0]
    assert len(requests) >= 9


def test_members_are_asked_together():
    """Concurrently, unless the vote may be decided early."""
    waiting, all_asked = 0, asyncio.Event()

    class Client:
        async def complete(self, messages, **settings):
            nonlocal waiting
            waiting += 1
            if waiting == 3:
                all_asked.set()
            await all_asked.wait()
            return Reply('{"reasoning": "", "score": "PASS"}')

    members = [wb.BinaryJudge("c", name=name, client=Client()) for name in "abc"]
    assert wb.Panel(members)(THREAD).score == 1.0


def test_two_judges_that_would_return_one_reply_are_refused(monkeypatch):
    """Equal prompt, model and server at temperature 0: a store has one reply for both, so the vote would count twice."""

    def judge(name, **fields):
        return wb.BinaryJudge("is right", name=name, model="gpt-4o-mini", **fields)

    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with pytest.raises(
        FormatError, match=r"members 'a' and 'c' would return the same reply[\s\S]*temperature=1.0"
    ):
        wb.Panel([judge("a"), judge("b", max_tokens=9), judge("c")]).check_ready()
    for other in (
        judge("b", temperature=0.5),
        judge("b", base_url="http://127.0.0.1:9/v1"),
        wb.BinaryJudge("is right", name="b", model="gpt-4o"),
        wb.BinaryJudge("is short", name="b", model="gpt-4o-mini"),
        wb.BinaryJudge("is right", name="b", model="gpt-4o-mini", client=wb.ScriptedClient("x")),
        wb.Entry(judge("b"), extractor="last_turn"),
    ):
        wb.Panel([judge("a"), other]).check_ready()
