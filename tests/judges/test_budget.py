"""A budget stops a run where it is spent, keeps what was graded, and never pays for one thing twice."""

import asyncio

import pytest

import workbench as wb
from workbench.judges import BudgetError, JudgeServerError, Reply, Usage
from workbench.judges.budget import PendingQuestion
from workbench.judges.judge_run import JudgeRun, use_judge_run
from workbench.judges.spending import Spending

SAID = '{"reasoning": "fine", "score": "PASS"}'
ROWS = [{"prompt": f"Hi {row}", "completion": "Good day"} for row in range(40)]


USED = Usage(90, 10)


def judge(usage=USED, *, client=None, model="gpt-4o-mini", name="polite"):
    reply = Reply(SAID, usage, {"finish_reason": "stop"})
    return wb.BinaryJudge(
        criteria="polite", model=model, name=name, client=client or wb.ScriptedClient(reply)
    )


def counts(report):
    kinds = report.errors["error_kind"].value_counts().to_dict()
    return int(report.summary["scored"].sum()), kinds


@pytest.mark.parametrize(
    ("budget", "scored"),
    [
        (wb.Budget(calls=12), 12),
        (wb.Budget(tokens=1_250), 12),
        # 90 * 0.15 + 10 * 0.60 dollars a million: 0.0000195 a row
        (wb.Budget(0.000235), 12),
        (0.000235, 12),
        (wb.Budget(1.0, tokens=10_000, calls=12), 12),
    ],
)
def test_a_run_ends_where_its_budget_is_spent(budget, scored):
    """Not a call more than fits; what was graded is kept, the rest is failed as budget and never a number."""
    grader = judge()
    report = grader.run(ROWS, budget=budget, progress=False)
    assert counts(report) == (scored, {"budget": 40 - scored})
    assert len(grader.client.calls) == scored
    assert f"Budget exhausted: {scored} of 40 grades completed." in report.notes
    assert "budget exhausted" in report.errors["error"].iloc[0]


@pytest.mark.parametrize(("progress", "printed"), [(False, False), (True, True), (lambda moment: True, True)])
def test_a_run_that_ends_early_prints_only_where_progress_is_wanted(progress, printed, capsys):
    """The notes stand in the report in every case."""
    report = judge().run(ROWS, budget=wb.Budget(calls=12), progress=progress)
    assert report.notes == ("Budget exhausted: 12 of 40 grades completed.",)
    assert capsys.readouterr().out == "Budget exhausted: 12 of 40 grades completed.\n" * printed


def test_other_graders_of_the_suite_go_on():
    """Code costs nothing, and two judges share the budget evenly: compared on the same rows."""
    suite = wb.Suite([judge(name="first"), wb.Contains(expected="day"), judge(name="second")])
    report = suite.run(ROWS, budget=wb.Budget(calls=50), progress=False)
    assert report.summary["scored"].to_dict() == {"first": 25, "contains": 40, "second": 25}


@pytest.mark.parametrize(
    "budget", [wb.Budget(calls=60), wb.Budget(tokens=6_090), wb.Budget(0.0011876)], ids=repr
)
def test_three_judges_get_a_third_each(budget):
    """Each later judge has its share of what is left, not of the whole."""
    suite = wb.Suite([judge(name=name) for name in ("first", "second", "third")])
    report = suite.run(ROWS, budget=budget, progress=False)
    assert report.summary["scored"].to_dict() == {"first": 20, "second": 20, "third": 20}


def test_a_budget_reaches_judges_inside_graders():
    """A combined grader's judges are held by the run's budget too."""
    both = wb.combine.Combined(entries=(judge(),), combine=wb.combine.Mean(), name="both")
    report = both.run(ROWS, budget=wb.Budget(calls=5), progress=False)
    assert report.summary.loc["both", "scored"] == 5


def test_money_needs_a_price(monkeypatch):
    """A model that nobody knows the price of is refused before the run, and the message says what to do."""
    with pytest.raises(BudgetError, match=r"grader 'polite'.*\n.*llama(.|\n)*wb\.judges\.PRICES"):
        judge(model="llama").run(ROWS, budget=1.0, progress=False)
    monkeypatch.setitem(wb.judges.PRICES, "llama", wb.judges.Price(0, 0))
    assert counts(judge(model="llama").run(ROWS, budget=1.0, progress=False)) == (40, {})
    nested = wb.combine.Combined(entries=(judge(model="other"),), combine=wb.combine.Mean(), name="both")
    with pytest.raises(BudgetError, match="no price of 'other'"):
        nested.run(ROWS, budget=1.0, progress=False)


def test_a_failed_question_is_a_call():
    """A server that always fails cannot be asked beyond the budget."""
    grader = judge(client=wb.ScriptedClient(JudgeServerError("down")))
    report = grader.run(ROWS, budget=wb.Budget(calls=7), progress=False)
    assert counts(report) == (0, {"judge_server": 7, "budget": 33})


class SlowClient:
    """A client whose answers are all under way together, and longer after the first."""

    def __init__(self, usage):
        self.usage, self.asked = usage, 0

    async def complete(self, messages, **settings):
        self.asked += 1
        used = self.usage(sum(len(message["content"]) for message in messages))
        await asyncio.sleep(0.01)
        return Reply(SAID, used, {"finish_reason": "stop"})


def test_long_questions_do_not_go_out_at_the_price_of_a_short_one():
    """What a question may cost is guessed from its own length: many at once stay within the budget."""
    rows = [{"prompt": "Hi", "completion": "x"}] + [
        {"prompt": f"{row} " + "long " * 2_000, "completion": "x"} for row in range(40)
    ]
    grader = judge(client=SlowClient(lambda letters: Usage(letters // 4, 10)))
    report = grader.run(rows, budget=wb.Budget(tokens=15_000), progress=False)
    assert int(report.summary["tokens"].sum()) <= 15_000
    assert report.summary["scored"].iloc[0] >= 3


@pytest.mark.parametrize(
    "usage",
    [None, Usage(0, 0), Usage(-5, -5), Usage(10**400, 3), Usage(5, 5, float("nan")), Usage(5, 5, -3.0)],
)
def test_odd_usage_neither_ends_a_run_nor_empties_a_budget(usage):
    """Counts and costs that cannot be are unknown: the run goes on, money is guessed by length, and nothing is negative."""
    report = judge(client=SlowClient(lambda _: usage)).run(
        ROWS, budget=wb.Budget(money=0.005), progress=False
    )
    assert 5 < report.summary["scored"].iloc[0] <= 40
    assert not (report.frame["cost"] < 0).any()
    free = judge(client=SlowClient(lambda _: usage)).run(
        ROWS * 20, budget=wb.Budget(money=0.001), progress=False
    )
    assert set(free.errors["error_kind"]) == {"budget"}


def test_a_first_question_that_fails_does_not_spend_a_small_budget():
    """The next one is tried: one bad moment says nothing of the price."""
    answers = iter([JudgeServerError("down"), *[Reply(SAID, Usage(8, 2))] * 40])
    grader = judge(client=wb.ScriptedClient(lambda _: next(answers)))
    report = grader.run(ROWS[:20], budget=wb.Budget(tokens=800), progress=False)
    assert counts(report) == (19, {"judge_server": 1})


def test_a_server_that_does_not_count_is_counted_for():
    """Without usage, tokens are guessed from the length, so that a budget in tokens holds all the same."""
    report = judge(usage=None).run(ROWS, budget=wb.Budget(tokens=20_000), progress=False)
    assert 0 < counts(report)[0] < 40


@pytest.mark.parametrize("wrong", [0, -1.0, float("nan"), float("inf"), True, "5"])
def test_wrong_budgets_are_refused(wrong):
    """Limits are numbers above 0, and there is at least one."""
    with pytest.raises(ValueError, match="budget"):
        wb.Budget(wrong)
    with pytest.raises(ValueError, match="needs a limit"):
        wb.Budget()


def test_room_that_others_may_leave_is_waited_for():
    """A question whose estimate does not fit now is asked once others turn out cheaper."""

    async def go():
        spending = Spending(wb.Budget(tokens=100))
        pending = PendingQuestion(characters=30, answer_limit=50, price=None, size=40)
        reservation = await spending.reserve(pending)
        waiting_task = asyncio.ensure_future(spending.reserve(pending))
        await asyncio.sleep(0)
        assert not waiting_task.done()
        spending.settle(reservation, Usage(5, 5, 0.0), "said")
        await waiting_task
        return spending.tokens

    assert asyncio.run(go()) == 10


class DictStore:
    """A store of answers in a dict."""

    def __init__(self):
        self.answers = {}

    async def get(self, key):
        return self.answers.get(key)

    async def put(self, key, reply, *, model):
        await asyncio.sleep(0)
        self.answers[key] = reply


def graded(grader, judge_run, rows=1):  # as a run does it
    async def go():
        with use_judge_run(judge_run):
            samples = wb.read_samples(ROWS[:rows])
            return await asyncio.gather(*(grader.grade(sample) for sample in samples))

    return asyncio.run(go())


def test_kept_answers_cost_nothing():
    """The second time nobody is asked; the grade says so, and counts no tokens and no money."""
    grader, store = judge(), DictStore()
    first_grade, second_grade = (graded(grader, JudgeRun(replies=store))[0] for _ in range(2))
    assert len(grader.client.calls) == 1
    assert (first_grade.tokens, second_grade.tokens, second_grade.cost, second_grade.metadata["cached"]) == (
        100,
        0,
        0.0,
        True,
    )
    assert first_grade.cost == pytest.approx(0.0000195)
    assert (first_grade.score, first_grade.reasoning) == (second_grade.score, second_grade.reasoning)
    assert "cached" not in first_grade.metadata


def test_two_rows_that_ask_the_same_at_once_ask_once():
    """The second waits for the first one's answer."""
    grader, judge_run = judge(), JudgeRun(replies=DictStore())

    async def go():
        sample = wb.read_samples(ROWS[:1])[0]
        with use_judge_run(judge_run):
            return await asyncio.gather(*(grader.grade(sample) for _ in range(5)))

    grades = asyncio.run(go())
    assert [grade.score for grade in grades] == [1.0] * 5
    assert (len(grader.client.calls), judge_run.spending.calls, judge_run.spending.from_store) == (1, 1, 4)


@pytest.mark.parametrize(
    "change", [{"model": "gpt-4o"}, {"temperature": 0.5}, {"criteria": "kind"}, {"max_tokens": 9}]
)
def test_another_question_is_another_answer(change):
    """Model, settings and prompt are part of the key."""
    from dataclasses import replace

    grader, store = judge(), DictStore()
    graded(grader, JudgeRun(replies=store))
    graded(replace(grader, **change), JudgeRun(replies=store))
    assert (len(grader.client.calls), len(store.answers)) == (2, 2)


def test_another_client_is_another_answer():
    """A client that does not say what its answers hang on is always asked; a script that says otherwise is another."""

    class Anybody:
        def __init__(self, text):
            self.said = text

        async def complete(self, messages, **settings):
            return Reply(self.said)

    store, fail = DictStore(), SAID.replace("PASS", "FAIL")
    for make in (Anybody, wb.ScriptedClient):
        passed = graded(judge(client=make(SAID)), JudgeRun(replies=store))[0]
        failed = graded(judge(client=make(fail)), JudgeRun(replies=store))[0]
        assert (passed.score, failed.score) == (1.0, 0.0)


def test_the_servers_address_and_a_models_settings_are_part_of_the_question():
    """Two servers, or two settings of one model, never share an answer."""
    contents = [
        wb.judges.OpenAIClient("http://one/v1").content("m"),
        wb.judges.OpenAIClient("http://two/v1").content("m"),
        wb.judges.OpenAIClient("http://one/v1", models={"m": {"top_p": 0.1}}).content("m"),
        wb.judges.OpenAIClient("http://one/v1", models={"m": {"top_p": 0.2}}).content("m"),
    ]
    assert len(set(contents)) == 4
    assert (
        wb.judges.OpenAIClient("http://one/v1", models={"other": {"top_p": 0.2}}).content("m") == contents[0]
    )


def test_equal_rows_are_asked_each_where_the_answer_may_vary():
    """Repeats at a temperature above 0 are repeats, and come back from the store as the repeats they were."""
    from dataclasses import replace

    texts = iter([SAID, SAID.replace("PASS", "FAIL")] * 4)
    warm = replace(judge(client=wb.ScriptedClient([next(texts) for _ in range(8)])), temperature=1.0)
    store, rows = DictStore(), [ROWS[0]] * 8

    def run():
        async def go():
            with use_judge_run(JudgeRun(replies=store)):
                return [(await warm.grade(sample)).score for sample in wb.read_samples(rows)]

        return asyncio.run(go())

    assert run() == [1.0, 0.0] * 4
    assert run() == [1.0, 0.0] * 4
    assert len(warm.client.calls) == 8


@pytest.mark.parametrize(
    "answer", ["I like it.", "I'm sorry, I can't help with that.", Reply("", raw={"refusal": "no"})]
)
def test_answers_that_cannot_be_read_are_asked_for_again(answer):
    """A failed row is asked again in the next run, and kept once it could be read."""
    store, times = (
        DictStore(),
        2 if answer == "I like it." else 1,
    )  # what cannot be read is asked once more at once
    grader = judge(client=wb.ScriptedClient([answer] * times + [SAID]))
    graded(grader, JudgeRun(replies=store))
    assert not store.answers
    assert graded(grader, JudgeRun(replies=store))[0].score == 1.0
    assert len(store.answers) == 1


def test_a_repaired_answer_is_kept_with_what_led_to_it():
    """A row that took two questions costs none the next time."""
    store = DictStore()
    grader = judge(client=wb.ScriptedClient(["I like it.", SAID]))
    assert graded(grader, JudgeRun(replies=store))[0].score == 1.0
    assert graded(grader, JudgeRun(replies=store))[0].metadata["cached"] is True
    assert len(grader.client.calls) == 2


def test_who_waits_for_a_cancelled_question_asks_itself():
    """Two rows ask the same, the first is given up: the second has its own answer."""

    async def go():
        client = SlowClient(lambda _: USED)
        client.content = lambda model: "slow"
        sample, grader = wb.read_samples(ROWS[:1])[0], judge(client=client)
        with use_judge_run(JudgeRun(replies=DictStore())):
            first_task, second_task = (asyncio.ensure_future(grader.grade(sample)) for _ in range(2))
            while not client.asked:
                await asyncio.sleep(0)
            first_task.cancel()
            return (await second_task).score

    assert asyncio.run(go()) == 1.0


@pytest.mark.parametrize("store", [None, DictStore()])
def test_a_stopped_run_asks_nothing_more(store, monkeypatch):
    """Once the run is to stop, rows that wait for their turn are not asked, with a store as without."""
    from tests.judges.servers import server
    from tests.judges.test_client import completion
    from workbench.graders.concurrent_rows import Control

    monkeypatch.setenv("OPENAI_API_KEY", "none")
    control = Control(lambda done, failed: control.cancel.set())

    async def go(grader):
        with use_judge_run(JudgeRun(replies=store, stopped=control.cancel.is_set)):
            return await grader.grade_all(wb.read_samples(ROWS), control)

    with server(lambda *_: (200, {}, completion(SAID))) as (address, questions):
        grades = asyncio.run(go(judge(client=wb.judges.OpenAIClient(address, concurrency=2))))
    assert len(questions) == grades.n_scored <= 3
    assert {error.kind for error in grades.errors.values()} == {"cancelled"}


def test_answers_that_say_nothing_are_not_kept():
    """A cut or empty answer is asked for again next time."""
    for reply in (Reply(""), Reply("{", raw={"finish_reason": "length"})):
        store = DictStore()
        graded(judge(client=wb.ScriptedClient(reply)), JudgeRun(replies=store))
        assert not store.answers


def test_a_store_that_cannot_write_loses_no_answer(tmp_path):
    """What was paid for is graded all the same; nothing more is asked, and the run says at its end why."""
    url = f"sqlite:///{tmp_path}/full.db"
    with wb.open_store(url) as store:
        with store._database.writing() as connection:
            for table in ("replies", "runs"):
                full = "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
                connection.exec_driver_sql(
                    f"CREATE TRIGGER full_{table} BEFORE INSERT ON workbench_{table} {full}"
                )
        grader = judge()
        rows = [{"prompt": f"Hi {row}", "completion": "Good day"} for row in range(200)]
        report = grader.run(rows, store=store, progress=False)
    scored, kinds = counts(report)
    assert scored == len(grader.client.calls) < 200
    assert kinds == {"store": 200 - scored}
    notes = "\n".join(report.notes)
    assert f"{scored} replies could not be stored" in notes
    assert "Could not save the run summary" in notes


def test_a_store_that_cannot_be_read_ends_the_run(tmp_path):
    """Nobody knows then what was paid for already: nothing more is asked, and what was graded is kept."""
    url = f"sqlite:///{tmp_path}/broken.db"
    with wb.open_store(url) as store:
        with store._database.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE workbench_replies RENAME TO elsewhere")
        grader = judge()
        report = grader.run(ROWS, store=store, progress=False)
    assert counts(report) == (0, {"store": 40})
    assert not grader.client.calls
    assert "40 requests were not sent" in "\n".join(report.notes)


def test_progress_and_report_show_the_money(tmp_path):
    """While a run goes on, and in its report; a price that is not known is said."""
    moments = []
    report = judge().run(ROWS, progress=moments.append)
    assert moments[-1].money == pytest.approx(40 * 0.0000195)
    assert moments[-1].tokens == 4_000
    assert report.spending == "cost: $0.00078 for 4,000 tokens"
    assert report.spending in str(report)
    assert "$0.00078" in report._repr_html_()
    assert "$0.00078" in report.to_html(tmp_path / "report.html").read_text("utf-8")
    unknown = judge(model="llama").run(ROWS, progress=False)
    assert (
        unknown.spending
        == "cost: unknown for 4,000 tokens; no price known for 40 of 40 rows: see wb.judges.PRICES"
    )
    assert wb.Contains(expected="day").run(ROWS, progress=False).spending == ""


def test_a_combined_column_is_not_paid_twice():
    """The suite's own column repeats what its parts say, not what they cost."""
    suite = wb.Suite([judge(), judge(name="again")], combine=wb.combine.Mean())
    report = suite.run(ROWS, progress=False)
    assert report.spending == "cost: $0.0016 for 8,000 tokens"
