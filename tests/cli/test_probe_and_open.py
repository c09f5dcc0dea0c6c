"""`workbench probe` and `workbench open`: a file of any kind, and what a person does next."""

import json
import shlex
import subprocess
import sys

import pytest

import workbench as wb
from workbench.cli import main

REWARDS = """import re


def near(completions, answer, **kwargs):
    return [1.0 if a in c else 0.0 for c, a in zip(completions, answer)]


def exact(completions, answer, **kwargs):
    return [1.0 if c.strip() == a else 0.0 for c, a in zip(completions, answer)]
"""

EXPORT = {
    "eval": {
        "id": "eval_1", "object": "eval", "name": "caps", "data_source_config": {"type": "custom", "schema": {}},
        "testing_criteria": [
            {"type": "string_check", "name": "match", "input": "{{sample.output_text}}", "reference": "{{item.expected}}", "operation": "eq"}
        ],
    },
    "rows": [],
    "runs": [{
        "run": {"id": "r1"},
        "output_items": [
            {
                "id": f"o{number}", "datasource_item_id": number, "datasource_item": {"q": f"{number}?", "expected": str(number)},
                "sample": {"input": [{"role": "user", "content": f"{number}?"}], "output": [{"role": "assistant", "content": str(number)}]},
                "results": [{"name": "match", "score": float(number > 2), "passed": number > 2}], "status": "pass",
            }
            for number in range(6)
        ],
    }],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reward.py").write_text(REWARDS, "utf-8")
    rows = [{"prompt": f"{n} + {n}?", "completion": f"{2 * n}", "answer": f"{2 * n}"} for n in range(11, 51)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (tmp_path / "export.json").write_text(json.dumps(EXPORT), "utf-8")
    (tmp_path / "replies.csv").write_text(
        "prompt,model_out,answer\nCapital of France?,Paris,Paris\n", "utf-8"
    )
    return tmp_path


def test_every_reward_of_a_file_is_probed_without_rows(folder, capsys):
    """Made rows are announced, the verdict names the text and the change, and an error is exit code 1."""
    assert main(["probe", "reward.py", "--tries", "0"]) == 1
    said = capsys.readouterr()
    assert "no rows were given: 60 arithmetic tasks were made" in said.err
    assert "also as 'answer'" in said.err
    assert "verdict: near: " in said.out
    assert "verdict: exact: no error found" in said.out
    end = said.out[said.out.index("verdict: near") :]
    assert (
        end.index("gets reward: ")
        < end.index("shortest text: ")
        < end.index("change: Check the final result")
    )
    assert "workbench probe reward.py --save holes.jsonl" in end


def test_one_reward_on_rows_of_the_user(folder, capsys):
    """`reward.py:exact` is probed alone, on the rows given; the file that --save writes is one of regression rows."""
    command = ["probe", "reward.py:exact", "--samples", "rows.jsonl", "--tries", "0", "--save", "holes.jsonl"]
    assert main(command) == 0
    said = capsys.readouterr()
    assert "near" not in said.out
    assert "rows.jsonl: 40 rows; prompt from 'prompt'" in said.err
    assert {"probe", "label", "was", "grader"} <= set(wb.read_samples("holes.jsonl").frame.columns)


def test_a_probe_as_json(folder, capsys):
    """Stdout is one document with the findings, their shortest text and the exit code."""
    assert main(["probe", "reward.py", "--tries", "0", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    near = found["graders"][0]
    assert (near["name"], found["rows_were_made"], found["exit_code"]) == ("near", True, 1)
    shown = near["findings"][0]["shortest_text"]
    assert shown["reference"] in shown["text"]
    assert shown["text"] != shown["reference"]
    assert shown["score"] == 1.0


@pytest.mark.parametrize(("fail_on", "code"), [("error", 1), ("question", 1), ("never", 0)])
def test_findings_end_a_probe_as_chosen(folder, fail_on, code):
    command = ["probe", "reward.py:near", "--samples", "rows.jsonl", "--tries", "0", "--fail-on", fail_on]
    assert main(command) == code


def test_a_reward_that_always_fails_is_not_probed(folder, capsys):
    """Exit code 3 and the error: nothing was learnt, and that is not a good result."""
    (folder / "broken.py").write_text(
        "def reward(completions, tests, **kwargs):\n    return [1 / 0]\n", "utf-8"
    )
    assert main(["probe", "broken.py", "--tries", "0"]) == 3
    said = capsys.readouterr().out
    assert "verdict: reward: not probed: every text failed" in said
    assert "division by zero" in said


def test_a_function_by_its_import_path(folder, capsys, monkeypatch):
    """A live function gets made rows with its parameters as columns."""
    (folder / "live_rewards_of_a_user.py").write_text(REWARDS, "utf-8")
    monkeypatch.syspath_prepend(str(folder))
    assert main(["probe", "live_rewards_of_a_user:near", "--tries", "0", "--rows", "8"]) == 1
    assert "also as 'answer'" in capsys.readouterr().err


def test_rows_of_an_export_are_those_of_its_probe(folder, capsys):
    """A file with graders and rows is probed on its rows."""
    main(["probe", "export.json", "--tries", "0"])
    assert (
        "rows of the file itself: export.json: read as OpenAI evals output items: 6 rows"
        in capsys.readouterr().err
    )


def test_a_run_of_code_reports_that_it_was_not_probed(folder, capsys):
    """With the command to type; built-in rules are not code of the user."""
    assert main(["run", "reward.py", "rows.jsonl", "--fail-on", "never"]) == 0
    assert (
        "not probed: near, exact. To search for wrong completions that get reward:  "
        "workbench probe reward.py --samples rows.jsonl" in capsys.readouterr().err
    )
    main(["run", "export.json", "export.json"])
    assert "not probed" not in capsys.readouterr().err


def next_command(text):
    """The lines after "next:"."""
    return text.partition("next:\n")[2].strip()


@pytest.mark.parametrize(
    ("name", "parts", "following"),
    [
        ("reward.py", ["TRL reward functions", "2 graders:", "near (function)"], "workbench probe reward.py"),
        (
            "export.json",
            ["OpenAI", "1 grader:", "6 rows", "past scores of 1 grader:", "match: 6 scored, mean 0.500"],
            "workbench run export.json export.json",
        ),
        (
            "replies.csv",
            ["1 row; prompt from 'prompt', reference from 'answer'", "not gradable"],
            "workbench open replies.csv --columns completion=model_out",
        ),
    ],
)
def test_a_file_is_described(folder, capsys, name, parts, following):
    """What it is, what it contains, and the next command."""
    assert main(["open", name]) == 0
    said = capsys.readouterr().out
    for part in parts:
        assert part in said
    assert next_command(said) == following


def test_the_next_commands_can_be_pasted(folder, capsys):
    """From a CSV with an unknown column to a report, by the commands that `open` prints."""
    command = "workbench open replies.csv"
    for _ in range(2):
        assert main(shlex.split(command)[1:]) == 0
        command = next_command(capsys.readouterr().out)
    shell = f'workbench() {{ {shlex.quote(sys.executable)} -m workbench "$@"; }}\n{command}'
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 grader on 1 rows" in done.stdout or "1 grader on 1 row" in done.stdout
    assert (folder / "grader.py").exists()


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("none.json", None, "there is no such file or folder"),
        ("empty.json", "", "the file is empty"),
        ("noise.bin", "\x00\x01", "neither graders nor rows can be read"),
        ("task.yaml", "task: x\nmetric_list: []\n", "lm-evaluation-harness"),
        ("no.such.module:f", None, "cannot be imported"),
    ],
)
def test_what_cannot_be_opened_is_named(folder, capsys, name, content, part):
    """Exit code 3 and the reason."""
    if content is not None:
        (folder / name).write_text(content, "utf-8")
    assert main(["open", name]) == 3
    said = capsys.readouterr()
    assert part in said.out + said.err


def test_standard_input_is_read_once(folder, capsys):
    """Two files from standard input, and opening it, are wrong usage."""
    assert main(["open", "-"]) == 2
    assert main(["run", "-", "-"]) == 2
    assert main(["probe", "-", "--samples", "-"]) == 2
    assert capsys.readouterr().err.count("standard input") == 3


@pytest.mark.parametrize(
    "command",
    [
        ["open", "export.json"], ["validate", "reward.py"], ["run", "reward.py", "rows.jsonl", "--fail-on", "never"],
        ["convert", "reward.py", "--to", "native"], ["formats"], ["sandbox"],
    ],
)  # fmt: skip
def test_json_is_all_of_stdout(folder, capsys, command):
    """Each command has --json, and prints nothing else on stdout."""
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_a_report_as_json(folder, capsys):
    """Numbers by grader, findings and notes; a number that is not there is null."""
    main(["run", "reward.py", "rows.jsonl", "--fail-on", "never", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [(one["grader"], one["scored"], one["mean"]) for one in found["graders"]] == [
        ("near", 40, 1.0),
        ("exact", 40, 1.0),
    ]
    assert found["graders"][0]["cost"] is None
    assert found["gate"] is None
    assert {"kind", "severity", "sentence", "interval"} <= set(found["findings"][0])


def test_rows_are_not_made_for_graders_of_certain_rows(folder, capsys):
    """Tests of promptfoo are for rows with their variables: made rows would get another score."""
    config = "tests:\n- vars: {river: Elbe}\n  assert: [{type: contains, value: '{{river}}'}]\n- vars: {river: Vltava}\n  assert: [{type: contains, value: '{{river}}'}]\n"
    (folder / "promptfooconfig.yaml").write_text(config, "utf-8")
    assert main(["probe", "promptfooconfig.yaml"]) == 2
    assert "columns river" in capsys.readouterr().err
    assert main(["open", "."]) == 0
    said = capsys.readouterr().out
    assert "promptfooconfig.yaml: a document of promptfoo" in said
    assert next_command(said).splitlines()[1] == "workbench run results.json results.json"


def test_columns_of_templates_are_made(folder, capsys):
    """A criterion of OpenAI names its columns as item.name."""
    (folder / "criterion.json").write_text(json.dumps(EXPORT["eval"]["testing_criteria"][0]), "utf-8")
    assert main(["probe", "criterion.json", "--tries", "0"]) == 0
    said = capsys.readouterr()
    assert "also as 'expected'" in said.err
    assert "verdict: match: no error found" in said.out


@pytest.mark.parametrize("command", ["probe", "validate"])
def test_a_file_to_join_needs_rows(folder, capsys, command):
    """The option is refused, not ignored."""
    assert main([command, "reward.py", "--join", "rows.jsonl"]) == 2
    assert "--samples FILE" in capsys.readouterr().err


def test_the_next_command_reads_the_same_rows(folder, capsys):
    """With the columns and the joined files of this one."""
    rows = [{"id": str(n), "prompt": f"{n}?", "out": f"It is {n}."} for n in range(11, 51)]
    (folder / "plain.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    items = [{"id": str(n), "answer": str(n)} for n in range(11, 51)]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, items)), "utf-8")
    reading = ["--columns", "completion=out", "--join", "items.jsonl"]
    assert main(["probe", "reward.py:near", "--samples", "plain.jsonl", *reading, "--tries", "0"]) == 1
    assert f"--samples plain.jsonl {shlex.join(reading)} --save holes.jsonl" in capsys.readouterr().out
    main(["run", "reward.py:near", "plain.jsonl", *reading])
    assert (
        f"workbench probe reward.py:near --samples plain.jsonl {shlex.join(reading)}"
        in capsys.readouterr().err
    )


def test_a_folder_of_parquet_is_opened_with_a_joined_file(folder, capsys):
    """It is read whole, as by a run."""
    import pandas as pd

    (folder / "parts").mkdir()
    pd.DataFrame({"id": ["1"], "prompt": ["1?"], "completion": ["1"]}).to_parquet(
        folder / "parts" / "a.parquet"
    )
    (folder / "items.jsonl").write_text('{"id": "1", "answer": "1"}', "utf-8")
    assert main(["open", "parts", "--join", "items.jsonl"]) == 0
    assert "reference from 'answer'" in capsys.readouterr().out


def test_a_missing_column_is_named_and_joined(folder, capsys):
    """The columns that graders read are listed; a run without them names the option, and the run with it scores."""
    (folder / "eval.json").write_text(json.dumps(EXPORT["eval"]), "utf-8")
    rows = [{"custom_id": f"r{n}", "prompt": f"{n}?", "completion": str(n)} for n in range(4)]
    items = [{"custom_id": f"r{n}", "item": {"expected": str(n)}} for n in range(4)]
    (folder / "plain.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, items)), "utf-8")
    assert main(["open", "eval.json"]) == 0
    assert "columns that they read: 'expected'" in capsys.readouterr().out
    assert main(["run", "eval.json", "plain.jsonl"]) == 1
    assert "reads 'expected', which the rows do not have" in capsys.readouterr().err
    assert main(["run", "eval.json", "plain.jsonl", "--join", "items.jsonl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["graders"][0]["mean"] == 1.0
    assert main(["open", "plain.jsonl", "--join", "items.jsonl"]) == 0
    assert "workbench run grader.py plain.jsonl --join items.jsonl" in capsys.readouterr().out
