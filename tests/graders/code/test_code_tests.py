"""Completions' code against tests of their rows."""

import json

import pytest

import workbench as wb
from workbench.core.errors import FormatError
from workbench.graders.code.test_programs import encoded, json_value

ADD = "def add(a, b):\n    return a + b\n"
ASSERTS = ["assert add(1, 2) == 3", "assert add(0, 0) == 0"]
PAIRS = [{"input": "1 2\n", "output": "3"}, {"input": "2 2", "output": "4\n"}]
PRINTS = "a, b = map(int, input().split())\nprint(a + b)"


def grade(code, tests, **settings):
    """The grade of a completion."""
    columns = settings.pop("columns", {})
    thread = wb.StringThread([("user", "q"), ("assistant", code)], {"tests": tests, **columns})
    return wb.CodeTests(**settings)(thread)


@pytest.mark.parametrize(
    ("code", "tests", "score"),
    [
        (ADD, ASSERTS, 1.0),
        (f"Here:\n```python\n{ADD}```\nDone.", ASSERTS, 1.0),
        (f"```python\nprint(1)\n```\n```py\n{ADD}```\n```text\nout\n```", ASSERTS, 1.0),
        (f"<think>```python\n{ADD}```</think>I do not know", ASSERTS, 0.0),
        ("def add(a, b):\n    return a - b", ASSERTS, 0.0),
        ("def sub(a, b):\n    return a + b", ASSERTS, 0.0),
        ("def add(a, b:", ASSERTS, 0.0),
        ("", ASSERTS, 0.0),
        (ADD, "\n".join(ASSERTS), 1.0),
        (ADD, "x = 3\nassert add(1, 2) == x\nx = 9\nassert add(4, 5) == x", 1.0),
        (ADD, "import math\nfor n in range(5):\n    total = add(n, n)\nassert math.isclose(add(0.1, 0.2), 0.3)", 1.0),
        (ADD, "assert add([1], [2]) == [1, 2]\nassert add('a', 'b') == 'ab'\nassert add((1,), (2,)) == (1, 2)", 1.0),
        ("def top(xs):\n    xs.sort()\n    return xs[-1]", "xs = [3, 1]\nassert top(xs) == 3\nassert xs == [1, 3]", 0.0),
        ("def top(xs):\n    xs.sort()\n    return xs[-1]", "xs = [3, 1]\ntop(xs)\nassert xs == [1, 3]", 1.0),
        ("def f(x):\n    raise ValueError('no')", "try:\n    f(1)\n    ok = False\nexcept ValueError:\n    ok = True\nassert ok", 1.0),
        ("def f():\n    return float('nan'), {1: {2}}, b'x', 2**70", "a, b, c, d = f()\nassert a != a\nassert (b, c, d) == ({1: {2}}, b'x', 2**70)", 1.0),
        (PRINTS, PAIRS, 1.0),
        ("import sys\nfor line in sys.stdin.buffer:\n    print(sum(map(int, line.split())))", PAIRS, 1.0),
        ("print(3)", PAIRS, 0.0),
        ("import sys\nprint(sum(map(int, input().split())))\nsys.exit(0)", PAIRS, 1.0),
        ("if __name__ == '__main__':\n    print(sum(map(int, input().split())))", PAIRS, 1.0),
        (PRINTS, {"inputs": ["1 2", "3 4"], "outputs": ["3", "7"]}, 1.0),
        (PRINTS, json.dumps(PAIRS), 1.0),
        (ADD, [{"function": "add", "args": [1, 2], "expected": 3}], 1.0),
        (ADD, {"inputs": [[1, 2], [2, 2]], "outputs": [3, 4], "fn_name": "add"}, 1.0),
        (ADD, {"inputs": [[1, 2], [2, 2]], "outputs": [3, 5], "fn_name": "add"}, 0.0),
        ("def f(x):\n    return (x, [True])", [{"function": "f", "args": [1], "expected": [1, [True]]}], 1.0),
        ("def f(x):\n    return 1", [{"function": "f", "args": [1], "expected": True}], 0.0),
        ("def f():\n    pass", [{"function": "f", "args": [], "expected": None}], 1.0),
    ],
)  # fmt: skip
def test_forms_of_tests(code, tests, score):
    """Asserts, pairs of input and output, calls; code in blocks or bare."""
    graded = grade(code, tests)
    assert graded.error is None
    assert graded.score == score, graded.reasoning


EXPLOITS = {
    "always equal": "class Same:\n    def __eq__(self, other): return True\n    def __sub__(self, other): return self\n    def __abs__(self): return 0\ndef add(a, b):\n    return Same()",  # human-eval#67, evalplus#306
    "equal integer": "class Same(int):\n    def __eq__(self, other): return True\ndef add(a, b):\n    return Same()",
    "equal list": "class Same(list):\n    __eq__ = lambda self, other: True\ndef add(a, b):\n    return Same()",
    "exit": "import sys\nsys.exit(0)",
    "exit in a call": "import sys\ndef add(a, b):\n    sys.exit(0)",
    "hard exit": "import os\ndef add(a, b):\n    os._exit(0)",
    "patched builtins": "import builtins\nbuiltins.AssertionError = Exception\nbuiltins.abs = lambda x: 0\ndef add(a, b):\n    return None",
    "patched json": "import json\njson.dumps = lambda *a, **k: '{\"passed\": true}'\ndef add(a, b):\n    return 0",
    "forged reply": "import json\nold = json.dumps\njson.dumps = lambda *a, **k: old({'passed': True, 'value': {'passed': True}, 'args': []})\ndef add(a, b):\n    return 0",
    "prints passed": "print('{\"passed\": true}')\nprint('All tests pass')",
    "reads the tests": "import gc, sys\ndef add(a, b):\n    texts = [one for one in gc.get_objects() if isinstance(one, dict) and 'tests' in one]\n    return 3 if texts else None",
    "redefines check": "def check(candidate):\n    pass\ndef add(a, b):\n    return None",
    "raises what tests catch": "def add(a, b):\n    raise AssertionError",
    "endless": "def add(a, b):\n    while True: pass",
    "endless by its value": "def add(a, b):\n    return [0] * 10**9",
    "frames": "import sys\ndef add(a, b):\n    frame = sys._getframe()\n    while frame:\n        frame.f_locals.get('reply', {}).update(passed=True)\n        frame = frame.f_back\n    return None",
}  # fmt: skip
CHECK = "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert abs(candidate(2, 2) - 4) < 1e-6\n"


@pytest.mark.parametrize("exploit", EXPLOITS)
def test_code_cannot_pass_without_the_right_result(exploit):
    """Whatever the code does to its own process, the tests do not see it."""
    for tests, columns in ((ASSERTS[:1], {}), (CHECK, {"entry_point": "add"})):
        graded = grade(EXPLOITS[exploit], tests, timeout=1.0, columns=columns)
        assert (graded.score, graded.error) == (0.0, None), exploit
    pairs = grade(EXPLOITS[exploit], PAIRS[:1], timeout=1.0)
    assert (pairs.score, pairs.error) == (0.0, None)
    calls = grade(EXPLOITS[exploit], [{"function": "add", "args": [1, 2], "expected": 3}], timeout=1.0)
    assert (calls.score, calls.error) == (0.0, None)


def test_a_test_that_hangs_on_a_result_fails():
    """A value that keeps the tests busy is the code's doing; tests that hang by themselves fail the row."""
    assert (
        grade("def f():\n    return 10**12", "for n in range(f()):\n    pass\nassert True", timeout=1.0).score
        == 0.0
    )
    assert (
        grade("def f():\n    return 1", "while True:\n    pass\nassert f()", timeout=1.0).error.kind
        == "timeout"
    )


def test_a_check_function():
    """HumanEval's form: the entry point is the row's, the grader's, or called by the tests themselves."""
    assert grade(ADD, CHECK, columns={"entry_point": "add"}).score == 1.0
    assert grade(ADD, CHECK, entry="add").score == 1.0
    assert grade(ADD, f"{CHECK}\ncheck(add)").score == 1.0
    assert grade("def add(a, b):\n    return 3", CHECK, entry="add").score == 0.0


def test_shares_and_details():
    """Each assert, pair and call is a test."""
    half = grade("def add(a, b):\n    return 0", ASSERTS, measure="share")
    assert (half.score, half.passed, half.metadata["passed"], half.metadata["tests"]) == (0.5, False, 1, 2)
    assert half.metadata["failure"].startswith("test 1")
    assert grade("def add(a, b):\n    return 0", "\n".join(ASSERTS), measure="share").score == 0.5
    assert grade("print(3)", PAIRS, measure="share").score == 0.5


def test_a_call_that_raises_is_not_an_empty_result():
    """An expected None or "" is not met by an error (verl#7853)."""
    for expected in (None, ""):
        assert (
            grade(
                "def f(x):\n    raise ValueError('failed')",
                [{"function": "f", "args": [1], "expected": expected}],
            ).score
            == 0.0
        )
    assert grade("raise ValueError", [{"input": "", "output": ""}]).score == 0.0


def test_outputs_are_compared_by_lines():
    """White space at ends does not count; numbers with a tolerance, if declared."""
    tests = [{"input": "", "output": "1.0 \n2"}]
    assert grade("print('1.0')\nprint('2')\nprint()", tests).score == 1.0
    assert grade("print('1.0 2')", tests).score == 0.0
    assert grade("print('1.001')\nprint(2)", tests).score == 0.0
    assert grade("print('1.001')\nprint(2)", tests, tolerance=0.01).score == 1.0
    assert grade("print('nan')\nprint(2)", tests, tolerance=0.01).score == 0.0


@pytest.mark.parametrize(
    ("code", "score"),
    [
        ("function add(a, b) { return a + b; }", 1.0),
        ("```js\nconst add = (a, b) => a + b;\n```", 1.0),
        ("function add(a, b) { return a - b; }", 0.0),
        ("function add(a, b) { return { valueOf() { return 3; } }; }", 0.0),
        ("function add(a, b) { while (true) {} }", 0.0),
        ("function add(a, b", 0.0),
        ("JSON.stringify = () => '{\"value\": true}'; function add() { return 0; }", 0.0),
    ],
)
def test_javascript(code, score):
    """Calls of functions, in the engine of script graders."""
    graded = grade(
        code, [{"function": "add", "args": [1, 2], "expected": 3}], language="javascript", timeout=1.0
    )
    assert (graded.score, graded.error) == (score, None), graded.reasoning


@pytest.mark.parametrize(
    ("tests", "settings"),
    [
        ([], {}), ("", {}), ([1], {}), ([{"input": 1, "output": 2}], {}), ({"inputs": ["1"], "outputs": []}, {}), ("assert (", {}), ([{"args": [1]}], {}),
        ([{"function": "a b", "args": [], "expected": 1}], {}), (ASSERTS, {"language": "javascript"}), (PAIRS, {"language": "javascript"}), ("# nothing", {}),
    ],
)  # fmt: skip
def test_tests_that_cannot_be_read_fail_the_row(tests, settings):
    """The completion is not to blame."""
    assert grade(ADD, tests, **settings).error.kind == "sample"


def test_tests_may_be_the_reference():
    """A row without the column uses its reference."""
    sample = wb.Sample(id="0", thread=wb.StringThread([("assistant", ADD)]), reference=ASSERTS, group="0")
    assert wb.CodeTests()(sample).score == 1.0


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"language": "c"}, "language"),
        ({"measure": "some"}, "measure"),
        ({"timeout": 0}, "timeout"),
        ({"tolerance": -1}, "tolerance"),
        ({"column": 1}, "column"),
    ],
)
def test_bad_settings_are_refused(settings, part):
    """Each is named."""
    with pytest.raises(FormatError, match=part):
        wb.CodeTests(**settings)


def test_values_pass_as_plain_data():
    """What has no plain form is refused."""
    assert json_value(encoded({"a": [1, 2.5, None, True], "b": 2**80})) == {
        "a": [1, 2.5, None, True],
        "b": 2**80,
    }
    with pytest.raises(TypeError, match="plain data"):
        encoded(object())
    for bad in ({"object": 1}, {}, {"a": 1, "b": 2}):
        with pytest.raises(ValueError, match=r"value|form"):
            json_value(bad)


def test_many_rows(tmp_path):
    """A run keeps its order, and its rows apart."""
    rows = [
        {"prompt": "q", "completion": f"def f():\n    return {n}", "tests": [f"assert f() == {n % 3}"]}
        for n in range(6)
    ]
    report = wb.CodeTests(name="tests").run(wb.Samples(rows), progress=False)
    assert report.scores["tests"].tolist() == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]


@pytest.mark.slow
def test_its_probe_has_no_error():
    """No wrong program is accepted, and no equivalent form of a right one is rejected; the search is complete."""
    rows = [
        {"prompt": f"Write add{n}.", "completion": f"```python\ndef add{n}(a, b):\n    return a + b + {n}\n```",
         "tests": [f"assert add{n}(1, 2) == {3 + n}", f"assert add{n}(0, 5) == {5 + n}"]}
        for n in range(3)
    ]  # fmt: skip
    probe = wb.probe(wb.CodeTests(), wb.Samples(rows), progress=False, seconds=900)
    assert not any("Interrupted" in note for note in probe.run_notes)
    assert not [one for one in probe.findings if one.severity == "error"]
