"""Calls an exported file as promptfoo does: its own `wrapper.py`, or its command line where that is installed.

`PROMPTFOO` names the package's folder. Every row goes through `call_method` of its `wrapper.py`, which promptfoo starts once
an assertion: the file is loaded anew for each, and context and result pass through JSON. With `PROMPTFOO_NODE` as well,
the name of a Node program, the first rows go through `promptfoo eval`, and what it says of them is in `facts.evaluated`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from common import Scores, arguments, number, text_of

WHOLE = 20

SAY = """
const completions = require('./completions.json');
module.exports = class {
  id() { return 'say'; }
  async callApi(prompt) { return { output: completions[Number(prompt)] }; }
};
"""
"""A provider that says a row's completion. As a variable it would be rendered as a template, which ends without a newline."""


def wrapper_of(package: Path):
    """Promptfoo's own Python module, loaded from its package."""
    spec = importlib.util.spec_from_file_location("wrapper", package / "dist/src/python/wrapper.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def vars_of(row: dict) -> dict:
    """A test's variables: the columns, the prompt (a text, or its messages as JSON), and the completion."""
    prompt = (
        row["prompt"] if isinstance(row["prompt"], str) else json.dumps(row["prompt"], ensure_ascii=False)
    )
    return row["columns"] | {"prompt": prompt, "completion": text_of(row["completion"])}


def context_of(row: dict) -> dict:
    """The function's other argument; through JSON, as promptfoo passes it."""
    variables = vars_of(row)
    context = {"prompt": variables["prompt"], "vars": variables, "test": {"vars": variables}, "config": {}}
    return json.loads(json.dumps(context))


def checked(found: object) -> object:
    """A function's result, if promptfoo accepts it: a truth value, a number, or a whole grading result."""
    if isinstance(found, bool) or number(found) is not None:
        return found
    wanted = {"pass": bool, "score": int | float, "reason": str}
    if isinstance(found, dict) and all(isinstance(found.get(name), kind) for name, kind in wanted.items()):
        return found
    raise TypeError(
        f"Python assertion must return a boolean, number, or {{pass, score, reason}} object: {found!r}"
    )


def note(found: object, row: int, scores: Scores) -> None:
    """Writes a score, and the scores by name; promptfoo makes one that is null a 0, so none may be."""
    if not isinstance(found, dict):
        scores.scores[row] = number(found)
        return
    scores.scores[row] = number(found["score"])
    for name, value in (found.get("namedScores") or {}).items():
        if value is None:
            scores.error(row, f"namedScores.{name} is null, which counts as 0")
        scores.part(name, row, value)


def evaluate(exported: str, rows: list[dict], package: Path, node: str, folder: str) -> list[dict]:
    """The results of `promptfoo eval` for the rows: score, pass, reason and scores by name, in the rows' order."""
    tests = [
        {
            "vars": vars_of(row) | {"row": index},
            "assert": [{"type": "python", "value": f"file://{exported}:get_assert"}],
        }
        for index, row in enumerate(rows)
    ]
    Path(folder, "say.cjs").write_text(SAY, encoding="utf-8")
    completions = json.dumps([text_of(row["completion"]) for row in rows])
    Path(folder, "completions.json").write_text(completions, encoding="utf-8")
    config = {"prompts": ["{{row}}"], "providers": [f"file://{folder}/say.cjs"], "tests": tests}
    Path(folder, "config.json").write_text(json.dumps(config), encoding="utf-8")
    settings = {
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
        "PROMPTFOO_CONFIG_DIR": folder,
        "PROMPTFOO_PYTHON": sys.executable,
    }
    command = [node, str(package / "dist/src/entrypoint.js"), "eval", "-c", "config.json", "-o", "out.json"]
    command += ["--no-cache", "--no-table", "--no-progress-bar"]
    # 100 is its exit code where assertions fail, as they do where a function raises.
    done = subprocess.run(
        command, cwd=folder, env=os.environ | settings, capture_output=True, text=True, check=False
    )
    if done.returncode not in {0, 100}:
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
    results = json.loads(Path(folder, "out.json").read_text(encoding="utf-8"))["results"]["results"]
    results.sort(key=lambda one: int(one["vars"]["row"]))
    return [
        {
            "score": one["score"],
            "pass": one["success"],
            "reason": (one.get("gradingResult") or {}).get("reason"),
            "namedScores": one["namedScores"],
        }
        for one in results
    ]


def main() -> None:
    exported, rows, target = arguments()
    scores = Scores(len(rows))
    package = Path(os.environ["PROMPTFOO"])
    wrapper = wrapper_of(package)
    for index, row in enumerate(rows):
        try:
            with contextlib.redirect_stdout(None):
                found = wrapper.call_method(
                    exported, "get_assert", text_of(row["completion"]), context_of(row)
                )
            note(checked(json.loads(json.dumps(found, allow_nan=False))), index, scores)
        except Exception as error:
            scores.error(index, error)
    if node := os.environ.get("PROMPTFOO_NODE"):
        with tempfile.TemporaryDirectory() as folder:
            scores.facts["evaluated"] = evaluate(exported, rows[:WHOLE], package, node, folder)
    scores.write(target)


main()
