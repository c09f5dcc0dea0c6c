"""The field corpus without the network: manifest, signatures and comparison agree. `benchmarks/field` runs the rest."""

import ast
import json
import re
from dataclasses import replace

import pytest

from benchmarks.field.__main__ import known_holes, report
from benchmarks.field.corpus import packages, rows_of
from benchmarks.field.signatures import SIGNED, compared, read_signatures, signature_of, write_signatures
from benchmarks.field.wheels import fetch
from benchmarks.field.worker import Called, number_of

PACKAGES = list(packages())
FUNCTIONS = {
    (package.name, function.name): function for package in PACKAGES for function in package.functions
}
OWN = {key: function for key, function in FUNCTIONS.items() if function.rows != "generated"}


def test_names_are_unique():
    """A function is found by package and name, and each package has exact versions."""
    assert len(FUNCTIONS) == sum(len(package.functions) for package in PACKAGES) >= 60
    assert len(PACKAGES) >= 8
    exact = [
        one
        for package in PACKAGES
        for one in (*(f"{package.name}=={v}" for v in package.versions), *package.needs)
    ]
    assert [one for one in exact if not re.fullmatch(r"[\w.-]+==\d[\w.]*", one)] == []


@pytest.mark.parametrize("key", OWN, ids="-".join)
def test_rows_have_what_a_probe_needs(key):
    """10 to 24 prompts that differ, right completions for each, and a call that can be read."""
    function = OWN[key]
    assert 10 <= len(function.rows) <= 24
    assert len({row["prompt"] for row in function.rows}) == len(function.rows)
    assert all(row["right"] and not {*row["right"]} & {*row["wrong"]} for row in function.rows)
    assert all("RESULT" not in row["completion"] for row in rows_of(function))
    assert all(0 <= hole.row < len(function.rows) for hole in function.holes)
    ast.parse(function.call, mode="eval")
    ast.parse(function.setup or "fn", mode="eval")


def test_every_finding_is_signed_once():
    """Each signature names a function of the manifest, says why, and a true one has a fix."""
    signed = read_signatures()
    versions = {package.name: package.versions for package in PACKAGES}
    assert len({one.key for one in signed}) == len(signed) > 100
    for one in signed:
        assert (one.package, one.function) in FUNCTIONS
        assert one.version in versions[one.package]
        assert isinstance(one.verdict, bool)
        assert one.reason
        assert bool(one.fix) == one.verdict


def test_the_file_is_sorted(tmp_path):
    """Writing what was read gives the same file."""
    write_signatures(read_signatures(), tmp_path / "signed.json")
    assert (tmp_path / "signed.json").read_text("utf-8") == SIGNED.read_text("utf-8")


def test_a_run_is_compared_with_the_signatures():
    """The same witness is signed, another one has moved, a new kind is unsigned, and what is not found is gone."""
    one, two, three = [replace(read_signatures()[0], kind=kind, verdict=kind != "b") for kind in "abc"]
    found = [one, replace(two, text="other"), replace(three, kind="new")]
    comparison = compared(found, [one, two, three], {one.key[:3]})
    assert comparison.signed == (one,)
    assert comparison.moved == ((two, found[1]),)
    assert comparison.unsigned == (found[2],)
    assert comparison.gone == (three,)
    assert (comparison.n_true, comparison.n_read, comparison.precision) == (1, 2, 0.5)


def test_a_hole_is_named_or_missed(capsys):
    """The words of a finding decide, without its examples; a hole that a version does not have is repaired."""
    function = next(one for one in PACKAGES if one.name == "verl").functions[0]
    finding = {
        "strength": "warning", "kind": "full-stop", "message": "rejects the reference with a full stop, such as '7,2'",
        "advice": "", "texts": [{"reference": "72", "text": "#### 72.", "score": 0.0, "prompt": ""}],
    }  # fmt: skip
    holes = [{"exists": True} for _ in function.holes]
    holes[1] = {"exists": False}
    result = {"name": function.name, "holes": holes, "findings": [finding], "seconds": 1.0}
    results = [{"package": "verl", "version": "0.9.1", "functions": [result]}]
    assert [state for _, _, state in known_holes(results)] == [
        "question",
        "repaired",
        "missed",
        "missed",
        "missed",
    ]
    signature = signature_of(results[0], function.name, finding)
    report(results, compared([replace(signature, verdict=None)], [], {signature.key[:3]}))
    assert "1 of them unread" in capsys.readouterr().out


def test_a_function_is_called_as_the_manifest_says(monkeypatch, tmp_path):
    """The call's value is read as a number, and the probe's function gives the same score."""
    import workbench as wb

    (tmp_path / "fieldcase.py").write_text("def same(text, gold):\n    return {'score': text == gold}\n")
    monkeypatch.syspath_prepend(tmp_path)
    function = replace(OWN["verl", "gsm8k"], target="fieldcase:same", direct=False)
    called = Called(function)
    row = {"prompt": "p", "reference": "72"}
    assert (called("72", row), called("7", row)) == (1.0, 0.0)
    frame = [{**row, "completion": "72"}, {**row, "completion": "7"}]
    report = called.grader().run(wb.read_samples(frame), progress=False)
    assert report.scores.iloc[:, 0].tolist() == [1.0, 0.0]


def test_scores_of_all_forms_are_numbers():
    """Lists of one, dicts, grades with letters, and nothing, which is no score."""
    assert [number_of(value) for value in (True, [0.5], ("C", 1), {"reward": 2})] == [1.0, 0.5, 1.0, 2.0]
    with pytest.raises(ValueError, match="no score"):
        number_of(None)


def test_a_version_that_does_not_exist_is_an_error(tmp_path, monkeypatch):
    """The message of pip is passed on, and nothing is left in the cache."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(RuntimeError, match="could not install"):
        fetch("no-such-package==0.0.0", tmp_path)
    assert [*tmp_path.iterdir()] == []


def test_no_address_is_committed():
    """The manifest names packages and versions, and no host of a registry."""
    text = "".join(path.read_text("utf-8") for path in SIGNED.parent.rglob("*.py")) + json.dumps(
        SIGNED.read_text("utf-8")
    )
    assert not re.search(r"https?://|pypi", text)
