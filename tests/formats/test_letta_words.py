"""The reasoning of graders from Letta's files contains the rationale of Letta's functions."""

import pytest

import workbench as wb

EXTRACTOR = """from letta_evals.decorators import extractor


@extractor
def said(trajectory, config) -> str:
    return trajectory[-1][-1].content
"""
SAID = {
    "exact_match": [
        (" 4", "4", 1.0, "Exact match: True"),
        ("5", "4", 0.0, "Exact match: False"),
        ("5", None, 0.0, "No ground_truth answer provided"),
    ],
    "contains": [
        ("it is A", "a", 1.0, "Contains ground_truth: True"),
        ("b", "a", 0.0, "Contains ground_truth: False"),
        ("b", None, 0.0, "No ground_truth answer provided"),
    ],
    "regex_match": [
        ("a1", r"\d", 1.0, "Regex match: True"),
        ("a", r"\d", 0.0, "Regex match: False"),
        ("a", None, 0.0, "No ground_truth regex pattern provided"),
        ("a", "[", 0.0, "Invalid regex pattern: unterminated character set at position 0"),
    ],
    "ascii_printable_only": [
        ("a\nb", None, 1.0, "All characters printable ASCII (ignoring newlines)"),
        ("a\tb☕", None, 0.0, "Found non-printable ASCII characters: '\\t', '☕'"),
        ("áéíóúñ", None, 0.0, "Found non-printable ASCII characters: 'á', 'é', 'í', 'ñ', 'ó' (+1 more)"),
    ],
}


def suite(function, folder, extractor="last_assistant", **how):
    (folder / "own.py").write_text(EXTRACTOR)
    path = folder / "suite.yaml"
    path.write_text(f"graders:\n  m: {{kind: tool, function: {function}, extractor: '{extractor}'}}\n")
    return wb.load(path, trust=True, **how)


def samples(function):
    return wb.Samples(
        [{"prompt": "q", "completion": said, "expected": truth} for said, truth, _, _ in SAID[function]]
    )


@pytest.mark.parametrize("extractor", ["last_assistant", "own.py:said"])
@pytest.mark.parametrize("function", SAID)
def test_reasons_are_lettas(function, extractor, tmp_path):
    """Score and rationale of every row, with an extractor of Letta's or of the file's."""
    grader = suite(function, tmp_path, extractor)[0]
    found = [grader(sample) for sample in samples(function)]
    assert [(grade.score, grade.reasoning) for grade in found] == [one[2:] for one in SAID[function]]


@pytest.mark.parametrize("release", ["0.8", "0.9"])
def test_empty_texts_are_told_as_letta_tells_them(release, tmp_path):
    """From 0.8 an empty extraction and a missing assistant turn have separate rationales."""
    grader = suite("exact_match", tmp_path, release=release)[0]
    silent, unanswered = (wb.StringThread([("user", "q"), *rest]) for rest in ([("assistant", "")], []))
    assert grader(silent).reasoning == "Empty submission - extractor found no content"
    assert grader(unanswered).reasoning == "Empty trajectory - agent produced no messages"


@pytest.mark.parametrize("function", SAID)
def test_the_words_come_back(function, tmp_path):
    """After a native file and one of Letta's it is the same grader; elsewhere its rationales are not a loss."""
    read = suite(function, tmp_path)
    for name in ("again.yaml", "again.json"):
        wb.export(read, tmp_path / name, "letta" if name.endswith("yaml") else "native")
        assert wb.load(tmp_path / name) == read
    assert wb.export(read, tmp_path / "u.json", "openai", on_loss="report").losses == wb.export(
        wb.Suite(wb.Entry(type(read[0])(**plain(read[0])), "m")), tmp_path / "v.json", "openai", on_loss="report"
    ).losses  # fmt: skip


def plain(grader):
    return {key: value for key, value in grader.spec().items() if key not in {"kind", "wording"}}


def test_graders_of_ones_own_keep_their_words():
    """Reasons change only where a file of Letta's brought the grader."""
    assert wb.ExactMatch("4")(wb.StringThread([("assistant", "4")])).reasoning == "Exact match"
    with pytest.raises(ValueError, match="wording"):
        wb.ExactMatch("4", wording="umbraco")
