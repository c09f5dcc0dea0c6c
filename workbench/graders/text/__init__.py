"""Graders of one text: compare it, search it, measure it."""

from __future__ import annotations

from workbench.graders.text.ascii_printable import AsciiPrintable
from workbench.graders.text.base import TextGrader
from workbench.graders.text.contains import Contains
from workbench.graders.text.exact_match import ExactMatch
from workbench.graders.text.label_set import LabelSet
from workbench.graders.text.length import Length
from workbench.graders.text.regex import Regex
from workbench.graders.text.string_check import StringCheck
from workbench.graders.text.text_similarity import TextSimilarity

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
