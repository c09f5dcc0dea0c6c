"""Export as the page shows it: the fit table, what would be written, and the file."""

from __future__ import annotations

import json
import threading
from types import SimpleNamespace

import pytest

import workbench as wb
from tests.app.view.test_compare import plain
from tests.app.widgets import using
from tests.graders.examples import ALTERNATIVES, EXAMPLES
from workbench.app.session.export import fit_of, platforms
from workbench.app.session.session import Session
from workbench.app.view.export import ExportMode
from workbench.core.errors import WorkbenchError
from workbench.formats import FORMATS
from workbench.formats.targets.target import Target
from workbench.graders import SandboxedGrader
from workbench.graders.serialization import parts

OWN = wb.FunctionGrader.from_source(using.HALF, name="half")


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A maker of Exports that write into an empty folder; what it made is closed at the end."""
    monkeypatch.chdir(tmp_path)
    modes = []

    def make(*graders, **settings):
        session = Session(using.ROWS, list(graders or using.GRADERS), store=None)
        modes.append(ExportMode(session, **settings))
        return modes[-1]

    yield make
    for mode in modes:
        mode.close()
        mode._session.close()


def whole(mode):
    """The data once the fit table is whole."""
    mode.data()
    assert mode.wait(60)
    return mode.data()


def cells(data, name):
    """Platform to the cell of a grader."""
    (line,) = [line for line in data["graders"] if line["name"] == name]
    return {one["name"]: fit for one, fit in zip(data["platforms"], line["fits"], strict=True)}


# ---- the fit table


@pytest.mark.parametrize("kind", [*EXAMPLES])
def test_no_cell_lies(kind, tmp_path):
    """Yes and code are exports without a loss, loss is one that reports it, and no is a refusal either way."""
    for at, make in enumerate([EXAMPLES[kind], *ALTERNATIVES.get(kind, [])[:2]]):
        entry = wb.Entry(make(), f"g{at}")
        for name, chosen in FORMATS.items():
            folder = tmp_path / f"{at} {name}"
            folder.mkdir()
            target = folder / f"graders{chosen.suffix}"
            check_cell(entry, name, target)


def check_cell(entry, name, target):
    """A cell against what `export` does, and against what is read back."""
    fit = fit_of(entry, name).fit
    if fit in {"loss", "no"}:
        with pytest.raises((WorkbenchError, ValueError)):
            wb.export(wb.Suite([entry]), target, name, allow_unvalidated=True)
        outcome = reported(entry, name, target)
        assert (outcome is not None and bool(outcome.losses)) == (fit == "loss"), (name, fit)
        return
    written = wb.export(wb.Suite([entry]), target, name, allow_unvalidated=True)
    assert not written.losses
    assert (fit == "code") == is_code(name, target), (name, fit)


def reported(entry, name, target):
    """The export that reports its losses; None where there is none."""
    try:
        return wb.export(wb.Suite([entry]), target, name, on_loss="report", allow_unvalidated=True)
    except (WorkbenchError, ValueError):
        return None


def is_code(name, target):
    """Whether a file of a platform is imported as a program; a trainer's always is, a native one never."""
    if name == "native" or isinstance(FORMATS[name], Target):
        return name != "native"
    return any(
        isinstance(part, SandboxedGrader)
        for grader in wb.load(target, name).graders
        for part in parts(grader)
    )


def test_every_format_has_a_column_platforms_first():
    """The native form is first, trainers come after all platforms, and each has a short unique title."""
    columns = platforms()
    assert {one.name for one in columns} == set(FORMATS)
    assert columns[0].name == "native"
    groups = [isinstance(one, Target) for one in columns]
    assert groups == sorted(groups)
    labels = [one.label for one in columns]
    assert len(set(labels)) == len(labels)
    assert max(map(len, labels)) <= 14


def test_the_table_comes_in_steps_and_tells(made):
    """Cells are busy at first; the callback comes under the lock, and then they are known."""
    told, seen = threading.Event(), []

    def change():
        seen.append(mode._session.guard.lock._lock._is_owned())
        if all(fit["fit"] != "busy" for line in mode.data()["graders"] for fit in line["fits"]):
            told.set()

    mode = made(on_change=change)
    assert {fit["fit"] for fit in cells(mode.data(), "exact").values()} == {"busy"}
    assert told.wait(60)
    assert all(seen)
    known = cells(mode.data(), "exact")
    assert (known["native"]["fit"], known["trl"]["fit"], known["umbraco"]["fit"]) == ("yes", "code", "no")
    assert "reference" in known["umbraco"]["note"]
    assert "on_loss" not in known["umbraco"]["note"]


def test_what_is_known_is_kept_until_the_grader_changes(made):
    """Another grader of the name is checked again; the others' cells remain."""
    mode = made()
    whole(mode)
    mode._session.graders.add(wb.JsonKeys("a", name="exact"))
    data = mode.data()
    assert cells(data, "exact")["native"]["fit"] == "busy"
    assert cells(data, "short")["native"]["fit"] == "yes"
    assert cells(whole(mode), "exact")["umbraco"]["fit"] == "yes"


def test_a_closed_export_finds_out_no_more(made):
    """After `close` nothing is started and no callback is called."""
    told = []
    mode = made(on_change=lambda: told.append(True))
    mode.close()
    assert {fit["fit"] for fit in cells(mode.data(), "exact").values()} == {"busy"}
    assert mode.wait(60)
    assert told == []


def test_a_format_that_breaks_is_a_cell_that_says_so(made, monkeypatch):
    """An error of one writer is shown in its cell, and the rest of the table is there."""

    def broken(*_):
        raise RuntimeError("plugin is broken")

    monkeypatch.setattr("workbench.app.session.export.fit_of", broken)
    cell = cells(whole(made()), "exact")["adaptive"]
    assert (cell["fit"], cell["note"]) == ("no", "RuntimeError: plugin is broken")


def test_unproved_graders_fit_and_drafts_stand_apart(made):
    """A grader that was not validated has its cells; one whose checks failed has a sentence in their place."""
    broken = wb.FunctionGrader.from_source(using.BROKEN, name="broken")
    broken.validate()
    data = whole(made(OWN, broken))
    assert cells(data, "half")["adaptive"]["fit"] == "code"
    draft = data["graders"][1]
    assert (draft["draft"], draft["fits"]) == (True, [])
    assert draft["say"] == "a draft: exported once its five checks pass"
    assert [line.split(":")[0] for line in data["choices"]["not_validated"]] == ["half"]


# ---- sentences and settings


def test_the_sentence_says_forms_and_losses(made):
    """How many graders, in which form, and whether anything is lost."""
    own = wb.FunctionGrader.from_source(using.HALF, name="half")
    own.validate()
    mode = made(own, using.GRADERS[2])
    mode.do_export("adaptive")
    data = whole(mode)
    assert data["title"] == "To Adaptive"
    assert data["sentence"] == (
        "2 graders, all as code: half with the same text, short as an equivalent program. Nothing is lost."
    )
    mode.do_export("native")
    assert mode.data()["sentence"] == "2 graders, all exported natively. Nothing is lost."
    mode.do_export("umbraco")
    assert (
        mode.data()["sentence"]
        == "2 graders, all not supported. Nothing would be written because of half, short."
    )
    assert mode.data()["problem"]


def test_with_a_loss_it_is_counted(made):
    """What is dropped on request is listed, and the sentence counts it."""
    mode = made(wb.ExactMatch(expected="4", trim=False, name="strict"))
    mode.do_export("umbraco")
    assert "“drop and list” under “unsupported”" in whole(mode)["problem"][-1]
    mode.do_export_settings({"on_loss": "report"})
    data = mode.data()
    assert data["sentence"] == "1 grader, with a loss. 1 setting is lost, see below."
    assert "always trimmed" in data["losses"][0]
    assert [one["name"] for one in data["files"]] == ["graders.json", "graders.json.losses.json"]


def test_without_a_ticked_grader_there_is_nothing_to_write(made):
    """The sentence gives the next step, and writing is refused."""
    mode = made()
    mode._session.graders.choose([])
    data = whole(mode)
    assert data["sentence"] == "No grader is selected: tick those to export in the list."
    assert data["files"] == []
    assert data["problem"]
    with pytest.raises(WorkbenchError, match="no grader is selected"):
        mode.do_write()


def test_an_empty_session_has_an_empty_table():
    """Without any grader the platforms are shown all the same."""
    session = Session(using.ROWS, wb.Suite([OWN]), store=None)
    session.graders.remove("half")
    mode = ExportMode(session)
    data = mode.data()
    assert data["graders"] == []
    assert data["platforms"]
    assert plain(data)
    mode.close()
    session.close()


def test_settings_are_those_that_a_platform_has(made):
    """A choice for rows without a score, and for the reference's column, only where there is one."""
    mode = made(using.GRADERS[2])
    assert (mode.data()["choices"]["on_error"], mode.data()["choices"]["has_reference"]) == ([], False)
    mode.do_export("verl")
    mode.do_export_settings({"on_error": "0.0", "reference": "answer"})
    data = mode.data()
    assert (data["choices"]["on_error"], data["choices"]["has_reference"]) == (["raise", "0.0", "-1.0"], True)
    assert (data["settings"]["on_error"], data["settings"]["reference"]) == ("0.0", "answer")
    assert "such a row gets 0" in " ".join(data["notes"])
    mode.do_export("native")
    assert mode.data()["problem"] == []


@pytest.mark.parametrize(
    "settings",
    [{"on_loss": "drop"}, {"on_error": 0}, {"allow_unvalidated": "yes"}, {"store": "x"}, {"file": 3}],
)
def test_settings_of_another_kind_are_refused(made, settings):
    """What the page cannot have sent changes nothing."""
    mode = made()
    with pytest.raises(WorkbenchError, match="invalid export setting"):
        mode.do_export_settings(settings)
    assert mode.data()["settings"]["on_loss"] == "refuse"


def test_a_files_ending_follows_the_platform(made):
    """The default and a name with the old platform's ending get the new one's; another ending stays."""
    mode = made()
    assert mode.data()["file"] == "graders.json"
    mode.do_export("trl")
    assert mode.data()["file"] == "graders.py"
    mode.do_export_settings({"file": "mine.py"})
    mode.do_export("letta")
    assert mode.data()["file"] == "mine.yaml"


# ---- the file


def test_what_is_written_is_what_was_shown(made, tmp_path):
    """The file, the folder that is named, and the line in code that writes the same."""
    mode = made(using.GRADERS[2])
    mode.do_export("trl")
    shown = mode.data()["files"]
    assert (shown[0]["language"], shown[0]["lines"]) == ("python", shown[0]["text"].count("\n"))
    mode.do_write()
    assert (tmp_path / "graders.py").read_text() == shown[0]["text"]
    assert mode.data()["written"] == f"Wrote graders.py in {tmp_path}"
    (tmp_path / "graders.py").unlink()
    using.repeated(SimpleNamespace(session=mode._session, suite=None, graders=mode._session.graders.by_name))
    assert (tmp_path / "graders.py").read_text() == shown[0]["text"]
    mode.do_export("verl")
    assert mode.data()["written"] == ""


def test_a_file_in_the_way_is_replaced_only_once_it_was_shown(made, tmp_path):
    """A file that appeared since the page's preview is refused; one that was shown is replaced; an exported one without a warning."""
    mode = made(using.GRADERS[2])
    assert mode.data()["in_the_way"] == []
    other = wb.save([using.GRADERS[0]], tmp_path / "graders.json").read_text()
    with pytest.raises(WorkbenchError, match="exists and"):
        mode.do_write()
    assert (tmp_path / "graders.json").read_text() == other
    assert "it contains has yes" in mode.data()["in_the_way"][0]
    mode.do_write()
    assert (tmp_path / "graders.json").read_text() != other
    assert mode.data()["in_the_way"] == []
    mode.do_write()


def test_unproved_graders_are_refused_until_proved_or_allowed(made, tmp_path):
    """The problem is reported; validating all sets the lines that would, and then the file can be written."""
    mode = made(wb.FunctionGrader.from_source(using.HALF, name="half"))
    assert any("tick “export without validation”" in line for line in mode.data()["problem"])
    with pytest.raises(WorkbenchError):
        mode.do_write()
    mode.do_export_settings({"allow_unvalidated": True})
    assert mode.data()["problem"] == []
    mode.do_export_settings({"allow_unvalidated": False})
    mode.do_validate_all()
    assert mode._session.code.text == "app.graders['half'].validate()"
    assert mode.data()["choices"]["not_validated"] == []
    mode.do_write()
    assert (tmp_path / "graders.json").is_file()


def test_a_name_that_is_none_is_a_problem(made):
    """A folder is not a file: nothing is shown, and nothing raises."""
    mode = made()
    mode.do_export_settings({"file": "folder/"})
    data = mode.data()
    assert "names a folder" in data["problem"][0]
    assert data["files"] == []


def test_hostile_names_and_texts_are_plain_json(made):
    """Names, files and notes are shown with hidden characters as code points."""
    mode = made(
        wb.Contains(expected=using.NASTY, name=using.NASTY), wb.Contains(expected="\ud800", name="lone")
    )
    for platform in ("native", "adaptive", "openai", "trl", "umbraco"):
        mode.do_export(platform)
        mode.do_export_settings({"file": using.NASTY})
        data = whole(mode)
        assert plain(data)
        json.dumps(data, allow_nan=False).encode()
    assert cells(data, "lone")["umbraco"]["fit"] == "no"


def test_a_file_is_given_whole_as_it_would_be_written(page_of, tmp_path):
    """To be saved where the page is: the same text as the file that the kernel writes; no other file is given."""
    page = page_of(labels="good").opened()
    page.tell("mode", mode="export")
    page.tell("export_settings", settings={"file": str(tmp_path / "all.json")})
    name = page.export["files"][0]["name"]
    given = page.ask("export_file", name=name)
    page.tell("write")
    assert (tmp_path / "all.json").read_text("utf-8") == given
    with pytest.raises(LookupError, match="unknown file"):
        page.ask("export_file", name="/etc/passwd")
