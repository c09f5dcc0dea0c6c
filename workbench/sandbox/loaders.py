"""From a program's language and signature to what loads it, inside the worker. Loaded by its path."""

from __future__ import annotations

import sys
import types
from typing import Any

_thread = sys.modules["_wb_thread"]
_checks = sys.modules["_wb_checks"]
_osmosis = sys.modules["_wb_osmosis"]
_legacy = sys.modules["_wb_osmosis_legacy"]
_letta = sys.modules["_wb_letta"]
_signatures = sys.modules["_wb_signatures"]
_rollout = sys.modules["_wb_rollout"]
_javascript = sys.modules["_wb_javascript"]

Row = _signatures.Row

_LOADERS = {
    ("python", "thread"): _checks.Loading,
    ("python", "letta"): _signatures.LettaLoading,
    ("python", "openai"): _signatures.OpenAILoading,
    ("python", "osmosis"): _signatures.OsmosisLoading,
    ("javascript", "thread"): _javascript.ScriptLoading,
    ("rollout", "thread"): _rollout.RolloutLoading,
}

_OSMOSIS_MODULES = (
    "osmosis_ai",
    "osmosis_ai.utils",
    "osmosis_ai.rollout",
    "osmosis_ai.rollout.context",
    "osmosis_ai.rollout.grader",
    "osmosis_ai.rollout.types",
    "osmosis_ai.rollout.types.config",
)
_LETTA_MODULES = (
    "letta_evals",
    "letta_evals.decorators",
    "letta_evals.models",
    "letta_evals.types",
)


def loader(command: dict[str, Any]) -> Any:
    """What loads the program of a command."""
    kind = _LOADERS[command.get("language", "python"), command.get("signature", "thread")]
    options = {**command.get("options", {}), "row_seconds": command.get("row_seconds", 1.0)}
    return kind(command["text"], _thread.StringThread, options)


def show_compatible_modules() -> None:
    """Let graders import the names they were written against: our own classes stand in for the packages."""
    _stand_in(_OSMOSIS_MODULES, _osmosis, _legacy)
    _stand_in(_LETTA_MODULES, _letta)


def _stand_in(names: tuple[str, ...], *sources: types.ModuleType) -> None:
    public = {name: getattr(source, name) for source in sources for name in source.__all__}
    for name in names:
        module = sys.modules[name] = types.ModuleType(name)
        module.__path__ = []
        module.__dict__.update(public)
    for name in names[1:]:
        parent, _, own = name.rpartition(".")
        setattr(sys.modules[parent], own, sys.modules[name])
