"""Probes: what fools a grader, found with variants of the rows and a search from there.

Each file of `variants/` holds a family of transformations, registered by `@variant(...)`. `base` learns what the grader
takes for right, `tried` and `verdicts` judge what came of the texts, `search` goes on from there.
"""

from __future__ import annotations

from workbench.discovery import load_modules
from workbench.probes import variants
from workbench.probes.again import Again as Again
from workbench.probes.again import again as again
from workbench.probes.probing import probe as probe
from workbench.probes.result import Probe as Probe
from workbench.probes.variant import VARIANTS as VARIANTS
from workbench.probes.variant import variant as variant

# Every module in `variants` registers its transformations when it is loaded.
load_modules(variants)

__all__ = ["VARIANTS", "Again", "Probe", "again", "probe", "variant"]
