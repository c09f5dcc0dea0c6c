"""Changed values in accepted completions: a hole with its finding, and the same grader repaired."""

from __future__ import annotations

import json

import pytest

from tests.probes.holes import check_hole


def _amounts():
    totals = [
        ("$80", "$80"),
        ("$15", "$15.00"),
        ("\u20ac42", "42 EUR"),
        ("\u00a37", "\u00a39"),
        ("$310", "USD 310"),
    ]
    return [
        {"prompt": f"Total of invoice {at}, with its currency?", "completion": said, "amount": amount}
        for at, (amount, said) in enumerate(totals)
    ]


def _vectors():
    vectors = [[4, 6], [2, 0, 9], [1, 7], [8, 3], [5, 5, 2]]
    return [
        {
            "prompt": f"Vector {at}? End with 'So: [...]'.",
            "completion": f"So: {json.dumps(vector if at != 2 else [9, 9])}",
            "vector": vector,
        }
        for at, vector in enumerate(vectors)
    ]


def _messages():
    facts = [
        ["room 12", "noon"],
        ["order 55", "Friday"],
        ["the plan", "9 May"],
        ["hall 3", "dusk"],
        ["gate 8", "Monday"],
    ]
    return [
        {
            "prompt": f"Write one friendly line {at} with all of the facts.",
            "completion": f"Hello, please note {one} and {two}." if at != 3 else "Hello to all of you.",
            "facts": [one, two],
        }
        for at, (one, two) in enumerate(facts)
    ]


def _paths():
    ends = [((0, 0), (1, 1)), ((0, 1), (1, 2)), ((2, 0), (3, 1)), ((1, 1), (2, 2)), ((4, 0), (5, 1))]
    return [
        {
            "prompt": f"Path {at} from {start} to {goal}, in steps to a neighbour?",
            "completion": f"{start} {(start[0], start[1] + 1)} {goal}" if at != 1 else f"{start} (9, 9)",
            "start": list(start),
            "goal": list(goal),
        }
        for at, (start, goal) in enumerate(ends)
    ]


def _actions():
    steps = [["verify", "refund"], ["save", "close"], ["stop", "drain"], ["lock", "leave"], ["wash", "dry"]]
    return [
        {
            "prompt": f"One action a line in JSON, {one} and then {two}. Case {at}.",
            "completion": f'{{"action": "{one}"}}\n{{"action": "{two}"}}'
            if at != 4
            else f'{{"action": "{two}"}}',
            "sequence": [one, two],
        }
        for at, (one, two) in enumerate(steps)
    ]


def _rankings():
    right = [["doc2", "doc4"], ["doc1", "doc3"], ["doc3", "doc4"], ["doc1", "doc2"], ["doc2", "doc3"]]
    return [
        {
            "prompt": f"Rank the best two for topic {at} of doc1 rain, doc2 iron, doc3 moss, doc4 lion.",
            "completion": f"Ranking: {', '.join(ids)}" if at != 0 else "Ranking: doc1, doc3",
            "relevant": ids,
        }
        for at, ids in enumerate(right)
    ]


def _links():
    places = [
        ("Geneva", "who.int"),
        ("Rossum", "python.org"),
        ("Everest", "heights.org"),
        ("Turin", "city.it"),
        ("Graz", "stadt.at"),
    ]
    return [
        {"prompt": f"Question {at}: one sentence with a link on {domain}.", "completion": f"It is {term}, see https://www.{domain if at != 2 else 'other.net'}/about", "terms": [term, "see"], "site": domain}
        for at, (term, domain) in enumerate(places)
    ]  # fmt: skip


def _notes():
    terms = [["Elm", "shut"], ["Oak", "open"], ["Ash", "closed"], ["Fir", "sold"], ["Yew", "built"]]
    return [
        {"prompt": f"Sum up note {at} in few sentences.", "completion": f"The {one} bridge is {two}." if at != 3 else "Nothing. Is. Known. Here.", "terms": [one, two], "most": 2}
        for at, (one, two) in enumerate(terms)
    ]  # fmt: skip


def _orders():
    wanted = [
        ("bulbs", 4, True),
        ("screws", 60, False),
        ("lamps", 2, True),
        ("hinges", 12, False),
        ("knobs", 7, True),
    ]
    return [
        {
            "prompt": f"Order {at}: {count} {name} as one JSON object; count is a number, express a boolean.",
            "completion": json.dumps({"item": name, "count": count if at != 2 else 3, "express": fast}),
            "order": {"item": name, "count": count, "express": fast},
        }
        for at, (name, count, fast) in enumerate(wanted)
    ]


def _switches():
    wanted = [
        ("fan", True, 3),
        ("heater", False, 1),
        ("pump", True, 8),
        ("light", False, 5),
        ("valve", True, 2),
    ]
    return [
        {
            "prompt": f"Case {at}: JSON with device, on (boolean) and step (integer) for the {device}.",
            "completion": json.dumps({"device": device, "on": on, "step": step if at != 1 else 9}),
            "state": {"device": device, "on": on, "step": step},
        }
        for at, (device, on, step) in enumerate(wanted)
    ]


def _ratios():
    shares = [[2, 4], [3, 9], [5, 10], [2, 6], [4, 12]]
    return [
        {
            "prompt": f"Two numbers in the ratio 1 to {b // a}, case {at}? Last line: the two, with a space between.",
            "completion": f"By the ratio.\n{a} {b if at != 3 else b + 1}",
            "times": b // a,
        }
        for at, (a, b) in enumerate(shares)
    ]


def _squares():
    grid = [[2, 7, 6], [9, 5, 1], [4, 3, 8]]
    shifted = [
        grid,
        [line[::-1] for line in grid],
        grid[::-1],
        [list(line) for line in zip(*grid, strict=True)],
    ]
    return [
        {
            "prompt": f"A square {at} of 1 to 9, each once, whose lines and columns have the sum 15.",
            "completion": "\n".join(
                " ".join(map(str, line)) for line in (square if at != 2 else [[1] * 3] * 3)
            ),
            "total": 15,
        }
        for at, square in enumerate(shifted)
    ]


CASES = {
    "type-as-text": (
        _orders,
        """    try:
        said = json.loads(text)
    except ValueError:
        return 0.0
    order = item['order']
    return float(isinstance(said, dict) and set(said) == set(order) and all(str(said[key]).lower() == str(order[key]).lower() for key in order))
""",
        ("str(said[key]).lower() == str(order[key]).lower()", "type(said[key]) is type(order[key]) and said[key] == order[key]"),
    ),
    "equal-type": (
        _switches,
        """    try:
        said = json.loads(text)
    except ValueError:
        return 0.0
    return float(said == item['state'])
""",
        (
            "said == item['state']",
            "json.dumps(said, sort_keys=True) == json.dumps(item['state'], sort_keys=True)",
        ),
    ),
    "all-zero": (
        _ratios,
        """    found = re.fullmatch(r'(\\d+) (\\d+)', text.strip().splitlines()[-1]) if text.strip() else None
    return float(bool(found) and int(found[1]) * item['times'] == int(found[2]))
""",
        ("float(bool(found) and", "float(bool(found) and int(found[1]) > 0 and"),
    ),
    "grid-sums-only": (
        _squares,
        """    grid = [[int(one) for one in line.split()] for line in text.strip().splitlines() if re.fullmatch(r'[1-9 ]+', line)]
    if len(grid) != 3 or any(len(line) != 3 for line in grid):
        return 0.0
    return float(all(sum(line) == item['total'] for line in [*grid, *map(list, zip(*grid))]))
""",
        ("float(all(", "float(len({one for line in grid for one in line}) == 9 and all("),
    ),
    "longer-host": (
        _links,
        """    hosts = re.findall(r'https?://([^/\\s]+)', text)
    said = all(re.search(rf"\\b{term}\\b", text) for term in item['terms'])
    return float(said and bool(hosts) and all(host.endswith(item['site']) for host in hosts))
""",
        ("host.endswith(item['site'])", "('.' + host).endswith('.' + item['site'])"),
    ),
    "exclaimed": (
        _notes,
        """    sentences = len(re.findall(r'[.](?=\\s|$)', text))
    said = all(re.search(rf"\\b{term}\\b", text) for term in item['terms'])
    return float(said and 0 < sentences <= item['most'])
""",
        ("[.](", "[.!?]("),
    ),
    "other-currency": (
        _amounts,
        """    signs = {'$': 'USD', chr(0x20ac): 'EUR', chr(0xa3): 'GBP'}
    def read(amount):
        for sign, code in signs.items():
            amount = amount.replace(sign, f' {code} ')
        found = re.fullmatch(r'\\s*([A-Z]{3})?\\s*(\\d+(?:\\.\\d+)?)\\s*([A-Z]{3})?\\s*', amount)
        return (float(found[2]), found[1] or found[3]) if found else (-1.0, '')
    said, wanted = read(text), read(item['amount'])
    return float(said[0] == wanted[0])
""",
        ("said[0] == wanted[0]", "said == wanted"),
    ),
    "errors-cancel": (
        _vectors,
        """    found = re.fullmatch(r'So: (\\[[-\\d, .]+\\])', text.strip())
    try:
        said = json.loads(found[1])
    except (TypeError, ValueError):
        return 0.0
    return float(len(said) == len(item['vector']) and abs(sum(a - b for a, b in zip(said, item['vector']))) < 0.01)
""",
        ("abs(sum(a - b for", "(sum(abs(a - b) for"),
    ),
    "one-fact-enough": (
        _messages,
        """    if not text.startswith('Hello') or len(text.split()) > 30:
        return 0.0
    return float(any(re.search(rf"(?<!\\w){re.escape(fact)}(?!\\w)", text) for fact in item['facts']))
""",
        ("float(any(", "float(all("),
    ),
    "step-skipped": (
        _paths,
        """    path = [(int(a), int(b)) for a, b in re.findall(r'\\((\\d+), ?(\\d+)\\)', text)]
    if len(path) < 2 or re.sub(r'\\(\\d+, ?\\d+\\)', '', text).strip():
        return 0.0
    return float(path[0] == tuple(item['start']) and path[-1] == tuple(item['goal']))
""",
        (
            "path[-1] == tuple(item['goal'])",
            "path[-1] == tuple(item['goal']) and all(abs(a - c) + abs(b - d) == 1 for (a, b), (c, d) in zip(path, path[1:]))",
        ),
    ),
    "lines-exchanged": (
        _actions,
        """    try:
        done = [json.loads(line)['action'] for line in text.strip().splitlines()]
    except (ValueError, KeyError, TypeError):
        return 0.0
    return float(set(done) == set(item['sequence']) and len(done) == 2)
""",
        ("set(done) == set(item['sequence'])", "done == item['sequence']"),
    ),
    "wrong-ones-first": (
        _rankings,
        """    found = re.fullmatch(r'Ranking: (doc\\d(?:, doc\\d)*)', text.strip())
    ids = list(dict.fromkeys(found[1].split(', '))) if found else []
    return sum(one in ids for one in item['relevant']) / 2
""",
        ("one in ids for", "one in ids[:2] for"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
def test_a_hole_is_named_and_its_repair_is_not_accused(kind):
    """With its text, and without an error on the repaired grader."""
    rows, source, (old, new) = CASES[kind]
    check_hole(kind, rows(), source, old, new)
