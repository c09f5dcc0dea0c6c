"""Values that a row states, changed where a control shows that they are compared: a hole with its finding, and the same grader repaired."""

from __future__ import annotations

import json
import re

import pytest

import workbench as wb
from tests.probes.holes import check_hole, probed

_SUITES = {
    "north": ("wool", 4),
    "south": ("silk", 9),
    "east": ("felt", 7),
    "west": ("hemp", 2),
    "hill": ("flax", 6),
}


def _orders():
    rows = []
    for at, (shop, (cloth, pieces)) in enumerate(_SUITES.items()):
        order = {"shop": shop, "cloth": cloth, "pieces": pieces, "marks": [cloth[0], shop[0]]}
        wrong = {**order, "marks": ["q"]}
        prompt = f"Order {pieces} pieces of {cloth} for the {shop} shop. Reply with JSON: shop, cloth, pieces, marks."
        rows.append({"prompt": prompt, "completion": json.dumps(wrong if at == 3 else order), "order": order})
    return rows * 2


def _estimates():
    sizes = [4210, 870, 1530, 66, 98, 7400, 312, 45]
    return [
        {
            "prompt": f"How many seats has hall {at}? 4 % off is still right. End with 'Total: ' and the number.",
            "completion": f"Counted. Total: {size if at % 4 else size * 3}",
            "seats": size,
        }
        for at, size in enumerate(sizes)
    ]


def _cited():
    facts = [
        "The kiln is old",
        "The weir broke",
        "The barn burned",
        "The quay sank",
        "The mast fell",
        "The gate jams",
    ]
    return [
        {
            "prompt": f"Answer with a citation. [1] {fact}. [2] It rained.\nWhat happened?",
            "completion": f"{fact} [1]." if at != 2 else f"{fact} [2].",
            "word": fact.split()[1].lower(),
            "sources": [fact, "It rained"],
        }
        for at, fact in enumerate(facts)
    ]


def _ratings():
    return [
        {
            "prompt": f"Rate each of the three, 0 to 9. The best for job {at} is decided by its number.",
            "completion": "x = 8, y = 3, z = 1"
            if best == "x"
            else "x = 2, y = 9, z = 4"
            if best == "y"
            else "x = 1, y = 0, z = 7",
            "best": best,
            "rest": [one for one in "xyz" if one != best],
        }
        for at, best in enumerate("xyzzyxxy")
    ]


def _switches():
    wishes = [
        ["lamp", "lamp"],
        ["fan", "door"],
        ["door"],
        ["lamp", "fan"],
        ["fan", "fan"],
        ["bell", "door"],
        ["bell", "lamp"],
    ]
    return [
        {
            "prompt": f"Write the switches to press, one a line, each as often as it is wished. Wish {at}: {' and '.join(wish)}",
            "completion": "\n".join(reversed(wish)) if at != 2 else "bell",
            "presses": wish,
        }
        for at, wish in enumerate(wishes)
    ]


def _queries():
    table = "CREATE TABLE t (name TEXT, age INT); INSERT INTO t VALUES ('Ada', 3), ('Bo', 9), ('Cy', 5);"
    pairs = [
        ("names by age, oldest first", "select name from t order by age desc"),
        ("names from A to Z", "SELECT name FROM t ORDER BY name"),
        ("ages, lowest first", "select age from t order by age"),
        ("ages in descending order", "SELECT age FROM t ORDER BY age DESC"),
        ("how many are there", "SELECT count(*) FROM t"),
        ("names from Z to A, in reverse order", "select name from t order by name desc"),
        ("names by age, youngest first", "SELECT name FROM t ORDER BY age"),
        ("who is 9", "SELECT name FROM t WHERE age = 9"),
    ]
    return [
        {
            "prompt": f"Write one SQLite query on t(name, age): {task}",
            "completion": query if at != 4 else "SELECT 1",
            "reference": query,
            "tables": table,
        }
        for at, (task, query) in enumerate(pairs)
    ]


def _calls():
    return [
        {
            "prompt": f"What does it return? End with 'Value: '.\ndef f(a):\n    return {body}\nf({argument!r})",
            "completion": f"Value: {value!r}",
            "code": f"def f(a):\n    return {body}\n",
            "call": f"f({argument!r})",
        }
        for body, argument, value in (
            ("a[::-1]", "reed", "deer"), ("a + a", [1, 2], [1, 2, 1, 2]), ("len(a)", "moss", 5), ("a.upper()", "fern", "FERN"),
            ("a[0]", "pond", "p"), ("sorted(a)", [3, 1], [1, 3]),
        )
    ]  # fmt: skip


def _rules():
    tasks = [
        (
            "Say 'reed'. Do not end with a question mark.",
            "The reed bends.",
            [{"rule": "has", "text": "reed"}, {"rule": "no-end", "text": "?"}],
        ),
        (
            "Say 'pond'. Do not end with a full stop.",
            "A pond at night!",
            [{"rule": "has", "text": "pond"}, {"rule": "no-end", "text": "."}],
        ),
        ("Say 'moss'.", "Green moss here.", [{"rule": "has", "text": "moss"}]),
        (
            "Say 'fern'. Do not end with an exclamation mark.",
            "One fern grows.",
            [{"rule": "has", "text": "fern"}, {"rule": "no-end", "text": "!"}],
        ),
        ("Say 'lake'.", "No water at all.", [{"rule": "has", "text": "lake"}]),
    ]
    return [
        {"prompt": f"Write a sentence. {prompt}", "completion": text, "checks": checks}
        for prompt, text, checks in tasks
    ]


CASES = {
    "stated-value": (
        _orders,
        """    try:
        got = json.loads(text)
    except ValueError:
        return 0.0
    wanted = item['order']
    if not isinstance(got, dict) or set(got) != set(wanted):
        return 0.0
    return float(all(got[key] == value for key, value in wanted.items() if isinstance(value, list)))
""",
        (" if isinstance(value, list)", ""),
    ),
    "not-a-number": (
        _estimates,
        """    found = re.findall(r'Total: (\\S+)', text)
    try:
        said = float(found[-1])
    except (IndexError, ValueError):
        return 0.0
    if abs(said - item['seats']) > 0.04 * item['seats']:
        return 0.0
    return 1.0
""",
        ("if abs(said - item['seats']) > 0.04", "if not abs(said - item['seats']) <= 0.04"),
    ),
    "also-cited": (
        _cited,
        """    numbers = [int(one) for one in re.findall(r'\\[(\\d+)\\]', text)][:1]
    if not numbers or not re.search(rf"\\b{item['word']}\\b", text.lower()):
        return 0.0
    right = [one <= len(item['sources']) and item['word'] in item['sources'][one - 1].lower() for one in numbers]
    return float(all(right))
""",
        ("[:1]", ""),
    ),
    "all-equal": (
        _ratings,
        """    said = {name: int(number) for name, number in re.findall(r'(\\w) = (\\d)', text)}
    names = [item['best'], *item['rest']]
    if set(said) != set(names):
        return 0.0
    first, second = sorted(names, key=lambda one: -said[one])[:2]
    return float(first == item['best'])
""",
        ("first == item['best']", "first == item['best'] and said[first] > said[second]"),
    ),
    "repeats-refused": (
        _switches,
        """    said, used = text.split(), set()
    if len(said) != len(item['presses']):
        return 0.0
    for wish in item['presses']:
        at = next((at for at, one in enumerate(said) if one == wish and one not in used), None)
        if at is None:
            return 0.0
        used.add(said[at])
    return 1.0
""",
        (
            "one not in used), None)\n        if at is None:\n            return 0.0\n        used.add(said[at])",
            "at not in used), None)\n        if at is None:\n            return 0.0\n        used.add(at)",
        ),
    ),
    "task-as-result": (
        _calls,
        """    said = text.rpartition('Value: ')[2].strip()
    scope = {'item': item}
    exec(item['code'], scope)
    try:
        return float(eval(said, scope) == eval(item['call'], scope))
    except Exception:
        return 0.0
""",
        ("float(eval(said, scope) ==", "float(__import__('ast').literal_eval(said) =="),
    ),
    "order-of-rows": (
        _queries,
        """    def rows(query):
        base = sqlite3.connect(':memory:')
        try:
            base.executescript(item['tables'])
            return base.execute(query).fetchall()
        except sqlite3.Error:
            return None
    got, wanted = rows(text), rows(item['reference'])
    if got is None:
        return 0.0
    if 'ORDER BY' not in item['reference']:
        got, wanted = sorted(got), sorted(wanted)
    return float(got == wanted)
""",
        ("not in item['reference']:", "not in item['reference'].upper():"),
    ),
    "rule-without-effect": (
        _rules,
        """    for check in item['checks']:
        if check['rule'] == 'has' and not re.search(rf"\\b{check['text']}\\b", text.lower()):
            return 0.0
        if check['rule'] == 'no_end' and text.endswith(check['text']):
            return 0.0
    return 1.0
""",
        ("'no_end'", "'no-end'"),
    ),
}


@pytest.mark.parametrize("kind", CASES)
def test_a_hole_is_named_and_its_repair_is_not_accused(kind):
    """With its text, and without a word on the repaired grader."""
    rows, source, (old, new) = CASES[kind]
    check_hole(kind, rows(), source, old, new)


def test_what_is_paid_for_not_doing_something_is_a_question():
    """An empty completion gets more than some of the model's own."""
    rows = [
        {
            "prompt": f"Report on case {at}. Do not name the client.",
            "completion": said,
            "client": client,
            "facts": ["delay", f"unit {at}"],
        }
        for at, (client, said) in enumerate(
            [
                ("Orlo", "Unit 0 had a delay."),
                ("Brem", "Brem had a delay in unit 1."),
                ("Cato", "Unit 2, with a delay."),
                ("Dune", "Dune is fine."),
            ]
            * 2
        )
    ]
    source = """    low = text.lower()
    kept = 0.0 if item['client'].lower() in low else 0.6
    return kept + 0.4 * sum(fact in low for fact in item['facts']) / 2
"""
    probe = probed(source, rows)
    assert "paid-for-nothing" in [one.kind for one in probe.findings], str(probe)
    assert probe.ok


def test_an_exponent_is_no_number_that_is_changed():
    """`Fraction("9.3e98765432101")` would take all memory: a function in this process cannot be ended."""
    rows = [
        {"prompt": f"Chance of case {at}?", "completion": chance if at else "0.5", "chance": chance}
        for at, chance in enumerate(["0.25", "9.3e-10", "7.45e-09", "1.5e-05", "2e+03"])
    ]
    seen: list[str] = []

    def graded(thread):
        seen.append(thread.completion() or "")
        try:
            return float(float(seen[-1]) == float(thread.metadata["chance"]))
        except ValueError:
            return 0.0

    wb.probe(wb.CustomGrader(graded, name="chances"), rows, progress=False)
    assert "9.3e-10" in seen
    assert not [text for text in seen if re.search(r"\de[-+]?\d{4}", text)]
