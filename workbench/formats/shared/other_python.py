"""Python files without a workbench grader: what they contain instead, and which system it was written for.

Trainers and evaluators use functions with other parameters. Such a file is refused with the function's name,
because the imported grader would fail on every row.

Source: the signatures of TRL 1.16 (GRPO), verl 0.9, inspect_ai 0.3, LangSmith 0.15, MLflow 3.18, promptfoo 0.121,
OpenRLHF 0.11, verifiers 0.4, and Braintrust autoevals 0.4.
"""

from __future__ import annotations

import ast

from workbench.core.errors import FormatError
from workbench.graders.capture.foreign import candidates
from workbench.graders.capture.moduletext import grade_function
from workbench.graders.capture.statements import parsed, statements

__all__ = ["WHAT_IS_READ", "check_grader", "no_grader"]

WHAT_IS_READ = (
    "a function grade(thread), functions under @wb.grader, a function of Letta's, OpenAI's or Osmosis' parameters, "
    "adaptive.graders.create calls, or an Osmosis Grader class"
)

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_MAX_NAMES = 3

_BY_PARAMETERS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"data_source", "solution_str"}), "a compute_score function of verl"),
    (frozenset({"state", "target"}), "the score function of an inspect_ai scorer"),
    (frozenset({"queries", "prompts", "labels"}), "a reward function of OpenRLHF"),
    (frozenset({"outputs", "reference_outputs"}), "an evaluator of LangSmith"),
    (frozenset({"outputs", "expectations"}), "a scorer of MLflow"),
    (frozenset({"inputs", "outputs"}), "an evaluator of LangSmith, or a scorer of MLflow"),
    (frozenset({"run", "example"}), "an evaluator of LangSmith"),
    (frozenset({"output", "context"}), "an assertion of promptfoo"),
    (frozenset({"task", "trace"}), "a reward of verifiers"),
    (frozenset({"output", "expected"}), "a scorer of Braintrust"),
)
"""Parameters that identify a function's system, in the order they are looked for."""


def check_grader(text: str, where: str) -> None:
    """Refuse Python text that has no grade function, or several candidates.

    Raises:
        FormatError: Names what was found, what it resembles, and what is supported.
    """
    tree = parsed(text)
    if tree is None:
        return  # the syntax check reports the error
    meant = grade_function(tree, None)
    functions = [node for node in statements(tree.body) if isinstance(node, _Function)]
    several = [node.name for node in candidates(functions)] if meant is None else []
    if len(several) > 1:
        raise FormatError(
            f"several functions of this Python {_kind(where)} could be the grader", where=where,
            found=", ".join(several), hint="call one of them grade, or put @wb.grader over each grader",
        )  # fmt: skip
    if meant is None or _looks_like(meant):
        raise no_grader(text, where)


def no_grader(text: str, where: str, hint: str = "") -> FormatError:
    """The error of Python without a grade function.

    Args:
        text: What was read; it parses.
        where: Its name.
        hint: What else to do.
    """
    tree = parsed(text) or ast.Module([], [])
    functions = [node for node in tree.body if isinstance(node, _Function)]
    classes = [f"class {node.name}" for node in tree.body if isinstance(node, ast.ClassDef)]
    names = [_signature(node) for node in functions] or classes
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    advice = "write async def grade(thread) around it that returns one number per conversation"
    return FormatError(
        f"this Python {_kind(where)} contains no grader", where=where,
        found=", ".join(names[:_MAX_NAMES]) + more or "no function at its top level", expected=WHAT_IS_READ,
        hint="; ".join(filter(None, [advice if functions else "", hint])),
    )  # fmt: skip


def _kind(where: str) -> str:
    return "file" if where.lower().endswith(".py") else "text"


def _signature(node: _Function) -> str:
    like = _looks_like(node)
    return f"{node.name}({_parameters(node)})" + (f", which looks like {like}" if like else "")


def _parameters(node: _Function) -> str:
    parameters = ast.unparse(node.args)
    return parameters if len(parameters) <= 80 else f"{parameters[:79]}…"


def _looks_like(node: _Function) -> str:
    """The system a function was written for, "" if unknown."""
    args = node.args
    names = {arg.arg for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs]}
    marks = {ast.unparse(mark).partition("(")[0].rpartition(".")[2] for mark in node.decorator_list}
    if "scorer" in marks:
        return "a scorer of MLflow" if names else "a scorer of inspect_ai"
    if "completions" in names and (len(names) > 1 or args.kwarg):
        return "a reward function of TRL"
    return next((system for parameters, system in _BY_PARAMETERS if parameters <= names), "")
