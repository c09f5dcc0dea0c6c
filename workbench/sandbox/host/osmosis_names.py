"""Osmosis' package names in this process, for modules of the user's own that were written against that SDK."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from workbench.sandbox.platforms import osmosis, osmosis_legacy
from workbench.sandbox.platforms.modules import OSMOSIS, stand_ins

__all__ = ["osmosis_names"]


@contextmanager
def osmosis_names() -> Iterator[None]:
    """Let `from osmosis_ai.rollout import ...` give our classes in this process; afterwards the earlier modules are back."""
    modules = stand_ins(OSMOSIS, osmosis, osmosis_legacy)
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "osmosis_ai"}
    # All of an installed package has to go, or its submodules would be found beside our stand-in.
    for name in before:
        del sys.modules[name]
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            sys.modules.pop(name, None)
        sys.modules.update(before)
