"""Renders the built-in prompts, which are jinja2 files next to this module."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from workbench.data.templates import Template
from workbench.data.templates import compile as compile_template
from workbench.judges.prompts.tag_marks import tag_mark

__all__ = ["prompt"]


def prompt(name: str, material: Mapping[str, Any] | None = None, **variables: Any) -> str:
    """A built-in prompt with its variables filled in.

    Args:
        name: The file's name without its ending.
        material: The judged texts and those they are compared with: texts, and lists of texts. The prompt puts them
            between tags that they cannot close; see `tag_marks`.
        variables: The other variables, which come from the judge's author.
    """
    values = {} if material is None else {**material, "tag_mark": tag_mark(material)}
    return _template(name).render(variables | values).strip()


@cache
def _template(name: str) -> Template:
    text = files("workbench.judges.prompts").joinpath(f"{name}.jinja").read_text(encoding="utf-8")
    return compile_template(text)
