"""`/docs`: the wire forms as one page that loads nothing, with requests ready to copy."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from html import escape
from typing import Any
from urllib.parse import quote

from workbench.core.display_text import visible
from workbench.deploy.serve.examples import ASKED, MADE_UP, Examples
from workbench.deploy.serve.listing import PAGES, with_host, with_pages
from workbench.deploy.serve.wire_form import WireForm
from workbench.run.suite import Suite

__all__ = ["docs_page"]

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; padding: .8rem; border: 1px solid color-mix(in srgb, currentColor 25%, transparent); }}
dt {{ font-weight: 600; }} dd {{ margin: 0 0 .6rem; }} code {{ overflow-wrap: anywhere; }}
</style></head><body>
<h1>{title}</h1>
<p>{description}</p>
<p>Graders: {names}. {asked} The document for
programs is <a href="openapi.json">openapi.json</a>; <a href="health">health</a> and <a href="metrics">metrics</a> report its state.</p>
{token}{sections}
</body></html>
"""
_FORM = """<h2><code>POST {path}</code> {title}</h2>
<p>{about}</p>
<dl><dt>Use</dt><dd><code>{recipe}</code></dd><dt>No score</dt><dd>{no_score}</dd><dt>Source</dt><dd>{source}</dd></dl>
<pre>{curl}</pre>
<p>{answered}</p>
<pre>{answer}</pre>
"""
_PLAIN = """<h2><code>GET {path}</code></h2>
<p>{about}</p>
<pre>{curl}</pre>
"""
_ACCESS = (
    "<p>Every request except <code>/health</code> needs the server's token instead of <code>TOKEN</code>: as a "
    "header, or as the password of the address.</p>\n"
)
_ACCESS_HEADER = "-H 'authorization: Bearer TOKEN'"
_CODE = re.compile(r"`([^`\n]+)`")


def docs_page(
    forms: Sequence[type[WireForm]], suite: Suite, examples: Examples, *, base: str, token: bool
) -> str:
    """The page as HTML; names and descriptions of graders are text in it.

    Args:
        forms: The wire forms, in order.
        suite: The served suite.
        examples: The responses to their examples.
        base: The server's address as the client sees it.
        token: Whether clients must send one.
    """
    names = ", ".join(f"<code>{_text(entry.name)}</code>" for entry in suite.entries)
    below = "below <code>/graders/NAME</code>"
    # Several graders without a rule can only be called one by one: the page shows the first.
    only = "" if examples.of_suite else suite.entries[0].name
    where = f"/graders/{quote(only)}" if only else ""
    header = [_ACCESS_HEADER] if token else []
    return _PAGE.format(
        title=_text(suite.name or "Graders"),
        description=_prose(suite.description),
        names=names,
        asked=f"Each form scores the suite; {below} it scores one grader."
        if examples.of_suite
        else f"Each grader is called separately, {below}; the requests here are for the first.",
        token=_ACCESS if token else "",
        sections="".join(
            _plain(listed, f"{base}{listed}", header)
            if isinstance(listed, str)
            else _form(listed, examples, only, where, base, header)
            for listed in with_pages(forms)
        ),
    )


def _form(
    form: type[WireForm], examples: Examples, only: str, where: str, base: str, header: list[str]
) -> str:
    example = examples.of(form, only)
    json_header = "-H 'content-type: application/json'"
    request = f"-d {shlex.quote(json.dumps(form.example))}"
    note = ASKED if example.graded else MADE_UP
    shown = {
        "path": _text(where + form.path),
        "recipe": _text(with_host(form.recipe, base + where)),
        "curl": _text(_curl(f"{base}{where}{form.path}", [*header, json_header, request])),
        "answered": _text(note if example.status == 200 else f"{note} Status {example.status}."),
        "answer": _text(json.dumps(example.body, indent=2)),
    }
    prose = {name: _prose(getattr(form, name)) for name in ("title", "about", "no_score", "source")}
    return _FORM.format(**shown, **prose)


def _plain(path: str, url: str, header: list[str]) -> str:
    curl = _curl(url, [] if path == "/health" else header)
    return _PLAIN.format(path=_text(path), about=_prose(PAGES[path]), curl=_text(curl))


def _curl(url: str, words: Sequence[str]) -> str:
    return " \\\n  ".join([f"curl {shlex.quote(url)}", *words])


def _prose(text: Any) -> str:
    """Text in which content between backticks is code."""
    return _CODE.sub(r"<code>\1</code>", _text(text))


def _text(text: str) -> str:
    return escape(visible(text))
