"""Osmosis' package names in this process, for user modules written against that SDK."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from workbench.sandbox.platforms import osmosis, osmosis_legacy
from workbench.sandbox.platforms.modules import OSMOSIS, stand_ins

__all__ = ["osmosis_names"]


@contextmanager
def osmosis_names() -> Iterator[None]:
    """Make `from osmosis_ai.rollout import ...` give this package's classes; restore the earlier modules afterwards."""
    modules = stand_ins(OSMOSIS, osmosis, osmosis_legacy)
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "osmosis_ai"}
    # The whole installed package must be removed, or its submodules would be found next to the replacement.
    for name in before:
        del sys.modules[name]
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            sys.modules.pop(name, None)
        sys.modules.update(before)
