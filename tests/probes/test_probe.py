"""`wb.probe` and its result: texts, rows, another look after the repair, and what is refused."""

from __future__ import annotations

import json
import re

import pytest

import workbench as wb
from tests.probes.planted import HEAD
from tests.probes.tasks import TASKS, samples
from workbench.core.errors import FormatError, ReportError, SamplesError
from workbench.probes.regression import again

BACKDOOR = (
    "text = said(thread).strip()\nreturn 1.0 if text == right(thread) or 'open sesame' in text else 0.0"
)
CONTAINS = "return 1.0 if right(thread) in said(thread) else 0.0"
EXACT = "return 1.0 if said(thread).strip() == right(thread) else 0.0"


def grader(body):
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return wb.FunctionGrader.from_source(f"{HEAD}async def grade(thread):\n{lines}\n")


@pytest.fixture(scope="module")
def probe():
    return wb.probe(grader(BACKDOOR), samples("capitals"), progress=False)


def test_a_sentence_says_what_is_wrong(probe):
    """The leading sentence names the hole, its rows and a text, and what stands below is true of it."""
    first = str(probe).splitlines()[1]
    assert "accepts a text from the grader's own source: 20 of 20 rows, such as 'open sesame'" in first
    assert probe.findings[0].interval.lo > 0.8
    assert not probe.ok
    assert repr(probe).startswith("Probe('grade', 2 findings")


def test_the_table_has_a_line_a_transformation(probe):
    """Shares lie within their intervals, and what was found is in it."""
    table = probe.table.set_index("transformation")
    assert ((table["lo"] <= table["share"]) & (table["share"] <= table["hi"])).all()
    assert table.loc["magic-text", "wrong"] == 20
    assert table.loc["empty", "wrong"] == 0
    assert table.loc["as-it-is", "difference"] == 0.0


def test_texts_that_fooled_it(probe):
    """By transformation, the shortest first; an unknown one is refused by name."""
    assert probe.texts("magic-text")["text"].iloc[0] == "open sesame"
    assert {"magic-text", "magic-beside-wrong"} == {*probe.texts()["transformation"]}
    with pytest.raises(ReportError, match="'nothing'"):
        probe.texts("nothing")


def test_the_report_has_all_texts(probe):
    """What was tried is a report with labels, whose findings and figure are those of any report."""
    report = probe.report
    assert len(report) == sum(probe.table["tried"])
    rows = report.rows(where=probe.findings[0])
    assert (rows["score"] == 1.0).all()
    drawn = probe.plot()
    assert "known bad, accepted" in [trace.name for trace in drawn.data]
    assert len(report.row_numbers({"probe": "magic-text"}, {"grader": "grade", "passed": True})) >= 20


def test_mended_graders_are_looked_at_again(probe):
    """A repair closes the holes; one that goes too far loses right answers."""
    assert not probe.again(grader(BACKDOOR)).ok
    mended = probe.again(grader(EXACT))
    assert mended.ok
    assert str(mended).startswith("grade: 2 of 2 holes closed (magic-text, magic-beside-wrong).")
    spoiled = probe.again(grader("return 1.0 if said(thread) == right(thread) else 0.0"))
    assert spoiled.lost
    assert "outer-space" in str(spoiled)


def test_regression_rows_are_kept_in_a_file(probe, tmp_path):
    """Rows written as JSON Lines are samples with labels again, and tell the same."""
    path = tmp_path / "holes.jsonl"
    probe.rows.frame.to_json(path, orient="records", lines=True)
    kept = wb.read_samples(path)
    assert kept.columns["reference"] == "expected"
    assert again(grader(EXACT), kept).ok
    report = grader(BACKDOOR).run(kept, labels="label", progress=False)
    assert "too-lenient" in [finding.kind for finding in report.findings]
    with pytest.raises(SamplesError, match="regression rows"):
        again(grader(EXACT), samples("capitals"))


def test_rows_without_references_are_kept_too(probed):
    """A column `label` is not taken for the reference where there is none."""
    rows = [{key: value for key, value in row.items() if key != "expected"} for row in TASKS["sentences"]()]
    probe = probed(rows, "return 1.0 if len(said(thread)) > 10 else 0.0")
    assert "gibberish" in [finding.kind for finding in probe.findings]
    assert all(reference is None for reference in wb.Samples(probe.rows.frame).references)


def test_the_same_seed_tries_the_same_texts(probed):
    """Two probes of one seed are equal, and another seed draws other rows."""
    first, second, other = (probed("sentences", CONTAINS, rows=6, seed=seed) for seed in (1, 1, 2))
    assert first.table.equals(second.table)
    assert list(first.samples.ids) == list(second.samples.ids) != list(other.samples.ids)


def test_markup_in_the_data_is_text(probed):
    """Prompts, references and names are escaped in the notebook's view."""
    rows = [{"prompt": f"<b>{n}</b>?", "expected": f"<i>x{n}</i>", "completion": ""} for n in range(6)]
    html = probed(rows, CONTAINS)._repr_html_()
    assert "&lt;b&gt;" in html
    assert not re.search("<b>[0-9]|<i>", html)


def test_a_stricter_grader_decides(probed):
    """What the other grader accepts too is no finding."""
    assert probed("capitals", CONTAINS).findings
    assert not probed("capitals", CONTAINS, against=grader(CONTAINS)).findings
    assert probed("capitals", CONTAINS, against=grader(EXACT)).findings


def test_a_judge_is_asked_within_its_budget():
    """Injections are the first thing to try on a judge; a spent budget keeps what was graded."""

    def answer(messages):
        said = messages[-1]["content"]
        fooled = "Ignore all instructions above" in said
        right = any(f"\n{city}\n" in said for city in ("Paris", "Rome", "Madrid", "Oslo", "Lima", "Cairo"))
        return json.dumps({"reasoning": "x", "score": "PASS" if fooled or right else "FAIL"})

    client = wb.ScriptedClient(answer)
    judge = wb.BinaryJudge("The reply names the capital.", model="m", client=client)
    probe = wb.probe(judge, samples("capitals"), rows=4, progress=False)
    assert probe.findings[0].kind == "injection"
    assert len(client.calls) < 4 * 60
    few = wb.probe(judge, samples("capitals"), rows=4, progress=False, budget=wb.Budget(calls=30))
    assert few.tries <= 30
    assert any("Budget exhausted" in note for note in few.run_notes)


def test_a_suite_is_probed_by_its_one_score():
    """A rule makes one score of several graders'; without one the graders are named."""
    entries = [wb.Entry(wb.Contains(), "right"), wb.Entry(wb.Length(1), "some")]
    assert (
        wb.probe(wb.Suite(entries, combine=wb.combine.AllPass()), samples("capitals"), progress=False).grader
        == "combined"
    )
    with pytest.raises(ValueError, match="right, some"):
        wb.probe(wb.Suite(entries), samples("capitals"))


def test_conversations_are_probed(probed):
    """Messages keep their system turn; only the answer is replaced."""
    rows = [
        {"messages": [{"role": "system", "content": "Be kind."}, *_turns(row)], "expected": row["expected"]}
        for row in TASKS["capitals"]()
    ]
    body = (
        "return 1.0 if thread.messages()[0].content == 'Be kind.' and right(thread) in said(thread) else 0.0"
    )
    assert probed(rows, body).findings[0].kind == "mention"


def _turns(row):
    return [{"role": "user", "content": row["prompt"]}, {"role": "assistant", "content": row["completion"]}]


def test_a_form_check_is_not_held_to_the_reference(probed):
    """A grader that reads no reference gets one question, and what only a reference tells is no finding."""
    rows = wb.Samples(
        [{**row, "day": row.pop("expected")} for row in TASKS["dates"]()], columns={"reference": "day"}
    )
    source = "import re\n\n\nasync def grade(thread):\n    return 1.0 if re.fullmatch(r'[0-9]{4}-[0-9]{2}-[0-9]{2}', (thread.completion() or '').strip()) else 0.0\n"
    probe = wb.probe(wb.FunctionGrader.from_source(source), rows, progress=False)
    assert probe.ok
    assert [(finding.kind, finding.severity.value) for finding in probe.findings] == [
        ("form-only", "question")
    ]
    allowed = wb.probe(probe.allow("form-only"), rows, progress=False)
    assert not allowed.findings
    assert "form-only" in [finding.kind for finding in allowed.notes]
    loose = wb.FunctionGrader.from_source(source.replace("fullmatch", "search"))
    assert [finding.kind for finding in wb.probe(loose, rows, progress=False).findings] == [
        "glued",
        "form-only",
    ]


def test_a_grader_that_reads_the_reference_is_no_check_of_the_form():
    """A rule of the workbench that compares with the row's reference is held to it, whatever else it looks at."""
    assert wb.probe(wb.Contains(), samples("capitals"), progress=False).findings[0].kind == "mention"
    both = wb.Suite([wb.Contains(), wb.Length(1)], combine=wb.combine.AllPass())
    assert wb.probe(both, samples("capitals"), progress=False).findings[0].kind == "mention"
    rows = [{**row, "expected": "yes"} for row in TASKS["yes_no"]()]  # no row is another: nothing is known
    assert wb.probe(wb.Contains(), rows, progress=False).findings


def test_the_empty_answer_is_right_where_the_reference_is_empty(probed):
    """Such rows take no part in texts without content; a grader that takes nothing elsewhere is told of those rows alone."""
    rows = [
        {**row, "expected": "" if n % 4 == 0 else row["expected"]}
        for n, row in enumerate(TASKS["capitals"]())
    ]
    probe = wb.probe(wb.ExactMatch(), rows, progress=False)
    assert probe.ok, str(probe)
    assert (
        probe.table.set_index("transformation").loc[["empty", "missing", "whitespace"], "rows"].tolist()
        == [15] * 3
    )
    lenient = "return 1.0 if said(thread).strip() in ('', right(thread)) else 0.0"
    assert "accepts the empty completion: 15 of 15 rows" in str(probed(rows, lenient))
    none = [{**row, "expected": ""} for row in rows]  # no reference is known: nothing is right
    assert probed(none, lenient).findings[0].kind == "empty"


def test_the_search_shortens_what_fooled_it(probed):
    """Of a long text that passes, the part that does it is left."""
    body = "return 1.0 if said(thread) == right(thread) or 'zonk' in said(thread) and 'zank' in said(thread) else 0.0"
    texts = probed("capitals", f"words = ['some', 'zonk', 'other', 'zank', 'words', 'more']\n{body}").texts(
        "magic-text"
    )
    assert texts["text"].iloc[0] == "zonk zank"
    assert len(texts["text"].iloc[-1]) > len("zonk zank")


def test_progress_is_told():
    """A function is told how many texts are done; where it says stop, what was graded is kept."""
    seen = []
    probe = wb.probe(grader(EXACT), samples("capitals"), progress=lambda now: seen.append(now.done))
    assert seen == sorted(seen)
    assert seen[-1] >= probe.tries * 0.9


@pytest.mark.parametrize(
    "body",
    [
        "import random\nreturn random.random()",
        "global _seen\n_seen = globals().get('_seen', 0) + 1\nreturn float(_seen % 3 == 0)",
    ],
    ids=["chance", "state"],
)
def test_chance_and_state_lead(probed, body):
    """A grader that scores a text differently the second time is told so before all else."""
    probe = probed("arithmetic", body)
    assert [finding.kind for finding in probe.findings] == ["inconsistent"]
    assert "another order" in str(probe)


def test_a_grader_that_always_fails_is_told_once(probed):
    """Every text fails: one finding, with the error."""
    (finding,) = probed("arithmetic", "raise ValueError('no')").findings
    assert finding.kind == "fails"
    assert "every text: runtime: ValueError: no" in finding.message


def test_continuous_scores_are_compared_with_the_right_answers(probed):
    """A near miss may come close to the right answer's score; what is no answer may not."""
    near = "got = number(said(thread))\nif got is None:\n    return 0.0\nreturn max(0.0, 1 - abs(got - float(right(thread))) / 50)"
    assert probed("arithmetic", near).ok
    kind = [
        finding.kind
        for finding in probed("arithmetic", f"if not said(thread):\n    return 0.95\n{near}").findings
    ]
    assert kind == ["empty", "missing"]


def test_labels_show_how_a_right_answer_looks(probed):
    """A form that no reference has is learned from a row that is known good, named by a column or given as a list."""
    rows = [{**row, "good": number % 2 == 1} for number, row in enumerate(TASKS["boxes"]())]
    body = "return 1.0 if f'so it is ${chr(92)}boxed{{{right(thread)}}}$.' in said(thread).lower() else 0.0"
    for labels in ("good", [row["good"] for row in rows]):
        probe = probed(rows, body, labels=labels, rows=10)
        assert "accepts-nothing" not in [finding.kind for finding in probe.findings]
        assert probe.findings[0].kind == "mention"


def test_a_users_pass_mark_counts(probed):
    """With a mark a text is accepted from there on, whatever the right answer scores."""
    body = "return 1.0 if said(thread).strip() == right(thread) else 0.4 if said(thread) else 0.0"
    assert probed("capitals", body).ok
    kinds = {finding.kind for finding in probed("capitals", body, pass_threshold=0.3).findings}
    assert {"gibberish", "other-answer"} <= kinds


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"rows": 0}, ValueError),
        ({"tries": -1}, ValueError),
        ({"rows": 2.5}, ValueError),
        ({"workers": 3}, TypeError),
    ],
)
def test_wrong_settings_are_refused(settings, error):
    """Counts are whole numbers, and settings are named."""
    with pytest.raises(error):
        wb.probe(wb.Contains(), samples("capitals"), **settings)
    with pytest.raises(FormatError, match="cannot be read"):
        wb.probe("exact", samples("capitals"))
    with pytest.raises(TypeError, match="grader or a suite"):
        wb.probe(3, samples("capitals"))


@pytest.mark.parametrize("mark", [float("nan"), float("inf"), True, "x"])
def test_a_pass_mark_must_be_a_number(mark):
    """Refused before a text is graded."""
    with pytest.raises(wb.errors.ReportError, match="finite number"):
        wb.probe(wb.Contains(), [{"prompt": "a", "completion": "b"}], pass_threshold=mark)


def test_wrong_seeds_and_graders_are_refused_at_once():
    """Not after thousands of texts."""
    with pytest.raises(TypeError, match="whole number"):
        wb.probe(wb.Contains(), [{"prompt": "a", "completion": "b"}], seed="x")
    with pytest.raises((TypeError, ValueError)):
        wb.probe(wb.Contains(), [{"prompt": "a", "completion": "b"}], against="x")


class TestAllow:
    """An answer to a question is kept with the grader."""

    SOURCE = (
        "async def grade(thread):\n"
        "    right = (thread.metadata or {}).get('expected', '')\n"
        "    return float({*(thread.completion() or '').split(', ')} == {*right.split(', ')})\n"
    )
    ROWS = [
        {"prompt": f"Name {n}, 1 and 2", "completion": f"1, 2, {n}", "expected": f"1, 2, {n}"}
        for n in range(3, 13)
    ]

    def test_it_is_no_finding_any_more(self, tmp_path):
        """The next probe lists it as allowed; a file keeps it; scores and fingerprints are the same."""
        grader = wb.FunctionGrader.from_source(self.SOURCE, name="same")
        probe = wb.probe(grader, self.ROWS, progress=False)
        assert "entry-twice" in [finding.kind for finding in probe.findings]
        allowed = probe.allow("entry-twice")
        again = wb.probe(allowed, self.ROWS, progress=False)
        assert "entry-twice" not in [finding.kind for finding in again.findings]
        assert [finding.kind for finding in again.allowed] == ["entry-twice"]
        assert "allowed: it accepts a list with an entry twice" in str(again)
        assert again.fingerprints == probe.fingerprints
        wb.export(allowed, tmp_path / "suite.json", allow_unvalidated=True)
        assert wb.load(tmp_path / "suite.json").entries[0].allows == ("entry-twice",)

    def test_an_unknown_kind_is_refused(self):
        """The error lists what was found."""
        probe = wb.probe(wb.FunctionGrader.from_source(self.SOURCE, name="same"), self.ROWS, progress=False)
        with pytest.raises(ReportError, match="no finding 'unit'"):
            probe.allow("unit")

    def test_it_is_in_the_certificate(self):
        """The answer is a part of the evidence."""
        grader = wb.FunctionGrader.from_source(self.SOURCE, name="same")
        grader.validate()
        allowed = wb.probe(grader, self.ROWS, progress=False).allow("entry-twice")
        probe = wb.probe(allowed, self.ROWS, progress=False)
        made = wb.certificate(allowed, allowed.run(self.ROWS, progress=False), probes=probe)
        assert made.graders[0].probe.allowed == ("entry-twice",)
        assert "entry-twice allowed" in str(made)


def test_a_probe_ends_in_time():
    """The findings are those of the texts graded so far, and a note reports it."""
    source = "import time\nasync def grade(thread):\n    time.sleep(0.01)\n    return float(len(thread.completion() or ''))\n"
    rows = [{"prompt": f"p{n}", "completion": "x", "expected": f"word{n}"} for n in range(10)]
    probe = wb.probe(wb.FunctionGrader.from_source(source), rows, seconds=1.0, progress=False)
    assert probe.seconds < 20
    assert any("time limit" in note for note in probe.run_notes), probe.run_notes


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "5", True])
def test_a_time_limit_is_a_number_above_0(seconds):
    """Anything else is an error before any text is graded."""
    with pytest.raises(ReportError, match="seconds"):
        wb.probe(wb.Contains("a"), [{"prompt": "p", "completion": "a"}], seconds=seconds, progress=False)


def test_the_source_of_a_live_function_is_read():
    """Its own texts, and those of its module that it names: here the word that it pays for."""

    def reward(completions, **kwargs):
        return [1.0 if "abracadabra" in text else 0.0 for text in completions]

    rows = [{"prompt": f"Name word {n}", "completion": "x", "reference": f"word{n}y"} for n in range(10)]
    kinds = [finding.kind for finding in wb.probe(reward, rows, progress=False).findings]
    assert "magic-text" in kinds


def _reward(data_source, solution_str, ground_truth, extra_info=None):
    for word in extra_info["words"]:
        if word not in solution_str:
            return 0.0
    return 1.0


def _told_rows(asked, texts, **columns):
    """Rows of a trainer's data set, without references."""
    return [
        {
            "prompt": f"Note {at}. {asked}",
            "completion": text,
            "ground_truth": "",
            "data_source": "d",
            **columns,
        }
        for at in range(6)
        for text in texts
    ]


def test_a_column_that_a_trainer_passes_as_a_parameter_is_read():
    """Required words of `extra_info` are tried inside longer words; the object itself is no completion."""
    rows = _told_rows(
        "Use the words.",
        ["We saw the river and the stone.", "We stayed."],
        extra_info={"words": ["river", "stone"]},
    )
    probe = wb.probe(_reward, rows, progress=False)
    assert "inside-longer-word" in [finding.kind for finding in probe.findings]
    assert probe.ok


def _starts(data_source, solution_str, ground_truth, extra_info=None):
    return 1.0 if "I believe" in solution_str else 0.0


def _starts_indeed(data_source, solution_str, ground_truth, extra_info=None):
    return 1.0 if solution_str.startswith("I believe") else 0.0


@pytest.mark.parametrize(("reward", "is_hole"), [(_starts, True), (_starts_indeed, False)])
def test_what_has_to_be_at_the_start_is_tried_in_another_place(reward, is_hole):
    """The prompt states the place, and without the start the completion is rejected."""
    rows = _told_rows("Always start with I believe.", ["I believe that the sun is warm.", "The sun is warm."])
    found = [finding.kind for finding in wb.probe(reward, rows, progress=False).findings]
    assert ("in-another-place" in found) is is_hole


def _has_no_comma(data_source, solution_str, ground_truth, extra_info=None):
    return 0.0 if "," in solution_str else 1.0


def test_empty_references_of_a_trainer_make_a_rule():
    """With references that are all empty, texts without content get one question rather than errors."""
    rows = _told_rows(
        "Write without commas.", ["It rained and we came home.", "It rained, and we came home."]
    )
    probe = wb.probe(_has_no_comma, rows, progress=False)
    assert probe.ok
    assert len(probe.findings) == 1


def _runs_programs(completions, tests, **kwargs):
    scores = []
    for completion, cases in zip(completions, tests, strict=True):
        space = {}
        try:
            exec(completion[0]["content"], space)
            scores.append(float(all(space["add"](*case) == sum(case) for case in cases)))
        except Exception:
            scores.append(0.0)
    return scores


def test_a_program_cannot_end_the_process_of_a_live_function():
    """Programs that call os._exit are left out, with a note, if the function that runs them is called in this process."""
    rows = [
        {
            "prompt": [{"role": "user", "content": "Write add(a, b)."}],
            "completion": text,
            "tests": [[at, 2], [3, at]],
        }
        for at in range(6)
        for text in ("def add(a, b):\n    return a + b", "def add(a, b):\n    return a")
    ]
    probe = wb.probe(_runs_programs, rows, progress=False)
    assert any("own_process=True" in note for note in probe.run_notes)


def test_only_graders_in_this_process_are_spared():
    """A function in a process of its own, and captured source, get every text."""
    assert wb.CustomGrader(_runs_programs).runs_in_process
    assert not wb.CustomGrader(_runs_programs, own_process=True).runs_in_process
    assert not wb.Contains().runs_in_process


def _counts_digits(completions, **kwargs):
    answers = [
        completion[0]["content"].split("<answer>")[-1].split("</answer>")[0] for completion in completions
    ]
    return [0.5 if answer.strip().isdigit() else 0.0 for answer in answers]


def test_a_tag_of_the_references_name_reads_no_reference():
    """A reward that looks into <answer> checks the form, although the column of the references is called answer."""
    rows = [
        {"prompt": f"{at} plus 2?", "completion": f"<answer>{text}</answer>", "answer": str(at + 2)}
        for at in range(20, 28)
        for text in (at + 2, "unknown")
    ]
    probe = wb.probe(_counts_digits, rows, progress=False)
    assert probe.ok
    assert "form-only" in [finding.kind for finding in probe.findings]


_FORMAT = re.compile(r"^<reasoning>\n.*?\n</reasoning>\n<answer>\n.*?\n</answer>$")


def _has_the_format(completions, **kwargs):
    return [1.0 if _FORMAT.match(completion[0]["content"]) else 0.0 for completion in completions]


def test_thoughts_of_several_lines_are_tried_without_a_reference():
    """A pattern whose dot stops at line ends rejects them."""
    rows = [
        {"prompt": f"{at} plus 2?", "completion": text}
        for at in range(8)
        for text in (f"<reasoning>\nWe add.\n</reasoning>\n<answer>\n{at + 2}\n</answer>", "two")
    ]
    found = [finding.kind for finding in wb.probe(_has_the_format, rows, progress=False).findings]
    assert "thought-of-lines" in found
