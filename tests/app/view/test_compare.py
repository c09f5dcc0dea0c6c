"""Compare as the page shows it: the 2x2, its sentences, the list of pairs and what they differ in."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.app.widgets import using
from workbench.app.session.session import Session
from workbench.app.view.compare import CompareMode
from workbench.app.view.texts import marked
from workbench.core.errors import WorkbenchError
from workbench.report.sentences import sentence

LOOSE = wb.Regex(pattern="yes", name="loose")
STRICT = wb.Regex(pattern="^yes$", name="strict")
OTHER = wb.Regex(pattern="no", name="other")


def made(graders=(LOOSE, STRICT), rows=None, *, run=True, **settings):
    """A Compare over a session that ran these graders."""
    session = Session(using.ROWS if rows is None else rows, list(graders), **{"store": None, **settings})
    if run:
        using.ran(SimpleNamespace(session=session))
    return CompareMode(session)


def rows_of(*answers, good=None, prompt="How many?"):
    """Rows of one prompt."""
    labels = [None] * len(answers) if good is None else good
    return [
        {"id": f"r{at}", "prompt": prompt, "completion": text, "good": label}
        for at, (text, label) in enumerate(zip(answers, labels, strict=True))
    ]


def plain(value):
    """Whether a value is plain JSON with finite numbers and text that hides nothing."""
    if isinstance(value, dict):
        return all(type(key) is str and plain(one) for key, one in value.items())
    if isinstance(value, list):
        return all(map(plain, value))
    if type(value) is float:
        return math.isfinite(value)
    return type(value) in {int, bool, type(None)} or (type(value) is str and "\u202e" not in value)


def pairs(mode, start=0, stop=50):
    """The pairs of the list that is shown."""
    return mode.ask_pairs(start, stop, mode.data()["revision"])


def table(mode, a, b):
    """Rows by verdict and label, as pandas counts them."""
    report = mode._session.results.report
    scores = report.scores
    frame = pd.DataFrame({"a": scores[a] >= 0.5, "b": scores[b] >= 0.5, "good": list(report.labels)})
    frame = frame[scores[a].notna().to_numpy() & scores[b].notna().to_numpy()]
    return frame.groupby(["a", "b", "good"]).size()


# ---- counts and sentences


def test_the_quadrants_count_what_pandas_counts():
    """Every cell's count, and its good and bad rows, are those of a group-by over the scores."""
    mode = made(using.GRADERS, labels="good")
    mode.do_compare("has yes", "exact")
    counted = table(mode, "has yes", "exact")
    keys = {"both": (True, True), "a": (True, False), "b": (False, True), "neither": (False, False)}
    data = mode.data()
    assert data["n"] == counted.sum() == len(using.ROWS)
    for cell in data["cells"]:
        side = keys[cell["key"]]
        verdict = "refused" if cell["key"] == "neither" else "accepted"
        good, bad = (int(counted.get((*side, label), 0)) for label in (True, False))
        assert cell["count"] == good + bad == sum(cell["counts"].values())
        assert (cell["counts"][f"good_{verdict}"], cell["counts"][f"bad_{verdict}"]) == (good, bad)
        assert cell["note"] == (f"{good} good, {bad} bad" if good + bad else "no row")


@pytest.mark.parametrize(
    ("graders", "lead", "rest"),
    [
        ((LOOSE, wb.Contains(expected="yes", name="same")), "A and B give the same verdict on all 4 rows.", ""),
        ((LOOSE, STRICT), "B is stricter: it rejects 1 row that A accepts,", " and accepts none that A rejects."),
        ((STRICT, LOOSE), "B is more lenient: it accepts 1 row that A rejects,", " and rejects none that A accepts."),
        ((LOOSE, OTHER), "They differ both ways: B rejects 2 rows that A accepts,", " and accepts 1 that A rejects."),
    ],
)  # fmt: skip
def test_one_sentence_says_who_is_stricter(graders, lead, rest):
    """The same verdicts, stricter, more lenient, or both ways; the counts are those of the rows."""
    mode = made(graders, rows_of("yes", "oh yes", "no", "?"))
    data = mode.data()
    assert data["lead"] == lead
    assert data["rest"].startswith(rest)
    assert not rest or data["rest"].endswith("is inconclusive on these rows.")


def test_many_rows_settle_who_is_stricter():
    """Where the interval of the difference excludes 0 nothing is added to the sentence."""
    rows = [
        {"id": f"r{n}", "prompt": f"q{n}", "completion": "yes" if n % 2 else "oh yes"} for n in range(200)
    ]
    mode = made((LOOSE, STRICT), rows)
    mode.data()
    assert sentence(mode._compared.comparison)[1] == " and accepts none that A rejects."


def test_the_labels_block_is_the_comparisons():
    """Shares and paired interval are those of `report.compare`, and the closer grader is named only if conclusive."""
    mode = made(using.GRADERS, labels="good")
    mode.do_compare("has yes", "exact")
    block = mode.data()["labels"]
    against = mode._session.results.report.compare("has yes", "exact").labels
    assert block["lines"][0]["text"] == f"{100 * against.a.value:.1f} % of 24".replace(".0 %", " %")
    assert block["lines"][2]["text"] == f"{100 * against.difference.value:+.1f}"
    assert block["lines"][2]["interval"]
    assert (block["shape"] == "good") == against.difference.is_shown
    assert "on which they differ, B is right on 0 and wrong on" in block["note"]


def test_without_labels_the_block_says_the_next_step():
    """No row is labelled: the two are still compared, and the block names the mode Label."""
    block = made().data()["labels"]
    assert block["lead"] == "None of these rows is labelled."
    assert "Label" in block["note"]


def test_a_small_difference_is_not_settled():
    """An interval that contains 0 names no winner."""
    mode = made(rows=rows_of("yes", "oh yes", "no", good=[True, True, False]), labels="good")
    block = mode.data()["labels"]
    assert (block["lead"], block["shape"]) == (
        "Which one is closer to the labels is inconclusive.",
        "unsettled",
    )
    assert "wrong on 1 (rejects known-good rows)" in block["note"]


# ---- nothing to compare


@pytest.mark.parametrize("graders", [(), (LOOSE,)])
def test_fewer_than_two_graders_say_the_next_step(graders):
    """Before a run, or with one grader, one sentence gives the next step."""
    mode = made(graders, run=bool(graders))
    data = mode.data()
    assert "to compare" in data["why_not"]
    assert (data["cells"], data["labels"], data["n"], data["lead"]) == ([], None, 0, "")
    assert pairs(mode) == []
    json.dumps(data, allow_nan=False)


def test_without_a_shared_row_there_is_no_sentence():
    """Two graders that share no scored row are distinguished from two that agree."""
    broken = wb.FunctionGrader.from_source(using.BROKEN, name="broken")
    data = made((LOOSE, broken)).data()
    assert data["why_not"].startswith("The two share no scored row")
    assert data["lead"] == ""


# ---- which graders


def test_a_changed_grader_is_compared_with_itself():
    """After a change and another run the pair is the previous version and the current one, and so is the code."""
    mode = made((LOOSE, OTHER))
    session = mode._session
    session.graders.add(wb.Regex(pattern="^yes$", name="loose"))
    using.ran(SimpleNamespace(session=session))
    data = mode.data()
    assert data["graders"] == ["loose", "other", "loose (before)"]
    assert (data["a"], data["b"]) == ("loose (before)", "loose")
    mode.do_compare("loose (before)", "other")
    assert mode.data()["a"] == "loose (before)"
    assert session.code.text == "app.versions.compare('loose (before)', 'other')"


def test_choosing_one_twice_swaps_the_two():
    """The same grader on both sides is never compared with itself."""
    mode = made((LOOSE, STRICT, OTHER))
    mode.do_compare("strict", "strict")
    assert (mode.data()["a"], mode.data()["b"]) == ("strict", "loose")
    assert mode._session.code.text == "app.report.compare('strict', 'loose')"


def test_an_unknown_grader_or_quadrant_is_refused():
    """An invalid request is an error and changes nothing."""
    mode = made()
    before = mode.data()
    with pytest.raises(WorkbenchError, match="unknown grader"):
        mode.do_compare("loose", "nobody")
    with pytest.raises(WorkbenchError, match="unknown rows"):
        mode.do_quadrant("c")
    assert mode.data() == before


# ---- the list


def test_disagreements_are_ordered_by_how_like_an_agreed_answer_they_are():
    """Most similar first, those without an agreed completion of their prompt last; each with the agreed completion."""
    rows = [
        *rows_of("yes", "totally different words yes", "yes!"),
        {"id": "alone", "prompt": "Another?", "completion": "yes indeed"},
    ]
    mode = made(rows=rows)
    shown = pairs(mode)
    assert [pair["left"]["id"] for pair in shown] == ["r2", "r1", "alone"]
    assert [pair["right"] and pair["right"]["id"] for pair in shown] == ["r0", "r0", None]
    assert shown[0]["left"]["said"] == "A accepts, B rejects"
    assert shown[0]["right"]["said"] == "both accept"
    assert shown[0]["prompt"] == "How many?"


def test_agreements_stand_in_their_natural_order_and_alone():
    """Rows of both and neither are in the data's order, without marks."""
    mode = made(rows=rows_of("yes", "a", "yes", "b"))
    for key, ids in (("both", ["r0", "r2"]), ("neither", ["r1", "r3"])):
        mode.do_quadrant(key)
        shown = pairs(mode)
        assert [pair["left"]["id"] for pair in shown] == ids
        assert all(pair["right"] is None and pair["left"]["text"][0][1] == "" for pair in shown)


def test_label_and_search_narrow_the_list():
    """Chips count the rows of the quadrant that contain the words; the list has those with the label."""
    answers, good = ("yes", "oh yes", "well yes", "oh, yes", "no"), [True, True, False, False, False]
    mode = made(rows=rows_of(*answers, good=good), labels="good")
    mode.do_quadrant("a", "bad", "")
    data = mode.data()["list"]
    assert (data["count"], data["good"], data["bad"], data["note"]) == (2, 1, 2, "2 of 5 rows")
    mode.do_quadrant("a", "", "OH")
    assert {pair["left"]["id"] for pair in pairs(mode)} == {"r1", "r3"}
    assert (mode.data()["list"]["good"], mode.data()["list"]["bad"]) == (1, 1)
    mode.do_quadrant("a", "good", "well")
    assert mode.data()["list"]["count"] == 0


def test_pairs_of_an_older_list_are_not_given():
    """The revision changes with the list and with nothing else."""
    mode = made()
    first = mode.data()["revision"]
    assert mode.data()["revision"] == first
    mode.do_quadrant("both")
    assert mode.data()["revision"] == first + 1
    assert mode.ask_pairs(0, 10, first) == []
    assert len(mode.ask_pairs(1, 3, first + 1)) == 2
    assert mode.ask_pairs(-5, 10_000, first + 1)


# ---- differences of texts


def test_short_answers_differ_by_character_and_longer_ones_by_word():
    """Removed text is marked on the left and new text on the right, the rest is not."""
    assert marked("11139", "1113") == ([["1113", ""], ["9", "gone"]], [["1113", ""]])
    left, right = marked("It is 5585 euros, all in all.", "It is 558 euros, all in all, so.")
    assert left[1] == ["5585", "gone"]
    assert right[1] == ["558", "new"]


def test_texts_that_share_half_or_less_have_no_marks():
    """Where everything differs nothing is marked."""
    assert marked("abcd", "abxy") == ([["abcd", ""]], [["abxy", ""]])


def test_long_texts_are_cut_around_their_first_difference():
    """A megabyte is shown as a few hundred characters with the difference in them."""
    text = "word " * 200_000
    left, right = marked(f"{text}5 ends", f"{text}6 ends")
    assert ["5", "gone"] in left
    assert ["6", "new"] in right
    assert sum(len(part) for part, _ in left) < 400


# ---- hostile input


def test_hostile_names_ids_and_texts_are_plain_json():
    """Names and texts are shown with hidden characters as code points, and names lead back to their graders."""
    name = f"bad {using.NASTY}"[:90]
    rows = rows_of(
        using.NASTY,
        using.NASTY + " yes",
        "yes",
        "\ud800 yes",
        good=[True, False, True, None],
        prompt=using.NASTY,
    )
    rows[0]["id"] = using.NASTY
    mode = made((wb.Regex(pattern="yes", name=name), STRICT), rows, labels="good")
    data = mode.data()
    mode.do_compare(data["b"], data["a"])
    for key in ("both", "a", "b", "neither"):
        mode.do_quadrant(key)
        answer = [mode.data(), *pairs(mode)]
        assert plain(answer)
        json.dumps(answer, allow_nan=False).encode()


def test_large_reports_answer_within_a_bounded_number_of_reads():
    """Of many disagreements only the first are ranked: no more rows are read than needed."""
    rows = [
        {"id": f"r{n}", "prompt": f"q{n % 50}", "completion": "yes" if n % 3 else f"oh yes {n}"}
        for n in range(3_000)
    ]
    mode = made(rows=rows)
    data = mode.data()
    assert data["list"]["count"] == 1_000
    assert len(mode._compared._texts) <= 200 * 13
    assert (
        len(
            np.unique(
                [pair["left"]["row"] for at in range(0, 1_000, 200) for pair in pairs(mode, at, at + 200)]
            )
        )
        == 1_000
    )


def verdicts_of(*answers, good=None):
    """A Compare of three graders over these completions."""
    return made((LOOSE, STRICT, OTHER), rows_of(*answers, good=good), **({"labels": "good"} if good else {}))


def test_more_than_two_are_a_matrix(monkeypatch):
    """The share of equal verdicts and kappa of each two, as computed row by row; none for two graders."""
    mode = verdicts_of("yes", "yes, no", "no", "yes yes", "what")
    names, pairs = mode.data()["all"]["names"], mode.data()["all"]["pairs"]
    assert names == ["loose", "strict", "other"]
    report = mode._session.results.report
    for first, line in enumerate(pairs):
        assert len(line) == first
        for second, pair in enumerate(line):
            verdicts = [
                np.isin(np.arange(5), report.row_numbers({"grader": names[at], "passed": True}))
                for at in (first, second)
            ]
            assert pair["same"] == pytest.approx((verdicts[0] == verdicts[1]).mean())
            expected = wb.agreement(*(list(map(bool, verdict)) for verdict in verdicts)).kappa.value
            assert pair["kappa"] == pytest.approx(expected)
            assert pair["n"] == 5
    assert made().data()["all"] is None


def test_rows_are_grouped_by_who_differs():
    """First those on which one alone differs, the most rows first; a click on one selects exactly its rows."""
    mode = verdicts_of(
        "yes", "yes, no", "yes and no", "yes yes", "no", "what", good=[True, False, False, None, False, None]
    )
    groups = mode.data()["all"]["groups"]
    assert [(group["text"], group["count"], group["good"], group["bad"]) for group in groups] == [
        ("only strict rejects", 2, 0, 2), ("only loose accepts", 1, 0, 0), ("only other rejects", 1, 1, 0), ("only other accepts", 1, 0, 1),
    ]  # fmt: skip
    results = mode._session.results
    for number, group in enumerate(groups):
        mode.do_compare_group(number)
        assert len(results.report.row_numbers(*results.where)) == group["count"]
    assert set(results.report.row_numbers(*results.where)) == {4}
    with pytest.raises(WorkbenchError, match="changed since"):
        mode.do_compare_group(4)


def test_a_cell_lists_the_larger_disagreement():
    """Of the two groups on which the pair differs, and forgets the search."""
    mode = verdicts_of("yes", "yes, no", "yes and no", "no", "no no")
    mode.do_quadrant("both", search="yes")
    mode.do_compare("strict", "loose", differing=True)
    data = mode.data()
    assert (data["chosen"], data["list"]["count"], data["list"]["search"]) == ("b", 2, "")


def test_versions_are_among_all(page_of):
    """A grader before a change differs on the rows that the edit changed; its group selects them by row."""
    from tests.app.view.page import RULES, YES, coded

    page = page_of(graders=(*RULES[:1], coded()), labels="good").opened()
    page.tell("choose", name="coded")
    page.typed("coded", YES.replace('"yes"', '"no, 1"'))
    page.tell("mode", mode="compare")
    everyone = page.compare["all"]
    assert "coded (before)" in everyone["names"]
    number = next(
        at
        for at, group in enumerate(everyone["groups"])
        if group["text"] in {"only coded accepts", "only coded rejects"}
    )
    page.tell("compare_group", number=number)
    page.tell("mode", mode="grade")
    assert page.table["count"] == everyone["groups"][number]["count"] > 0


def test_a_row_without_a_score_is_in_no_group():
    """Pairs count only rows that both scored."""
    failing = wb.FunctionGrader.from_source(
        "async def grade(thread):\n    return 1.0 if 'yes' in thread.completion() else 1 / 0\n", name="fails"
    )
    mode = made((LOOSE, STRICT, failing), rows_of("yes", "yes, no", "no"))
    everyone = mode.data()["all"]
    assert [pair["n"] for pair in everyone["pairs"][2]] == [2, 2]
    assert [(group["text"], group["count"]) for group in everyone["groups"]] == [("only strict rejects", 1)]
