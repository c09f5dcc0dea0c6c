"""JavaScript graders: the contract, the five checks, what scripts throw, and scripts that mean harm."""

import asyncio
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.core.errors import CaptureError, IsolationError, SandboxError
from workbench.graders.base import from_spec
from workbench.graders.code.script import ScriptGrader
from workbench.graders.concurrent_rows import Control
from workbench.sandbox.host import pool, zygote
from workbench.sandbox.host.pool import Pool

HALF = "function grade(input) { return 0.5; }"


def thread(text="x", metadata=None):
    return wb.StringThread([("user", "q"), ("assistant", text)], {} if metadata is None else metadata)


def score(script, row=None, **limits):
    return ScriptGrader.from_source(script, **limits)(row or thread())


# As printed in the seed document for script graders.
SEED = {
    "json": (
        (
            "function grade(input) {\n  try {\n    JSON.parse(input.response);\n    return 1.0;\n"
            "  } catch (e) {\n    return 0.0;\n  }\n}"
        ),
        [('{"a": 1}', 1.0), ("NaN", 0.0), ("{'a': 1}", 0.0), ("", 0.0)],
    ),
    "length": (
        (
            "function grade(input) {\n  const length = input.response.length;\n  \n"
            "  if (length < 50) return 0.3;      // Too short\n  if (length < 500) return 1.0;     // Good\n"
            "  if (length < 1000) return 0.7;    // Acceptable  \n"
            "  return 0.4;                        // Too long\n}"
        ),
        [("x" * 49, 0.3), ("x" * 50, 1.0), ("x" * 500, 0.7), ("x" * 1000, 0.4), ("😀" * 25, 1.0)],
    ),
    "keywords": (
        (
            "function grade(input) {\n  const response = input.response.toLowerCase();\n"
            "  const required = ['conclusion', 'recommendation'];\n  \n  let found = 0;\n"
            "  for (const keyword of required) {\n    if (response.includes(keyword)) found++;\n  }\n  \n"
            "  return found / required.length;\n}"
        ),
        [("In CONCLUSION", 0.5), ("Conclusion and Recommendations", 1.0), ("no", 0.0)],
    ),
}
TOOLS = (
    "function grade(input) {\n  const toolCalls = input.toolCalls || [];\n  \n"
    "  if (toolCalls.length === 0) {\n    return 0.0; // Expected tool usage\n  }\n  \n"
    "  for (const call of toolCalls) {\n    try {\n      JSON.parse(call.function.arguments);\n"
    "    } catch (e) {\n      return 0.5; // Tool used but invalid args\n    }\n  }\n  \n"
    "  return 1.0; // All good\n}"
)


@pytest.mark.parametrize("name", SEED)
def test_seed_scripts_score_as_the_document_says(name):
    """The document's examples run as printed; lengths count UTF-16 units and JSON is strict."""
    script, cases = SEED[name]
    grader = ScriptGrader.from_source(script)
    assert grader.validate().ok
    assert [grader(thread(text)).score for text, _ in cases] == [wanted for _, wanted in cases]


@pytest.mark.parametrize(("arguments", "wanted"), [('{"q": 1}', 1.0), ("{q: 1}", 0.5), (None, 0.0)])
def test_seed_tool_script(arguments, wanted):
    """Tool calls come in OpenAI's shape."""
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}]
    message = {"role": "assistant", "content": "ok", **({"tool_calls": calls} if arguments else {})}
    given = wb.StringThread.from_messages([{"role": "user", "content": "q"}, message], {})
    assert score(TOOLS, given).score == wanted


def test_input_is_what_the_document_lists():
    """Messages without the final answer, the answer, its tool calls, and the row's metadata."""
    old = {"id": "0", "type": "function", "function": {"name": "old", "arguments": "{}"}}
    new = {"toolUse": {"toolUseId": "1", "name": "new", "input": {"a": 1}}}
    given = wb.StringThread.from_messages(
        [
            {"role": "system", "content": "Be brief"},
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": "", "tool_calls": [old]},
            {"role": "tool", "content": "42", "tool_call_id": "0"},
            {"role": "user", "content": "second"},
            {"role": "assistant", "content": [{"text": "done"}, new]},
        ],
        {"k": [1, None, "é"]},
        tools=[{"type": "function"}],
    )
    script = "function evaluate(input) { return {score: 1, reason: JSON.stringify(input)}; }"
    found = json.loads(score(script, given).reasoning)
    assert found["messages"] == [
        {"role": "system", "content": "Be brief"},
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "", "tool_calls": [old]},
        {"role": "tool", "content": "42", "tool_call_id": "0"},
        {"role": "user", "content": "second"},
    ]
    assert found["history"] == found["messages"]
    assert (found["response"], found["metadata"]) == ("done", {"k": [1, None, "é"]})
    assert [call["function"] for call in found["toolCalls"]] == [{"name": "new", "arguments": '{"a": 1}'}]
    assert set(found["toolCalls"][0]) == {"id", "type", "function"}
    assert (found["lastUserMessage"], found["systemPrompt"]) == ("second", "Be brief")
    assert found["tools"] == [{"type": "function"}]


def test_empty_thread_has_empty_input():
    """Where there is no answer, `response` is "" and nothing is missing."""
    script = "function grade(i) { return i.response === '' && i.messages.length === 0 && i.toolCalls.length === 0 ? 1 : 0; }"
    assert score(script, wb.StringThread([], None)).score == 1.0


@pytest.mark.parametrize(
    "metadata", [{"n": float("nan")}, {"b": b"bytes"}, {"s": "\ud800"}, {"deep": [[float("inf")]]}]
)
def test_metadata_that_is_no_json_does_not_end_the_row(metadata):
    """NaN and the infinities read null, bytes text; a lone surrogate stays one."""
    assert (
        score("function grade(i) { return Object.keys(i.metadata).length; }", thread("x", metadata)).score
        == 1
    )


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        ("const grade = input => 0.25;", 0.25),
        ("var grade = function (input) { return 1; };", 1.0),
        ("let grade = ({response}) => response.length;", 1.0),
        ("function grade(input = {}) { return 2; }", 2.0),
        ("function grade(input, more = 1) { return more; }", 1.0),
        ("async function grade(input) { await null; return 0.75; }", 0.75),
        ("function grade(input) { return Promise.resolve(-3); }", -3.0),
        ("function grade(input) { return {then(done) { done(0.5); }}; }", 0.5),
        ("function evaluate(input) { return 1; }", 1.0),
        ("async function evaluate(input) { return {score: 0.5}; }", 0.5),
        ("'use strict';\nfunction grade(input) { return this === undefined ? 1 : 0; }", 1.0),
        ("function grade(input) { return 1; }\nfunction evaluate(input) { return 0; }", 1.0),
        ("function grade(input) { return 9007199254740993; }", 9007199254740992.0),
        ("function grade(i) { return 1; }\n// last line", 1.0),
        ("function grade(i) { return 1; }\nSymbol('the value of the script itself is nothing to us')", 1.0),
    ],
)
def test_functions_are_found_however_they_are_written(script, wanted):
    """Declarations, expressions, arrows, async ones, and `evaluate`."""
    grader = ScriptGrader.from_source(script)
    assert grader.validate().ok, grader.validation
    assert grader(thread()).score == wanted


def test_evaluate_may_give_reason_and_more():
    """A reason is the grade's reasoning, other keys its metadata."""
    grade = score(
        "function evaluate(i) { return {score: 0.5, reason: 'half', parts: {a: [1, null]}, n: 2}; }"
    )
    assert (grade.score, grade.reasoning) == (0.5, "half")
    assert grade.metadata == {"parts": {"a": [1, None]}, "n": 2}


@pytest.mark.parametrize(
    ("script", "check", "part"),
    [
        ("let x = 1;\n\nlet y = ;", "syntax", "line 3: "),
        ("function grade(", "syntax", "line 1: "),
        ("export function grade(i) { return 1; }", "syntax", "export"),
        ("function grade(i: any) { return 1; }", "syntax", "line 1"),
        ("x".ljust(70_000), "syntax", "64 KiB"),
        ("let x = 1;", "structure", "no top-level `function grade(input)`"),
        ("function f() {\n  function grade(i) { return 1; }\n}", "structure", "grade at line 2 is nested"),
        ("", "structure", "no top-level"),
        ("function grade() { return 1; }", "signature", "takes 0"),
        ("function grade(a, b) { return 1; }", "signature", "takes 2"),
        ("const grade = () => 1;", "execution", "takes 0"),
        ("const grade = 3;", "execution", "grade is not a function"),
        (
            "throw new RangeError('top');\nfunction grade(i) { return 1; }",
            "execution",
            "RangeError: top (line 1)",
        ),
        ("function grade(i) { return 1; }\nrequire('fs');", "execution", "require is not defined (line 2)"),
        ("function grade(i) { return 1; }\ngrade = null;", "execution", "grade is not a function"),
        ("function grade(i) { return i.nothing.here; }", "test_run", "TypeError"),
        ("function grade(i) { }", "test_run", "undefined"),
    ],
)
def test_first_cross_names_the_check(script, check, part):
    """The same five checks as for Python, with JavaScript's words."""
    if len(script) > 65536:
        with pytest.raises(CaptureError, match=re.escape(part)):
            ScriptGrader.from_source(script)
        return
    validation = ScriptGrader.from_source(script).validate()
    assert validation.failure.name == check
    assert part in validation.failure.message
    assert "javascript" in validation.form


def test_nothing_of_a_script_runs_before_the_execution_check():
    """A script with a cross before it never gets to its first statement."""
    validation = ScriptGrader.from_source("while (true) {}\nfunction f(input) {}", timeout=0.2).validate()
    assert validation.failure.name == "structure"


@pytest.mark.parametrize(
    ("body", "kind", "part"),
    [
        (
            "return input.nothing.here",
            "runtime",
            "TypeError: cannot read property 'here' of undefined (line 2)",
        ),
        ("throw new Error('mine')", "runtime", "Error: mine (line 2)"),
        ("throw 'text'", "runtime", "text"),
        ("throw null", "runtime", "null was thrown"),
        ("throw Symbol('s')", "runtime", "a symbol"),
        ("throw {}", "runtime", "[object Object]"),
        ("return Promise.reject(new Error('later'))", "runtime", "Error: later (line 2)"),
        ("return new Promise(() => {})", "runtime", "never settles"),
        ("return true", "return_type", "not true (boolean)"),
        ("return '1'", "return_type", 'not "1" (string)'),
        ("return undefined", "return_type", "not undefined"),
        ("return null", "return_type", "not null"),
        ("return 10n", "return_type", "not 10n (bigint)"),
        ("return [1]", "return_type", "an array"),
        ("return () => 1", "return_type", "a function"),
        ("return {score: 1}", "return_type", "call the function evaluate"),
        ("return new Number(1)", "return_type", "an object"),
        ("return NaN", "not_finite", "nan"),
        ("return -Infinity", "not_finite", "inf"),
        ("return 0 / 0", "not_finite", "nan"),
    ],
)
def test_only_a_finite_number_is_a_score(body, kind, part):
    """Everything else fails the row, with the value or the thrown error and its line."""
    grade = score("function grade(input) {\n  " + body + ";\n}")
    assert (grade.score, grade.error.kind) == (None, kind)
    assert part in grade.error.message


@pytest.mark.parametrize(
    ("returned", "kind"),
    [
        ("{score: '1'}", "return_type"),
        ("{}", "return_type"),
        ("{score: NaN}", "not_finite"),
        ("[0.5]", "return_type"),
    ],
)
def test_a_result_object_needs_a_number(returned, kind):
    """`score` is held to the same rule."""
    grade = score(f"function evaluate(i) {{ return {returned}; }}")
    assert (grade.score, grade.error.kind) == (None, kind)


ENDLESS = {
    "loop": "while (true) {}",
    "regex": "return /(a+)+$/.test('a'.repeat(40) + 'b') ? 1 : 0",
    "thrown toString": "throw {toString() { for (;;) {} }}",
    "thrown getter": "throw {get message() { for (;;) {} }}",
    "async loop": "return (async () => { await null; for (;;) {} })()",
    "jobs without end": "return (async () => { for (;;) await null; })()",
    "result getter": "return {get then() { for (;;) {} }}",
    "swallowed": "for (;;) { try { for (;;) {} } catch (e) {} finally { continue; } }",
    "sort": "return [3, 2, 1].sort(() => { for (;;) {} })",
    "proxy": "return new Proxy({}, {get() { for (;;) {} }})",
}


@pytest.mark.parametrize("body", ENDLESS.values(), ids=ENDLESS)
def test_what_never_ends_costs_its_row_alone(body):
    """A row that runs out of time fails; the rows around it are scored."""
    script = f"function grade(input) {{\n  if (input.response === 'bad') {{ {body}; }}\n  return 1;\n}}"
    rows = wb.Samples([{"completion": text} for text in ("a", "bad", "b", "c")])
    grades = asyncio.run(ScriptGrader.from_source(script, timeout=0.1).grade_all(rows, Control()))
    assert [grade.score for grade in grades] == [1.0, None, 1.0, 1.0]
    assert grades.errors[1].kind == "timeout"


def test_an_endless_throw_while_loading_is_ended():
    """What the engine's clock does not see is ended by the watchdog, as a cross of the execution check."""
    from workbench.sandbox.host.program import Limits, Program

    text = "throw {toString() { for (;;) {} }};\nfunction grade(i) { return 1; }"
    rows = wb.Samples([{"completion": str(i)} for i in range(200)])
    grades = asyncio.run(ScriptGrader.from_source(text, timeout=0.2).grade_all(rows, Control(workers=3)))
    assert {error.kind for error in grades.errors.values()} == {"load"}
    assert len(grades.errors) == 200
    validation = pool.pool().check(Program(text, Limits(load_seconds=0.3), language="javascript"), [])
    assert validation.failure.name == "execution"
    assert "timed out" in validation.failure.message


@pytest.mark.parametrize(
    "body",
    [
        "let a = []; for (;;) a.push('x'.repeat(1000) + a.length)",
        "return 'x'.repeat(2 ** 28).length",
        "return new Array(2 ** 28).fill(1.5).length",
        "let s = 'x'; for (;;) s = s + s + 'y'",
    ],
)
def test_memory_ends_at_the_limit(body):
    """A script that wants more than its memory fails its row, and the next row is scored."""
    script = f"function grade(input) {{ if (input.response === 'bad') {{ {body}; }} return 1; }}"
    rows = wb.Samples([{"completion": text} for text in ("bad", "b")])
    grades = asyncio.run(
        ScriptGrader.from_source(script, memory_mb=8, timeout=2.0).grade_all(rows, Control())
    )
    assert [grade.score for grade in grades] == [None, 1.0]
    assert grades.errors[0].kind in {"memory", "runtime"}
    assert any(
        sign in grades.errors[0].message for sign in ("out of memory", "RangeError", "too long", "ran out")
    ), grades.errors


def test_deep_recursion_is_an_error_of_its_row():
    """The stack has an end, and the script is told."""
    grade = score("function grade(i) { return grade(i); }")
    assert grade.error.kind == "runtime"
    assert "RangeError" in grade.error.message


HOSTILE = {
    "JSON taken away": "JSON.parse = JSON.stringify = () => { throw 1; }; globalThis.JSON = null;",
    "toJSON for everything": "Object.prototype.toJSON = String.prototype.toJSON = () => { throw 1; };",
    "call and bind": "Function.prototype.call = Function.prototype.bind = Function.prototype.apply = null;",
    "keys and create": "Object.keys = Object.create = Object.defineProperty = Array.isArray = null;",
    "slice": "String.prototype.slice = String.prototype.includes = () => 'forged';",
    "promises": "Promise.prototype.then = () => { throw 1; }; globalThis.Promise = null;",
    "Function and Error": "globalThis.Function = globalThis.Error = globalThis.String = undefined;",
    "array iteration": "Array.prototype[Symbol.iterator] = null; Object.prototype.length = 7;",
}


@pytest.mark.parametrize("spell", HOSTILE.values(), ids=HOSTILE)
def test_a_script_that_replaces_the_language_still_only_scores(spell):
    """What the harness needs was taken before the script ran."""
    script = spell + "\nfunction evaluate(input) { return {score: 0.5, reason: 'because', extra: 1}; }"
    grade = score(script)
    assert (grade.score, grade.reasoning) == (0.5, "because"), grade


def test_a_polluted_prototype_reaches_no_other_grader():
    """Every grader has an engine of its own, and every run a new one."""
    polluting = (
        "Object.prototype.score = 1; Object.prototype.response = 'forged'; function grade(i) { return 1; }"
    )
    assert score(polluting).score == 1.0
    assert score("function grade(i) { return ({}).score === undefined ? 0 : 1; }").score == 0.0


def test_a_getter_cannot_answer_twice():
    """Each property of a result is read once."""
    script = "function evaluate(i) { let n = 0; return {get score() { return n++ ? 'second' : 0.5; }}; }"
    assert score(script).score == 0.5


def test_huge_results_are_cut_or_marked():
    """A reason of megabytes is cut, metadata of megabytes leaves a mark, and the score stands."""
    grade = score(
        "function evaluate(i) { return {score: 1, reason: 'r'.repeat(3e6), big: 'b'.repeat(1e6)}; }"
    )
    assert grade.score == 1.0
    assert len(grade.reasoning) <= 20_000
    assert grade.metadata["_error"]["code"] == "metadata_too_large"


def test_texts_of_a_script_are_cleaned():
    """Control and direction characters cannot fool a reader."""
    grade = score(
        "function evaluate(i) { return {score: 1, reason: 'a\\u202eb\\u0000\\ud800', k: '\\u202e'}; }"
    )
    assert "\u202e" not in grade.reasoning + grade.metadata["k"]
    grade.reasoning.encode()


def test_there_is_no_host():
    """No module, file, process, network or timer; importing fails."""
    names = [
        "require",
        "process",
        "fetch",
        "XMLHttpRequest",
        "setTimeout",
        "std",
        "os",
        "module",
        "Deno",
        "Intl",
        "gc",
        "print",
        "load",
    ]
    script = "function grade(i) { return [%s].filter(t => t !== 'undefined').length; }"
    assert score(script % ", ".join(f"typeof {name}" for name in names)).score == 0.0
    assert "could not load" in score("function grade(i) { return import('os'); }").error.message


def test_what_a_script_tells_its_console_is_kept():
    """Up to a limit, as text; a console that is told too much costs nothing but itself."""
    script = """
    console.log('loaded', {a: [1]}, null, undefined, Symbol('s'));
    function grade(input) { for (let i = 0; i < 1e5; i++) console.error('again', i); return 1; }
    """
    grader = ScriptGrader.from_source(script, timeout=20.0)  # of the output, not of the time
    validation = grader.validate()
    assert validation.ok
    assert validation.output.startswith('loaded {"a":[1]} null undefined Symbol(s)\nagain 0\n')
    assert len(validation.output) <= 4000
    assert grader(thread()).score == 1.0


def test_an_endless_script_is_told_to_have_timed_out():
    """A top level that never ends is a cross of the execution check."""
    validation = ScriptGrader.from_source("function grade(i) { return 1; }\nfor (;;) {}").validate()
    assert validation.failure.name == "execution"
    assert "timed out" in validation.failure.message


def test_a_promise_of_an_earlier_row_does_not_answer_a_later_one():
    """Answers carry their row's ticket."""
    script = """
    let late;
    function grade(input) {
      if (input.response === 'first') { return new Promise(done => { late = done; }); }
      late(0.25);
      return (async () => { await null; await null; await null; return 1; })();
    }
    """
    rows = wb.Samples([{"completion": text} for text in ("first", "second")])
    grades = asyncio.run(ScriptGrader.from_source(script).grade_all(rows, Control(workers=1)))
    assert [grade.score for grade in grades] == [None, 1.0]


@settings(max_examples=5)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=200))
def test_numbers_come_back_as_they_went(numbers):
    """Every double a script returns is the score, bit for bit; a whole -0 may come back as 0."""
    rows = wb.Samples([{"completion": "x", "n": number} for number in numbers])
    grader = ScriptGrader.from_source("function grade(input) { return input.metadata.n; }")
    assert [grade.score for grade in asyncio.run(grader.grade_all(rows, Control()))] == numbers


@settings(max_examples=5)
@given(st.lists(st.text(), min_size=1, max_size=200))
def test_lengths_are_utf_16_units(texts):
    """Any text arrives whole, lone surrogates and null characters too."""
    rows = wb.Samples([{"completion": text, "n": text} for text in texts])
    script = (
        "function grade(input) { return input.metadata.n === input.response ? input.response.length : -1; }"
    )
    grades = asyncio.run(ScriptGrader.from_source(script).grade_all(rows, Control()))
    wanted = [len(text.encode("utf-16-le", "surrogatepass")) // 2 for text in texts]
    assert [grade.score for grade in grades] == wanted


def test_value_and_spec():
    """The spec holds the script; fields at their defaults are left out."""
    grader = ScriptGrader.from_source(HALF, name="half", timeout=2.0, memory_mb=32)
    assert grader.spec() == {
        "kind": "script",
        "name": "half",
        "script": HALF,
        "timeout": 2.0,
        "memory_mb": 32,
    }
    assert from_spec(json.loads(json.dumps(grader.spec()))) == grader
    assert ScriptGrader.from_source("const evaluate = i => 1;").name == "evaluate"


@pytest.mark.parametrize(
    "limits", [{"memory_mb": 0}, {"memory_mb": True}, {"memory_mb": 4096}, {"timeout": 0}]
)
def test_limits_out_of_range_are_refused(limits):
    """A limit of zero, or one the sandbox cannot hold, is a mistake."""
    with pytest.raises(ValueError, match="above 0"):
        ScriptGrader.from_source(HALF, **limits)


def test_scripts_must_be_text():
    """Null characters and other types are refused by name."""
    with pytest.raises(CaptureError, match="null character"):
        ScriptGrader.from_source("function grade(i) {}\0")
    with pytest.raises(TypeError, match="int"):
        ScriptGrader(script=3)


def test_imported_scripts_need_the_kernel(monkeypatch):
    """As with Python: refused where nothing confines them, unless this very text is trusted."""
    weak = Pool(("rlimits",))
    monkeypatch.setattr(pool, "_POOL", weak)
    mine = ScriptGrader.from_source(HALF)
    theirs = mine.as_imported()
    assert mine(thread()).score == 0.5
    with pytest.raises(IsolationError, match="trust=True"):
        theirs.validate()
    assert theirs(thread()).error.kind == "sandbox"
    assert theirs.trusted()(thread()).score == 0.5
    assert mine.as_imported(trust=True).trust
    assert not ScriptGrader(
        script=HALF + " ", imported=True, trusted_sha256=theirs.trusted().trusted_sha256
    ).trust
    weak.close()


def test_without_an_engine_the_way_to_get_it_is_named(monkeypatch):
    """Nothing else stops working, and the error says what to install and where it can be."""
    monkeypatch.setattr(zygote.importlib.util, "find_spec", lambda name: None)
    grader = ScriptGrader.from_source(HALF)
    with pytest.raises(SandboxError, match="pip install quickjs-ng"):
        grader.validate()
    assert "quickjs-ng" in grader(thread()).error.message
    fresh = Pool()
    monkeypatch.setattr(pool, "_POOL", fresh)
    assert wb.FunctionGrader.from_source("async def grade(t):\n    return 1.0\n")(thread()).score == 1.0
    fresh.close()


@pytest.mark.parametrize(
    "value",
    [
        "(() => { const r = {}; r.r = r; return r; })()",
        "10n ** 50n",
        "(() => { let r = 1; for (let i = 0; i < 1e5; i++) r = [r]; return r; })()",
        "(() => { let r = 1; for (let i = 0; i < 3000; i++) r = [r]; return r; })()",
    ],
)
def test_metadata_that_no_json_holds_leaves_a_mark(value):
    """The score and the reason stand, and what was left out is named."""
    grade = score(f"function evaluate(i) {{ return {{score: 0.5, reason: 'why', x: {value}}}; }}")
    assert (grade.score, grade.reasoning) == (0.5, "why")
    assert grade.metadata["_error"]["code"] == "metadata_not_serializable"


@pytest.mark.parametrize(
    ("harm", "kind"),
    [("for (;;) {}", "timeout"), ("const all = []; for (;;) all.push(new Array(1000).fill(1));", "memory")],
)
def test_a_slow_script_starts_afresh_at_the_cost_of_the_row_that_ended_it(harm, kind):
    """The rows after a time-out or a lack of memory do not pay for running the top level again."""
    script = "const t = Date.now(); while (Date.now() - t < 600) {}\nfunction grade(i) { if (i.response === '1') { %s } return 1; }"
    rows = wb.Samples([{"completion": str(i)} for i in range(4)])
    grader = ScriptGrader.from_source(script % harm, timeout=0.4, memory_mb=8)
    found = asyncio.run(grader.grade_all(rows, Control(workers=1)))
    assert list(found.errors) == [1]
    assert found.n_scored == 3
    assert found.errors[1].kind in {kind, "timeout"}  # the watchdog may come first
