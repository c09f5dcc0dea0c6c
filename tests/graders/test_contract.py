"""Every registered kind of grader keeps the same promises."""

import asyncio
import json
import pickle
from dataclasses import dataclass, replace

import pytest

import workbench as wb
import workbench.judges  # (its kinds register themselves)
from tests.graders.examples import EXAMPLES as MADE
from tests.graders.portable.cases import ROWS
from workbench.core.errors import FormatError
from workbench.graders import KINDS, Control, from_spec, kind
from workbench.graders.portable import portable
from workbench.graders.rule_grader import RuleGrader
from workbench.sandbox.host.validation import mock_thread


@kind("test-mentions")
@dataclass(frozen=True, kw_only=True)
class Mentions(wb.Grader):
    """1.0 when the completion holds `word`; skips threads without one."""

    word: str = "yes"

    async def grade(self, sample):
        text = sample.thread.completion()
        if text is None:
            return wb.Grade.skipped("no completion")
        if text in ERRORS:
            raise ERRORS[text]
        return {"bool": True, "nan": float("nan")}.get(text, float(self.word in text))


ERRORS = {
    "raise": KeyError("x"),
    "exit": SystemExit(1),
    "interrupt": KeyboardInterrupt(),
    "cancelled": asyncio.CancelledError(),
    "base": BaseException("all the way"),
}

EXAMPLES = {**MADE, "test-mentions": lambda: Mentions(word="4")}
THREADS = {
    "mock": mock_thread(),
    "empty": wb.StringThread([], {}),
    "no assistant turn": wb.StringThread([("user", "q")], {}),
    "tool only": wb.StringThread.from_messages(
        [{"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}], {}
    ),
    "one megabyte": wb.StringThread([("assistant", "x" * 2**20)], {}),
    "no metadata": wb.StringThread([("assistant", "x")]),
}


def test_every_kind_has_an_example():
    """A new kind joins these tests."""
    assert set(KINDS) == set(EXAMPLES)


@pytest.mark.parametrize("kind", EXAMPLES)
@pytest.mark.parametrize("thread", THREADS.values(), ids=THREADS)
def test_every_thread_gets_a_grade(kind, thread):
    """Whatever the thread, the answer is a grade: scored, failed or skipped."""
    assert isinstance(EXAMPLES[kind]()(thread), wb.Grade)


@pytest.mark.parametrize("kind", EXAMPLES)
@pytest.mark.parametrize("thread", [THREADS["mock"], THREADS["empty"]], ids=["mock", "empty"])
def test_calling_and_awaiting_agree(kind, thread):
    """`grader(thread)` and `await grader.grade(thread)` give the same `Grade`; so do its entry and its suite."""
    called = EXAMPLES[kind]()(thread)
    awaited = asyncio.run(EXAMPLES[kind]().grade(thread))
    assert isinstance(awaited, wb.Grade)
    assert replace(called, seconds=None) == replace(awaited, seconds=None)
    entry, suite = wb.Entry(EXAMPLES[kind](), "one"), wb.Suite([wb.Entry(EXAMPLES[kind](), "one")])
    assert replace(asyncio.run(entry.grade(thread)), seconds=None) == replace(entry(thread), seconds=None)
    outcome = suite(thread)
    assert outcome.score == asyncio.run(suite.grade(thread)).score == called.score


def test_super_gives_what_the_author_wrote():
    """A subclass that calls `super().grade` gets the raw result or exception; its own wrapper makes the `Grade`."""

    @dataclass(frozen=True, kw_only=True)
    class Halved(Mentions):
        async def grade(self, sample):
            return await super().grade(sample) / 2

    def said(text):
        return wb.StringThread([("assistant", text)])

    assert asyncio.run(Halved().grade(said("yes"))).score == 0.5
    assert Halved()(said("raise")).error.message == "KeyError: 'x'"


def test_a_grade_written_in_a_mixin_is_a_grade_too():
    """Where the method comes from a class that is no grader, it is one `Grade` all the same."""

    class Half:
        async def grade(self, sample):
            return 0.5

    @dataclass(frozen=True, kw_only=True)
    class Mixed(Half, wb.Grader):
        pass

    assert asyncio.run(Mixed().grade(wb.StringThread([]))).score == 0.5
    assert not hasattr(Half.grade, "returns_grade")


@pytest.mark.parametrize("kind", EXAMPLES)
def test_value_semantics(kind):
    """Spec, pickle, equality and repr agree; a spec is plain JSON."""
    grader = EXAMPLES[kind]()
    assert from_spec(json.loads(json.dumps(grader.spec()))) == grader
    bare = replace(grader, client=None) if hasattr(grader, "client") else grader  # who is asked stays here
    assert pickle.loads(pickle.dumps(bare)) == grader
    assert repr(EXAMPLES[kind]()) == repr(grader)
    assert grader.spec()["kind"] == kind == grader.kind


@pytest.mark.parametrize("kind", EXAMPLES)
def test_batches_and_singles_agree(kind):
    """Grading all rows gives what grading each gives."""
    grader = EXAMPLES[kind]()
    samples = wb.Samples([{"prompt": "q", "completion": text} for text in ("4", "no", "44")])
    grades = asyncio.run(grader.grade_all(samples, Control()))
    assert [grade.score for grade in grades] == [grader(sample).score for sample in samples]


@pytest.mark.parametrize("kind", EXAMPLES)
def test_empty_samples(kind):
    """No rows, no grades, no error."""
    assert (
        len(asyncio.run(EXAMPLES[kind]().grade_all(wb.Samples([{"completion": "x"}]).head(0), Control())))
        == 0
    )


@pytest.mark.parametrize(
    ("text", "kind"), [*((name, "runtime") for name in ERRORS), ("bool", "runtime"), ("nan", "runtime")]
)
def test_everything_becomes_a_grade(text, kind):
    """An exception, a bool or NaN fails the row at the one place that makes grades."""
    grade = Mentions()(wb.StringThread([("assistant", text)]))
    assert (grade.score, grade.error.kind) == (None, kind)
    assert Mentions()(wb.StringThread([("assistant", "yes")])).score == 1.0


def test_a_cancelled_run_fails_the_rest():
    """Rows not reached are cancelled, not zero."""
    control = Control()
    control.cancel.set()
    samples = wb.Samples([{"completion": "4"}] * 3)
    grades = asyncio.run(Mentions().grade_all(samples, control))
    assert {error.kind for error in grades.errors.values()} == {"cancelled"}


def test_kinds_do_not_collide():
    """Two classes cannot share a name in files."""
    with pytest.raises(ValueError, match="taken"):
        kind("function")(Mentions)


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ({"kind": "nope"}, "unknown kind"),
        ({}, "unknown kind"),
        ({"kind": "test-mentions", "wrd": 1}, "no field 'wrd'"),
    ],
)
def test_bad_specs_are_refused(spec, part):
    """A spec that does not fit is an error that names the field or lists the kinds."""
    with pytest.raises(FormatError, match=part):
        from_spec(spec)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_equal_graders_share_a_hash(kind):
    """A grader, an entry and a suite can stand in a set, whatever their fields hold."""
    one, two = EXAMPLES[kind](), EXAMPLES[kind]()
    assert {one, two} == {one}
    assert {wb.Entry(one, "a", extractor="last_turn"), wb.Entry(two, "a", extractor="last_turn")} == {
        wb.Entry(one, "a", extractor="last_turn")
    }
    assert hash(wb.Suite([one])) == hash(wb.Suite([two]))


def test_rows_are_made_together_and_in_order():
    """Many rows are read as frames, never a frame a row; one that cannot be read fails alone."""
    rows = wb.Samples([{"completion": str(at), "metadata": "[" if at == 299 else "{}"} for at in range(600)])
    asked = []
    whole = wb.Samples.__getitem__

    def counting(samples, row):
        asked.append(row)
        return whole(samples, row)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wb.Samples, "__getitem__", counting)
        grades = asyncio.run(Mentions(word="7").grade_all(rows, Control()))
    assert [slice(0, 256), slice(256, 512), slice(512, 600)] == asked
    expected = [float("7" in str(at)) for at in range(600)]
    assert [grade.score for grade in grades][:299] == expected[:299]
    assert [grade.score for grade in grades][300:] == expected[300:]
    assert grades[299].error.kind == "sample"


PORTABLE = sorted(name for name, kind in KINDS.items() if issubclass(kind, RuleGrader))


@pytest.mark.parametrize("kind", PORTABLE)
def test_a_rule_written_as_code_scores_the_same(kind):
    """A kind that names its rule can be exported as Python, with equal scores; another one is refused by name."""
    grader = EXAMPLES[kind]()
    if kind == "json-schema":  # needs a package that other platforms lack
        with pytest.raises(FormatError, match="standard library"):
            portable(grader)
        return
    validation = wb.FunctionGrader.from_source(portable(grader)).validate()
    # The mock thread has no columns: code that requires one fails its test run, and nothing before it.
    checks = validation.checks[:4] if kind in {"citations", "latency-cost-tokens"} else validation.checks
    assert all(check.passed for check in checks), f"{validation}\n{portable(grader)}"
    samples = wb.Samples(ROWS)
    expected, scored = (
        asyncio.run(made.grade_all(samples, Control()))
        for made in (grader, wb.FunctionGrader.from_source(portable(grader), timeout=5.0))
    )
    assert [grade.score for grade in scored] == [grade.score for grade in expected]
