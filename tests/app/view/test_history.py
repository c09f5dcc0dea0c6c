"""History as the page shows it: versions, what an edit changed, and runs over this dataset."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pandas as pd
import pytest

import workbench as wb
from tests.app.view.test_compare import plain
from tests.app.widgets import using
from workbench.analysis.diagnostics.label_agreement import FALSE_ACCEPTS, FALSE_REJECTS
from workbench.app.session.session import Session
from workbench.app.view.grader_history import changed_lines, first_new_line
from workbench.app.view.history import HistoryMode
from workbench.core.errors import WorkbenchError

ANY = "async def grade(thread):\n    return 1.0\n"
YES = 'async def grade(thread):\n    answer = thread.completion()\n    return float(answer == "yes")\n'
NONE = "async def grade(thread):\n    return 0.0\n"


def half(text=ANY, name="half"):
    """A validated grader of a text."""
    grader = wb.FunctionGrader.from_source(text, name=name)
    grader.validate()
    return grader


@pytest.fixture
def made(tmp_path):
    """A maker of Histories with a store on disk; what it made is closed at the end."""
    modes = []

    def make(*graders, **settings):
        store = {"store": f"sqlite:///{tmp_path}/w.db", "labels": "good", **settings}
        modes.append(HistoryMode(Session(using.ROWS, list(graders), **store)))
        return modes[-1]

    yield make
    for mode in modes:
        mode._session.close()


def ran(mode, n=0):
    """The History's session after a run."""
    return using.ran(SimpleNamespace(session=mode._session), n)


def edited(mode, *texts, name="half"):
    """A run of each of these texts in turn."""
    for text in texts:
        mode._session.graders.add(half(text, name))
        ran(mode)


def line(data, title):
    """A version of the list."""
    (found,) = [version for version in data["versions"] if version["text"] == title]
    return found


# ---- versions of this session


def test_versions_of_the_session_come_newest_first(made):
    """Each text that ran is a version with its first new line, its shares and its verdict; the counts are pandas'."""
    mode = made(half())
    ran(mode)
    edited(mode, YES)
    data = mode.data()
    assert [version["text"] for version in data["versions"]] == ["v2", "v1"]
    assert (line(data, "v2")["line"], line(data, "v1")["line"]) == ("answer = thread.completion()", "")
    frame = pd.DataFrame(using.ROWS)
    bad = frame[~frame["good"]]
    assert line(data, "v1")["bad"] == f"{len(bad)} of {len(bad)}"
    assert line(data, "v2")["bad"] == f"{(bad['completion'] == 'yes').sum()} of {len(bad)}"
    assert line(data, "v2")["good"] == f"0 of {len(frame) - len(bad)}"
    assert (line(data, "v1")["mean"], line(data, "v1")["verdict"]["words"]) == ("1.00", "too lenient")
    assert line(data, "v1")["bad_interval"].endswith(" to 100 %")
    assert data["note"] == "2 versions, each run on the same 24 rows"
    assert (line(data, "v2")["can_bring"], line(data, "v1")["can_bring"]) == (False, True)


def test_an_edit_is_told_in_one_sentence(made):
    """The rows that changed, by label; zero lost known-good rows are reported as well."""
    mode = made(half())
    ran(mode)
    edited(mode, YES)
    data = mode.data()
    assert (data["from"], data["to"]) == ("v1", "v2")
    assert data["lead"] == "From version 1 to version 2, 12 rows changed:"
    assert data["rest"].startswith(" 12 known-bad are now rejected, no known-good row is lost.")
    edited(mode, NONE)
    assert mode.data()["rest"].startswith(" 12 known-good are lost.")
    mode.do_version("v1", "v1")
    assert mode.data()["lead"] == "This is one version."
    mode.do_version("v3", "v1")
    assert "12 known-bad are now accepted, 12 known-good are won." in mode.data()["rest"]


def test_what_the_rows_do_not_settle_is_said(made):
    """One known-bad row of twelve is inconclusive for leniency: the share's interval is stated, and it contains the limit."""
    mode = made(half())
    ran(mode)
    edited(mode, YES.replace('== "yes"', 'in ("yes", "no, 2")'))
    data = mode.data()
    lo, hi = line(data, "v2")["bad_interval"].split(" to ")
    assert (
        f"the share of known-bad rows it accepts is between {lo} and {hi}, which includes the limit of 5 %."
        in data["rest"]
    )


def test_what_is_settled_is_not_called_open(made):
    """A grader that accepts all known-bad rows is too lenient: nothing about them is left to settle."""
    mode = made(half(NONE))
    ran(mode)
    edited(mode, ANY)
    assert "known-bad rows it accepts" not in mode.data()["rest"]


def test_sparks_have_the_limits_of_the_diagnostics(made):
    """One point per version, oldest first, with its interval; the limits are those of findings."""
    mode = made(half())
    ran(mode)
    edited(mode, YES)
    bad, good = mode.data()["sparks"]
    assert (bad["limit"], good["limit"]) == (FALSE_ACCEPTS, FALSE_REJECTS)
    assert [(point["text"], point["value"]) for point in bad["points"]] == [("v1", 1.0), ("v2", 0.0)]
    assert all(point["lo"] <= point["value"] <= point["hi"] for point in bad["points"] + good["points"])


def test_without_labels_there_are_no_shares(made):
    """No sparks, no counts, and unlabelled rows are counted as such."""
    mode = made(half(), labels=None)
    ran(mode)
    edited(mode, YES)
    data = mode.data()
    assert data["sparks"] == []
    assert (line(data, "v1")["bad"], line(data, "v1")["verdict"]["words"]) == ("", "no labels")
    assert data["rest"].startswith(" 12 unlabelled are now rejected")


def test_one_version_says_the_next_step(made):
    """Before a run only the current grader is listed, without numbers."""
    data = made(half()).data()
    assert (data["lead"], data["diff"]) == ("One version so far.", [])
    assert [(version["text"], version["verdict"], version["mean"]) for version in data["versions"]] == [
        ("now", None, "")
    ]


def test_an_unrun_text_is_shown_as_it_is_now(made):
    """An edit that was not run is listed above the last version, and its rows are unknown."""
    mode = made(half())
    ran(mode)
    mode._session.graders.add(half(YES))
    data = mode.data()
    assert [version["text"] for version in data["versions"]] == ["now", "v1"]
    assert data["lead"] == "The rows of now are not available."
    assert {"kind": "-", "text": "    return 1.0"} in data["diff"]


def test_an_empty_session_has_an_empty_history():
    """Without graders there is a sentence with the next step, and nothing raises."""
    session = Session(using.ROWS, [half()], store=None)
    session.graders.remove("half")
    data = HistoryMode(session).data()
    assert data["lead"] == "There is no grader yet."
    assert (data["versions"], data["runs"], data["name"]) == ([], [], "")
    session.close()


# ---- the store


def test_versions_in_the_store_are_listed_with_their_runs(made):
    """Another session finds the saved versions, with the numbers of the last run of exactly that text."""
    first = made(half())
    ran(first)
    first._session.stored.keep("half")
    edited(first, YES)
    first._session.stored.keep("half")
    data = first.data()
    assert [version["text"] for version in data["versions"]] == ["v2", "v1"]
    later = made(half(NONE)).data()
    assert [version["text"] for version in later["versions"]] == ["now", "stored 2", "stored 1"]
    assert line(later, "stored 1")["bad"] == line(data, "v1")["bad"] == "12 of 12"
    assert line(later, "stored 1")["bad_interval"] == line(data, "v1")["bad_interval"]
    assert line(later, "stored 1")["verdict"]["words"] == "too lenient"
    assert later["note"] == "3 versions, 0 of them run here"


def test_runs_are_this_datasets(made, tmp_path):
    """Runs are stored under the dataset's name, listed newest first, and others' are left out."""
    mode = made(half(), using.GRADERS[1])
    ran(mode)
    ran(mode, 12)
    with wb.open_store(f"sqlite:///{tmp_path}/w.db") as store:
        assert {run.dataset for run in store.runs.list()} == {mode._session.labels.dataset}
        store.runs.add(mode._session.results.report, dataset="another")
        assert len(store.runs.list(dataset="another", limit=5)) == 1
    mode.refresh()
    runs = mode.data()["runs"]
    assert [run["rows"] for run in runs] == [12, 24]
    assert [grader["name"] for grader in runs[1]["graders"]] == ["half", "exact"]
    assert runs[1]["graders"][0]["verdict"]["words"] == "too lenient"
    assert runs[1]["graders"][0]["mean"] == "1.00"


def test_a_store_in_memory_is_not_asked_for_versions(made):
    """Such a name cannot be in a store; this session's runs are still listed."""
    mode = made(half(), store="sqlite://")
    ran(mode)
    assert [version["text"] for version in mode.data()["versions"]] == ["v1"]


# ---- bringing one back


def test_a_version_of_the_session_is_brought_back(made):
    """Exactly that grader, with its validation; the replaced one can be restored."""
    mode = made(half())
    ran(mode)
    edited(mode, YES)
    mode.do_bring("v1")
    session = mode._session
    assert session.graders.by_name["half"].source.text == half().source.text
    assert session.graders.validations["half"].ok
    assert session.code.text.startswith("%%grader half\n")
    assert session.graders.restore() == "half"
    assert session.graders.by_name["half"].source.text == half(YES).source.text


def test_a_version_of_the_store_is_brought_back_as_imported(made):
    """It is untrusted until it is trusted explicitly, and the code gets the same one."""
    first = made(half(YES))
    first._session.stored.keep("half")
    mode = made(half())
    mode.do_bring("s1")
    brought = mode._session.graders.by_name["half"]
    assert brought.source.text == half(YES).source.text
    assert brought.source.imported
    assert mode._session.code.text.startswith("app.add(wb.open_store('sqlite:///")
    assert mode._session.code.text.endswith(".graders.get('half', 1))")


@pytest.mark.parametrize("ids", [("v1", "v9"), ("s7", "v1")])
def test_unknown_versions_are_refused(made, ids):
    """An invalid request changes nothing."""
    mode = made(half())
    ran(mode)
    with pytest.raises(WorkbenchError, match="unknown version"):
        mode.do_version(*ids)
    with pytest.raises(WorkbenchError, match="unknown version"):
        mode.do_bring("v9")
    assert mode.data()["from"] == ""


def test_choosing_versions_leaves_the_stores_line(made):
    """The same in code is the history in the store, under the grader that is shown."""
    mode = made(half(), half(YES, "other"))
    ran(mode)
    mode.choose("other")
    before = mode._session.code.text
    mode.do_version("v1", "v1")
    assert mode.data()["name"] == "other"
    assert mode._session.code.text == before  # the store does not have it, and would raise
    mode._session.stored.keep("other")
    mode.show_code()
    assert mode._session.code.text.endswith(".graders.history('other')")


# ---- differences of texts


def test_lines_that_are_new_gone_and_the_same():
    """A changed line is removed and added; a version is shown by its first new line that is not blank."""
    assert changed_lines("a\nb\n", "a\nc\n") == [("", "a"), ("-", "b"), ("+", "c")]
    assert changed_lines("a\n", "a\n") == [("", "a")]
    assert changed_lines("", "") == []
    assert first_new_line("a\n", "a\n\n  b\nc\n") == "b"


def test_long_texts_show_what_is_around_their_changes():
    """Of a thousand lines only the changes and their neighbours, with dots between."""
    old = [f"line {n}" for n in range(1_000)]
    new = [*old[:100], "one", *old[100:900], "two", *old[900:]]
    lines = changed_lines("\n".join(old), "\n".join(new))
    assert [text for kind, text in lines if kind == "+"] == ["one", "two"]
    assert len(lines) == 15
    assert ("", "…") in lines


def test_hostile_names_and_texts_are_plain_json(made):
    """Names, lines and verdicts are shown with hidden characters as code points."""
    text = f"# {using.NASTY}\n{ANY}"
    name = f"a {using.NASTY}"[:80]
    mode = made(half(text, name))
    ran(mode)
    edited(mode, f"# {using.NASTY} 2\n{YES}", name=name)
    data = mode.data()
    assert plain(data)
    json.dumps(data, allow_nan=False).encode()
    assert len(data["versions"]) == 2
