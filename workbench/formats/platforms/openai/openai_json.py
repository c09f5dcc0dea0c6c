"""Graders and formulas written as OpenAI's JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from workbench.core.discovery import needed_packages
from workbench.core.errors import FormatError
from workbench.data.extractors import Extractor
from workbench.formats.frame.wrapping import wrapped
from workbench.formats.shared import Document, Losses
from workbench.formats.shared.parsing import to_json
from workbench.formats.shared.unsupported import (
    add_gate_loss,
    add_kind_loss,
    binary,
    check_entry,
    check_fields,
    check_reads,
    check_signature,
    identifier,
    names_model,
    note_limits,
    rule_text,
    settings_without_effect,
    without_unused_settings,
)
from workbench.graders import FunctionGrader
from workbench.graders.combine import AllPass, Combined, CombiningRule, Entry, Formula, Mean, Sum
from workbench.graders.combine.formula import FUNCTIONS, Expression
from workbench.graders.portable import portable
from workbench.graders.rule_grader import RuleGrader
from workbench.graders.text import Contains, ExactMatch
from workbench.graders.text.openai_text import StringCheck, TextSimilarity
from workbench.judges import Endpoint, LabelJudge, ScoreJudge
from workbench.run.suite import Suite

WAY_OUT = "OpenAI has string_check, text_similarity, score_model, label_model, python, multi and endpoint"


def formula_of(
    entries: list[Entry], rule: CombiningRule | None, names: Mapping[str, str], losses: Losses
) -> str:
    """The text of `calculate_output`.

    Args:
        entries: Those that are written.
        rule: The suite's.
        names: Entry's name to its key in the map of graders.
        losses: Collects what no formula can express.
    """
    terms = {entry.name: _term(entry, names) for entry in entries}
    if isinstance(rule, Formula):
        return _renamed(rule.text, terms)
    if isinstance(rule, Mean | Sum):
        total = sum(entry.weight for entry in entries) if isinstance(rule, Mean) else 1.0
        if not total:
            raise FormatError("no grader can be written: the remaining graders have no weight", hint=WAY_OUT)
        return " + ".join(f"{_decimal(entry.weight / total)} * {terms[entry.name]}" for entry in entries)
    # The minimum of verdicts that are 0 or 1 shows whether all pass; that of graded scores does not.
    if isinstance(rule, AllPass) and all(binary(entry.grader) for entry in entries):
        blocking = [terms[entry.name] for entry in entries if entry.severity == "error"]
        # `min` takes at least two arguments there; with no entry of severity "error" every row passes.
        return f"min({', '.join(blocking)})" if len(blocking) > 1 else (blocking or ["1"])[0]
    if len(entries) > 1 or isinstance(rule, AllPass):
        problem = "several graders need a formula" if rule is None else f"it has no rule {rule.rule!r}"
        text = f"min({', '.join(terms.values())})" if len(terms) > 1 else next(iter(terms.values()))
        losses.add(
            "", "combine", problem, hint='use combine=Formula("min(a, b)") or Mean()', instead=text[:300]
        )
        return text
    return next(iter(terms.values()))


def _decimal(number: float) -> str:
    """A number without an exponent, which the platform's parser may not know."""
    return f"{number:.15f}".rstrip("0").rstrip(".")


def _term(entry: Entry, names: Mapping[str, str]) -> str:
    return f"(1 - {names[entry.name]})" if entry.negate else names[entry.name]


_WORD = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[^\W\d]\w*")


def _renamed(text: str, terms: Mapping[str, str]) -> str:
    """The formula with every entry's name replaced by its key in the map.

    Raises:
        FormatError: It needs a grader that was dropped.
    """
    missing = [name for name in Expression.read(text).names if name not in terms]
    if missing:
        raise FormatError(
            "no grader can be written: the formula needs a dropped grader", where=f"the formula {text!r}"[:200],
            found=missing[0], hint=WAY_OUT,
        )  # fmt: skip
    return _WORD.sub(lambda match: _word(match, text, terms), text)


def _word(match: re.Match[str], text: str, terms: Mapping[str, str]) -> str:
    # A name before a bracket is a function, even if an entry has the same name.
    called = text[match.end() :].lstrip().startswith("(")
    return match[0] if called else terms.get(match[0], match[0])


IMAGE = "2025-05-08"
MAX_SOURCE = 256_000
"""Maximum bytes of a grader's Python source there."""
_OUTPUT, _REFERENCE = "{{sample.output_text}}", "{{item.reference}}"

Record = dict[str, Any]


def write(suite: Suite, losses: Losses) -> Document:
    """One grader's JSON: the only entry, or a multi with a formula.

    The document is checked by the `openai` package's types before it is returned.
    """
    suite = without_unused_settings(suite, losses, keeps=("name",))
    entries, rule, name = suite.entries, suite.combine, suite.name
    only = entries[0].grader if len(entries) == 1 else None
    if isinstance(only, Combined) and rule is None:
        if not check_entry(entries[0], losses):
            raise FormatError("no grader can be written", hint=WAY_OUT)
        entries, rule, name = only.entries, only.combine, entries[0].name
    # Only a formula can express negation, so that even a single negated grader becomes a multi.
    if rule is None and len(entries) == 1 and not entries[0].negate:
        record = _record(entries[0], losses, entries[0].name, rule)
    else:
        record = _multi(entries, rule, losses, name or "combined")
    if record is None:
        raise FormatError("no grader can be written", hint=WAY_OUT)
    add_gate_loss(suite, losses)
    _check(record)
    return Document(to_json(record))


def _multi(
    entries: tuple[Entry, ...], rule: CombiningRule | None, losses: Losses, name: str
) -> Record | None:
    names: dict[str, str] = {}
    graders: Record = {}
    written = []
    for entry in entries:
        # A grader called `min` or `exp` would be read as the function in the formula.
        key = identifier(entry.name, [*names.values(), *FUNCTIONS])
        record = _record(entry, losses, key, rule)
        if record is not None:
            names[entry.name], graders[key] = key, record
            if key != entry.name:
                losses.note(entry.name, "name", f"it is called {key!r} there, as formulas require")
            written.append(entry)
    if not graders:
        return None
    text = formula_of(written, rule, names, losses)
    return {"type": "multi", "name": name, "graders": graders, "calculate_output": text}


def _record(entry: Entry, losses: Losses, name: str, rule: CombiningRule | None) -> Record | None:
    grader = entry.grader
    writer = next((_WRITERS[cls] for cls in type(grader).__mro__ if cls in _WRITERS), None)
    if writer is None:
        add_kind_loss(entry, losses, hint=WAY_OUT)
        return None
    # The threshold there applies to the raw score; that of a negated grader applies to 1 - score.
    limited = isinstance(grader, TextSimilarity | ScoreJudge) and not entry.negate
    threshold = ("pass_threshold",) if limited else settings_without_effect(entry)
    severity = ("severity",) if isinstance(rule, AllPass) else ()
    check_entry(entry, losses, knows=("weight", "negate", *threshold, *severity))
    if grader.description:
        losses.note(entry.name, "description", f"{grader.description!r} is not exported"[:200])
    record = writer(entry, losses)
    if record is None:
        return None
    threshold_there = (
        {"pass_threshold": entry.pass_threshold} if limited and entry.pass_threshold is not None else {}
    )
    return {"type": record.pop("type"), "name": name, **record, **threshold_there}


def _string_check(entry: Entry, losses: Losses) -> Record | None:
    grader = entry.grader
    assert isinstance(grader, StringCheck)
    check_fields(grader, losses, entry.name, knows=("operation", "input", "reference"))
    return {
        "type": "string_check",
        "input": grader.input,
        "reference": grader.reference,
        "operation": grader.operation,
    }


def _exact(entry: Entry, losses: Losses) -> Record | None:
    grader = entry.grader
    assert isinstance(grader, ExactMatch)
    # `eq` compares texts exactly: it neither trims nor ignores case.
    if (
        grader.trim
        or grader.ignore_case
        or not _sayable(grader.expected)
        or _not_plain(grader)
        or not grader.is_plain
    ):
        return _portable(entry, losses)
    return _compared(entry, "eq", losses)


def _contains(entry: Entry, losses: Losses) -> Record | None:
    grader = entry.grader
    assert isinstance(grader, Contains)
    if not _sayable(grader.expected) or _not_plain(grader) or not grader.is_plain:
        return _portable(entry, losses)
    return _compared(entry, "ilike" if grader.ignore_case else "like", losses)


def _compared(entry: Entry, operation: str, losses: Losses) -> Record:
    expected = getattr(entry.grader, "expected")  # noqa: B009 (both kinds have one)
    if expected is None:
        remark = f"it is read from {_REFERENCE}: the dataset there needs a column reference"
        losses.note(entry.name, "reference", remark)
    reference = _REFERENCE if expected is None else expected
    return {"type": "string_check", "input": _OUTPUT, "reference": reference, "operation": operation}


def _not_plain(grader: Any) -> bool:
    """Whether the rule reads a text other than the completion, or treats a missing one in a way that only code can."""
    handled = grader.expected is None and grader.on_no_reference != "fail"
    return bool(handled or grader.extractor.spec() != "last_assistant" or grader.on_empty != "grade")


def _sayable(expected: str | None) -> bool:
    return expected is None or "{{" not in expected


def _similarity(entry: Entry, losses: Losses) -> Record | None:
    grader = entry.grader
    assert isinstance(grader, TextSimilarity)
    check_fields(grader, losses, entry.name, knows=("metric", "input", "reference"))
    metric = {"meteor_without_synonyms": "meteor"}.get(grader.metric, grader.metric)
    return {
        "type": "text_similarity",
        "input": grader.input,
        "reference": grader.reference,
        "evaluation_metric": metric,
    }


def _score_judge(entry: Entry, losses: Losses) -> Record | None:
    grader = entry.grader
    assert isinstance(grader, ScoreJudge)
    known = ("input", "model", "scale", "sampling_params", "platform", "temperature")
    check_fields(grader, losses, entry.name, knows=known)
    if not names_model(grader.model, losses, entry.name, "the platform needs one"):
        return None
    params = {**({"temperature": grader.temperature} if grader.temperature else {}), **grader.sampling_params}
    record = {
        "type": "score_model",
        "input": _messages(grader.input),
        "model": grader.model,
        "range": list(grader.scale),
    }
    return {**record, **({"sampling_params": params} if params else {})}


def _label_judge(entry: Entry, losses: Losses) -> Record | None:
    grader = entry.grader
    assert isinstance(grader, LabelJudge)
    check_fields(grader, losses, entry.name, knows=("input", "model", "labels", "passing_labels", "platform"))
    if not names_model(grader.model, losses, entry.name, "the platform needs one"):
        return None
    return {
        "type": "label_model",
        "input": _messages(grader.input),
        "model": grader.model,
        "labels": list(grader.labels),
        "passing_labels": list(grader.passing_labels),
    }


def _messages(messages: Any) -> list[Record]:
    return [{"role": message["role"], "content": message["content"]} for message in messages]


def _python(entry: Entry, losses: Losses) -> Record | None:
    grader = entry.grader
    assert isinstance(grader, FunctionGrader)
    note_limits(grader, losses, entry.name)
    if grader.signature == "openai":
        return _source(grader.source.text, _image(grader))
    fits = check_signature(entry, losses) and check_reads(grader.source.text, "openai", losses, entry.name)
    if not fits:
        return None
    text = wrapped(grader.source.text, "openai", entry.name, losses)
    return None if text is None else _source(text, _image(grader))


def _portable(entry: Entry, losses: Losses) -> Record | None:
    """A code grader without an equivalent type, as Python."""
    text = rule_text(lambda: portable(entry.grader), entry, losses, hint=WAY_OUT)
    # A rule that needs turns reads only the last completion, which is what the platform passes.
    reads_end = getattr(entry.grader, "extractor", Extractor()) == Extractor()
    allowed = ("get_turns", "turn_calls", "turn_answers") if reads_end else ()
    if text is None or not check_reads(text, "openai", losses, entry.name, allowed=allowed):
        return None
    module = wrapped(text, "openai", entry.name, losses)
    return None if module is None else _source(module, IMAGE)


def _source(text: str, image: str) -> Record:
    if (size := len(text.encode())) > MAX_SOURCE:
        raise FormatError(
            "the source is too large for OpenAI", found=f"{size:,} bytes", expected=f"at most {MAX_SOURCE:,}"
        )
    return {"type": "python", "source": text, "image_tag": image}


def _image(grader: FunctionGrader) -> str:
    before, marker, tag = grader.source.origin.partition("openai image ")
    return tag if marker and not before else IMAGE


def _endpoint(entry: Entry, losses: Losses) -> Record | None:
    grader = entry.grader
    assert isinstance(grader, Endpoint)
    check_fields(grader, losses, entry.name, knows=("url", "headers"))
    for header, value in grader.headers.items():
        if value.startswith("$"):
            losses.note(
                entry.name, f"headers.{header}", f"its value is not written; insert that of {value} there"
            )
    return {
        "type": "endpoint",
        "url": grader.url,
        **({"headers": dict(grader.headers)} if grader.headers else {}),
    }


_WRITERS: dict[type[Any], Callable[[Entry, Losses], Record | None]] = {
    StringCheck: _string_check,
    ExactMatch: _exact,
    Contains: _contains,
    TextSimilarity: _similarity,
    ScoreJudge: _score_judge,
    LabelJudge: _label_judge,
    FunctionGrader: _python,
    Endpoint: _endpoint,
    RuleGrader: _portable,
}


def _check(record: Record) -> None:
    """Check what is written with the `openai` package's types; a multi part by part."""
    with needed_packages():
        from openai.types import graders as types

    classes: dict[str, Any] = {
        "string_check": types.StringCheckGrader,
        "text_similarity": types.TextSimilarityGrader,
        "score_model": types.ScoreModelGrader,
        "label_model": types.LabelModelGrader,
        "python": types.PythonGrader,
    }
    # The package's type of a multi expects one grader where every document has a map, so it is not used.
    for part in record["graders"].values() if record["type"] == "multi" else [record]:
        model = classes.get(part["type"])
        if model is None:
            continue  # endpoints are in a preview that the package lacks
        try:
            model.model_validate(part)
        except ValueError as error:
            raise FormatError(
                "OpenAI's own types refuse this grader", where=part["name"], found=str(error)[:400]
            ) from error
