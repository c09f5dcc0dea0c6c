"""The table's Python side: windows, order, selection; stale and senseless messages."""

import json

import pytest
from ipywidgets.widgets import widget

from workbench.widgets.views.table import MOST_ROWS, Column, ScoreTable


class Rows:
    """Rows whose cells say which they are."""

    columns = (Column("id", "row", "row"), Column("text", "text"), Column("score", "sco\u202ere", "score"))

    def __init__(self, count):
        self.order = list(range(count))

    def __len__(self):
        return len(self.order)

    def window(self, start, stop):
        return [[at, f"text {at}", at / len(self.order)] for at in self.order[start:stop]]

    def sort(self, key, descending):
        self.order = sorted(self.order, reverse=descending) if key else list(range(len(self.order)))

    def detail(self, at):
        return {"id": f"row {self.order[at]}"}

    def more(self, at, part):
        return f"{part} of {self.order[at]}"


class Broken(Rows):
    def detail(self, at):
        raise KeyError("\u202egone")


@pytest.fixture
def sent(monkeypatch):
    found = []
    monkeypatch.setattr(ScoreTable, "send", lambda self, content, buffers=None: found.append(content))
    return found


def tell(table, content):
    table._handle_custom_msg({"version": table.version, **content}, [])


def test_window_is_answered_with_those_rows_only(sent):
    """A page gets the rows it asked for, under the version of the order."""
    table = ScoreTable(Rows(1_000))
    tell(table, {"ask": "rows", "start": 300, "stop": 302})
    assert sent == [
        {
            "tell": "rows",
            "start": 300,
            "version": table.version,
            "rows": [[300, "text 300", 0.3], [301, "text 301", 0.301]],
        }
    ]


@pytest.mark.parametrize(("stop", "rows"), [(1_000, 10), (20, 10), (15, 5), (10, 0), (3, 0)])
def test_window_ends_where_the_rows_end(sent, stop, rows):
    """A window may not reach beyond the last row, nor below its own start."""
    table = ScoreTable(Rows(20))
    tell(table, {"ask": "rows", "start": 10, "stop": stop})
    assert len(sent[0]["rows"]) == rows


def test_no_answer_holds_more_than_a_page_needs(sent):
    """Asked for everything, the table gives a part."""
    table = ScoreTable(Rows(10_000))
    tell(table, {"ask": "rows", "start": 0, "stop": 10_000})
    assert len(sent[0]["rows"]) == MOST_ROWS


def payload(count, sent):
    """Bytes of the first paint, of a page of rows and of a selection."""
    sent.clear()
    table = ScoreTable(Rows(count))
    state = {
        key: value
        for key, value in table.get_state().items()
        if key not in ("_esm", "_css", "layout", "_anywidget_id")
    }
    tell(table, {"ask": "rows", "start": 0, "stop": 100})
    first = len(json.dumps(sent))
    tell(table, {"do": "select", "at": 3})
    return len(json.dumps(state, default=str)), first, len(json.dumps(sent)) - first


def test_payloads_do_not_grow_with_rows(sent):
    """First paint and a click cost the same with 1,000 rows and with 100,000, but for the digits."""
    few, many = payload(1_000, sent), payload(100_000, sent)
    assert all(abs(a - b) < 400 for a, b in zip(few, many, strict=True))


def test_sorting_asks_the_source_and_makes_the_old_order_stale(sent):
    """After a sort nothing is selected, and questions about the old order are not answered."""
    table = ScoreTable(Rows(10))
    tell(table, {"do": "select", "at": 4})
    old = table.version
    tell(table, {"ask": "sort", "key": "score", "descending": True})
    assert (table.order, table.selected, table.version > old) == (
        {"key": "score", "descending": True},
        -1,
        True,
    )
    sent.clear()
    for content in (
        {"ask": "rows", "start": 0, "stop": 3},
        {"do": "select", "at": 2},
        {"ask": "sort", "key": "", "descending": False},
        {"ask": "detail", "at": 2},
        {"ask": "more", "at": 2, "part": "turn-0"},
    ):
        table._handle_custom_msg({**content, "version": old}, [])
    assert sent == []
    assert (table.selected, table.order["key"]) == (-1, "score")
    tell(table, {"ask": "rows", "start": 0, "stop": 2})
    assert [row[0] for row in sent[0]["rows"]] == [9, 8]


def test_selection_is_told_with_its_detail_then_to_callbacks(sent):
    """The page gets the reader's content even where a callback fails afterwards."""
    table, heard = ScoreTable(Rows(10)), []
    table.on_select(heard.append)
    table.on_select(lambda _at: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        table.hear({"do": "select", "at": 4, "version": table.version})
    assert heard == [4]
    assert table.selected == 4
    assert sent == [{"tell": "detail", "at": 4, "version": table.version, "value": {"id": "row 4"}}]


def test_selection_with_a_closed_reader_fetches_no_detail(sent):
    """Moving without reading costs a word."""
    table = ScoreTable(Rows(10))
    tell(table, {"do": "select", "at": 4, "read": False})
    assert sent == [{"tell": "selected", "at": 4, "version": table.version}]


def test_selecting_by_code_is_silent(sent):
    """Setting the attribute selects, but does not call back."""
    table, heard = ScoreTable(Rows(10)), []
    table.on_select(heard.append)
    table.selected = 3
    assert (heard, table.selected) == ([], 3)


def test_detail_that_fails_is_told_to_the_page_and_raised(sent):
    """A row that cannot be read says why in the reader, with hidden characters made visible."""
    table = ScoreTable(Broken(3))
    with pytest.raises(KeyError):
        table.hear({"ask": "detail", "at": 1, "version": table.version})
    assert "KeyError" in sent[0]["problem"]
    assert "\u202e" not in sent[0]["problem"]


def test_more_fetches_a_whole_part(sent):
    """A part that was cut comes whole, under its name."""
    table = ScoreTable(Rows(3))
    tell(table, {"ask": "more", "at": 2, "part": "turn-0"})
    assert sent[0]["value"] == "turn-0 of 2"
    assert (sent[0]["at"], sent[0]["part"]) == (2, "turn-0")


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"ask": "rows"},
        {"ask": "rows", "start": -1, "stop": 3},
        {"ask": "rows", "start": "0", "stop": 3},
        {"ask": "rows", "start": 0, "stop": 1e9},
        {"ask": "rows", "start": 10, "stop": 11},
        {"ask": "rows", "start": True, "stop": 3},
        {"ask": "rows", "start": 99, "stop": 100},
        {"ask": "sort", "key": "nobody"},
        {"ask": "sort", "key": ["id"]},
        {"ask": "sort"},
        {"do": "select", "at": 10},
        {"do": "select", "at": -1},
        {"do": "select"},
        {"ask": "detail", "at": None},
        {"ask": "more", "at": 1, "part": 3},
        {"ask": {"rows": 1}},
        {"ask": "close"},
    ],
)
def test_messages_without_sense_are_ignored(sent, content):
    """A page cannot ask for what is not there, nor disturb what is."""
    table, heard = ScoreTable(Rows(10)), []
    table.on_select(heard.append)
    version = table.version
    tell(table, content)
    assert (sent, heard, table.selected, table.version) == ([], [], -1, version)


@pytest.mark.parametrize("message", [None, "rows", 3, ["ask"]])
def test_messages_that_are_no_dicts_are_ignored(sent, message):
    """What is not even a dict is not looked at."""
    ScoreTable(Rows(3))._handle_custom_msg(message, [])
    assert sent == []


def test_another_source_starts_anew(sent):
    """New rows: natural order, nothing selected, old questions stale, the page told of the new start."""
    table = ScoreTable(Rows(10))
    tell(table, {"ask": "sort", "key": "score", "descending": True})
    tell(table, {"do": "select", "at": 2})
    old, epoch = table.version, table.epoch
    rows = Rows(5)
    rows.sort("score", True)
    table.source = rows
    assert (table.count, table.selected, table.order["key"], rows.order[0]) == (5, -1, "", 0)
    assert (table.version > old, table.epoch > epoch) == (True, True)
    table.source = None
    assert (table.count, table.columns) == (0, [])
    tell(table, {"ask": "rows", "start": 0, "stop": 1})
    assert [told for told in sent if told["version"] == table.version] == []


def test_refresh_keeps_order_and_selection(sent):
    """After a change in the source the rows are fetched anew; the selection stays while its row is there."""
    rows = Rows(10)
    table = ScoreTable(rows)
    tell(table, {"do": "select", "at": 8})
    old, epoch = table.version, table.epoch
    table.refresh()
    assert (table.selected, table.epoch, table.version) == (8, epoch, old + 1)
    rows.order = rows.order[:4]
    table.refresh()
    assert (table.count, table.selected) == (4, 3)


def test_cells_are_safe_whatever_the_source_leaves_in_them(sent):
    """Long texts are cut, hidden characters shown, and numbers that JSON does not know are empty."""

    class Odd(Rows):
        def window(self, start, stop):
            return [
                ["x" * 999, "a\u202eb\nc", float("nan")],
                [{"text": "f\u200b", "kind": "failed"}, {"text": 3, "kind": ["x" * 9_999]}, None],
            ]

    table = ScoreTable(Odd(2))
    tell(table, {"ask": "rows", "start": 0, "stop": 2})
    first, second = sent[0]["rows"]
    assert len(first[0]) < 240
    assert first[1:] == ["a⟨U+202E⟩b c", None]
    assert second == [{"text": "f⟨U+200B⟩", "kind": "failed"}, {"text": "3", "kind": ""}, None]
    assert table.columns[2]["title"] == "sco⟨U+202E⟩re"


def test_table_is_short_and_leaves_nothing_behind():
    """The repr is stable; a closed table has no model left."""
    table = ScoreTable(Rows(1_200))
    assert repr(table) == "ScoreTable(1,200 rows)"
    ids = {table.model_id, table.layout.model_id}
    table.close()
    assert not ids & set(widget._instances)
