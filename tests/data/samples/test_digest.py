"""Digests of conversations: the same for the same turns and tool calls, whatever stands beside them."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from workbench.core.errors import SamplesError
from workbench.data.samples.sample import digest_of
from workbench.data.samples.view import digests_of, share_texts

CALL = {"id": "1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
CHAT = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "", "tool_calls": [CALL]}]


def digest(**row):
    """Of a row of its own."""
    return digest_of(wb.Samples([row])[0].thread)


def test_what_is_read_decides():
    """Other turns, roles or tool calls are another text; metadata, references and the order of keys are not."""
    turned = {**CALL, "function": dict(reversed(CALL["function"].items()))}
    assert digest(messages=CHAT) == digest(messages=[CHAT[0], {**CHAT[1], "tool_calls": [turned]}], good=True)
    texts = [
        digest(messages=CHAT), digest(messages=CHAT[:1]), digest(messages=[{**CHAT[0], "role": "system"}]),
        digest(messages=[CHAT[0], {**CHAT[1], "tool_calls": [{**CALL, "id": "2"}]}]),
        digest(prompt="2+2?", completion="4"), digest(prompt="2+2?4", completion=""), digest(prompt="\ud800", completion="é"),
    ]  # fmt: skip
    assert len(set(texts)) == len(texts)
    assert all(len(one) == 16 and int(one, 16) >= 0 for one in texts)


def test_rows_are_digested_as_they_are_read():
    """By place in a view, as single samples are; a row that cannot be read is an empty conversation."""
    rows = [{"id": name, "prompt": "p", "completion": name} for name in "abc"]
    samples = wb.Samples([*rows, {"id": "d", "prompt": "p", "completion": {1: object()}}])
    assert digests_of(samples, [2, 0]) == [digest_of(samples[2].thread), digest_of(samples[0].thread)]
    assert digests_of(samples.take([1]), [0]) == digests_of(samples, [1])
    assert digests_of(samples, [3]) == [digest_of(wb.StringThread())]
    assert digests_of(samples, []) == []


def of_call(arguments, **more):
    """Of a thread that somebody made, which may hold anything."""
    call = {"id": "1", "function": {"name": "f", "arguments": arguments}, **more}
    return digest_of(wb.StringThread.from_messages([{"role": "assistant", "tool_calls": [call]}]))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": np.int64(3), "b": np.float32(0.5)}, {"a": 3, "b": 0.5}),
        (np.arange(3), [0, 1, 2]),
        ((1, "x"), [1, "x"]),
        ({1: "x", "a": 2}, {"a": 2, "1": "x"}),
        ({(1, 2): 3}, {"[1, 2]": 3}),
        ({"a": {"z", "x", "y"}}, {"a": ["x", "y", "z"]}),
        ({"a": 1, "b": None, "c": [{"d": None}]}, {"a": 1, "c": [{}]}),
    ],
)
def test_arguments_are_read_as_samples_read_them(one, other):
    """Arrays, tuples, sets and keys that are no text are what they are in a dataset; a key with nothing is none."""
    assert of_call(one) == of_call(other)
    assert of_call(one) != of_call([other])


def test_no_number_of_a_long_array_is_left_out():
    """Nothing is cut as an array's own text is; bytes count too."""
    long = np.zeros(5_000)
    long[2_500] = 1
    assert of_call(long) != of_call(np.zeros(5_000))
    assert len({of_call(b"x"), of_call(b"y"), of_call("x")}) == 3


def test_what_is_no_data_is_told():
    """An object, whose text is its place in memory, a list that holds itself, two keys of one text."""
    loop = []
    loop.append(loop)
    for odd in (object(), loop, {1: "x", "1": "y"}):
        with pytest.raises(SamplesError, match="a tool call cannot be read\n  found: "):
            of_call(odd)


def test_sets_have_one_digest_in_every_process():
    """Their order differs from one to the next."""
    code = (
        "from workbench.data.samples.sample import digest_of; from workbench import StringThread;"
        "call = {'function': {'arguments': {'x', 'y', 'z', 'w'}}};"
        "print(digest_of(StringThread.from_messages([{'role': 'assistant', 'tool_calls': [call]}])))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, text=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in "12"
    }  # fmt: skip
    assert len(told) == 1


def test_a_file_and_its_parquet_say_the_same(tmp_path):
    """Parquet gives every call the keys of all calls, with nothing in them."""
    more = {"role": "assistant", "content": "", "tool_calls": [{**CALL, "index": 0}]}
    rows = [{"messages": CHAT}, {"messages": CHAT[:1]}, {"messages": [CHAT[0], more]}]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    pd.DataFrame(rows).to_parquet(tmp_path / "r.parquet")
    one, other = (wb.read_samples(tmp_path / name) for name in ("r.jsonl", "r.parquet"))
    assert other[0].thread.tool_calls()[0]["index"] is None
    assert digests_of(one, range(3)) == digests_of(other, range(3))
    assert len(set(digests_of(one, range(3)))) == 3


def test_views_of_one_dataset_share_their_texts():
    """As long as none was rewritten; of two datasets nothing is told."""
    rows = [{"id": name, "prompt": "p", "completion": name} for name in "abc"]
    samples = wb.Samples(rows)
    assert share_texts(samples, samples.take([1, 1]))
    assert not share_texts(samples, samples.rewrite(lambda thread: thread))
    assert not share_texts(samples, wb.Samples(rows))
