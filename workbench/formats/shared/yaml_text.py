"""Untrusted YAML, parsed as plain data or with a clear error, and written so that it is read back unchanged."""

from __future__ import annotations

from typing import Any

from workbench.core.errors import FormatError
from workbench.core.yaml_core import core_resolvers
from workbench.formats.shared.parsing import MAX_DEPTH, check_depth, too_deep

MAX_YAML = 1024 * 1024
"""Maximum characters of YAML, which take its parser about a second. Long rubrics belong in separate files."""


def parse_yaml(text: str, where: str, *, core: bool = False) -> Any:
    """Plain YAML: no tags, no aliases (a few lines of them expand to gigabytes), no duplicate keys.

    Args:
        text: The document.
        where: Its name.
        core: Plain values as YAML 1.2 reads them, for tools that do: `yes` and `1:30` are texts, 010 is 10.

    Raises:
        FormatError: With line and column if known.
    """
    import yaml

    if len(text) > MAX_YAML:
        raise FormatError(
            "the YAML is too large", where=where, found=f"{len(text):,} characters", expected=f"at most {MAX_YAML:,}",
            hint="put long prompts into separate files: prompt_path",
        )  # fmt: skip
    try:
        _scan(text, where)
        document = yaml.load(text, Loader=_loader(core=core))  # noqa: S506 (a safe loader, made stricter)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = where if mark is None else f"{where}, line {mark.line + 1}, column {mark.column + 1}"
        if "nesting depth" in str(error.problem):  # PyYAML 6.0.4 has a separate limit
            raise too_deep(place) from None
        raise FormatError("the file is not plain YAML", where=place, found=str(error.problem)[:200]) from None
    except FormatError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise FormatError("the file is not plain YAML", where=where, found=str(error)[:200]) from None
    check_depth(document, where)
    return document


def _scan(text: str, where: str) -> None:
    """Check the stream of events before any object is built."""
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        place = f"{where}, line {event.start_mark.line + 1 if event.start_mark else 0}"
        if isinstance(event, yaml.AliasEvent):
            raise FormatError(
                "YAML aliases are not read", where=place, found=f"*{event.anchor}", hint="write the value out"
            )
        tag = getattr(event, "tag", None)
        if tag:
            raise FormatError(
                "YAML tags are not read", where=place, found=str(tag)[:80], hint="remove the tag"
            )
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise too_deep(place)


def _loader(*, core: bool) -> Any:
    import yaml

    safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(safe):  # type: ignore[misc]  # the C loader if available
        """Safe loader without dates that refuses duplicate keys."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            seen = set()
            for key, _ in node.value:
                name = self.construct_object(key, deep=True)
                if not isinstance(name, str | int | float | bool):
                    raise yaml.constructor.ConstructorError(None, None, "a key must be text", key.start_mark)
                if name in seen:
                    problem = f"duplicate key {name!r}"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                seen.add(name)
            return dict(super().construct_mapping(node, deep=deep))

    if core:
        Loader.yaml_implicit_resolvers = core_resolvers()
        Loader.add_constructor("tag:yaml.org,2002:int", _core_int)
        return Loader
    # Dates would become objects that JSON cannot represent; `<<` would add keys after the check above.
    Loader.yaml_implicit_resolvers = {
        sign: [(tag, rule) for tag, rule in rules if not tag.endswith((":timestamp", ":merge"))]
        for sign, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return Loader


def _core_int(loader: Any, node: Any) -> int:
    text = loader.construct_scalar(node).replace("_", "")
    base = {"0x": 16, "0o": 8, "0b": 2}.get(text.lstrip("+-")[:2], 10)
    return int(text, base)


_ODD_ENDS = set("\r\x85\u2028\u2029")
"""Line separators that a YAML block scalar would normalise to plain ones."""


def to_yaml(document: Any) -> str:
    """The document with long texts as block scalars, unless that would change a text."""
    import yaml

    text = _dumped(document, blocks=True)
    try:
        survives = yaml.safe_load(text) == document
    except yaml.YAMLError:
        survives = False
    return text if survives else _dumped(document, blocks=False)


def _dumped(document: Any, *, blocks: bool) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Without aliases, which many readers refuse."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

    def text(dumper: Any, value: str) -> Any:
        odd = bool(_ODD_ENDS & set(value))
        style = None if "\n" not in value and not odd else '"' if odd or not blocks else "|"
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return str(yaml.dump(document, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=110))
