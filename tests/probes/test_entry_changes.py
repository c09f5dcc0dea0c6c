"""Completions whose lines or parts are entries: a hole with its finding, and the same grader repaired."""

from __future__ import annotations

import pytest

from tests.probes.holes import check_hole, probed


def _slots():
    dialogues = [
        ("train to Ely on friday after 9:00", {"to": "ely", "day": "friday", "after": "9:00"}),
        ("hotel in the north, cheap", {"area": "north", "price": "cheap"}),
        ("taxi to the museum at 17:40 for two", {"to": "museum", "at": "17:40", "people": "two"}),
        ("table for four, italian, at 19:15", {"people": "four", "food": "italian", "at": "19:15"}),
        ("train from Cork on monday", {"from": "cork", "day": "monday"}),
    ]
    return [
        {
            "prompt": f"User: {asked}. State every slot once, one a line as slot = value, nothing else.",
            "completion": "\n".join(f"{slot} = {value}" for slot, value in state.items()) if at != 4 else "day = friday",
            "state": state,
        }
        for at, (asked, state) in enumerate(dialogues)
    ]  # fmt: skip


_READS_LINES = """    state = {}
    for line in text.strip().split('\\n'):
        key, mark, value = line.partition(' = ')
        if not mark or key in state:
            return 0.0
        state[key] = value
"""


def _tags():
    allowed = ["python", "pandas", "sql", "docker", "css", "git"]
    chosen = [["python", "pandas"], ["docker", "git"], ["sql", "pandas"], ["css", "git"], ["python", "sql"]]
    return [
        {
            "prompt": f"Tag post {at} with all fitting tags and no others, with commas, from: {', '.join(allowed)}.",
            "completion": ", ".join(tags) if at != 3 else "sql",
            "tags": tags,
            "allowed": allowed,
        }
        for at, tags in enumerate(chosen)
    ]  # fmt: skip


def _talks():
    days = [
        ("09:00 ada 60\n10:00 bob 60\n11:00 cleo 30", {"ada": 60, "bob": 60, "cleo": 30}),
        ("13:00 eva 60\n14:00 finn 30\n14:30 gil 60", {"eva": 60, "finn": 30, "gil": 60}),
        ("08:00 hal 30\n08:30 ina 30\n10:00 jan 30", {"hal": 30, "ina": 30, "jan": 30}),
        ("09:00 kai 60\n09:30 lea 60\n11:00 moe 60", {"kai": 60, "lea": 60, "moe": 60}),
    ]
    return [
        {"prompt": f"Room {at}: {talks}. A start for each talk, without overlaps, one a line, in any order.", "completion": said, "talks": talks}
        for at, (said, talks) in enumerate(days)
    ]  # fmt: skip


_PLANS = """    slots = []
    for line in text.strip().split('\\n'):
        found = re.fullmatch(r'(\\d\\d):(\\d\\d) (\\w+) (\\d+)', line.strip())
        if not found or item['talks'].get(found[3]) != int(found[4]):
            return 0.0
        start = 60 * int(found[1]) + int(found[2])
        slots.append((start, start + int(found[4]), found[3]))
    if sorted(one[2] for one in slots) != sorted(item['talks']):
        return 0.0
    return float(all(a[1] <= b[0] or b[1] <= a[0] for a, b in zip(slots, slots[1:])))
"""


CASES = {
    "line-left-out": (_slots, _READS_LINES + "    return float(all(item['state'].get(key) == value for key, value in state.items()))\n", "all(item['state'].get(key) == value for key, value in state.items())", "state == item['state']"),
    "key-twice": (_slots, _READS_LINES.replace(" or key in state", "") + "    return float(state == item['state'])\n", "if not mark:", "if not mark or key in state:"),
    "entries-of-other-rows": (_tags, "    tags = set(text.strip().split(', '))\n    return float({*item['tags']} <= tags <= {*item['allowed']})\n", "{*item['tags']} <= tags <= {*item['allowed']}", "tags == {*item['tags']}"),
    "rejected-in-another-order": (_talks, _PLANS, "zip(slots, slots[1:])", "((a, b) for at, a in enumerate(slots) for b in slots[at + 1:])"),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
def test_the_hole_is_named_and_the_repaired_grader_is_not_accused(kind):
    rows, source, old, new = CASES[kind]
    check_hole(kind, rows(), source, old, new)


NAMES = [f"{first} {last}" for first, last in [("José", "Marín"), ("Zoë", "Lévy"), ("Jürgen", "Groß"), ("Ana", "Peña"), ("Tom", "Hale")]]  # fmt: skip


def test_accents_as_separate_marks_are_a_question():
    rows = [
        {"prompt": f"Who wrote letter {at}?", "completion": name if at else "Tom Hale", "writer": name}
        for at, name in enumerate(NAMES)
    ]
    source = "    return float(text.strip() == item['writer'])\n"
    probe = probed(source, rows)
    assert "combining-marks" in [one.kind for one in probe.findings]
    assert probe.ok
    repaired = source.replace("text.strip()", "unicodedata.normalize('NFC', text.strip())")
    assert "combining-marks" not in [
        one.kind for one in probed("    import unicodedata\n" + repaired, rows).findings
    ]


def test_lines_that_may_be_left_out_are_no_hole():
    """A prompt that lets some of the lines be enough."""
    rows = [{**row, "prompt": row["prompt"].replace("every slot", "at least one slot")} for row in _slots()]
    _, source, _, _ = CASES["line-left-out"]
    assert "line-left-out" not in [one.kind for one in probed(source, rows).findings]


def test_an_order_that_counts_is_not_changed():
    """Where the accepted lines have one order, a rejected completion in another order may be right."""
    rows = [
        {"prompt": f"The steps of task {at} in their order, one a line.", "completion": "\n".join(said), "steps": steps}
        for at, (said, steps) in enumerate([(["wash", "peel", "cut"], ["wash", "peel", "cut"]), (["boil", "salt", "stir"], ["boil", "salt", "stir"]), (["cut", "mix", "bake"], ["mix", "cut", "bake"])])
    ]  # fmt: skip
    probe = probed("    return float(text.strip().split('\\n') == item['steps'])\n", rows)
    assert "rejected-in-another-order" not in [one.kind for one in probe.findings]
