"""Every target: its file is self-contained, is called as its target calls it, and gives the validated scores."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from tests.formats.targets.call_shapes import CALLS
from tests.graders.code_examples import CODE_EXAMPLES
from workbench.core import background
from workbench.core.errors import FormatError
from workbench.formats import FORMATS
from workbench.formats.targets.target import TEXT, Target
from workbench.graders import Control
from workbench.graders.combine.combined import combine
from workbench.report.certificate import comment_lines

TARGETS = {name: chosen for name, chosen in FORMATS.items() if isinstance(chosen, Target) and name in CALLS}
"""Every target whose calls `call_shapes` knows; another has a test of its own."""
HERE = Path(__file__).parent
ROWS = [
    {"prompt": "2+2?", "completion": said, "expected": expected, "level": level}
    for said, expected, level in [
        ("4", "4", 1), (" 4\n", "4", 2), ("four", "4", 3), ("it is 4", "4", 4), ("", "4", 5), ("5 apples", "5", 6),
        ('{"a": {"b": 1}, "c": null}', "a", 7), ("Ä ☕ 4", "Ä ☕", 8), ("no idea", "no", 0),
    ]
]  # fmt: skip
SAMPLES = wb.Samples(ROWS)
HEAD = "from __future__ import annotations\n\nimport re\nfrom dataclasses import dataclass\n\nimport workbench as wb\n\n\n"
SOURCES = {
    "found": "async def grade(thread):\n    return 1.0 if (thread.metadata or {}).get('expected', '?') in (thread.completion() or '') else 0.0\n",
    "levels": (
        HEAD + "@dataclass\nclass Found:\n    digits: int\n    asked: str = ''\n\n\nasync def grade(thread: wb.StringThread) -> float:\n"
        "    found = Found(len(re.findall(r'\\d', thread.completion() or '')))\n    return found.digits / 2\n"
    ),
    "fails": "async def grade(thread):\n    return 1 / len(thread.completion())\n",
    "skips": (
        "import workbench as wb\n\n\nasync def grade(thread):\n    if not thread.completion():\n        raise wb.Skip('empty')\n"
        "    return wb.Grade(0.25 * len(thread.completion()) % 1, reasoning='by length')\n"
    ),
}  # fmt: skip
GRADERS = {name: wb.FunctionGrader.from_source(text, name=name) for name, text in SOURCES.items()}


def called(jobs, rows=()):
    """What each job's file gives for each row; for the rows of this module where none are given."""
    rows = rows or [
        {
            "asked": [{"role": "user", "content": row["prompt"]}],
            "said": [{"role": "assistant", "content": row["completion"]}],
            "name": "expected", "reference": row["expected"],
            "columns": {"expected": row["expected"], "level": row["level"]},
        }
        for row in ROWS
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(HERE / "call_shapes.py")], input=json.dumps({"jobs": jobs, "rows": rows}),
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def exported(suite, target, path, **how):
    wb.export(suite, path, target, allow_unvalidated=True, **how)
    settings = json.loads(path.read_text("utf-8").splitlines()[-1].removeprefix("# settings: "))
    return {
        "target": target,
        "path": str(path),
        "functions": [one["function"] for one in settings["graders"]],
    }


def here(suite):
    """The combined scores, else those of the only grader; None for no score."""
    grades = {
        entry.name: background.run(entry.grade_all(SAMPLES, Control(workers=1))) for entry in suite.entries
    }
    whole = grades[suite.entries[0].name]
    if suite.combine is not None:
        whole = combine(suite.entries, grades, suite.combine)
    return [whole[at].score for at in range(len(SAMPLES))]


def close(found, expected):
    return [None if one is None else round(one, 9) for one in found] == [
        None if one is None else round(one, 9) for one in expected
    ]


@pytest.mark.parametrize("target", TARGETS)
def test_each_grader_scores_the_same(target, tmp_path):
    """Functions and rules, alone in a file: the same scores row by row, no score where there is none, nothing changed."""
    graders = GRADERS | {kind: make() for kind, make in CODE_EXAMPLES.items()}
    jobs, expected, hints = [], [], []
    for name, grader in graders.items():
        suite = wb.Suite([wb.Entry(grader, name)])
        try:
            jobs.append(exported(suite, target, tmp_path / f"{len(jobs)}.py"))
        except FormatError as refusal:
            hints.append(refusal.hint)
            continue
        expected.append((name, here(suite)))
    assert all(hints)
    assert set(SOURCES) <= {name for name, _ in expected}
    assert len(jobs) >= (9 if set(TARGETS[target].reads) == TEXT else 11)
    for (name, scores), found in zip(expected, called(jobs), strict=True):
        assert close(found["scores"], scores), (name, found["scores"], scores)
        assert found["changed"] == [], name


RULES = {
    "mean": wb.combine.Mean(),
    "strict mean": wb.combine.Mean(strict=True),
    "sum": wb.combine.Sum(),
    "all pass": wb.combine.AllPass(),
    "formula": wb.combine.Formula("min(found, 1 / levels) ^ 2 - 0.5 * short"),
    "no names": wb.combine.Formula("2 ^ -1"),
}


@pytest.mark.parametrize("rule", RULES)
def test_suites_score_the_same(rule, tmp_path):
    """Weights, negation, thresholds and rules are exported: each target's one number is the suite's."""
    suite = wb.Suite(
        [
            wb.Entry(GRADERS["found"], weight=2.0),
            wb.Entry(GRADERS["levels"], negate=rule == "sum", pass_threshold=0.5),
            wb.Entry(GRADERS["fails"], weight=0.5, severity="warning", on_error="zero"),
            wb.Entry(wb.Length(maximum=3), "short", negate=True, severity="info"),
            wb.Entry(GRADERS["skips"], weight=0.25, severity="info"),
        ],
        combine=RULES[rule],
    )
    targets = [name for name in TARGETS if name not in {"gemini", "together"}]
    jobs = [exported(suite, name, tmp_path / f"{at}.py") for at, name in enumerate(targets)]
    scores = here(suite)
    assert any(score is not None for score in scores)
    for name, found in zip(targets, called(jobs), strict=True):
        rows = found["scores"]
        if name == "verifiers" and rule in {"mean", "sum"}:
            # verifiers adds its rewards itself, and has no row where one of them has no score.
            rows = [row if row is not None else score for row, score in zip(rows, scores, strict=True)]
        assert close(rows, scores), (name, rows, scores)


@pytest.mark.parametrize("target", TARGETS)
def test_files_come_back(target, tmp_path):
    """The graders' texts byte for byte, weights and rule; a line around them that was changed is noticed."""
    suite = wb.Suite(
        [wb.Entry(GRADERS["found"], weight=2.0), wb.Entry(GRADERS["levels"], negate=True)], combine=wb.combine.Mean(),
        name="both",
    )  # fmt: skip
    path = tmp_path / "g.py"
    wb.export(suite, path, target, allow_unvalidated=True)
    assert [one.name for one in FORMATS.values() if one.detect(None, path.read_text("utf-8")) == 2] == [
        target
    ]
    again = wb.load(path)
    assert [one.source.text for one in again.graders] == [one.source.text for one in suite.graders]
    assert all(one.source.imported for one in again.graders)
    assert (again.combine, again.name) == (suite.combine, "both")
    assert [(one.name, one.weight, one.negate) for one in again.entries] == [
        ("found", 2.0, False),
        ("levels", 1.0, True),
    ]
    text = path.read_text("utf-8")
    wb.export(again, tmp_path / "again.py", target, allow_unvalidated=True)
    assert (tmp_path / "again.py").read_text("utf-8") == text
    path.write_text(text.replace("return answer\n", "return answer  # now\n", 1))
    with pytest.raises(FormatError, match="edited"):
        wb.load(path)


TOGETHER = {
    "one": "LIMIT = 1\nSEEN = []\n\n\nasync def grade(thread):\n    return float(LIMIT + len(SEEN))\n",
    "other limit": "LIMIT = 2\n\n\nasync def grade(thread):\n    return float(LIMIT)\n",
    "changes": "LIMIT = 1\nSEEN = []\n\n\nasync def grade(thread):\n    SEEN.append(1)\n    return float(LIMIT)\n",
    "calls itself": "async def grade(thread, deep=1):\n    return 1.0 if not deep else await grade(thread, 0)\n",
    "own sum": "def sum(values):\n    return 7.0\n\n\nasync def grade(thread):\n    return sum([1])\n",
    "their sum": "async def grade(thread):\n    return float(sum([1, 2]))\n",
    "typed": HEAD
    + "@dataclass\nclass SEEN:\n    digits: int\n\n\nasync def grade(thread: wb.StringThread) -> float:\n    return float(SEEN(3).digits)\n",
    "same limit": "import json, re\nLIMIT = 1\n\n\nasync def grade(thread):\n    return LIMIT / 2 if re and json else 0.0\n",
}


def test_graders_that_share_a_file_keep_their_names(tmp_path):
    """A name that two bind to different things, or that one changes, is each grader's own; the texts come back."""
    graders = [wb.FunctionGrader.from_source(text, name=name) for name, text in TOGETHER.items()]
    job = exported(wb.Suite(graders), "trl", tmp_path / "g.py")
    text = (tmp_path / "g.py").read_text("utf-8")
    assert text.count("_wb_alone(\n    globals()") == 5
    parts = called([job])[0]["parts"]
    assert [set(values) for values in zip(*(part.values() for part in parts), strict=True)] == [
        {1.0}, {2.0}, {1.0}, {1.0}, {7.0}, {3.0}, {3.0}, {0.5}
    ]  # fmt: skip
    assert [grader.source.text for grader in wb.load(tmp_path / "g.py").graders] == list(TOGETHER.values())
    quotes = wb.FunctionGrader.from_source(
        TOGETHER["other limit"] + "A = ''''', '\"\"\"'\nB = '''''', \"\"\"\"\"\"\n", name="q"
    )
    with pytest.raises(FormatError, match="triple quotes"):
        exported(wb.Suite([graders[0], quotes]), "trl", tmp_path / "q.py")


def test_what_a_target_calls_its_functions_is_no_graders_name(tmp_path):
    """A grader that binds or reads a name of the file gets a separate namespace; functions are named after graders."""
    taken = wb.FunctionGrader.from_source(
        "def reward(x):\n    return x\n\n\ndef exact(x):\n    return reward(x)\n\n\nasync def grade(thread):\n    return exact(0.5)\n",
        name="exact",
    )
    job = exported(wb.Suite([taken, wb.Contains("4")]), "trl", tmp_path / "h.py")
    assert job["functions"] == ["exact", "contains"]
    assert [part["exact"] for part in called([job])[0]["parts"]] == [0.5] * len(ROWS)
    local = wb.FunctionGrader.from_source(
        "async def grade(thread):\n    exact = 0.5\n    return exact\n", name="exact"
    )
    exported(wb.Suite(local), "trl", tmp_path / "l.py")
    assert "_wb_alone" not in (tmp_path / "l.py").read_text("utf-8")


@pytest.mark.parametrize("target", [name for name, one in TARGETS.items() if not one.words])
def test_on_error_chooses(target, tmp_path):
    """If a target cannot represent a missing score, a number may replace it, and both are reported."""
    raising = wb.export(GRADERS["fails"], tmp_path / "r.py", target, allow_unvalidated=True)
    assert any("missing score: the file raises" in note.what for note in raising.notes)
    job = exported(wb.Suite(GRADERS["fails"]), target, tmp_path / "z.py", on_error=-0.5)
    expected = [-0.5 if score is None else score for score in here(wb.Suite(GRADERS["fails"]))]
    assert close(called([job])[0]["scores"], expected)
    assert -0.5 in expected
    for wrong in (float("nan"), True, "zero"):
        with pytest.raises(ValueError, match="on_error"):
            wb.export(GRADERS["fails"], tmp_path / "w.py", target, allow_unvalidated=True, on_error=wrong)


def test_on_error_means_nothing_where_there_is_a_word(tmp_path):
    """TRL leaves a None out: a number in its place would be a lie."""
    for name in ("trl", "native", "inspect"):
        with pytest.raises(ValueError, match="missing score"):
            wb.export(
                GRADERS["fails"],
                tmp_path / f"g{FORMATS[name].suffix}",
                name,
                allow_unvalidated=True,
                on_error=0.0,
            )


def test_scores_outside_a_targets_range_are_told(tmp_path):
    """A sum that may exceed Gemini's range is a loss; an unknown range is a note; nothing is clipped."""
    rules = [wb.Contains("4", name="a"), wb.Contains("5", name="b")]
    with pytest.raises(FormatError, match="0 to 2.*-1 to 1"):
        wb.export(wb.Suite(rules, combine=wb.combine.Sum()), tmp_path / "g.py", "gemini")
    done = wb.export(wb.Suite(rules, combine=wb.combine.Sum()), tmp_path / "g.py", "gemini", on_loss="report")
    assert [loss.field for loss in done.losses] == ["range"]
    assert not wb.export(wb.Suite(rules, combine=wb.combine.Mean()), tmp_path / "m.py", "gemini").losses
    told = wb.export(GRADERS["levels"], tmp_path / "f.py", "gemini", allow_unvalidated=True).notes
    assert any(note.field == "range" for note in told)


@pytest.mark.parametrize("target", [name for name, one in TARGETS.items() if one.combines])
def test_one_number_needs_a_rule(target, tmp_path):
    """Several graders without a rule are refused if one number is needed, or written as their mean, which is reported."""
    suite = wb.Suite([wb.Contains("4", name="a"), wb.Contains("5", name="b")])
    with pytest.raises(FormatError, match="one number per row"):
        wb.export(suite, tmp_path / "g.py", target)
    done = wb.export(suite, tmp_path / "g.py", target, on_loss="report")
    assert [loss.instead for loss in done.losses] == ["the weighted mean"]
    assert wb.load(tmp_path / "g.py").combine == wb.combine.Mean()


@pytest.mark.parametrize("target", [name for name, one in TARGETS.items() if set(one.reads) == TEXT])
def test_what_is_not_passed_is_refused(target, tmp_path):
    """A grader that reads more of the conversation than the target passes is named, with what it reads."""
    reads = wb.FunctionGrader.from_source(
        "async def grade(thread):\n    return float(len(thread.get_turns()))\n", name="n"
    )
    with pytest.raises(FormatError, match=r"thread\.get_turns"):
        wb.export(reads, tmp_path / "g.py", target, allow_unvalidated=True)
    with pytest.raises(FormatError, match="only the completion"):
        wb.export(wb.Contains("4", extractor="all_assistant"), tmp_path / "g.py", target)


FOREIGN = {
    "trl": "def f(prompts, completions, expected, **kwargs):\n    return [float(e in c) if c else None for c, e in zip(completions, expected)]\n",
    "verl": "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n    return {'score': float(ground_truth in solution_str), 'level': extra_info['level']}\n",
    "openrlhf": "def reward_func(queries, prompts, labels):\n    return {'rewards': [float(label in query[len(prompt):]) for query, prompt, label in zip(queries, prompts, labels)]}\n",
    "together": "def exact(prediction, target):\n    return target in prediction\n",
}  # fmt: skip


@pytest.mark.parametrize("target", FOREIGN)
def test_trainers_functions_are_read(target, tmp_path):
    """A function by its trainer's signature is a grader that runs in the sandbox as the trainer calls it."""
    path = tmp_path / "mine.py"
    path.write_text(FOREIGN[target])
    suite = wb.load(path, target if target == "together" else None)
    assert suite[0].signature == target
    assert suite[0].validate(SAMPLES[0]).ok
    expected = [float(row["expected"] in row["completion"]) for row in ROWS]
    if target == "trl":
        expected[4] = None
    assert [suite[0](sample).score for sample in SAMPLES] == expected
    wb.save(suite, tmp_path / "g.json", allow_unvalidated=True)
    assert wb.load(tmp_path / "g.json")[0].source == suite[0].source


@pytest.mark.parametrize("target", TARGETS)
def test_certificates_travel(target, tmp_path):
    """The file contains the certificate as text; it is restored, and is no longer valid for another text."""
    grader = wb.FunctionGrader.from_source(SOURCES["found"], name="found")
    grader.validate()
    proven = wb.certificate(grader, grader.run(SAMPLES, progress=False))
    path = tmp_path / "g.py"
    assert not wb.export(grader, path, target, certificate=proven).losses
    text = path.read_text("utf-8")
    assert f"# certificate: {comment_lines(proven)[0]}" in text
    again = wb.load(path)
    assert again.certificate.spec() == proven.spec()
    assert again.certificate.check(again) == ()
    path.write_text(text.replace("'?'", "'!'"))
    assert any("source" in part for part in wb.load(path).certificate.check(wb.load(path)))
    path.write_text(text.replace("# certificate: ", "# certificate: not ", 1))
    with pytest.raises(FormatError, match="edited"):
        wb.load(path)


@pytest.mark.parametrize("target", TARGETS)
def test_trainers_functions_go_to_every_target(target, tmp_path):
    """A trainer's function gives the same scores here and in the file of any other trainer, and it is restored."""
    for at, (name, text) in enumerate(FOREIGN.items()):
        suite = wb.loads(
            text.replace("extra_info['level']", "extra_info.get('level', None or 0)"), name, trust=True
        )
        how = {} if TARGETS[target].columns else {"on_loss": "report"}  # the column level
        job = exported(suite, target, tmp_path / f"{at}.py", **how)
        (found,) = called([job])
        assert found["scores"] == [suite[0](sample).score for sample in SAMPLES], name
        assert wb.load(tmp_path / f"{at}.py")[0].source.text == suite[0].source.text
        assert wb.load(tmp_path / f"{at}.py")[0].signature == name
    chat = "def f(prompts, completions, **kwargs):\n    return [len(c[-1]['content']) / len(p[-1]['content']) for p, c in zip(prompts, completions)]\n"
    suite = wb.loads(chat, "trl", trust=True)
    if "messages" not in TARGETS[target].reads:
        with pytest.raises(FormatError, match="does not pass the prompt"):
            exported(suite, target, tmp_path / "chat.py")
        return
    (found,) = called([exported(suite, target, tmp_path / "chat.py")])
    assert close(found["scores"], [suite[0](sample).score for sample in SAMPLES])


def test_a_graders_text_may_hold_what_looks_like_ours(tmp_path):
    """Comments that begin as our settings and certificates do are the grader's own."""
    text = "# settings: {}\n# certificate: of nobody\n\n\nasync def grade(thread):\n    return 1.0\n"
    wb.export(wb.FunctionGrader.from_source(text, name="g"), tmp_path / "g.py", "trl", allow_unvalidated=True)
    assert wb.load(tmp_path / "g.py")[0].source.text == text


SHADOWS = {
    "sum": "def sum(values):\n    return 7.0\n\n\nasync def grade(thread):\n    return sum([1])\n",
    "all": "def all(values):\n    return True\n\n\nasync def grade(thread):\n    return 0.5 if all([0]) else 0.0\n",
    "float": "def float(value):\n    return 'no'\n\n\nasync def grade(thread):\n    return 0.25\n",
    "zip": "async def grade(thread):\n    return 1.0\n",
    "FILENAME_ok": "async def grade(thread):\n    return 0.75\n",
    "score": "async def grade(thread):\n    return 0.0\n",
}


@pytest.mark.parametrize(
    "rule", [wb.combine.Mean(), wb.combine.AllPass(), wb.combine.Formula("max(zip, score) / 2")]
)
def test_names_of_pythons_own_are_nobodys(rule, tmp_path):
    """Graders that bind or are called as Python's own functions, or as a target's words, change no other's score."""
    graders = [wb.FunctionGrader.from_source(text, name=name) for name, text in SHADOWS.items()]
    suite = wb.Suite(graders, combine=rule)
    targets = [name for name in TARGETS if name not in {"gemini", "together"}]
    jobs = [exported(suite, name, tmp_path / f"{at}.py") for at, name in enumerate(targets)]
    for name, found in zip(targets, called(jobs), strict=True):
        assert close(found["scores"], here(suite)), name


def test_what_graders_share_could_not_change(tmp_path):
    """Tables and counters of one name are each grader's own: a row of one leaves nothing for the other."""
    text = "import itertools\nN = itertools.count(1)\nSTATE = {'seen': []}\n\n\nasync def grade(thread):\n    STATE['seen'].append(1)\n    return float(next(N) + len(STATE['seen']))\n"
    graders = [wb.FunctionGrader.from_source(text, name=name) for name in ("a", "b")]
    (found,) = called([exported(wb.Suite(graders), "langsmith", tmp_path / "g.py")])
    assert [part["a"] for part in found["parts"]] == [part["b"] for part in found["parts"]]


def test_every_function_of_a_file_is_read():
    """A file of several reward functions is a suite of them."""
    text = "def accuracy(completions, **kwargs):\n    return [1.0]\n\n\ndef style(prompts, completions, **kwargs):\n    return [0.5]\n"
    suite = wb.loads(text, trust=True)
    assert [(entry.name, entry(SAMPLES[0]).score) for entry in suite.entries] == [
        ("accuracy", 1.0),
        ("style", 0.5),
    ]


def test_an_openrlhf_query_ends_with_tokens_alone(tmp_path):
    """End tokens are not part of the completion, its blanks are; the cost of a long text is linear."""
    import runpy

    from workbench.graders.rules.threads import completion_of

    source = "async def grade(thread):\n    return float(len(thread.completion()))\n"
    wb.export(wb.FunctionGrader.from_source(source), tmp_path / "g.py", "openrlhf", allow_unvalidated=True)
    there = runpy.run_path(str(tmp_path / "g.py"))["completion_of"]
    for text, expected in {
        "4\n": "4\n", "4<|im_end|>\n": "4", "4 </s><pad><pad>": "4 ", "4<end_of_turn>": "4", "<|im_end|>": "",
        " " * 100_000 + "x": " " * 100_000 + "x", "<pad>" * 8_000 + "x": "<pad>" * 8_000 + "x", "y" + "<pad>" * 8_000: "y",
    }.items():  # fmt: skip
        assert there("q" + text, "q") == completion_of("q" + text, "q") == expected


@pytest.mark.parametrize("target", ["langsmith", "mlflow"])
def test_a_grader_called_combined_keeps_its_name(target, tmp_path):
    """The suite's score gets another name."""
    found = wb.FunctionGrader.from_source(SOURCES["found"], name="combined")
    suite = wb.Suite([found, GRADERS["levels"]], combine=wb.combine.Mean(), name="total")
    wb.export(suite, tmp_path / "g.py", target, allow_unvalidated=True)
    text = (tmp_path / "g.py").read_text("utf-8")
    assert '"combined 2"' in text
    assert text.count('"combined"') >= 2
