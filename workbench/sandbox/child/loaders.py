"""Maps a program's language and signature to its loader, inside the worker. Loaded by its path."""

from __future__ import annotations

import sys
from typing import Any

_thread = sys.modules["_wb_thread"]
_checks = sys.modules["_wb_checks"]
_osmosis = sys.modules["_wb_osmosis"]
_legacy = sys.modules["_wb_osmosis_legacy"]
_letta = sys.modules["_wb_letta"]
_modules = sys.modules["_wb_modules"]
_signatures = sys.modules["_wb_signatures"]
_trainers = sys.modules["_wb_trainers"]
_rollout = sys.modules["_wb_rollout"]
_javascript = sys.modules["_wb_javascript"]
_outcomes = sys.modules["_wb_outcomes"]

Row = _signatures.Row

_LOADERS = {
    ("python", "thread"): _checks.Loading,
    ("python", "letta"): _signatures.LettaLoading,
    ("python", "openai"): _signatures.OpenAILoading,
    ("python", "osmosis"): _signatures.OsmosisLoading,
    ("python", "trl"): _trainers.TRLLoading,
    ("python", "verl"): _trainers.VerlLoading,
    ("python", "openrlhf"): _trainers.OpenRLHFLoading,
    ("python", "together"): _trainers.TogetherLoading,
    ("javascript", "thread"): _javascript.ScriptLoading,
    ("rollout", "thread"): _rollout.RolloutLoading,
}


def loader(command: dict[str, Any]) -> Any:
    """The loader for the program of a command."""
    kind = _LOADERS[command.get("language", "python"), command.get("signature", "thread")]
    if kind is _checks.Loading and command.get("noted"):
        kind = _outcomes.OutcomeLoading
    times = {"row_seconds": command.get("row_seconds", 1.0), "load_seconds": command["seconds"]}
    # The times last: an option of that name must not replace the host's limits.
    options = {**command.get("options", {}), **times}
    return kind(command["text"], _thread.StringThread, options)


def show_compatible_modules() -> None:
    """Make the package names that graders were written against importable, with this package's classes."""
    sys.modules.update(_modules.stand_ins(_modules.OSMOSIS, _osmosis, _legacy))
    sys.modules.update(_modules.stand_ins(_modules.LETTA, _letta))
