"""Graders by key: versions, locks, history, and nothing kept that was not proved."""

import json
from dataclasses import dataclass

import pytest
import sqlalchemy as sa

import workbench as wb
from tests.graders.examples import ALTERNATIVES, EXAMPLES
from workbench.core.errors import CaptureError, FormatError, ValidationError
from workbench.graders import kind
from workbench.sandbox.host.pool import pool
from workbench.sandbox.host.program import CHECKS
from workbench.sandbox.host.validation import Check, Validation
from workbench.store import StoreError
from workbench.store.graders import write_record

GOOD = "async def grade(thread) -> float:\n    return 1.0\n"
BAD = "async def grade(thread) -> float:\n    return 'one'\n"


def change(store, column, value, key):
    """As somebody with the database in hands could."""
    with store._database.writing() as connection:
        connection.exec_driver_sql(
            f"UPDATE workbench_grader_history SET {column} = '{value}' WHERE key = '{key}'"
        )


def record_of(store, key):
    with store._database.reading() as connection:
        asked = sa.text("SELECT record FROM workbench_grader_history WHERE key = :key AND record IS NOT NULL")
        return connection.execute(asked, {"key": key}).scalars().all()[-1]


def test_adaptives_calls_work_as_written(store):
    """`list`, `get`, `delete` and `lock` take Adaptive's keyword."""
    store.graders.create(grader_key="exact-match", grader=wb.ExactMatch())
    assert [entry.key for entry in store.graders.list()] == ["exact-match"]
    assert store.graders.get(grader_key="exact-match") == wb.ExactMatch()
    assert store.graders.lock(grader_key="exact-match", locked=True).locked
    store.graders.lock(grader_key="exact-match", locked=False)
    assert store.graders.delete(grader_key="exact-match") is True
    assert store.graders.list() == ()


def test_an_edit_is_a_new_version_and_the_old_one_stays(store):
    """The newest is got by default, any other by its number."""
    store.graders.create("it", wb.Contains(expected="a"))
    entry = store.graders.edit("it", wb.Contains(expected="b", name="second"))
    assert (entry.version, entry.kind, entry.name) == (2, "contains", "second")
    assert entry.created < entry.updated
    assert store.graders.get("it").expected == "b"
    assert store.graders.get("it", version=1).expected == "a"
    with pytest.raises(StoreError, match="no version 3"):
        store.graders.get("it", version=3)


def test_a_deletion_keeps_the_history_and_frees_the_key(store):
    """Versions go on counting, and what was deleted can still be had by number."""
    store.graders.create("it", wb.Contains(expected="a"))
    store.graders.delete("it")
    for call in (store.graders.get, store.graders.delete, store.graders.lock, store.graders.entry):
        with pytest.raises(StoreError, match="was deleted"):
            call("it")
    assert store.graders.get("it", version=1).expected == "a"
    assert store.graders.create("it", wb.Contains(expected="b")).version == 2
    store.graders.lock("it")
    store.graders.lock("it", locked=False)
    told = [(event.version, event.action) for event in store.graders.history("it")]
    assert told == [(1, "create"), (1, "delete"), (2, "create"), (2, "lock"), (2, "unlock")]


def test_a_locked_grader_refuses_edit_and_deletion(store):
    """It says how to unlock it, and is as it was."""
    store.graders.create("it", wb.Contains(expected="a"))
    store.graders.lock("it")
    with pytest.raises(StoreError, match=r"locked\n  next step: lock\('it', locked=False\) first"):
        store.graders.edit("it", wb.Contains(expected="b"))
    with pytest.raises(StoreError, match="is locked"):
        store.graders.delete("it")
    assert [event.action for event in store.graders.history("it")] == ["create", "lock"]
    store.graders.lock("it", False)
    assert store.graders.edit("it", wb.Contains(expected="b")).version == 2


def test_a_key_in_use_is_refused(store):
    """The way to a new version is named."""
    store.graders.create("it", wb.ExactMatch())
    with pytest.raises(StoreError, match=r"already exists\n  found: version 1\n  next step: edit\('it'"):
        store.graders.create("it", wb.Contains(expected="a"))
    assert store.graders.get("it") == wb.ExactMatch()


def test_an_unknown_key_is_said_to_be_unknown(store):
    """By every method that takes one."""
    for call in (store.graders.get, store.graders.delete, store.graders.lock, store.graders.history):
        with pytest.raises(StoreError, match="there is no grader 'it'"):
            call("it")
    with pytest.raises(StoreError, match="there is no grader 'it'"):
        store.graders.edit("it", wb.ExactMatch())


@pytest.mark.parametrize("key", ["", " a", "a\n", "a\0", "\ud800", "x" * 201, None, 7])
def test_a_key_that_cannot_name_anything_is_refused(store, key):
    """Keys are short printable texts."""
    with pytest.raises(StoreError, match="key must be a short printable text"):
        store.graders.create(key, wb.ExactMatch())


def test_a_source_that_fails_a_check_is_not_kept(store):
    """The error is a ValueError that names the check and its message; neither create nor edit leaves a trace."""
    with pytest.raises(ValueError, match="test_run: .*must return a number"):
        store.graders.create("it", wb.FunctionGrader.from_source(BAD))
    assert store.graders.list() == ()
    with pytest.raises(StoreError, match="there is no grader"):
        store.graders.history("it")
    store.graders.create("it", wb.FunctionGrader.from_source(GOOD))
    with pytest.raises(ValidationError):
        store.graders.edit("it", wb.FunctionGrader.from_source(BAD))
    assert [event.action for event in store.graders.history("it")] == ["create"]


def test_a_claimed_proof_is_checked_here(store):
    """A file's word that a source passed counts for nothing."""
    grader = wb.FunctionGrader.from_source(BAD)
    passed = tuple(Check(name, True, "fine", 0.0) for name in CHECKS)
    grader.remember(Validation(passed, sha256=grader.source.sha256, claimed=True))
    assert grader.validation.ok
    with pytest.raises(ValidationError, match="test_run"):
        store.graders.create("it", grader)
    assert store.graders.list() == ()


def test_a_source_inside_another_grader_is_checked_too(store):
    """A combination is as good as its parts."""
    inner = wb.FunctionGrader.from_source(BAD, name="inner")
    with pytest.raises(ValidationError, match="test_run"):
        store.graders.create("it", wb.combine.PerTurn(grader=inner))
    assert store.graders.list() == ()


def test_a_source_comes_back_as_it_was_and_counts_as_imported(store):
    """Text and hash are the same; it runs where the kernel confines it; its validation is a claim until checked here."""
    grader = wb.FunctionGrader.from_source(GOOD, name="always", timeout=2.0)
    assert not grader.source.imported
    store.graders.create("it", grader)
    again = store.graders.get("it")
    assert again == grader
    assert (again.source.imported, again.trust) == (True, False)
    assert (again.validation.ok, again.validation.claimed) == (True, True)
    assert store.graders.get("it", trust=True).trust


def test_a_trusted_source_is_not_trusted_by_the_next_reader(store):
    """Trust is the reader's to give, and no part of what is kept."""
    grader = wb.FunctionGrader.from_source(GOOD, imported=True).trusted()
    store.graders.create("it", grader)
    assert "trusted" not in record_of(store, "it")
    assert not store.graders.get("it").trust


def test_an_imported_source_is_refused_where_nothing_confines_it(store, monkeypatch):
    """As one out of a file."""
    store.graders.create("it", wb.FunctionGrader.from_source(GOOD))
    script = wb.ScriptGrader.from_source("function grade(input) { return 1; }")
    store.graders.create("script", script)
    monkeypatch.setattr(type(pool()), "level", "process")
    for key in ("it", "script"):
        with pytest.raises(wb.errors.IsolationError):
            store.graders.get(key).check_ready()
        store.graders.get(key, trust=True).check_ready()


def test_a_record_changed_by_other_hands_is_refused(store):
    """A source that does not match its hash, or no record at all."""
    store.graders.create("it", wb.FunctionGrader.from_source(GOOD))
    change(store, "record", record_of(store, "it").replace("1.0", "0.9"), "it")
    with pytest.raises(FormatError, match=r"does not match its hash[^$]*where: grader 'it', version 1, in "):
        store.graders.get("it")
    change(store, "record", "[]", "it")
    with pytest.raises(StoreError, match="cannot be read"):
        store.graders.get("it")


def test_every_kind_of_grader_comes_back_equal(store):
    """What has a spec can be kept."""
    made = [(name, make) for name, make in EXAMPLES.items()]
    made += [(name, make) for name, makers in ALTERNATIVES.items() for make in makers]
    for at, (name, make) in enumerate(made):
        key, grader = f"{name} {at}", make()
        store.graders.create(key, grader)
        again = store.graders.get(key, trust=True)
        assert type(again) is type(grader)
        assert write_record(again) == write_record(grader)


def test_a_grader_without_a_form_is_refused(store):
    """A lambda has no text that could be kept."""
    with pytest.raises(CaptureError, match="no import path"):
        store.graders.create("it", wb.CustomGrader(lambda thread: 1.0, name="one"))
    with pytest.raises(TypeError, match="a store contains graders, not function"):
        store.graders.create("it", lambda thread: 1.0)
    assert store.graders.list() == ()


def test_a_grader_that_json_would_change_is_refused(store, monkeypatch):
    """It would be another one when it comes back."""
    from workbench.graders.base import KINDS

    monkeypatch.setattr("workbench.graders.base.KINDS", KINDS)
    monkeypatch.delitem(KINDS, "odd", raising=False)

    @kind("odd")
    @dataclass(frozen=True, kw_only=True)
    class Odd(wb.Grader):
        table: object = None

        async def grade(self, sample):
            return 1.0

    try:
        with pytest.raises(StoreError, match="JSON does not support it"):
            store.graders.create("it", Odd(table={1, 2}))
        with pytest.raises(StoreError, match="cannot be restored unchanged"):
            store.graders.create("it", Odd(table={1: 2, "1": 3}))
        store.graders.create("it", Odd(table={"1": [2]}))
    finally:
        del KINDS["odd"]
    with pytest.raises(FormatError, match=r"unknown kind of grader\n  where: grader 'it', version 1"):
        store.graders.get("it")


def test_names_of_any_text_are_kept(store):
    """A name with a NUL or a lone surrogate is shown by its code points and comes back exactly."""
    store.graders.create("it", wb.ExactMatch(name="a\0\ud800<b>"))
    (entry,) = store.graders.list()
    assert (entry.name, store.graders.get("it").name) == ("a\0\ud800<b>",) * 2
    assert "a⟨U+0000⟩⟨U+D800⟩<b>" in repr(store.graders.list())
    assert "&lt;b&gt;" in store.graders.list()._repr_html_()
    assert "<b>" not in store.graders.list()._repr_html_()


def test_the_list_is_a_table(store):
    """It prints one line a grader and turns into a DataFrame."""
    assert repr(store.graders.list()) == "(none)"
    store.graders.create("b", wb.ExactMatch())
    store.graders.create("a", wb.Contains(expected="x"))
    lines = repr(store.graders.list()).splitlines()
    assert [line.split()[:4] for line in lines] == [
        ["key", "version", "kind", "name"],
        ["a", "1", "contains", "contains"],
        ["b", "1", "exact-match", "exact-match"],
    ]
    assert list(store.graders.list().frame["key"]) == ["a", "b"]


def test_two_sessions_see_each_other(shared_url):
    """Of two that create one key one is refused; edits of both are versions."""
    with wb_open(shared_url) as one, wb_open(shared_url) as two:
        one.graders.create("it", wb.Contains(expected="a"))
        with pytest.raises(StoreError, match="already"):
            two.graders.create("it", wb.Contains(expected="b"))
        two.graders.edit("it", wb.Contains(expected="c"))
        assert one.graders.edit("it", wb.Contains(expected="d")).version == 3
        two.graders.lock("it")
        with pytest.raises(StoreError, match="is locked"):
            one.graders.edit("it", wb.Contains(expected="e"))


def test_records_are_the_native_formats(store, tmp_path):
    """A row of the database can be read by people and is what `wb.save` writes of the grader."""
    grader = wb.FunctionGrader.from_source(GOOD)
    grader.validate()
    store.graders.create("it", grader)
    saved = json.loads(wb.save(grader, tmp_path / "it.json").read_text())["graders"][0]
    assert json.loads(record_of(store, "it")) == saved


def wb_open(url):
    from workbench.store import open_store

    return open_store(url)
