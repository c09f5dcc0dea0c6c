"""Functions of no platform's form whose parameters state what they take: `same(output, expected)`, `near(text) -> float`.

Such a function is called by the names of its parameters, by lines that are added to its module. A function with a parameter of
another name is not read, nor one of a single text unless it is annotated to return a number: a helper would look the same.
"""

from __future__ import annotations

import ast

from workbench.graders.capture.source_edit import Function, parsed

TEXT = frozenset({
    "output", "response", "completion", "text", "prediction", "generated_text", "model_output", "model_response",
    "generation",
})  # fmt: skip
REFERENCE = frozenset({
    "expected", "target", "reference", "ground_truth", "expected_output", "answer", "gold", "label",
    "reference_answer", "correct_answer",
})  # fmt: skip
PROMPT = frozenset({"prompt", "input", "question", "query"})
ROW = frozenset({"metadata", "info", "state", "references", "vars", "item", "row"})
"""Parameters that get the row's columns; verifiers' `state` has the row's parts as well."""
_VALUES: dict[str, tuple[frozenset[str], str]] = {
    "the completion": (TEXT, 'row["text"]'),
    "the reference": (REFERENCE, 'row["reference"]'),
    "the prompt": (PROMPT, 'row["prompt"]'),
    "the columns": (ROW, "columns"),
    "a list of the completion": (frozenset({"solution_strs"}), '[row["text"]]'),
    "a list of the reference": (frozenset({"ground_truths"}), '[row["reference"]]'),
    "a list of the data source": (frozenset({"data_sources"}), '[columns.get("data_source", "")]'),
    "a list of the columns": (frozenset({"extra_infos"}), "[columns]"),
    "None": (frozenset({"args"}), "None"),
    "the row as slime's sample": (frozenset({"sample"}), "_by_names_sample(row)"),
}
"""What a parameter gets: its names, and the value in the lines that are added. Lists are those of verl's batch manager."""
CALLED_BY_NAMES = "called by the names of its parameters"
"""How the description of such a grader begins."""
_COMPLETIONS = frozenset({"the completion", "a list of the completion", "the row as slime's sample"})
_NUMBERS = frozenset({"float", "bool", "int"})

_TAIL = """

def _by_names_row(thread):
    turns = thread.get_turns() if hasattr(thread, "get_turns") else []
    users = [at for at, turn in enumerate(turns) if turn.role == "user"]
    first = users[-1] + 1 if users else 0
    messages = [{"role": turn.role, "content": turn.content} for turn in turns]
    text, columns = thread.completion() or "", dict(thread.metadata or {})
    names = ("reference", "expected", "ground_truth", "label", "answer", "target", "solution")
    known = [columns[name] for name in names if columns.get(name) is not None]
    asked = "\\n".join(one["content"] for one in messages[:first] if one["role"] == "user")
    prompt, said = (messages[:first], messages[first:]) if CHAT else (asked, text)
    return {"text": said, "reference": known[0] if known else None, "prompt": prompt, "columns": columns}


def _by_names_sample(row):
    import types

    columns = row["columns"]
    return types.SimpleNamespace(prompt=row["prompt"], response=row["text"], label=row["reference"], metadata=columns)


async def _by_names_grade(thread):
    from workbench import Grade

    row = _by_names_row(thread)
    parts = {"prompt": row["prompt"], "completion": row["text"], "answer": row["reference"], "info": row["columns"]}
    columns = {**row["columns"], **parts} if STATE else row["columns"]
    value = NAME(ARGUMENTS)
    value = await value if hasattr(value, "__await__") else value
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict) and "score" in value:
        rest = {key: part for key, part in value.items() if key != "score"}
        return Grade(float(value["score"]), metadata=rest)
    if isinstance(value, bool):
        return Grade(float(value), passed=value)
    return value
"""


def named_functions(text: str) -> dict[str, str]:
    """The functions that are called by the names of their parameters: name to a sentence about the call."""
    tree = parsed(text)
    functions = [node for node in (tree.body if tree else ()) if isinstance(node, Function)]
    called = {node.name: _arguments(node) for node in functions if not node.name.startswith("_")}
    return {
        name: ", ".join(f"{one} is {what}" for one, what in given) for name, given in called.items() if given
    }


def with_call(text: str, name: str) -> str:
    """The module with `_by_names_grade(thread)`, which calls a function by the names of its parameters."""
    tree = parsed(text)
    assert tree is not None
    node = next(one for one in reversed(tree.body) if isinstance(one, Function) and one.name == name)
    given = _arguments(node) or []
    arguments = ", ".join(f"{one}={_VALUES[what][1]}" for one, what in given)
    words = {
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }
    tail = (
        _TAIL.replace("CHAT", repr(bool({"content", "role"} & words)))
        .replace("NAME", name)
        .replace("ARGUMENTS", arguments)
    )
    return text.rstrip("\n") + "\n" + tail.replace("STATE", repr(any(one == "state" for one, _ in given)))


def _arguments(node: Function) -> list[tuple[str, str]] | None:
    """Each parameter with what it gets; None if the function is not called so."""
    args = node.args
    if args.vararg or args.posonlyargs or node.decorator_list:
        return None
    given = []
    n_optional = len(args.defaults)
    for at, arg in enumerate([*args.args, *args.kwonlyargs]):
        what = _what(arg.arg)
        if what is None:
            is_optional = at >= len(args.args) - n_optional
            if not is_optional:
                return None
            continue
        given.append((arg.arg, what))
    kinds = {what for _, what in given}
    is_slime = kinds == {"None", "the row as slime's sample"}
    if not kinds & _COMPLETIONS or (not is_slime and kinds & {"None", "the row as slime's sample"}):
        return None
    returns = node.returns.id if isinstance(node.returns, ast.Name) else ""
    return given if len(kinds) > 1 or returns in _NUMBERS else None


def _what(name: str) -> str | None:
    return next((what for what, (names, _) in _VALUES.items() if name in names), None)
