"""Graders: what scores a sample. One kind a file, one base for all."""

from __future__ import annotations

from workbench.graders.base import KINDS, Control, Grader, from_spec, kind
from workbench.graders.combine import Combined, Entry
from workbench.graders.function import FunctionGrader, grader

__all__ = ["KINDS", "Combined", "Control", "Entry", "FunctionGrader", "Grader", "from_spec", "grader", "kind"]
