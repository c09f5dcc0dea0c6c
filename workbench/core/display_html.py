"""HTML of displayed objects: their style, escaping, signs, bars and strips, without script or request."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.core.display_text import shown


def escaped(value: Any, limit: int = 200) -> str:
    """A value as HTML: hidden characters visible, limited length, no markup."""
    return html.escape(shown(value, limit))


_SOURCE = """
.wb-cell.wb-cell.wb-cell {
  --bg: var(--jp-layout-color0, var(--vscode-editor-background, light-dark(#fff, #17191c)));
  --bg-2: light-dark(#f6f7f8, #1e2124); --bg-3: light-dark(#eceef1, #2a2e33); --line: light-dark(#dfe2e6, #33383e);
  --ink: light-dark(#1b2027, #e7eaee); --ink-2: light-dark(#4c5663, #b3bbc5); --ink-3: light-dark(#5f6976, #929ca8);
  --accent: light-dark(#2b55c4, #8fb0ff);
  --good: light-dark(#0a7568, #45c2ae); --good-2: light-dark(#d3ebe6, #1b3a36);
  --bad: light-dark(#bf3b12, #ff8f66); --bad-2: light-dark(#fae3d9, #452a1f);
  --failed: light-dark(#7a46b8, #bd99f2); --failed-2: light-dark(#ebe0f7, #352a48);
  --code: "SF Mono", Menlo, "Cascadia Mono", Consolas, "DejaVu Sans Mono", monospace;
  box-sizing: border-box; max-width: 1000px; padding: 4px 8px; color: var(--ink); background: var(--bg);
  font: 400 13px/20px -apple-system, "Segoe UI", Inter, Roboto, "Noto Sans", "Liberation Sans", Arial, sans-serif;
  font-variant-numeric: tabular-nums; font-variant-ligatures: none; text-align: start; overflow-wrap: anywhere;
  p, ul { margin: 4px 0; padding: 0; font-size: 13px; line-height: 20px; }
  ul { list-style: none; }
  li { margin: 0; padding: 4px 0; }
  b, strong { font-weight: 600; }
  table { border-collapse: collapse; border: 0; margin: 8px 0; font-size: 13px; table-layout: auto; }
  tr { background: none; }
  th, td { text-align: left; vertical-align: top; padding: 4px 16px 4px 0; border: 0; border-bottom: 1px solid var(--line); background: none; color: inherit; white-space: pre-wrap; overflow-wrap: break-word; max-width: 36em; line-height: 20px; }
  th { font-size: 11px; font-weight: 600; line-height: 16px; color: var(--ink-2); white-space: nowrap; }
  .num { text-align: right; white-space: nowrap; }
  .lines td { vertical-align: middle; white-space: nowrap; }
  .short { white-space: nowrap; }
  .wide { min-width: 16em; overflow-wrap: anywhere; }
  .text { white-space: pre-wrap; }
  .check { margin-right: 16px; white-space: nowrap; }
  .scroll { overflow-x: auto; }
  .lead { font-size: 14px; }
  .big { font-size: 20px; line-height: 28px; font-weight: 600; }
  .quiet, .quiet td { color: var(--ink-2); font-size: 12px; line-height: 16px; }
  .mono, pre { font: 12px/18px var(--code); }
  pre { margin: 4px 0; padding: 8px; max-height: 24em; overflow: auto; white-space: pre-wrap; color: inherit; background: var(--bg-2); }
  details { margin: 0; }
  summary { cursor: pointer; color: var(--accent); font-size: 12px; line-height: 20px; }
  .sign { width: 13px; height: 13px; vertical-align: -2px; margin-right: 6px; }
  .good { color: var(--good); } .bad { color: var(--bad); } .failed { color: var(--failed); }
  .unsettled, .note, .skipped, .histogram { color: var(--ink-3); }
  .cut { stroke: var(--bg); }
  .histogram { display: block; margin-top: -4px; }
  .finding { margin: 8px 0 0; padding-left: 19px; }
  .finding>p:first-child > .sign { margin-left: -19px; }
  .follows { margin-left: 19px; }
  .strip { display: block; font-size: 11px; fill: var(--ink-2); }
  .strip .base { fill: var(--bg-3); } .strip .band { fill: var(--ink-3); opacity: .5; } .strip .at { fill: var(--ink); } .strip path { stroke: var(--ink-2); }
  .bar { display: flex; gap: 3px; width: 200px; height: 9px; }
  .bar span { display: flex; gap: 1px; min-width: 2px; }
  .bar i, .key { flex: 1; min-width: 2px; border-radius: 1px; }
  .key { display: inline-block; width: 14px; height: 9px; margin: 0 4px 0 12px; } .key:first-child { margin-left: 0; }
  .p0 { background: var(--good); } .p2 { background: var(--bad); } .p4 { background: var(--ink-3); }
  .p1 { background: repeating-linear-gradient(135deg, var(--good) 0 1.2px, var(--good-2) 0 4px); }
  .p3 { background: repeating-linear-gradient(45deg, var(--bad) 0 .8px, var(--bad-2) 0 4px); }
  .p5 { background: repeating-linear-gradient(135deg, var(--ink-3) 0 1.2px, var(--bg-3) 0 4px); }
  .p6 { background: conic-gradient(var(--failed) 25%, var(--failed-2) 0 50%, var(--failed) 0 75%, var(--failed-2) 0) 0 0/4px 4px; }
  .p7 { box-shadow: inset 0 0 0 1.5px var(--ink-3); }
  .grid { display: grid; grid-template-columns: 1fr 1fr; width: 420px; max-width: 100%; gap: 1px; background: var(--line); border: 1px solid var(--line); border-radius: 6px; overflow: hidden; margin: 12px 0; }
  .grid>div { padding: 12px 16px; background: var(--bg); }
  .grid .bar { width: 140px; }
}
:is([data-jp-theme-light=true], .theme-light, .vscode-light, [theme=light], .light) .wb-cell { color-scheme: light; }
:is([data-jp-theme-light=false], .theme-dark, .vscode-dark, .vscode-high-contrast:not(.vscode-high-contrast-light), [theme=dark], .dark) .wb-cell { color-scheme: dark; }
"""
"""Everything is below one class, so that nothing else of a page changes; the class is repeated three times, because
JupyterLab has rules for tables with the specificity of two. The host determines the dark theme: by an attribute of its
body, or by the colour scheme of the page. Meanings and accent never follow the host; the page's own colour does."""


def _without_spaces(css: str) -> str:
    """The same rules in fewer characters; spaces inside strings and selectors are preserved."""
    return re.sub(r";?\s*([{};])\s*", r"\1", re.sub(r"(?<=[:,])\s+", "", re.sub(r"\s+", " ", css))).strip()


STYLE = _without_spaces(_SOURCE)
"""One stylesheet for everything a notebook shows."""


def html_block(inner: str, kind: str = "", *, label: str = "") -> str:
    """One displayed object with its style.

    Args:
        inner: Its HTML.
        kind: An additional class, by which a page can find it.
        label: Its accessible name.
    """
    group = f" role='group' aria-label='{escaped(label)}'" if label else ""
    return f"<div class='wb-cell {kind}'{group}><style>{STYLE}</style>{inner}</div>"


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
        data: value, lo, hi, min, max, limit (None without), and the texts value_text, interval_name, interval_text, limit_text.
    """
    lo, hi, at = (_place(data, data[name]) for name in ("lo", "hi", "value"))
    shapes = [
        f"<rect class='base' y='5' width='{_WIDTH}' height='4' rx='2'/>",
        f"<rect class='band' x='{lo:.1f}' y='3' width='{max(hi - lo, 2):.1f}' height='8' rx='3'/>",
        f"<rect class='at' x='{at - 1.5:.1f}' y='1' width='3' height='12' rx='1.5'/>",
        *_limit(data),
    ]
    height = 14 if data["limit"] is None else 28
    said = f"<b>{escaped(data['value_text'])}</b>, {escaped(data['interval_name'])} {escaped(data['interval_text'])}"
    return (
        f"<svg class='strip' aria-hidden='true' width='{_WIDTH}' height='{height}' viewBox='0 0 {_WIDTH} {height}'>"
        f"{''.join(shapes)}</svg><p class='quiet'>{said}{_limit_words(data)}</p>"
    )


def _limit(data: Mapping[str, Any]) -> list[str]:
    if data["limit"] is None:
        return []
    at = _place(data, data["limit"])
    text_at = min(max(at, 32), _WIDTH - 32)
    return [
        f"<path d='M{at:.1f} 0v15' stroke-width='1.5' stroke-dasharray='3 2'/>",
        f"<text x='{text_at:.1f}' y='25' text-anchor='middle' font-size='11'>{escaped(data['limit_text'])}</text>",
    ]


def _limit_words(data: Mapping[str, Any]) -> str:
    return "" if data["limit"] is None else f"; {escaped(data['limit_text'])}"


def _place(data: Mapping[str, Any], number: float) -> float:
    span = data["max"] - data["min"] or 1.0
    return float(_WIDTH * min(max((number - data["min"]) / span, 0.0), 1.0))
