"""Runs the capture cases of stdin in IPython shells of their own and writes what was captured to stdout.

A process by itself: shells take over `__main__`, `linecache` and the display hook. Each case has its own
shell with the compiler of a notebook kernel.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import linecache
import os
import sys
import warnings

from ipykernel.compiler import XCachingCompiler
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from workbench.core.errors import WorkbenchError
from workbench.graders.capture import capture, cell_texts


def main() -> None:
    warnings.simplefilter("ignore")
    results = []
    for case in json.load(sys.stdin):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            results.append(run(case))
    json.dump(results, sys.stdout)


def run(case: dict) -> dict:
    shell = new_shell()
    if case.get("record", True):
        cell_texts.install(shell)
    for cell in case["cells"]:
        result = shell.run_cell(cell, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            return outcome_of(error, "cell: ")
    return captured(shell, case)


def captured(shell: InteractiveShell, case: dict) -> dict:
    try:
        if case.get("text"):
            source = capture(case["text"], namespace=shell.user_ns)
        else:
            source = eval(f"capture({case['capture']})", shell.user_global_ns, {"capture": taking})
    except Exception as error:
        return outcome_of(error)
    fields = ("function", "origin", "imports", "helpers", "constants")
    return {"text": source.text, **{field: getattr(source, field) for field in fields}}


def taking(thing, **settings):
    """`capture`, or the source of what a decorator of ours has made of a function already."""
    source = getattr(thing, "source", None)
    return source if source is not None and not settings else capture(thing, **settings)


def outcome_of(error: BaseException, prefix: str = "") -> dict:
    kind = type(error).__name__
    # A library error would be a bug of ours, so its kind is told; refusals are told by their words.
    return {"error": prefix + (str(error) if isinstance(error, WorkbenchError) else f"{kind}: {error}")}


def new_shell() -> InteractiveShell:
    linecache.cache.clear()  # cells of the shell before
    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "nocolor"
    shell = InteractiveShell(config=config, compiler_class=XCachingCompiler)
    atexit.unregister(shell.atexit_operations)  # it collects garbage once a shell
    InteractiveShell.clear_instance()
    InteractiveShell._instance = shell
    return shell


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main()
