r"""Assertions of promptfoo that are code: the code as written, and around it how promptfoo calls it and reads its result.

The code runs in the sandbox only. An assertion in JavaScript is one expression, or several lines with `return`; one in
Python likewise. Templates in inline code are filled row by row, in the sandbox, as promptfoo fills them before it runs
the code.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.errors import FormatError, WorkbenchError
from workbench.data.templates.nunjucks import has_tags, nunjucks
from workbench.data.templates.values import MissingVariableError, TemplateRunError
from workbench.formats.shared import Reading
from workbench.formats.shared.parsing import Node
from workbench.graders import FunctionGrader, Grader, ScriptGrader
from workbench.graders.capture.source_edit import parsed
from workbench.graders.rules.promptfoo_assertions import SPACES


@dataclass(frozen=True)
class ScriptCall:
    """How an assertion in code is called, and how its result is read.

    Attributes:
        name: Of the grader.
        inverse: Whether the type starts with `not-`.
        threshold: Of the assertion.
        is_json: Whether the completion is the JSON of the output, as `transform_script` makes it.
        config: Of the assertion, passed to the code.
    """

    name: str
    inverse: bool = False
    threshold: float | None = None
    is_json: bool = False
    config: Any = None


Pieces = list[str | tuple[str, ...]]
"""Texts, and paths of values, that make up a code with templates."""

_CONTEXT_JS = """
function _contextOf(input) {
  const vars = input.metadata;
  return { prompt: input.lastUserMessage || '', vars, test: { vars }, config: CONFIG,
    providerResponse: { output: input.response }, metadata: {} };
}
"""
_JUDGED_JS = """
function _judged(value) {
  const text = reason => typeof reason === 'string' ? reason : '';
  if (typeof value === 'boolean') {
    const pass = value !== INVERSE;
    return { score: pass ? 1 : 0, passed: pass, reason: 'the assertion returned ' + value };
  }
  if (typeof value === 'number') {
    const pass = (THRESHOLD === null ? value > 0 : value >= THRESHOLD) !== INVERSE;
    return { score: value, passed: pass, reason: 'the assertion returned ' + value };
  }
  const isResult = value !== null && typeof value === 'object' && typeof value.pass === 'boolean' &&
    typeof value.score === 'number' && typeof value.reason === 'string';
  if (!isResult) {
    throw new Error('the assertion must return a boolean, a number, or {pass, score, reason}, not ' +
      (value === null ? 'null' : typeof value));
  }
  return { score: value.score, passed: value.pass !== INVERSE, reason: text(value.reason),
    ...(value.namedScores ? { namedScores: value.namedScores } : {}) };
}
"""
_TEXT_JS = """
function _text(vars, path) {
  let value = vars;
  for (const key of path) value = value === null || value === undefined ? undefined : value[key];
  if (value === undefined) throw new Error('the variable ' + path.join('.') + ' has no value in this row');
  return value === null ? '' : String(value);
}
function _code(vars) { return PIECES.map(piece => typeof piece === 'string' ? piece : _text(vars, piece)).join(''); }
"""
_CALL_JS = """
function evaluate(input) {
  const context = _contextOf(input);
  const output = OUTPUT;
  const value = _assertion(output, context, { env: {} });
  const isPromise = value !== null && typeof value === 'object' && typeof value.then === 'function';
  return isPromise ? value.then(_judged) : _judged(value);
}
"""
_MODULE_JS = """
const _module = { exports: {} };
(function (module, exports) {
TEXT
})(_module, _module.exports);
function _assertion(output, context) {
  const found = _module.exports;
  if (NAME && typeof found[NAME] === 'function') return found[NAME](output, context);
  if (typeof found === 'function') return found(output, context);
  if (found && typeof found.default === 'function') return found.default(output, context);
  throw new Error('the file exports no function');
}
"""


def function_body(code: str) -> str:
    """The body of the function that promptfoo makes of inline JavaScript: several lines unchanged, one as its value."""
    code = code.rstrip(SPACES)
    if "\n" in code:
        return code
    trimmed = re.sub(rf";+[{SPACES}]*\Z", "", code.strip(SPACES))
    if not re.match(rf"(?:const|let|var)[{SPACES}]", trimmed):
        return f"return {trimmed}"
    at = _last_semicolon(trimmed)
    rest = trimmed[at + 1 :].strip(SPACES) if at >= 0 else ""
    return f"{trimmed[: at + 1]} return {rest}" if rest else trimmed


def _last_semicolon(code: str) -> int:
    """Index of the last semicolon outside of quotation marks; -1 for none."""
    quote, last, escaped = "", -1, False
    for at, sign in enumerate(code):
        if escaped:
            escaped = False
        elif sign == "\\":
            escaped = True
        elif sign in "'\"`" and quote in {"", sign}:
            quote = "" if quote else sign
        elif sign == ";" and not quote:
            last = at
    return last


_BODY_JS = """
function _body(code) {
  code = code.trimEnd();
  if (code.includes('\\n')) return code;
  const trimmed = code.trim().replace(/;+\\s*$/, '');
  if (!/^(const|let|var)\\s/.test(trimmed)) return 'return ' + trimmed;
  let quote = '', last = -1;
  for (let i = 0; i < trimmed.length; i++) {
    const sign = trimmed[i];
    if (sign === '\\\\') i++;
    else if (('\\'"`').includes(sign) && (quote === '' || quote === sign)) quote = quote ? '' : sign;
    else if (sign === ';' && !quote) last = i;
  }
  const rest = last < 0 ? '' : trimmed.slice(last + 1).trim();
  return rest ? trimmed.slice(0, last + 1) + ' return ' + rest : trimmed;
}
"""


def javascript(
    node: Node, code: str, reading: Reading, call: ScriptCall, values: Mapping[str, Any] | None
) -> Grader:
    """An inline assertion in JavaScript.

    Args:
        node: Its place, for messages.
        code: As written, templates included.
        reading: Of the document.
        call: How it is called.
        values: The values of the test's variables, if they are known; used for templates that the sandbox cannot fill.
    """
    _refuse_modules(node, code)
    pieces = _pieces(node, code, values)
    if isinstance(pieces, str):
        made = f"function _assertion(output, context, process) {{\n{function_body(pieces)}\n}}\n"
    else:
        filled = "new Function('output', 'context', 'process', _body(_code(context.vars)))(output, context, process)"
        made = _TEXT_JS.replace("PIECES", _literal(pieces)) + _BODY_JS
        made += f"function _assertion(output, context, process) {{ return {filled}; }}\n"
    return _script(node, made, reading, call)


def javascript_file(node: Node, text: str, function: str, reading: Reading, call: ScriptCall) -> Grader:
    """An assertion in a file of JavaScript that exports a function."""
    _refuse_modules(node, text)
    made = _MODULE_JS.replace("NAME", _literal(function)).replace("TEXT", _common(node, text))
    return _script(node, made, reading, call)


def _script(node: Node, made: str, reading: Reading, call: ScriptCall) -> Grader:
    output = "JSON.parse(input.response)" if call.is_json else "input.response"
    judged = _JUDGED_JS.replace("INVERSE", _literal(call.inverse)).replace(
        "THRESHOLD", _literal(call.threshold)
    )
    context = _CONTEXT_JS.replace("CONFIG", _literal(call.config or {}))
    text = made + context + judged + _CALL_JS.replace("OUTPUT", output)
    return trusted(
        node.made(ScriptGrader.from_source, text.lstrip("\n"), name=call.name, imported=True), reading
    )


def transform_script(node: Node, code: str, reading: Reading, *, is_json: bool) -> Grader:
    """The script that changes the output: its result has the text in `output`, or always its JSON for code to read."""
    _refuse_modules(node, code)
    text = f"function _transform(output, context, process) {{\n{transform_body(code)}\n}}\n"
    shown = "JSON.stringify(made)" if is_json else "typeof made === 'string' ? made : JSON.stringify(made)"
    text += (
        _CONTEXT_JS.replace("CONFIG", "{}")
        + """
function evaluate(input) {
  const made = _transform(input.response, _contextOf(input), { env: {} });
  if (made === null || made === undefined) throw new Error('the transform returned no value');
  return { score: 1, output: SHOWN };
}
""".replace("SHOWN", shown)
    )
    return trusted(node.made(ScriptGrader.from_source, text, name="transform", imported=True), reading)


def transform_body(code: str) -> str:
    """The body of a transform: several lines unchanged, one as its value."""
    return code if "\n" in code else f"return {code}"


def _literal(value: Any) -> str:
    # As in JSON, without the two line ends that older JavaScript does not allow in a text.
    return json.dumps(value, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


_MODULES = re.compile(
    r"\brequire\s*\(\s*['\"]([^'\"]+)|\bimport\s*\(\s*['\"]([^'\"]+)|^\s*import\s[^\n]*?['\"]([^'\"]+)['\"]",
    re.MULTILINE,
)


def _refuse_modules(node: Node, text: str) -> None:
    if match := _MODULES.search(text):
        module = next(filter(None, match.groups()))
        raise node.refuse(
            f"the sandbox has no modules, and this code loads {module!r}", found=match[0].strip(),
            hint="write the function without it, or as a Python assertion that uses the standard library",
        )  # fmt: skip


_EXPORT = re.compile(r"^([ \t]*)export\s+(default\s+)?(.*)$", re.MULTILINE)
_DECLARED = re.compile(
    r"(?:async\s+)?function\s*\*?\s*([\w$]+)|class\s+([\w$]+)|(?:const|let|var)\s+([\w$]+)"
)


def _common(node: Node, text: str) -> str:
    """A module of ES as one of CommonJS: exports become properties of `module.exports`."""
    names: list[str] = []

    def spelled(match: re.Match[str]) -> str:
        if match[2]:
            return f"{match[1]}module.exports.default = {match[3]}"
        declared = _DECLARED.match(match[3])
        if declared is None:
            raise node.refuse(
                "this form of export is not read", found=match[0].strip(), expected="export default function"
            )
        names.append(next(filter(None, declared.groups())))
        return f"{match[1]}{match[3]}"

    text = _EXPORT.sub(spelled, text)
    return text + "".join(f"\nmodule.exports.{name} = {name};" for name in names)


def _pieces(node: Node, code: str, values: Mapping[str, Any] | None) -> str | Pieces:
    """The code without templates; or with the values of a test; or in pieces that the sandbox fills row by row."""
    if not has_tags(code):
        return code
    try:
        template = nunjucks(code)
        pieces = template.plain_paths()
        if pieces is not None:
            return code if all(isinstance(piece, str) for piece in pieces) else pieces
        if values is not None:
            return template.render(values)
    except MissingVariableError as error:
        raise node.refuse(str(error.what), found=code, hint="give it a value in vars") from None
    except (FormatError, TemplateRunError) as error:
        raise node.refuse(
            f"the template in this code cannot be read: {error.what}", found=error.found or code
        ) from None
    raise node.refuse(
        "this template in code is filled only if its variables are known", found=code,
        hint="read the variable in the code: context.vars.name, or context['vars']['name'] in Python",
    )  # fmt: skip


_PYTHON_HEAD = "import inspect as _pf_inspect\nimport json as _pf_json\nimport re as _pf_re\n"
_PYTHON_TAIL = """

def _pf_result(value):
    if isinstance(value, str):
        if value.lower() in ("true", "false"):
            value = value.lower() == "true"
        elif value.startswith("{"):
            value = _pf_json.loads(value)
        else:
            number = _pf_re.match(r"\\s*[+-]?(?:Infinity|(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][+-]?\\d+)?)", value)
            value = float(number[0]) if number else None
    if hasattr(value, "__dataclass_fields__"):
        value = vars(value)
    if isinstance(value, bool):
        passed = value is not INVERSE
        return float(passed), passed, "the assertion returned " + str(value)
    if isinstance(value, (int, float)) and abs(value) < float("inf"):
        passed = (value > 0 if THRESHOLD is None else value >= THRESHOLD) is not INVERSE
        return float(value), passed, "the assertion returned " + str(value)
    found = dict(value) if isinstance(value, dict) else {}
    passed, score, reason = found.get("pass", found.get("pass_")), found.get("score"), found.get("reason")
    is_score = isinstance(score, (int, float)) and not isinstance(score, bool) and score == score
    if not (isinstance(passed, bool) and is_score and isinstance(reason, str)):
        raise TypeError("the assertion must return a boolean, a number, or {pass, score, reason}, not " + repr(value)[:80])
    if THRESHOLD is not None and score < THRESHOLD:
        passed = False
    return float(score), passed is not INVERSE, reason


def _pf_context(thread):
    columns = dict(thread.metadata or {})
    turns = thread.get_turns() if hasattr(thread, "get_turns") else []
    asked = [turn.content for turn in turns if turn.role == "user"]
    output = thread.completion() or ""
    return output, {"prompt": asked[-1] if asked else "", "vars": columns, "test": {"vars": columns}, "config": CONFIG,
                    "providerResponse": {"output": output}, "metadata": {}}


async def _pf_assertion(thread):
    from workbench import Grade

    output, context = _pf_context(thread)
    value = CALL
    value = await value if _pf_inspect.isawaitable(value) else value
    score, passed, reason = _pf_result(value)
    return Grade(score, passed=passed, reasoning=reason)
"""
_FILLED = """

_PF_PARTS = PIECES


def _pf_text(value, path):
    for key in path:
        value = value[int(key) if isinstance(value, list) and key.isdigit() else key]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _pf_filled(output, context):
    code = "".join(one if isinstance(one, str) else _pf_text(context["vars"], one) for one in _PF_PARTS)
    names = {}
    exec(_pf_module(code), names)
    return names["main"](output, context)


def _pf_module(code):
    if "\\n" not in code:
        return "import json\\n\\ndef main(output, context):\\n    return " + code + "\\n"
    indent = _pf_re.search(r"^(?!\\s*$)\\s+", code, _pf_re.MULTILINE)
    indent = indent[0] if indent else "    "
    return "import json\\n\\ndef main(output, context):\\n" + "\\n".join(indent + line for line in code.split("\\n")) + "\\n"
"""


def python_module(code: str) -> str:
    """The module that promptfoo makes of inline Python: a function `main` with its lines, or with the value of its only one."""
    if "\n" not in code:
        return f"import json\n\ndef main(output, context):\n    return {code}\n"
    indent = re.search(r"^(?!\s*$)\s+", code, re.MULTILINE)
    lines = "\n".join(f"{indent[0] if indent else '    '}{line}" for line in code.split("\n"))
    return f"import json\n\ndef main(output, context):\n{lines}\n"


def python(
    node: Node, code: str, reading: Reading, call: ScriptCall, values: Mapping[str, Any] | None
) -> Grader:
    """An inline assertion in Python; arguments as of `javascript`."""
    pieces = _pieces(node, code, values)
    if isinstance(pieces, str):
        return _function(node, python_module(pieces), "main", reading, call)
    made = _FILLED.replace("PIECES", repr(pieces))
    return _function(node, made, "_pf_filled", reading, call)


def python_file(node: Node, text: str, function: str, reading: Reading, call: ScriptCall) -> Grader:
    """An assertion in a Python file: its function `get_assert`, or the named one."""
    function = function or "get_assert"
    tree = parsed(text)
    names = _top_level(tree) if tree is not None else {function}
    if function not in names:
        raise node.refuse(
            f"the file has no function {function!r}",
            found=", ".join(sorted(names)),
            expected="def get_assert(output, context)",
        )
    if "grade" in names:
        # The wrapper is called grade in the sandbox, which would replace the file's own.
        text = f"_pf_names = {{}}\nexec({text!r}, _pf_names)\n{function} = _pf_names[{function!r}]\n"
    return _function(node, text, function, reading, call)


def _top_level(tree: ast.Module) -> set[str]:
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }


def _function(node: Node, text: str, called: str, reading: Reading, call: ScriptCall) -> Grader:
    tail = _PYTHON_TAIL.replace("INVERSE", repr(call.inverse)).replace("THRESHOLD", repr(call.threshold))
    tail = tail.replace("CONFIG", repr(call.config or {})).replace(
        "CALL", f"{called}({'_pf_json.loads(output)' if call.is_json else 'output'}, context)"
    )
    lines = text.splitlines(keepends=True)
    future = "".join(line for line in lines if line.startswith("from __future__"))
    body = "".join(line for line in lines if not line.startswith("from __future__"))
    module = future + _PYTHON_HEAD + body.rstrip("\n") + "\n" + tail
    try:
        grader = FunctionGrader.from_source(
            module, name=call.name, imported=True, signature="thread", function="_pf_assertion"
        )
    except (WorkbenchError, ValueError, TypeError) as error:
        raise node.refuse("this Python cannot be captured", found=str(error).splitlines()[0]) from error
    return trusted(replace(grader, name=call.name), reading)


def trusted(grader: Any, reading: Reading) -> Grader:
    """The grader, allowed to run unconfined if the caller trusts the file."""
    made: Grader = grader.trusted() if reading.trust else grader
    return made
