"""The prompts, which lie beside the code as text files in jinja2."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from workbench.dialects import compile as compile_template

__all__ = ["prompt"]


def prompt(name: str, **variables: Any) -> str:
    """A prompt by its file's name without the ending, filled in."""
    return compile_template(_text(name)).render(variables).strip()


@cache
def _text(name: str) -> str:
    return files("workbench.judges").joinpath("prompts", f"{name}.jinja").read_text(encoding="utf-8")
