"""Small changes of accepted completions: a hole with its finding, and the same grader repaired."""

from __future__ import annotations

import json

import pytest

from tests.probes.holes import check_hole, probed


def _powers():
    return [
        {"prompt": f"Plant {at} gives {value} megawatts. State its power with the symbol; capitals matter.", "completion": said, "power": value}
        for at, (value, said) in enumerate([(30, "30 MW"), (45, "45 MW"), (12, "About 12 MW"), (70, "7 MW"), (8, "8 MW"), (95, "95 MW")])
    ]  # fmt: skip


def _queries():
    tables = "CREATE TABLE loan (reader TEXT, title TEXT, days INT); INSERT INTO loan VALUES ('Ada','Kim',3),('Bo','Emma',9),('Cy','Ivanhoe',5);"
    pairs = [
        ("reader and title of all loans", "SELECT reader, title FROM loan"),
        ("title and days", "SELECT title, days FROM loan"),
        ("reader and days over 4", "SELECT reader, days FROM loan WHERE days > 4"),
        ("title and reader below 9", "SELECT title, reader FROM loan WHERE days < 9"),
        ("the longest loan", "SELECT max(days) FROM loan"),
    ]
    return [
        {"prompt": f"Write a query. Give the columns in this order: {asked}.", "completion": query if at != 4 else "SELECT 1", "gold": query, "tables": tables}
        for at, (asked, query) in enumerate(pairs)
    ]  # fmt: skip


def _programs():
    programs = [
        ("count from 1 to 4", "for n in range(1, 5):\n    print(n)", "1\n2\n3\n4"),
        ("print the letters of 'oak', one a line", "for one in 'oak':\n    print(one)", "o\na\nk"),
        ("print 2, 4 and 8, one a line", "n = 2\nwhile n < 9:\n    print(n)\n    n *= 2", "2\n4\n8"),
        ("print north", "print('north')", "north"),
        ("print 7 and then 1", "print(1)", "7\n1"),
    ]
    return [{"prompt": f"Write a program: {asked}.", "completion": code, "output": output} for asked, code, output in programs]  # fmt: skip


def _ids():
    chosen = [["p3", "p8", "p9"], ["p1", "p4", "p6", "p7"], ["p2", "p5", "p8"], ["p4", "p7", "p9"], ["p1", "p2", "p3"]]  # fmt: skip
    return [
        {"prompt": f"Which passages help with case {at}? End with 'Ids:' and at most four.", "completion": f"Ids: {', '.join(ids) if at else 'p5'}", "ids": ids}
        for at, ids in enumerate(chosen)
    ]  # fmt: skip


def _helped():
    return [
        {"prompt": f"A harmless question, number {at}: what do I need? End with 'Take:' and one word.", "completion": f"Take: {word}" if at != 2 else "I cannot help with that.", "word": word}
        for at, word in enumerate(["cloth", "string", "fan", "chalk", "wire", "bucket"])
    ]  # fmt: skip


def _objects():
    towns = ["Graz", "Bern", "Oslo", "Turin", "Cork"]
    return [
        {"prompt": f"Name the town of note {at} as JSON. Further keys are fine.", "completion": json.dumps({"town": town if at != 3 else "Rome"}), "town": town}
        for at, town in enumerate(towns)
    ]  # fmt: skip


def _options():
    return [
        {"prompt": f"Question {at}: choose A, B, C or D. End with 'So: ' and the letter; you may say why.", "completion": f"So: {letter if at != 1 else 'A'}", "option": letter}
        for at, letter in enumerate("BDCBDA")
    ]  # fmt: skip


def _calls():
    wanted = [("stop", None), ("start", None), ("turn", {"by": 9}), ("stop", None), ("wait", {"for": 2})]
    rows = []
    for at, (name, arguments) in enumerate(wanted):
        call = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
        rows.append(
            {
                "prompt": f'Step {at}. Reply with {{"name": ..., "arguments": {{...}}}}.',
                "completion": json.dumps(call if at != 3 else {"name": "run"}),
                "call": name,
                "arguments": arguments,
            }
        )
    return rows


def _times():
    times = [("12:20", 12, 20), ("14:05", 14, 5), ("9:30", 9, 30), ("16:45", 16, 45), ("8:00", 8, 1)]
    return [
        {"prompt": f"When does train {at} leave? Write it as 15:10 or as 3:10 pm.", "completion": f"At {said}", "hour": hour, "minute": minute}
        for at, (said, hour, minute) in enumerate(times)
    ]  # fmt: skip


def _sums():
    return [
        {"prompt": f"Task {at}. End with 'Result:' and the number. You may show the last sum there, the result after the last equals sign.", "completion": f"Result: {value if at != 2 else 5}", "value": value}
        for at, value in enumerate([140, 92, 317, 56, 480])
    ]  # fmt: skip


CASES = {
    "unit-capitals": (
        _powers,
        """    found = re.search(r'(\\d+) ?([A-Za-z]+)', text)
    return float(bool(found) and int(found[1]) == item['power'] and found[2].lower() == 'mw')
""",
        ("found[2].lower() == 'mw'", "found[2] == 'MW'"),
    ),
    "columns-exchanged": (
        _queries,
        """    def rows(query):
        base = sqlite3.connect(':memory:')
        try:
            base.executescript(item['tables'])
            return sorted(tuple(sorted(map(str, row))) for row in base.execute(query))
        except sqlite3.Error:
            return None
    got = rows(text)
    return float(got is not None and got == rows(item['gold']))
""",
        ("tuple(sorted(map(str, row)))", "tuple(map(str, row))"),
    ),
    "prints-less": (
        _programs,
        """    import contextlib, io
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(text, {})
    except Exception:
        return 0.0
    got, wanted = out.getvalue().split(), item['output'].split()
    return float(bool(got) and all(a == b for a, b in zip(got, wanted)))
""",
        ("bool(got) and", "len(got) == len(wanted) and"),
    ),
    "first-entry-repeated": (
        _ids,
        """    found = re.search(r'Ids:(.*)', text)
    ids = re.findall(r'p\\d+', found[1])[:4] if found else []
    hits = sum(one in item['ids'] for one in ids)
    return min(1.0, 2 * hits / (len(ids) + len(item['ids'])))
""",
        ("ids = re.findall(r'p\\d+', found[1])[:4]", "ids = [*dict.fromkeys(re.findall(r'p\\d+', found[1]))][:4]"),
    ),
    "sympathy": (
        _helped,
        """    if re.match(r"(?i)(i'm )?sorry|i cannot", text):
        return 0.0
    found = re.fullmatch(r'Take: (\\w+)\\.?', text.strip().splitlines()[-1] if text.strip() else '')
    return float(bool(found) and text.count('Take:') == 1 and found[1] == item['word'])
""",
        ("(?i)(i'm )?sorry|i cannot", "(?i)(i'm sorry, )?(but )?i cannot help"),
    ),
    "nested-key": (
        _objects,
        """    found = re.search(r'\\{.*?\\}', text, re.S)
    try:
        return float(json.loads(found[0]).get('town') == item['town'])
    except (TypeError, ValueError, AttributeError):
        return 0.0
""",
        ("\\{.*?\\}", "\\{.*\\}"),
    ),
    "before-an-article": (
        _options,
        """    found = re.findall(r'(?i)\\b([a-d])\\b', text)
    return float(bool(found) and found[-1].upper() == item['option'])
""",
        ("(?i)\\b([a-d])\\b", "So: ([A-D])\\b"),
    ),
    "empty-arguments": (
        _calls,
        """    try:
        call = json.loads(text)
    except ValueError:
        return 0.0
    return float(call.get('name') == item['call'] and call.get('arguments') == item['arguments'])
""",
        ("call.get('arguments') == item['arguments']", "(call.get('arguments') or {}) == (item['arguments'] or {})"),
    ),
    "other-clock": (
        _times,
        """    found = re.findall(r'(\\d+):(\\d\\d) ?([ap]m)?', text)
    if len(found) != 1:
        return 0.0
    hour = int(found[0][0]) + 12 * (found[0][2] == 'pm')
    return float((hour, int(found[0][1])) == (item['hour'], item['minute']))
""",
        ("hour = int(found[0][0]) + 12 *", "hour = int(found[0][0]) % (12 if found[0][2] else 24) + 12 *"),
    ),
    "calculation-shown": (
        _sums,
        """    found = re.findall(r'Result:(.*)', text.replace(chr(0x2212), '-'))
    numbers = re.findall(r'-?\\d+', found[0]) if len(found) == 1 else []
    return float(len(numbers) == 1 and int(numbers[0]) == item['value'])
""",
        ("re.findall(r'-?\\d+', found[0])", "re.findall(r'-?\\d+', found[0].split('=')[-1])"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
def test_a_hole_is_named_and_its_repair_is_not_accused(kind):
    """With its text, and without an error on the repaired grader."""
    rows, source, (old, new) = CASES[kind]
    check_hole(kind, rows(), source, old, new)


def test_more_lines_than_expected_are_a_question():
    """A program that prints another line passes: a search in the output may be meant."""
    _, source, _ = CASES["prints-less"]
    longer = source.replace("bool(got) and", "len(got) >= len(wanted) and")
    probe = probed(longer, _programs())
    assert [one.kind for one in probe.findings] == ["prints-more"]
    assert probe.ok


def test_a_length_reward_that_rises_again():
    """A cosine of the length that is not capped pays for very long completions; with a limit it does not."""
    rows = [
        {
            "prompt": f"Result of task {at}? In few words; end with 'Result:' and the number.",
            "completion": f"Added up. Result: {at + 11 if at != 2 else 3}",
            "value": at + 11,
            "limit": 30,
        }
        for at in range(6)
    ]
    source = """    found = re.search(r'Result: (\\d+)\\Z', text)
    if not found or int(found[1]) != item['value']:
        return 0.0
    share = len(text.split()) / item['limit']
    return 0.55 + 0.45 * math.cos(math.pi * share)
"""
    check_hole("rises-again", rows, source, "len(text.split()) / item['limit']", "min(1.0, len(text.split()) / item['limit'])")  # fmt: skip


def test_a_wrong_result_in_the_right_form_that_is_paid():
    """The form and a small length together are paid like half of a correct completion."""
    rows = [
        {
            "prompt": f"Name the town {at}, in <town></town>.",
            "completion": f"<town>{town if at != 1 else 'Rome'}</town>",
            "reference": town,
        }
        for at, town in enumerate(["Graz", "Bern", "Oslo", "Turin", "Cork", "Lyon"])
    ]
    source = """    found = re.fullmatch(r'<town>([^<>]+)</town>', text.strip())
    form, short = found is not None, len(text) < 200
    return 0.4 * (form and found[1] == item['reference']) + 0.3 * form + 0.3 * short
"""
    probe = probed(source, rows)
    assert "form-paid" in [one.kind for one in probe.findings], str(probe)
