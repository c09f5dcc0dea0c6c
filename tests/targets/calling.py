"""Calls an exported file in the environment of its target, in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.targets.environments import HERE, promptfoo_command_line, promptfoo_package, python_of

ENVIRONMENT = {
    "trl": "train",
    "verl": "train",
    "openrlhf": "train",
    "verifiers": "evaluate",
    "inspect": "evaluate",
    "mlflow": "evaluate",
    "langsmith": "evaluate",
    "gemini": "evaluate",
    "slime": "evaluate",
    "nova": "evaluate",
    "promptfoo": "evaluate",
    "eval_protocol": "eval_protocol",
}
"""The environment whose Python runs a target's caller. slime, Nova and promptfoo's module need the standard library alone."""

OF_JUDGES = {"mlflow_judges": "evaluate", "gemini_judges": "evaluate"}
"""The same for callers that look at what is written of judges."""

LEFT_OUT = (
    "PYTHONPATH",
    "PYTHONHOME",
    "VIRTUAL_ENV",
    "PYTEST_ADDOPTS",
    "PYTEST_CURRENT_TEST",
    "PYTEST_PLUGINS",
)
"""Variables that would bring the workbench, or this run of pytest, into a caller."""


def call(target: str, exported: Path, rows: list[dict[str, Any]], work: Path, *, whole: bool = False) -> Any:
    """What a target's package makes of an exported file.

    Args:
        target: A name of `ENVIRONMENT` or `OF_JUDGES`.
        exported: The exported file.
        rows: `{"prompt", "completion", "reference_column", "columns"}` each.
        work: An empty folder for what goes in and comes out.
        whole: With promptfoo, the first rows through its command line as well.

    Returns:
        `scores` a row (None is no score), `parts` by name, `errors` by row's number as text, `facts` of the target.
    """
    python = python_of((ENVIRONMENT | OF_JUDGES)[target])
    given, found = work / "rows.jsonl", work / "scores.json"
    given.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command = [python, "-P", HERE / "callers" / f"call_{target}.py", exported.resolve(), given, found]
    done = subprocess.run(
        list(map(str, command)),
        cwd=work,
        env=_environment(target, work, whole=whole),
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n")
    done.check_returncode()
    return json.loads(found.read_text(encoding="utf-8"))


def _environment(target: str, work: Path, *, whole: bool) -> dict[str, str]:
    """This process's variables without those that name the workbench; nothing is written to the home folder."""
    kept = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
    kept |= {"HOME": str(work), "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
    if target == "promptfoo":
        kept["PROMPTFOO"] = str(promptfoo_package())
        if whole:
            package, node = promptfoo_command_line()
            kept |= {"PROMPTFOO": str(package), "PROMPTFOO_NODE": str(node)}
    return kept
