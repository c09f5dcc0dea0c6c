"""The outcome of an export, in sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from workbench.app.session.export_preview import Preview
from workbench.app.session.fits import Fit
from workbench.app.view.conditions import shown_name
from workbench.core.display_text import capital, counted, one_line
from workbench.core.errors import WorkbenchError
from workbench.formats.shared.base import Format
from workbench.graders import SandboxedGrader
from workbench.graders.combine import Entry

_NAMED = 3  # number of graders from which a sentence gives the count instead of names
_IN_CODE = (
    (r"call \S+\.validate\(\)( first)?", "validate it above"),
    (r"pass allow_unvalidated=True", "tick “export without validation”"),
)
"""Hints in code, as patterns, and the page's wording."""
_ON_REQUEST = re.compile(r'on_loss="report" (drops it|writes (?P<instead>.*) instead) and reports the loss')


def sentence(entries: Mapping[str, Entry], fits: Mapping[str, Fit | None], preview: Preview) -> str:
    """How many graders there are, how they are exported, and what is lost.

    Args:
        entries: The graders that are exported, by name.
        fits: How the platform supports each one alone; None if not known yet.
        preview: What would be written for all of them.
    """
    if not entries:
        return "No grader is selected: tick those to export in the list."
    return " ".join(filter(None, [_forms(entries, fits), _outcome(fits, preview)]))


def _forms(entries: Mapping[str, Entry], fits: Mapping[str, Fit | None]) -> str:
    """The graders grouped by how the platform supports them."""
    count = counted(len(entries), "grader")
    known = {name: fit.fit for name, fit in fits.items() if fit is not None and name in entries}
    if len(known) < len(entries):
        return f"{count}."
    by_form = {
        form: [name for name in entries if known[name] == form] for form in ("yes", "code", "loss", "no")
    }
    told = [(names, _told(form, names, entries)) for form, names in by_form.items() if names]
    if len(told) == 1:
        every = "all " if len(entries) > 1 else ""
        return f"{count}, {every}{told[0][1]}."
    return f"{count}: {', '.join(f'{_who(names)} {words}' for names, words in told)}."


def _told(form: str, names: Sequence[str], entries: Mapping[str, Entry]) -> str:
    if form != "code":
        return {"yes": "exported natively", "loss": "with a loss", "no": "not supported"}[form]
    own = [name for name in names if isinstance(entries[name].grader, SandboxedGrader)]
    if len(own) == len(names):
        return "as code with the same text"
    made = [name for name in names if name not in own]
    if not own:
        return "as equivalent code"
    return f"as code: {_who(own)} with the same text, {_who(made)} as an equivalent program"


def _who(names: Sequence[str]) -> str:
    """One or two names, or the count."""
    return ", ".join(map(shown_name, names)) if len(names) < _NAMED else f"{len(names):,}"


def _outcome(fits: Mapping[str, Fit | None], preview: Preview) -> str:
    if preview.problem:
        return _problem(fits)
    if preview.losses:
        return f"{counted(len(preview.losses), 'setting')} {'is' if len(preview.losses) == 1 else 'are'} lost, see below."
    return "Nothing is lost."


def _problem(fits: Mapping[str, Fit | None]) -> str:
    """Which graders prevent the export, if known."""
    refused = [name for name, fit in fits.items() if fit is not None and fit.fit in {"no", "loss"}]
    if refused:
        who = _who(refused) if len(refused) < _NAMED else f"{len(refused):,} of them"
        return one_line(f"Nothing would be written because of {who}.", 600)
    if len(fits) > 1 and None not in fits.values():
        return "Each one alone could be written, but not all of them together."
    return "Nothing would be written."


def problem_lines(problem: WorkbenchError | None, platform: Format) -> list[str]:
    """Why nothing would be written, as sentences: the error and its subject, what was found, each hint.

    Args:
        problem: The error; None for none.
        platform: The format of the file.
    """
    if problem is None:
        return []
    own = f"{platform.name} does not support this: "
    what = (
        f"{platform.label}: {problem.what.removeprefix(own)}"
        if problem.what.startswith(own)
        else problem.what
    )
    about = f" ({problem.where})" if problem.where else ""
    facts = [
        f"{label} {words}"
        for label, words in (("found", problem.found), ("expected", problem.expected))
        if words
    ]
    sentences = [*facts, *_ways_out(problem.hint)]
    first = what if what.startswith(platform.label) else capital(what)
    return [_ended(f"{first}{about}"), *(_ended(capital(sentence)) for sentence in sentences)]


def _ways_out(hint: str) -> list[str]:
    """The hints of an error in the page's wording."""
    for pattern, words in _IN_CODE:
        hint = re.sub(pattern, words, hint)
    match = _ON_REQUEST.search(hint)
    if match is None:
        return [hint] if hint else []
    effect = f"{match['instead']} is written then" if match["instead"] else "it is omitted then"
    first = hint[: match.start()].removesuffix("; ")
    return [*filter(None, [first]), f"or choose “drop and list” under “unsupported”: {effect}"]


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
