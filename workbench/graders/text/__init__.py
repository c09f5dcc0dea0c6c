"""Graders of one text: compare it, search it, measure it."""

from __future__ import annotations

from workbench.graders.text.base import TextGrader
from workbench.graders.text.matches import Contains, ExactMatch, LabelSet
from workbench.graders.text.measures import AsciiPrintable, Length
from workbench.graders.text.openai import StringCheck, TextSimilarity
from workbench.graders.text.regex import Regex

__all__ = [
    "AsciiPrintable",
    "Contains",
    "ExactMatch",
    "LabelSet",
    "Length",
    "Regex",
    "StringCheck",
    "TextGrader",
    "TextSimilarity",
]
