"""The real Handlebars and mustache, run by node: one process for a batch of cases."""

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
HOW = "run `npm install --prefix tests/data/templates`, or set WORKBENCH_NODE_MODULES to their folder"


@cache
def modules():
    """The folder of npm packages; a visible skip where there is none, a failure on CI."""
    folder = Path(os.environ.get("WORKBENCH_NODE_MODULES") or FOLDER / "node_modules").resolve()
    missing = [name for name in ("handlebars", "mustache") if not (folder / name).is_dir()]
    if missing or not shutil.which("node"):
        what = f"node or its packages are missing ({', '.join(missing) or 'node'}): {HOW}"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(what)
    return folder


def real(cases):
    """What the real implementation makes of each (dialect, text, values): its text, or None for an error."""
    batch = [{"dialect": dialect, "text": text, "values": values} for dialect, text, values in cases]
    command = ["node", str(FOLDER / "real.js"), str(modules())]
    done = subprocess.run(
        command, input=json.dumps(batch).encode(), capture_output=True, check=True, timeout=600
    )
    return [answer.get("text") for answer in json.loads(done.stdout)]
