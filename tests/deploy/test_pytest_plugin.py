"""The fixture `workbench_check` in a pytest of its own process."""

import subprocess
import sys

import pytest

TESTS = """
import workbench as wb

ROWS = [{"prompt": f"{n}?", "completion": str(n), "expected": str(n), "good": True} for n in range(20)]


def test_pass(workbench_check):
    assert workbench_check(wb.ExactMatch(), ROWS, labels="good").ok


def test_fail(workbench_check):
    workbench_check(wb.ExactMatch(), [{**ROWS[0], "good": False}], labels="good")


def test_undecided(workbench_check):
    workbench_check(wb.ExactMatch(), ROWS, labels="good", max_error_rate=0.05)
"""


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ([], {"passed": 1, "failed": 1, "skipped": 1}),
        (["--workbench-inconclusive", "pass"], {"passed": 2, "failed": 1}),
        (["-o", "workbench_inconclusive=fail"], {"passed": 1, "failed": 2}),
    ],
)
def test_three_outcomes(tmp_path, options, counts):
    """A failed check fails, an inconclusive one skips with the rows needed, or as chosen."""
    (tmp_path / "test_graders.py").write_text(TESTS, "utf-8")
    # Named, since an installed package registers it, and a checkout on the path does not.
    plugin = [] if is_installed() else ["-p", "workbench.deploy.pytest_plugin"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rs",
        "-p",
        "no:cacheprovider",
        *plugin,
        *options,
        "test_graders.py",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    for word, count in counts.items():
        assert f"{count} {word}" in done.stdout, done.stdout + done.stderr
    assert "1 known-bad accepted" in done.stdout
    if not options:
        assert "39 more labelled rows needed" in done.stdout


def is_installed():
    from importlib.metadata import entry_points

    return any(point.value == "workbench.deploy.pytest_plugin" for point in entry_points(group="pytest11"))


def test_the_plugin_loads_nothing():
    """Pytest imports it at each start."""
    code = "import sys, workbench.deploy.pytest_plugin\nprint(sorted({'numpy', 'pandas', 'IPython', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
