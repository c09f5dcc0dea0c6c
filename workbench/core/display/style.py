"""The style of displayed objects: the tokens of the app's view, small enough to include with every object."""

from __future__ import annotations

import re

__all__ = ["STYLE"]

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
