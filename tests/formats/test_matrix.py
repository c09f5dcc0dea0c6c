"""Every registered kind to every platform and back: equal scores, or a refusal that helps."""

import json

import pytest

import workbench as wb
from tests.formats.matrix import (
    PLATFORMS,
    SAMPLES,
    ZERO,
    cell,
    outcomes,
    same,
    there_and_back,
)
from tests.graders.examples import ALTERNATIVES, EXAMPLES, SUITES
from workbench.core.errors import FormatError
from workbench.graders import KINDS

PAIRS = [(a, b) for a in PLATFORMS for b in PLATFORMS]


def check(suite, platform, folder):
    """The scores are the same after a round trip, or the refusal names grader, field and hint, and the report lists losses."""
    name, ending = PLATFORMS[platform]
    try:
        again = there_and_back(suite, platform, folder)
    except FormatError as refusal:
        assert not list(folder.iterdir()), "a refusal wrote a file"
        check_refusal(suite, refusal)
        check_report(suite, platform, folder)
        return
    assert [path.suffix for path in folder.iterdir()].count(ending) >= 1
    assert not list(folder.glob("*.losses.json"))
    if suite.combine is None and suite.entries[0].grader.kind != "combined":
        again = wb.Suite(again.entries)  # a rule of the platform's own besides
    pairs = list(zip(outcomes(suite), outcomes(again), strict=True))
    wrong = [(at, a, b) for at, (a, b) in enumerate(pairs) if not same(a, b, zero=name in ZERO)]
    assert not wrong, (suite.entries[0].grader, again.entries[0].grader, wrong)


def check_refusal(suite, refusal):
    told = str(refusal)
    names = {entry.name for entry in suite.entries} | {"the suite"}
    assert any(name in told for name in names), told
    assert refusal.where, told
    assert refusal.hint, told


def check_report(suite, platform, folder):
    """On request unsupported parts are dropped and listed in a separate file."""
    name, ending = PLATFORMS[platform]
    target = folder / f"graders{ending}"
    try:
        written = wb.export(suite, target, name, on_loss="report", allow_unvalidated=True)
    except FormatError as error:
        told = str(error)
    else:
        told = ""
    if told:
        assert "no grader can be written" in told
        assert not list(folder.iterdir())
        return
    report = json.loads((folder / f"{target.name}.losses.json").read_text("utf-8"))
    assert report["platform"] == name
    assert [one["what"] for one in report["dropped"]] == [loss.what for loss in written.losses] != []
    assert len(wb.load(target)) >= 1


def test_every_kind_is_here():
    """A new kind joins the matrix."""
    assert set(EXAMPLES) >= {kind for kind in KINDS if not kind.startswith("test-")}


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("kind", EXAMPLES)
def test_kinds(kind, platform, tmp_path):
    """Each configuration of each kind comes back with its scores, or is refused with help."""
    for at, make in enumerate([EXAMPLES[kind], *ALTERNATIVES.get(kind, [])]):
        folder = tmp_path / str(at)
        folder.mkdir()
        check(wb.Suite(make()), platform, folder)


@pytest.mark.parametrize(
    ("kind", "platform", "expected"),
    [
        ("exact-match", "letta", "yes"),
        ("exact-match", "umbraco", "some: yes"),
        ("contains", "openai", "some: as string-check"),
        ("json-keys", "adaptive", "as code"),
        ("length", "vllora", "as code"),
        ("function", "adaptive", "some: yes"),
        ("function", "osmosis", "some: yes"),
        ("rollout", "osmosis", "yes"),
        ("script", "vllora", "yes"),
        ("combined", "openai", "yes"),
        ("binary-judge", "adaptive", "some: yes"),
        ("faithfulness", "adaptive", "some: yes"),
        ("context-relevancy", "adaptive", "yes"),
        ("pairwise-judge", "adaptive", "-"),
        ("pairwise-judge", "letta", "-"),
        ("criteria-judge", "umbraco", "yes"),
        ("guardrail-judge", "umbraco", "yes"),
        ("schema-judge", "vllora", "some: yes"),
        ("rubric-judge", "letta", "some: yes"),
        ("agent-judge", "letta", "yes"),
        ("per-turn", "letta", "some: yes"),
        ("score-judge", "openai", "yes"),
        ("label-judge", "openai", "yes"),
        ("endpoint", "openai", "yes"),
        ("json-schema", "openai", "-"),
        ("custom", "adaptive", "-"),
        *((kind, "native", "yes") for kind in EXAMPLES),
    ],
)
def test_what_goes_where(kind, platform, expected, tmp_path):
    """Each platform's native features are used; unsupported ones are not written."""
    assert cell(kind, platform, tmp_path) == expected


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("name", SUITES)
def test_suites(name, platform, tmp_path):
    """Suites with rules and gates come back with their scores and verdicts, or are refused with help."""
    suite = SUITES[name]()
    check(suite, platform, tmp_path)


@pytest.mark.parametrize("name", [name for name in SUITES if name.endswith("gate")])
def test_gates_come_back(name, tmp_path):
    """A gate means the same after native and Letta files."""
    suite = SUITES[name]()
    for platform in ("native", "letta"):
        again = there_and_back(suite, platform, tmp_path)
        told = [one.run(SAMPLES, progress=False, workers=1).gate for one in (suite, again)]
        assert (told[0].passed, told[0].value) == (told[1].passed, told[1].value)


SHARED = {
    "native": "plain", "adaptive": "plain", "adaptive .json": "plain", "osmosis": "extractor", "umbraco": "checks",
    "vllora": "mean", "letta": "simple gate", "openai": "formula",
}  # fmt: skip


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_from_platform_to_platform(source, target, tmp_path):
    """A suite that came from one platform goes to each other one by the same rules."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    check(said_by(source, tmp_path / "in"), target, tmp_path / "out")


def said_by(platform, folder):
    """A suite as imported from the platform: the one named above, else the first that it supports."""
    named = [SUITES[SHARED[platform]]] if platform in SHARED else []
    alone = [lambda make=make: wb.Suite(make()) for make in EXAMPLES.values()]
    for make in [*named, *SUITES.values(), *alone]:
        try:
            return there_and_back(make(), platform, folder)
        except FormatError:
            assert not named, "a platform says the suite that is named for it"
    raise AssertionError(f"{platform} can say no suite at all")
