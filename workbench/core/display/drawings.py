"""Small drawings: signs for meanings, a bar of rows, an interval on its axis. They contain no text of the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.core.display.texts import escaped

__all__ = ["PARTS", "bar", "legend", "sign", "strip"]

PARTS = {
    "good_accepted": "known good, accepted", "good_refused": "known good, rejected",
    "bad_accepted": "known bad, accepted", "bad_refused": "known bad, rejected",
    "accepted": "accepted, unlabelled", "refused": "rejected, unlabelled",
    "failed": "failed: no score", "skipped": "skipped: no score",
}  # fmt: skip
"""Parts of a bar with their titles; the index of each is the number of its class."""

_NAMES = list(PARTS)
_GROUPS = (_NAMES[:2], _NAMES[2:4], _NAMES[4:6], _NAMES[6:])
_LINE = "fill='none' stroke='currentColor' stroke-linecap='round' stroke-width"
_SIGNS = {
    "good": "<circle cx='8' cy='8' r='7' fill='currentColor'/><path class='cut' fill='none' stroke-width='1.8' d='M4.6 8.3l2.3 2.3 4.5-4.9'/>",
    "bad": "<path fill='currentColor' d='M8 .6L15.4 8 8 15.4.6 8z'/><path class='cut' stroke-width='1.7' d='M5.9 5.9l4.2 4.2M10.1 5.9l-4.2 4.2'/>",
    "unsettled": f"<path {_LINE}='1.7' d='M8 1.6L14.4 8 8 14.4 1.6 8z'/>",
    "failed": "<path fill='currentColor' d='M8 1.2L15.4 14.4H.6z'/><path class='cut' stroke-width='1.8' d='M8 6v4M8 11.4v1.6'/>",
    "skipped": f"<circle {_LINE}='1.8' cx='8' cy='8' r='6'/><path {_LINE}='1.8' d='M5.4 8h5.2'/>",
    "note": f"<circle {_LINE}='1.6' cx='8' cy='8' r='6.2'/><path {_LINE}='1.8' d='M8 7.4v3.8M8 4.6v.2'/>",
}


def sign(shape: str) -> str:
    """The sign of a meaning: a key of `_SIGNS`, such as `good`. Adjacent text states the same."""
    return f"<svg class='sign {shape}' viewBox='0 0 16 16' width='13' height='13' aria-hidden='true'>{_SIGNS[shape]}</svg>"


def bar(counts: Mapping[str, int]) -> str:
    """Rows as one bar: the hue shows a row's label, the fill the grader's verdict.

    Args:
        counts: Rows of each part, by its name in `PARTS`.
    """
    said = ", ".join(f"{counts[part]:,} {PARTS[part]}" for part in PARTS if counts[part]) or "no row"
    groups = "".join(_group(group, counts) for group in _GROUPS if _sum(group, counts))
    return f"<span class='bar' role='img' aria-label='{said}' title='{said}'>{groups}</span>"


def _group(parts: Sequence[str], counts: Mapping[str, int]) -> str:
    pieces = "".join(
        f"<i class='p{_NAMES.index(part)}' style='flex:{counts[part]}'></i>" for part in parts if counts[part]
    )
    return f"<span style='flex:{_sum(parts, counts)}'>{pieces}</span>"


def _sum(parts: Sequence[str], counts: Mapping[str, int]) -> int:
    return sum(counts[part] for part in parts)


def legend(counts: Sequence[Mapping[str, int]]) -> str:
    """The legend for the parts that these bars have; "" for none."""
    parts = [part for part in PARTS if any(each[part] for each in counts)]
    keys = "".join(f"<i class='key p{_NAMES.index(part)}'></i>{PARTS[part]}" for part in parts)
    return f"<p class='quiet'>{keys}</p>" if keys else ""


_WIDTH = 240


def strip(data: Mapping[str, Any]) -> str:
    """An interval on its axis, with its limit, and the same as text.

    Args:
        data: value, lo, hi, min, max, limit (None without), and the texts value_text, interval_text and limit_text.
    """
    lo, hi, at = (_place(data, data[name]) for name in ("lo", "hi", "value"))
    shapes = [
        f"<rect class='base' y='5' width='{_WIDTH}' height='4' rx='2'/>",
        f"<rect class='band' x='{lo:.1f}' y='3' width='{max(hi - lo, 2):.1f}' height='8' rx='3'/>",
        f"<rect class='at' x='{at - 1.5:.1f}' y='1' width='3' height='12' rx='1.5'/>",
        *_limit(data),
    ]
    height = 14 if data["limit"] is None else 28
    said = f"<b>{escaped(data['value_text'])}</b>, 95 % interval {escaped(data['interval_text'])}"
    return (
        f"<svg class='strip' aria-hidden='true' width='{_WIDTH}' height='{height}' viewBox='0 0 {_WIDTH} {height}'>"
        f"{''.join(shapes)}</svg><p class='quiet'>{said}{_limit_words(data)}</p>"
    )


def _limit(data: Mapping[str, Any]) -> list[str]:
    if data["limit"] is None:
        return []
    at = _place(data, data["limit"])
    text_at = min(max(at, 24), _WIDTH - 24)
    return [
        f"<path d='M{at:.1f} 0v15' stroke-width='1.5' stroke-dasharray='3 2'/>",
        f"<text x='{text_at:.1f}' y='25' text-anchor='middle' font-size='11'>{escaped(data['limit_text'])}</text>",
    ]


def _limit_words(data: Mapping[str, Any]) -> str:
    return "" if data["limit"] is None else f"; {escaped(data['limit_text'])}"


def _place(data: Mapping[str, Any], number: float) -> float:
    span = data["max"] - data["min"] or 1.0
    return float(_WIDTH * min(max((number - data["min"]) / span, 0.0), 1.0))
