"""Graders as Adaptive SDK calls or JSON."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from workbench.core.errors import FormatError
from workbench.formats.shared import Document, Losses
from workbench.formats.shared.parsing import to_json
from workbench.formats.shared.unsupported import (
    add_gate_loss,
    add_kind_loss,
    check_calls,
    check_entry,
    check_fields,
    check_reads,
    check_signature,
    names_model,
    note_limits,
    rule_text,
    settings_of_code,
    settings_without_effect,
    without_unused_settings,
)
from workbench.graders import FunctionGrader
from workbench.graders.capture.module_text import has_future, inserted
from workbench.graders.capture.source_edit import parsed, statements, targets
from workbench.graders.combine import Entry
from workbench.graders.portable import portable
from workbench.graders.rule_grader import RuleGrader
from workbench.judges import (
    AnswerRelevancyJudge,
    BinaryJudge,
    ContextRelevancyJudge,
    Endpoint,
    FaithfulnessJudge,
)
from workbench.run.suite import Suite

_KEY = re.compile(r"[A-Za-z0-9_.-]+")
_NEEDS_MODEL = "judge_model is required there"
_WAY_OUT = "Adaptive has function graders, binary judges, prebuilt RAG judges and external endpoints"
_CREATE = {
    "FUNCTION": "function",
    "JUDGE": "binary_judge",
    "PREBUILT": "prebuilt_judge",
    "REMOTE": "external_endpoint",
}
_HEAD = '''"""Graders for Adaptive, written by grader workbench. Run it where `adaptive` is your client."""
'''

Record = dict[str, Any]


def write_calls(suite: Suite, losses: Losses) -> Document:
    """A Python file with one `adaptive.graders.create` call per grader."""
    return Document(_HEAD + "".join(f"\n{_call(record)}" for record in _records(suite, losses)))


def write_json(suite: Suite, losses: Losses) -> Document:
    """The same arguments as JSON: `{"graders": [{"type": "FUNCTION", "key": ..., "fn": ...}]}`."""
    return Document(to_json({"graders": _records(suite, losses)}))


def _records(suite: Suite, losses: Losses) -> list[Record]:
    suite = without_unused_settings(suite, losses)
    keys = [entry.name for entry in suite.entries]
    records = [record for entry in suite.entries if (record := _record(entry, losses, keys)) is not None]
    if not records:
        raise FormatError("no grader can be written", hint=_WAY_OUT)
    if suite.combine is not None:
        losses.add("", "combine", "graders are combined in recipes there, not where they are created",
                   hint="export the graders without it, and set the weights in the recipe")  # fmt: skip
    add_gate_loss(suite, losses)
    return records


def _record(entry: Entry, losses: Losses, keys: list[str]) -> Record | None:
    writer = next((_WRITERS[cls] for cls in type(entry.grader).__mro__ if cls in _WRITERS), None)
    if writer is None:
        add_kind_loss(entry, losses, hint=_WAY_OUT)
        return None
    if not check_entry(entry, losses, knows=(*settings_without_effect(entry), *settings_of_code(entry))):
        return None
    record = writer(entry, losses)
    if record is None:
        return None
    description = entry.grader.description
    description_there = {"description": description} if description and record["type"] == "FUNCTION" else {}
    if description and not description_there:
        losses.note(entry.name, "description", f"{description!r} is not exported"[:200])
    return {"type": record.pop("type"), **_named(entry.name, losses, keys), **record, **description_there}


def _named(name: str, losses: Losses, keys: list[str]) -> Record:
    """The key, and a display name if the name cannot be the key: keys are used in URLs and file names."""
    key = name
    if not _KEY.fullmatch(name):
        plain = re.sub(r"[^A-Za-z0-9_.]+", "-", name).strip("-.").lower() or "grader"
        key, number = plain, 1
        while key in keys:
            number += 1
            key = f"{plain}-{number}"
        losses.note(name, "name", f"it is the display name there; the key is {key!r}")
        keys.append(key)
    return {"key": key} if key == name else {"key": key, "name": name}


def _function(entry: Entry, losses: Losses) -> Record | None:
    grader = entry.grader
    assert isinstance(grader, FunctionGrader)
    if not check_signature(entry, losses):
        return None
    note_limits(grader, losses, entry.name)
    return _source(entry, grader.source.text, losses)


def _portable(entry: Entry, losses: Losses) -> Record | None:
    text = rule_text(lambda: portable(entry.grader, negate=entry.negate), entry, losses, hint=_WAY_OUT)
    if text is None or not check_calls(entry.grader, "adaptive", losses, entry.name):
        return None
    return _source(entry, text, losses)


def _source(entry: Entry, text: str, losses: Losses) -> Record | None:
    if not check_reads(text, "adaptive", losses, entry.name):
        return None
    return {"type": "FUNCTION", "fn": _with_thread(rename_imports(text))}


def _judge(entry: Entry, losses: Losses) -> Record | None:
    grader = entry.grader
    assert isinstance(grader, BinaryJudge)
    check_fields(
        grader, losses, entry.name, knows=("criteria", "model", "examples", "feedback_key", "platform")
    )
    if not names_model(grader.model, losses, entry.name, _NEEDS_MODEL):
        return None
    record: Record = {"type": "JUDGE", "criteria": grader.criteria, "judge_model": grader.model}
    record |= {"feedback_key": grader.feedback_key} if grader.feedback_key else {}
    return record | (
        {"examples": [_example(example) for example in grader.examples]} if grader.examples else {}
    )


def _example(example: Any) -> Any:
    return example.spec() if hasattr(example, "spec") else dict(example)


def _prebuilt(entry: Entry, losses: Losses) -> Record | None:
    grader: Any = entry.grader
    check_fields(grader, losses, entry.name, knows=("model", "platform"))
    if not names_model(grader.model, losses, entry.name, _NEEDS_MODEL):
        return None
    if not isinstance(grader, ContextRelevancyJudge) and grader.platform != "adaptive":
        problem = "it judges sentences, and this grader judges claims: the scores would differ"
        losses.add(entry.name, "platform", problem, hint='set platform="adaptive" on the grader')
    names: dict[type[Any], str] = {
        FaithfulnessJudge: "FAITHFULNESS",
        ContextRelevancyJudge: "CONTEXT_RELEVANCY",
        AnswerRelevancyJudge: "ANSWER_RELEVANCY",
    }
    return {"type": "PREBUILT", "prebuilt": names[type(grader)], "judge_model": grader.model}


def _remote(entry: Entry, losses: Losses) -> Record:
    grader = entry.grader
    assert isinstance(grader, Endpoint)
    check_fields(grader, losses, entry.name, knows=("url",))
    return {"type": "REMOTE", "url": grader.url}


_WRITERS: dict[type[Any], Callable[[Entry, Losses], Record | None]] = {
    FunctionGrader: _function,
    RuleGrader: _portable,
    BinaryJudge: _judge,
    FaithfulnessJudge: _prebuilt,
    ContextRelevancyJudge: _prebuilt,
    AnswerRelevancyJudge: _prebuilt,
    Endpoint: _remote,
}


def rename_imports(text: str) -> str:
    """The module with imports of the workbench's thread turned into Adaptive's.

    A grader may import only `from workbench import StringThread`, `import workbench` and `import workbench as wb`
    from the workbench.
    """
    lines = text.split("\n")
    imports = [
        statement
        for statement in ast.walk(parsed(text) or ast.Module([], []))
        if isinstance(statement, ast.Import | ast.ImportFrom)
    ]
    # From the end, so that the positions of earlier imports remain valid.
    for node in sorted(imports, key=lambda statement: (statement.lineno, statement.col_offset), reverse=True):
        new = _renamed(node)
        if new is None:
            continue
        end = node.end_lineno or node.lineno
        # `ast` counts columns in UTF-8 bytes, not in characters.
        before = lines[node.lineno - 1].encode()[: node.col_offset].decode()
        after = lines[end - 1].encode()[node.end_col_offset or 0 :].decode()
        lines[node.lineno - 1 : end] = [before + new + after]
    return "\n".join(lines)


def _with_thread(text: str) -> str:
    """The module with an import of the thread if only the annotation names it, as in Adaptive's own examples."""
    tree = parsed(text)
    functions = (
        [node for node in tree.body if getattr(node, "name", "") == "grade"] if tree is not None else []
    )
    args = getattr(functions[-1], "args", None) if functions else None
    typed = (
        next((argument.annotation for argument in [*args.posonlyargs, *args.args]), None) if args else None
    )
    if tree is None or typed is None or not has_future(tree):
        return text
    bound = {name for node in statements(tree.body) for name in targets(node)}
    spelled = ast.unparse(typed)
    module, _, class_name = spelled.rpartition(".")
    if class_name != "StringThread" or spelled.partition(".")[0] in bound or "." in module:
        return text
    import_line = (
        f"import adaptive_harmony as {module}" if module else "from adaptive_harmony import StringThread"
    )
    return inserted(text, tree, import_line + "\n", future=False)


def _renamed(node: ast.Import | ast.ImportFrom) -> str | None:
    if isinstance(node, ast.ImportFrom):
        is_ours = node.module in {"workbench", "workbench.core.thread"} and not node.level
        return f"from adaptive_harmony import {', '.join(map(ast.unparse, node.names))}" if is_ours else None
    if all(alias.name != "workbench" for alias in node.names):
        return None
    names = [
        f"adaptive_harmony as {alias.asname or 'workbench'}"
        if alias.name == "workbench"
        else ast.unparse(alias)
        for alias in node.names
    ]
    return f"import {', '.join(names)}"


def _call(record: Record) -> str:
    values = {key: value for key, value in record.items() if key != "type"}
    if "prebuilt" in values:
        values = {"type": values.pop("prebuilt"), **values}
    arguments = "".join(f"    {key}={_literal(value)},\n" for key, value in values.items())
    return f"adaptive.graders.create.{_CREATE[record['type']]}(\n{arguments})\n"


def _literal(value: Any) -> str:
    """Python literal of a value; source text as a triple-quoted string, plain or raw, if that reads back the same."""
    if isinstance(value, str) and "\n" in value:
        blocks = (f"'''\\\n{value}'''", f"r'''{value}'''")
        return next((block for block in blocks if _reads_back(block, value)), repr(value))
    return repr(value)


def _reads_back(text: str, value: str) -> bool:
    tree = parsed(f"x = {text}\n")
    assignment = tree.body[0] if tree is not None and len(tree.body) == 1 else None
    return (
        isinstance(assignment, ast.Assign)
        and isinstance(assignment.value, ast.Constant)
        and assignment.value.value == value
    )
