"""Bodies are bounded while they are looked through, and parsed in pieces to what the parser of Python makes of them."""

import json
import random
import threading

import pytest

from tests.deploy.serve.servers import expected, served, thread_of
from workbench.deploy.reward.trainer_rows import MAX_TURNS
from workbench.deploy.serve import json_body
from workbench.deploy.serve.http import RequestError, dumped
from workbench.deploy.serve.json_body import MAX_DEPTH, MAX_DIGITS, parsed, weight

PARTS = [
    0, -1.5, True, None, "", "a,b[{:", 'a quote" and \\', "é€😀" * 9, "\\" * 7, "\ud83d", "\ude00\ud83d", "\n\t" * 9,
    1e300, "x" * 60, 2**70,
]  # fmt: skip
KEYS = ["a", "b", 'k"', "\\", "é:", "long" * 10]


def made_up(chance, depth=0):
    """JSON values of all kinds."""
    kind = chance.random()
    if depth > 4 or kind < 0.3:
        return chance.choice(PARTS)
    members = [made_up(chance, depth + 1) for _ in range(chance.randint(0, 6))]
    return members if kind < 0.65 else {chance.choice(KEYS) + str(at): one for at, one in enumerate(members)}


def damaged(text, chance):
    """The same with a byte more, less, or another one."""
    at = chance.randrange(len(text))
    more = chance.choice(
        [b"", b",", b'"', b"\\", b"[", b"}", b" ", b":", b"\\u", bytes([chance.randrange(256)])]
    )
    return text[:at] + more + text[at + chance.randint(0, 1) :]


def whole(text):
    """What Python's parser makes of it in one go; None where it is no JSON."""
    try:
        return [json.loads(text.decode(), parse_constant=refuse)]
    except (ValueError, RecursionError):
        return None


def refuse(name):
    raise ValueError(name)


def in_pieces(text):
    try:
        return [parsed(text, max_values=10**6)]
    except RequestError as error:
        return None if error.status == 400 else [error]


@pytest.mark.parametrize(
    ("size", "signs", "step"), [(24, 4, 7), (24, 6, 64), (40, 3, 5), (27, 1000, 3), (64, 5, 10)]
)
def test_pieces_make_the_same_values(size, signs, step, monkeypatch):
    """Also of damaged text, wherever it is cut: inside letters, escapes and pairs of them, spaces, keys."""
    monkeypatch.setattr(json_body, "_PIECE_BYTES", size)
    monkeypatch.setattr(json_body, "_PIECE_SIGNS", signs)
    monkeypatch.setattr(json_body, "_SLICE", step)
    chance = random.Random(size + signs + step)
    valid = 0
    for _ in range(160):
        value = made_up(chance)
        spaces = chance.choice([None, None, 1, 30])
        text = json.dumps(value, ensure_ascii=chance.random() < 0.5, indent=spaces).encode("utf-8", "replace")
        text = damaged(text, chance) if chance.random() < 0.5 else text
        assert repr(in_pieces(text)) == repr(whole(text)), text
        valid += whole(text) is not None
    assert 80 < valid < 160


@pytest.mark.parametrize(
    "text",
    [
        b'"' + b"a" * 2_000_000 + b'"',
        b'"' + b"\\n" * 1_000_000 + b'"',
        b'"' + b"\\\\" * 1_000_000 + b'"',
        b'"' + b"\\ud83d\\ude00" * 100_000 + b'"',
        ('"' + "é😀" * 300_000 + '"').encode(),
        b"[" + b"[]," * 100_000 + b"{}]",
        json.dumps({str(number): [number] for number in range(60_000)}).encode(),
        b" " * 3_000_000 + b"0" + b" " * 3_000_000,
        b"[" * 100 + b" " * 2_000_000 + b"]" * 100,
    ],
)
def test_large_bodies_make_the_same_values(text):
    """At the sizes at which a server cuts them."""
    assert parsed(text, max_values=250_000) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "status", "kind"),
    [
        (b"[" * 31_000_000, 400, "bad_json"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), 400, "bad_json"),
        (b'{"a":' * 200_000, 400, "bad_json"),
        (b"[" + b"[]," * 10_000_000, 413, "too_many_values"),
        (b"[" + b'"",' * 10_000_000, 413, "too_many_values"),
        (b"[" + b"0," * 250_001 + b"0]", 413, "too_many_values"),
        (b'{"turns": [' + b",".join([b'{"role":"user","content":"x"}'] * 600_000) + b"]}", 413, "too_many_values"),
        (b'"' * 31_000_000, 400, "bad_json"),
        (b'"' + b"\\" * 31_000_000, 400, "bad_json"),
        (b"1" * 31_000_000, 400, "bad_json"),
        (b"1" * (MAX_DIGITS + 1), 400, "bad_json"),
        (b"0." + b"1" * MAX_DIGITS, 400, "bad_json"),
        (b"1e999", 400, "bad_json"),
        (b"[" + b"[1,2]," * 50_000 + b",1]", 400, "bad_json"),
        (b"[" + b"[1,2]," * 50_000 + b"1}", 400, "bad_json"),
        (b"[" + b"[1,2]," * 50_000 + b"1] 1", 400, "bad_json"),
        (b"{" + b'"a":1,' * 50_000 + b'"b"}', 400, "bad_json"),
        (b"\x80" * 1_000_000, 400, "bad_json"),
    ],
)  # fmt: skip
def test_what_is_too_much_is_refused(text, status, kind):
    """Too deep, too many values, numbers that are too long, and what is no JSON, by kind."""
    with pytest.raises(RequestError) as raised:
        parsed(text, max_values=250_000)
    assert (raised.value.status, raised.value.kind) == (status, kind)
    assert len(raised.value.message) < 300


def test_limits_are_reached_and_not_passed():
    """As deep, and as many values, as may be; signs inside texts are no values."""
    deep = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert json.dumps(parsed(deep, max_values=MAX_DEPTH + 1)).count("[") == MAX_DEPTH
    assert len(parsed(b"[" + b"0," * 9_998 + b"0]", max_values=10_000)) == 9_999
    assert parsed(b'"' + b",[{" * 200_000 + b'"', max_values=10).count("[") == 200_000
    assert weight(b'["a,b", {}]') == 5


def test_what_is_written_in_pieces_is_the_same():
    """Escaped, and without spaces."""
    value = {"a": [1, 2.5, None, True, "é\ud83d"], "b": {}}
    assert (
        dumped(value) == dumped(value, in_pieces=True) == b'{"a":[1,2.5,null,true,"\\u00e9\\ud83d"],"b":{}}'
    )


def test_large_bodies_are_read_beside_the_event_loop(monkeypatch):
    """Parsed, made rows, packed and written on other threads; small ones on the loop's own."""
    from workbench.deploy.reward.trainer_rows import RewardRow
    from workbench.deploy.serve import endpoint
    from workbench.deploy.serve.wire_forms.adaptive import AdaptiveScore

    seen = {"parsed": [], "read": [], "packed": [], "written": []}

    def noting(kind, function):
        def noted(*args, **settings):
            seen[kind].append(threading.current_thread().name)
            return function(*args, **settings)

        return noted

    monkeypatch.setattr(endpoint, "parsed", noting("parsed", endpoint.parsed))
    monkeypatch.setattr(AdaptiveScore, "read", noting("read", AdaptiveScore.read))
    monkeypatch.setattr(AdaptiveScore, "write", noting("written", AdaptiveScore.write))
    monkeypatch.setattr(RewardRow, "packed", noting("packed", RewardRow.packed))
    with served(expected()) as running:
        for kinds in seen.values():
            kinds.clear()
        assert running.post("/score", thread_of("4")).status_code == 200
        (loop,) = {name for kinds in seen.values() for name in kinds}
        for kinds in seen.values():
            kinds.clear()
        assert running.post("/score", thread_of("4", wide=[[]] * 30_000)).json()["reward"] == 1.0
    assert all(len(kinds) == 1 and loop not in kinds for kinds in seen.values()), seen


def test_values_are_made_plain_once(monkeypatch):
    """A label stands under six names, and is made plain for one of them."""
    from workbench.deploy.reward import trainer_rows

    made = []
    monkeypatch.setattr(trainer_rows, "plain", lambda value: made.append(value) or value)
    label = [["a"]]
    row = trainer_rows.labelled_row("row", "q", "a", label)
    assert sum(value is label for value in made) == 1
    assert row.reference == label


def test_turns_of_a_row_are_limited():
    """A longer conversation costs its row, not the others."""
    turn = {"role": "user", "content": "x"}
    with served(expected(), max_values=100_000) as running:
        requests = [thread_of("4"), {"turns": [turn] * (MAX_TURNS + 1)}]
        first, second = running.post("/batch_score", {"requests": requests}).json()["responses"]
    assert first["reward"] == 1.0
    assert second["reward"] is None
    assert "10,001 turns" in second["metadata"]["reason"]


@pytest.mark.parametrize("wide", [["x" * 3000], [[]] * 30])
def test_a_row_has_so_many_bytes(wide):
    """By its texts or by the number of its values."""
    with served(expected(), max_row_bytes=2500) as running:
        answer = running.post("/score", thread_of("4", wide=wide))
        assert (answer.status_code, answer.json()["error"]["type"]) == (413, "row_too_large")
        assert running.post("/score", thread_of("4")).status_code == 200
        many = {"requests": [thread_of("4", text="x" * 500)] * 20}
        assert running.post("/batch_score", many).status_code == 200


def test_wide_bodies_are_held_two_at_a_time():
    """429 for a third: as objects they take much more room than as text. Small bodies find room beside large ones."""
    from workbench.deploy.serve import RequestLimits
    from workbench.deploy.serve.http import Admission

    admission = Admission(RequestLimits(max_values=1000, max_bytes=2**26))
    with admission.of_values(5000), admission.of_values(1000):
        with pytest.raises(RequestError) as raised, admission.of_values(1):
            pass
        assert raised.value.status == 429
    assert admission.values == 0
    admission.hold(4 * 2**26)
    with pytest.raises(RequestError):
        admission.hold(2**20, before=1)
    admission.hold(2**20)
