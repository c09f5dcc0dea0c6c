"""Rules that parse a text as JSON. Standard library only."""

from __future__ import annotations

import json
from typing import Any

from workbench.graders.rules.verdict import Verdict, listed, verdict


def strict_json(text: str) -> Any:
    """The value of a JSON text: no NaN, no infinity, no trailing comma; of two equal keys the last counts.

    Numbers too large for an int are floats, so that no text is refused for its length.

    Raises:
        ValueError: "Invalid JSON: ...".
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_int=_whole)
    except json.JSONDecodeError as error:
        raise ValueError(f"Invalid JSON: {error}") from None
    except RecursionError:
        raise ValueError("Invalid JSON: nested too deeply") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"Invalid JSON: {name} is not JSON")


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) < 4000 else float(digits)


def json_keys(text: str, *, keys: tuple[str, ...], require_all: bool = True) -> Verdict:
    """Whether a JSON text has the keys, all of them or any. Dots walk objects, never arrays; null counts."""
    try:
        value = strict_json(text)
    except ValueError as error:
        return 0.0, str(error), {}
    missing = [key for key in keys if not _has_path(value, key)]
    passed = not missing if require_all else len(missing) < len(keys)
    wrong = (
        f"Missing required JSON keys: {listed(missing)}"
        if require_all
        else "No expected JSON keys were found"
    )
    return verdict(passed, "JSON keys found", wrong, **({"missingKeys": missing} if missing else {}))


def _has_path(value: Any, path: str) -> bool:
    for part in filter(None, path.split(".")):
        if not isinstance(value, dict) or part not in value:
            return False
        value = value[part]
    return True
