"""Paths through a grader's code: what is instrumented, and what a search finds that follows them."""

from __future__ import annotations

from random import Random

import pytest

import workbench as wb
from workbench.probes.board import Board
from workbench.probes.paths import PathSearch, line_of, path_board, path_grader
from workbench.run.suite import Suite

FOUR_CONDITIONS = '''
"""A reward with a draft branch."""
import re

async def grade(thread):
    text = thread.completion() or ""
    ref = str(thread.metadata["answer"])
    if "<draft>" in text:
        if text.count("\\n") > 3 and "final" in text.lower():
            if text.rstrip().endswith("###"):
                return 1.0
        return 0.0
    found = re.search(r"Answer: (\\S+)\\s*$", text)
    return 1.0 if found and found.group(1) == ref else 0.0
'''
ROWS = [
    {"prompt": f"What is {n} + {n}?", "completion": f"It is.\nAnswer: {2 * n}", "answer": str(2 * n)}
    for n in range(20, 44)
]


def graded(source, **settings):
    return wb.FunctionGrader.from_source(source, **settings)


def board_of(grader, rows=None):
    return Board(Suite(grader), wb.read_samples(rows or ROWS))


class TestPathGrader:
    def test_equal_paths_have_equal_numbers(self):
        """Two wrong answers take one path; a draft takes another."""
        board = path_board(board_of(graded(FOUR_CONDITIONS)))
        texts = ["Answer: 1", "Answer: 2", "<draft>", "<draft>\n\n\n\nfinal"]
        board.grade([(0, text) for text in texts])
        one, two, draft, longer = (board.outcomes[0, text].score for text in texts)
        assert one == two
        assert len({one, draft, longer}) == 3

    def test_an_exception_is_a_path(self):
        """What fails is graded as a path of its own, so that it does not end the search."""
        source = "async def grade(thread):\n    return 1.0 if int(thread.completion()) > 3 else 0.0\n"
        board = path_board(board_of(graded(source)))
        board.grade([(0, "x"), (0, "5")])
        assert board.outcomes[0, "x"].error == ""
        assert board.outcomes[0, "x"].score != board.outcomes[0, "5"].score

    @pytest.mark.parametrize(
        ("source", "settings"),
        [
            ("def grade(sample, item):\n    return 1.0 if sample['output_text'] == item['answer'] else 0.0\n", {}),
            ("def compute_score(solution_str, ground_truth, extra_info=None):\n    return float(solution_str == ground_truth)\n", {}),
            ("def near(completions, answer, **kwargs):\n    return [1.0 if a in c else 0.0 for c, a in zip(completions, answer)]\n", {}),
            ("async def grade(thread):\n    match thread.completion():\n        case 'a':\n            return 1.0\n        case _:\n            return 0.0\n", {}),
            ("async def grade(thread):\n    for one in thread.completion().split():\n        if one == 'a':\n            return 1.0\n    return 0.0\n", {}),
        ],
        ids=["openai", "verl", "trl", "match", "loop"],
    )  # fmt: skip
    def test_other_forms_of_a_reward(self, source, settings):
        """However the function is called, and whatever it branches with, two texts have two paths."""
        rows = [{"prompt": "p", "completion": "a", "answer": "a", "reference": "a"}]
        board = path_board(board_of(graded(source, **settings), rows))
        assert board is not None
        board.grade([(0, "a"), (0, "b")])
        assert board.outcomes[0, "a"].error == board.outcomes[0, "b"].error == ""
        assert board.outcomes[0, "a"].score != board.outcomes[0, "b"].score

    def test_what_has_no_branches_has_no_paths(self):
        """Nothing to follow."""
        assert path_grader(graded("async def grade(thread):\n    return 0.5\n")) is None
        assert path_board(board_of(wb.Contains())) is None

    def test_the_line_that_returns(self):
        """The line of the grader's own source, not of the instrumented one."""
        board = board_of(graded(FOUR_CONDITIONS))
        source = board.suite.entries[0].grader.source.text.splitlines()
        at = line_of(board, (0, "<draft>\n\n\n\n\nfinal\n###"))
        assert source[at - 1].strip() == "return 1.0"
        assert line_of(board_of(wb.Contains()), (0, "x")) == 0


class TestPathSearch:
    @pytest.mark.parametrize("seed", range(3))
    def test_conditions_add_up(self, seed):
        """Four conditions that no text meets by chance are met one after the other."""
        board = path_board(board_of(graded(FOUR_CONDITIONS)))
        pieces = ["<draft>", "final", "###", "\n\n\n", "Answer: ", "yes", "{}"]
        texts = PathSearch(board, [0], pieces, Random(seed), 3_000).texts(["Answer: 40"])
        last = texts[-1]
        assert last.startswith("<draft>")
        assert last.rstrip().endswith("###")

    def test_a_probe_names_the_branch(self):
        """The text of the branch is found, with the line that accepts it."""
        probe = wb.probe(graded(FOUR_CONDITIONS), ROWS, progress=False)
        found = probe.findings[0]
        assert (found.kind, found.severity) == ("found-by-search", "error")
        assert "line " in found.advice

    @pytest.mark.parametrize(
        "source",
        [
            "def grade(thread):\n    return 1.0 if thread.completion() == 'a' else 0.0\n",
            "async def grade(thread):\n    return 1.0 if thread.completion() == 'a' else 0.0\n\n\ngrade.n = 0\n",
            "async def grade(thread):\n    text = thread.completion()\n    if text == 'b':\n        return 0.0\n"
            + "".join(f"    elif text == 'c{at}':\n        return 0.0\n" for at in range(400))
            + "    return 1.0\n",
        ],
        ids=["fails everywhere", "uses its own name", "nested deeply"],
    )
    def test_no_source_ends_a_probe(self, source):
        """What cannot be instrumented is searched without paths."""
        assert wb.probe(graded(source), ROWS, progress=False).tries

    def test_without_tries_no_path_is_followed(self):
        """0 tries are no search."""
        board = board_of(graded(FOUR_CONDITIONS))
        assert PathSearch(path_board(board), [0], ["<draft>"], Random(0), 0).texts(["Answer: 40"]) == []

    def test_a_parameter_may_have_any_name(self):
        """The wrapper's own names are not those of a function."""
        source = "def near(completions, number, **kwargs):\n    return [1.0 if n in c else 0.0 for c, n in zip(completions, number)]\n"
        board = path_board(board_of(graded(source), [{"prompt": "p", "completion": "7", "number": "7"}]))
        board.grade([(0, "7"), (0, "8")])
        assert board.outcomes[0, "7"].score != board.outcomes[0, "8"].score

    def test_without_references_too(self):
        """One text that passes in rows that exclude each other."""
        source = (
            "async def grade(thread):\n"
            '    text = thread.completion() or ""\n'
            '    if text.count("*") > 3:\n'
            '        if "note" in text.lower() and text.strip().endswith("end"):\n'
            "            return 1.0\n"
            '    needed = thread.metadata["needed"]\n'
            "    return 1.0 if all(word in text.split() for word in needed) and len(text.split()) < 12 else 0.0\n"
        )
        pairs = ["apple pear", "house tree", "river lake", "stone sand", "bread milk", "horse sheep"]
        rows = [
            {
                "prompt": f"Use {pair} in a sentence.",
                "completion": f"see the {pair} now",
                "needed": pair.split(),
            }
            for pair in pairs
        ]
        probe = wb.probe(graded(source), rows, progress=False)
        assert "one-for-all" in {finding.kind for finding in probe.findings}

    def test_a_sound_grader_stays_quiet(self):
        """The same without the branch: nothing is composed that passes."""
        sound = FOUR_CONDITIONS.replace("return 1.0\n        return 0.0", "return 0.0\n        return 0.0")
        probe = wb.probe(graded(sound), ROWS, progress=False)
        assert "found-by-search" not in {finding.kind for finding in probe.findings}
