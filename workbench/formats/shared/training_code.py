"""Rewards in a training script or a notebook: the code of its cells, what one function reads, packages it lacks here, weights, and cautions.

Cautions state what a user should know about a suite that was read although nothing in it is wrong, by grader and setting.
"""

from __future__ import annotations

import ast
import json
import math
import re
import sys

from workbench.formats.shared import Loss
from workbench.formats.shared.named_functions import CALLED_BY_NAMES
from workbench.graders import FunctionGrader
from workbench.graders.capture.source_edit import first_line, parsed, targets
from workbench.graders.serialization import parts
from workbench.run.suite import Suite

_KNOWN = frozenset({
    "workbench", "adaptive_harmony", "adaptive", "letta_evals", "osmosis_ai",
})  # fmt: skip
"""Packages whose names a sandbox provides to graders."""
_OTHER_CELLS = re.compile(r"%%(?!capture|time\b|timeit|writefile|python\b|prun)")


def notebook_text(text: str) -> str | None:
    """The Python of a notebook's code cells, without magics and shell commands; None for any other text."""
    if text.lstrip()[:1] != "{" or '"nbformat"' not in text:
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    cells = document.get("cells") if isinstance(document, dict) and "nbformat" in document else None
    if not isinstance(cells, list):
        return None
    sources = [
        cell.get("source") for cell in cells if isinstance(cell, dict) and cell.get("cell_type") == "code"
    ]
    texts = ["".join(source) if isinstance(source, list) else source for source in sources]
    return "\n\n".join(_without_magics(cell) for cell in texts if isinstance(cell, str)) + "\n"


def _without_magics(cell: str) -> str:
    if _OTHER_CELLS.match(cell.lstrip()):
        return ""
    lines = cell.splitlines()
    # An indented command is the body of a block, which needs a statement.
    kept = [re.sub(r"^(\s+)[%!].*$", r"\1pass", line) for line in lines if not re.match(r"[%!?]", line)]
    made = "\n".join(kept)
    return made if parsed(made) is not None else ""


def foreign_imports(text: str) -> list[str]:
    """Packages that a module imports and the sandbox does not have, in order."""
    tree = parsed(text)
    found: dict[str, None] = {}
    for node in ast.walk(tree) if tree is not None else ():
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names = [node.module]
        for name in names:
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names and top not in _KNOWN:
                found[top] = None
    return list(found)


def essential(text: str, name: str) -> str:
    """The module with one function and what it reads, if the rest of it imports packages that the sandbox lacks.

    Args:
        text: The module.
        name: The function.
    """
    tree = parsed(text)
    if tree is None or not foreign_imports(text):
        return text
    bound = [(node, targets(node) | _inner_targets(node)) for node in tree.body]
    needed, wanted = {name}, set[int]()
    pending = [name]
    while pending:
        current = pending.pop()
        for at, (node, names) in enumerate(bound):
            if current in names and at not in wanted:
                wanted.add(at)
                reads = {
                    one.id
                    for one in ast.walk(node)
                    if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
                }
                pending += reads - needed
                needed |= reads
    kept = [node for at, (node, _) in enumerate(bound) if at in wanted or _is_future(node)]
    lines = text.splitlines()
    made = "\n\n".join("\n".join(lines[first_line(node) - 1 : node.end_lineno]) for node in kept) + "\n"
    return made if parsed(made) is not None else text


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _inner_targets(node: ast.stmt) -> set[str]:
    """Names that a block binds, such as an import in a `try`."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return set()
    return {
        name
        for inner in ast.walk(node)
        if isinstance(inner, ast.stmt) and inner is not node
        for name in targets(inner)
    }


def trainer_weights(text: str) -> dict[str, float]:
    """The weight of each reward that a script passes to TRL, by the function's name; none without literal `reward_weights`.

    Args:
        text: The module, with `reward_funcs=[near, short]` and `reward_weights=[1.0, 0.5]` as arguments, or assigned to these names.
    """
    tree = parsed(text)
    if tree is None:
        return {}
    functions, weights = _only_list(tree, "reward_funcs"), _only_list(tree, "reward_weights")
    names = [node.id for node in functions if isinstance(node, ast.Name)]
    numbers = [value for node in weights if (value := _literal(node)) is not None]
    is_whole = len(names) == len(functions) and len(numbers) == len(weights)
    if (
        not is_whole
        or len(names) != len(numbers)
        or len(set(names)) < len(names)
        or min(numbers, default=0) < 0
    ):
        return {}
    return dict(zip(names, numbers, strict=True))


def _only_list(tree: ast.Module, name: str) -> list[ast.expr]:
    """The elements of the only list that is passed or assigned under a name; none if there are several, or none."""
    values = [
        node.value
        for node in ast.walk(tree)
        if (isinstance(node, ast.keyword) and node.arg == name)
        or (isinstance(node, ast.Assign) and targets(node) == {name})
    ]
    lists = [value.elts for value in values if isinstance(value, ast.List)]
    return lists[0] if len(lists) == 1 else []


def _literal(node: ast.expr) -> float | None:
    """A finite number; None for any other expression."""
    try:
        value = ast.literal_eval(node)
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None
    return number if math.isfinite(number) else None


def has_weights(text: str) -> bool:
    """Whether a script has `reward_weights`, also as an expression that is not read."""
    return re.search(r"\breward_weights\b", text) is not None


_FILLING = 'from release 0.17 on Letta substitutes them: set release="0.17" if the file is of such a release'


def cautions(suite: Suite) -> list[Loss]:
    """Placeholders that look effective but are not substituted, packages that the sandbox lacks, and transforms of promptfoo's tests."""
    judges = {judge.name: judge for grader in suite.graders for judge in parts(grader)}
    holes = {name: getattr(judge, "unfilled_placeholders", ()) for name, judge in judges.items()}
    effect = (
        "is sent literally: this release does not substitute placeholders in rubrics, and appends the prompt, "
        "the reference and the completion in separate sections"
    )
    sources = {
        part.name: part.source.text
        for grader in suite.graders
        for part in parts(grader)
        if isinstance(part, FunctionGrader)
    }
    called = {
        one.name: one.description for one in suite.graders if one.description.startswith(CALLED_BY_NAMES)
    }
    missing = {name: foreign_imports(text) for name, text in sources.items()}
    changing = [
        part.name for one in suite.graders for part in parts(one) if getattr(part, "is_of_test", False)
    ]
    return [
        *(Loss(name, "transform", _CHANGED, _FROM_RESULTS) for name in dict.fromkeys(changing)),
        *(Loss(name, "parameters", text) for name, text in called.items()),
        *(
            Loss(name, "prompt", f"{', '.join(names)} {effect}", _FILLING)
            for name, names in holes.items()
            if names
        ),
        *(
            Loss(
                name,
                "imports",
                f"the sandbox does not have {', '.join(names)}",
                f"{_OUTSIDE}wb.read_graders('MODULE:{name}')",
            )
            for name, names in missing.items()
            if names
        ),
    ]


_CHANGED = "of a test changes the rows' completions, which in results of promptfoo are changed already"
_FROM_RESULTS = "load the graders from the results, too: wb.load('results.json')"
_OUTSIDE = (
    "rows fail unless the import is optional; to run the function in this process with your packages, name it by its module "
    "instead of its file: "
)
