"""The cost of a run: before it starts, from the prompts; while it runs, what is spent, reserved and remaining."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.app.view.page import ROWS, RULES
from workbench.core import background
from workbench.core.progress import Progress
from workbench.judges.budget import CHARACTERS_PER_TOKEN, Budget, pending_question
from workbench.judges.prices import price_of
from workbench.judges.spending import Spending

GOOD = '{"reasoning": "fine", "score": "PASS"}'


def judge_of(model="gpt-4o-mini", **settings):
    """A judge without a server."""
    return wb.BinaryJudge(
        "Is it right?", name="judge", model=model, client=wb.ScriptedClient(GOOD), **settings
    )


@pytest.fixture
def page(page_of):
    """A page with rules and a judge."""
    return page_of(graders=(*RULES, judge_of())).opened()


def test_the_cost_is_shown_before_the_run(page):
    """Requests and dollars of all drawn rows, from the lengths of their prompts; more with more rows and repeats."""
    judge = page.session.graders.by_name["judge"]
    samples = page.session.rows.rows
    characters = (
        sum(len(message["content"]) for row in range(60) for message in judge.preview(samples[row])) / 60
    )
    expected = 60 * price_of("gpt-4o-mini").max_of(characters / CHARACTERS_PER_TOKEN, 1_000)
    shown = float(page.head["cost"].removeprefix("up to $"))
    assert shown == pytest.approx(expected, rel=0.02)
    assert "At least 60 requests to a model" in page.head["plan"]
    assert f"Up to ${shown:.4f} at list prices, estimated from the prompts of 20 rows" in page.head["plan"]
    page.tell("draw", draw={"n": 30, "repeats": 2})
    assert float(page.head["cost"].removeprefix("up to $")) == pytest.approx(shown, rel=0.05)
    page.tell("tick", name="judge", on=False)
    assert page.head["cost"] == ""


def test_a_limit_of_tokens_and_a_budget_bound_it(page_of):
    """Short replies cost less; a budget is never exceeded."""
    page = page_of(graders=(judge_of(max_tokens=10),)).opened()
    long = page_of(graders=(judge_of(max_tokens=4_000),)).opened()
    dollars = [float(each.head["cost"].removeprefix("up to $")) for each in (page, long)]
    assert dollars[0] < dollars[1] / 5
    long.tell("draw", draw={"budget": "0.0010"})
    assert long.head["cost"] == "up to $0.0010"


def test_an_unknown_price_is_named(page_of):
    """No number is shown where none is known."""
    page = page_of(graders=(judge_of("our-model-7"),)).opened()
    assert page.head["cost"] == "cost unknown"
    assert "no price for our-model-7 in wb.judges.PRICES" in page.head["plan"]


def test_a_client_without_a_model_has_no_cost(page_of):
    """Such as prepared replies: nothing is shown, and the plan counts the requests."""
    page = page_of(graders=(judge_of(""),)).opened()
    assert page.head["cost"] == ""
    assert "At least 60 requests" in page.head["plan"]


def test_a_prompt_that_does_not_fit_costs_nothing(page_of):
    """Such rows fail in the run; code has no cost."""
    page = page_of(graders=(judge_of(user_template="{{nothing}}"), *RULES)).opened()
    assert page.head["cost"] == ""
    assert page_of().opened().head["cost"] == ""


def test_a_run_shows_what_is_spent_reserved_and_remaining(page):
    """With a budget what remains of it; what is reserved may still be spent."""
    page.tell("draw", draw={"budget": "2.00"})
    runs = page.session.runs
    with page.session.guard.lock:
        runs.budget, runs.running = 2.0, True
        runs.progress = Progress("judge", 30, 0, 60, 1.0, money=0.5, reserved=0.25)
    assert "$0.5000 spent · $0.2500 reserved · $1.2500 remaining" in page.progress["text"]
    with page.session.guard.lock:
        runs.budget = None
        runs.progress = Progress("judge", 31, 0, 60, 1.0, money=0.5)
    assert "$0.5000 spent" in page.progress["text"]
    assert "remaining" not in page.progress["text"]
    with page.session.guard.lock:
        runs.running = False


def test_requests_in_flight_are_reserved():
    """While a reply is awaited its money is not spent, and not free; the run reports it."""
    judge = judge_of(max_tokens=50)
    messages = judge.preview(wb.Samples(ROWS)[0])
    spending = Spending(Budget(money=1.0))
    question = pending_question(judge.chat_client(), messages, judge.request_settings(), with_size=True)
    held = background.run(spending.reserve(question))
    assert spending.reserved == held.amount.money > 0
    seen = []
    wb.Suite([judge]).run(ROWS, budget=1.0, progress=lambda moment: seen.append(moment.reserved) is None)
    assert (seen[-1], all(0 <= reserved < 1 for reserved in seen)) == (0.0, True)
