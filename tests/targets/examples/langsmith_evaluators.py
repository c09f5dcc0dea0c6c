"""Evaluators for LangSmith: `evaluate(target, data=..., evaluators=evaluators)`; openevals' shape."""


def completion_of(outputs):
    """What a run gives back: `{"output": text}` or `{"messages": [...]}`."""
    if isinstance(outputs, str):
        return outputs
    return outputs["output"] if "output" in outputs else outputs["messages"][-1]["content"]


def exact(*, inputs, outputs, reference_outputs):
    return {"key": "exact", "score": float(completion_of(outputs).strip() == reference_outputs["expected"])}


def fails(*, inputs, outputs, reference_outputs):
    if reference_outputs["hint"] == "fail":
        return {"key": "fails", "score": None, "comment": "failed: cannot read this row"}
    return {"key": "fails", "score": 0.5, "comment": "read"}


async def skips(*, inputs, outputs, reference_outputs):
    if reference_outputs["hint"] == "skip":
        return {"key": "skips", "score": None, "comment": "skipped: left out"}
    return {"key": "skips", "score": float(len(completion_of(outputs)))}


evaluators = [exact, fails, skips]
