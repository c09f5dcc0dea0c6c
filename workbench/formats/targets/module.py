"""One Python file from a plan: the graders' texts between marks, and the code around them that they need.

The file imports the standard library and the target's package, changes nothing outside itself, and ends with its
settings as a line of JSON, from which it can be generated again: on import, edited lines are detected.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from workbench.core.python_text import parse, parse_expression
from workbench.data.samples.columns import LABEL_NAMES
from workbench.formats.frame import BEGIN, END, frame_of, framed, names_class, unframed, with_own_names
from workbench.formats.shared.unsupported import outcomes_in
from workbench.formats.shared.writing import MARK
from workbench.formats.targets.parts import needs_namespace, quoted_block
from workbench.formats.targets.target import ExportPlan, Part, Target
from workbench.graders.combine import AllPass, CombiningRule, Formula, Mean, Sum
from workbench.graders.combine.formula import FUNCTIONS, Expression, tokens


def formula_in_python(text: str) -> tuple[tuple[str, ...], str]:
    """The names a formula reads, and a `lambda` with one argument for each, in that order.

    Division, powers and functions call `_wb_` functions of the exported file: where columns of floats give
    infinity or NaN, plain Python would raise.

    Raises:
        FormulaError: The text cannot be read.
    """
    names = Expression.read(text).names
    arguments = [_argument(at) for at in range(len(names))]
    found = [token for token, _ in tokens(text)]
    called = [*(following == "(" for following in found[1:]), False]
    spelled = "".join(_spelled(token, names, call) for token, call in zip(found, called, strict=True))
    tree = ast.fix_missing_locations(_Calls().visit(parse_expression(spelled)))
    return names, f"lambda {', '.join(arguments) or '*_'}: {ast.unparse(tree)}"


def _argument(at: int) -> str:
    return f"_{at + 1}"


def _spelled(token: str, names: Sequence[str], called: bool) -> str:
    if token == "^":  # noqa: S105 (a sign of the formula)
        return "**"
    if token[0] in "0123456789.":
        return repr(float(token))
    # A grader may have the name of a function: `min(min, 0.5)`.
    return _argument(names.index(token)) if token in names and not called else token


class _Calls(ast.NodeTransformer):
    """Operators and functions that Python and columns of floats treat differently, as calls."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        called = {ast.Div: "_wb_divide", ast.Pow: "_wb_power"}.get(type(node.op))
        return node if called is None else _call(called, [node.left, node.right])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        return _call(f"_wb_{name}" if name in FUNCTIONS and name != "abs" else name, node.args)


def _call(name: str, arguments: list[ast.expr]) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), arguments, [])


SETTINGS = "# settings: "
"""Prefix of the last line, which contains the settings the file was generated from."""
_CERTIFICATE = "# certificate: "
_EDIT = ("", " Edit the grader between the marks.", " Edit the graders between the marks.")
_TYPING = """
# Some loaders do not register a file in `sys.modules`, where dataclasses look for the module of string annotations.
if __name__ not in _wb_modules:
    __name__ = "typing"
"""


def compose(target: Target, plan: ExportPlan) -> str:
    """The file's text."""
    functions = [part.function for part in plan.parts] + [own.function for own in plan.own_judges]
    taken = [*target.public, *functions]
    apart = needs_namespace([part.text for part in plan.parts], taken)
    frames = [
        (with_own_names(part.text).rstrip(), "") if alone else framed(part.text)
        for part, alone in zip(plan.parts, apart, strict=True)
    ]
    texts = [own for own, _ in frames]
    before = _classes(texts) if texts else []
    lines = target.lines(plan)
    behind = lines
    if plan.parts:
        combining = f"\n\ndef _wb_whole(answers):\n    return {_combined(plan, plan.rule)}\n"
        behind = _table(plan, texts) + combining + lines
    before += ["_wb_alone"] if any(apart) else []
    frame = frame_of(before, behind)
    imports = frame.imports
    rest = [_reference_names(plan) if one.startswith("_WB_REFERENCE = ") else one for one in frame.after]
    future = _joined(future for _, future in frames)
    quoted = any("__future__" in own and "dataclass" in own for own in texts)
    if quoted:
        imports = [*imports, "from sys import modules as _wb_modules"]
    head = [
        f"# {MARK} for {target.title}.{_EDIT[min(len(texts), 2)]}",
        *(f"# {line}".rstrip() for line in target.use(plan).splitlines()),
        *(_CERTIFICATE + line for line in plan.certificate),
        future + "\n".join(dict.fromkeys([*imports, *_imports_of(target, plan)])),
    ]
    blocks = [
        *_trimmed(frame.before, [*texts, *rest]),
        *([names_class(_classes(texts))] if any("_wb_names" in own for own in texts) else []),
    ]
    top = "\n".join(head) + "\n" + (_TYPING if quoted else "")
    texts_between = [
        _between(at, own, alone) for at, (own, alone) in enumerate(zip(texts, apart, strict=True))
    ]
    settings = SETTINGS + json.dumps(_settings(target, plan))
    return "\n\n\n".join([top.rstrip(), *blocks, *texts_between, *rest, behind.strip()]) + f"\n\n{settings}\n"


def _imports_of(target: Target, plan: ExportPlan) -> list[str]:
    """What the file imports from the target's package."""
    texts = [target.imports] if plan.parts else []
    texts += [target.own_judges.imports(plan)] if target.own_judges is not None and plan.own_judges else []
    ends = [text.rpartition("\n\n") for text in texts]  # the standard library's come before an empty line
    library = [line for own, _, _ in ends for line in own.splitlines()]
    return [*library, *([""] if library else []), *(line for *_, own in ends for line in own.splitlines())]


def _between(at: int, own: str, alone: bool) -> str:
    """A grader's text between its marks: unchanged, or as a string if it needs a separate namespace."""
    block = f"{BEGIN}\n{own}\n{END}\n"
    if not alone:
        return f"{block}_wb_own_{at} = grade"
    begin, end = quoted_block(own)
    return f"_wb_own_{at} = _wb_alone(\n    globals(),\n    {begin}\n{block}{end},\n)"


def decompose(text: str) -> tuple[Mapping[str, Any], list[str], tuple[str, ...]] | None:
    """A file's settings, graders' texts and certificate lines; None if it has no such lines."""
    lines = text.splitlines()
    settings = next((line for line in reversed(lines) if line.startswith(SETTINGS)), "")
    try:
        found = json.loads(settings.removeprefix(SETTINGS)) if settings else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    texts = [part.partition(f"\n{END}\n")[0] for part in text.split(f"{BEGIN}\n")[1:]]
    # Those of the header only: a grader's text may contain anything.
    head = text.partition(BEGIN)[0].splitlines()
    certificate = tuple(line.removeprefix(_CERTIFICATE) for line in head if line.startswith(_CERTIFICATE))
    return found, [unframed(own) + "\n" for own in texts], certificate


def _settings(target: Target, plan: ExportPlan) -> dict[str, Any]:
    graders = [{"name": part.name, "function": part.function, **part.settings} for part in plan.parts]
    rule = {} if plan.rule is None else {"combine": plan.rule.spec()}
    on_error = {} if plan.on_error is None else {"on_error": plan.on_error}
    reference = {"reference": plan.reference} if plan.reference else {}
    claims = {} if plan.claims is None else {"certificate": plan.claims}
    judges = [
        {"name": one.name, "function": one.function, "at": one.at, **one.settings} for one in plan.own_judges
    ]
    return {
        "target": target.name,
        "version": 1,
        **plan.title,
        **rule,
        **on_error,
        **reference,
        "graders": graders,
        **({"judges": judges} if judges else {}),
        **claims,
    }


def _classes(texts: Collection[str]) -> list[str]:
    """The classes that the graders' texts need before them."""
    return ["StringThread", *sorted(set().union(*map(outcomes_in, texts)))]


def _trimmed(pieces: Iterable[str], texts: Iterable[str]) -> list[str]:
    """The pieces, with unused methods removed from the thread class."""
    named = set(re.findall(r"\w+", "\n".join(texts)))
    return [
        _without_methods(piece, named) if piece.startswith("class StringThread") else piece
        for piece in pieces
    ]


def _without_methods(text: str, named: set[str]) -> str:
    (node,) = parse(text).body
    assert isinstance(node, ast.ClassDef)
    lines = text.split("\n")
    for method in reversed(node.body):
        if isinstance(method, ast.FunctionDef) and method.name not in {*named, "__init__"}:
            del lines[method.lineno - 2 : method.end_lineno]
    return "\n".join(lines)


def _joined(futures: Iterable[str]) -> str:
    lines = dict.fromkeys(line for future in futures for line in future.splitlines() if line)
    return "".join(f"{line}\n" for line in lines) + ("\n" if lines else "")


def _table(plan: ExportPlan, texts: list[str]) -> str:
    """The graders by name, each as a function that returns a result and never raises."""
    rows = [
        f"    {quoted(part.name)}: {_answering(part, own, at)},\n"
        for at, (part, own) in enumerate(zip(plan.parts, texts, strict=True))
    ]
    return "_wb_graders = {\n" + "".join(rows) + "}\n"


def _answering(part: Part, own: str, at: int) -> str:
    full = "_in_full" if outcomes_in(own) else ""
    answering = f"_wb_answering{full}(_wb_own_{at})"
    if "signature" in part.settings:
        chat = "_chat" if part.settings["signature"] == "trl" and _names_message_keys(own) else ""
        answering = f"_wb_answering_as(_wb_as_{part.settings['signature']}{chat}, _wb_own_{at})"
    known = ("verdict", "negate", "pass_threshold", "on_error", "opposite")
    settings = [f"{key}={part.settings[key]!r}" for key in known if key in part.settings]
    return f"_wb_entry({answering}, {', '.join(settings)})" if settings else answering


def _names_message_keys(text: str) -> bool:
    """Whether a reward function reads completions as messages, decided as in the sandbox: it names their keys."""
    nodes = ast.walk(parse(text))
    return any(isinstance(node, ast.Constant) and node.value in {"content", "role"} for node in nodes)


def _reference_names(plan: ExportPlan) -> str:
    """The line with the names of reference columns: the given one before the usual ones."""
    return f"_WB_REFERENCE = ({', '.join(map(quoted, dict.fromkeys([*filter(None, [plan.reference]), *LABEL_NAMES])))})"


def functions_of(plan: ExportPlan, template: str) -> str:
    """A target's lines for each grader: FUNCTION is its function's name, NAME its name as a literal."""
    return "".join(
        _filled(template, {"FUNCTION": part.function, "NAME": quoted(part.name)}) for part in plan.parts
    )


def whole_of(plan: ExportPlan, template: str) -> str:
    """A target's lines for the suite's score, if it has a rule: RULE is the rule's title, WHOLE the score's name."""
    if plan.rule is None or not plan.parts:
        return ""
    return _filled(
        template,
        {
            "RULE": f"The suite's {plan.rule.rule}{' without its judges' if plan.own_judges else ''}",
            "WHOLE": quoted(plan.whole),
        },
    )


def _filled(template: str, values: Mapping[str, str]) -> str:
    # In one pass: a grader's name may equal one of the keywords.
    return re.sub(rf"\b({'|'.join(values)})\b", lambda match: values[match[0]], template)


def quoted(name: str) -> str:
    """A text as a Python literal in double quotes."""
    return json.dumps(name, ensure_ascii=False)


def listed(names: Iterable[str]) -> str:
    """A list of texts as a Python literal."""
    return f"[{', '.join(map(quoted, names))}]"


def mapped(values: Mapping[str, float]) -> str:
    """A dict of numbers as a Python literal."""
    return "{" + ", ".join(f"{quoted(name)}: {value!r}" for name, value in values.items()) + "}"


def _combined(plan: ExportPlan, rule: CombiningRule | None) -> str:
    if isinstance(rule, Mean | Sum):
        called = "_wb_mean" if isinstance(rule, Mean) else "_wb_sum"
        return f"{called}(answers, {mapped(plan.weights)}{', strict=True' if rule.strict else ''})"
    if isinstance(rule, AllPass):
        blocking = [part.name for part in plan.parts if part.settings.get("severity", "error") == "error"]
        return f"_wb_all_pass(answers, {listed(blocking)})"
    if isinstance(rule, Formula):
        names, value = formula_in_python(rule.text)
        asked = names or tuple(part.name for part in plan.parts)
        return f"_wb_formula(answers, {listed(asked)}, {value})"
    return f"answers[{quoted(plan.parts[0].name)}]"


def named_reference(text: str) -> str:
    """The reference column that an exported file was written with; "" for none, and for any other file."""
    found = decompose(text)
    column = "" if found is None else found[0].get("reference", "")
    return column if isinstance(column, str) else ""
