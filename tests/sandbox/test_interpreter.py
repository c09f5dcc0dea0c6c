"""How the sandbox's interpreter is started: with the loader's variables, without the user's, or not at all."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

import workbench as wb
from tests.app.widgets import using
from workbench.core.thread import StringThread
from workbench.data.packed import pack
from workbench.sandbox.host import pool, zygote
from workbench.sandbox.host.pool import Pool
from workbench.sandbox.host.program import Limits, Program

linux = pytest.mark.skipif(sys.platform != "linux", reason="the loader's rules are those of Linux")
ROWS = pack([StringThread([("user", "q"), ("assistant", "a")], {})])

ASK = "import json, sysconfig; print(json.dumps([sysconfig.get_config_var(n) for n in ('Py_ENABLE_SHARED', 'LIBDIR', 'INSTSONAME')]))"


def interpreters():
    """Programs of Python that may be shared builds: this one's, and those of other versions installed here."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield Path(sys.executable).resolve()
    yield from sorted(path.resolve() for path in root.glob("versions/3.1[1-9].*/bin/python3"))


def shared_builds():
    """Each program whose library is a file of its own, with that library's folder."""
    for program in interpreters():
        done = subprocess.run([program, "-c", ASK], capture_output=True, text=True, timeout=600)
        shared, folder, library = json.loads(done.stdout) if done.returncode == 0 else (0, "", "")
        if shared and (Path(folder) / library).is_file():
            yield program, Path(folder)


def lost(program, folder, target):
    """A copy of a program and its library, which the loader finds only where a variable says so."""
    (target / "bin").mkdir()
    (target / "lib").mkdir()
    for library in folder.glob("libpython*.so*"):
        (target / "lib" / library.name).write_bytes(library.read_bytes())
    copy = target / "bin" / program.name
    told, nowhere = os.fsencode(folder), b"/nowhere"
    copy.write_bytes(program.read_bytes().replace(told + b"\0", nowhere.ljust(len(told), b"x") + b"\0"))
    copy.chmod(0o755)
    return copy, target / "lib"


def starts(program, **variables):
    return (
        subprocess.run([program, "-c", "pass"], env=variables, capture_output=True, timeout=600).returncode
        == 0
    )


@pytest.fixture(scope="module")
def lost_build(tmp_path_factory):
    """A shared build of Python that needs LD_LIBRARY_PATH to start, and the folder to name there."""
    for program, folder in shared_builds():
        copy, libraries = lost(program, folder, tmp_path_factory.mktemp("python"))
        if not starts(copy) and starts(copy, LD_LIBRARY_PATH=str(libraries)):
            return copy, libraries
    reason = "no shared build of Python is here to copy: install one, such as with pyenv and --enable-shared"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


LOOKS = """
import os, sys

frame = sys._getframe()
while "_confine" not in frame.f_globals:
    frame = frame.f_back
libc = frame.f_globals["_confine"].ctypes.CDLL(None)
libc.getenv.restype = frame.f_globals["_confine"].ctypes.c_char_p
FOUND = [*os.environ, *(name for name in (b"LD_LIBRARY_PATH", b"LD_PRELOAD") if libc.getenv(name))]


async def grade(thread):
    return float(len(FOUND))
"""


@linux
def test_a_python_that_needs_its_librarys_folder_has_a_sandbox(lost_build, monkeypatch):
    """With LD_LIBRARY_PATH the interpreter starts, its workers are confined, and a grader sees no such variable."""
    program, libraries = lost_build
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(libraries))
    own = Pool()
    try:
        assert own.probe()["leaks"] == []
        assert own.level == "kernel"
        outcome = own.run(Program(LOOKS, Limits()), ROWS)
        assert dict(outcome.grades.errors) == {}
        assert outcome.grades.scores.tolist() == [0.0]
        kept = Path(f"/proc/{own._zygote._process.pid}/environ").read_bytes()
        assert b"PYTHONHASHSEED=0" in kept
        assert b"LD_" not in kept
        assert os.fsencode(libraries) not in kept
    finally:
        own.close()


@linux
def test_without_its_folder_it_says_what_is_missing(lost_build, monkeypatch):
    """The loader's own words reach the user where no variable helps."""
    monkeypatch.setattr(sys, "executable", str(lost_build[0]))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    with pytest.raises(zygote.StartError, match="did not start[^$]*cannot open shared object file"):
        Pool().probe()


def test_only_the_loaders_folders_are_passed_on(monkeypatch, tmp_path):
    """What puts code into a process stays out, and so does everything else of the user's; folders are made absolute."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(zygote, "_LOADER", ("LD_LIBRARY_PATH",))
    ours = {
        "LD_PRELOAD": "/evil.so", "LD_AUDIT": "/evil.so", "DYLD_INSERT_LIBRARIES": "/evil.so", "PYTHONPATH": "/evil",
        "OPENAI_API_KEY": "sk-secret", "HOME": "/home/me", "LD_LIBRARY_PATH": "/opt/python/lib:mine;$ORIGIN/../lib",
    }  # fmt: skip
    found = zygote.environment(ours)
    assert found.pop("LD_LIBRARY_PATH") == f"/opt/python/lib:{tmp_path}/mine:$ORIGIN/../lib"
    assert found == zygote.environment({}) == zygote.environment({"LD_LIBRARY_PATH": ""})
    assert not [value for value in found.values() if "evil" in value or "secret" in value]


@linux
def test_nothing_of_the_loaders_is_left_in_a_worker(monkeypatch, tmp_path):
    """The variable is gone from the environment of Python and of C, and its text from the zygote's memory."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.setenv("LD_PRELOAD", "")
    own = Pool()
    try:
        outcome = own.run(Program(LOOKS, Limits()), ROWS)
        assert outcome.grades.scores.tolist() == [0.0]
        kept = Path(f"/proc/{own._zygote._process.pid}/environ").read_bytes()
        assert os.fsencode(tmp_path) not in kept
        assert b"LD_" not in kept
    finally:
        own.close()


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)  # IPython warns when another environment is active
    InteractiveShell.clear_instance()
    ip = InteractiveShell.instance()
    ip.run_cell("%load_ext workbench").raise_error()
    yield ip
    ip.history_manager.end_session()
    InteractiveShell.clear_instance()


@pytest.fixture
def no_sandbox(monkeypatch):
    """A machine where the sandbox's interpreter does not start."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    monkeypatch.setattr(pool, "_POOL", Pool())
    monkeypatch.setattr(zygote, "_warned", [])


SAMPLES = wb.Samples([{"prompt": "2+2?", "completion": text, "expected": "4"} for text in ("4", "5", "4")])
FACTOR = 1.0


async def ones(thread: wb.StringThread) -> float:
    return FACTOR


async def twos(thread: wb.StringThread) -> float:
    return 2 * FACTOR


def test_defining_a_grader_tells_once_that_nothing_starts(no_sandbox):
    """The first definition warns, the next ones are silent, and all of them are graders with their text."""
    with pytest.warns(UserWarning, match="did not start .*neither validated nor run.*Rules, judges, labels"):
        first = wb.grader(ones)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        second = wb.grader(twos)
    assert "FACTOR = 1.0" in first.source.text
    assert "2 * FACTOR" in second.source.text


def test_what_needs_no_sandbox_goes_on(no_sandbox):
    """In one suite the rule grades every row, and the code's rows fail with kind *sandbox*, told in a note."""
    code = wb.FunctionGrader.from_source("async def grade(thread):\n    return 1.0\n", name="code")
    report = wb.Suite([code, wb.ExactMatch(name="exact"), wb.Regex(pattern="4", name="four")]).run(
        SAMPLES, progress=False
    )
    assert report.scores["exact"].tolist() == report.scores["four"].tolist() == [1.0, 0.0, 1.0]
    assert {error.kind for error in report.grades["code"].errors.values()} == {"sandbox"}
    assert report.grades["code"].n_failed == 3
    assert "code: not graded: the sandbox process did not start (/nowhere/python" in report.notes[0]
    assert code(SAMPLES[0]).error.kind == "sandbox"
    with pytest.raises(zygote.StartError, match="did not start"):
        code.validate()


def test_the_app_opens_and_runs(no_sandbox):
    """The Workbench shows such graders beside rules, runs what can be run, and says why the rest has no score."""
    code = wb.FunctionGrader.from_source("async def grade(thread):\n    return 1.0\n", name="code")
    app = using.app_of([code, wb.ExactMatch(name="exact")], SAMPLES)
    report = app.session.runs.start(0).report(60)
    assert report.grades["exact"].n_scored == 3
    assert report.grades["code"].n_failed == 3
    app.close()


def test_a_cell_with_the_magic_goes_on(no_sandbox, shell, capsys):
    """`%%grader` keeps the grader, with a name of another cell in it, and warns instead of ending the notebook."""
    shell.run_cell("LIMIT = 3\n").raise_error()
    with pytest.warns(UserWarning, match="did not start"):
        shell.run_cell_magic("grader", "brief", "async def grade(thread):\n    return float(LIMIT)\n")
    assert "LIMIT = 3" in shell.user_ns["brief"].source.text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shell.run_cell_magic("grader", "plain", "async def grade(thread):\n    return 1.0\n")
    assert shell.user_ns["plain"].validation is None
    assert "Error" not in capsys.readouterr().out


def test_sandbox_info_says_why_there_is_none(no_sandbox):
    """The label is `none`, with what was found."""
    info = wb.sandbox_info()
    assert info.level == "none"
    assert "/nowhere/python" in info.problem
