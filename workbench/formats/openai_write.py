"""Graders as OpenAI's JSON: the writing half of `openai.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.errors import FormatError
from workbench.formats.base import Document, Losses
from workbench.formats.limits import check_entry, check_fields, identifier, no_kind
from workbench.formats.parsing import to_json
from workbench.formats.shims import check_reads, wrap
from workbench.graders import FunctionGrader, Grader
from workbench.graders.combine import Combined, Entry, Formula, Mean, Rule, Sum
from workbench.graders.portable import portable
from workbench.graders.similarity import TextSimilarity
from workbench.graders.text import CodeGrader, Contains, ExactMatch, StringCheck
from workbench.judges import Endpoint, LabelModel, ScoreModel
from workbench.suite import Suite

__all__ = ["write"]

IMAGE = "2025-05-08"
MAX_SOURCE = 256_000
"""Bytes of Python source a grader may have there."""
_OUTPUT, _REFERENCE = "{{sample.output_text}}", "{{item.reference}}"
_WAY_OUT = "OpenAI has string_check, text_similarity, score_model, label_model, python, multi and endpoint"

Record = dict[str, Any]


def write(suite: Suite, losses: Losses) -> Document:
    """One grader's JSON: the only entry, or a multi with a formula.

    The document is checked by the `openai` package's own types before it is given out.
    """
    if suite.gate is not None:
        losses.add("", "gate", "there are no gates over a run", way_out="export as letta")
    entries, rule, name = suite.entries, suite.combine, suite.name
    only = entries[0].grader if len(entries) == 1 else None
    if isinstance(only, Combined) and rule is None:
        check_entry(entries[0], losses)
        entries, rule, name = only.entries, only.rule, entries[0].name
    if rule is None and len(entries) == 1 and not entries[0].negate:
        record = _record(entries[0], losses, entries[0].name)
    else:
        record = _multi(entries, rule, losses, name or "combined")
    if record is None:
        raise FormatError("nothing is left to write", hint=_WAY_OUT)
    _check(record)
    return Document(to_json(record))


def _multi(entries: tuple[Entry, ...], rule: Rule | None, losses: Losses, name: str) -> Record | None:
    names: dict[str, str] = {}
    graders: Record = {}
    kept = []
    for entry in entries:
        key = identifier(entry.name, list(names.values()))
        record = _record(entry, losses, entry.name)
        if record is not None:
            names[entry.name], graders[key] = key, record
            kept.append(entry)
    text = _formula(kept, rule, names, losses)
    return {"type": "multi", "name": name, "graders": graders, "calculate_output": text} if graders else None


def _formula(entries: list[Entry], rule: Rule | None, names: Mapping[str, str], losses: Losses) -> str:
    terms = {entry.name: _term(entry, names) for entry in entries}
    if isinstance(rule, Formula):
        return _renamed(rule.text, terms)
    if isinstance(rule, Mean | Sum):
        total = sum(entry.weight for entry in entries) if isinstance(rule, Mean) else 1.0
        return " + ".join(f"{entry.weight / total:.12g} * {terms[entry.name]}" for entry in entries)
    if len(entries) > 1:
        what = "several graders need a formula" if rule is None else f"there is no rule {rule.rule!r}"
        losses.add("", "combine", what, way_out='use combine=Formula("min(a, b)") or Mean()')
        return f"min({', '.join(terms.values())})"
    return next(iter(terms.values()), "0")


def _term(entry: Entry, names: Mapping[str, str]) -> str:
    return f"(1 - {names[entry.name]})" if entry.negate else names[entry.name]


def _renamed(text: str, terms: Mapping[str, str]) -> str:
    import re

    pattern = re.compile(r"[^\W\d]\w*(?!\w)(?!\s*\()")
    return pattern.sub(lambda match: terms.get(match[0], match[0]), text)


def _record(entry: Entry, losses: Losses, name: str) -> Record | None:
    grader = entry.grader
    limit = entry.pass_threshold
    told = isinstance(grader, TextSimilarity | ScoreModel)
    harmless = limit is not None and 0 < limit <= 1 and isinstance(grader, CodeGrader)
    check_entry(entry, losses, knows=("weight", "negate", *(["pass_threshold"] if told or harmless else [])))
    writer = next((_WRITERS[cls] for cls in type(grader).__mro__ if cls in _WRITERS), None)
    record = None if writer is None else writer(entry, losses)
    if writer is None:
        no_kind(entry, losses, way_out=_WAY_OUT)
    if record is None:
        return None
    kept = {"pass_threshold": limit} if told and limit is not None else {}
    return {"type": record.pop("type"), "name": name, **record, **kept}


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
    if grader.trim or grader.ignore_case or not _sayable(grader.expected) or _not_plain(grader):
        return _portable(entry, losses)
    return {
        "type": "string_check",
        "input": _OUTPUT,
        "reference": _reference(grader.expected),
        "operation": "eq",
    }


def _contains(entry: Entry, losses: Losses) -> Record | None:
    grader = entry.grader
    assert isinstance(grader, Contains)
    if not _sayable(grader.expected) or _not_plain(grader):
        return _portable(entry, losses)
    operation = "ilike" if grader.ignore_case else "like"
    return {
        "type": "string_check",
        "input": _OUTPUT,
        "reference": _reference(grader.expected),
        "operation": operation,
    }


def _not_plain(grader: Any) -> bool:
    """Whether another text than the whole completion is looked at: code can say that, a template cannot."""
    return bool(grader.extractor.spec() != "last_assistant" or grader.empty != "grade")


def _sayable(expected: str | None) -> bool:
    return expected is None or "{{" not in expected


def _reference(expected: str | None) -> str:
    return _REFERENCE if expected is None else expected


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


def _score_model(entry: Entry, losses: Losses) -> Record | None:
    grader = entry.grader
    assert isinstance(grader, ScoreModel)
    check_fields(
        grader,
        losses,
        entry.name,
        knows=("input", "model", "range", "sampling_params", "rules", "temperature"),
    )
    params = {**grader.sampling_params, **({"temperature": grader.temperature} if grader.temperature else {})}
    record = {
        "type": "score_model",
        "input": _messages(grader.input),
        "model": grader.model,
        "range": list(grader.range),
    }
    return {**record, **({"sampling_params": params} if params else {})}


def _label_model(entry: Entry, losses: Losses) -> Record | None:
    grader = entry.grader
    assert isinstance(grader, LabelModel)
    check_fields(grader, losses, entry.name, knows=("input", "model", "labels", "passing_labels", "rules"))
    return {
        "type": "label_model",
        "input": _messages(grader.input),
        "model": grader.model,
        "labels": list(grader.labels),
        "passing_labels": list(grader.passing_labels),
    }


def _messages(messages: Any) -> list[Record]:
    return [{"role": one["role"], "content": one["content"]} for one in messages]


def _python(entry: Entry, losses: Losses) -> Record | None:
    grader = entry.grader
    assert isinstance(grader, FunctionGrader)
    if grader.signature == "openai":
        return _source(grader.source.text, _image(grader))
    if grader.signature != "thread":
        losses.add(entry.name, "signature", f"a function of the form {grader.signature!r} cannot run there",
                   way_out="write it as async def grade(thread)")  # fmt: skip
        return None
    check_reads(grader.source.text, "openai", losses, entry.name)
    return _source(wrap(grader.source.text, "openai"), _image(grader))


def _portable(entry: Entry, losses: Losses) -> Record | None:
    """A code grader without a type of its own there, as Python."""
    try:
        text = portable(entry.grader)
    except FormatError as error:
        losses.add(entry.name, error.where or "kind", error.what, way_out=error.hint or _WAY_OUT)
        return None
    check_reads(text, "openai", losses, entry.name)
    return _source(wrap(text, "openai"), IMAGE)


def _source(text: str, image: str) -> Record:
    size = len(text.encode())
    if size > MAX_SOURCE:
        raise FormatError(
            "the source is too large for OpenAI", found=f"{size:,} bytes", expected=f"at most {MAX_SOURCE:,}"
        )
    return {"type": "python", "source": text, "image_tag": image}


def _image(grader: FunctionGrader) -> str:
    before, told, tag = grader.source.origin.partition("openai image ")
    return tag if told and not before else IMAGE


def _endpoint(entry: Entry, losses: Losses) -> Record | None:
    grader = entry.grader
    assert isinstance(grader, Endpoint)
    check_fields(grader, losses, entry.name, knows=("url", "headers"))
    return {
        "type": "endpoint",
        "url": grader.url,
        **({"headers": dict(grader.headers)} if grader.headers else {}),
    }


_WRITERS: dict[type[Grader], Callable[[Entry, Losses], Record | None]] = {
    StringCheck: _string_check,
    ExactMatch: _exact,
    Contains: _contains,
    TextSimilarity: _similarity,
    ScoreModel: _score_model,
    LabelModel: _label_model,
    FunctionGrader: _python,
    Endpoint: _endpoint,
    CodeGrader: _portable,
}


def _check(record: Record) -> None:
    """Let the `openai` package's own types read what is written; a multi part by part."""
    from openai.types import graders as types

    classes: dict[str, Any] = {
        "string_check": types.StringCheckGrader,
        "text_similarity": types.TextSimilarityGrader,
        "score_model": types.ScoreModelGrader,
        "label_model": types.LabelModelGrader,
        "python": types.PythonGrader,
    }
    for one in record["graders"].values() if record["type"] == "multi" else [record]:
        model = classes.get(one["type"])
        if model is None:
            continue  # endpoints are in a preview that the package does not know
        try:
            model.model_validate(one)
        except ValueError as error:
            raise FormatError(
                "OpenAI's own types refuse this grader", where=one["name"], found=str(error)[:400]
            ) from error
