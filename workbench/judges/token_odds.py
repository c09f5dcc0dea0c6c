"""The expected verdict from the probabilities of a reply's tokens, where a server returns them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.core.grade import Grade
from workbench.judges.protocol import Reply

LOGPROBS = {"logprobs": True, "top_logprobs": 20}
"""Settings that request the probabilities of the 20 most likely tokens at each place, the maximum of OpenAI's protocol."""
_ENDS = " \t\r\n\"',}"
"""Characters around a verdict that a token may contain, too."""


def weighted(grade: Grade, reply: Reply, values: Mapping[str, float]) -> Grade:
    """A scored grade with the expected score, and the reply's own score in its metadata; unchanged without probabilities."""
    score = None if grade.score is None else expected_value(reply, "score", values)
    if score is None:
        return grade
    return replace(grade, score=score, metadata={**grade.metadata, "sampled_score": grade.score})


def expected_value(reply: Reply, key: str, values: Mapping[str, float]) -> float | None:
    """The mean of the verdicts that the model could have given, weighted by their probabilities.

    Verdicts are distinguished by their first token. G-Eval (Liu et al. 2023, arXiv
    2303.16634) weights scores in this way.

    Args:
        reply: The reply.
        key: The key of the verdict in the reply's JSON.
        values: Each possible verdict's text and value.

    Returns:
        None if the server returned no probabilities, or the verdict is none of `values`.
    """
    tokens = reply.raw.get("logprobs")
    if not isinstance(tokens, list) or not tokens:
        return None
    text = "".join(token["token"] for token in tokens)
    options = "|".join(sorted(map(re.escape, values), key=len, reverse=True))
    found = list(re.finditer(rf'"{re.escape(key)}"\s*:\s*"?({options})(?![\w.])', text, re.IGNORECASE))
    if not found:
        return None
    return _mean_at(tokens, found[-1].start(1), values)


def _mean_at(tokens: Sequence[Mapping[str, Any]], start: int, values: Mapping[str, float]) -> float | None:
    """The mean at the token that contains this character."""
    position = 0
    for token in tokens:
        end = position + len(token["token"])
        if start < end:
            return _mean(token["top"], token["token"][: start - position], values)
        position = end
    return None


def _mean(top: Sequence[Sequence[Any]], before: str, values: Mapping[str, float]) -> float | None:
    total = weighted_sum = 0.0
    for text, log_probability in top:
        rest = text[len(before) :] if before and text.startswith(before) else text
        option = _option(rest.strip(_ENDS), values)
        if option is not None:
            chance = math.exp(min(0.0, log_probability))
            total, weighted_sum = total + chance, weighted_sum + chance * values[option]
    return weighted_sum / total if total > 0 else None


def _option(text: str, values: Mapping[str, float]) -> str | None:
    """The verdict that a token is, or with which it begins if only one does."""
    if not text:
        return None
    exact = [option for option in values if option.casefold() == text.casefold()]
    begun = exact or [option for option in values if option.casefold().startswith(text.casefold())]
    return begun[0] if len(begun) == 1 else None
