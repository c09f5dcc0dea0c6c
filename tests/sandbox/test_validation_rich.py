"""The five checks as a notebook shows them."""

from __future__ import annotations

import re

from workbench.core.display_html import STYLE
from workbench.sandbox.host.program import CHECKS
from workbench.sandbox.host.validation import Check, Validation

EVIL = "<script>alert(1)</script> | `x` \u202egnp.exe"


def validation(failed: str = "", message: str = "fine", tries: int = 1) -> Validation:
    """Checks up to the one that fails."""
    names = CHECKS[: CHECKS.index(failed) + 1] if failed else (*CHECKS, *["test_run"] * (tries - 1))
    checks = tuple(Check(name, name != failed, message, 0.001) for name in names)
    return Validation(checks, warnings=(message,), isolation="kernel", output=message)


def line(shown: Validation) -> str:
    """The line of the checks without its tags."""
    html = shown._repr_html_()
    return re.sub("<[^>]+>", "", html[html.index("<p class='checks'>") :].partition("</p>")[0])


def test_five_ticks_stand_in_one_line():
    """Nothing else is asked of whoever reads it."""
    assert line(validation()).split() == [
        "✓",
        "syntax",
        "✓",
        "structure",
        "✓",
        "signature",
        "✓",
        "execution",
        "✓",
        "test",
        "run",
    ]
    assert (
        validation()
        ._repr_markdown_()
        .startswith("✓ syntax · ✓ structure · ✓ signature · ✓ execution · ✓ test run\n")
    )
    assert "→" not in validation()._repr_html_()


def test_the_first_cross_says_what_to_change():
    """What was not reached has a dash; the message stands below the line with the next step."""
    shown = validation("signature", "it takes 0")
    assert line(shown).split()[4:] == ["✗", "signature", "-", "execution", "-", "test", "run"]
    html = shown._repr_html_()
    assert "<strong>Signature:</strong> it takes 0" in html
    assert "→ take exactly one parameter" in html
    assert "**Signature:** it takes 0\n\n→ take exactly one parameter" in shown._repr_markdown_()


def test_several_test_runs_are_one_tick():
    """With their number."""
    assert line(validation(tries=3)).endswith("✓ test run (3) ")


def test_hostile_texts_stay_texts():
    """In messages, warnings and what was printed, in both forms."""
    shown = validation("execution", EVIL)
    html, markdown = shown._repr_html_().replace(STYLE, ""), shown._repr_markdown_()
    assert "<script" not in html + markdown
    assert "\u202e" not in html + markdown
    assert " | `x`" not in markdown
    assert markdown.count("&lt;script&gt;alert(1)") == 3
    assert len(html) < 4_000
