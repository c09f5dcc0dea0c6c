"""Custom graders in processes of their own: the main thread, a limit that holds, a crash that costs one row."""

import os
import pickle
import signal
import sys
import threading
import time

import psutil
import pytest

import workbench as wb
from workbench.errors import CaptureError
from workbench.graders.base import from_spec
from workbench.graders.code.custom import CustomGrader

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups of POSIX")


def behave(thread):
    """What the completion asks for; `signal.alarm` works in a main thread only, as math-verify needs it."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(60)
    signal.alarm(0)
    print("printed between the messages")
    match thread.completion():
        case "hang":
            while True:
                pass
        case "sleep":
            time.sleep(3600)
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exit":
            sys.exit(3)
        case "raise":
            raise KeyError("gone")
        case "odd error":
            raise Unreadable("a", "b")
        case "nothing":
            return None
        case "text":
            return "1.0"
    return wb.Grade(1.0, passed=True, reasoning=f"{os.getpid()} {threading.current_thread().name}")


class Unreadable(Exception):
    """Can be pickled and not read again."""

    def __init__(self, first, second):
        super().__init__(f"{first} {second}")


async def waits(sample: wb.Sample):
    return float(sample.reference == sample.thread.completion())


def grade_of(completion, **settings):
    grader = CustomGrader(behave, own_process=True, **settings)
    return grader(wb.StringThread([("user", "q"), ("assistant", completion)]))


def test_the_function_has_the_main_thread_of_another_process():
    pid, _, thread = grade_of("fine").reasoning.partition(" ")
    assert int(pid) != os.getpid()
    assert thread == "MainThread"


def test_a_function_that_needs_the_main_thread_leads_here():
    """In this process it is called in another thread, where signals cannot be set; the failure names the setting."""
    grade = CustomGrader(behave)(wb.StringThread([("user", "q"), ("assistant", "fine")]))
    assert (grade.score, grade.error.kind) == (None, "runtime")
    assert "own_process=True" in grade.error.message


@pytest.mark.parametrize(
    ("completion", "kind", "part"),
    [
        ("hang", "timeout", "1 s"),
        ("sleep", "timeout", "1 s"),
        ("crash", "crash", "SIGSEGV"),
        ("exit", "runtime", "SystemExit"),
        ("raise", "runtime", "gone"),
        ("odd error", "runtime", "Unreadable: a b"),
        ("nothing", "runtime", "None"),
        ("text", "runtime", "'1.0'"),
    ],
)
def test_what_goes_wrong_costs_its_row(completion, kind, part):
    grade = grade_of(completion, timeout=1.0)
    assert (grade.score, grade.error.kind) == (None, kind)
    assert part in grade.error.message


def test_runs_repeats_and_probes_keep_the_limit():
    """Rows beside one that hangs or crashes are scored, and no process is left."""
    grader = CustomGrader(behave, own_process=True, timeout=1.0, name="b")
    rows = [{"prompt": f"p{n}", "completion": text, "expected": "4"} for n, text in enumerate(
        ["fine", "hang", "4", "crash", "fine"]
    )]  # fmt: skip
    grades = wb.Suite([grader]).run(rows, repeats=2, progress=False).grades["b"]
    assert grades.statuses.tolist() == ["scored", "failed", "scored", "failed", "scored"]
    assert [grades.errors[row].kind for row in (1, 3)] == ["timeout", "crash"]
    assert grades.isolation == "none"
    probed = wb.probe(CustomGrader(waits, own_process=True, timeout=30.0), rows[2:3])
    assert probed.report.grades["waits"].n_failed == 0
    assert not [
        child for child in psutil.Process().children() if "process_child" in " ".join(child.cmdline())
    ]


def test_functions_of_a_notebook_and_closures():
    """What no module has goes by value; what cannot be written is refused with what to do."""
    wanted = "four"

    def closure(thread):
        return float(thread.completion() == wanted)

    thread = wb.StringThread([("user", "q"), ("assistant", "four")])
    assert CustomGrader(closure, own_process=True)(thread).score == 1.0
    assert CustomGrader(lambda thread: 0.25, own_process=True)(thread).score == 0.25
    lock = threading.Lock()
    grade = CustomGrader(lambda thread: float(lock.locked()), own_process=True)(thread)
    assert "cannot be sent to a process" in grade.error.message
    assert "inside the function" in grade.error.message


def test_async_functions_and_samples():
    (sample,) = wb.Samples([{"completion": "4", "expected": "4"}])
    assert CustomGrader(waits, own_process=True)(sample).score == 1.0


def test_the_setting_is_saved_and_the_processes_are_not():
    grader = CustomGrader(behave, own_process=True)
    assert grader(wb.StringThread([("user", "q"), ("assistant", "fine")])).score == 1.0
    assert grader.spec()["own_process"] is True
    assert from_spec(grader.spec()) == grader == pickle.loads(pickle.dumps(grader))


def uses(thread):
    return float(psutil.cpu_count() > 0)


def test_a_package_that_is_refused_leads_here():
    """Captured, typed and read: each refusal of an installed package names the way that works."""
    with pytest.raises(CaptureError) as error:
        wb.capture(uses)
    assert "own_process=True" in error.value.hint
    for text in (
        "import psutil\nasync def grade(thread):\n    return 1.0\n",
        "def f(completions, **kw):\n    import psutil\n    return [1.0]\n",
    ):
        grader = wb.FunctionGrader.from_source(text)
        assert "own_process=True" in grader.validate().advice
