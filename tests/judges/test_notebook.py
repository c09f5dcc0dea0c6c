"""The notebook on judges: the same against the script and against a server."""

from __future__ import annotations

import os
from pathlib import Path

import nbclient
import nbformat
import pytest

from tests.judges.servers import server
from workbench.demo.scripted_judge import scripted_judge

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "03_judges.ipynb"
KEY = "sk-notebook-0123456789abcdef"
LABEL = "SCRIPTED: no model is asked"


def ran(folder, **variables):
    """The notebook's code cells, run in a folder with these environment variables and no others of the kind."""
    notebook = nbformat.read(NOTEBOOK, 4)
    ours = ("OPENAI_", "WORKBENCH_MODEL")
    env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    folder.mkdir()
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}})
    client.execute(env={**env, **variables})
    return {cell.id: cell for cell in notebook.cells if cell.cell_type == "code"}


def shown(cell):
    """What a cell shows, as plain text."""
    texts = [
        output.text if output.output_type == "stream" else output.data.get("text/plain", "")
        for output in cell.outputs
        if output.get("name") != "stderr" and "application/vnd.jupyter.widget-view+json" not in str(output)
    ]
    return "\n".join(texts)


def answer(path, body, headers):
    """The script behind OpenAI's protocol."""
    if path != "/v1/chat/completions" or headers["authorization"] != f"Bearer {KEY}":
        return 401, {}, {"error": {"message": "no"}}
    text, prompt, completion = scripted_judge(body["messages"])
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return 200, {}, {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice], "usage": usage}  # fmt: skip


@pytest.fixture(scope="module")
def scripted(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("scripted") / "here")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Its cells, and what the server was asked."""
    with server(answer) as (address, asked):
        variables = {
            "OPENAI_BASE_URL": f"{address}/v1",
            "OPENAI_API_KEY": KEY,
            "WORKBENCH_MODEL": "gpt-4.1-nano",
        }
        folder = tmp_path_factory.mktemp("served") / "here"
        yield ran(folder, **variables), asked, folder


def test_without_a_key_it_is_scripted_and_says_so(scripted):
    """The label stands where the client is chosen, where it runs and where the prompts are compared."""
    assert [name for name, cell in scripted.items() if LABEL in shown(cell)] == [
        "cell-03", "cell-11", "cell-22", "cell-23",
    ]  # fmt: skip


def test_the_first_prompt_is_too_lenient_and_the_second_mends_it(scripted):
    """The story holds: the diagnosis finds the fault, the paired comparison and the table show it gone."""
    assert "too lenient, accepts 56 of 112 known-bad rows" in shown(scripted["cell-16"])
    assert "second scores 0.270 lower than first" in shown(scripted["cell-22"])
    table = shown(scripted["cell-23"])
    assert "56 of 112  2 of 112" in table
    assert "0 of 88   0 of 88" in table


def test_the_second_run_is_free(scripted):
    """Every answer comes out of the store, and the line says so."""
    assert "cost: $0.00 for 0 tokens; 400 rows out of the store" in shown(scripted["cell-27"])


def test_with_a_key_the_same_cells_run_against_the_server(served):
    """No error, no word of a script, the model's name in its place, and the key nowhere."""
    cells, _, folder = served
    texts = "\n".join(map(shown, cells.values()))
    assert all(cell.execution_count for cell in cells.values())
    assert LABEL not in texts
    assert texts.count("gpt-4.1-nano is asked") == 4
    written = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert KEY not in str(cells)
    assert not any(KEY.encode() in one for one in written)


def test_with_a_key_nothing_else_changes(scripted, served):
    """A server that answers as the script does leads to the same findings, mistakes and evidence."""
    cells, _, _ = served
    for name in ("cell-05", "cell-07", "cell-14", "cell-18", "cell-25", "cell-27", "cell-29"):
        assert shown(cells[name]) == shown(scripted[name]), name
    for name in ("cell-16", "cell-20", "cell-22"):
        kept = [
            [line for line in shown(one[name]).splitlines() if "cost:" not in line and "asked" not in line]
            for one in (cells, scripted)
        ]
        assert kept[0] == kept[1], name


def test_the_server_is_asked_once_a_row_and_prompt(served):
    """Its own count: one row by hand, 200 rows by two judges, one row for its claims, and nothing for the repetition."""
    _, asked, _ = served
    assert [body["model"] for _, body, _ in asked] == ["gpt-4.1-nano"] * 402


def test_it_leaves_its_files_in_one_ignored_folder(served):
    """Whatever it writes lies below `judges/`, which the repository ignores."""
    _, _, folder = served
    assert [path.name for path in folder.iterdir()] == ["judges"]
    assert "judges/" in (NOTEBOOK.parent / ".gitignore").read_text("utf-8").splitlines()
