"""A grade function as another platform's module: its text, unchanged, between two marks, and a few lines around it.

The lines build the thread that the function expects from what the platform passes, and run it. On import,
the text between the marks is the grader again, byte for byte.
"""

from __future__ import annotations

import hashlib

from workbench.core.errors import FormatError
from workbench.formats.frame import (
    BEGIN,
    END,
    check_free,
    frame_of,
    framed,
    names_class,
    unframed,
    with_future_at_top,
)
from workbench.formats.shared import Losses
from workbench.formats.shared.unsupported import outcomes_in
from workbench.formats.shared.writing import MARK

_OPENAI = """
_wb_grade = GRADE


def grade(sample, item):
    thread = _wb_Thread([("assistant", sample.get("output_text") or "")], dict(item))
    thread._calls = {0: list(sample.get("output_tools") or [])}
    return _wb_drive(_wb_grade(thread))
"""

# A grader reads the reference by its column name, which Letta and Osmosis do not pass.
# Without annotations: Letta compares them with its classes, and they may be strings here.
_LETTA = """
_wb_grade = grade


@_wb_grader
def NAME(sample, submission):
    given = sample.input if isinstance(sample.input, str) else "\\n".join(map(str, sample.input or []))
    metadata = getattr(sample, "metadata", None) or sample.agent_args
    thread = _wb_Thread(
        [("user", given), ("assistant", submission)], _wb_with_reference(metadata, sample.ground_truth)
    )
    return RESULT
"""
_LETTA_SCORE = '_wb_GradeResult(score=_wb_drive(_wb_grade(thread)), rationale="")'
_LETTA_RESULT = """

def _wb_result(value):
    rest = {}
    if isinstance(value, _wb_Grade):
        rest = {"rationale": value.reasoning or "", "metadata": value.metadata or None}
    return _wb_GradeResult(**{"score": _wb_score_of(value), "rationale": "", **rest})

"""

_OSMOSIS = """
_wb_grade = GRADE


class WorkbenchGrader(_wb_Grader):
    async def grade(self, ctx):
        for sample_id, sample in ctx.samples.items():
            metadata = _wb_with_reference(ctx.metadata, ctx.label)
            turns = [(message["role"], _wb_content_text(message.get("content"))) for message in sample.messages]
            thread = _wb_Thread(turns, metadata)
            thread._calls = {at: _wb_content_calls(message) for at, message in enumerate(sample.messages)}
            thread._answers = {at: _wb_content_answered(message) for at, message in enumerate(sample.messages)}
            REWARD
"""
_OSMOSIS_REWARD = "ctx.set_sample_reward(sample_id, await _wb_grade(thread))"
_OSMOSIS_SKIP = """try:
                ctx.set_sample_reward(sample_id, await _wb_grade(thread))
            except _wb_Skip:
                ctx.set_sample_reward(sample_id, 0.0)  # every sample needs one; that of a removed sample is unused
                sample.remove_sample = True"""

_IMPORTS = {
    "openai": "",
    "letta": "from letta_evals.decorators import grader as _wb_grader\n"
    "from letta_evals.models import GradeResult as _wb_GradeResult\n",
    "osmosis": "from osmosis_ai.rollout import Grader as _wb_Grader\n",
}
_RESERVED = {"osmosis": ("WorkbenchGrader",)}
_EARLIER = {
    "openai": {
        "e20360160536e81c0701689442b2358aca8dac60fdf5d67ab809ea916843f19f",
        "0e0b04a4d1ad8229903156d80b2a595806fd85a6faff6e89456699aeb272d695",
        "aaa21b09beff268159c4d61d3ef55c4686a567a2f762870bdd69b3835b48a689",
    },
    "letta": {
        "dcb6bf633a4d9d72842d0015398382e4cfdcdb8a5c779ad49647e6134f1415bd",
        "72571e4aef02bd7ef6faf273f28b8894543b66622b9092d62f0570df562979c2",
        "31f2b94c03d38288b7f4b38c96abb22dde137f3b3f5fc1b01dc867dd7967be0e",
    },
    "osmosis": {
        "69f5781868b8473b99a888d2995461f3c3d16f516e1402d92582902a95d78ee9",
        "d2580524c25f7d9e75d9ca8d3da6a01b901b207ca3db2b9c8f0ca0ecef94d093",
        "c01d664c63ea8072aad9dd9051bafe81d6981879c51bf654756b665ec6d2140c",
    },
}
"""SHA-256 of the lines around the grader in files of earlier versions, which are still read: of 0.1, and of those after it
for a grader that returns a number, and for one that returns a `Grade`."""


def wrap(text: str, platform: str, *, name: str = "grade") -> str:
    """The platform's module around a module with `async def grade(thread)`.

    It does not need the workbench and changes nothing outside itself: the module defines what the text imports
    from the workbench.

    Args:
        text: The grader's module.
        platform: "openai", "letta" or "osmosis".
        name: The function's name in the platform's module (Letta only).

    Raises:
        FormatError: The text contains one of the marks, or a name that the lines around it need.
    """
    check_free(text, (name,) if platform == "letta" else _RESERVED.get(platform, ()))
    own, future = framed(text)
    has_outcomes = bool(outcomes_in(text))
    lines = _lines(platform, name, has_outcomes=has_outcomes)
    classes = ["StringThread", *(["Grade", "Skip"] if has_outcomes else [])]
    # Under other names too: the grader's text may bind these.
    before = ["_wb_Thread", *(["_wb_Grade", "_wb_Skip"] if has_outcomes else [])]
    frame = frame_of(before, lines)
    head = [
        f"# {MARK}. Edit the grader between the two marks.\n{future}" + "\n".join(frame.imports),
        *filter(None, [_IMPORTS[platform].rstrip()]),
    ]
    blocks = [*frame.before, names_class(classes), f"{BEGIN}\n{own}\n{END}", *frame.after, lines.strip()]
    return "\n\n".join(head) + "\n\n\n" + "\n\n\n".join(blocks) + "\n"


def _lines(platform: str, name: str, *, has_outcomes: bool) -> str:
    """The lines after a grader's text; with `has_outcomes` it may return a `Grade` or raise a `Skip`.

    | platform | reasoning | metadata | a skipped row |
    | --- | --- | --- | --- |
    | letta | `rationale` | `metadata` | fails there: reported as a loss |
    | osmosis | dropped: reported as a loss | dropped | the platform's `remove_sample` |
    | openai | dropped: reported as a loss | dropped | fails there: reported as a loss |
    | adaptive | its functions return only a number: refused | | |
    """
    if platform == "letta":
        result = "_wb_result(_wb_drive(_wb_grade(thread)))" if has_outcomes else _LETTA_SCORE
        lines = _LETTA.replace("NAME", name, 1).replace("RESULT", result)
        return _LETTA_RESULT + lines if has_outcomes else lines
    lines = (_OPENAI if platform == "openai" else _OSMOSIS).replace(
        "GRADE", "_wb_scoring(grade)" if has_outcomes else "grade"
    )
    return lines.replace("REWARD", _OSMOSIS_SKIP if has_outcomes else _OSMOSIS_REWARD)


def wrapped(text: str, platform: str, entry: str, losses: Losses, *, name: str = "grade") -> str | None:
    """As `wrap`; a text that cannot be embedded is reported as a loss of that grader."""
    try:
        return wrap(text, platform, name=name)
    except FormatError as error:
        losses.add(entry, "source", f"{error.what}: {error.found}", hint=error.hint)
        return None


def unwrap(text: str, platform: str, *, name: str = "grade") -> str | None:
    """The grader's own text in a module that `wrap` made; None for any other, or if its frame was changed."""
    # Line ends that an editor or Git converted do not count as a change of the frame.
    text = text.replace("\r\n", "\n")
    head, begin, after_begin = text.partition(BEGIN + "\n")
    between, end, tail = after_begin.partition(END)
    if not (begin and end):
        return None
    try:
        own = unframed(between)
        # Generated again and compared: an edited frame has an effect that must not be dropped.
        same = _is_earlier(head, own, tail, platform, name) or wrap(own, platform, name=name) == text
    except (FormatError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return own if same else None


def _is_earlier(head: str, own: str, tail: str, platform: str, name: str) -> bool:
    """Whether these are the lines that an earlier version wrote around a grader."""
    start = f"# {MARK}. Edit the grader between the two marks.\n{with_future_at_top(own)[1]}"
    for arguments in ("(sample: ", "(sample, submission"):
        tail = tail.replace(f"def {name}{arguments}", f"def NAME{arguments}", 1)
    digest = hashlib.sha256((head.removeprefix(start) + tail).encode()).hexdigest()
    return head.startswith(start) and digest in _EARLIER[platform]
