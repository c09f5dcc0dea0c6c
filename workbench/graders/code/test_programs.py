"""The programs that run a completion's code and its tests, each in its own worker, and the values that pass between them.

Code under test never shares a process with its tests: one worker has the code and gets calls, another has the tests and gets
results. Values pass as plain data (numbers, texts, lists, tuples, dicts, sets), so that a result cannot compare itself.
"""

from __future__ import annotations

import json
from typing import Any

_VALUES = '''
def encoded(value, depth=0):
    """A plain value as JSON: only exact types, since a subclass may define how it compares."""
    kind = type(value)
    if depth > 100:
        raise TypeError("nested too deeply")
    if value is None or kind in (bool, int, str):
        return value if kind is not int or abs(value) < 2**53 else {"int": str(value)}
    if kind is float:
        return {"float": repr(value)}
    if kind in (list, tuple, set, frozenset):
        return {kind.__name__: [encoded(one, depth + 1) for one in value]}
    if kind is dict:
        return {"dict": [[encoded(key, depth + 1), encoded(one, depth + 1)] for key, one in value.items()]}
    if kind is bytes:
        return {"bytes": value.hex()}
    raise TypeError(f"a value of type {kind.__name__} is not plain data")


def decoded(value):
    if not isinstance(value, dict):
        return value
    (kind, inner), = value.items()
    if kind == "dict":
        return {decoded(key): decoded(one) for key, one in inner}
    if kind in ("list", "tuple", "set", "frozenset"):
        return {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[kind](map(decoded, inner))
    return {"float": float, "int": int, "bytes": bytes.fromhex}[kind](inner)

'''

CODE = (
    """import io
import json
import sys

from workbench import Grade
"""
    + _VALUES
    + '''
async def grade(thread):
    """Runs the code of a request once for its input, or its calls in order."""
    request = json.loads(thread.completion())
    before = sys.stdout, sys.stdin
    sys.stdout = out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    sys.stdin = io.TextIOWrapper(io.BytesIO(request.get("input", "").encode()), encoding="utf-8")
    reply = {}
    try:
        space = {"__name__": "__main__" if "input" in request else "completion"}
        exec(compile(request["code"], "completion", "exec"), space)
        for name, args, kwargs in request.get("calls", ()):
            if name not in space:
                raise NameError(f"the code does not define {name!r}")
            args, kwargs, reply = decoded(args), decoded(kwargs), {}
            try:
                reply = {"value": encoded(space[name](*args, **kwargs)), "args": encoded(list(args))}
            except Exception as error:
                reply = {"error": [type(error).__name__, str(error)[:200]]}
    except SystemExit:
        pass
    except BaseException as error:
        reply = {"fault": f"{type(error).__name__}: {error}"[:300]}
    finally:
        sys.stdout, sys.stdin = before
    if "input" in request:
        reply["output"] = out.buffer.getvalue()[:60_000].decode("utf-8", "replace")
    return Grade(0.0, reasoning=json.dumps(reply))
'''
)
"""Runs a completion's code: `{"code", "input"}` or `{"code", "calls"}`; the outcome of the last call counts."""

TESTS = (
    """import ast
import builtins
import json

from workbench import Grade
"""
    + _VALUES
    + '''
class Pending(BaseException):
    """A call whose result is not known yet."""


def stub(name, results, state):
    """A function that returns recorded results, and requests the first one that is not recorded."""

    def call(*args, **kwargs):
        at = state["at"]
        state["at"] += 1
        if at >= len(results):
            state["need"] = [name, encoded(list(args)), encoded(kwargs)]
            raise Pending
        outcome = results[at]
        if "error" in outcome:
            kind = getattr(builtins, outcome["error"][0], None)
            is_error = isinstance(kind, type) and issubclass(kind, Exception)
            raise (kind if is_error else RuntimeError)(outcome["error"][1])
        for own, after in zip(args, decoded(outcome["args"])):
            if type(own) is type(after) is list:
                own[:] = after
            elif type(own) is type(after) and type(own) in (dict, set):
                own.clear()
                own.update(after)
        return decoded(outcome["value"])

    return call


def part(tree, index):
    """The statements of one test: an assert and all other statements before it; all statements if there is no assert."""
    places = [at for at, node in enumerate(tree.body) if isinstance(node, ast.Assert)]
    if not places:
        return tree.body
    return [node for at, node in enumerate(tree.body) if at == places[index] or (at < places[index] and at not in places)]


def is_check(tree):
    """Whether the tests define check and do not call it themselves."""
    defines = any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in tree.body)
    calls = (node.value.func for node in tree.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
    return defines and not any(isinstance(called, ast.Name) and called.id == "check" for called in calls)


async def grade(thread):
    """Runs one test with the results known so far; without an index, counts the tests."""
    request = json.loads(thread.completion())
    try:
        tree = ast.parse(request["tests"])
    except SyntaxError as error:
        return Grade(0.0, reasoning=json.dumps({"invalid": f"SyntaxError: {error}"}))
    if "index" not in request:
        count = sum(isinstance(node, ast.Assert) for node in tree.body)
        return Grade(0.0, reasoning=json.dumps({"count": max(count, 1 if tree.body else 0)}))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - set(dir(builtins))
    state = {"at": 0, "need": None}
    entry = request["entry"]
    space = {name: stub(name, request["results"], state) for name in names | {entry}}
    space["candidate"] = space[entry]
    tree.body = part(tree, request["index"])
    reply = {"passed": True}
    try:
        exec(compile(tree, "tests", "exec"), space)
        if is_check(tree):
            space["check"](stub(entry, request["results"], state))
    except Pending:
        pass
    except AssertionError as error:
        reply = {"failed": f"AssertionError: {error}".rstrip(": ")[:200]}
    except Exception as error:
        reply = {"failed": f"{type(error).__name__}: {error}"[:200]}
    if state["need"] is not None:
        reply = {"need": state["need"]}
    return Grade(0.0, reasoning=json.dumps(reply))
'''
)
"""Runs tests that call functions of a completion: `{"tests", "entry"}` counts them, with `index` and `results` one of them is run."""

_SCRIPT = """
;function evaluate(input) {
  const request = JSON.parse(input.response);
  const [name, args] = request.calls[request.calls.length - 1];
  const shown = (value) => {
    if (typeof value === "number" && !Number.isFinite(value)) return { float: String(value) };
    if (value === undefined) return null;
    if (Array.isArray(value)) return { list: value.map(shown) };
    if (value !== null && typeof value === "object") return { dict: Object.entries(value).map(([key, one]) => [key, shown(one)]) };
    if (["number", "string", "boolean"].includes(typeof value) || value === null) return value;
    throw new TypeError("a value of type " + typeof value + " is not plain data");
  };
  let reply;
  try {
    reply = { value: shown((0, eval)(name)(...args)) };
  } catch (error) {
    reply = { error: [String(error && error.name), String(error && error.message).slice(0, 200)] };
  }
  return { score: 0, reason: JSON.stringify(reply) };
}
"""


def script(code: str) -> str:
    """A script that calls functions of a completion's JavaScript."""
    return f"{code}\n{_SCRIPT}"


def encoded(value: Any) -> Any:
    """A JSON value of a row in the form in which it is passed to code.

    Raises:
        TypeError: It is not plain data.
    """
    if value is None or isinstance(value, bool | str) or type(value) is int:
        return value if not isinstance(value, int) or abs(value) < 2**53 else {"int": str(value)}
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, list | tuple):
        return {"list" if isinstance(value, list) else "tuple": [encoded(one) for one in value]}
    if isinstance(value, dict):
        return {"dict": [[encoded(key), encoded(one)] for key, one in value.items()]}
    raise TypeError(f"a value of type {type(value).__name__} is not plain data")


def json_value(value: Any) -> Any:
    """A value that code returned, as JSON: tuples as lists, sets as sorted lists.

    Raises:
        ValueError: It has no such form.
    """
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ValueError("not a value")
    kind, inner = next(iter(value.items()))
    if kind in {"list", "tuple"}:
        return [json_value(one) for one in inner]
    if kind in {"set", "frozenset"}:
        return sorted((json_value(one) for one in inner), key=lambda one: json.dumps(one, sort_keys=True))
    if kind == "dict":
        return {_key(json_value(key)): json_value(one) for key, one in inner}
    if kind in {"float", "int"}:
        return float(inner) if kind == "float" else int(inner[:5000])
    raise ValueError(f"a value of type {kind} has no JSON form")


def _key(key: Any) -> str:
    return key if isinstance(key, str) else json.dumps(key)
