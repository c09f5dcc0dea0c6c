"""Capture from every place a function may come from: kernels, files, prompts, texts."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.core.errors import CaptureError
from workbench.graders.capture import capture, install
from workbench.graders.capture.functions import is_plain, literal
from workbench.graders.capture.source import MAX_BYTES

ROOT = Path(__file__).parents[3]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def python(*options: str, text: str = "") -> subprocess.CompletedProcess:
    command = [sys.executable, *options]
    return subprocess.run(
        command,
        input=text,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        cwd=ROOT,
        timeout=600,
        check=False,
    )


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module's file and imports it; called again it changes the file only."""
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"grader_file_{tmp_path.name}"

    def write(text: str):
        (tmp_path / f"{name}.py").write_text(text)
        if name in sys.modules:
            return sys.modules[name]
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield write
    sys.modules.pop(name, None)


def test_from_a_module(module):
    """A function of a .py file brings its imports, helpers and constants, and tells file and line."""
    loaded = module(
        "import re\nK = 2  # twice\n\n\ndef h(s):\n    return K * len(s)\n\n\nasync def exact(thread):\n    return h('')\n"
    )
    source = capture(loaded.exact)
    assert source.origin.endswith(".py:9")
    assert source.text == (
        "K = 2  # twice\n\n\ndef h(s):\n    return K * len(s)\n\n\nasync def grade(thread):\n    return h('')\n"
    )
    assert (source.function, source.imported) == ("exact", False)


def test_from_a_module_that_was_edited(module):
    """A file edited after its import gives another function's text; it is called stale."""
    loaded = module("async def grade(thread):\n    return 0.25\n")
    module("async def other(thread):\n    return 0.0\n\n\nasync def grade(thread):\n    return 0.75\n")
    with pytest.raises(CaptureError, match="the source of grade is stale") as caught:
        capture(loaded.grade)
    assert "reload" in caught.value.hint


def test_from_a_module_whose_lines_moved(module):
    """Lines added above a function change nothing of it, so it still travels."""
    loaded = module("async def grade(thread):\n    return 0.25\n")
    module("import re\n\n# more\nasync def grade(thread):\n    return 0.25\n")
    assert capture(loaded.grade).text == "# more\nasync def grade(thread):\n    return 0.25\n"


def test_from_python_c():
    """`python -c` keeps no source, which is said with the way out."""
    program = "from workbench.graders.capture import capture\nasync def grade(thread):\n    return 1.0\ncapture(grade)"
    done = python("-c", program)
    if sys.version_info < (3, 13):  # from 3.13 on Python keeps the text of -c
        assert "no source text of grade" in done.stderr
        assert "from_source" in done.stderr


def test_from_standard_input():
    """A script on standard input keeps no source either."""
    done = python(
        "-",
        text="from workbench.graders.capture import capture\nasync def grade(thread):\n    return 1.0\ncapture(grade)\n",
    )
    assert "no source text of grade" in done.stderr


def test_from_a_script(tmp_path):
    """A script captures its own function, without IPython being loaded."""
    script = tmp_path / "mine.py"
    script.write_text(
        "import sys\nfrom workbench.graders.capture import capture\nK = 3\nasync def exact(thread):\n    return K\n"
        "print(capture(exact).text, 'IPython' in sys.modules)\n"
    )
    done = python(str(script))
    assert done.stdout == "K = 3\n\n\nasync def grade(thread):\n    return K\n False\n", done.stderr


def test_from_a_real_kernel():
    """In a real kernel, with nothing recorded before, cells, classes and a re-run cell are found."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3", env=ENVIRONMENT, cwd=str(ROOT))
    try:
        cells = [
            "import re\nclass Rule:\n    word = 'a'",
            "def h(s):\n    return 1",
            "def h(s):\n    return len(re.findall(Rule.word, s))",
            "async def exact(thread):\n    return h(thread.completion())",
            "from workbench.graders.capture import capture\ns = capture(exact)\nimport json\nprint(json.dumps([s.text, s.origin]))",
        ]
        printed = [kernel_output(client, cell) for cell in cells][-1]
        text, origin = json.loads(printed)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert origin == "cell 4"
    assert text.startswith("import re\n\n\nclass Rule:\n    word = 'a'\n\n\ndef h(s):\n    return len(")


def kernel_output(client, cell: str) -> str:
    printed = []
    reply = client.execute_interactive(
        cell, timeout=600, output_hook=lambda m: printed.append(m["content"].get("text", ""))
    )
    assert reply["content"]["status"] == "ok", reply["content"]
    return "".join(printed)


def test_without_a_shell_nothing_is_recorded():
    """Outside IPython there is no event to listen to, and that is no error."""
    assert install() is False


TEXT = "import re\n\n\nasync def exact(thread):\n    return 1.0\n"


def test_text_is_the_module():
    """A text is carried as it is, with its function called grade."""
    source = capture(TEXT)
    assert source.text == TEXT.replace("exact", "grade")
    assert (source.function, source.origin, source.imports) == ("exact", "text", ("import re",))


@pytest.mark.parametrize(
    ("text", "captured"),
    [
        ("async def exact(thread):\n    return 1.0\n", "async def grade(thread):\n    return 1.0\n"),
        (
            "async def outer(thread):\n    def helper(x):\n        return x\n    return helper(1.0)\n",
            "async def grade(thread):\n    def helper(x):\n        return x\n    return helper(1.0)\n",
        ),
    ],
)
def test_text_as_adaptive_captures_it(text, captured):
    """Only the def's own name changes, as in Adaptive's SDK 0.14."""
    assert capture(text).text == captured


def test_text_with_a_sync_function():
    """A sync function named by the caller is carried; the validation refuses it with its own words."""
    assert (
        capture("def g(thread):\n    return 1.0\n", name="g").text == "def grade(thread):\n    return 1.0\n"
    )


def test_text_keeps_the_old_name_where_it_is_used():
    """A text that reads its grader's name gets an alias behind the function."""
    text = "async def exact(thread):\n    return 1.0\n\n\nALL = [exact]\n"
    assert (
        capture(text).text
        == "async def grade(thread):\n    return 1.0\n\n\nexact = grade\n\n\nALL = [exact]\n"
    )


def test_text_with_two_things_called_grade():
    """A text whose named function would take another one's name is refused."""
    with pytest.raises(CaptureError, match="two things called grade"):
        capture(
            "def grade(s):\n    return 1\n\n\nasync def outer(thread):\n    return grade('')\n", name="outer"
        )


def test_text_without_the_named_function():
    """The functions that are there are offered."""
    with pytest.raises(CaptureError, match="no function called nobody") as caught:
        capture(TEXT, name="nobody")
    assert "exact" in caught.value.found


@pytest.mark.parametrize(
    "text",
    [
        "async def grade(:\n",
        "x = '\0'\n",
        "(" * 300,
        "-" * 60_000 + "1",
        "async def a(t): pass\nasync def b(t): pass\n",
        "1\n",
    ],
    ids=["syntax", "null byte", "parentheses", "deep", "two candidates", "no function"],
)
def test_text_that_only_the_checks_can_judge(text):
    """What cannot be parsed, or has no clear grader, is carried for the five checks to report."""
    assert capture(text).text.rstrip("\n") == text.rstrip("\n")


def test_text_is_never_run():
    """Neither the module's body nor its decorators run here."""
    text = "import sys\nsys.wb_was_run = True\n\n\n@print\nasync def grade(thread):\n    return 1.0\n"
    assert capture(text).text == text
    assert not hasattr(sys, "wb_was_run")


def test_text_of_the_largest_size():
    """The cap is inclusive, and counts UTF-8 bytes."""
    head = "async def grade(thread):\n    return 1.0\n# "
    room = MAX_BYTES - len(head) - 1
    assert len(capture(head + "x" * room + "\n").text) == MAX_BYTES
    with pytest.raises(CaptureError, match="too large"):
        capture(head + "é" * room + "\n")


def test_text_with_other_line_ends():
    """Windows line ends and a byte order mark are taken out."""
    assert (
        capture("\ufeffasync def grade(t):\r\n    return 1\r\n").text == "async def grade(t):\n    return 1\n"
    )


def test_text_with_a_lone_surrogate():
    """A text that no file can hold is refused."""
    with pytest.raises(CaptureError, match="not valid Unicode"):
        capture("async def grade(t):\n    return '\ud800'\n")


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=4)
        | st.tuples(inner, inner)
        | st.frozensets(st.text() | st.integers(), max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=300)
@given(PLAIN)
def test_a_literal_gives_its_value(value):
    """Written out and read again, a plain value is the same, to the sign of a zero."""
    text = literal(value)
    text.encode()
    assert is_plain(value)
    assert repr(eval(text)) == repr(value) or _canonical(eval(text)) == _canonical(value)


def _canonical(value):
    """Sets have no order of their own."""
    if isinstance(value, frozenset):
        return sorted(map(repr, value))
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(_canonical, value)]
    if isinstance(value, dict):
        return [(repr(key), _canonical(item)) for key, item in value.items()]
    return repr(value)
