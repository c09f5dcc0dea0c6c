"""Calls that read names only when they run: `eval` and `exec` anywhere, `vars`, `locals`, `dir` in a module.

A literal text is analysed like code. A call with a separate namespace reads nothing of the
notebook. Any other call may read any name, as `globals()` may, and is refused. Inside a function `vars()`
and `locals()` see that function's variables only, so they are allowed.

Other ways to read a module's names are not detected: frames, `sys.modules["__main__"]`, `builtins.eval`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from workbench.core.python_text import parse
from workbench.graders.capture import refusals
from workbench.graders.capture.names import Names, names_in
from workbench.graders.capture.statements import parsed

__all__ = ["EVALUATES", "literals_read"]

EVALUATES = frozenset({"eval", "exec"})
_SHOWS = frozenset({"vars", "locals", "dir"})


def literals_read(text: str, names: Names, asker: str) -> set[str]:
    """Names that the literal texts evaluated in a statement may read; they may be its own variables.

    Args:
        text: The statement.
        names: What it reads from its module.
        asker: Who it belongs to, for messages.

    Raises:
        CaptureError: A call that may read any name.
    """
    evaluates, shows = EVALUATES & (names.eager | names.late), _SHOWS & names.eager
    if not evaluates and not shows:
        return set()
    tree = parse(text)
    for call in _calls(tree, shows) if not isinstance(tree.body[0], ast.ClassDef) else ():
        if not call.args:
            raise refusals.not_followed(_name(call), asker)
    direct = list(_calls(tree, evaluates))
    if len(direct) < sum(isinstance(node, ast.Name) and node.id in evaluates for node in ast.walk(tree)):
        raise refusals.not_followed(min(evaluates), asker)  # passed as a value, as in map(eval, texts)
    return {name for call in direct for name in _reads(call, asker)}


def _calls(tree: ast.AST, names: frozenset[str]) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            yield node


def _name(call: ast.Call) -> str:
    assert isinstance(call.func, ast.Name)
    return call.func.id


def _reads(call: ast.Call, asker: str) -> set[str]:
    if _has_own_namespace(call):
        return set()
    first = call.args[0] if call.args else None
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        raise refusals.not_followed(_name(call), asker)
    if parsed(first.value.strip()) is None:
        return set()  # invalid code fails in the same way in the notebook
    names = names_in(first.value.strip())
    read = {*names.eager, *names.late}
    if read & (EVALUATES | _SHOWS | {"globals"}):
        raise refusals.not_followed(_name(call), asker)
    return read


def _has_own_namespace(call: ast.Call) -> bool:
    keywords = [keyword.value for keyword in call.keywords if keyword.arg == "globals"]
    namespaces = [*call.args[1:2], *keywords]
    return any(not (isinstance(part, ast.Constant) and part.value is None) for part in namespaces)
