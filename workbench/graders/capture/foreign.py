"""Detects which platform's signature a grade function has, from its text.

`(sample, submission)` is Letta Evals', `(sample, item)` OpenAI's, and a function under `@osmosis_reward` or
`@osmosis_rubric` is Osmosis' older one. Trainers' reward functions are detected by their parameters: TRL's `prompts` and
`completions`, verl's `data_source` and `solution_str` (or first `solution_str, ground_truth`, as in verl's own scores of
its datasets: without Osmosis' decorator, which accepts only texts, the label is not converted), OpenRLHF's `queries`,
`prompts` and `labels`. Together's `prediction, target` is too generic, so its signature must be named. Everything else
counts as `(thread)`, and the checks report what is wrong with it.
"""

from __future__ import annotations

import ast

from workbench.graders.capture.source_edit import Function, parsed, statements

COMPATIBLE = frozenset({"letta_evals", "osmosis_ai"})
"""Packages for which the sandbox has replacement classes."""

_BY_NAMES: dict[tuple[str, ...], str] = {("sample", "submission"): "letta", ("sample", "item"): "openai"}
_LEGACY = frozenset({"osmosis_reward", "osmosis_rubric"})
_MARKS = _LEGACY | {"grader"}


def signature_of(text: str, name: str = "grade") -> str:
    """The signature of the last top-level function of that name; "thread" if there is none."""
    tree = parsed(text)
    nodes = statements(tree.body) if tree is not None else ()
    functions = [node for node in nodes if isinstance(node, Function) and node.name == name]
    return _signature(functions[-1]) if functions else "thread"


def candidates(functions: list[Function]) -> list[Function]:
    """Candidates for the grade function of a module, if none is called `grade`.

    Functions with a platform's decorator; else the async ones; else those with another platform's
    parameters, which a helper might have too.
    """
    foreign = [node for node in functions if _signature(node) != "thread"]
    marked = [node for node in foreign if {_last(mark) for mark in node.decorator_list} & _MARKS]
    async_functions: list[Function] = [node for node in functions if isinstance(node, ast.AsyncFunctionDef)]
    return marked or async_functions or foreign


def signature_of_target(node: Function) -> str:
    """The trainer whose reward functions have a definition's parameters: "" if there is none."""
    names = [arg.arg for arg in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]]
    if (
        names[:1] in (["prompts"], ["completions"])
        and "completions" in names
        and (len(names) > 1 or node.args.kwarg)
    ):
        return "trl"
    if {"data_source", "solution_str"} <= set(names):
        return "verl"
    if {"queries", "prompts", "labels"} <= set(names):
        return "openrlhf"
    return "together" if names == ["prediction", "target"] else ""


def _signature(node: Function) -> str:
    names = tuple(arg.arg for arg in [*node.args.posonlyargs, *node.args.args])
    if (target := signature_of_target(node)) and target != "together":
        return target
    marks = {_last(mark) for mark in node.decorator_list}
    if marks & _LEGACY:
        return "osmosis"
    if names[:2] == ("solution_str", "ground_truth"):
        # Osmosis' functions have its decorator; verl's functions of one dataset begin with these two.
        return "verl"
    return _BY_NAMES.get(names, "thread")


def _last(mark: ast.expr) -> str:
    target = mark.func if isinstance(mark, ast.Call) else mark
    return ast.unparse(target).rpartition(".")[2] if isinstance(target, ast.Name | ast.Attribute) else ""
