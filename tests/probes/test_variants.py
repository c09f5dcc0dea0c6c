"""Every registered transformation: known-bad texts are bad, and all of them can be graded."""

from __future__ import annotations

import inspect

import pytest

from tests.probes.tasks import TASKS
from tests.probes.test_what_the_prompt_states import MADE
from workbench.probes.shapes import Mined, as_text, same
from workbench.probes.variants import VARIANTS, ProbeRow, variant

MINED = Mined(
    "json",
    ("magic", "because"),
    ("magic because",),
    (40, 300),
    ("answer",),
    (),
    "Rewards reasons.",
    readable=True,
)


def rows():
    for task in TASKS.values():
        made = [row for row in task() if "expected" in row]
        for number, row in enumerate(made[:7]):
            others = [
                as_text(other["expected"])
                for other in made
                if not same(as_text(other["expected"]), as_text(row["expected"]))
            ]
            yield ProbeRow(
                number,
                row["prompt"],
                row["completion"],
                as_text(row["expected"]),
                tuple(others[:2]),
                MINED,
                str,
            )
    yield ProbeRow(0, "How are you?", "Fine.", "", (), MINED, str)


@pytest.mark.parametrize("name", VARIANTS)
class TestEveryTransformation:
    def test_its_texts_are_texts(self, name):
        """Texts of a bounded length, None for no answer at all, the same each time."""
        for row in rows():
            texts = list(VARIANTS[name].make(row))
            assert all(text is None or (isinstance(text, str) and len(text) < 100_000) for text in texts)
            assert texts == list(VARIANTS[name].make(row))

    def test_what_is_known_bad_is_not_the_right_answer(self, name):
        """No known-bad text is the reference in another spelling, but where spelling is what is asked."""
        if VARIANTS[name].expects == "reject" and name not in {
            "case-that-matters",
            "look-alike",
            "raised-digits",
            "wide-digits",
            "json-cut",
        }:
            for row in rows():
                wrong = [
                    text
                    for text in VARIANTS[name].make(row)
                    if text is not None and row.reference and same(text, row.reference)
                ]
                assert wrong == []

    def test_it_is_documented(self, name):
        """A docstring says what is made, a sentence what it shows, and a finding what to do."""
        assert inspect.getdoc(VARIANTS[name].make)
        assert not VARIANTS[name].says.endswith(".")
        assert VARIANTS[name].advice

    def test_it_makes_texts_of_some_task(self, name):
        """No transformation is there for nothing."""
        needs_more = {*MADE} | {
            "rubric-echo",
            "look-alike",
            "decomposed",
            "pattern-of-reference",
            "order-ignored",
            "unicode-minus",
            "letter-after",
            "thought",
            "thought-of-lines",
            "stub",
            "raises",
            # These need a source or a prompt that gives a reason: tests/probes/strangers.py has them.
            "once-only",
            "default-written-out",
            "vacuous",
            "beside-rejected",
            "key-contradicted",
            "prints-verdict",
            "zero-for-tiny",
            "emptied-tags",
            "not-given",
            "no-such-source",
            "extra-argument",
            # tests/probes/test_markup.py and tests/probes/test_small_changes.py.
            "bold-label",
            "stop-after-result",
            "bare-fence",
            "other-bullets",
            "table-alignment",
            "empties-tables",
        }
        assert name in needs_more or any(list(VARIANTS[name].make(row)) for row in rows())


def test_one_of_ones_own_is_tried(probed):
    """Registering is all it takes."""

    @variant("shouted", "reject", "a shout", alarm="always", advice="do not shout")
    def shouted(row):
        """A shout."""
        return ["AAAA!"]

    try:
        probe = probed(
            "capitals",
            "return 1.0 if said(thread) == 'AAAA!' or said(thread) == right(thread) else 0.0",
            tries=0,
        )
        assert "shouted" in [finding.kind for finding in probe.findings]
    finally:
        del VARIANTS["shouted"]


def test_a_text_that_is_the_reference_is_left_out(probed):
    """A known-bad text that some row has as its reference is right there."""

    @variant("city", "reject", "a city", alarm="always", rank=1, advice="ask for the right one")
    def city(row):
        """A city."""
        return ["Paris", " Paris\n"]

    try:
        probe = probed("capitals", "return 1.0 if said(thread).strip() == right(thread) else 0.0", tries=0)
        assert probe.ok, str(probe)
        line = probe.table.set_index("transformation").loc["city"]
        assert (line["rows"], line["wrong"]) == (19, 0)
    finally:
        del VARIANTS["city"]
