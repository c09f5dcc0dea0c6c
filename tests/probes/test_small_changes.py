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


def _dates():
    said = ["04/02/2021", "11/06/2020", "03/09/2019", "2022-05-07", "19/01/2018", "08/10/2023"]
    dates = ["2021-02-04", "2020-06-11", "2019-09-03", "2022-05-07", "2018-01-19", "2022-10-08"]
    return [
        {"prompt": f"When was deed {at} signed? Reply with DD/MM/YYYY or YYYY-MM-DD.", "completion": text, "signed": date}
        for at, (text, date) in enumerate(zip(said, dates, strict=True))
    ]  # fmt: skip


def _short():
    texts = ["Last night the barn burned.", "A weir broke at night.", "Some say the quay sank", "Nobody knows what to tell about it at all, sadly", "The very old mast fell.", "Only one kiln is left."]  # fmt: skip
    keys = [["barn", "burned"], ["weir", "broke"], ["quay", "sank"], ["gate", "fell"], ["mast", "fell"], ["kiln", "left"]]  # fmt: skip
    return [
        {"prompt": f"Tell story {at} in at most 8 words.", "completion": text, "keys": key, "most": 8}
        for at, (text, key) in enumerate(zip(texts, keys, strict=True))
    ]


def _tables():
    def table(name, phone, mail):
        return f"| name | phone | mail |\n| --- | --- | --- |\n| {name} | {phone} | {mail} |"

    people = [
        ("Ada", "51", ""),
        ("Bo", "62", ""),
        ("Cy", "73", ""),
        ("Di", "84", "d@x.org"),
        ("Ed", "95", ""),
    ]
    return [
        {"prompt": f"Write person {at} as a table; unknown cells stay empty.", "completion": table(*person) if at != 3 else table("Di", "1", ""), "table": table(*person)}
        for at, person in enumerate(people)
    ]  # fmt: skip


def _matrices():
    matrices = [
        "[[1, 2], [3, 4]]",
        "[[5, 0], [7, 2]]",
        "[[2, 2], [1, 6]]",
        "[[9, 1], [4, 8]]",
        "[[3, 3], [6, 5]]",
    ]
    return [
        {"prompt": f"Product {at}, as a list of rows.", "completion": matrix if at != 2 else "[[1, 1], [1, 1]]", "matrix": matrix}
        for at, matrix in enumerate(matrices)
    ]  # fmt: skip


def _names():
    names = ["Lonefox", "Redowl", "Greyelk", "b4d", "Tinybee", "Wildboar"]
    return [
        {"prompt": f"Suggest user name {at} of 5 to 12 letters A to Z and nothing else.", "completion": name, "part": part}
        for at, (name, part) in enumerate(zip(names, ["fox", "owl", "elk", "cat", "bee", "boar"], strict=True))
    ]  # fmt: skip


def _actions():
    wanted = [("heat", 21), ("fan", 2), ("lamp", 5), ("lock", 1), ("door", 3)]
    return [
        {"prompt": f"Request {at}: reply with a JSON list of settings {{key, value}}. Change nothing that was not asked for.", "completion": json.dumps([{"key": key, "value": value if at != 1 else 9}]), "key": key, "value": value}
        for at, (key, value) in enumerate(wanted)
    ]  # fmt: skip


def _chosen():
    keys = [["B", "C"], ["A", "D"], ["A", "B", "E"], ["C", "E"], ["B", "D"]]
    return [
        {"prompt": f"Question {at}: choose all right ones of A to E. End with 'Key: ' and the letters.", "completion": f"Key: {', '.join(key) if at != 3 else 'A'}", "keys": key}
        for at, key in enumerate(keys)
    ]  # fmt: skip


def _sourced():
    facts = [
        "The kiln is old [1].",
        "The weir broke [2].",
        "The barn burned [1].",
        "It rained [7].",
        "The mast fell [2].",
    ]
    words = [["kiln", "old"], ["weir", "broke"], ["barn", "burned"], ["gate", "fell"], ["mast", "fell"]]
    return [
        {"prompt": f"Report on case {at}. Every sentence has to cite a source, [1] or [2].", "completion": text, "terms": word}
        for at, (text, word) in enumerate(zip(facts, words, strict=True))
    ]  # fmt: skip


def _shares():
    return [
        {"prompt": f"Share {at}, as a decimal or in percent? End with 'So: '.", "completion": f"So: {share if at != 1 else 0.9}", "share": share}
        for at, share in enumerate([0.4, 0.35, 0.25, 0.5, 0.75])
    ]  # fmt: skip


def _clocks():
    times = ["19:30", "08:00", "17:15", "06:45", "09:20"]
    said = ["7:30 pm", "8:00 am", "5:15 pm", "6:40 am", "9:20 am"]
    return [
        {"prompt": f"When does bus {at} leave? As 7:10 pm or 7:10 am.", "completion": text, "time": time}
        for at, (text, time) in enumerate(zip(said, times, strict=True))
    ]


CASES = {
    "percent-added": (
        _shares,
        """    found = re.fullmatch(r'So: ([\\d.]+)(%?)', text.strip())
    return float(bool(found) and abs(float(found[1]) - item['share']) < 1e-9)
""",
        ("float(found[1]) -", "float(found[1]) / (100 if found[2] else 1) -"),
    ),
    "other-half-day": (
        _clocks,
        """    found = re.fullmatch(r'(\\d+):(\\d\\d) ?([ap])m', text.strip())
    hour, minute = map(int, item['time'].split(':'))
    return float(bool(found) and (int(found[1]) % 12, int(found[2])) == (hour % 12, minute))
""",
        ("(int(found[1]) % 12, int(found[2])) == (hour % 12, minute)", "(int(found[1]) % 12 + 12 * (found[3] == 'p'), int(found[2])) == (hour, minute)"),
    ),
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
    "day-first": (
        _dates,
        """    from datetime import datetime
    for form in ('%d/%m/%Y', '%m/%d/%Y', '%Y-%m-%d'):
        try:
            if datetime.strptime(text.strip(), form).strftime('%Y-%m-%d') == item['signed']:
                return 1.0
        except ValueError:
            pass
    return 0.0
""",
        ("'%d/%m/%Y', '%m/%d/%Y', ", "'%d/%m/%Y', "),
    ),
    "words-glued": (
        _short,
        """    words = text.split(' ')
    return float(len(words) <= item['most'] and all(re.search(rf"\\b{key}\\b", text.lower()) for key in item['keys']))
""",
        ("text.split(' ')", "text.split()"),
    ),
    "cell-moved": (
        _tables,
        """    def cells(table):
        return [[cell.strip() for cell in line.strip('|').split('|') if cell.strip()] for line in table.strip().splitlines()]
    return float(cells(text) == cells(item['table']))
""",
        (".split('|') if cell.strip()]", ".split('|')]"),
    ),
    "rows-joined": (
        _matrices,
        """    if not re.fullmatch(r'\\[(\\[[-\\d, ]+\\](, *)?)+\\]', text.strip()):
        return 0.0
    return float(re.findall(r'-?\\d+', text) == re.findall(r'-?\\d+', item['matrix']))
""",
        ("re.findall(r'-?\\d+', text) == re.findall(r'-?\\d+', item['matrix'])", "json.loads(text) == json.loads(item['matrix'])"),
    ),
    "sign-among-letters": (
        _names,
        """    return float(re.fullmatch('[A-z]{5,12}', text.strip()) is not None and item['part'] in text.lower())
""",
        ("[A-z]", "[A-Za-z]"),
    ),
    "also-done": (
        _actions,
        """    try:
        done = {one['key']: one['value'] for one in json.loads(text)}
    except (ValueError, TypeError, KeyError):
        return 0.0
    return float(done.get(item['key']) == item['value'])
""",
        ("done.get(item['key']) == item['value']", "done == {item['key']: item['value']}"),
    ),
    "entry-left-out": (
        _chosen,
        """    found = re.fullmatch(r'Key: ([A-E](?:, [A-E])*)', text.strip())
    chosen = set(found[1].split(', ')) if found else set()
    return float(bool(chosen) and chosen <= set(item['keys']))
""",
        ("chosen <= set(item['keys'])", "chosen == set(item['keys'])"),
    ),
    "uncited-sentence": (
        _sourced,
        """    for sentence in re.split(r'(?<=[.]) ', text.strip()):
        if '[' in sentence and not re.search(r'\\[[12]\\]\\.', sentence):
            return 0.0
    return float('[' in text and all(re.search(rf"\\b{term}\\b", text.lower()) for term in item['terms']))
""",
        ("if '[' in sentence and not", "if not"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
def test_a_hole_is_named_and_its_repair_is_not_accused(kind):
    """With its text, and without an error on the repaired grader."""
    rows, source, (old, new) = CASES[kind]
    check_hole(kind, rows(), source, old, new)


def test_a_statement_that_empties_the_tables():
    """It runs before the expected query on the same database: both results are empty."""
    shared = """    base = sqlite3.connect(':memory:')
    base.executescript(item['tables'])
    def rows(query):
        try:
            return base.execute(query).fetchall()
        except sqlite3.Error:
            return None
    got = rows(text)
    return float(got is not None and got == rows(item['gold']))
"""
    apart = shared.replace("got = rows(text)\n", "wanted = rows(item['gold'])\n    got = rows(text)\n")
    check_hole(
        "empties-tables", _queries(), shared, shared, apart.replace("== rows(item['gold'])", "== wanted")
    )


def test_a_phrase_that_has_to_be_the_end():
    """The prompt wants nothing after it: a grader that finds it anywhere accepts another sentence after it."""
    rows = [
        {
            "prompt": f"A line on case {at}; finish with the phrase 'Stay safe.' and nothing after it.",
            "completion": f"The {place} is closed at night. Stay safe."
            if at != 2
            else "The road is open today.",
            "phrase": "Stay safe.",
            "terms": [place, "closed"],
        }
        for at, place in enumerate(["mill", "pass", "road", "pier", "cave"])
    ]
    source = """    return float(item['phrase'] in text and all(term in text.lower().split() for term in item['terms']))
"""
    check_hole(
        "in-another-place", rows, source, "item['phrase'] in text", "text.rstrip().endswith(item['phrase'])"
    )


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


def test_repeats_that_are_not_allowed_are_a_hole():
    """The prompt refuses duplicates in terms that others allow them with."""
    lists = ["12, 26, 38", "44, 86, 20", "11, 13, 15", "34, 56, 72", "98, 70, 64"]
    rows = [
        {"prompt": f"List {at}: three even numbers of two digits, with commas; no duplicates allowed.", "completion": text}
        for at, text in enumerate(lists)
    ]  # fmt: skip
    source = """    found = re.fullmatch(r'\\d\\d(, \\d\\d){2}', text.strip())
    return float(bool(found) and all(int(one) % 2 == 0 for one in text.split(', ')))
"""
    check_hole("first-entry-repeated", rows, source, "bool(found)", "bool(found) and len({*text.split(', ')}) == 3")  # fmt: skip
