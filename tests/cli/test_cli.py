"""The command line does the main job, and says what went wrong in words."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import workbench as wb
from workbench.cli import main
from workbench.data.samples.frame_columns import UnreadableRowsError
from workbench.formats import FORMATS

GRADER = "async def grade(thread: StringThread) -> float:\n    return float('yes' in (thread.completion() or ''))\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "g.py").write_text(GRADER, "utf-8")
    rows = [{"prompt": str(i), "completion": "yes" if i % 3 else "no"} for i in range(60)]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return tmp_path


def test_demo_does_the_main_job(tmp_path, capsys):
    """The demo validates, grades, prints findings and writes both files."""
    assert main(["demo", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert said.count("✓ test_run") == 3
    assert "too lenient" in said
    assert "too strict" in said
    assert len(json.loads((tmp_path / "out" / "graders.json").read_text("utf-8"))["graders"]) == 3
    assert "<html" in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_demo_prints_one_json_document(tmp_path, capsys):
    """With the summary, the findings and the files; all else is on stderr."""
    assert main(["demo", "--json", "--out", str(tmp_path / "out")]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["rows"] == 1920
    assert [Path(path).name for path in printed["files"]] == ["graders.json", "report.html"]


def test_validate_then_run(files, capsys):
    """A module is proved and saved, and the saved file grades samples."""
    assert main(["validate", str(files / "g.py"), "--out", str(files / "g.json")]) == 0
    command = ["run", str(files / "g.json"), str(files / "s.jsonl"), "--draw", "30", "--seed", "1"]
    assert main([*command, "--report", str(files / "r.html"), "--scores", str(files / "s.csv")]) == 0
    assert "1 grader on 30 rows" in capsys.readouterr().out
    assert len((files / "s.csv").read_text("utf-8").splitlines()) == 31
    assert (files / "r.html").exists()


def test_repeats_are_told(files, capsys):
    """Code of one's own is graded as often as asked; what agrees with itself each time has no finding."""
    command = ["run", str(files / "g.py"), str(files / "s.jsonl"), "--repeats", "3", "--reduce", "median"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "rows 3 times; 0 got different verdicts" in said
    assert "inconsistent" not in said


def test_a_run_goes_on(files, capsys):
    """The second command finds all rows graded."""
    command = ["run", str(files / "g.py"), str(files / "s.jsonl"), "--resume", str(files / "run.parquet")]
    assert main(command) == 0
    assert "not graded again" not in capsys.readouterr().err
    assert main(command) == 0
    assert "these rows were not graded again" in capsys.readouterr().err


@pytest.fixture
def parts(files):
    """Two Parquet files of 60 rows in a folder."""
    folder = files / "rows"
    folder.mkdir()
    for number in range(2):
        rows = [
            {"prompt": str(i), "completion": "yes" if i % 3 else "no", "good": bool(i % 3)} for i in range(60)
        ]
        pd.DataFrame(rows).to_parquet(folder / f"{number}.parquet")
    return folder


def test_an_overview(files, parts, capsys):
    """A folder of files is graded part by part; grades stay in a folder, and the second command finds all rows graded."""
    command = [
        "run",
        str(files / "g.py"),
        str(parts),
        "--overview",
        str(files / "graded"),
        "--labels",
        "good",
    ]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "1 grader on 120 rows" in said
    assert f"wrote 1 part in {files / 'graded'}" in said
    assert "not graded again" not in said
    report = wb.read_report(files / "graded" / "part-00000.parquet")
    assert len(report) == 120
    assert main(command) == 0
    assert "120 grades were in" in capsys.readouterr().out


def test_an_overview_of_a_table(files, capsys):
    """What is no Parquet is read whole; findings end with exit code 1 as after a run."""
    (files / "none.py").write_text(GRADER.replace("yes", "maybe"), "utf-8")
    rows = [{"prompt": str(i), "completion": "yes", "good": True} for i in range(60)]
    (files / "good.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    options = ["--overview", str(files / "graded"), "--labels", "good"]
    assert main(["run", str(files / "none.py"), str(files / "good.jsonl"), *options]) == 1
    said = capsys.readouterr()
    assert "too strict" in said.out
    assert "of severity error" in said.err


def test_an_overview_without_some_rows(files, parts, capsys, monkeypatch):
    """Rows that were not graded end with exit code 1, however good the others are."""
    monkeypatch.setattr("workbench.run.overview_run.PART_ROWS", 60)
    part = wb.Samples.part

    def lost(self, first, last):
        if first:
            raise UnreadableRowsError("gone", found="damaged", where="1.parquet")
        return part(self, first, last)

    monkeypatch.setattr(wb.Samples, "part", lost)
    assert main(["run", str(files / "g.py"), str(parts), "--overview", str(files / "graded")]) == 3
    said = capsys.readouterr()
    assert "60 of 120 rows were graded." in said.out
    assert "rows were left out" in said.err


def test_a_damaged_file_of_a_folder_is_named(files, parts, capsys):
    """It is no Parquet to its end."""
    whole = (parts / "1.parquet").read_bytes()
    (parts / "1.parquet").write_bytes(whole[: len(whole) // 2])
    assert main(["run", str(files / "g.py"), str(parts), "--overview", str(files / "graded")]) == 3
    said = capsys.readouterr().err
    assert "cannot be read" in said
    assert str(parts / "1.parquet") in said


def test_no_such_folder(files, capsys):
    """It is no question of kinds of files."""
    assert (
        main(["run", str(files / "g.py"), str(files / "nowhere"), "--overview", str(files / "graded")]) == 3
    )
    assert "No such file or folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--report", "r.html"], "found: --report"),
        (["--draw", "3"], "found: --draw"),
        (["--labels", "good", "--labels", "prompt"], "name one annotator's labels"),
    ],
)
def test_an_overview_is_no_report(files, parts, capsys, options, part):
    """What needs all rows at once is refused in words."""
    command = ["run", str(files / "g.py"), str(parts), "--overview", str(files / "graded"), *options]
    assert main(command) == (3 if "--labels" in options else 2)
    assert part in capsys.readouterr().err


def test_an_overview_beside_its_data(files, parts, capsys):
    """Grades are not written among the data; another folder is named."""
    assert main(["run", str(files / "g.py"), str(parts), "--overview", str(parts)]) == 3
    assert f"write them to '{parts}-graded'" in capsys.readouterr().err


def test_failed_validation_is_exit_one(files, capsys):
    """A cross is shown, nothing is written, and the exit code says so."""
    (files / "bad.py").write_text("def grade(t): return 1", "utf-8")
    assert main(["validate", str(files / "bad.py"), "--out", str(files / "bad.json")]) == 1
    assert "✗ structure" in capsys.readouterr().out
    assert not (files / "bad.json").exists()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["run", "{}/none.py", "{}/s.jsonl"], "the file cannot be read"),
        (["run", "{}/g.py", "{}/none.jsonl"], "none.jsonl"),
        (["validate", "{}/s.json"], "cannot be read"),
    ],
)
def test_errors_are_sentences(files, capsys, arguments, part):
    """A mistake ends in one message on stderr, without a traceback."""
    assert main([word.format(files) for word in arguments]) == 3
    said = capsys.readouterr().err
    assert said.startswith("workbench: ")
    assert part in said
    assert "Traceback" not in said


def test_sandbox_command(capsys):
    """The label of this machine is printed."""
    assert main(["sandbox"]) == 0
    assert "active layers" in capsys.readouterr().out


def test_module_form():
    """`python -m workbench` is the same command."""
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "--version"], check=True, capture_output=True, text=True
    )
    assert done.stdout.startswith("workbench ")


DECORATED = """import re
import workbench as wb

@wb.grader(timeout=2.0, name="yes")
async def says_yes(thread: wb.StringThread) -> float:
    return float("yes" in (thread.completion() or ""))


@wb.grader
async def brief(thread: wb.StringThread) -> float:
    return float(len(thread.completion() or "") < 3)
"""


def test_decorated_modules_are_read_as_written(files, capsys):
    """A file with @wb.grader above its functions holds so many graders, with their settings."""
    (files / "d.py").write_text(DECORATED, "utf-8")
    assert main(["validate", str(files / "d.py"), "--out", str(files / "d.json")]) == 0
    saved = json.loads((files / "d.json").read_text("utf-8"))["graders"]
    assert [(g["name"], g.get("timeout")) for g in saved] == [("yes", 2.0), ("brief", None)]
    assert main(["run", str(files / "d.json"), str(files / "s.jsonl")]) == 0
    assert "2 graders on 60 rows" in capsys.readouterr().out


def test_columns_and_labels_from_the_shell(files, capsys):
    """A CSV with other column names and text labels gets its verdict from the shell."""
    lines = [f"q{i},{'yes' if i % 2 else 'yes!'},{'TRUE' if i % 2 else 'false'}" for i in range(200)]
    (files / "m.csv").write_text("\n".join(["question,model_out,ok", *lines]), "utf-8")
    command = ["run", str(files / "g.py"), str(files / "m.csv"), "--labels", "ok"]
    assert main(command) == 3
    assert "no column was recognised as the completion" in capsys.readouterr().err
    assert main([*command, "--columns", "completion=model_out"]) == 1  # for being too lenient
    assert main([*command, "--columns", "completion=model_out", "--fail-on", "gate"]) == 0
    assert "too lenient (100 of 100 known-bad rows)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "part"),
    [("c.html", "<h1>Certificate of"), ("c.md", "# Certificate of"), ("c.json", '"certificate"')],
)
def test_a_run_writes_its_certificate(files, capsys, name, part):
    """A module is proved, run and certified in one command: as a page, as Markdown, or with its graders."""
    assert main(["run", str(files / "g.py"), str(files / "s.jsonl"), "--certificate", str(files / name)]) == 0
    assert f"wrote {files / name}" in capsys.readouterr().out
    assert part in (files / name).read_text("utf-8")
    if name.endswith(".json"):
        assert wb.load(files / name).certificate.rows == 60


def test_a_certificate_that_cannot_be_is_refused_before_the_run(files, capsys):
    """Another ending, a folder that is not there, and a grader that fails its checks cost no grading."""
    (files / "bad.py").write_text("async def grade(thread):\n    return None\n", "utf-8")
    for grader, name, part in (
        ("g.py", "c.txt", ".html or .md or .json"),
        ("g.py", "none/c.md", "no folder"),
        ("bad.py", "c.md", "is not validated"),
    ):
        assert (
            main(["run", str(files / grader), str(files / "s.jsonl"), "--certificate", str(files / name)])
            == 3
        )
        said = capsys.readouterr()
        assert part in said.err
        assert "isolation:" not in said.out


def test_a_grader_of_columns_is_certified_on_its_rows(files, capsys):
    """What reads columns that the mock row lacks is proved on the first rows of the run."""
    (files / "c.py").write_text(
        'def grade(sample, item):\n    return float(item["wanted"] == sample["output_text"])\n', "utf-8"
    )
    rows = [{"prompt": "p", "completion": "a", "wanted": "a"}] * 20
    (files / "c.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    command = ["run", str(files / "c.py"), str(files / "c.jsonl"), "--fail-on", "never"]
    assert main([*command, "--certificate", str(files / "c.md")]) == 0, capsys.readouterr()
    assert "all 5 passed" in (files / "c.md").read_text("utf-8")


def test_labels_of_several_people_from_the_shell(files, capsys):
    """`--labels` once for each person: what most of them say counts, and how far they agree is told."""
    rows = [f"q{i},yes,{i % 2},{i % 2},{(i // 2) % 2}" for i in range(200)]
    (files / "m.csv").write_text("\n".join(["prompt,completion,ann,ben,cyd", *rows]), "utf-8")
    people = [word for name in ("ann", "ben", "cyd") for word in ("--labels", name)]
    assert main(["run", str(files / "g.py"), str(files / "m.csv"), *people, "--fail-on", "never"]) == 0
    printed = capsys.readouterr().out
    assert "too lenient (100 of 100 known-bad rows)" in printed
    assert "the grader agrees with ann, ben and cyd" in printed


@pytest.mark.parametrize("option", [["--report", "no/r.html"], ["--scores", "no/s.csv"]])
def test_wrong_options_are_said_before_grading(files, capsys, option):
    """A folder that is not there is a sentence."""
    assert main(["run", str(files / "g.py"), str(files / "s.jsonl"), *option]) == 3
    said = capsys.readouterr()
    assert said.err.startswith("workbench: ")
    assert said.out == ""


def test_a_grader_without_a_score_is_exit_one(files):
    """A run in which a grader scored nothing is not a success."""
    (files / "b.py").write_text("async def grade(t):\n    return t.metadata['zz']\n", "utf-8")
    assert main(["run", str(files / "b.py"), str(files / "s.jsonl")]) == 1


ROW = {"prompt": "q", "completion": "yes"}


def suite_file(folder, **gate):
    """A suite of one grader whose scores are 1.0 on `ROW`, with a gate where one is given."""
    rule = wb.combine.SimpleGate(op="gte", value=gate["value"]) if gate else None
    path = folder / "suite.json"
    wb.save(wb.Suite([wb.Contains(expected="yes", name="yes")], gate=rule), path)
    return str(path)


@pytest.mark.parametrize(
    ("value", "fail_on", "code"),
    [
        (0.5, None, 0),
        (2.0, None, 1),
        (2.0, "gate", 1),
        (2.0, "error", 1),
        (2.0, "warning", 1),
        (2.0, "never", 0),
    ],
)
def test_a_failed_gate_is_exit_one(files, capsys, value, fail_on, code):
    """Whatever --fail-on says, but for never; stderr says why."""
    chosen = ["--fail-on", fail_on] if fail_on else []
    assert main(["run", suite_file(files, value=value), str(files / "s.jsonl"), *chosen]) == code
    assert ("the gate failed" in capsys.readouterr().err) == bool(code)


@pytest.mark.parametrize(
    ("known", "severity", "codes"),
    [
        (False, "error", {"gate": 0, "error": 1, "warning": 1, "never": 0}),
        (None, "warning", {"gate": 0, "error": 0, "warning": 1, "never": 0}),
    ],
)
def test_findings_fail_a_run_by_severity(files, capsys, known, severity, codes):
    """Errors by default, warnings where that is asked for, none under gate and never."""
    rows = [{**ROW, "prompt": str(at), "good": known} for at in range(200)]
    (files / "same.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    command = ["run", suite_file(files), str(files / "same.jsonl")]
    command += [] if known is None else ["--labels", "good"]
    for fail_on, code in codes.items():
        assert main([*command, "--fail-on", fail_on]) == code, fail_on
    assert main(command) == codes["error"]
    said = capsys.readouterr()
    assert f"{severity}" in said.out
    assert "exit code 1: " in said.err


@pytest.mark.parametrize("name", ["s.XLS", "s.json", "s.html"])
def test_scores_of_another_suffix_are_refused(files, name, capsys):
    """Another ending is refused before anything is graded, with the way out: it would be CSV under a false name."""
    assert main(["run", str(files / "g.py"), str(files / "s.jsonl"), "--scores", str(files / name)]) == 2
    told = capsys.readouterr()
    assert "s.csv" in told.err
    assert "scored" not in told.out
    assert not (files / name).exists()


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("s.csv", pd.read_csv),
        ("s.jsonl", lambda path: pd.read_json(path, lines=True)),
        ("s.PARQUET", pd.read_parquet),
        ("s.xlsx", pd.read_excel),
    ],
)
def test_scores_are_written_by_the_suffix(files, name, read):
    """The same rows in each format: one per grade, with text that a spreadsheet does not take for a formula."""
    (files / "r.py").write_text(
        "import workbench as wb\nasync def grade(thread):\n    return wb.Grade(float('yes' in thread.completion()), reasoning='=1+1')\n",
        "utf-8",
    )
    assert main(["run", str(files / "r.py"), str(files / "s.jsonl"), "--scores", str(files / name)]) == 0
    frame = read(files / name)
    assert len(frame) == 60
    assert frame["score"].sum() == 40
    assert set(frame["reasoning"]) == {"=1+1"}


def test_a_run_without_scores_fails_under_any_choice(files, capsys):
    """What was not measured has not passed; --fail-on is about what was."""
    (files / "broken.py").write_text("async def grade(thread):\n    raise ValueError('no')\n", "utf-8")
    assert main(["run", str(files / "broken.py"), str(files / "s.jsonl"), "--fail-on", "never"]) == 1
    assert "scored nothing" in capsys.readouterr().err


def test_help_of_other_commands_says_where_the_exit_codes_are(capsys):
    with pytest.raises(SystemExit):
        main(["convert", "--help"])
    assert "exit codes: see workbench --help" in capsys.readouterr().out


@pytest.mark.parametrize("command", [[], ["run"]])
def test_help_tells_the_exit_codes(capsys, command):
    """Of the whole and of `run`, which has more of them, with the default of --fail-on."""
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert re.search(r"exit codes:\n  0    success\n  1 .*gate", said, re.DOTALL)
    if command == ["run"]:
        assert "error (default) = also findings of severity error" in " ".join(said.split())


ESC = "\x1b]0;owned\x07\x1b[2J"


def test_no_control_characters_reach_the_terminal(files, capfd):
    """Names of files, graders and rows show as code points, on both streams and in the scores."""
    hostile = files / f"g{ESC.replace('/', '')}.jsonl"
    row = {**ROW, "id": f"row {ESC}"}
    hostile.write_text("\n".join(json.dumps({**row, "prompt": str(at)}) for at in range(5)), "utf-8")
    path, scores = files / f"{ESC}.json", files / "scores.csv"
    wb.save([wb.Contains(expected="yes", name=f"evil {ESC}")], path)
    spent = [
        main(
            ["run", str(path), str(hostile), "--scores", str(scores), "--report", str(files / f"{ESC}.html")]
        ),
        main(["validate", str(path)]),
        main(["validate", f"no such file {ESC}"]),
        main(["convert", str(path), "--to", "letta", "--out", str(files / f"{ESC}.yaml")]),
        main(["convert", str(path), "--to", f"none{ESC}"]),
        main(["run", str(path), str(files / "s.jsonl"), "--columns", f"{ESC}=x"]),
    ]
    with pytest.raises(SystemExit):
        main(["run", str(path), str(hostile), f"--{ESC}"])
    said = capfd.readouterr()
    assert spent[:4] == [0, 0, 3, 0]
    assert "\x1b" not in said.out + said.err
    assert "\x07" not in said.out + said.err
    assert "⟨U+001B⟩" in said.out
    assert "⟨U+001B⟩" in said.err
    written = scores.read_text("utf-8")
    assert "\x1b" not in written
    assert "evil ⟨U+001B⟩" in written


def test_lab_copies_notebooks_where_asked(tmp_path, monkeypatch):
    """With a folder the notebooks are copied there, and JupyterLab takes this process's place."""
    from workbench.cli import demo

    started = []
    monkeypatch.setattr(demo.os, "execv", lambda program, command: started.append(command) or sys.exit(0))
    with pytest.raises(SystemExit):
        main(["lab", "--folder", str(tmp_path / "mine")])
    assert (tmp_path / "mine" / "01_quickstart.ipynb").exists()
    assert started[0][-1] == str(tmp_path / "mine" / "01_quickstart.ipynb")


def test_the_readmes_example_is_a_grader_file(files, capsys):
    """The README's twelve lines, saved as a file, can be validated and run: the script around them is left out."""
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text("utf-8")
    (files / "twelve.py").write_text(re.findall(r"```python\n(.*?)```", readme, re.DOTALL)[0], "utf-8")
    assert main(["validate", str(files / "twelve.py"), "--out", str(files / "twelve.json")]) == 0
    assert main(["run", str(files / "twelve.json"), str(files / "s.jsonl")]) == 0
    saved = json.loads((files / "twelve.json").read_text("utf-8"))["graders"][0]
    assert saved["name"] == "cites_a_source"
    assert "read_samples" not in saved["source"]["text"]
    assert "import re" in saved["source"]["text"]


def test_what_a_script_sets_for_its_grader_stays(files):
    """Constants and helpers beside the script travel, a script that reads them does not."""
    text = """import workbench as wb
LIMIT = 3
rows = [{'prompt': 'q', 'completion': 'abc'}]
samples = wb.Samples(rows)
n = len(samples)
@wb.grader
async def short(thread: wb.StringThread) -> float:
    return float(len(thread.completion() or '') <= LIMIT)
print(short.run(samples))
if __name__ == '__main__':
    short.validate()
"""
    (files / "s.py").write_text(text, "utf-8")
    assert main(["validate", str(files / "s.py"), "--out", str(files / "s2.json")]) == 0
    kept = json.loads((files / "s2.json").read_text("utf-8"))["graders"][0]["source"]["text"]
    assert "LIMIT = 3" in kept
    assert not any(word in kept for word in ("samples", "print", "__name__"))


def test_a_module_from_a_file_counts_as_imported(files, capsys, monkeypatch):
    """Where the machine cannot confine it, a .py file is refused like a .json file, unless trusted."""
    from workbench.sandbox.host import pool
    from workbench.sandbox.host.pool import Pool

    weak = Pool(("rlimits",))
    monkeypatch.setattr(pool, "_POOL", weak)
    assert main(["validate", str(files / "g.py")]) == 3
    assert "this machine cannot confine it" in capsys.readouterr().err
    assert main(["validate", str(files / "g.py"), "--trust"]) == 0
    weak.close()


LETTA_FILE = (
    "graders:\n  four: {kind: tool, function: contains}\ngate: {metric_key: four, op: gte, value: 0.1}\n"
)
PLATFORM_FILES = {
    "s.yaml": LETTA_FILE,
    "openai.json": json.dumps(
        {"type": "string_check", "name": "yes", "input": "{{sample.output_text}}", "reference": "yes", "operation": "ilike"}
    ),
    "umbraco.json": json.dumps({"graders": [{"graderTypeId": "contains", "config": {"searchPattern": "yes"}}]}),
    "vllora.json": json.dumps({"type": "script", "script": "function grade(input) { return 0.5; }"}),
    "rollout.py": "from osmosis_ai.rollout import Grader, GraderContext\n\n\nclass G(Grader):\n"
    "    async def grade(self, ctx: GraderContext) -> None:\n        for one in ctx.samples:\n"
    "            ctx.set_sample_reward(one, 0.5)\n",
    "calls.py": "async def grade(thread):\n    return 0.5\n\n\nadaptive.graders.create.function(key='half', fn=grade)\n",
}  # fmt: skip


@pytest.fixture
def platforms(tmp_path):
    for name, text in PLATFORM_FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    rows = [{"prompt": str(i), "completion": "yes" if i % 3 else "no", "expected": "yes"} for i in range(12)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return tmp_path


@pytest.mark.parametrize("name", PLATFORM_FILES)
def test_files_of_every_platform_are_validated_and_run(platforms, capsys, name):
    """`validate` proves what can be proved and saves it; `run` grades with it."""
    path, saved = platforms / name, platforms / "saved.json"
    assert main(["validate", str(path), "--out", str(saved)]) == 0
    assert "wrote" in capsys.readouterr().out
    for file in (path, saved):
        assert main(["run", str(file), str(platforms / "rows.jsonl")]) == 0
    assert "on 12 rows" in capsys.readouterr().out


def test_formats_are_listed(capsys):
    """A table with a row a platform, its files and what it is."""
    assert main(["formats"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["FORMAT", "FILES", "WHAT", "IT", "IS"]
    assert {line.split()[0] for line in lines[1:]} == set(FORMATS)
    assert len({line.rindex(line.split(maxsplit=2)[2][:20]) for line in lines if ", ." not in line}) == 1


def test_convert_says_what_it_wrote_and_left_out(platforms, capsys):
    """The default target carries the platform's name; what is dropped is printed and kept beside the file."""
    assert main(["convert", str(platforms / "openai.json"), "--to", "letta"]) == 0
    said = capsys.readouterr().out
    assert "openai.letta.yaml" in said
    assert (platforms / "openai.letta.yaml").exists()
    assert main(["convert", str(platforms / "openai.json"), "--to", "trl"]) == 0
    assert "openai_trl.py" in capsys.readouterr().out  # a name that can be imported
    command = ["convert", str(platforms / "s.yaml"), "--to", "vllora", "--out", str(platforms / "v.json")]
    before = sorted(path.name for path in platforms.iterdir())
    assert main(command) == 3
    refused = capsys.readouterr()
    assert refused.err.startswith("workbench: vllora does not support this")
    assert refused.out == ""
    assert sorted(path.name for path in platforms.iterdir()) == before
    assert main([*command, "--on-loss", "report"]) == 0
    assert "dropped: the suite, gate" in capsys.readouterr().out
    assert (platforms / "v.json.losses.json").exists()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["convert", "{}/none.json", "--to", "letta"], "cannot be read"),
        (["convert", "{}/s.yaml", "--to", "no-such-format"], "native"),
        (["convert", "{}/s.yaml", "--to", "native", "--from", "no-such-format"], "unknown format"),
        (["convert", "{}/s.yaml", "--to", "native", "--from", "umbraco"], "s.yaml"),
        (["convert", "{}/rows.jsonl", "--to", "native"], "--from"),
        (["convert", "{}/s.yaml", "--to", "native", "--out", "{}/no/x.json"], "no folder"),
        (["convert", "{}/s.yaml", "--to", "native", "--out", "{}"], "a folder of that name"),
        (["convert", "{}/s.yaml", "--to", "letta", "--out", "{}/s.yaml"], "the file to read"),
        (["convert", "{}/umbraco.json", "--to", "native", "--release", "0.8"], "no releases"),
        (["validate", "{}/s.yaml", "--from", "openai"], "s.yaml"),
        (["run", "{}/rows.jsonl", "{}/rows.jsonl"], "--from"),
    ],
)
def test_conversion_errors_are_one_message(platforms, capsys, arguments, part):
    """Exit code 3, one message, nothing written or changed."""
    before = {path: path.read_bytes() for path in platforms.iterdir()}
    assert main([word.format(platforms) for word in arguments]) == 3
    said = capsys.readouterr()
    assert said.err.startswith("workbench: ")
    assert said.err.count("workbench: ") == 1
    assert part in said.err
    assert "Traceback" not in said.err
    assert {path: path.read_bytes() for path in platforms.iterdir()} == before


def test_what_stands_for_no_score_is_a_number(platforms, capsys):
    """A word in its place is named, and so is a format that has missing score."""
    with pytest.raises(SystemExit):
        main(["convert", str(platforms / "openai.json"), "--to", "verl", "--on-error", "zero"])
    assert "'zero' must be a number or raise" in capsys.readouterr().err
    assert main(["convert", str(platforms / "openai.json"), "--to", "trl", "--on-error", "0"]) == 3
    assert "missing score" in capsys.readouterr().err


def test_convert_proves_sources_first(platforms, capsys):
    """A source that fails its checks is not written, unless that is said."""
    (platforms / "bad.json").write_text(json.dumps({"type": "script", "script": "function other() {}"}))
    command = ["convert", str(platforms / "bad.json"), "--to", "native", "--out", str(platforms / "n.json")]
    assert main(command) == 3
    assert "not validated" in capsys.readouterr().err
    assert not (platforms / "n.json").exists()
    assert main([*command, "--allow-unvalidated"]) == 0
    assert (platforms / "n.json").exists()


def test_an_era_is_passed_on(platforms):
    """The release of the source's rules is the reader's to say."""
    (platforms / "ascii.yaml").write_text("graders: {a: {kind: tool, function: ascii_printable_only}}")
    command = ["convert", str(platforms / "ascii.yaml"), "--to", "native", "--out", str(platforms / "n.json")]
    assert main([*command, "--release", "0.8"]) == 0
    assert json.loads((platforms / "n.json").read_text())["graders"][0]["on_empty"] == "zero"


def test_functions_inside_others_are_validated(platforms, capsys):
    """A grader inside a combined one is proved too."""
    inner = wb.FunctionGrader.from_source("async def grade(t):\n    return None\n", name="inner")
    wb.save(wb.combine.Combined(entries=(inner,), name="outer"), platforms / "c.json", allow_unvalidated=True)
    assert main(["validate", str(platforms / "c.json")]) == 1
    assert "✗ test_run" in capsys.readouterr().out


def test_rows_of_ones_own_prove_graders_that_read_columns(files, capsys):
    """A grader for which no column can be made up is validated and converted with --samples."""
    source = "def grade(sample, item):\n    return float(item['gold']['text'] == sample['output_text'])\n"
    path = files / "o.json"
    path.write_text(json.dumps({"type": "python", "name": "p", "source": source}))
    (files / "rows.jsonl").write_text('{"prompt": "q", "completion": "4", "gold": {"text": "4"}}\n' * 9)
    assert main(["convert", str(path), "--to", "native"]) == 3
    told = capsys.readouterr().err
    assert "--samples FILE" in told
    assert "samples=" in told
    with_rows = ["--samples", str(files / "rows.jsonl")]
    assert main(["convert", str(path), "--to", "native", *with_rows]) == 0
    assert main(["validate", str(path), *with_rows]) == 0
    assert "test thread 5 scores 1.0" in capsys.readouterr().out
    # A record that a file claims is checked on the rows as well.
    assert main(["convert", str(files / "o.native.json"), "--to", "openai", *with_rows]) == 0


def test_a_folder_is_no_grader_file(tmp_path, monkeypatch, capsys):
    """`convert .` says so in words."""
    monkeypatch.chdir(tmp_path)
    assert main(["convert", ".", "--to", "openai"]) == 3
    assert "the file cannot be read" in capsys.readouterr().err


def test_modules_convert_as_they_run(files, capsys):
    """A bare function's file goes to a platform, and a broken one shows its checks."""
    assert main(["convert", str(files / "g.py"), "--to", "letta"]) == 0
    assert (files / "g.letta.yaml").exists()
    (files / "x.py").write_text("x = 1\n")
    assert main(["convert", str(files / "x.py"), "--to", "letta"]) == 3
    assert "@wb.grader" in capsys.readouterr().err


def test_validated_graders_are_not_written_over_data(files, capsys):
    """--out keeps somebody's own file and says so before anything is run."""
    (files / "mine.json").write_text('{"my": "data"}')
    assert main(["validate", str(files / "g.py"), "--out", str(files / "mine.json")]) == 3
    said = capsys.readouterr()
    assert "exists and" in said.err
    assert said.out == ""
    assert (files / "mine.json").read_text() == '{"my": "data"}'


def test_a_reader_that_leaves_is_no_error():
    """`workbench formats | head -0` ends without a traceback."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "workbench", "formats"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_help_loads_nothing_heavy():
    """Help, version and wrong usage are said at once: pandas and the diagnostics are loaded by the commands that use them."""
    code = (
        "import sys, workbench.cli\nprint(sorted({'pandas', 'numpy', 'scipy', 'IPython'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_reduce_names_what_there_is():
    """The command line writes the names out, so that it need not load them."""
    from workbench.cli.run import REDUCERS as NAMES
    from workbench.graders.repeats import REDUCERS

    assert tuple(REDUCERS) == NAMES


@pytest.mark.parametrize("option", ["--draw", "--workers", "--repeats"])
@pytest.mark.parametrize("value", ["0", "-1", "1.5", "many"])
def test_counts_are_whole_numbers_from_one(option, value, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["run", "graders.json", "rows.jsonl", option, value])
    assert ended.value.code == 2
    assert "whole number, 1 or more" in capsys.readouterr().err


def test_hints_of_convert_are_options(tmp_path, capsys):
    """What a message calls a setting in Python is typed otherwise here."""
    path = tmp_path / "g.py"
    path.write_text(
        "async def grade(thread):\n    return float((thread.metadata or {}).get('solution') == '4')\n",
        "utf-8",
    )
    assert main(["convert", str(path), "--to", "openrlhf"]) == 3
    said = capsys.readouterr().err
    assert "--reference solution if the label contains it" in said
    assert "--on-loss report writes" in said
    assert main(["convert", str(path), "--to", "openrlhf", "--reference", "solution"]) == 0
    assert "--on-error NUMBER chooses one" in capsys.readouterr().out


def test_a_run_without_rows_is_exit_three(files, capsys):
    """A pipeline whose file is empty must not pass."""
    (files / "e.json").write_text("[]", "utf-8")
    assert main(["run", str(files / "g.py"), str(files / "e.json")]) == 3
    assert "there are no rows" in capsys.readouterr().err
