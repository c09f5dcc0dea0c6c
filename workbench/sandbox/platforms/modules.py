"""Modules under a package's names that contain classes of this package. Standard library only.

The sandbox loads this file by its path and provides `osmosis_ai` and `letta_evals` to graders this way; in the host's
process `host.osmosis_names` does so while a user module is being loaded.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

__all__ = ["LETTA", "OSMOSIS", "stand_ins"]

OSMOSIS = (
    "osmosis_ai",
    "osmosis_ai.utils",
    "osmosis_ai.rollout",
    "osmosis_ai.rollout.context",
    "osmosis_ai.rollout.grader",
    "osmosis_ai.rollout.types",
    "osmosis_ai.rollout.types.config",
)
LETTA = ("letta_evals", "letta_evals.decorators", "letta_evals.models", "letta_evals.types")


def stand_ins(names: tuple[str, ...], *sources: types.ModuleType) -> dict[str, types.ModuleType]:
    """Modules of these names, each with everything public of the sources.

    Args:
        names: A package and its modules, parents first.
        sources: Files of this package.
    """
    public: Mapping[str, Any] = {name: getattr(file, name) for file in sources for name in file.__all__}
    modules: dict[str, types.ModuleType] = {}
    for name in names:
        module = modules[name] = types.ModuleType(name)
        # A path makes it a package, which imports of its submodules require; an empty one finds no files.
        module.__path__ = []
        module.__dict__.update(public)
        parent, _, own = name.rpartition(".")
        if parent:
            # `import a.b as c` reads the attribute; sys.modules alone is not enough.
            setattr(modules[parent], own, module)
    return modules
