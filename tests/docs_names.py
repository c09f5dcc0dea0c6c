"""Every public name with its signature and the first sentence of its docstring, out of the code itself."""

from __future__ import annotations

import enum
import inspect
import re
import types
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import workbench as wb

__all__ = ["names_section"]

GROUPS = {
    "Write a grader": "grader Grade Skip capture validate Grader",
    "Your rows": "read_samples Samples Sample StringThread demo_samples",
    "Several graders and how they combine": "Suite Entry",
    "Read results": "Report read_report agreement compare forecast forecast_cost plot_scores probe certificate",
    "Call a model": "ScriptedClient Budget",
    "Files and other platforms": "save load loads dumps export convert",
    "Keep things": "open_store",
    "Train on it": "reward",
    "In a notebook": "Workbench",
    "This machine": "sandbox_info",
}
"""Headings and their names. Kinds of graders and rules are found by their class; a new name stands under the last heading."""
_WIDE = 100


def names_section() -> str:
    """All of it as markdown: a heading a group, below it a heading a name."""
    found = {name: getattr(wb, name) for name in wb.__all__}
    grouped: dict[str, list[str]] = {}
    for name, value in found.items():
        grouped.setdefault(_group(name, value), []).append(name)
    order = [*GROUPS, "Kinds of graders", "Rules and gates", "Modules", "Other names"]
    parts = []
    for title in sorted(grouped, key=order.index):
        names = sorted(grouped[title], key=lambda name: _place(title, name))
        parts += [f"## {title}", *(_entry(name, found[name]) for name in names)]
    return "\n\n".join(parts)


def _group(name: str, value: Any) -> str:
    for title, names in GROUPS.items():
        if name in names.split():
            return title
    if isinstance(value, types.ModuleType):
        return "Modules"
    if isinstance(value, type) and issubclass(value, wb.Grader):
        return "Kinds of graders"
    rule = isinstance(value, type) and ".combine" in value.__module__
    return "Rules and gates" if rule else "Other names"


def _place(title: str, name: str) -> tuple[int, str]:
    names = GROUPS.get(title, "").split()
    return (names.index(name) if name in names else len(names), name.lower())


def _entry(name: str, value: Any) -> str:
    parts = [f"### `{name}`", _signature(name, value), _summary(value), _members(name, value)]
    return "\n\n".join(filter(None, parts))


def _members(name: str, value: Any) -> str:
    if isinstance(value, types.ModuleType):
        members = {member: getattr(value, member) for member in sorted(getattr(value, "__all__", []))}
        return "\n".join(_row(_called(f"{name}.{member}", found), found) for member, found in members.items())
    if isinstance(value, enum.EnumType):
        return "Members: " + ", ".join(f"`{member.name}`" for member in value)
    if isinstance(value, type) and (value is wb.Grader or not issubclass(value, wb.Grader)):
        return "\n".join(_row(member, found) for member, found in _methods(value))
    return ""


def _called(name: str, value: Any) -> str:
    """A module's member with its parameters' names; an exception is named alone."""
    exception = isinstance(value, type) and issubclass(value, BaseException)
    return name if exception or not callable(value) else f"{name}({_names(value)})"


def _row(name: str, value: Any) -> str:
    return f"- `{name}`: {_summary(value)}"


def _methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Its public methods and properties, with their parameters' names, in the order they are written in."""
    own = {field.name for field in fields(cls)} if is_dataclass(cls) else set()
    # A base of this class alone, such as that of `Suite`, is a part of it.
    alone = [base for base in cls.__bases__ if is_dataclass(base) and base.__subclasses__() == [cls]]
    for name, value in (item for part in (*alone, cls) for item in vars(part).items()):
        plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        repeats = (inspect.getdoc(plain) or "See `").startswith("See `")  # nothing of its own to say
        if name.startswith("_") or name in own or repeats:
            continue
        if isinstance(plain, types.FunctionType):
            yield f".{name}({_names(plain)})", plain
        elif hasattr(plain, "__get__") and not isinstance(plain, type):
            yield f".{name}", plain


def _names(function: Callable[..., Any]) -> str:
    parameters = list(inspect.signature(function).parameters.values())
    first = parameters[:1] if parameters and parameters[0].name in {"self", "cls"} else []
    named = [parameter for parameter in parameters[len(first) :] if not parameter.name.startswith("_")]
    shown = [_bare(parameter) for parameter in named]
    keyword = next(
        (at for at, parameter in enumerate(named) if parameter.kind is parameter.KEYWORD_ONLY), None
    )
    if keyword is not None and not any(parameter.kind is parameter.VAR_POSITIONAL for parameter in named):
        shown.insert(keyword, "*")
    return ", ".join(shown)


def _bare(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    plain = parameter.default is parameter.empty or stars
    return f"{stars}{parameter.name}" if plain else f"{parameter.name}={_default(parameter.default)}"


def _signature(name: str, value: Any) -> str:
    """How it is called, as a block; "" for what is not called, and for exceptions and lists of words."""
    if not callable(value) or isinstance(value, enum.EnumType):
        return ""
    parameters = [one for one in inspect.signature(value).parameters.values() if not one.name.startswith("_")]
    shown = [*_parts(parameters)]
    line = f"wb.{name}({', '.join(shown)})"
    if len(line) > _WIDE:
        line = f"wb.{name}(\n" + "".join(f"    {part},\n" for part in shown) + ")"
    return f"```py\n{line}\n```"


def _parts(parameters: list[inspect.Parameter]) -> Iterator[str]:
    starred = False
    for one in parameters:
        if one.kind is one.VAR_POSITIONAL:
            starred = True
        elif one.kind is one.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        yield _parameter(one)


def _parameter(one: inspect.Parameter) -> str:
    stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
    annotation = "" if one.annotation is one.empty else f": {_annotation(one.annotation)}"
    default = "" if one.default is one.empty else f" = {_default(one.default)}"
    return f"{stars}{one.name}{annotation}{default}"


def _annotation(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    inner = re.fullmatch(r"InitVar\[(.*)\]", text)
    return inner[1] if inner else text


def _default(value: Any) -> str:
    text = repr(value)
    return "..." if text.startswith("<") else text


def _summary(value: Any) -> str:
    """The first paragraph of its docstring, in one line."""
    if isinstance(value, dict):
        return "A dict of names and values that may be changed."
    paragraph = (inspect.getdoc(value) or "").split("\n\n")[0]
    return " ".join(paragraph.split())
