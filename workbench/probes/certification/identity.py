"""What a certificate is for: the fingerprint of a judge, the splits of the rows, and earlier looks at the test rows."""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.statistics.certification import level_of_look
from workbench.core.display_text import counted
from workbench.core.errors import ReportError, WorkbenchError
from workbench.core.thread import StringThread
from workbench.core.user_functions import attempt
from workbench.data.samples import Samples
from workbench.data.samples.sample import Sample
from workbench.data.samples.view import digests_of
from workbench.graders.serialization import parts
from workbench.judges.kinds import Judge
from workbench.judges.protocol import Messages
from workbench.report.digests import fingerprints_of, short_digest
from workbench.run.part_run import open_run_store
from workbench.run.suite import Suite

if TYPE_CHECKING:
    from workbench.store.looks import Look, LookFile, Looks

TEST, DEV, EXAMPLES = "test", "dev", "examples"
SPLITS = (EXAMPLES, DEV, TEST)
_ALIASES = {
    "train": EXAMPLES, "training": EXAMPLES, "example": EXAMPLES, "few-shot": EXAMPLES, "fewshot": EXAMPLES, "validation": DEV,
    "val": DEV, "development": DEV, "valid": DEV, "held-out": TEST, "heldout": TEST, "eval": TEST,
}  # fmt: skip


def judges_of(suite: Suite) -> list[Judge]:
    """The judges in a suite."""
    return [part for entry in suite.entries for part in parts(entry.grader) if isinstance(part, Judge)]


def judge_fingerprint(suite: Suite, threshold: float) -> dict[str, str]:
    """A digest of each part of a judge that its verdicts depend on: settings, prompt, model and parser.

    The prompt is that of one fixed conversation, so that it includes the built-in prompts of this release; the parser's digest
    includes the code that reads replies.

    Args:
        suite: The judge as a suite.
        threshold: Lowest score that accepts a row.
    """
    judges = judges_of(suite)
    return {
        "settings": short_digest([fingerprints_of(suite), threshold]),
        "prompt": short_digest([_prompt(judge) for judge in judges]),
        "model": short_digest([[_model(judge), judge.temperature] for judge in judges]),
        "parser": short_digest([_parser(judge) for judge in judges]),
    }


_PROBE = StringThread([("user", "What is 2+2?"), ("assistant", "4")], metadata={})


def _prompt(judge: Judge) -> Any:
    """The messages for one conversation; none if the template needs columns: the settings have its text."""
    return [[str(message.get("content")) for message in one] for one in requests_of(judge, _PROBE)]


def _model(judge: Judge) -> str:
    try:
        return judge.priced_model
    except WorkbenchError:  # no key, or no model: the judge's own name of it counts
        return judge.model


def _parser(judge: Judge) -> Any:
    try:
        text = inspect.getsource(type(judge).read)
    except (OSError, TypeError):
        text = type(judge).__qualname__
    return [
        type(judge).kind,
        judge.platform,
        judge.answer_format(),
        hashlib.sha256(text.encode()).hexdigest(),
    ]


def models_of(suite: Suite) -> list[str]:
    """The models that the judges call, without those of unknown name."""
    return list(dict.fromkeys(filter(None, map(_model, judges_of(suite)))))


def split_of_rows(samples: Samples, split: Any, suite: Suite | None, seed: int) -> NDArray[np.object_]:
    """The split of each row, (n,): "examples", "dev" or "test"; all rows of a prompt have one.

    A prompt's split depends on its text alone, so that it does not change when rows are added.

    Args:
        samples: The rows.
        split: The name of a column with the split of each row; shares such as {"examples": 0.1, "dev": 0.4}, the rest is for the
            test; None for a column named `split` if there is one, else all rows are for the test.
        suite: The judge: rows that its prompt has as examples are not test rows.
        seed: Another seed, other prompts.

    Raises:
        ReportError: An unknown column or split, shares that are not shares, or a prompt in two splits.
    """
    if split is None and "split" in samples.column_names:
        split = "split"
    is_column = isinstance(split, str)
    found = _named(samples, split) if is_column else _drawn(samples, _shares(split), seed)
    found[_is_example(samples, suite)] = EXAMPLES
    return found


def _named(samples: Samples, column: str) -> NDArray[np.object_]:
    if column not in samples.column_names:
        raise ReportError(
            f"there is no column {column!r} with splits", found=", ".join(map(str, samples.column_names[:30]))
        )
    cells = [str(cell).strip().lower() for cell in samples.column(column).tolist()]
    names = [_ALIASES.get(cell, cell) for cell in cells]
    if unknown := [name for name in names if name not in SPLITS]:
        raise ReportError(
            "unknown split", where=f"column {column!r}", found=repr(unknown[0]), expected=", ".join(SPLITS)
        )
    found = np.array(names, dtype=object)
    of_group: dict[Any, str] = {}
    for group, name in zip(samples.groups.tolist(), names, strict=True):
        if of_group.setdefault(group, name) != name:
            raise ReportError(
                "a prompt is in two splits", where=f"column {column!r}", found=f"{str(group)[:60]!r} in {of_group[group]} and {name}",
                hint="put all rows of a prompt into one split: its test rows would otherwise be known",
            )  # fmt: skip
    return found


def _shares(split: Any) -> tuple[float, float]:
    if split is None:
        return 0.0, 0.0
    shares = {DEV: split} if isinstance(split, float) else dict(split) if isinstance(split, Mapping) else None
    if shares is None or set(shares) - set(SPLITS):
        raise ReportError(
            "split must be a column or shares",
            found=repr(split)[:80],
            expected='such as "split" or {"examples": 0.1, "dev": 0.4}',
        )
    examples, dev = float(shares.get(EXAMPLES, 0.0)), float(shares.get(DEV, 0.0))
    if min(examples, dev) < 0 or examples + dev >= 1:
        raise ReportError(
            "shares of splits must be 0 or more, and leave rows for the test", found=repr(split)[:80]
        )
    return examples, dev


def _drawn(samples: Samples, shares: tuple[float, float], seed: int) -> NDArray[np.object_]:
    examples, dev = shares
    found = np.full(len(samples), TEST, dtype=object)
    if examples + dev == 0:
        return found
    places: dict[Any, float] = {}
    for row, group in enumerate(samples.groups.tolist()):
        if group not in places:
            text = f"{seed}\0{group}".encode("utf-8", "surrogatepass")
            places[group] = int.from_bytes(hashlib.sha256(text).digest()[:7]) / 2**56
        place = places[group]
        found[row] = EXAMPLES if place < examples else DEV if place < examples + dev else TEST
    return found


def _is_example(samples: Samples, suite: Suite | None) -> NDArray[np.bool_]:
    """Rows whose completion is an example in the judge's prompt."""
    outputs = {
        str(example.get("output")).strip()
        for judge in (judges_of(suite) if suite else [])
        for example in getattr(judge, "examples", ()) or ()
        if isinstance(example, Mapping)
    } - {""}
    if not outputs:
        return np.zeros(len(samples), np.bool_)
    return np.array([(text or "").strip() in outputs for text in samples.completions()], np.bool_)


@dataclass(frozen=True)
class EarlierLooks:
    """The earlier certifications that used some of the test rows.

    Attributes:
        known: Whether there is a record; without one, earlier looks are unknown.
        same: Of the same judge, by its fingerprint.
        others: Of other judges, or other versions of it.
        repeated: When the same rows were looked at with the same labels and verdicts: that is not another look; "" for never.
    """

    known: bool
    same: tuple[Look, ...] = ()
    others: tuple[Look, ...] = ()
    repeated: str = ""

    @property
    def number(self) -> int:
        """Number of this look, 1 for the first."""
        return len(self.same) + len(self.others) + 1

    @property
    def level(self) -> float:
        """One-sided level of this look."""
        return level_of_look(self.number)

    @property
    def sentence(self) -> str:
        """What a reader of the certificate has to know about the test rows."""
        if not self.known:
            return "earlier looks at these test rows are unknown: pass store= or looks= to record them"
        if self.number == 1:
            again = f", as on {self.repeated[:10]}: the same labels and verdicts" if self.repeated else ""
            return f"first look at these test rows{again}"
        whose = [
            f"{len(self.same)} of this judge" if self.same else "",
            f"{len(self.others)} of other versions or judges" if self.others else "",
        ]
        confidence = 100 * (1 - 2 * self.level)
        return (
            f"look {self.number} at some of these test rows, after {' and '.join(filter(None, whose))}: the bounds that decide are "
            f"at {confidence:.4g} % instead of 95 %, so that all looks together certify a judge at the limit in at most 5 % of cases"
        )


def row_digests(samples: Samples, rows: NDArray[np.intp]) -> list[str]:
    """A digest of each of these rows, by its conversation."""
    return digests_of(samples, rows.tolist())


@contextmanager
def opened_record(store: Any, file: str | os.PathLike[str] | None) -> Iterator[Looks | LookFile | None]:
    """Where looks are recorded: a file, else the store; None without both."""
    if file is not None:
        from workbench.store.looks import LookFile

        yield LookFile(file)
        return
    with open_run_store(store) as opened:
        yield None if opened is None else opened.looks


def earlier_looks(
    record: Looks | LookFile | None, fingerprint: str, rows: Iterable[str], outcome: str
) -> EarlierLooks:
    """The looks of a record at any of these rows, before the first one with the same outcome.

    Args:
        record: A store's looks, or a file of them; None for no record.
        fingerprint: Digest of the judge's.
        rows: Digests of the test rows.
        outcome: Digest of their labels and of the judge's verdicts: a certification that is only repeated does not count again.
    """
    if record is None:
        return EarlierLooks(known=False)
    used = set(rows)
    every = [look for look in record.list() if look.used(used)]
    repeated = next(
        (at for at, look in enumerate(every) if (look.fingerprint, look.outcome) == (fingerprint, outcome)),
        None,
    )
    at = "" if repeated is None else every[repeated].at
    every = every[:repeated]
    same = tuple(look for look in every if look.fingerprint == fingerprint)
    return EarlierLooks(True, same, tuple(look for look in every if look.fingerprint != fingerprint), at)


def split_counts(splits: NDArray[np.object_], labelled: NDArray[np.bool_]) -> dict[str, int]:
    """Labelled rows of each split."""
    return {name: int(((splits == name) & labelled).sum()) for name in SPLITS}


def splits_phrase(counts: Mapping[str, int]) -> str:
    """Such as "0 examples, 0 dev, 100 test rows"."""
    return f"{counts[EXAMPLES]:,} examples, {counts[DEV]:,} dev, {counted(counts[TEST], 'test row')}"


def names_of(values: Sequence[str]) -> tuple[str, ...]:
    """Names given as one or several."""
    return (values,) if isinstance(values, str) else tuple(values)


def requests_of(judge: Judge, sample: Sample | StringThread) -> list[Messages]:
    """The requests of a row; none if they cannot be made: the row then fails in the run, with its reason."""
    requests = attempt(lambda: judge.questions(sample))  # by the user's prompt and extractor
    return [] if isinstance(requests, Exception) else requests
