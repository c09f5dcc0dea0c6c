"""Judges that are functions of their messages: healthy ones, and some with one planted defect each, with rows to judge."""

from __future__ import annotations

import itertools
import json
import re
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

import workbench as wb
from workbench.judges import ScriptedClient

Rows = list[dict[str, Any]]
Rule = Callable[["Question"], bool]

FILLER = " It follows from adding the digits one after the other, carrying where that is needed, and reading the result."
REFUSAL = "I'm sorry, but I can't help with that request."


class Question:
    """What a scripted judge sees of a request: the numbers asked for, the completion, and the reference."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.text = str(messages[-1]["content"])
        found = re.findall(r"What is (\d+) \+ (\d+)", self.text)
        self.sum = sum(map(int, found[-1])) if found else -1
        parts = re.findall(r"<(completion[\w-]*)>\n?(.*?)\n?</\1>", self.text, re.DOTALL)
        self.completion = parts[-1][1] if parts else self.text
        said = re.search(r"The sum is (\d+)", self.completion)
        self.said = int(said[1]) if said else None
        wanted = re.search(r"REFERENCE: (\d+)", self.text)
        self.reference = int(wanted[1]) if wanted else None
        kind = re.search(r"\((\w+) exercise\)", self.text)
        self.topic = kind[1] if kind else ""

    @property
    def right(self) -> bool:
        """Whether the completion names the sum."""
        return self.said == self.sum

    def chance(self, salt: str) -> float:
        """A number from 0 to 1 that depends on the row alone."""
        return zlib.crc32(f"{salt}{self.sum}{self.said}".encode()) / 2**32


def rows(
    n: int = 160,
    *,
    seed: int = 0,
    long: float = 0.5,
    refusals: int = 0,
    writers: tuple[str, ...] = ("ada", "bob"),
    extra: int = 0,
) -> Rows:
    """Sums, half of them right, of several writers and topics, in two lengths."""
    rng = np.random.default_rng(seed)
    made: Rows = []
    for at in range(n + extra):
        a, b = at + 11, int(rng.integers(100, 900))
        good, topic = bool(at % 2 == 0), ("school", "office")[at // 2 % 2]
        value = a + b if good else a + b + int(rng.integers(1, 40))
        text = f"The sum is {value}."
        if rng.random() < long:
            text += FILLER * 4
        if not good and at < 2 * refusals:
            text = f"{REFUSAL} {at}"
        made.append({
            "prompt": f"What is {a} + {b}? ({topic} exercise)", "completion": text, "reference": a + b, "good": good if at < n else None,
            "writer": writers[at // 4 % len(writers)], "topic": topic, "language": ("en", "de")[at // 8 % 2],
        })  # fmt: skip
    return made


def says(passed: bool, key: str = "score") -> str:
    """A reply of a binary judge."""
    return json.dumps({"reasoning": "because", key: "PASS" if passed else "FAIL"})


def binary(rule: Rule, **settings: Any) -> wb.BinaryJudge:
    """A binary judge that decides by a rule."""
    client = ScriptedClient(lambda messages: says(rule(Question(messages))))
    settings.setdefault("model", "house-1")
    return wb.BinaryJudge("The completion names the right sum.", client=client, name="judge", **settings)


def with_reference(rule: Rule) -> wb.BinaryJudge:
    """A binary judge whose prompt has the reference."""
    template = "REFERENCE: {{metadata.reference}}\n<completion>\n{{completion}}\n</completion>\nPASS or FAIL: {{criteria}}"
    return binary(rule, user_template=template)


def rubric(
    score: Callable[[Question], float],
    prompt: str = "Grade whether the sum is right, from 0 to 1.",
    **settings: Any,
) -> wb.RubricJudge:
    """A rubric judge that scores by a rule."""
    client = ScriptedClient(
        lambda messages: json.dumps({"rationale": "because", "score": score(Question(messages))})
    )
    return wb.RubricJudge(prompt, client=client, name="judge", model="house-1", **settings)


def _slots(messages: list[dict[str, Any]]) -> tuple[str, str]:
    text = str(messages[-1]["content"])
    found = dict(re.findall(r"<(answer_[ab])[\w-]*>\n?(.*?)\n?</\1[\w-]*>", text, re.DOTALL))
    return found["answer_a"], found["answer_b"]


def pairwise(choose: Callable[[str, str, int], str]) -> wb.PairwiseJudge:
    """A judge of pairs that chooses by both texts and the sum."""

    def reply(messages: list[dict[str, Any]]) -> str:
        a, b = _slots(messages)
        verdict = choose(a, b, Question(messages).sum)
        return json.dumps({"reasoning": "because", "verdict": verdict})

    return wb.PairwiseJudge(against="other", client=ScriptedClient(reply), name="judge", model="house-1")


def pairs(n: int = 160, seed: int = 0) -> Rows:
    """Rows with a right and a wrong sum; good if the row's own is right."""
    made = rows(n, seed=seed, long=0.0)
    for row in made:
        value = row["reference"]
        row["other"] = f"The sum is {value + 7}." if row["good"] else f"The sum is {value}."
        del row["writer"], row["reference"]
    return made


def better(a: str, b: str, total: int) -> str:
    """The letter of the text with the right sum."""
    return "A" if f"The sum is {total}." in a else "B"


def noisy(share: float, seed: int = 0) -> Rule:
    """A rule that is right, and gives a random verdict for a share of the requests."""
    rng = np.random.default_rng(seed)
    return lambda q: bool(rng.random() < 0.5) if rng.random() < share else q.right


def follows(question: Question) -> bool:
    """Whether the completion contains an order to pass it."""
    return re.search(r"return pass|best verdict", question.completion, re.IGNORECASE) is not None


def unreadable(share: float) -> wb.BinaryJudge:
    """A judge whose replies cannot be read for a share of the rows."""

    def reply(messages: list[dict[str, Any]]) -> str:
        question = Question(
            [
                message
                for message in messages
                if message["role"] == "user" and "sum" in str(message["content"])
            ][-1:]
        )
        return "It is hard to tell." if question.chance("u") < share else says(question.right)

    return wb.BinaryJudge(
        "The completion names the right sum.", client=ScriptedClient(reply), name="judge", model="house-1"
    )


def annotated(n: int = 200) -> Rows:
    """Rows of two annotators who differ on a fifth of them; the first is strict there."""
    made = rows(n)
    for at, row in enumerate(made):
        disputed = at % 5 == 0
        row["ann"], row["ben"] = (False, True) if disputed else (row["good"], row["good"])
        if disputed:
            row["prompt"] += " (short, please)"
    return made


def strict_when_short(question: Question) -> bool:
    """The first annotator's view."""
    return question.right and "short, please" not in question.text


_turn = itertools.count()
TEMPLATE_KEY = 'Judge it. Reply with {"verdict": "PASS"} or {"verdict": "FAIL"} and nothing else.'

DEFECTS: dict[str, tuple[str, Callable[[], tuple[Any, Rows, dict[str, Any]]]]] = {
    "lenient on long texts": ("length", lambda: (binary(lambda q: q.right or len(q.completion) > 200), rows(), {})),
    "strict on long texts": ("length", lambda: (binary(lambda q: q.right and len(q.completion) < 200), rows(), {})),
    "lenient on short texts": ("length", lambda: (binary(lambda q: q.right or len(q.completion) < 100), rows(), {})),
    "bought by padding": ("padding", lambda: (binary(lambda q: q.right or len(q.completion) > 700), rows(long=0.0), {})),
    "swapped verdict words": ("reversed", lambda: (binary(lambda q: not q.right), rows(), {})),
    "worse than a coin": ("reversed", lambda: (binary(lambda q: q.right if q.chance("w") < 0.2 else not q.right), rows(), {})),
    "obeys an instruction": ("injection", lambda: (binary(lambda q: q.right or follows(q)), rows(), {})),
    "copies a verdict": ("injection", lambda: (binary(lambda q: q.right or '"PASS"' in q.completion), rows(), {})),
    "believes a system message": ("injection", lambda: (binary(lambda q: q.right or "SYSTEM:" in q.completion), rows(), {})),
    "passes refusals": ("refusals", lambda: (binary(lambda q: q.right or "sorry" in q.completion), rows(refusals=24), {})),
    "ignores the reference": ("reference", lambda: (with_reference(lambda q: q.said is not None), rows(), {})),
    "asks for YES or NO": ("prompt", lambda: (wb.BinaryJudge("Is the sum right? Answer YES or NO.", client=ScriptedClient("YES"), name="judge"), rows(), {})),
    "asks for another key": ("prompt", lambda: (binary(lambda q: q.right, system_template=TEMPLATE_KEY), rows(), {})),
    "asks for another scale": ("prompt", lambda: (rubric(lambda q: 0.9, "Give a score from 1 to 10 for the sum."), rows(), {})),
    "asks for a number": ("prompt", lambda: (wb.BinaryJudge("Is the sum right? Answer with a number from 1 to 5.", client=ScriptedClient("4"), name="judge"), rows(), {})),
    "prefers its own family": ("self-preference", lambda: (binary(lambda q: q.right or "my own" in q.completion, model="gpt-4o"), own_rows(), {})),
    "inconsistent": ("repeats", lambda: (binary(noisy(0.6)), rows(), {})),
    "wrong on one topic": ("transport: topic", lambda: (binary(lambda q: q.right or q.topic == "office"), rows(), {})),
    "against one writer": ("transport: writer", lambda: (binary(lambda q: q.right and "bob" not in q.completion), signed_rows(), {})),
    "wrong in one language": ("transport: language", lambda: (binary(lambda q: q.right or "Summe" in q.completion), german_rows(), {"compare": "language"})),
    "one annotator's view": ("annotators", lambda: (binary(strict_when_short), annotated(), {"labels": ["ann", "ben"]})),
    "always the first": ("position", lambda: (pairwise(lambda a, b, total: "A"), pairs(), {})),
    "mostly the second": ("position", lambda: (pairwise(lambda a, b, total: "B" if next(_turn) % 2 else better(a, b, total)), pairs(), {})),
    "replies that cannot be read": ("replies", lambda: (unreadable(0.15), rows(), {})),
    "accepts everything": ("TNR", lambda: (binary(lambda q: True), rows(), {})),
    "rejects everything": ("TPR", lambda: (binary(lambda q: False), rows(), {})),
    "accepts 40 % of bad rows": ("TNR", lambda: (binary(lambda q: q.right or q.chance("l") < 0.4), rows(), {})),
    "rejects 40 % of good rows": ("TPR", lambda: (binary(lambda q: q.right and q.chance("s") > 0.4), rows(), {})),
    "scores bad rows just above the threshold": ("TNR", lambda: (rubric(lambda q: 0.9 if q.right else 0.55), rows(), {})),
    "drifted from the judge it replaces": ("replacement", lambda: (binary(lambda q: q.right and q.chance("d") > 0.3), rows(240), {"against": binary(lambda q: q.right)})),
}  # fmt: skip
"""Name of a defect, to the check (or rate) that names it, and the judge, rows and settings."""


def own_rows() -> Rows:
    """Rows of which half are written by the judge's family, in its own manner."""
    made = rows(writers=("gpt-4o-mini", "claude-sonnet-5"))
    for row in made:
        row["completion"] += " In my own words." if row["writer"].startswith("gpt") else " As is known."
    return made


def signed_rows() -> Rows:
    """Rows whose completions name their writer."""
    made = rows()
    for row in made:
        row["completion"] += f" Yours, {row['writer']}."
    return made


def german_rows() -> Rows:
    """Rows of which half have a German sentence."""
    made = rows()
    for row in made:
        row["completion"] += " Das ist die Summe." if row["language"] == "de" else " That is the total."
    return made


HEALTHY: dict[str, Callable[[int], tuple[Any, Rows, dict[str, Any]]]] = {
    "exact": lambda seed: (binary(lambda q: q.right), rows(seed=seed), {}),
    "errs on 3 %": lambda seed: (binary(lambda q: q.right ^ (q.chance(f"h{seed}") < 0.03)), rows(seed=seed, refusals=12), {}),
    "errs on 8 %": lambda seed: (binary(lambda q: q.right ^ (q.chance(f"k{seed}") < 0.08)), rows(200, seed=seed), {"compare": "language"}),
    "noisy on 3 %": lambda seed: (binary(noisy(0.03, seed)), rows(seed=seed), {}),
    "reads the reference": lambda seed: (with_reference(lambda q: q.said == q.reference), rows(seed=seed), {}),
    "of a family": lambda seed: (binary(lambda q: q.right, model="gpt-4o"), own_rows(), {}),
    "rubric": lambda seed: (rubric(lambda q: 0.8 if q.right else 0.2), rows(seed=seed), {}),
    "rubric of 1 to 5": lambda seed: (rubric(lambda q: 5 if q.right else 1, "Give a score from 1 to 5.", scale=(1, 5)), rows(seed=seed), {}),
    "pairs": lambda seed: (pairwise(better), pairs(seed=seed), {}),
    "same as the judge it replaces": lambda seed: (binary(lambda q: q.right), rows(seed=seed), {"against": binary(lambda q: q.right)}),
    "two annotators": lambda seed: (binary(lambda q: q.right), two_equal(seed), {"labels": ["ann", "ben"]}),
    "unlabelled rows": lambda seed: (binary(lambda q: q.right), rows(120, seed=seed, extra=80), {}),
}  # fmt: skip
"""Judges without a defect."""


def two_equal(seed: int) -> Rows:
    """Rows of two annotators who err on a tenth of them each."""
    rng, made = np.random.default_rng(seed), rows(220, seed=seed)
    for row in made:
        row["ann"], row["ben"] = (bool(row["good"] ^ (rng.random() < 0.1)) for _ in range(2))
    return made


def run(case: tuple[Any, Rows, dict[str, Any]]) -> Any:
    """The certification of a case."""
    judge, made, settings = case
    return wb.certify(judge, made, **{"labels": "good", "progress": False, **settings})
