"""The demo data: built as committed, true as said."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import workbench.data.demo
from tools.demo_data.annotators import ANNOTATORS, HARD_RATE
from tools.demo_data.card import card
from tools.demo_data.generate import SEED, as_jsonl, build, main
from tools.demo_data.helpdesk import DECAYS
from tools.demo_data.helpdesk_cases import CASES
from tools.demo_data.rag import _ATTRIBUTES
from tools.demo_data.writers import PROBES, RIGHT_RATE, WRITERS
from workbench.data.demo import TASKS, demo_frame, demo_samples
from workbench.data.demo.defects import DEFECTS, last_number, measure

FOLDER = Path(workbench.data.demo.__file__).parent
ROWS = build()


def rows_of(task):
    return [row for row in ROWS if row["task"] == task]


def test_the_committed_files_are_what_the_generator_builds(tmp_path):
    """Building again gives the committed file and card, byte for byte."""
    main(tmp_path)
    for name in ("samples.jsonl", "DATA_CARD.md"):
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes(), (
            f"run python -m tools.demo_data.generate: {name}"
        )


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_build_depends_on_nothing_around_it(hash_seed):
    """Another hash seed and locale give the same bytes, and no package beside the standard library is loaded."""
    code = (
        "import hashlib, sys; from tools.demo_data.generate import as_jsonl, build;"
        "print(hashlib.sha256(as_jsonl(build()).encode()).hexdigest(), {'pandas', 'numpy'} & set(sys.modules))"
    )
    env = {**os.environ, "PYTHONHASHSEED": hash_seed, "LC_ALL": "C", "PYTHONPATH": str(FOLDER.parent.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [hashlib.sha256(as_jsonl(ROWS).encode()).hexdigest(), "set()"]


def test_size_and_counts():
    """The file is below a megabyte and has 960, 360, 360 and 240 rows of 280 prompts, every id once."""
    assert (FOLDER / "samples.jsonl").stat().st_size < 1_000_000
    assert Counter(row["task"] for row in ROWS) == {
        "arithmetic": 960,
        "extraction": 360,
        "rag": 360,
        "helpdesk": 240,
    }
    assert len({row["group"] for row in ROWS}) == 280
    assert len({row["id"] for row in ROWS}) == len(ROWS) == 1920


def test_the_data_are_read_without_any_mapping():
    """Every column finds its role by name, and every row can be read."""
    samples = demo_samples()
    assert samples.columns == {
        "prompt": "prompt",
        "completion": "completion",
        "reference": "expected",
        "group": "group",
        "id": "id",
    }
    assert samples.problems == {}
    assert list(samples.ids) == [row["id"] for row in ROWS]
    assert [thread.completion() for thread in samples.threads] == [row["completion"] for row in ROWS]


@pytest.mark.parametrize("task", TASKS)
def test_one_task(task):
    """A task's samples are its rows; the frame is the caller's to change."""
    samples = demo_samples(task)
    assert set(samples.frame["task"]) == {task}
    assert samples is demo_samples(task)
    frame = demo_frame(task)
    frame["task"] = "changed"
    assert set(demo_frame(task)["task"]) == {task}


def test_an_unknown_task_is_refused():
    """An unknown task is refused with those there are."""
    with pytest.raises(ValueError, match="the tasks are arithmetic, extraction, rag, helpdesk"):
        demo_samples("poetry")


def test_rag_prompts_hold_documents():
    """A rag thread has three to five document turns, then the question, then the answer."""
    for sample in demo_samples("rag"):
        roles = [turn.role for turn in sample.thread.get_turns()]
        assert roles[-2:] == ["user", "assistant"]
        assert set(roles[:-2]) == {"document"}
        assert 3 <= len(roles[:-2]) <= 5


def test_arithmetic_truth_is_the_number_given():
    """Outside talk, shells and tricks the last number of a good row is the expected one, of a bad row it is not."""
    for row in rows_of("arithmetic"):
        if row["writer"] not in ("wordy", "gamer", "formatter"):
            assert last_number(row["completion"], row["expected"]) == row["good"], row


def test_arithmetic_steps_are_right():
    """Every sum written in a good row is right."""
    signs = {
        "x": lambda a, b: a * b,
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "/": lambda a, b: a / b,
    }
    sums = 0
    for row in rows_of("arithmetic"):
        if row["good"]:
            for a, sign, b, result in re.findall(r"(\d+) ([x+/-]) (\d+) = (\d+)", row["completion"]):
                assert signs[sign](int(a), int(b)) == int(result), row
                sums += 1
    assert sums > 300


def test_extraction_truth_is_the_share_of_right_keys():
    """The share counted from the JSON found in the text is the truth stated."""
    for row in rows_of("extraction"):
        expected = json.loads(row["expected"])
        found = re.search(r"\{.*\}", row["completion"], re.DOTALL) if row["writer"] != "gamer" else None
        given = json.loads(found.group()) if found else {}
        right = sum(
            type(given.get(key)) is type(value) and given[key] == value for key, value in expected.items()
        )
        assert row["truth"] == pytest.approx(right / len(expected)), row


def facts_in(text, shapes):
    """Every (key, subject, value) that a sentence of one of these shapes says."""
    for key, shape in shapes:
        pattern = re.escape(shape).replace(r"\{s\}", "(?P<s>.+)").replace(r"\{v\}", "(?P<v>.+)")
        if match := re.fullmatch(pattern, text):
            yield key, match["s"], match["v"]


def test_rag_support_is_exact_claim_by_claim():
    """A claim is marked supported just when a document says the same, and truth is their share."""
    attributes = [one for ones in _ATTRIBUTES.values() for one in ones]
    documents = [(one.key, shape) for one in attributes for shape in one.document]
    claims = [(one.key, shape) for one in attributes for shape in one.claim]
    checked = Counter()
    for row in rows_of("rag"):
        shown = {fact for turn in row["prompt"][:-1] for fact in facts_in(turn["content"], documents)}
        said = re.sub(r" \[\d\]", "", row["completion"])
        for claim in row.get("claims", ()):
            assert claim["text"] in said
            supported = bool(shown & set(facts_in(claim["text"], claims)))
            assert claim["supported"] == supported, (claim, shown)
            checked[supported] += 1
        flags = [claim["supported"] for claim in row.get("claims", ())]
        assert row["truth"] == pytest.approx(sum(flags) / len(flags) if flags else 0, abs=1e-4)
    assert min(checked.values()) > 100


def test_helpdesk_truth_is_the_decay_applied():
    """Truth follows from the operator, and the operator from the parts of the hand-written reply still there."""
    for row in rows_of("helpdesk"):
        _, first, second, fact, wrong = CASES[int(row["group"][-3:])]
        there = tuple(part in row["completion"] for part in (first, second, fact, wrong))
        whole = there == (True, True, True, False)
        expected = 1.0 if whole and row["writer"] != "gamer" else DECAYS.get(row["operator"], 0.0)
        assert row["truth"] == expected, row
        if row["operator"] in DECAYS:
            shapes = {"fact_missing": (1, 1, 0, 0), "step_missing": (0, 1, 1, 0), "fact_wrong": (1, 1, 0, 1)}
            assert there == shapes[row["operator"]]


def test_good_is_a_rule_of_truth():
    """Good is truth 1, for helpdesk from 0.75 on."""
    for row in ROWS:
        assert row["good"] == (row["truth"] >= (0.75 if row["task"] == "helpdesk" else 1.0))


def near(part, whole, chance):
    """Within four standard errors: fails once in 16,000 for a generator that does what it says."""
    return abs(part / whole - chance) <= 4 * math.sqrt(chance * (1 - chance) / whole)


def test_writers_keep_their_rates():
    """Careful and hasty are right about as often as stated, wordy always, the others never by skill."""
    whole = {"worked", "plain", "bare", "padded", "fenced"}
    for writer, chance in RIGHT_RATE.items():
        own = [row for row in ROWS if row["writer"] == writer]
        assert near(sum(row["operator"] in whole for row in own), len(own), chance)
    assert set(WRITERS) == {row["writer"] for row in ROWS}
    assert all(row["good"] for row in ROWS if row["writer"] == "wordy")
    assert not any(row["good"] for row in ROWS if row["writer"] in ("fluent_wrong", "formatter", "gamer"))


@pytest.mark.parametrize("task", TASKS)
def test_every_trick_is_tried_in_every_task(task):
    """The gamer goes through the whole list in each task, and a trick is worth nothing."""
    tried = [row for row in rows_of(task) if row["writer"] == "gamer"]
    assert {row["operator"] for row in tried} == set(PROBES)
    assert {row["truth"] for row in tried} == {0.0}


@pytest.mark.parametrize("annotator", ANNOTATORS, ids=lambda one: one.column)
def test_annotators_keep_their_rates(annotator):
    """On easy rows labels are right at the stated rates, on hard rows half the time."""
    for good, chance in ((True, annotator.sensitivity), (False, annotator.specificity)):
        easy = [row[annotator.column] == good for row in ROWS if row["good"] == good and not row["sim_hard"]]
        assert near(sum(easy), len(easy), chance)
    hard = [row[annotator.column] == row["good"] for row in ROWS if row["sim_hard"]]
    assert near(sum(hard), len(hard), 0.5)
    assert near(len(hard), len(ROWS), HARD_RATE)


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda one: f"{one.task} {one.name}")
def test_planted_defects_have_the_size_in_the_card(defect):
    """A naive grader's errors on the committed samples are those the card states, and its fault shows."""
    rates = measure(
        defect,
        [sample.thread.metadata | {"completion": sample.thread.completion()} for sample in demo_samples()],
    )
    line = next(
        line
        for line in (FOLDER / "DATA_CARD.md").read_text("utf-8").splitlines()
        if f"| {defect.name} | {defect.task} |" in line
    )
    assert f"| {rates.rejected} of {rates.good} (" in line
    assert f"| {rates.accepted} of {rates.bad} (" in line
    if "too lenient" in defect.fault:
        assert rates.accepted / rates.bad > 0.05
    if "too strict" in defect.fault:
        assert rates.rejected / rates.good > 0.3
        assert rates.accepted == 0


def test_the_card_says_what_it_is():
    """The card says that a program made the data, from which seed, without people or language models."""
    text = card(ROWS, seed=SEED)
    assert f"seed {SEED}" in text
    assert "No person labelled these rows and no language model wrote them" in text
    assert "1,920 completions of 280 prompts" in text


def test_texts_vary():
    """No task reads as one template: openings differ, and few completions are the same text."""
    for task in TASKS:
        own = rows_of(task)
        asked = [
            row["prompt"] if isinstance(row["prompt"], str) else row["prompt"][-1]["content"] for row in own
        ]
        shapes = {re.sub(r"\d+|[A-Z][\w']+", "_", text)[:40] for text in asked}
        assert len(shapes) >= 12, task
        longer = [
            row["completion"] for row in own if row["writer"] != "gamer" and len(row["completion"]) > 60
        ]
        assert len(set(longer)) > 0.8 * len(longer)
