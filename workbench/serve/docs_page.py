"""`/docs`: the wire forms as one page that loads nothing."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from html import escape

from workbench.display_text import visible
from workbench.serve.wire_form import WireForm
from workbench.suite import Suite

__all__ = ["docs_page"]

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
pre {{ overflow-x: auto; padding: .8rem; border: 1px solid color-mix(in srgb, currentColor 25%, transparent); }}
dt {{ font-weight: 600; }} dd {{ margin: 0 0 .6rem; }}
</style></head><body>
<h1>{title}</h1>
<p>{description}</p>
<p>Graders: {names}. Each form scores the suite; below <code>/graders/NAME</code> it scores one grader. The document for
programs is <a href="openapi.json">openapi.json</a>; <a href="health">health</a> and <a href="metrics">metrics</a> tell how it goes.
HOST stands for this server's address.</p>
{forms}
</body></html>
"""
_FORM = """<h2><code>POST {path}</code> {title}</h2>
<p>{about}</p>
<dl><dt>Use</dt><dd><code>{recipe}</code></dd><dt>No score</dt><dd>{no_score}</dd><dt>Source</dt><dd>{source}</dd></dl>
<pre>{curl}</pre>
<pre>{answer}</pre>
"""


def docs_page(forms: Sequence[type[WireForm]], suite: Suite) -> str:
    """The page as HTML; names and descriptions of graders are text in it."""
    names = ", ".join(f"<code>{_text(entry.name)}</code>" for entry in suite.entries)
    return _PAGE.format(
        title=_text(suite.name or "Graders"),
        description=_text(suite.description),
        names=names,
        forms="".join(map(_form, forms)),
    )


def _form(form: type[WireForm]) -> str:
    request = shlex.quote(json.dumps(form.example))
    curl = f"curl HOST{form.path} -H 'content-type: application/json' -d {request}"
    texts = {name: getattr(form, name) for name in ("path", "title", "about", "recipe", "no_score", "source")}
    shown = {**texts, "curl": curl, "answer": json.dumps(form.answer, indent=2)}
    return _FORM.format(**{name: _text(text) for name, text in shown.items()})


def _text(text: str) -> str:
    return escape(visible(text))
