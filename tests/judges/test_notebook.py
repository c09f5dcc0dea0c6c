"""The notebook on judges: the same against the script and against a server."""

from __future__ import annotations

import os
import re
from pathlib import Path

import nbclient
import nbformat
import pytest

from tests.judges.servers import server
from workbench.data.demo.scripted_judge import scripted_judge

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "03_judges.ipynb"
KEY = "sk-notebook-0123456789abcdef"
LABEL = "SCRIPTED: no model is called"
MODEL = "gpt-4.1-nano"


def run_notebook(folder, **variables):
    """The notebook's code cells, run in a folder with these environment variables and no others of the kind."""
    notebook = nbformat.read(NOTEBOOK, 4)
    prefixes = ("OPENAI_", "WORKBENCH_MODEL")
    env = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
    folder.mkdir()
    client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}})
    client.execute(env={**env, **variables})
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def cell_output(cells, source):
    """What the cell with this text in its source shows, as plain text without the progress bar."""
    cell = next(cell for cell in cells if source in cell.source)
    texts = [  # what is printed may come in several pieces
        output.text if output.output_type == "stream" else output.data.get("text/plain", "") + "\n"
        for output in cell.outputs
        if "application/vnd.jupyter.widget-view+json" not in str(output)
    ]
    return "".join(texts)


def without_prices(text):
    """The lines that hold no price, no time and no word on who is asked."""
    return [line for line in text.splitlines() if not re.search(r"cost:| tokens |called$|SCRIPTED", line)]


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
    return run_notebook(tmp_path_factory.mktemp("scripted") / "here")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Its cells, what the server was asked, and where it ran."""
    with server(answer) as (address, requests):
        settings = {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": KEY, "WORKBENCH_MODEL": MODEL}
        folder = tmp_path_factory.mktemp("served") / "here"
        yield run_notebook(folder, **settings), requests, folder


def test_without_a_key_it_is_scripted_and_says_so(scripted):
    """The label stands where the client is chosen, where it runs and where the prompts are compared."""
    for source in ("ScriptedClient(", "first.run(", ".compare(", "def mistakes("):
        assert LABEL in cell_output(scripted, source)


def test_the_first_prompt_is_too_lenient_and_the_second_mends_it(scripted):
    """The story holds: the diagnosis finds the fault, the paired comparison and the table show it gone."""
    assert "too lenient: accepts 56 of 112 known-bad rows" in cell_output(scripted, "report.diagnose(")
    assert "second scores 0.270 lower than first" in cell_output(scripted, ".compare(")
    table = cell_output(scripted, "def mistakes(")
    assert re.search(r"bad completions accepted +56 of 112 +2 of 112\n", table)
    assert re.search(r"good completions rejected +0 of 88 +0 of 88\n", table)
    costs = re.search(r"US dollars +([\d.]+) +([\d.]+)", table)
    assert all(float(cost) > 0.01 for cost in costs.groups())


def test_the_second_run_is_free(scripted):
    """Every answer comes out of the store, and the line says so."""
    assert "cost: $0.00 for 0 tokens; 400 rows from the store, not paid again" in cell_output(
        scripted, "again.spending"
    )


def test_with_a_key_the_same_cells_run_against_the_server(served):
    """No error, no word of a script, the model's name in its place, and the key nowhere."""
    cells, _, folder = served
    assert all(cell.execution_count for cell in cells)
    outputs = str([cell.outputs for cell in cells])
    assert LABEL not in outputs
    assert outputs.count(f"{MODEL} is called") == 4
    written = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert KEY not in outputs
    assert written
    assert not any(KEY.encode() in content for content in written)


def test_with_a_key_nothing_else_changes(scripted, served):
    """A server that answers as the script does leads to the same findings, mistakes, reasons and claims."""
    cells, _, _ = served
    other_sources = [cell.source for cell in cells if "ScriptedClient(" not in cell.source]
    assert other_sources == [cell.source for cell in scripted if "ScriptedClient(" not in cell.source]
    for source in other_sources:
        if ".frame[[" not in source and "def mistakes(" not in source and "wb.export(" not in source:
            assert without_prices(cell_output(cells, source)) == without_prices(cell_output(scripted, source))
    table, scripted_table = (
        cell_output(notebook_cells, "def mistakes(").splitlines() for notebook_cells in (cells, scripted)
    )
    assert [line for line in table if " of " in line] == [line for line in scripted_table if " of " in line]


def test_the_server_is_asked_once_a_row_and_prompt(served):
    """Its own count: one row by hand, 200 by each judge, one for its claims, and none for the repetition."""
    _, requests, _ = served
    assert [body["model"] for _, body, _ in requests] == [MODEL] * 402


def test_it_leaves_its_files_in_one_ignored_folder(served):
    """Whatever it writes lies below `judges/`, which the repository ignores."""
    _, _, folder = served
    assert [path.name for path in folder.iterdir()] == ["judges"]
    assert "judges/" in (NOTEBOOK.parent / ".gitignore").read_text("utf-8").splitlines()
