"""The prompts, which lie beside the code as text files in jinja2."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from workbench.judges.prompts.fences import mark
from workbench.templates import Template
from workbench.templates import compile as compile_template

__all__ = ["prompt"]


def prompt(name: str, material: Mapping[str, Any] | None = None, **variables: Any) -> str:
    """A prompt by its file's name without the ending, filled in.

    Args:
        name: The file's name.
        material: What is judged and what it is held against: texts, and lists of texts. The prompt puts them
            between tags that they cannot close; see `fences`.
        variables: The rest, which comes from the judge's author.
    """
    shown = {} if material is None else {**material, "mark": mark(material)}
    return _template(name).render(variables | shown).strip()


@cache
def _template(name: str) -> Template:
    text = files("workbench.judges.prompts").joinpath(f"{name}.jinja").read_text(encoding="utf-8")
    return compile_template(text)
