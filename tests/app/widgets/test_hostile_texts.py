"""Untrusted texts in every place that takes text, through every mode: a page gets plain JSON without hidden characters."""

from __future__ import annotations

import json

import pytest

import workbench as wb
from tests.app.widgets import using
from workbench.app.view import mode_titles

NASTY = using.NASTY
PLAIN = NASTY.replace("\u202e", "")
"""As a store takes it: without hidden characters."""


def rows():
    """Rows whose every text is hostile."""
    return [
        {
            "id": f"{NASTY}{n}", "prompt": NASTY, "completion": NASTY if n % 2 else "yes", "expected": NASTY,
            NASTY: NASTY, "metadata": {NASTY: NASTY}, "group": f"{NASTY}{n % 3}", "kind": NASTY if n % 2 else "other",
            f"few {NASTY}": f"{NASTY}{n % 2}", f"many {NASTY}": n / 3,
        }
        for n in range(12)
    ]  # fmt: skip


def graders():
    """Graders of each kind with hostile names, reasons, errors and prints."""
    client = wb.ScriptedClient(json.dumps({"reasoning": NASTY, "score": "PASS"}))

    async def fails(thread):
        raise ValueError(NASTY)

    code = f"async def grade(thread):\n    print({NASTY!r})\n    raise ValueError({NASTY!r})\n"
    return [
        wb.Contains(expected=NASTY, name=f"{NASTY}a"), wb.ExactMatch(name=f"{NASTY}b"),
        wb.BinaryJudge(name=f"{NASTY}judge", criteria=NASTY, client=client),
        wb.CustomGrader(fails, name=f"{NASTY}fails"), wb.FunctionGrader.from_source(code, name=f"{NASTY}code"),
        wb.FunctionGrader.from_source(f"# {NASTY}\n{using.HALF}", name=f"{NASTY}comment"),
        wb.Contains(expected=PLAIN, name=f"{PLAIN}kept"),
    ]  # fmt: skip


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A page where every text is hostile, graded."""
    monkeypatch.chdir(tmp_path)
    app = wb.Workbench(
        rows(), graders(), store=f"sqlite:///{tmp_path}/labels.db", labeller=PLAIN, dataset=PLAIN
    )
    made = using.WidgetPage(app).opened()
    made.tell("run")
    made.session.runs.job.report(60)
    yield made.settled()
    made.close()


def shown(value, place=""):
    """All that a page draws of a state, with its place: conditions and searches go back to where they came from."""
    if isinstance(value, dict):
        for name, item in value.items():
            inner = f"{place}.{name}"
            yield inner, name
            hidden = name in {"where", "search", "yours", "column"} or (
                name == "text" and value.get("editable")
            )
            yield from () if hidden else shown(item, inner)
    elif isinstance(value, list):
        for item in value:
            yield from shown(item, f"{place}[]")
    elif isinstance(value, str):
        yield place, value


def check(page):
    """No message so far hides or reverses a character; the messages are dropped."""
    for message in [*page.messages, *page.replies]:
        json.dumps(message, allow_nan=False)
    told = [each for message in [*page.messages, *page.replies] for each in shown(message)]
    hidden = {place: text for place, text in told if "\u202e" in text}
    assert not hidden, hidden
    count = len(page.messages)
    page.messages.clear()
    page.replies[:] = page.replies[-1:]
    return count


def test_graders_and_rows(page):
    """Each grader selected, edited and saved; rows filtered by every field and value, searched, read, labelled."""
    for line in page.rail["lines"]:
        page.tell("choose", name=line["name"])
        assert page.chosen["name"] == line["name"]
        if page.chosen["finding"] is not None and page.chosen["finding"]["where"]:
            page.tell("look", where=page.chosen["finding"]["where"])
        page.tell("edit", name=line["name"], text=f'{{"kind": {json.dumps(NASTY)}}}', seq=1)
        page.settled()
        page.tell("back", name=line["name"])
        page.tell("keep", name=line["name"])
        page.settled()
    page.tell("choose", name=f"{PLAIN}kept")
    page.tell("keep", name=f"{PLAIN}kept")
    assert f"stored {PLAIN}kept" in [starter["id"] for starter in page.starters]
    page.tell("look", where=[])
    for field in page.table["fields"]:
        values = page.ask("values", field=field)
        assert values["kind"] == "numbers" or values["values"]
        for value in values["values"][:2]:
            page.tell("look", where=value["where"])
            assert page.problem is None
            assert page.table["count"] == value["count"]
    page.tell("look", where=[])
    page.tell(
        "columns", columns=[{"key": one["key"], "shown": True, "width": 80} for one in page.table["columns"]]
    )
    page.tell("search", text=NASTY)
    page.tell("sort", key=page.table["columns"][-1]["key"], descending=True)
    page.ask("rows", start=0, stop=12, revision=page.table["revision"])
    page.tell("select", row=1)
    page.tell("label_row", row=1, value=True)
    page.tell("use_labels")
    page.tell("look", where=[{"grader": f"{NASTY} nobody", "passed": True}])
    assert page.problem is not None
    assert check(page) > 30


def test_try_and_label(page):
    """A row tried, edited, pasted and searched for; cards decided with notes."""
    page.tell("mode", mode="try")
    page.tell("try", text=f"{NASTY} else", expected=NASTY, label=True)
    page.tell("try_ask", grader=page.rail["lines"][2]["name"])
    page.until(lambda page: all(line["after"] or line["waits"] for line in page.try_out["lines"]))
    page.tell("try_keep")
    page.tell("try_row", query=f"{NASTY} nowhere")
    assert page.problem is not None
    messages = [{"role": NASTY, "content": NASTY}]
    page.tell("try_paste", text=json.dumps(messages))
    page.tell(
        "try_paste", text=json.dumps({"messages": [{"role": "user", "content": NASTY}], "reference": NASTY})
    )
    page.tell("mode", mode="label")
    for order in page.label["orders"]:
        page.tell("label_order", order=order["name"])
        for action in ("note", "tag", "good", "bad", "defer", "skip", "undo"):
            card = next(iter(page.label["cards"]), {"seq": -1})  # none where all rows are labelled
            page.tell("label", action=action, seq=card["seq"], note=PLAIN, tags=[PLAIN], turn=1)
            assert page.problem is None, page.head["problem"]
    page.tell("labeller", name=NASTY)
    assert page.problem is not None
    page.tell("labeller", name=f"{PLAIN} two")
    assert check(page) > 15


def test_compare_export_and_history(page):
    """Each pair compared, each platform shown and written, versions and runs listed."""
    page.tell("mode", mode="compare")
    first, *others = page.compare["graders"]
    for name in others:
        page.tell("compare", a=first, b=name)
        page.tell("quadrant", key="a", only="", search=PLAIN)
        page.ask("pairs", start=0, stop=10, revision=page.compare["revision"])
    page.tell("mode", mode="export")
    page.until(
        lambda page: not any("busy" in {fit["fit"] for fit in one["fits"]} for one in page.export["graders"])
    )
    for platform in page.export["platforms"]:
        page.tell("export", platform=platform["name"])
        page.tell("export_settings", settings={"file": NASTY, "allow_unvalidated": True})
        page.tell("write")
    page.tell("mode", mode="history")
    page.tell("mode", mode="grade")
    page.tell("choose", name=first)
    page.tell("mode", mode="history")
    assert page.history["runs"]
    for mode in mode_titles():
        page.tell("mode", mode=mode)
    assert check(page) > 30


@pytest.mark.parametrize("what", ["strata", "draw"])
def test_columns_to_draw_by(page, what):
    """A column is named as it is shown, and rows are drawn by it."""
    name = next(each for each in page.head["strata"] if each.startswith("few"))
    page.tell("draw", draw={"n": 6, "by": name})
    assert page.problem is None
    assert page.head["drawn"] == 6
    if what == "draw":
        assert page.head["draw"]["by"] == name
    check(page)
