"""The Binder folder: its files, and the environment they make, as Binder's plain user under its memory limit."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.binder_image import (
    BINDER,
    LIMIT,
    NOBODY,
    ROOT,
    Image,
    copy_repository,
    install,
    interpreter,
    memory_group,
    remove,
)
from tests.browser.lab import end_group, free_port, wait_until

NOTEBOOKS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
RUN_HERE = ["07_scale.ipynb"]
"""The notebook that asks for most: memory, Dask and its processes. The first and the app's are run by the server below, all that
any of them imports is imported, and all of them run in the tests' own environment."""

SLOW_ENDS = "distributed.nanny - WARNING - Worker process still alive"
"""What Dask writes where a busy machine takes more than four seconds to end one of its workers: no fault of the notebook."""

RUN_NOTEBOOK = f"""
import json, sys
import nbclient, nbformat
notebook = nbformat.read("notebooks/" + sys.argv[1], 4)
nbclient.NotebookClient(notebook, timeout=600, resources={{"metadata": {{"path": "notebooks"}}}}).execute()
outputs = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
bad = [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"
       and any({SLOW_ENDS!r} not in line for line in o.text.splitlines())]
print(json.dumps([bad, len(outputs)]))
"""

ISOLATION = """
import json
import workbench as wb
grader = wb.FunctionGrader.from_source("async def grade(thread):\\n    return 1.0\\n")
report = grader.run(wb.demo_samples().head(3), progress=False)
print(json.dumps([str(wb.sandbox_info().level), report.summary["isolation"].tolist()]))
"""


def requirements() -> dict[str, str]:
    """Name to pin; extras left out."""
    lines = [
        line.partition("#")[0].strip() for line in (BINDER / "requirements.txt").read_text().splitlines()
    ]
    return dict(re.sub(r"\[.*\]", "", line).split("==") for line in lines if line)


def test_runtime_names_a_python_the_project_supports():
    """Without this file Binder takes a Python on which the package does not install."""
    assert (BINDER / "runtime.txt").read_text().strip() == "python-3.12"


def test_requirements_are_pinned_and_hold_every_dependency():
    """All of the project's run-time dependencies, at versions it allows; no path and no address."""
    from packaging.requirements import Requirement

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [Requirement(line) for line in project["dependencies"] + project["optional-dependencies"]["lab"]]
    pins = requirements()
    for requirement in wanted:
        assert requirement.specifier.contains(pins[requirement.name.lower()]), requirement
    assert "openai[aiohttp]==" in (BINDER / "requirements.txt").read_text()
    assert all(re.fullmatch(r"[\d.]+", pin) for pin in pins.values())
    assert "notebook" in pins  # the base image has one that goes with its own JupyterLab only
    assert not re.search(r"://|^\s*[./-]", (BINDER / "requirements.txt").read_text(), re.MULTILINE)


def test_post_build_is_a_program():
    """An executable bash script that bash can read."""
    script = BINDER / "postBuild"
    assert script.stat().st_mode & stat.S_IXUSR
    assert script.read_text().startswith("#!/bin/bash\n")
    subprocess.run(["bash", "-n", script], check=True)


@pytest.fixture(scope="module")
def image(tmp_path_factory) -> Iterator[Image]:
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    python = interpreter(plain=root)
    home = (
        Path("/tmp" if root else tmp_path_factory.mktemp("binder"))
        / f"workbench-binder-{uuid.uuid4().hex[:8]}"
    )
    home.mkdir(mode=0o755)
    group = memory_group() if root else None
    try:
        install(home / "venv", python)
        copy_repository(home / "repo")
        if root:
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(home)], check=True)
        made = Image(home, group, str(NOBODY) if root else "")
        made.run("binder/postBuild")
        yield made
        print(f"\nBinder image on {python}: peak memory {made.peak()}")
    finally:
        shutil.rmtree(home, ignore_errors=True)
        if group is not None:
            remove(group)


@pytest.mark.slow
def test_package_is_installed_apart_from_the_checkout(image):
    """What postBuild installed is used, from the environment; doing it again changes nothing."""
    ask = "import os; os.chdir('/'); import workbench; print(workbench.__file__, workbench.__version__)"
    before = image.run("python", "-P", "-c", ask)
    assert before.startswith(str(image.home / "venv"))
    image.run("binder/postBuild")
    assert image.run("python", "-P", "-c", ask) == before
    assert list((image.home / "venv").rglob("workbench/run/__pycache__/suite.*.pyc"))


@pytest.mark.slow
def test_all_that_notebooks_import_is_installed(image):
    """Each of their imports works in the pinned environment."""
    cells = [
        cell
        for name in NOTEBOOKS
        for cell in json.loads((ROOT / "notebooks" / name).read_text("utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]
    code = ["".join(cell["source"]) for cell in cells if not cell["source"][0].startswith("%%")]
    trees = [ast.parse(re.sub(r"^[%!].*", "", text, flags=re.MULTILINE)) for text in code]
    found = {
        ast.unparse(node)
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert "import workbench as wb" in found
    image.run("python", "-P", "-c", "\n".join(sorted(found)))


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN_HERE)
def test_plain_user_runs_the_notebook(image, record_property, name):
    """It runs to its end within the limit, without an error or a word on stderr, and shows something."""
    start = time.monotonic()
    bad, shown = json.loads(image.run("python", "-P", "-c", RUN_NOTEBOOK, name))
    record_property("notebook_seconds", round(time.monotonic() - start, 1))
    record_property("peak_memory", image.peak())
    print(f"{name} under Binder's limits: {time.monotonic() - start:.1f} s, peak memory {image.peak()}")
    assert bad == []
    assert shown > 0


@pytest.mark.slow
def test_sandbox_says_what_it_gives(image):
    """The level that is announced is the one that a run really had; on Linux the sandbox holds without root."""
    level, had = json.loads(image.run("python", "-P", "-c", ISOLATION))
    assert had == [level]
    assert level == "kernel" or sys.platform != "linux"
    assert level in image.run("workbench", "sandbox")


@dataclass
class Jupyter:
    """JupyterLab in the image, started as Binder starts it.

    Attributes:
        process: The server.
        url: Where it answers, up to the path.
    """

    process: subprocess.Popen[bytes]
    url: str
    token: str

    def get(self, path: str, *, seconds: float = 10) -> tuple[int, str]:
        """The status and the text of a page; (0, "") when nobody is there yet."""
        try:
            with urllib.request.urlopen(f"{self.url}/{path}?token={self.token}", timeout=seconds) as reply:
                return int(reply.status), reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def memory(self) -> int:
        """Bytes held by the server, its kernels, and what they started."""
        psutil = pytest.importorskip("psutil")
        server = psutil.Process(self.process.pid)
        held = 0
        for process in [server, *server.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                held += process.memory_info().rss
        return held


@pytest.fixture(scope="module")
def jupyter(image) -> Iterator[Jupyter]:
    port, token = free_port(), uuid.uuid4().hex
    options = ["--no-browser", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    options += ["--ServerApp.ip=127.0.0.1", f"--IdentityProvider.token={token}"]
    path = image.home.parent / f"{image.home.name}.log"
    with path.open("wb") as log:
        process = subprocess.Popen(
            image.command("jupyter", "lab", *options),
            cwd=image.repo, env=image.environment, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        made = Jupyter(process, f"http://127.0.0.1:{port}", token)
        wait_until(lambda: process.poll() is not None or made.get("api")[0], what="JupyterLab", seconds=600)
        assert process.poll() is None, path.read_text()[-3000:]
        yield made
    finally:
        end_group(process)
        path.unlink(missing_ok=True)


@pytest.mark.slow
def test_link_opens_the_quickstart(jupyter):
    """The link of the Binder badge leads to the notebook in JupyterLab."""
    assert jupyter.get("lab/tree/notebooks/01_quickstart.ipynb")[0] == 200


@pytest.mark.slow
def test_server_and_kernel_fit_in_memory(jupyter, record_property):
    """The server and the kernel that has run the quickstart stay below Binder's 2 GB together."""
    status, page = jupyter.get("voila/render/notebooks/01_quickstart.ipynb", seconds=600)
    assert (status, failures(page)) == (200, [])
    held = jupyter.memory()
    record_property("server_and_kernel_MiB", held // 2**20)
    print(f"server and kernel after the quickstart: {held / 2**20:,.0f} MiB")
    assert 50 * 2**20 < held < LIMIT


@pytest.mark.slow
@pytest.mark.skipif("05_workbench.ipynb" not in NOTEBOOKS, reason="there is no notebook with the app")
def test_link_opens_the_app(jupyter):
    """The other link leads to the app: Voila runs the notebook, and a widget stands on the page."""
    status, page = jupyter.get("voila/render/notebooks/05_workbench.ipynb", seconds=600)
    assert (status, failures(page)) == (200, [])
    assert "application/vnd.jupyter.widget-view+json" in page


def failures(page: str) -> list[str]:
    """What Voila writes in the place of a cell that failed."""
    return re.findall(r"There was an error[^<]*|Traceback \(most recent call last\)", page)
