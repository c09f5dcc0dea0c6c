"""One package version in its own process: every function probed, its known holes called. Prints one JSON document.

`python -m benchmarks.field.worker verl 0.9.1 [--only NAME]`; the wheels have to be in the cache folder.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import inspect
import io
import json
import math
import sys
import time
import types
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.field.corpus import Function, Hole, Package, packages, rows_of
from benchmarks.field.signatures import CUT, Signature, read_signatures
from benchmarks.field.wheels import cache_folder, fetch_all, load, prepare_imports

_MEMORY = 6 * 2**30
"""Bytes of address space of a worker."""
_SHOWN = 6
"""Texts reported for each finding, the shortest first."""


def number_of(value: Any) -> float:
    """The score in what a function returned: a number, a list of one, a dict or an object with a score."""
    if isinstance(value, str):  # of inspect_ai: correct, partial, incorrect
        return {"C": 1.0, "P": 0.5, "I": 0.0}[value]
    if isinstance(value, Mapping):
        return number_of(value["score"] if "score" in value else value["reward"])
    if isinstance(value, list | tuple):
        return number_of(value[0])
    for name in ("score", "value"):
        if not isinstance(value, int | float) and hasattr(value, name):
            return number_of(getattr(value, name))
    if value is None:
        raise ValueError("no score (None)")
    return float(value)


class Called:
    """A function with its call: a score of a text and a row."""

    def __init__(self, function: Function) -> None:
        target = load(function.target)
        self.fn = eval(function.setup, {"target": target, **_NAMES}) if function.setup else target
        self.function = function
        self._code = compile(function.call, f"<call of {function.name}>", "eval")

    def __call__(self, text: str, row: Mapping[str, Any]) -> float:
        """The score of a text in a row."""
        names = {
            "fn": self.fn,
            "text": text,
            "row": row,
            "reference": row["reference"],
            "prompt": row["prompt"],
        }
        with contextlib.redirect_stdout(io.StringIO()):
            return number_of(eval(self._code, {**_NAMES, **names}))

    def grader(self) -> Any:
        """What `wb.probe` gets: the function itself, or a function of a sample that evaluates the call."""
        import workbench as wb

        if self.function.direct:
            return self.fn

        def graded(sample: wb.Sample) -> float:
            row = {"prompt": "", **sample.thread.metadata, "reference": sample.reference}
            row["prompt"] = row["prompt"] or sample.thread.get_turns()[0].content
            return self(sample.thread.completion() or "", row)

        graded.__name__, graded.__doc__ = self.function.name, inspect.getdoc(self.fn)
        graded.__wrapped__ = getattr(self.fn, "__wrapped__", self.fn)  # type: ignore[attr-defined]  # its source is the function's
        graded.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter("sample", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        )
        return wb.CustomGrader(graded, name=self.function.name, timeout=10)


def generated(module: str, dataset: str, config: str, size: int = 14, **settings: Any) -> Any:
    """A scorer of a generator of rows: `scorer.rows` are generated with seed 1, their references as right completions."""
    made = load(f"{module}:{dataset}")(load(f"{module}:{config}")(seed=1, size=size, **settings))
    entries = [made[index] for index in range(size)]

    def score(text: str, index: int) -> Any:
        return made.score_answer(text, entries[index])

    score.__wrapped__ = type(made).score_answer  # type: ignore[attr-defined]  # its source is the class's
    score.rows = []  # type: ignore[attr-defined]
    for index, entry in enumerate(entries):
        other = entries[(index + 1) % size]["answer"]
        wrong = [other] if other is not None and other != entry["answer"] else []
        right = [] if entry["answer"] is None else [entry["answer"]]
        row = {
            "prompt": entry["question"],
            "reference": entry["answer"],
            "index": index,
            "right": right,
            "wrong": wrong,
        }
        score.rows.append(row)  # type: ignore[attr-defined]
    return score


def inspected(scorer: Any) -> Any:
    """A scorer of inspect_ai as a function of text, targets, and prompt; it gets the parts of a state that it reads."""
    target = load("inspect_ai.scorer:Target")

    def score(text: str, targets: Any, prompt: str = "", **metadata: Any) -> float:
        state = types.SimpleNamespace(
            output=types.SimpleNamespace(completion=text), input_text=prompt, metadata=metadata, messages=[],
            token_limit=None, token_usage=0,
        )  # fmt: skip
        return number_of(asyncio.run(scorer(state, target(targets))))

    score.__wrapped__ = scorer  # type: ignore[attr-defined]
    return score


_NAMES = {
    "json": json, "math": math, "load": load, "generated": generated, "inspected": inspected, "wait": asyncio.run,
}  # fmt: skip


def check(package: Package, version: str, only: str, *, slow: bool, exact: bool = False) -> dict[str, Any]:
    """Results of all functions of one version."""
    prepare_imports(package, fetch_all(package, version, cache_folder()))
    is_newest = version == package.versions[0]
    signed = [one for one in read_signatures() if (one.package, one.version) == (package.name, version)]
    chosen = [
        function
        for function in package.functions
        if (function.name == only if exact else only in function.name)
        and (slow or not function.slow)
        and (is_newest or function.history)
    ]
    return {
        "package": package.name,
        "version": version,
        "functions": [_checked(one, signed) for one in chosen],
    }


def _checked(function: Function, signed: Sequence[Signature]) -> dict[str, Any]:
    result: dict[str, Any] = {"name": function.name}
    try:
        called = Called(function)
        made = called.fn.rows if function.rows == "generated" else function.rows
        rows = rows_of(function, made)
        result["unpaid"] = _unpaid(called, made)
    except Exception as error:  # of any module that this version does not contain, or that needs more
        return {**result, "absent": f"{type(error).__name__}: {error}"[:300]}
    result["holes"] = [_hole(called, made, hole) for hole in function.holes]
    own = [one for one in signed if one.function == function.name and not (one.text or CUT).endswith(CUT)]
    result["witnesses"] = [{"kind": one.kind, "text": one.text, **_witness(called, made, one)} for one in own]
    return {**result, **_probed(called, rows)}


def _unpaid(called: Called, made: Any) -> list[str]:
    """Right completions that get no more than the wrong ones of their row: an error of the manifest, or a hole."""
    unpaid = []
    for row in made:
        wrong = [
            _score(called, called.function.shape.replace("RESULT", one), row) for one in row.get("wrong", ())
        ]
        for one in row["right"]:
            score = _score(called, called.function.shape.replace("RESULT", one), row)
            if not isinstance(score, float) or any(
                isinstance(other, float) and score <= other for other in wrong
            ):
                unpaid.append(f"{one}: {score}")
    return unpaid


def _score(called: Called, text: str, row: Mapping[str, Any]) -> float | str:
    try:
        return called(text, row)
    except Exception as error:  # of any function
        return f"{type(error).__name__}: {error}"[:200]


def _hole(called: Called, made: Any, hole: Hole) -> dict[str, Any]:
    """Whether a known hole exists in this version: its text is scored like the right completion, or below it."""
    row = made[hole.row]
    right = _score(called, called.function.shape.replace("RESULT", row["right"][0]), row)
    score = _score(called, hole.text.replace("RESULT", row["right"][0]), row)
    paid = isinstance(score, float) and isinstance(right, float) and score >= right - 1e-9
    return {"text": hole.text, "score": score, "right": right, "exists": paid == hole.accepted}


def _witness(called: Called, made: Any, one: Signature) -> dict[str, Any]:
    """The score of a signed text by a call, without a probe."""
    scores = [
        _score(called, one.text or "", row)
        for row in made
        if (row["reference"] or "") == (one.reference or "")
    ]
    holds = any(isinstance(score, float) and abs(score - (one.score or 0.0)) < 1e-6 for score in scores)
    return {"scores": scores, "holds": holds}


def _probed(called: Called, rows: list[dict[str, Any]]) -> dict[str, Any]:
    import workbench as wb

    start = time.perf_counter()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            probe = wb.probe(called.grader(), rows, progress=False)
    except Exception as error:  # a probe that cannot cope has found nothing
        return {"error": f"{type(error).__name__}: {error}"[:400], "seconds": time.perf_counter() - start}
    found = [_found(probe, one) for one in probe.findings]
    notes = [_found(probe, one) for one in (*probe.notes, *probe.consequences)]
    return {"seconds": probe.seconds, "tries": probe.tries, "findings": found, "notes": notes}


def _found(probe: Any, finding: Any) -> dict[str, Any]:
    import workbench as wb

    try:
        texts = probe.texts(finding.kind).head(_SHOWN).to_dict("records")
    except wb.errors.ReportError:
        texts = []
    return {
        "strength": str(finding.severity),
        "kind": finding.kind,
        "message": finding.message,
        "sentence": finding.sentence,
        "advice": finding.advice,
        "texts": [
            {name: _plain(one[name]) for name in ("prompt", "reference", "text", "score")} for one in texts
        ],
    }


def _plain(value: Any) -> Any:
    """A cell as JSON: None for a missing one."""
    return None if isinstance(value, float) and math.isnan(value) else value


def main() -> None:
    import resource  # not on every platform

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package")
    parser.add_argument("version")
    parser.add_argument("--only", default="")
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--exact", action="store_true", help="--only is the whole name")
    args = parser.parse_args()
    package = next(one for one in packages() if one.name == args.package)
    # A result such as 9**9**9 may take all memory of the machine: its row fails instead.
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        result = check(package, args.version, args.only, slow=args.slow, exact=args.exact)
    json.dump(result, out, default=str)
    out.flush()


if __name__ == "__main__":
    main()
