"""Probes: find texts that a grader misgrades, with variants of the rows and a search that starts from them.

Each file of `variants/` contains a family of transformations, registered by `@variant(...)`. `base` learns which texts the
grader accepts as correct, `tried` and `verdicts` evaluate the grades, `search` extends them.
"""

from __future__ import annotations

from workbench.core.discovery import load_modules
from workbench.probes import variants
from workbench.probes.probing import probe as probe
from workbench.probes.regression import Again as Again
from workbench.probes.regression import again as again
from workbench.probes.result import Probe as Probe
from workbench.probes.variant import VARIANTS as VARIANTS
from workbench.probes.variant import variant as variant

# Every module in `variants` registers its transformations when it is loaded.
load_modules(variants)

__all__ = ["VARIANTS", "Again", "Probe", "again", "probe", "variant"]
