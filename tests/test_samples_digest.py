"""Digests of conversations: the same for the same turns and tool calls, whatever stands beside them."""

import workbench as wb
from workbench.samples.digest import digest_of, digests_of

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
