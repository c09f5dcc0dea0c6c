"""`workbench run --batch` and `--prices`."""

import json

import workbench as wb
from tests.judges.batch_server import batch_server
from tests.run.test_batch_run import ROWS, passing
from workbench.cli import main


def test_a_batch_is_submitted_and_collected_by_the_same_command(tmp_path, monkeypatch, capsys):
    """Exit code 3 while rows are pending, then 0, with the cost by the given prices."""
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)), "utf-8")
    wb.save(wb.BinaryJudge("polite", model="m", max_tokens=50), tmp_path / "j.json")
    (tmp_path / "p.json").write_text('{"models": {"m": {"input": 2, "output": 10, "batch": 0.25}}}', "utf-8")
    monkeypatch.setattr(wb.judges.prices, "PRICES", dict(wb.judges.PRICES))
    with batch_server(passing) as (address, server):
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        command = [
            "run",
            str(tmp_path / "j.json"),
            str(tmp_path / "rows.jsonl"),
            "--batch",
            "--fail-on",
            "never",
        ]
        command += ["--store", f"sqlite:///{tmp_path}/s.db", "--prices", str(tmp_path / "p.json")]
        assert main(command) == 3
        server.end("batch_2")
        assert main(command) == 0
    cost = 5 * (1_000 * 2 + 100 * 10) / 1e6 / 4
    assert f"collected the replies of 5 of 5 requests, ${cost:.4f}" in capsys.readouterr().err


def test_a_batch_is_collected_into_one_report(tmp_path, capsys):
    """`--overview` is refused with it, and so is a batch without a store."""
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)), "utf-8")
    wb.save(wb.BinaryJudge("polite", model="m"), tmp_path / "j.json")
    command = ["run", str(tmp_path / "j.json"), str(tmp_path / "rows.jsonl"), "--batch"]
    assert main([*command, "--overview", str(tmp_path / "o")]) == 2
    assert "cannot be combined" in capsys.readouterr().err
