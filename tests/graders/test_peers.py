"""Kinds of other libraries on fixed pairs: where ours differ, the page says which is right."""

from tests.graders.peers import GRADERS, REASONS, agreement, facts


def test_agreement_by_kind(capsys):
    """How many values agree, kind by kind; a kind that stops to agree is seen."""
    counts = agreement()
    with capsys.disabled():
        for name, (same, total) in counts.items():
            print(f"\n{name}: {same} of {total} agree", end="")
    assert {name.split(" ", 2)[2] for name in counts} == set(GRADERS)
    assert sum(same for same, _ in counts.values()) >= 0.8 * sum(total for _, total in counts.values())


def test_every_difference_has_a_reason():
    """Which of the two is right, and why; no reason is left over."""
    different = {(fact.completion, fact.reference) for fact in facts() if not fact.agrees}
    assert different - set(REASONS) == set()
    assert set(REASONS) - different == set()
    assert all(reason.startswith(("workbench", "the other", "both")) for reason in REASONS.values())
