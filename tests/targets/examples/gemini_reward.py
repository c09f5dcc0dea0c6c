"""A reward for Gemini's reinforcement tuning: this text is the `pythonCodeSnippet` of a code execution reward."""

from dataclasses import dataclass


@dataclass
class Reply:
    score: float


def completion_of(response):
    return "".join(part.get("text", "") for part in response.get("parts", []) if not part.get("thought"))


def exact(completion, expected):
    return Reply(float(completion.strip() == expected))


def evaluate(example: dict, response: dict) -> float:
    """Between -1 and 1, for what is outside is clipped; a failure raises."""
    references = example.get("references", {})
    if references.get("hint") == "fail":
        raise ValueError("cannot read this row")
    completion = completion_of(response)
    return 0.75 * exact(completion, references["expected"]).score + 0.25 * (len(completion) > 1)
