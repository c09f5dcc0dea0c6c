"""Graders that look at one text: compare it, search it, measure it."""

from __future__ import annotations

from workbench.graders.text.base import CodeGrader, TextGrader
from workbench.graders.text.compare import AsciiPrintable, Contains, ExactMatch, LabelSet, Length
from workbench.graders.text.regex import Regex
from workbench.graders.text.templated import StringCheck

__all__ = [
    "AsciiPrintable",
    "CodeGrader",
    "Contains",
    "ExactMatch",
    "LabelSet",
    "Length",
    "Regex",
    "StringCheck",
    "TextGrader",
]
