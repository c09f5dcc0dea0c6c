"""The rows part: chips, search, order, columns, windows, the reader; every count is pandas' own."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.app.view.page import NASTY, NO, ROWS, RULES, TAGS, coded
from workbench.app.view import cells
from workbench.app.view.texts import around, pieces, words_finder
from workbench.data.samples.row_drawing import written_column

FRAME = pd.DataFrame(ROWS)


@pytest.fixture
def page(page_of):
    """A page with two rules, graded."""
    return page_of(labels="good").opened()


def accepted(name, page):
    """Which rows a grader accepts, by pandas."""
    return (page.session.results.report.scores[name] >= 0.5).to_numpy()


def test_before_a_run_the_rows_are_there(page_of):
    """Before a run: the rows, the number of prompts, and their labels."""
    page = page_of(graders=[], labels="good")
    page.tell("mode", mode="grade")
    assert page.table["title"] == "Your rows"
    assert page.table["note"] == "60 completions of 12 prompts; labels: 30 good, 30 bad"
    assert page.table["count"] == 60
    page.tell("look", where=[{"label": True}])
    assert page.table["count"] == 30
    assert page.problem is None


@pytest.mark.parametrize("label", [True, False])
@pytest.mark.parametrize("passed", [True, False])
def test_a_segment_of_a_bar_shows_exactly_its_rows(page, label, passed):
    """The count in the bar, the count above the table, its rows and pandas' agree."""
    part = f"{'good' if label else 'bad'}_{'accepted' if passed else 'refused'}"
    page.tell("look", where=[{"label": label}, {"grader": "exact", "passed": passed}])
    expected = FRAME["id"][(FRAME["good"] == label) & (accepted("exact", page) == passed)].tolist()
    assert page.rows() == expected
    assert page.table["count"] == page.line("exact")["counts"][part] == len(expected)
    assert page.session.results.where == ({"label": label}, {"grader": "exact", "passed": passed})


def test_a_findings_link_shows_all_its_rows(page):
    """The number in the sentence is the number of its evidence rows."""
    page.tell("choose", name="exact")
    findings = [page.chosen["finding"], *page.chosen["more"]]
    finding = next(each for each in findings if each["kind"] == "too-strict")
    assert finding["link"] == "10 of 30 known-good rows"
    page.tell("look", where=finding["where"])
    assert page.table["count"] == 10
    assert page.table["title"] == "Known good, rejected"


def test_a_chip_is_taken_away_alone(page):
    """Two chips, one removed: the other remains."""
    page.tell("look", where=[{"label": True}])
    page.tell("filter", where=[{"column": "writer", "is": "two"}])
    both = FRAME["id"][FRAME["good"] & (FRAME["writer"] == "two")].tolist()
    assert page.rows() == both
    assert [chip["text"] for chip in page.table["filters"]] == ["known good", "writer: two"]
    page.tell("unfilter", chip=page.table["filters"][0]["id"])
    assert page.rows() == FRAME["id"][FRAME["writer"] == "two"].tolist()


def test_columns_of_the_data_are_filters(page):
    """Values with their counts, or a range of numbers."""
    values = page.ask("values", field="writer")
    assert {each["text"]: each["count"] for each in values["values"]} == dict(FRAME["writer"].value_counts())
    page.tell("look", where=values["values"][1]["where"])
    assert page.table["count"] == values["values"][1]["count"]
    sizes = page.ask("values", field="size")
    assert (sizes["kind"], sizes["lo"], sizes["hi"]) == ("numbers", 0.0, 29.5)
    page.tell("look", where=[{"column": "size", "between": [5, 10]}])
    assert page.rows() == FRAME["id"][FRAME["size"].between(5, 10)].tolist()
    with pytest.raises(LookupError, match="no column"):
        page.ask("values", field="nowhere")


def test_search_finds_in_any_case_and_marks(page):
    """Words anywhere in a row; they are marked in its cells and in the reader."""
    page.tell("search", text="QUESTION 1")
    wanted = FRAME["prompt"].str.contains("question 1", regex=False)
    assert page.rows() == FRAME["id"][wanted].tolist()
    page.tell("columns", columns=[{"key": "prompt", "shown": True, "width": 220}])
    cell = page.table["first"][0]["cells"][0]
    assert ["question 1", "found"] in cell["t"]
    page.tell("select", row=1)
    assert page.reader["at"] == 0


def test_the_expected_answer_is_marked_where_nobody_searches(page):
    """Without a search the marks show occurrences of the reference."""
    page.tell("look", where=[{"grader": "exact", "passed": True}])
    answer = next(at for at, column in enumerate(shown(page)) if column["key"] == "completion")
    assert page.table["first"][0]["cells"][answer]["t"] == [["yes", "found"]]


def shown(page):
    """Columns that are shown, in order."""
    return [column for column in page.table["columns"] if column["shown"]]


@pytest.mark.parametrize(
    ("key", "column"),
    [("field size", "size"), ("completion", "completion"), ("expected", "expected"), ("label", "good")],
)
@pytest.mark.parametrize("descending", [True, False])
def test_sorted_by_any_column_as_pandas_would(page, key, column, descending):
    """Stable, either way."""
    page.tell("sort", key=key, descending=descending)
    expected = FRAME.sort_values(column, ascending=not descending, kind="stable")["id"].tolist()
    if descending:  # equal rows stay in their own order
        ranks = FRAME[column].rank(method="dense")
        expected = FRAME.assign(rank=-ranks).sort_values("rank", kind="stable")["id"].tolist()
    assert page.rows() == expected
    page.tell("sort", key="", descending=False)
    assert page.rows() == FRAME["id"].tolist()


def test_rows_without_a_value_come_last(page_of):
    """In both directions, for any column."""
    rows = [
        {"completion": "a", "size": 2.0},
        {"completion": "b", "size": None},
        {"completion": "c", "size": 1.0},
    ]
    page = page_of(rows, [wb.Contains(expected="a")]).opened()
    for descending, order in ((False, ["2", "0", "1"]), (True, ["0", "2", "1"])):
        page.tell("sort", key="field size", descending=descending)
        assert page.rows() == order


def test_a_window_of_an_older_table_is_empty(page):
    """A reply for outdated rows is distinguishable from one for the current ones."""
    revision = page.table["revision"]
    page.tell("look", where=[{"label": True}])
    assert page.ask("rows", start=0, stop=10, revision=revision) == []
    assert len(page.ask("rows", start=10, stop=20, revision=page.table["revision"])) == 10


def test_an_edit_reads_no_text_of_a_row(page_of, monkeypatch):
    """It changes scores: the texts in the table are read once for the same rows."""
    page = page_of(graders=(coded(),)).opened()
    read, texts = [], cells.row_texts
    monkeypatch.setattr(cells, "row_texts", lambda *given: read.append(given) or texts(*given))
    before = page.table["revision"]
    page.typed("coded", NO)
    assert page.table["revision"] > before
    assert read == []


def test_the_last_column_cannot_be_hidden(page):
    """A table without a column would show nothing: the completion remains."""
    page.tell(
        "columns",
        columns=[{"key": column["key"], "shown": False, "width": 0} for column in page.table["columns"]],
    )
    assert [column["key"] for column in shown(page)] == ["completion"]


def test_the_reader_says_what_each_grader_said(page):
    """Turns, reference, label, scores with their part, reasoning."""
    page.tell("select", row=0)
    reader = page.reader
    assert (reader["id"], reader["at"], reader["of"], reader["label"]) == ("row-0", 0, 60, False)
    assert [turn["role"] for turn in reader["turns"]] == ["prompt", "completion"]
    assert {said["grader"]: said["part"] for said in reader["said"]} == {
        "has yes": "bad_refused",
        "exact": "bad_refused",
    }
    assert "".join(text for text, _ in reader["said"][1]["why"]).startswith("Expected exact match")
    page.tell("select", row=None)
    assert page.reader is None
    page.tell("select", row=99)
    assert page.reader is None


def test_a_row_is_labelled_where_it_is_read(page):
    """The label is saved and shown, and its row counts as selected: rates exclude it."""
    page.tell("select", row=0)
    page.tell("label_row", row=0, value=True)
    assert page.reader["label"] is True
    assert page.session.labels.latest["row-0"].drawn == "as shown"


def test_a_million_characters_come_in_pieces(page_of):
    """No message contains more than a piece; a search covers the whole text."""
    text = "x" * 500_000 + "needle" + "y" * 500_000 + "needle"
    page = page_of([{"prompt": "q", "completion": text}], [wb.Contains(expected="needle")]).opened()
    page.tell("select", row=0)
    assert len(json.dumps(page.reader)) < 20_000
    part = page.reader["turns"][-1]["part"]
    assert page.reader["turns"][-1]["more"] == len(text) - 4_000
    piece = page.ask("piece", row=0, part=part, start=4_000)
    assert (piece["start"], piece["stop"], piece["total"]) == (4_000, 12_000, len(text))
    found = page.ask("find", row=0, part=part, text="NEEDLE", nth=1)
    assert (found["count"], found["nth"], found["stop"]) == (2, 1, len(text))
    assert [text for text, mark in found["text"] if mark] == ["needle"]
    assert page.ask("find", row=0, part=part, text="nowhere", nth=0)["count"] == 0


def test_csv_is_what_the_table_shows(page):
    """Rows in their order, with every grader's score."""
    page.tell("look", where=[{"label": True}])
    page.tell("sort", key="field size", descending=True)
    lines = page.ask("csv").splitlines()
    assert len(lines) == 31
    assert lines[1].startswith("59,row-59,")


def test_code_repeats_what_is_looked_at(page):
    """The line at the foot gives the same rows."""
    page.tell("look", where=[{"label": True}, {"grader": "exact", "passed": False}])
    app = type("App", (), {"report": page.session.results.report})
    rows = eval(page.code, {"app": app})
    assert list(rows["sample"]) == page.rows()


def test_hostile_texts_are_texts(page_of):
    """Markup stays what it is; characters that hide or turn others are shown as code points, in every message."""
    rows = [
        {**row, "id": f"{NASTY}{n}", "prompt": NASTY, "completion": NASTY, NASTY: NASTY, "writer": NASTY}
        for n, row in enumerate(ROWS)
    ]
    page = page_of(rows, (wb.Contains(expected=NASTY, name=NASTY), RULES[1]), labels="good").opened()
    page.tell("look", where=[{"label": True}, {"column": "writer", "is": NASTY}])
    page.tell("search", text=NASTY)
    page.tell("select", row=1)
    page.ask("values", field="writer")
    told = json.dumps(without_conditions(page.state), ensure_ascii=False)
    assert all(
        tag in told.replace('\\"', '"') for tag in TAGS
    )  # as text, which only the page's own components draw
    assert "\u202e" not in told
    assert page.table["count"] == 30


def without_conditions(value):
    """What a page shows of its state: conditions only go back to where they came from."""
    if isinstance(value, dict):
        return {
            key: without_conditions(item) for key, item in value.items() if key not in {"where", "search"}
        }
    return [without_conditions(item) for item in value] if isinstance(value, list) else value


def test_a_name_with_hidden_characters_is_found_by_what_is_shown(page_of):
    """The page sends the name as it shows it, also in conditions, and it refers to that grader."""
    page = page_of(graders=(wb.Contains(expected="yes", name="a\u202eb"), RULES[1]), labels="good").opened()
    name = page.rail["lines"][0]["name"]
    assert name == "a⟨U+202E⟩b"
    page.tell("choose", name="exact")
    page.tell("choose", name=name)
    assert page.chosen["name"] == name
    page.tell("look", where=[{"grader": name, "passed": True}])
    assert page.table["count"] == 30
    page.tell("tick", name=name, on=False)
    assert page.session.graders.chosen == ("exact",)


def test_nonsense_is_ignored(page):
    """A page is an untrusted program: unknown actions, wrong types and missing parts do nothing."""
    before = dict(page.state)
    for message in (
        {"do": "nothing"},
        {"do": "look"},
        {"do": "look", "where": "all"},
        {"do": "sort", "key": 3, "descending": 1},
        {"do": "__init__"},
    ):
        assert page.view.on_message({**message, "id": 1, "page": "p"}) == {"page": "p", "heard": 1}
    assert page.view.on_message({"do": "run"}) is None
    assert page.view.on_message({"ask": "rows", "id": 2, "page": "p"})["problem"]
    page.tell("look", where=[{"grader": "nobody", "passed": True}])
    assert "nobody" in page.problem
    page.tell("forget")
    assert page.problem is None
    assert {name: page.state[name] for name in ("table", "rail", "chosen")} == {
        name: before[name] for name in ("table", "rail", "chosen")
    }


@given(st.text(max_size=60), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=5))
def test_pieces_put_together_are_the_text(text, spans):
    """However it is marked: nothing is lost, nothing is there twice."""
    ordered = sorted((min(span), max(span)) for span in spans if max(span) <= len(text))
    joined = "".join(piece for piece, _ in pieces(text, ordered))
    assert joined == "".join(piece for piece, _ in pieces(text, ()))


@given(st.text(alphabet="ab ", max_size=400), st.text(alphabet="ab", min_size=1, max_size=3))
@settings(max_examples=60)
def test_a_cell_holds_its_first_mark(text, words):
    """A long text is cut around the first mark, never before it."""
    spans = list(words_finder(words)(text, ""))
    part, inside, _ = around(text, spans, 80)
    assert len(part) <= 82
    if spans:
        lo, hi = inside[0]
        assert part[lo:hi] == words


def test_numbers_and_times_in_text_are_seen_as_such(page_of):
    """Columns of a CSV are text: they are sorted by size and filtered by a range; graders get them as they were read."""
    rows = [
        {
            **row,
            "latency": f"{(n * 37) % 1000:,}" if n else "",
            "asked": f"2026-{1 + n % 12:02}-01T0{n % 10}:30",
        }
        for n, row in enumerate(ROWS)
    ]
    page = page_of(rows).opened()
    field = page.ask("values", field="latency")
    assert (field["kind"], field["lo"], field["hi"]) == ("numbers", 35.0, 999.0)
    page.tell("filter", where=[{"column": "latency", "between": [100, 250]}])
    expected = [
        row["id"] for row in rows if row["latency"] and 100 <= float(row["latency"].replace(",", "")) <= 250
    ]
    assert page.rows() == expected
    page.tell("look", where=[])
    page.tell("sort", key="field latency", descending=False)
    assert page.rows()[-1] == "row-0"
    assert page.rows()[0] == next(row["id"] for row in rows if row["latency"] == "35")
    assert page.ask("values", field="asked")["kind"] == "times"
    page.tell("filter", where=[{"column": "asked", "between": ["2026-03-01", "2026-04-30T23:59:59.999"]}])
    assert page.table["count"] == sum(row["asked"][5:7] in {"03", "04"} for row in rows)
    assert page.table["filters"][0]["text"] == "asked 2026-03-01 to 2026-04-30"
    assert page.session.samples[1].thread.metadata["latency"] == "37"


@pytest.mark.parametrize("cells", [["1", "2", "x"], ["1", "", "two"], ["2026-13-01"], ["1.2.3"], ["12-1"]])
def test_other_texts_are_no_scale(cells):
    """One cell that is neither a number nor a time leaves the column as text."""
    samples = wb.Samples([{"prompt": "p", "completion": "c", "column": cell} for cell in cells])
    assert written_column(samples, "column").scale is None
