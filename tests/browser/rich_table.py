"""A table with everything that rows may contain, and twelve graders of all kinds with long names."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

NAME = "rich_answers.csv"
TOPICS = ["refund requests", "delivery delays", "account access", "technical faults", "billing", "others"]
LABELLED = 240
ROWS = 300

ARABIC, MAIL, CALL, CODE = 5, 6, 7, 1
"""Rows whose completion has that form: the number of a row modulo 11 decides."""


def write_rich_table(folder: Path) -> None:
    """300 rows: Markdown, code, JSON, tool calls, e-mail, German, Arabic, long and empty texts; 240 have labels in words."""
    draw = random.Random(11)
    with (folder / NAME).open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(
            ["case_id", "customer_question", "support_reply", "expected_total", "human_verdict", "topic", "created_at", "latency_ms"]
        )  # fmt: skip
        for n in range(ROWS):
            total, right = draw.randrange(20, 900), draw.random() < 0.6
            text = _completion(n, total if right else total + draw.randrange(1, 9))
            question = f"What is the total of invoice {1000 + n}, with the items A for 12 euros and B for {total - 12} euros?"
            question += " Please explain every step of the calculation, and say what is taxed." * (
                3 * (n % 4 == 0)
            )
            label = ("correct" if right and text else "incorrect") if n < LABELLED else ""
            day = f"2026-{1 + n % 12:02}-{1 + n % 28:02}"
            writer.writerow(
                [
                    f"case-{n:04}",
                    question,
                    text,
                    total,
                    label,
                    draw.choice(TOPICS),
                    day,
                    draw.randrange(80, 4000),
                ]
            )


def _completion(n: int, total: int) -> str:
    said = f"The total is {total} euros."
    match n % 11:
        case 0:
            return f"## Summary\n\n**{said}**\n\n- first: 12 euros\n- second: *reduced*\n\n| item | price |\n| --- | ---: |\n| A | 12 |\n\n> As asked."
        case 1:
            comment = "a comment that is rather long and goes on beyond the width of a narrow reader"
            return f"{said}\n\n```python\ndef total(items: list[int]) -> int:\n    return sum(items)  # {comment}\n```"
        case 2:
            return json.dumps({"total": total, "items": [{"name": "A", "price": 12}], "paid": False})
        case 3:
            return f"{said} " + "This sentence belongs to a long explanation. " * 90
        case 4:
            return f"Sehr geehrte Frau Müller-Lüdenscheidt, die Gesamtsumme beträgt {total} Euro. Donaudampfschifffahrtsgesellschaftskapitänsmützen."
        case 5:
            return f"المجموع هو {total} يورو. شكرا لتواصلكم معنا."
        case 6:
            return f"From: support@example.org\nTo: customer@example.org\nSubject: Invoice {1000 + n}\n\nDear customer,\n\n{said}\n\nKind regards"
        case 7:
            given = json.dumps({"invoice": 1000 + n, "total": total})
            call = {
                "id": "call_1",
                "type": "function",
                "function": {"name": "sum_invoice", "arguments": given},
            }
            return json.dumps({"tool_calls": [call]})
        case 8:
            return "" if n % 3 == 0 else said
        case 9:
            return f"{said} https://example.org/" + "a-very-long-address-without-a-break" * 6
    return said


CELL = f'''
import json, re
from statistics import mean

import workbench as wb

samples = wb.read_samples("{NAME}", columns={{"prompt": "customer_question", "completion": "support_reply", "reference": "expected_total"}})

@wb.grader
async def names_the_expected_total_anywhere_in_the_reply(thread):
    """The reply contains the expected total."""
    return float((thread.metadata or {{}}).get("expected_total", "?") in (thread.completion() or ""))

@wb.grader
async def names_the_expected_total_as_the_last_number_of_the_reply(thread):
    """The last number of the reply is the expected total."""
    numbers = re.findall(r"\\d+(?:\\.\\d+)?", thread.completion() or "")
    return float(bool(numbers) and numbers[-1] == (thread.metadata or {{}}).get("expected_total"))

@wb.grader
async def closeness_of_the_nearest_number_to_the_expected_total(thread):
    """How near the nearest number is to the expected total."""
    expected = float((thread.metadata or {{}}).get("expected_total", 1))
    numbers = [float(each) for each in re.findall(r"\\d+(?:\\.\\d+)?", thread.completion())]
    return max(0.0, 1.0 - min(abs(each - expected) for each in numbers) / expected)

@wb.grader
async def parses_as_json_with_a_total(thread, reference):
    """A draft: it takes two parameters."""
    return float(json.loads(thread.completion())["total"] == int(reference))

judge = wb.BinaryJudge("The reply is polite.", name="polite_and_explained_according_to_a_judge", client=wb.ScriptedClient("{{}}"))
app = wb.Workbench(samples, [
    names_the_expected_total_anywhere_in_the_reply, names_the_expected_total_as_the_last_number_of_the_reply,
    closeness_of_the_nearest_number_to_the_expected_total, parses_as_json_with_a_total, wb.Contains(name="contains_the_expected_total_as_a_text"),
    wb.ExactMatch(name="is_exactly_the_expected_total_and_nothing_else"), wb.Number(name="number_within_a_tolerance_of_one_hundredth", tolerance=0.01),
    wb.Length(maximum=80, unit="words", name="at_most_eighty_words_long_whatever_the_language"), wb.TokenF1(name="token_overlap_with_the_reference_as_f1_score"),
    wb.LabelSet(["refund", "delay", "access", "fault", "billing", "other"], passing_labels=["refund", "billing"], name="one_of_six_classes_of_requests"),
    wb.Regex(r"(?i)euro|eur|يورو", name="mentions_a_currency_in_any_of_the_languages"), judge,
], labels="human_verdict", store=None)
app
'''
"""Twelve graders: functions (one a draft, one that fails on rows without a number), rules, six classes, a judge."""
