"""`Samples`: columns to threads, choices of rows, bad cells."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from workbench.core.errors import SamplesError
from workbench.data.row_columns import loaded
from workbench.data.samples import as_samples

CHAT = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]


def unpacked(samples: wb.Samples) -> list[tuple]:
    return [row for batch in samples.packed().batches for row in loaded(batch)]


def turns(samples: wb.Samples, row: int = 0) -> list[tuple[str, str]]:
    return [tuple(turn) for turn in samples[row].thread.get_turns()]


class TestColumns:
    def test_prompt_and_completion_make_a_user_and_an_assistant_turn(self):
        """A prompt and a completion column are the user's and the assistant's turn."""
        samples = wb.Samples([{"prompt": "2+2?", "completion": "4", "expected": "4", "tag": "sum"}])
        sample = samples[0]
        assert turns(samples) == [("user", "2+2?"), ("assistant", "4")]
        assert (sample.id, sample.reference, sample.group) == ("0", "4", "2+2?")
        assert sample.thread.metadata == {"expected": "4", "tag": "sum"}

    @pytest.mark.parametrize("prompt", ["prompt", "input", "question", "user", "Prompt", "QUESTION"])
    @pytest.mark.parametrize("completion", ["completion", "output", "response", "assistant", "Output"])
    def test_every_listed_name_is_recognised(self, prompt, completion):
        """All listed names are recognised, whatever their case."""
        samples = wb.Samples([{prompt: "p", completion: "c"}])
        assert samples.columns == {"prompt": prompt, "completion": completion}
        assert turns(samples) == [("user", "p"), ("assistant", "c")]

    @pytest.mark.parametrize("name", ["reference", "expected", "ground_truth", "label", "answer", "Label"])
    def test_reference_is_in_the_sample_and_in_the_metadata(self, name):
        """A reference is the sample's and stands in the metadata under its column's name."""
        sample = wb.Samples([{"completion": "c", name: "r"}])[0]
        assert sample.reference == "r"
        assert sample.thread.metadata == {name: "r"}

    def test_the_first_listed_name_wins_and_the_other_stays_metadata(self):
        """Of two columns for one role the first listed wins, the other is metadata."""
        samples = wb.Samples([{"question": "q", "prompt": "p", "completion": "c"}])
        assert turns(samples)[0] == ("user", "p")
        assert samples[0].thread.metadata == {"question": "q"}

    def test_an_exact_name_beats_another_case(self):
        """An exact name wins over an earlier listed one in other case."""
        assert wb.Samples([{"Prompt": "no", "input": "yes"}]).columns == {"prompt": "input"}

    def test_mapping_overrides(self):
        """An explicit mapping overrides what would be recognised."""
        samples = wb.Samples(
            [{"prompt": "p", "output": "old", "model_out": "new"}], columns={"completion": "model_out"}
        )
        assert turns(samples)[-1] == ("assistant", "new")
        assert samples[0].thread.metadata == {"output": "old"}

    def test_mapping_to_none_switches_a_role_off(self):
        """None as the column of a role leaves that column to the metadata."""
        sample = wb.Samples([{"prompt": "p", "label": "spam"}], columns={"reference": None})[0]
        assert sample.reference is None
        assert sample.thread.metadata == {"label": "spam"}

    def test_one_column_may_be_prompt_and_group(self):
        """The id and the group may share their column with another role."""
        samples = wb.Samples(
            [{"prompt": "p", "completion": "c"}], columns={"group": "prompt", "id": "completion"}
        )
        assert (samples[0].group, samples[0].id) == ("p", "c")
        assert len(samples[0].thread.get_turns()) == 2

    def test_a_mapped_column_is_not_recognised_again(self):
        """A column the mapping claims is not taken for a second role."""
        samples = wb.Samples([{"prompt": "p", "output": "o"}], columns={"reference": "output"})
        assert turns(samples) == [("user", "p")]

    def test_unknown_role_is_refused_with_a_suggestion(self):
        """A mapping with an unknown role is refused and the closest role offered."""
        with pytest.raises(SamplesError, match="unknown role 'complation'") as caught:
            wb.Samples([{"prompt": "p"}], columns={"complation": "prompt"})
        assert "did you mean 'completion'?" in str(caught.value)

    def test_missing_column_is_refused_with_the_columns_present(self):
        """A mapping with a missing column is refused, offering those present and the closest."""
        with pytest.raises(SamplesError, match="no column 'modelout'") as caught:
            wb.Samples([{"prompt": "p", "model_out": "x"}], columns={"completion": "modelout"})
        assert "columns 'prompt', 'model_out'" in str(caught.value)
        assert "did you mean 'model_out'?" in str(caught.value)

    def test_messages_and_prompt_cannot_both_be_mapped(self):
        """Mapping both messages and prompt is refused; mapping the prompt alone wins over found messages."""
        rows = [{"messages": CHAT, "prompt": "p"}]
        with pytest.raises(SamplesError, match="both messages and prompt"):
            wb.Samples(rows, columns={"messages": "messages", "prompt": "prompt"})
        assert turns(wb.Samples(rows, columns={"prompt": "prompt"})) == [("user", "p")]

    def test_no_usable_column_is_refused(self):
        """A frame without prompt, completion or messages is refused at once."""
        with pytest.raises(SamplesError, match="no column contains") as caught:
            wb.Samples(pd.DataFrame({"a": [1], "b": [2]}))
        assert "columns 'a', 'b'" in str(caught.value)

    def test_several_levels_and_equal_names_are_refused(self):
        """Frames with several column levels, or two columns of one name, are refused."""
        with pytest.raises(SamplesError, match="several levels"):
            wb.Samples(pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])))
        with pytest.raises(SamplesError, match="same name") as caught:
            wb.Samples(pd.DataFrame([[1, 2, 3]], columns=["prompt", "1", 1]))
        assert "'1'" in str(caught.value)

    def test_column_names_that_are_no_text_are_read_as_text(self):
        """A column called 7 is metadata under "7"."""
        assert wb.Samples(pd.DataFrame({"prompt": ["p"], 7: ["x"]}))[0].thread.metadata == {"7": "x"}


class TestTurns:
    def test_messages_end_with_the_completion(self):
        """The last assistant turn of messages is the completion."""
        sample = wb.Samples([{"messages": CHAT}])[0]
        assert sample.thread.completion() == "4"
        assert sample.group == "2+2?"

    @pytest.mark.parametrize("form", [list, tuple, json.dumps, lambda chat: np.array(chat, dtype=object)])
    def test_messages_come_as_list_array_or_json_text(self, form):
        """Messages may be a list, a tuple, an array or JSON text."""
        assert turns(wb.Samples([{"messages": form(CHAT)}])) == [("user", "2+2?"), ("assistant", "4")]

    def test_a_completion_beside_messages_is_appended(self):
        """A completion column beside messages is one assistant turn more."""
        samples = wb.Samples(
            [{"messages": CHAT[:1], "completion": "5"}, {"messages": CHAT, "completion": "5"}]
        )
        assert turns(samples, 0) == [("user", "2+2?"), ("assistant", "5")]
        assert turns(samples, 1) == [("user", "2+2?"), ("assistant", "4"), ("assistant", "5")]

    def test_a_completion_the_messages_end_with_is_not_repeated(self):
        """A completion equal to the closing assistant turn is not said twice."""
        assert len(turns(wb.Samples([{"messages": CHAT, "completion": "4"}]))) == 2

    def test_system_column_leads(self):
        """A system column is the first turn, and tool calls keep their place after it."""
        call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
        chat = [CHAT[0], {"role": "assistant", "content": None, "tool_calls": [call]}]
        sample = wb.Samples([{"system": "Be brief.", "messages": chat}])[0]
        assert sample.thread.get_turns()[0] == ("system", "Be brief.")
        assert sample.thread.tool_calls() == [call]
        assert "Be brief." in sample.group

    @pytest.mark.parametrize("form", [list, json.dumps])
    def test_tools_column_is_the_threads_tools(self, form):
        """A tools column, list or JSON text, becomes the thread's tools and no metadata."""
        tools = [{"type": "function", "function": {"name": "add"}}]
        thread = wb.Samples([{"prompt": "p", "tools": form(tools)}])[0].thread
        assert thread.tools == tools
        assert thread.metadata == {}

    def test_conversational_prompt_and_completion(self):
        """Lists of chat dicts in prompt and completion are turns, and so is a single message."""
        rows = [{"prompt": CHAT[:1], "completion": CHAT[1:]}, {"prompt": CHAT[:1], "completion": CHAT[1]}]
        samples = wb.Samples(rows)
        assert turns(samples, 0) == turns(samples, 1) == [("user", "2+2?"), ("assistant", "4")]
        assert set(samples.groups) == {"2+2?"}

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (4, "4"),
            (4.0, "4.0"),
            (True, "true"),
            (np.int64(4), "4"),
            (np.float32(0.5), "0.5"),
            ({"a": 1}, '{"a": 1}'),
            (["é", None], '["é", null]'),
            (b"caf\xc3\xa9", "café"),
            (pd.Timestamp("2026-01-02 03:04"), "2026-01-02T03:04:00"),
            ("", ""),
            ("\ud800", "\ud800"),
        ],
    )
    def test_completions_that_are_no_text_are_written_out(self, value, text):
        """Numbers, lists, dicts, bytes and dates as completion become text."""
        samples = wb.Samples(pd.DataFrame({"completion": pd.Series([value], dtype=object)}))
        assert samples[0].thread.completion() == text
        assert unpacked(samples)[0][0] == [("assistant", text)]

    @pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT])
    def test_missing_cells(self, nothing):
        """No completion is no assistant turn, no prompt no user turn, missing metadata None."""
        frame = pd.DataFrame(
            {"prompt": ["p", nothing], "completion": [nothing, "c"], "tag": [nothing, "t"]}, dtype=object
        )
        samples = wb.Samples(frame)
        assert turns(samples, 0) == [("user", "p")]
        assert turns(samples, 1) == [("assistant", "c")]
        assert samples[0].thread.completion() is None
        assert samples[0].thread.metadata == {"tag": None}
        assert not samples.problems

    def test_a_completion_of_one_megabyte_survives(self):
        """A megabyte of text comes through whole."""
        text = "é" * 1_000_000
        samples = wb.Samples([{"prompt": "p", "completion": text}])
        assert samples[0].thread.completion() == text
        assert unpacked(samples)[0][0][1][1] == text
        assert len(samples._repr_html_()) < 5_000

    def test_metadata_column_is_merged_under_the_others(self):
        """A metadata dict or its JSON text is merged; a column wins unless it is empty."""
        rows = [
            {"prompt": "p", "metadata": {"a": 1, "b": 2}, "b": 3},
            {"prompt": "p", "metadata": '{"a": 1, "b": 2}', "b": None},
            {"prompt": "p", "metadata": None, "b": 4},
        ]
        samples = wb.Samples(rows)
        assert [s.thread.metadata for s in samples] == [{"a": 1, "b": 3}, {"a": 1, "b": 2}, {"b": 4}]

    def test_categories_and_numbers_become_plain(self):
        """Categorical, integer and date columns reach the thread as plain values."""
        frame = pd.DataFrame(
            {"prompt": pd.Categorical(["p", "q"]), "n": [1, 2], "day": pd.to_datetime(["2026-01-01", None])}
        )
        samples = wb.Samples(frame)
        assert samples[0].thread.metadata == {"n": 1, "day": "2026-01-01"}
        assert samples[1].thread.metadata["day"] is None
        assert turns(samples, 1) == [("user", "q")]

    def test_threads_come_back_as_they_were(self):
        """A list of threads keeps turns, calls, tools and metadata."""
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        chat = [CHAT[0], {"role": "assistant", "content": "", "tool_calls": [call]}]
        first = wb.StringThread.from_messages(chat, {"k": 1}, tools=[{"type": "function"}])
        samples = wb.Samples([first, wb.StringThread([("user", "only")])])
        assert samples[0].thread.to_wire() == first.to_wire()
        assert samples[1].thread.metadata == {}

    def test_a_thread_shares_nothing_with_the_data(self):
        """Changing a thread's metadata changes neither the frame nor the next thread."""
        frame = pd.DataFrame({"prompt": ["p"], "tags": [["a"]]})
        samples = wb.Samples(frame)
        samples[0].thread.metadata["tags"].append("b")
        copied = samples.frame
        copied.loc[0, "prompt"] = "changed"
        frame.loc[0, "prompt"] = "changed"
        assert samples[0].thread.metadata == {"tags": ["a"]}
        assert turns(samples) == [("user", "p")]


class TestIdentity:
    def test_ids_are_made_unique(self):
        """The second row of an id gets #2, never taking a name another row has; no id gives the row number."""
        samples = wb.Samples([{"id": name, "prompt": "p"} for name in ["a", "a", "a#2", "a", 7, None]])
        assert list(samples.ids) == ["a", "a#3", "a#2", "a#4", "7", "5"]
        assert samples.take([3])[0].id == "a#4"

    def test_groups(self):
        """Without a group column the prompt is the group; without a prompt the row stands alone."""
        rows = [
            {"prompt": "p"},
            {"prompt": "p"},
            {"prompt": None, "completion": "c"},
            {"prompt": "q", "group": "g"},
        ]
        assert list(wb.Samples(rows).groups) == ["p", "p", "2", "g"]

    def test_columns_of_values(self):
        """Threads, ids, references and groups are object arrays of one length."""
        samples = wb.Samples([{"prompt": "p", "expected": [1, 2]}, {"prompt": "q", "expected": None}])
        for column in (samples.threads, samples.ids, samples.references, samples.groups):
            assert column.shape == (2,)
            assert column.dtype == object
        assert list(samples.references) == [[1, 2], None]

    def test_a_sample_is_frozen(self):
        """A sample cannot be changed."""
        with pytest.raises(dataclasses.FrozenInstanceError):
            wb.Samples([{"prompt": "p"}])[0].id = "x"

    def test_copies_and_pickles_read_the_same(self):
        """A copied or pickled dataset gives the same threads."""
        samples = wb.Samples([{"prompt": "p", "completion": "c"}])
        for other in (copy.deepcopy(samples), pickle.loads(pickle.dumps(samples))):
            assert unpacked(other) == unpacked(samples)


class TestRows:
    samples = wb.Samples([{"prompt": f"p{i}", "task": "ab"[i % 2], "n": i} for i in range(10)])

    def test_length_index_and_iteration(self):
        """Rows are counted, indexed from both ends and iterated in order."""
        assert len(self.samples) == 10
        assert self.samples[-1].id == "9"
        assert [s.id for s in self.samples] == [str(i) for i in range(10)]
        assert list(self.samples[2:8:3].ids) == ["2", "5"]
        assert list(self.samples[-2:].ids) == ["8", "9"]
        with pytest.raises(IndexError, match="row 10 of 10"):
            self.samples[10]

    def test_head_and_take(self):
        """Head takes the first rows, take any in the order given; row numbers are the original's."""
        assert list(self.samples.head(3).ids) == ["0", "1", "2"]
        assert len(self.samples.head(99)) == 10
        view = self.samples.take([7, 2]).take([1])
        assert list(view.row_numbers) == [2]
        assert view.frame["prompt"].tolist() == ["p2"]
        with pytest.raises(IndexError, match="row 10 of 10"):
            self.samples.take([10])
        with pytest.raises(TypeError, match="where"):
            self.samples.take([True, False])
        with pytest.raises(ValueError, match="0 or more"):
            self.samples.head(-1)

    def test_where_takes_mask_function_and_query(self):
        """A mask, a function of the frame and a pandas query choose the same rows."""
        limit = 6
        by_mask = self.samples.where(self.samples.frame["n"] > 6)
        by_function = self.samples.where(lambda df: df["n"] > 6)
        by_query = self.samples.where("n > @limit")
        assert list(by_mask.ids) == list(by_function.ids) == list(by_query.ids) == ["7", "8", "9"]
        assert list(by_query.where([True, None, np.nan]).ids) == ["7"]
        assert limit == 6

    def test_where_refuses_what_does_not_fit(self):
        """Masks of another length, index or kind and unreadable queries are refused."""
        for mask in ([True], True, None, [1] * 10, pd.Series([True] * 10, index=range(5, 15))):
            with pytest.raises(SamplesError, match="mask"):
                self.samples.where(mask)
        with pytest.raises(SamplesError, match="query cannot be read"):
            self.samples.where("nosuch > 3")

    def test_where_works_with_an_index_of_equal_labels(self):
        """A query chooses by position, even where every row has the same label."""
        frame = pd.DataFrame({"prompt": ["a", "b"]}, index=[0, 0])
        assert list(wb.Samples(frame).where("prompt == 'b'").row_numbers) == [1]

    def test_draw_is_seeded_and_keeps_the_order(self):
        """The same seed draws the same rows, in their order, five by default."""
        first, second = self.samples.draw(seed=3), self.samples.draw(seed=3)
        assert list(first.ids) == list(second.ids)
        assert len(first) == 5
        assert list(first.row_numbers) == sorted(first.row_numbers)
        assert set(self.samples.draw(3, seed=3).ids) <= set(first.ids)
        assert len(self.samples.draw(50)) == 10
        assert len(self.samples.draw(0)) == 0

    def test_draw_by_a_column_shares_fairly(self):
        """A stratified draw gives each stratum its share and no stratum nothing."""
        rows = (
            [{"prompt": "p", "task": "big"}] * 90 + [{"prompt": "p", "task": "small"}] * 9 + [{"prompt": "p"}]
        )
        drawn = wb.Samples(rows).draw(20, seed=1, by="task").frame["task"].value_counts(dropna=False)
        assert drawn["big"] == 17
        assert drawn["small"] == 2
        assert drawn.sum() == 20

    def test_draw_by_the_group_role(self):
        """Without a group column the group role draws one rollout a prompt."""
        samples = wb.Samples([{"prompt": f"p{i % 4}", "completion": str(i)} for i in range(40)])
        assert sorted(samples.draw(4, seed=0, by="group").groups) == ["p0", "p1", "p2", "p3"]
        with pytest.raises(SamplesError, match="no column 'nosuch' to draw by"):
            samples.draw(4, by="nosuch")

    @pytest.mark.parametrize("empty", [pd.DataFrame(), pd.DataFrame({"prompt": [], "task": []}), []])
    def test_empty_data_work_everywhere(self, empty):
        """Nothing fails for want of rows."""
        samples = wb.Samples(empty)
        assert len(samples) == len(list(samples)) == samples.packed().rows == 0
        assert samples.problems == {}
        for view in (samples.draw(), samples.head(), samples.where([]), samples.take([])):
            assert len(view) == 0
        for column in (samples.ids, samples.groups, samples.references, samples.threads, samples.frame):
            assert len(column) == 0
        assert "0 rows" in repr(samples)
        assert "<table" in samples._repr_html_()

    def test_packed_is_made_once_and_a_view_packs_its_own_rows(self):
        """A dataset is encoded once; a view encodes its own rows only."""
        assert self.samples.packed() is self.samples.packed()
        view = self.samples.take([4, 1])
        assert [row[0] for row in unpacked(view)] == [[("user", "p4")], [("user", "p1")]]
        assert self.samples.packed().rows == 10


class TestProblems:
    rows = (
        {"messages": CHAT, "note": "fine"},
        {"messages": '[{"role": "user"', "note": "cut"},
        {"messages": [{"content": "no role"}], "note": "role"},
        {"messages": {"role": "user"}, "note": "no list"},
        {"messages": [{"role": "user", "content": 5}], "note": "number"},
    )

    def test_a_bad_row_costs_itself_only(self):
        """Rows that cannot be read are listed and empty in the packed data; the others are whole."""
        samples = wb.Samples(list(self.rows), source="x.jsonl")
        assert list(samples.problems) == [1, 2, 3, 4]
        assert unpacked(samples)[0][0] == [("user", "2+2?"), ("assistant", "4")]
        assert all(row[:2] == ([], {}) for row in unpacked(samples)[1:])
        assert len(samples.threads[1].get_turns()) == 0
        samples.threads[1].metadata["changed"] = True
        assert samples.threads[2].metadata == {}
        assert "which is not JSON" in samples.problems[1]
        assert "has no role" in samples.problems[2]

    def test_asking_for_a_bad_row_says_what_is_wrong(self):
        """The error names source, row, column, found, expected and the columns there are."""
        samples = wb.Samples(list(self.rows), source="x.jsonl")
        with pytest.raises(SamplesError, match="row 1 cannot be read") as caught:
            samples[1]
        assert caught.value.where == "x.jsonl, row 1, column 'messages'"
        assert "not JSON" in caught.value.found
        assert "chat messages" in caught.value.expected
        assert "'messages', 'note'" in caught.value.hint

    def test_views_number_their_own_problems(self):
        """A view lists problems by its own rows and names the original's."""
        view = wb.Samples(list(self.rows)).take([0, 2])
        assert list(view.problems) == [1]
        assert view.problems[1].startswith("row 2: column 'messages'")

    def test_data_of_bad_rows_only_are_refused(self):
        """A dataset without one readable row is refused at once."""
        with pytest.raises(SamplesError, match="none of the 4 rows can be read"):
            wb.Samples(list(self.rows[1:]))

    def test_objects_without_a_plain_form_are_a_problem_of_their_row(self):
        """A cell that is no data at all is named by its type."""
        samples = wb.Samples(pd.DataFrame({"prompt": ["a", "b"], "thing": [1, object()]}))
        assert "an object of type object" in samples.problems[1]

    @pytest.mark.parametrize(
        ("column", "value"),
        [
            ("metadata", "[1]"),
            ("metadata", '{"cut'),
            ("tools", "{}"),
            ("completion", b"\xff"),
            ("id", object()),
        ],
    )
    def test_other_columns_have_their_faults(self, column, value):
        """Bad metadata, tools, bytes and ids are faults of their row, naming the column."""
        samples = wb.Samples(
            pd.DataFrame({"prompt": ["a", "b"], column: pd.Series([None, value], dtype=object)})
        )
        assert list(samples.problems) == [1]
        assert f"column {column!r}" in samples.problems[1]


class TestDisplay:
    def test_one_line(self):
        """The repr is short and says rows, roles and source."""
        samples = wb.Samples([{"prompt": "p", "completion": "c", "x": 1}], source="a.csv")
        expected = "Samples(1 row, prompt='prompt', completion='completion', 1 metadata column, from 'a.csv')"
        assert repr(samples) == expected

    def test_html_is_escaped_and_cut(self):
        """Markup in cells and headings is text, long cells are cut, lone surrogates do not break the page."""
        rows = [{"prompt": "<script>alert(1)</script>", "<b>": "x" * 300, "s": "\ud800"}] * 7
        html = wb.Samples(rows)._repr_html_()
        assert "<script>" not in html
        assert "<b>" not in html
        assert "&lt;script&gt;" in html
        assert "x" * 200 not in html
        assert "2 more rows" in html
        html.encode()


def test_as_samples_leaves_samples_alone():
    """A dataset stays the object it is; anything else is read."""
    samples = wb.Samples([{"prompt": "p"}])
    assert as_samples(samples) is samples
    assert len(as_samples([{"prompt": "p"}])) == 1
    assert len(as_samples(pd.DataFrame({"prompt": ["p"]}))) == 1


@pytest.mark.parametrize("data", [5, [1], ["text"], [{"prompt": "p"}, None]])
def test_other_things_are_refused(data):
    """What contains no rows is refused by its type."""
    with pytest.raises(SamplesError, match="cannot be read"):
        as_samples(data)


class TestWrongKinds:
    """Arguments of the wrong kind are said to be so in a sentence."""

    samples = wb.Samples([{"prompt": "q", "completion": "a"}])

    @pytest.mark.parametrize("n", ["3", 2.5, True, None])
    def test_a_count_is_a_whole_number(self, n):
        """A draw of text, of a fraction or of a bool is refused."""
        with pytest.raises(TypeError, match="whole number"):
            self.samples.draw(n)

    def test_a_column_is_not_a_row(self):
        """Samples are rows; columns are in the frame."""
        with pytest.raises(TypeError, match="samples.frame"):
            self.samples["prompt"]

    def test_a_mapping_is_a_mapping(self):
        """One column name alone does not say which role it plays."""
        with pytest.raises(SamplesError, match="map each role"):
            wb.read_samples([{"prompt": "q", "completion": "a"}], columns="completion")

    def test_a_folder_is_not_a_file(self, tmp_path):
        """A folder is refused by name."""
        with pytest.raises(SamplesError, match="a folder cannot be read"):
            wb.read_samples(tmp_path)


def test_the_hint_about_a_missing_completion_names_a_free_column():
    """Neither the prompt nor another column that has a role is proposed."""
    with pytest.raises(wb.errors.SamplesError) as raised:
        wb.Contains("a").run([{"prompt": "p", "ok": True, "model_out": "a"}], progress=False)
    assert "columns={'completion': 'model_out'}" in raised.value.hint


def test_a_row_that_a_view_repeats_is_one_prompt():
    """As its group says; rows without a prompt stay apart from each other."""
    samples = wb.Samples([{"completion": "a"}, {"completion": "b"}])
    assert samples.take([0, 0, 1, 0]).group_codes.tolist() == [0, 0, 1, 0]


def test_empty_prompts_are_counted_in_the_view_itself():
    """A view of as many rows as the data has is not the data."""
    samples = wb.Samples(pd.DataFrame({"prompt": ["", "a", "b"], "completion": list("xyz")}))
    assert samples.take([1, 1, 1]).notes == ()
    assert "1 of 3 prompts are empty" in samples.notes[0]


def test_a_column_metadata_of_prose_is_an_ordinary_column():
    """A spreadsheet's remarks under that name fail no row."""
    samples = wb.Samples([{"prompt": "2+2?", "completion": "4", "metadata": "checked by hand"}])
    assert samples[0].thread.metadata == {"metadata": "checked by hand"}


def test_columns_of_texts_are_not_read_cell_by_cell(monkeypatch):
    """A million references take 0.04 s as a column, and 0.4 s one by one; only the first rows are looked at."""
    calls = []
    for name in ("table.reference_of_cell", "written_forms.is_missing"):
        monkeypatch.setattr(f"workbench.data.samples.{name}", lambda *_, **__: calls.append(1))
    texts = [f"text {row}" for row in range(5000)]
    frame = pd.DataFrame({"prompt": texts, "completion": texts, "expected": texts})
    assert wb.Samples(frame).references.tolist() == texts
    assert len(calls) < 5000
