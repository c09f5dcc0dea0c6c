"""A judge as Python source: its own lines, between the marks of the file, and the rules that the file's judges share."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench.formats.targets.judging.kinds import JudgeForm, check_judge, fields_of, form_of
from workbench.formats.targets.judging.prompts import Question, question_of
from workbench.graders.portable.writers import sliced
from workbench.judges import BinaryJudge, OpenAIClient, RubricJudge
from workbench.judges.base import REPAIRED_PLATFORMS, Judge
from workbench.judges.client.openai import OPENAI_URL, PROVIDERS, chat_settings

__all__ = ["escaped", "judge_text", "literal", "quoted_lines", "reads_of", "rules_text"]

_JUDGES = "workbench.judges."
_ASKING = [
    (_JUDGES + module, name)
    for module, names in {
        "asking.capabilities": ("capabilities_of", "format_index", "is_server_failure"),
        "client.retry_after": ("retry_after",),
        "redaction": ("hide_secrets", "hide_secrets_in_data", "hide_secrets_in_reply"),
        "client.completion": ("_text", "_joined_parts"),
        "client.openai": ("_sendable",),
        "client.faults": ("_OVERLOADED", "_TRANSIENT"),
        "client.chat_request": ("_backoff",),
    }.items()
    for name in names
]
_READING = [
    (_JUDGES + "answers.verdicts", "answer_text"),
    (_JUDGES + "answers.quotes", "without_quotes"),
    (_JUDGES + "base", "SampleError"),
    (_JUDGES + "base", "_repair_request"),
    (_JUDGES + "prompts.tag_marks", "tag_mark"),
    ("workbench.graders.rules.threads", "reference_of"),
    ("workbench.formats.targets.judging.slots", "column_text"),
]
_SLOTS = "workbench.formats.targets.judging.slots"
_WIDTH = 100


def judge_text(judge: Judge) -> str:
    """The lines of a judge: `async def grade(thread)`, which contains the prompt and calls the shared functions.

    Raises:
        FormatError: A file cannot represent this judge; names the field and what to do.
    """
    form = form_of(judge)
    check_judge(judge)
    question = question_of(judge)
    settings = {
        "kind": form.name,
        "fields": fields_of(judge),
        "extractor": [judge.extractor.name, dict(judge.extractor.config)],
        "slots": list(question.slots),
        "columns": list(question.columns),
        "material": list(question.material),
        "varies": list(question.varies),
        **_delivery(judge),
    }
    lines = [f"{name}={literal(value)}," for name, value in settings.items()]
    lines += ["messages=[", *_messages(question), "],"]
    return "async def grade(thread):\n    return await _wb_judged(\n        _wb_rules,\n        thread,\n" + (
        textwrap.indent("\n".join(lines), " " * 8) + "\n    )\n"
    )


def _delivery(judge: Judge) -> dict[str, Any]:
    """The model, the server and the request's settings."""
    provider = judge.provider if isinstance(judge, RubricJudge) else "openai"
    address, variable = PROVIDERS[provider]
    settings = judge.request_settings()
    limits = {name: settings.pop(name, None) for name in ("timeout", "max_retries")}
    plain = OpenAIClient()
    return {
        "address": address or OPENAI_URL,
        "address_variable": "" if address else "OPENAI_BASE_URL",
        "key_variable": variable,
        "timeout": plain.timeout if limits["timeout"] is None else limits["timeout"],
        "max_retries": plain.max_retries if limits["max_retries"] is None else limits["max_retries"],
        "repairs": judge.platform in REPAIRED_PLATFORMS,
        "request": chat_settings(settings, {}),
    }


def _messages(question: Question) -> Iterable[str]:
    for role, text in question.messages:
        if isinstance(text, str):
            yield from (f"    ({literal(role)}, (", *quoted_lines(text, 8), "    )),")
            continue
        yield f"    ({literal(role)}, {{"
        for key, own in text.items():
            yield from (f"        {literal(key)}: (", *quoted_lines(own, 12), "        ),")
        yield "    }),"


def quoted_lines(text: str, indent: int) -> list[str]:
    """A text as Python string literals, one per line of the text."""
    return [" " * indent + literal(line) for line in text.splitlines(keepends=True) or [""]]


def literal(value: Any) -> str:
    """JSON data as Python literals, the same in every version."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(key)}: {literal(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    return repr(value)


def _quoted(text: str) -> str:
    return escaped(json.dumps(text, ensure_ascii=False))


def escaped(text: str) -> str:
    """JSON without characters that end a line for some readers, and without lone surrogates, which cannot be encoded."""
    special = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]")
    return special.sub(lambda one: f"\\u{ord(one[0]):04x}", text)


def reads_of(judge: Judge) -> set[str]:
    """What a judge's prompt needs of the thread, other than the completion and the columns."""
    question = question_of(judge)
    needs = {"messages", "get_turns"} if set(question.slots) - {"reference"} else set[str]()
    return needs | ({"get_turns"} if isinstance(judge, BinaryJudge) else set())


def rules_text(judges: Sequence[Judge]) -> str:
    """The rules by which these judges send requests and read replies, as two functions with private namespaces."""
    forms = list(dict.fromkeys(map(form_of, judges)))
    slots = dict.fromkeys(slot for judge in judges for slot in question_of(judge).slots)
    extractors = dict.fromkeys((judge.extractor.module, judge.extractor.name) for judge in judges)
    reading = [*_READING, *((_SLOTS, f"slot_{slot}") for slot in slots), *extractors]
    reading += [(form.cls.__module__, f"{form.cls.__name__}.read") for form in forms]
    if any(form.cls is BinaryJudge for form in forms):
        reading.append((BinaryJudge.__module__, "BinaryJudge._check_turns"))
    asking = _namespace(
        "_wb_asking_rules", "How a judge's model is called, as in the workbench.", _ASKING, []
    )
    own = _namespace(
        "_wb_reading_rules",
        "How judges' prompts are rendered and replies are read, as in the workbench.",
        reading,
        forms,
    )
    rules = "_wb_rules = _wb_Record(asking=_wb_asking_rules(), reading=_wb_reading_rules())"
    return f"{asking}\n\n\n{own}\n\n\n{rules}"


def _namespace(name: str, title: str, pieces: list[tuple[str, str]], forms: Sequence[JudgeForm]) -> str:
    imports, texts = sliced(pieces, given={"Grade", "ErrorKind"}, plain=True)
    named = iter(forms)
    body = [_renamed(text, named) for text in texts]
    assert next(named, None) is None, "two kinds of judges read replies by the same text"
    lines = [*imports, "Grade, ErrorKind = _wb_Grade, _wb_ErrorKind"] if forms else imports
    inside = "\n".join(lines) + "\n\n" + "\n\n".join(body) + "\n\nreturn _wb_Record(**locals())"
    return f'def {name}():\n    """{title}"""\n' + textwrap.indent(inside, "    ")


def _renamed(text: str, forms: Any) -> str:
    """Methods renamed for the file: the `read` methods in the order of their kinds."""
    if text.startswith("def read(self, text)"):
        return text.replace("def read(", f"def {next(forms).name}_read(", 1)
    return text.replace("def _check_turns(", "def binary_judge_check_turns(", 1)
