"""Shapes of data that people have: API envelopes, Alpaca rows, indexes, numbers with gaps, empty prompts."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from workbench.core.errors import SamplesError, SamplesWarning


def batch(content, *, at=0, status=200, **more):
    """One line of OpenAI's batch output."""
    message = {"role": "assistant", "content": content, "refusal": None}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": message}],
    }
    answer = {"status_code": status, "request_id": "r", "body": body}
    return {"id": f"batch_req_{at}", "custom_id": f"mine-{at}", "response": answer, "error": None, **more}


def lines(tmp_path, rows):
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


class TestEnvelopes:
    @pytest.mark.filterwarnings("ignore:no prompt was found")
    def test_batch_output_is_graded_by_its_message(self, tmp_path):
        """The completion is what the model wrote, the row's name the one its author gave the request."""
        samples = wb.read_samples(lines(tmp_path, [batch("Paris"), batch("Rome", at=1)]))
        assert [sample.thread.completion() for sample in samples] == ["Paris", "Rome"]
        assert list(samples.ids) == ["mine-0", "mine-1"]
        assert wb.Contains(expected="assistant").run(samples, progress=False).scores["contains"].sum() == 0

    def test_tool_calls_and_the_responses_endpoint_are_read(self):
        """A message's calls are the thread's; the `output` of a response is its messages and function calls."""
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        called = batch(None)
        called["response"]["body"]["choices"][0]["message"]["tool_calls"] = [call]
        output = [
            {"type": "reasoning", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Paris"}]},
            {"type": "function_call", "call_id": "d", "name": "g", "arguments": "{}"},
        ]
        answered = batch("", at=1)
        answered["response"]["body"] = {"object": "response", "output": output}
        first, second = wb.Samples([called, answered])
        assert first.thread.tool_calls() == [call]
        assert second.thread.completion() == "Paris"
        assert second.thread.tool_calls()[0]["function"]["name"] == "g"

    def test_a_bare_chat_completion_is_read_too(self):
        """Under any name of the completion's column."""
        body = batch("Paris")["response"]["body"]
        assert wb.Samples([{"completion": body}])[0].thread.completion() == "Paris"
        assert wb.Samples([{"output": body["choices"][0]["message"]}])[0].thread.completion() == "Paris"

    @pytest.mark.filterwarnings("ignore:no prompt was found")
    def test_a_request_that_failed_is_no_completion(self, tmp_path):
        """Its row fails and says why; nothing is graded in its place."""
        limited = batch("", at=1, status=429)
        limited["response"]["body"] = {"error": {"message": "rate limit"}}
        expired = batch("", at=2, response=None, error={"code": "batch_expired", "message": "too late"})
        samples = wb.read_samples(lines(tmp_path, [batch("Paris"), limited, expired]))
        assert "failed with status 429: rate limit" in samples.problems[1]
        assert "without a response: too late" in samples.problems[2]
        report = wb.Contains(expected="").run(samples, progress=False)
        assert list(report.frame["status"]) == ["scored", "failed", "failed"]

    @pytest.mark.parametrize(
        "held",
        [
            {"text": "Paris", "pages": 3},
            {"status_code": 200, "body": {"data": []}},
            {"choices": []},
            {"body": {}, "status_code": 200},
        ],
    )
    def test_an_object_without_a_message_is_refused_by_name(self, held):
        """In a column `response` an object is an API's answer, and no text to be graded."""
        samples = wb.Samples([{"response": "fine"}, {"response": held}])
        assert "column 'response'" in samples.problems[1]
        assert "message" in samples.problems[1]
        with pytest.raises(SamplesError, match="row 0 cannot be read"):
            wb.Samples([{"response": held}])

    @pytest.mark.parametrize(
        "data",
        [
            {"a": 1},
            {"question": "Q?", "choices": ["a", "b"]},
            {"object": "response", "value": 3},
            [{"type": "x"}],
        ],
    )
    def test_data_in_a_completion_column_are_still_written_as_json(self, data):
        """An object that no API wraps round an answer is what the model wrote, a question with choices too."""
        assert wb.Samples([{"completion": data}])[0].thread.completion() == json.dumps(data)

    @pytest.mark.filterwarnings("ignore:no prompt was found")
    def test_batch_output_in_csv_is_read_too(self, tmp_path):
        """Pandas writes its objects as JSON text; a request that failed is no completion there either."""
        rows = [
            batch("Paris"),
            batch("", at=1, status=500),
            batch("", at=2, response=None, error={"message": "late"}),
        ]
        frame = pd.DataFrame(rows)
        for name in ("response", "error"):
            frame[name] = frame[name].map(json.dumps)
        frame.to_csv(tmp_path / "x.csv", index=False)
        samples = wb.read_samples(tmp_path / "x.csv")
        assert samples[0].thread.completion() == "Paris"
        assert "status 500" in samples.problems[1]
        assert "late" in samples.problems[2]

    def test_a_list_of_content_parts_is_a_message(self):
        """As Anthropic's API answers: its text is the completion, its tool calls the thread's."""
        parts = [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "Paris"},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
        ]
        thread = wb.Samples([{"completion": parts}])[0].thread
        assert thread.completion() == "Paris"
        assert thread.tool_calls()[0]["function"] == {"name": "f", "arguments": '{"a": 1}'}


class TestAlpaca:
    ROWS = (
        {"instruction": "Name three colours.", "input": "", "output": "red, green, blue"},
        {"instruction": "Translate.", "input": "Hallo", "output": "Hello"},
        {"instruction": "Count to two.", "input": None, "output": "1, 2"},
    )

    def test_instruction_and_input_are_the_prompt(self):
        """Joined by a blank line where there is an input; every instruction is a prompt of its own."""
        samples = wb.Samples(list(self.ROWS))
        assert samples.columns == {"instruction": "instruction", "prompt": "input", "completion": "output"}
        prompts = [sample.thread.messages()[0].content for sample in samples]
        assert prompts == ["Name three colours.", "Translate.\n\nHallo", "Count to two."]
        assert list(samples.groups) == prompts
        assert samples[1].thread.metadata == {}
        assert not samples.notes

    def test_an_instruction_alone_is_the_prompt(self):
        """As Dolly's rows have it, whose context stays metadata."""
        sample = wb.Samples([{"instruction": "Say hi.", "context": "c", "response": "Hi"}])[0]
        assert sample.thread.get_turns() == [("user", "Say hi."), ("assistant", "Hi")]
        assert sample.thread.metadata == {"context": "c"}

    @pytest.mark.parametrize(
        "row", [{"prompt": "P"}, {"question": "P"}, {"messages": [{"role": "user", "content": "P"}]}]
    )
    def test_beside_another_prompt_an_instruction_is_metadata(self, row):
        """What was a prompt before stays the prompt."""
        thread = wb.Samples([{"instruction": "I", "completion": "c", **row}])[0].thread
        assert thread.messages() == [("user", "P")]
        assert thread.metadata == {"instruction": "I"}

    def test_a_mapping_decides(self):
        """A mapped prompt stands alone, a mapped instruction leads any prompt."""
        row = [{"instruction": "I", "input": "P", "output": "c"}]
        assert wb.Samples(row, columns={"prompt": "input"})[0].thread.messages() == [("user", "P")]
        assert wb.Samples(row, columns={"instruction": None})[0].thread.messages() == [("user", "P")]
        both = wb.Samples(row, columns={"instruction": "instruction", "prompt": "input"})
        assert both[0].thread.messages() == [("user", "I\n\nP")]
        with pytest.raises(SamplesError, match="both messages and instruction"):
            wb.Samples(
                [{"messages": [], "instruction": "I"}],
                columns={"messages": "messages", "instruction": "instruction"},
            )


class TestPromptNotes:
    def test_empty_prompts_are_told_and_share_nothing(self):
        """At reading, in the report and its page; rows without a question are not answers to one prompt."""
        rows = [{"prompt": " ", "completion": str(at)} for at in range(12)]
        with pytest.warns(SamplesWarning, match="all 12 prompts are empty"):
            samples = wb.read_samples(rows)
        assert len(set(samples.groups)) == 12
        report = wb.Length(minimum=1).run(samples, progress=False)
        for text in (str(report), report._repr_html_()):
            assert "all 12 prompts are empty" in text

    @pytest.mark.parametrize("kind", ["csv", "frame"])
    def test_missing_prompts_are_empty_ones(self, kind, tmp_path):
        """An empty cell of a CSV file, and NaN in a DataFrame."""
        frame = pd.DataFrame({"prompt": [None] * 3 + ["Q"], "completion": ["x"] * 4})
        frame.to_csv(tmp_path / "x.csv", index=False)
        with pytest.warns(SamplesWarning, match="3 of 4 prompts are empty"):
            wb.read_samples(tmp_path / "x.csv" if kind == "csv" else frame)

    def test_many_rows_are_told_by_some(self):
        """Not every thread of a large dataset is made for a note, and the note says of how many it speaks."""
        samples = wb.Samples([{"messages": [{"role": "user", "content": "Q"}], "completion": "x"}] * 5_000)
        built = []
        build = samples._table.build
        samples._table.build = lambda rows: built.append(len(rows)) or build(rows)
        assert samples.notes[0].startswith("2,000 rows spread over all 5,000 have the same prompt")
        assert sum(built) == 2_000

    def test_some_empty_prompts_are_counted(self):
        """With the column's name."""
        samples = wb.Samples([{"question": "" if at % 3 else f"q{at}", "completion": "x"} for at in range(9)])
        assert [note.partition(":")[0] for note in samples.notes] == [
            "6 of 9 prompts are empty (column 'question')"
        ]

    @pytest.mark.parametrize(
        "row",
        [
            {"prompt": "Q"},
            {"messages": [{"role": "user", "content": "Q"}]},
            {"instruction": "Q", "input": ""},
        ],
    )
    def test_one_prompt_for_all_rows_is_told(self, row, tmp_path):
        """From ten rows on, unless a column of groups says that it is meant so."""
        rows = [{**row, "completion": str(at)} for at in range(10)]
        with pytest.warns(SamplesWarning, match="all 10 rows have the same prompt, 'Q'"):
            samples = wb.read_samples(lines(tmp_path, rows))
        report = wb.Length(minimum=1).run(samples, progress=False)
        assert "all 10 rows have the same prompt" in report.to_html(tmp_path / "r.html").read_text()
        assert not samples.head(9).notes
        assert not wb.Samples([{**one, "group": "g"} for one in rows]).notes

    def test_other_data_are_read_in_silence(self):
        """Different prompts, and rows without any."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            wb.read_samples([{"prompt": str(at), "completion": "x"} for at in range(20)])
            wb.read_samples([{"completion": "x"}] * 20)


class TestNumbers:
    @pytest.mark.parametrize("kind", ["frame", "parquet", "nullable"])
    def test_a_whole_number_beside_a_gap_stays_whole(self, kind, tmp_path):
        """Pandas reads [3, None] as floats; a reference of 3 must accept "3"."""
        frame = pd.DataFrame({"completion": ["3", "4"], "reference": [3, None]})
        assert frame["reference"].dtype == float
        if kind == "nullable":
            frame["reference"] = frame["reference"].astype("Int64")
        if kind == "parquet":
            frame.to_parquet(tmp_path / "x.parquet")
        samples = wb.read_samples(tmp_path / "x.parquet" if kind == "parquet" else frame)
        assert samples[0].reference == 3
        assert type(samples[0].reference) is int
        assert type(samples[0].thread.metadata["reference"]) is int
        assert samples[1].reference is None
        assert wb.ExactMatch()(samples[0]).score == 1.0

    def test_ids_and_completions_are_whole_too(self):
        """Every column is read so, not the reference alone."""
        frame = pd.DataFrame({"id": [7, None], "completion": [3, None], "n": [1, None]})
        first, second = wb.Samples(frame)
        assert (first.id, first.thread.completion(), first.thread.metadata["n"]) == ("7", "3", 1)
        assert (second.id, second.thread.completion(), second.thread.metadata["n"]) == ("1", None, None)

    @pytest.mark.parametrize(
        "column", [[3.0, 4.0], [3.5, None], [1e300, None], [np.inf, None], [None, None]], ids=str
    )
    def test_floats_stay_floats(self, column):
        """Without a gap, with a fraction, or too large, a float is what somebody wrote."""
        frame = pd.DataFrame({"completion": ["x", "x"], "reference": pd.Series(column, dtype=float)})
        references = wb.Samples(frame).references
        assert [reference for reference in references if reference is not None] == [
            value for value in column if value is not None
        ]
        assert not any(isinstance(reference, int) for reference in references)

    def test_whole_floats_without_a_gap_are_told(self):
        """Rows that were filtered lost the gap that would have told: a note says how to cast them."""
        frame = pd.DataFrame({"completion": ["3", "4", "5"], "reference": [3, None, 5]})
        with pytest.warns(SamplesWarning, match="whole numbers stored as floats, so 3 is compared as '3.0'"):
            wb.read_samples(frame[frame["reference"].notna()])
        for quiet in ([0.0, 1.0, 1.0], [3.5, 1.0, 2.0], [3, 4, 5], ["3", "4", "5"]):
            assert not wb.Samples(frame.assign(reference=quiet)).notes

    def test_a_part_of_the_rows_reads_as_the_whole(self):
        """A view without the gap has the same references."""
        samples = wb.Samples(pd.DataFrame({"completion": ["3", "4"], "reference": [3, None]}))
        assert type(samples.head(1)[0].reference) is int
        assert type(samples.head(1).references[0]) is int


class TestIndex:
    FRAME = pd.DataFrame(
        {"id": ["a", "b"], "reference": ["3", "4"], "completion": ["3", "x"], "task": ["t", "t"]}
    )

    @pytest.mark.parametrize("levels", [["id"], ["id", "reference"], ["task", "id", "reference"]])
    @pytest.mark.filterwarnings("ignore:no prompt was found")
    def test_a_named_index_is_read(self, levels, tmp_path):
        """Ids and references in an index play their parts, as they would in columns, also out of Parquet."""
        frame = self.FRAME.set_index(levels)
        frame.to_parquet(tmp_path / "x.parquet")
        for data in (frame, tmp_path / "x.parquet"):
            samples = wb.read_samples(data)
            assert list(samples.ids) == ["a", "b"]
            assert list(samples.references) == ["3", "4"]
            assert samples[0].thread.metadata["task"] == "t"
        assert frame.index.names == levels

    def test_levels_without_a_name_are_metadata(self):
        """As pandas calls them."""
        frame = self.FRAME.set_index(["task", "id"])
        frame.index.names = [None, "id"]
        sample = wb.Samples(frame)[0]
        assert (sample.id, sample.thread.metadata["level_0"]) == ("a", "t")

    def test_an_index_that_repeats_a_column_is_the_column(self):
        """With other values it is refused, since one of the two would be lost."""
        frame = self.FRAME.set_index("id", drop=False)
        samples = wb.Samples(frame)
        assert list(samples.ids) == ["a", "b"]
        assert len(samples.where("id == 'a'")) == 1
        assert len(samples.where(frame["task"] == "t")) == 2
        counted = self.FRAME.set_axis(pd.RangeIndex(2, name="id"))
        assert list(wb.Samples(counted).ids) == ["a", "b"]
        with pytest.raises(SamplesError, match="same name"):
            wb.Samples(frame.assign(id=["c", "d"]))

    def test_an_index_without_a_name_is_no_column(self):
        """Row numbers and labels that nobody named stay out of the threads."""
        assert wb.Samples(self.FRAME.set_axis([5, 6]))[0].thread.metadata == {"reference": "3", "task": "t"}


def test_an_export_of_messages_is_read_as_texts():
    """One message of each speaker: columns of texts, which are read many times faster; texts that look like messages stay."""
    span = {"context.span_id": "s", "span_kind": "LLM"}
    asked, said = (
        {"message.role": "user", "message.content": "2+2?"},
        {"message.role": "assistant", "message.content": "4"},
    )
    samples = wb.Samples(
        [{**span, "attributes.llm.input_messages": [asked], "attributes.llm.output_messages": [said]}]
    )
    assert samples.frame[["prompt", "completion"]].to_numpy().tolist() == [["2+2?", "4"]]
    text = '[{"role": "assistant", "content": "inner"}]'
    samples = wb.Samples(
        [
            {
                **span,
                "attributes.llm.input_messages": [asked],
                "attributes.llm.output_messages": [{**said, "message.content": text}],
            }
        ]
    )
    assert samples.completions() == [text]
