"""A template of any of the dialects: parsed once, rendered with plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

from workbench.core.display_text import did_you_mean
from workbench.data.templates.bounds import MAX_SOURCE, Page
from workbench.data.templates.braces import Braces
from workbench.data.templates.errors import TemplateError, TemplateRunError
from workbench.data.templates.handlebars import Handlebars
from workbench.data.templates.mustache import Mustache
from workbench.data.templates.native import Jinja
from workbench.data.templates.openai import OpenAI
from workbench.data.templates.values import plain_values

__all__ = ["DIALECTS", "Template", "compile"]

DIALECTS = ("braces", "handlebars", "jinja2", "mustache", "openai")


class _Engine(Protocol):
    variables: frozenset[str]

    def render(self, values: Mapping[str, Any], page: Page) -> None: ...


@dataclass(frozen=True)
class Template:
    r"""A parsed template: it has no error that can be detected without values.

    Attributes:
        text: As written.
        dialect: One of `DIALECTS`.
        variables: The names of its variables, as far as the text shows.

    Example:
        >>> compile("{{#each turns}}{{role}} {{/each}}", "handlebars").render({"turns": [{"role": "user"}]})
        'user '
    """

    text: str
    dialect: str
    variables: frozenset[str]
    _engine: _Engine = field(repr=False, compare=False)

    def render(self, variables: Mapping[str, Any]) -> str:
        """The text, filled in one pass.

        Raises:
            TemplateRunError: A required value that is missing, a value that is not plain data, or
                a rendering that exceeds a limit on characters or time.
        """
        page = Page()
        try:
            self._engine.render(plain_values(variables), page)
        except RecursionError:
            raise TemplateRunError("the values are nested too deeply to be rendered") from None
        return page.text()


def compile(text: str, dialect: str = "jinja2", **options: Any) -> Template:  # noqa: A001 (what `re` calls it)
    """Parse a template.

    Args:
        text: The template, at most a mebibyte of characters.
        dialect: One of `DIALECTS`.
        options: `names` and `release` for braces, `lenient` for openai; see their modules.

    Raises:
        TemplateError: It breaks the dialect's grammar or bounds; line, column and what was expected are named.
    """
    if not isinstance(text, str):
        raise TemplateError("a template is text", found=type(text).__name__)
    if len(text) > MAX_SOURCE:
        raise TemplateError(
            "the template is too long", found=f"{len(text):,} characters", expected=f"{MAX_SOURCE:,}"
        )
    if dialect not in DIALECTS:
        raise TemplateError(
            "unknown dialect", found=repr(dialect)[:80], expected=", ".join(DIALECTS),
            hint=did_you_mean(str(dialect), DIALECTS),
        )  # fmt: skip
    frozen = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    return _compiled(text, dialect, tuple(sorted(frozen.items())))


@lru_cache(maxsize=128)
def _compiled(text: str, dialect: str, options: tuple[tuple[str, Any], ...]) -> Template:
    try:
        engine = _engine(dialect)(text, **dict(options))
    except RecursionError:
        raise TemplateError("the template is nested too deeply", hint="nest it less deeply") from None
    except TypeError as error:
        raise TemplateError(f"the dialect {dialect} has no such option", found=str(error)) from None
    return Template(text, dialect, engine.variables, engine)


def _engine(dialect: str) -> Any:
    engines = {"braces": Braces, "handlebars": Handlebars, "mustache": Mustache, "openai": OpenAI}
    return engines.get(dialect, Jinja)
