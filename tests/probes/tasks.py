"""Rows for probes: small tasks with references, and answers of a model that is right about half of the time."""

from __future__ import annotations

from typing import Any

import workbench as wb

Rows = list[dict[str, Any]]


def _rows(pairs: list[tuple[str, Any, str]]) -> Rows:
    return [
        {"prompt": prompt, "expected": expected, "completion": completion}
        for prompt, expected, completion in pairs
    ]


def arithmetic() -> Rows:
    """Whole numbers, a sentence as the answer."""
    pairs = []
    for n in range(24):
        a, b = 17 + 5 * n, 8 + 3 * n
        answer = str(a + b)
        said = f"{a} plus {b} makes {answer}." if n % 2 else f"That is {a + b + 10}."
        pairs.append((f"What is {a} + {b}? Give the number.", answer, said))
    return _rows(pairs)


def bold_sums() -> Rows:
    """Whole numbers, and some of the right ones in bold type."""
    rows = arithmetic()
    for row in rows[1::4]:
        row["completion"] = f"It makes **{row['expected']}**"
    return rows


def signed() -> Rows:
    """Whole numbers of both signs."""
    pairs = []
    for n in range(24):
        a, b = 10 + 7 * n, 90 + 2 * n
        pairs.append((f"What is {a} - {b}? Give the number.", str(a - b), str(a - b) if n % 3 else str(b)))
    return _rows(pairs)


def large() -> Rows:
    """Numbers of five digits and more."""
    pairs = []
    for n in range(20):
        a = 12_350 + 7_531 * n
        pairs.append((f"How many people live in town {n + 1}?", str(a), str(a) if n % 2 else "I do not know"))
    return _rows(pairs)


def decimals() -> Rows:
    """Numbers with digits after the point."""
    pairs = []
    for n in range(20):
        value = round(1.37 + 2.61 * n, 2)
        pairs.append(
            (f"Measure rod {n + 1} in metres.", f"{value}", f"{value}" if n % 2 else f"{value + 3:.2f}")
        )
    return _rows(pairs)


_CAPITALS = [
    ("France", "Paris"), ("Italy", "Rome"), ("Spain", "Madrid"), ("Germany", "Berlin"), ("Austria", "Vienna"),
    ("Norway", "Oslo"), ("Sweden", "Stockholm"), ("Poland", "Warsaw"), ("Portugal", "Lisbon"), ("Greece", "Athens"),
    ("Hungary", "Budapest"), ("Ireland", "Dublin"), ("Egypt", "Cairo"), ("Kenya", "Nairobi"), ("Japan", "Tokyo"),
    ("Peru", "Lima"), ("Cuba", "Havana"), ("Chile", "Santiago"), ("Finland", "Helsinki"), ("Denmark", "Copenhagen"),
]  # fmt: skip


def capitals() -> Rows:
    """Names of one word."""
    return _rows(
        [
            (
                f"What is the capital of {country}?",
                city,
                city if n % 2 else f"I believe it is {_CAPITALS[n - 3][1]}.",
            )
            for n, (country, city) in enumerate(_CAPITALS)
        ]
    )


def choice() -> Rows:
    """One letter of four."""
    pairs = []
    for n in range(24):
        options = "\n".join(f"{letter}) {_CAPITALS[(n + k) % 20][1]}" for k, letter in enumerate("ABCD"))
        letter = "ABCD"[n * 7 % 4]
        pairs.append(
            (f"Which city comes first? Give the letter.\n{options}", letter, letter if n % 2 else "C")
        )
    return _rows(pairs)


def sentences() -> Rows:
    """Sentences with a name and a number in them."""
    people = [
        "Ada Lovelace",
        "Marie Curie",
        "Alan Turing",
        "Grace Hopper",
        "Emmy Noether",
        "Lise Meitner",
        "Max Planck",
        "Niels Bohr",
    ]
    pairs = []
    for n in range(20):
        text = f"{people[n % 8]} wrote the report about {_CAPITALS[n][1]} in {1848 + 7 * n}."
        pairs.append((f"Who wrote report {n + 1}, and when?", text, text if n % 2 else "Nobody knows."))
    return _rows(pairs)


def records() -> Rows:
    """Objects of JSON."""
    import json

    pairs = []
    for n, (country, city) in enumerate(_CAPITALS):
        record = json.dumps({"city": city, "country": country, "rank": n + 3})
        pairs.append(
            (f"Give city, country and rank of entry {n + 1} as JSON.", record, record if n % 2 else "{}")
        )
    return _rows(pairs)


def lists() -> Rows:
    """Lists of JSON in a fixed order."""
    import json

    pairs = []
    for n in range(20):
        values = [n + 3, n + 9, n + 14, n + 40]
        text = json.dumps(values)
        pairs.append(
            (
                f"Sort the four numbers of box {n + 1} in ascending order, as a JSON list.",
                text,
                text if n % 2 else "[]",
            )
        )
    return _rows(pairs)


def boxes() -> Rows:
    """Whole numbers, the answer in a box after some working."""
    rows = arithmetic()
    for n, row in enumerate(rows):
        right = row["expected"] if n % 2 else str(int(row["expected"]) + 4)
        row["prompt"] += " Put it in \\boxed{}."
        row["completion"] = f"I add them up.\nSo it is $\\boxed{{{right}}}$."
    return rows


def units() -> Rows:
    """Numbers with a unit."""
    names = ["km", "kg", "hours", "%"]
    pairs = []
    for n in range(20):
        text = f"{n + 12} {names[n % 4]}"
        pairs.append((f"How much is quantity {n + 1}, with its unit?", text, text if n % 2 else "a lot"))
    return _rows(pairs)


def identifiers() -> Rows:
    """Names in code, where capital letters matter."""
    words = ["user", "order", "price", "total", "index", "count", "value", "state", "token", "score"]
    pairs = []
    for n in range(20):
        name = f"{words[n % 10]}{words[(n * 3 + 1) % 10].capitalize()}{n}"
        pairs.append((f"What is the variable name of field {n + 1}?", name, name if n % 2 else "x"))
    return _rows(pairs)


def snippets() -> Rows:
    """One line of code."""
    pairs = []
    for n in range(16):
        code = f"return sorted(items)[{n}:{n + 4}]"
        pairs.append((f"Write the body of function {n + 1}.", code, code if n % 2 else "pass"))
    return _rows(pairs)


def yes_no() -> Rows:
    """Yes or no."""
    return _rows(
        [
            (f"Is statement {n + 1} true?", "yes" if n % 3 else "no", "yes" if n % 2 else "no")
            for n in range(24)
        ]
    )


def thoughts() -> Rows:
    """Whole numbers after a think block."""
    rows = arithmetic()
    for row in rows:
        row["completion"] = f"<think>Let me add.</think>\n{row['completion']}"
    return rows


def dates() -> Rows:
    """Dates as year-month-day."""
    return _rows(
        [
            (
                f"When was meeting {n + 1}? YYYY-MM-DD",
                f"20{10 + n % 15}-{n % 12 + 1:02d}-{n + 3:02d}",
                f"2024-01-{n + 1:02d}",
            )
            for n in range(20)
        ]
    )


def programs() -> Rows:
    """Functions of Python, each with the cases on which it is run in a comment."""
    pairs = []
    for n in range(16):
        cases = f"# cases: {[n, n + 1, -n, 40]}"
        code = f"def move_{n}(x):\n    return x * {n + 2} + {n + 5}"
        said = f"Sure:\n```python\n{code}\n```" if n % 2 else f"def move_{n}(x):\n    return x"
        pairs.append((f"Write move_{n}(x): {n + 2} times x, and {n + 5} more.", f"{cases}\n{code}", said))
    return _rows(pairs)


def selections() -> Rows:
    """Several letters of six."""
    pairs = []
    for n in range(20):
        letters = ", ".join("ABCDEF"[k] for k in range(6) if (n * 5 + 9) >> k & 1) or "A, B"
        pairs.append(
            (f"Which options of list {n + 1} are right? Letters only.", letters, letters if n % 2 else "F")
        )
    return _rows(pairs)


def people() -> Rows:
    """Names, one a line, in a column that is not the reference."""
    names = ["Anna", "Boris", "Chen", "Dora", "Emil", "Fatima", "Goran", "Hana"]
    rows = []
    for n in range(20):
        chosen = [names[(n + k * 3) % 8] for k in range(2 + n % 2)] if n % 4 else names[n % 5 : n % 5 + 3]
        said = "\n".join(chosen) if n % 2 else "Nobody"
        rows.append(
            {"prompt": f"Who is named in text {n + 1}? One name a line.", "named": chosen, "completion": said}
        )
    return rows


def letters() -> Rows:
    """One letter of four, in sentences and in lower case too."""
    rows = choice()
    for n, row in enumerate(rows):
        letter = row["completion"]
        row["completion"] = [f"The answer is {letter}.", letter.lower(), f"({letter})", letter][n // 2 % 4]
    return rows


def tags() -> Rows:
    """A word in a tag that the prompt shows."""
    words = ["positive", "negative", "mixed"]
    return _rows(
        [
            (
                f"Is review {n + 1} positive, negative or mixed? As in <label>{words[n % 3]}</label>.",
                words[n // 2 % 3],
                f"<label>{words[n // 2 % 3] if n % 2 else 'mixed'}</label>",
            )
            for n in range(24)
        ]
    )


def short_thoughts() -> Rows:
    """A think block of one line, and the number in a tag."""
    rows = arithmetic()
    for n, row in enumerate(rows):
        right = row["expected"] if n % 2 else str(int(row["expected"]) + 4)
        row["completion"] = f"<think>I add them.</think><answer>{right}</answer>"
    return rows


def vitamins() -> Rows:
    """A letter, of which one is an article as well."""
    return _rows(
        [
            (f"Which vitamin is in food {n + 1}?", "ACDEK"[n % 5], "ACDEK"[n % 5] if n % 2 else "none")
            for n in range(20)
        ]
    )


def solutions() -> Rows:
    """Worked solutions that end with the number, as in GSM8K."""
    pairs = []
    for n in range(20):
        a, b = 13 + 4 * n, 6 + n
        right = a + b if n % 2 else a + b + 5
        pairs.append(
            (
                f"Ann has {a} coins and finds {b}. How many are there?",
                f"She has {a} + {b} = {a + b} coins.\n#### {a + b}",
                f"Together: {right}\n#### {right}",
            )
        )
    return _rows(pairs)


def aliases() -> Rows:
    """Several correct completions of each prompt, as a list."""
    return [
        {
            "prompt": f"Which city is number {n + 1} on the map?",
            "expected": [city, f"{city} City", f"Old {city}"],
            "completion": city if n % 2 else "Nowhere",
        }
        for n, (_, city) in enumerate(_CAPITALS)
    ]


TASKS = {
    task.__name__: task
    for task in (
        arithmetic, bold_sums, signed, large, decimals, capitals, choice, sentences, records, lists, boxes, units, identifiers,
        snippets, yes_no, thoughts, dates, programs, selections, people, letters, tags, short_thoughts, vitamins,
        solutions, aliases,
    )
}  # fmt: skip


def samples(task: str) -> wb.Samples:
    """The rows of a task."""
    return wb.Samples(TASKS[task]())
