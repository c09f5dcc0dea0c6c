"""The style of what stands in cells."""

from __future__ import annotations

import re

import pytest

from workbench.core.display_html import STYLE

_TOKEN = re.compile(r"--([a-z0-9-]+):light-dark\(#([0-9a-f]+),#([0-9a-f]+)\)")
TOKENS = {name: colours for name, *colours in _TOKEN.findall(STYLE)} | {"bg": ("fff", "17191c")}


def luminance(colour):
    digits = colour if len(colour) == 6 else "".join(2 * digit for digit in colour)
    channels = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted(map(luminance, (a, b)))
    return (high + 0.05) / (low + 0.05)


def test_it_is_small_and_asks_for_nothing():
    """It is included in every displayed object."""
    assert len(STYLE) < 4_096
    assert not re.search(r"url|@import|http|<", STYLE)


def test_every_rule_is_below_one_class():
    """Nothing else of a page changes."""
    top, depth = [""], 0
    for sign in STYLE:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if depth == 0 and sign != "}":
            top[-1] += sign
        elif depth == 0:
            top.append("")
    assert depth == 0
    assert all(selector.replace(".wb-cell", "") != selector for selector in top if selector)


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize("name", ["ink", "ink-2", "ink-3", "accent", "good", "bad", "failed"])
def test_text_can_be_read(name, theme):
    """At least 4.5 : 1 on the page, and on JupyterLab's own black."""
    grounds = [TOKENS["bg"][theme], *(["111111"] if theme else [])]
    assert min(contrast(TOKENS[name][theme], ground) for ground in grounds) >= 4.5
