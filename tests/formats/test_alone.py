"""Modules exported to a platform are self-contained: they need no workbench, change nothing, and give the same scores."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from tests.graders.code_examples import CODE_EXAMPLES
from workbench.core.errors import FormatError
from workbench.formats.frame.wrapping import unwrap, wrap
from workbench.graders.portable import portable

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ROWS = [
    {"turns": [["user", "2+2?"], ["assistant", said]], "metadata": {"topic": "sums"}, "reference": "4"}
    for said in ("4", " 4\n", "four", "it is 4", "")
]
BODY = (
    "    said = (thread.completion() or '').strip()\n    return float(said == thread.metadata['expected'])\n"
)
TYPED = "async def grade(thread: {}) -> float:\n" + BODY
SOURCES = {
    "plain": "async def grade(thread):\n" + BODY,
    "name": "from workbench import StringThread\n\n\n" + TYPED.format("StringThread"),
    "module": "import workbench as wb\n\n\n" + TYPED.format("wb.StringThread"),
    "harmony": "from adaptive_harmony import StringThread as T\n\n\n" + TYPED.format("T"),
    "future": "from __future__ import annotations\n\nimport re, workbench\n\n\n" + TYPED.format("workbench.StringThread"),
    "used": (
        "import workbench.core.thread as own\nfrom workbench import (\n    StringThread,  # both\n)\n\n\nasync def grade(thread):\n"
        "    import workbench as wb; made = wb.StringThread([('user', 'q')])\n"
        "    assert own.StringThread is StringThread is wb.StringThread and made.completion() is None\n" + BODY
    ),
    "optional": (
        "try:\n    from workbench import Suite\nexcept ImportError:\n    Suite = None\n\n\nasync def grade(thread):\n"
        "    assert Suite is None\n" + BODY
    ),
    "names of its own": (
        "import collections as _Turn\n\n\ndef _text(value):\n    return value.strip()\n\n\nclass Sample:\n    _calls = 1.0\n\n\n"
        "async def grade(thread):\n    same = _text(thread.completion()) == thread.metadata['expected']\n"
        "    return Sample._calls if same and _Turn.deque() is not None else 0.0\n"
    ),
}  # fmt: skip
PLATFORMS = {"letta": ".yaml", "osmosis": ".py", "openai": ".json"}
RULES = [kind for kind in CODE_EXAMPLES if kind not in {"json-schema", "tool-call", "per-turn"}]


def run_alone(jobs, *options, rows=ROWS):
    beside = "beside" in options
    done = subprocess.run(
        [sys.executable, *([] if beside else ["-I", "-S"]), str(HERE / "run_alone.py"), *options],
        input=json.dumps({"jobs": jobs, "rows": rows}), capture_output=True, text=True, cwd=HERE,
        env={**os.environ, "PYTHONPATH": str(ROOT)} if beside else {}, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def exported(grader, platform, folder):
    """The module a platform gets, as a job for the script."""
    folder.mkdir()
    target = folder / f"suite{PLATFORMS[platform]}"
    wb.export(wb.Entry(grader, "one"), target, platform, allow_unvalidated=True)
    if platform == "openai":
        source = json.loads(target.read_text())
        target = folder / "suite.py"
        target.write_text(source["source"])
    elif platform == "letta":
        target = folder / "suite_one.py"
    return {"platform": platform, "path": str(target), "function": "suite_one_score"}


def here(grader):
    messages = [[{"role": role, "content": text} for role, text in row["turns"]] for row in ROWS]
    rows = [
        {"messages": said, **row["metadata"], "expected": row["reference"]}
        for said, row in zip(messages, ROWS, strict=True)
    ]
    return [grader(sample).score for sample in wb.Samples(rows)]


@pytest.mark.parametrize("where", ["alone", "beside"])
def test_exported_functions_stand_alone(where, tmp_path):
    """Without the workbench and with the real one: the same scores row by row, and no module created or changed."""
    graders = {name: wb.FunctionGrader.from_source(text) for name, text in SOURCES.items()}
    pairs = [(name, platform) for name in graders for platform in PLATFORMS]
    jobs = [
        exported(graders[name], platform, tmp_path / f"{at}") for at, (name, platform) in enumerate(pairs)
    ]
    expected = {name: here(grader) for name, grader in graders.items()}
    assert expected["plain"] == [1.0, 1.0, 0.0, 0.0, 0.0]
    for pair, told in zip(pairs, run_alone(jobs, where), strict=True):
        assert told == {"scores": expected[pair[0]], "changed": []}, pair


def test_exported_rules_stand_alone(tmp_path):
    """A rule written as a function for Letta and Osmosis gives its scores where there is no workbench."""
    found = []
    for at, (kind, platform) in enumerate(
        (kind, platform) for kind in RULES for platform in ("letta", "osmosis")
    ):
        grader = CODE_EXAMPLES[kind]()
        try:
            job = exported(grader, platform, tmp_path / f"{at}")
        except FormatError:
            continue
        if Path(job["path"]).is_file():  # Letta's own functions need no module
            found.append((grader, job))
    assert len(found) > 12
    for (grader, job), told in zip(found, run_alone([job for _, job in found]), strict=True):
        scores = [score if isinstance(score, float) else None for score in told["scores"]]
        assert (scores, told["changed"]) == (here(grader), []), (job, told)


def test_captured_sources_load_without_the_workbench(tmp_path):
    """A text captured with an annotation of the thread, saved and loaded, is a self-contained module."""
    texts = [
        wb.capture("import workbench as wb\n\n\n@wb.grader\n" + TYPED.format("wb.StringThread")).text,
        wb.capture(SOURCES["name"], namespace={}).text,
        wb.capture(TYPED.format("wb.StringThread"), namespace={"wb": wb}).text,
        portable(wb.Contains("4")),
    ]
    wb.save(
        [wb.FunctionGrader.from_source(text, name=f"g{at}") for at, text in enumerate(texts)],
        tmp_path / "g.json",
        allow_unvalidated=True,
    )
    held = [grader.source.text for grader in wb.load(tmp_path / "g.json").graders]
    jobs = []
    for at, text in enumerate(held[:3]):
        assert "import workbench" not in text
        (tmp_path / f"{at}.py").write_text(text)
        jobs.append({"platform": "", "path": str(tmp_path / f"{at}.py")})
    assert [told["scores"] for told in run_alone(jobs)] == [[1.0, 1.0, 0.0, 0.0, 0.0]] * 3
    assert "import StringThread" not in held[3]


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("name", SOURCES)
def test_the_authors_text_comes_back(name, platform):
    """Imports that became comments are imports again, byte for byte."""
    assert unwrap(wrap(SOURCES[name], platform, name="n"), platform, name="n") == SOURCES[name]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('x = """\n"""; import workbench\n\n\n' + SOURCES["plain"], "separate line"),
        (SOURCES["plain"] + "\n\n_wb_x = 1\n", "_wb_x"),
        (SOURCES["plain"] + "\n\nclass n:\n    pass\n", "rename it"),
        (SOURCES["plain"] + "# given by this file: x\n", "mark "),
    ],
)
def test_what_the_lines_around_a_grader_need_is_not_taken(text, part):
    """A text that cannot be embedded unchanged is refused by name."""
    with pytest.raises(FormatError, match=part):
        wrap(text, "letta", name="n")


@pytest.mark.parametrize("version", ["", "_number", "_outcomes"])
@pytest.mark.parametrize("platform", PLATFORMS)
def test_files_of_before_are_read(platform, version):
    """The grader is restored from the frame of earlier files, and an edited frame is part of the grader."""
    text = (HERE / "earlier" / f"{platform}{version}.txt").read_text()
    own = unwrap(text, platform, name="g_score")
    assert own is not None
    assert own.startswith("from __future__ import annotations\n\nfrom workbench import StringThread\n")
    assert unwrap(text.replace("self.tools = []", "self.tools = [1]"), platform, name="g_score") is None


def test_a_grader_that_takes_a_name_is_left_out_on_request(tmp_path):
    """The others are written; the report names the grader, what is in the way, and what to do."""
    taking = wb.FunctionGrader.from_source(
        SOURCES["plain"] + "\n\nbad_score = WorkbenchGrader = _wb_x = 1\n", name="bad"
    )
    suite = wb.Suite([taking, wb.FunctionGrader.from_source(SOURCES["plain"], name="good")])
    for platform, ending in PLATFORMS.items():
        target = tmp_path / f"{platform}{ending}"
        done = wb.export(suite, target, platform, on_loss="report", allow_unvalidated=True)
        assert ("bad", "source") in {(loss.grader, loss.field) for loss in done.losses}
        assert len(wb.load(target)) == 1


@pytest.mark.parametrize("spelled", ["wb.StringThread", "StringThread"])
def test_adaptive_gets_the_import_its_examples_have(spelled, tmp_path):
    """There the annotated name is imported again, so that code which reads the annotation finds it."""
    source = wb.capture(TYPED.format(spelled), namespace={"wb": wb, "StringThread": wb.StringThread})
    assert "import workbench" not in source.text
    assert "import StringThread" not in source.text
    wb.export(
        wb.FunctionGrader(source=source, name="g"), tmp_path / "g.json", "adaptive", allow_unvalidated=True
    )
    grader = wb.load(tmp_path / "g.json", trust=True)[0]
    line = "import adaptive_harmony as wb" if "." in spelled else "from adaptive_harmony import StringThread"
    assert line in grader.source.text
    assert here(grader) == [1.0, 1.0, 0.0, 0.0, 0.0]
    wb.export(wb.Contains("4", name="r"), tmp_path / "r.json", "adaptive")
    assert "from adaptive_harmony import StringThread" in (tmp_path / "r.json").read_text()
