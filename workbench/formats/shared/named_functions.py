"""Functions of no platform's form whose parameters state what they take: `same(output, expected)`, `cites(completion, sources)`.

Such a function is called by the names of its parameters, by lines that are added to its module: one of them has a name for the
completion, and one of an unknown name is a column of the row. A helper may look the same, so that a function of a single text or with
a column is read only if it returns numbers, by its annotation or by each of its returns, and no other function calls it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

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
_COLUMN = "the column of its name"
CALLED_BY_NAMES = "called by the names of its parameters"
"""How the description of such a grader begins."""
_COMPLETIONS = frozenset({"the completion", "a list of the completion", "the row as slime's sample"})
_NUMBERS = frozenset({"float", "bool", "int"})
_NUMBER_CALLS = _NUMBERS | {
    "abs", "all", "any", "count", "endswith", "isdigit", "isinstance", "issubset", "len", "ratio", "round", "startswith", "sum",
}  # fmt: skip

_TAIL = """

def _by_names_row(thread):
    turns = thread.get_turns() if hasattr(thread, "get_turns") else []
    users = [at for at, turn in enumerate(turns) if turn.role == "user"]
    first = users[-1] + 1 if users else 0
    messages = [{"role": turn.role, "content": turn.content} for turn in turns]
    text, columns = thread.completion() or "", {**(thread.metadata or {})}
    names = ("reference", "expected", "ground_truth", "label", "answer", "target", "solution")
    known = [columns[name] for name in names if columns.get(name) is not None]
    asked = "\\n".join(one["content"] for one in messages[:first] if one["role"] == "user")
    prompt, said = (messages[:first], messages[first:]) if CHAT else (asked, text)
    return {"text": said, "reference": known[0] if known else None, "prompt": prompt, "columns": columns}


def _by_names_column(columns, name):
    if name not in columns:
        raise KeyError(f"the row has no column {name!r}, which NAME takes; its columns: {', '.join(columns) or 'none'}")
    return columns[name]


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
    if tree is None:
        return {}
    functions = [node for node in tree.body if isinstance(node, Function) and not node.name.startswith("_")]
    helpers = _called_by_others(tree)
    called = {node.name: _arguments(node, is_helper=node.name in helpers) for node in functions}
    return {
        name: ", ".join(f"{one} is {what}" for one, what in given) for name, given in called.items() if given
    }


def with_call(text: str, name: str) -> str:
    """The module with `_by_names_grade(thread)`, which calls a function by the names of its parameters."""
    tree = parsed(text)
    assert tree is not None
    node = next(one for one in reversed(tree.body) if isinstance(one, Function) and one.name == name)
    given = _arguments(node, is_helper=False) or []
    arguments = ", ".join(f"{one}={_value(one, what)}" for one, what in given)
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


def _value(name: str, what: str) -> str:
    return f"_by_names_column(row['columns'], {name!r})" if what == _COLUMN else _VALUES[what][1]


def _arguments(node: Function, *, is_helper: bool) -> list[tuple[str, str]] | None:
    """Each parameter with what it gets; None if the function is not called so."""
    args = node.args
    if args.vararg or args.posonlyargs or node.decorator_list:
        return None
    given = []
    first_optional = len(args.args) - len(args.defaults)
    for at, arg in enumerate(args.args):
        what = _what(arg.arg)
        if what is not None or at < first_optional:
            given.append((arg.arg, what or _COLUMN))
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        what = _what(arg.arg)
        if what is not None or default is None:
            given.append((arg.arg, what or _COLUMN))
    kinds = {what for _, what in given}
    is_slime = kinds == {"None", "the row as slime's sample"}
    if not kinds & _COMPLETIONS or (not is_slime and kinds & {"None", "the row as slime's sample"}):
        return None
    if len(kinds) > 1 and _COLUMN not in kinds:
        return given
    annotated = node.returns.id if isinstance(node.returns, ast.Name) else ""
    is_grader = annotated in _NUMBERS or (not annotated and not is_helper and _returns_numbers(node))
    return given if is_grader else None


def _called_by_others(tree: ast.Module) -> set[str]:
    """Names of functions that another function of the module calls."""
    return {
        call.func.id
        for function in tree.body
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id != getattr(function, "name", "")
    }


def _returns_numbers(node: Function) -> bool:
    """Whether every `return` of a function, at least one, is a number or a comparison by its form."""
    inside = [one for one in ast.walk(node) if one is not node and isinstance(one, Function | ast.Lambda)]
    inner = {part for one in inside for part in ast.walk(one)}
    own = [one for one in ast.walk(node) if one not in inner]
    numbers = {
        one.targets[0].id
        for one in own
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and _is_number(one.value, ())
    }
    returned = [one.value for one in own if isinstance(one, ast.Return)]
    return bool(returned) and all(value is not None and _is_number(value, numbers) for value in returned)


def _is_number(value: ast.expr, numbers: Collection[str]) -> bool:
    """Whether an expression is a number or a truth value by its form, with the names that got one."""
    match value:
        case ast.IfExp(body=first, orelse=second):
            return _is_number(first, numbers) and _is_number(second, numbers)
        case ast.BoolOp(values=values):
            return all(_is_number(one, numbers) for one in values)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=first):
            return _is_number(first, numbers)
        case ast.BinOp(left=first, right=second, op=op):
            return isinstance(op, ast.Div) or _is_number(first, numbers) or _is_number(second, numbers)
        case ast.Call(func=ast.Name(id=("min" | "max"))):
            return any(_is_number(one, numbers) for one in value.args)
    return _is_plain_number(value, numbers)


def _is_plain_number(value: ast.expr, numbers: Collection[str]) -> bool:
    match value:
        case ast.Name(id=name):
            return name in numbers
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _NUMBER_CALLS
        case ast.Constant(value=bool() | int() | float()) | ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return True
    return False


def _what(name: str) -> str | None:
    return next((what for what, (names, _) in _VALUES.items() if name in names), None)
