"""Five prompt template languages, rendered in one pass within bounds.

| name | who writes it | syntax |
|---|---|---|
| jinja2 | the workbench | `{{ name }}`, `{% if %}`, `{% for %}` |
| handlebars | Adaptive | `{{{name}}}`, `{{#if}}`, `{{#each}}`, `{{#with}}` |
| mustache | vLLora | `{{name}}`, `{{#section}}`, `{{^inverted}}` |
| braces | Letta | `{name}` |
| openai | OpenAI | `{{ item.path[0] }}`, `{{ sample.output_text }}` |

A rendering never escapes HTML, because a judge reads text. It never renders the content of a value, even if it looks like a
template. It always ends: its output and steps are counted.
"""

from __future__ import annotations

from workbench.data.templates.template import (
    DIALECTS,
    PLATFORMS,
    Template,
    compile,  # noqa: A004
    thread_variables,
    translate,
)
from workbench.data.templates.values import JsonList, MissingVariableError, TemplateError, TemplateRunError

__all__ = [
    "DIALECTS",
    "PLATFORMS",
    "JsonList",
    "MissingVariableError",
    "Template",
    "TemplateError",
    "TemplateRunError",
    "compile",
    "thread_variables",
    "translate",
]
