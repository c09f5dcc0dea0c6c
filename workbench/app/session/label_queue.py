"""Which row is labelled next, how it was selected, and the sampling weights of labels.

A label counts only for the text that was labelled, so texts are identified by their digests.
"""

from __future__ import annotations

import hashlib
import marshal
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.display_text import one_line
from workbench.core.errors import SamplesError, WorkbenchError
from workbench.data.packed import BATCH_BYTES, BATCH_ROWS
from workbench.data.samples import Sample, Samples
from workbench.data.samples.view import digests_of
from workbench.report.selection import Rows
from workbench.report.where import case_of, scaled_scores

if TYPE_CHECKING:
    from workbench.report import Report
    from workbench.store import Label
    from workbench.store.label_table import Labels


def name_of(samples: Samples) -> str:
    """The file's name; if ids are row numbers, which would fit any rows, with a short hash of their texts.

    Another file with that name shares the name, but no labels: each label belongs to the text that was labelled. The
    hash covers only the turns, as in earlier releases, so that labels of older stores are found.
    """
    file = one_line(Path(samples.source).name, 160).strip() if samples.source else ""
    if file and not any(str(name) == str(row) for row, name in enumerate(samples.ids)):
        return file[:200]  # the longest name a store accepts
    return f"{file[:180] or 'samples'}-{_digest(samples)}"


def _digest(samples: Samples) -> str:
    """A hash of the rows' turns, 12 hexadecimal digits."""
    digest = hashlib.sha256()
    for start in range(0, len(samples), BATCH_ROWS):
        # In exactly these parts, as older stores have them.
        for part in _halved(samples[start : start + BATCH_ROWS]._build().wires):  # noqa: SLF001 (threads would take twice as long)
            turns = [wire[0] for wire in part]
            digest.update(repr(turns).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:12]


def _halved(wires: list[Any]) -> list[list[Any]]:
    """Rows in parts of at most `BATCH_BYTES`, or of one row."""
    if len(wires) == 1 or len(marshal.dumps(wires)) <= BATCH_BYTES:
        return [wires]
    middle = len(wires) // 2
    return [*_halved(wires[:middle]), *_halved(wires[middle:])]


class LabelledTexts:
    """The rows of a dataset by id, and cached digests of the texts of labelled rows.

    Args:
        samples: The dataset.
    """

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        self._digests: dict[str, str] = {}

    @cached_property
    def row_numbers(self) -> dict[str, int]:
        """Row of each sample by id, the last row if there are several."""
        return {str(name): row for row, name in enumerate(self.samples.ids)}

    def rows(self, name: str) -> list[int]:
        """All rows of a sample: a view may contain it more than once. None if it is missing."""
        if name not in self.row_numbers:
            return []
        return self._repeated.get(name, [self.row_numbers[name]])

    @cached_property
    def _repeated(self) -> dict[str, list[int]]:
        """Rows of the samples that occur more than once."""
        rows_by_id: dict[str, list[int]] = {}
        if len(self.row_numbers) < len(self.samples):
            for row, name in enumerate(self.samples.ids):
                rows_by_id.setdefault(str(name), []).append(row)
        return {name: rows for name, rows in rows_by_id.items() if len(rows) > 1}

    def shared_with(self, other: LabelledTexts, names: Collection[str]) -> set[str]:
        """Those of these samples that are in both datasets, with the same text."""
        shared = [name for name in names if name in self.row_numbers and name in other.row_numbers]
        digests, other_digests = self.digests(shared), other.digests(shared)
        return {name for name in shared if digests[name] == other_digests[name]}

    def digests(self, names: Collection[str]) -> dict[str, str]:
        """Digests of the texts of those of these samples that are in the dataset."""
        names_here = [name for name in names if name in self.row_numbers]
        new = [name for name in names_here if name not in self._digests]
        if new:
            digests = digests_of(self.samples, [self.row_numbers[name] for name in new])
            self._digests.update(zip(new, digests, strict=True))
        return {name: self._digests[name] for name in names_here}

    def matching(self, labels: Mapping[str, Label]) -> dict[str, Label]:
        """The labels of samples in the dataset with the text that was labelled, or whose labelled text is unknown."""
        digests = self.digests([name for name, label in labels.items() if label.digest])
        return {
            name: label
            for name, label in labels.items()
            if name in self.row_numbers and label.digest in {"", digests.get(name)}
        }

    def read(self, store: Labels, **query: Any) -> tuple[dict[str, Label], set[str]]:
        """A store's labels of these texts, and the samples for which it has only labels of other texts.

        Labels of samples outside the dataset are among the first, because their text cannot be compared.

        Args:
            store: The labels of a store.
            query: Labeller and dataset.
        """
        by_id = dict(store.latest(**query))
        # The last label of an id may be for another text; an older one for this text is queried by its digest.
        mismatched = {name for name in by_id if name in self.row_numbers} - self.matching(by_id).keys()
        by_digest = store.latest(self.digests(mismatched), **query) if mismatched else {}
        matched = {name: label for name, label in by_id.items() if name not in mismatched}
        return matched | dict(by_digest), mismatched - by_digest.keys()

    def sample(self, name: str) -> Sample | str:
        """A sample; its id if it is missing or cannot be read."""
        try:
            return self.samples[self.row_numbers[name]] if name in self.row_numbers else name
        except SamplesError:
            return name


RANDOM, BALANCED, DISAGREEING, CHOSEN = "random", "class-balanced", "disagreement first", "as shown"
NEAREST, UNLABELLED, GIVEN = "nearest the pass threshold", "unlabelled only", "check the data's labels"

_CLASSES = {1: "accepted", 0: "refused", -1: "neither"}
_STRATUM = re.compile(rf"{BALANCED} (?:({'|'.join(_CLASSES.values())}) )?(\d{{1,12}})/(\d{{1,12}})")

_Stratum = tuple[str, Fraction]
"""A class of verdicts, and its share of all rows. Labels of older releases have no class: ""."""


@dataclass(frozen=True)
class WeightedLabels:
    """Users' labels with their sampling weights.

    Attributes:
        labels: True good, False bad, None for none that counts, one per row.
        weights: How many rows each represents, (n,), NaN for unlabelled rows.
        n: Rows whose label counts.
        n_chosen: Labelled rows that were selected by their grades: no rate is estimated from these.
    """

    labels: list[bool | None]
    weights: NDArray[np.float64]
    n: int
    n_chosen: int


def is_at_random(drawn: str) -> bool:
    """Whether labels of such rows need no weights in a rate: drawn at random, or given by hand."""
    return drawn in {"", RANDOM}


def of_stratum(verdict: int, size: int, n: int) -> str:
    """A row drawn out of one class of verdicts.

    Args:
        verdict: The class: 1 accepted, 0 refused, -1 neither.
        size: Rows in the class.
        n: Rows in all.
    """
    return f"{BALANCED} {_CLASSES[verdict]} {size}/{n}"


def weights_of(drawn: Sequence[str]) -> list[float | None]:
    """How many rows each labelled row represents, relative to one drawn at random; None for one selected by its grades.

    A row drawn from a class of verdicts represents the class: its share of all rows over its share of the labels so
    drawn (Begg & Greenes 1983, "Assessment of diagnostic tests when disease verification is subject to selection
    bias"). The weights sum to the number of rows drawn. This is valid for any grader, because it depends on
    how rows were drawn, not on whose verdict is evaluated. If a grader's classes changed between draws, the share
    of a class is the mean of those its labels were drawn with, and the shares are scaled to sum to 1.

    Args:
        drawn: How each row was drawn.

    Example:
        >>> weights_of(["random", "class-balanced accepted 3/4", "class-balanced refused 1/4", "as shown"])
        [1.0, 1.5, 0.5, None]
    """
    strata = _with_classes([_stratum(text) for text in drawn])
    groups = [None if stratum is None else _group(stratum) for stratum in strata]
    counts = Counter(group for group in groups if group is not None)
    shares = {group: total / counts[group] for group, total in _totals(strata).items()}
    scale = Fraction(sum(counts.values())) / sum(shares.values()) if counts else Fraction(0)
    return [
        float(shares[group] / counts[group] * scale)
        if group is not None
        else 1.0
        if is_at_random(text)
        else None
        for text, group in zip(drawn, groups, strict=True)
    ]


def _group(stratum: _Stratum) -> str | _Stratum:
    """The strata counted together: all of its class; the stratum alone if its class is unknown."""
    return stratum[0] or stratum


def _totals(strata: list[_Stratum | None]) -> dict[str | _Stratum, Fraction]:
    """Sum of the shares that the labels of each class were drawn with: they differ if a grader ran again."""
    totals: dict[str | _Stratum, Fraction] = {}
    for stratum, times in Counter(stratum for stratum in strata if stratum is not None).items():
        group = _group(stratum)
        totals[group] = totals.get(group, Fraction(0)) + stratum[1] * times
    return totals


def _with_classes(strata: list[_Stratum | None]) -> list[_Stratum | None]:
    """Strata without a class get the class with their share, if exactly one class has that share."""
    by_share: dict[Fraction, set[_Stratum]] = {}
    for stratum in strata:
        if stratum is not None and stratum[0]:
            by_share.setdefault(stratum[1], set()).add(stratum)
    classes = {
        ("", share): next(iter(strata_of_share))
        for share, strata_of_share in by_share.items()
        if len(strata_of_share) == 1
    }
    return [None if stratum is None else classes.get(stratum, stratum) for stratum in strata]


def _stratum(drawn: str) -> _Stratum | None:
    """The class of verdicts a row was drawn from; None for rows drawn otherwise."""
    match = _STRATUM.fullmatch(drawn)
    if match is None:
        return None
    size, n = map(int, match.groups()[1:])
    return (match[1] or "", Fraction(size, n)) if 0 < size <= n else None


# Fixed: a queue that is rebuilt, as after every run, must continue in the same order.
_SEED = 0


class LabelQueue:
    """The rows of a report, or of a dataset without one, in the order in which they are to be labelled.

    Args:
        order: Out of `ORDERS`.
        samples: The rows, n of them.
        report: Grades of these rows; None before a run.
        grader: Whose verdict balances the classes, and whose disagreements count; the first one by default.
        shown: Rows in the table, for "as shown".
        decided: Samples that are decided already: the classes are balanced over the others.
        given: Samples that the data labels: they are not shown again unless the data labels all rows, except by the
            orders "as shown" and "check the data's labels". For "unlabelled only" also those that another labeller
            labelled: it never shows one of these.

    Attributes:
        asks_given: Whether its first row is one that the data labels.
    """

    def __init__(
        self,
        order: str,
        samples: Any,
        *,
        report: Report | None = None,
        grader: str | None = None,
        shown: Sequence[int] | Rows = (),
        decided: Collection[str] = (),
        given: Collection[str] = frozenset(),
    ) -> None:
        if order not in ORDERS:
            raise WorkbenchError("unknown order", found=repr(order), expected=", ".join(ORDERS))
        self.samples = samples
        graders = report.graders if report is not None else []
        name = grader if grader in graders else next(iter(graders), None)
        shown_rows = np.asarray(shown, dtype=np.intp)
        has_labels = report is not None and report.labels is not None
        voters = len(graders) + (has_labels and bool(graders))
        self.order = _possible_order(order, voters, len(shown_rows), len(given))
        self._verdicts = _verdicts(report, name) if self.order == BALANCED else np.empty(0, np.int8)
        ids = [str(name) for name in samples.ids]
        rows = np.random.default_rng(_SEED).permutation(len(ids)).astype(np.intp)
        if self.order == CHOSEN:
            rows = shown_rows
        elif self.order == NEAREST:
            rows = _nearest(rows, report, str(name))
        elif self.order == DISAGREEING:
            rows = _disagreements(rows, report, str(name))
        elif self.order == BALANCED:
            is_decided = np.array([ids[row] in decided for row in rows], bool)
            rows = np.concatenate(
                [_balanced(rows[part], self._verdicts) for part in (~is_decided, is_decided)]
            )
        if self.order == UNLABELLED:
            rows = rows[np.array([ids[row] not in given for row in rows], bool)]
        elif given and self.order != CHOSEN:
            wanted = np.array([(ids[row] in given) == (self.order == GIVEN) for row in rows], bool)
            rows = rows[wanted] if wanted.any() else rows  # if the data labels every row, they are checked
        self.rows: Rows = rows
        self._ids = [ids[row] for row in self.rows]
        self.asks_given = any(name in given for name in self._ids[:1])

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, row: int) -> bool:
        return bool((self.rows == row).any())

    def next(self, decided: Mapping[str, Any], count: int = 1) -> list[int]:
        """The first `n` rows that are not decided, or fewer."""
        open_rows = (int(row) for row, name in zip(self.rows, self._ids, strict=True) if name not in decided)
        return list(islice(open_rows, count))

    def done(self, decided: Mapping[str, Any]) -> int:
        """Rows of the queue that are decided."""
        return sum(name in decided for name in self._ids)

    def drawn(self, row: int) -> str:
        """How a row was selected for labelling, as stored with its label."""
        if self.order != BALANCED:
            return RANDOM if self.order == UNLABELLED else self.order
        verdict = int(self._verdicts[row])
        return of_stratum(verdict, int((self._verdicts == verdict).sum()), len(self._verdicts))


def _possible_order(order: str, voters: int, n_shown: int, n_given: int) -> str:
    """The order used instead if there is no report, no second opinion, nothing shown, or no label in the data."""
    if order == DISAGREEING and voters < 2:
        order = BALANCED
    if (
        (order in {BALANCED, NEAREST} and not voters)
        or (order == CHOSEN and not n_shown)
        or (order == GIVEN and not n_given)
    ):
        return RANDOM
    return order


def _verdicts(report: Any, grader: Any) -> NDArray[np.int8]:
    """1 accepted, 0 rejected, -1 neither, of each row."""
    case = case_of(report, grader)
    verdict = np.full(len(report), -1, np.int8)
    verdict[case.rows] = case.accepted
    return verdict


def _balanced(rows: Rows, verdicts: NDArray[Any]) -> Rows:
    """Of every two rows one accepted and one rejected: each of the two error rates needs such rows.

    Which of the two comes first is random: strict alternation would reveal the grader's verdict to the labeller.
    """
    accepted, refused = (rows[verdicts[rows] == verdict] for verdict in (1, 0))
    n = min(len(accepted), len(refused))
    pairs = (
        np.random.default_rng(_SEED).permuted(np.column_stack([refused[:n], accepted[:n]]), axis=1).ravel()
    )
    return np.concatenate([pairs, accepted[n:], refused[n:], rows[verdicts[rows] < 0]])


def _disagreements(rows: Rows, report: Any, grader: str) -> Rows:
    """First rows on which a grader differs most from another one or from the label; then those where others differ."""
    scores = np.column_stack([scaled_scores(report, name) for name in report.graders])
    grader_scores = scaled_scores(report, grader)
    distances = np.abs(scores[:, [name != grader for name in report.graders]] - grader_scores[:, None])
    grader_distance = _largest(np.column_stack([distances, _wrong(report, grader)]))
    spread = _largest(scores) + _largest(-scores)
    return rows[np.lexsort((-spread[rows], -grader_distance[rows]))]


def _nearest(rows: Rows, report: Any, grader: str) -> Rows:
    """First rows whose score is closest to the pass threshold; those without a score last."""
    case = case_of(report, grader)
    distance = np.full(len(report), np.inf)
    distance[case.rows] = np.abs(case.grades.scores[case.rows] - case.pass_threshold)
    return rows[np.argsort(distance[rows], kind="stable")]


def _largest(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each line of (n, m) values; -1.0 if there is none."""
    has_value = ~np.isnan(values)
    return np.where(has_value.any(1), np.where(has_value, values, -np.inf).max(1, initial=-np.inf), -1.0)


def _wrong(report: Any, grader: str) -> NDArray[np.float64]:
    """1.0 if a grader differs from the known label, 0.0 if it agrees, NaN if one of the two is missing."""
    case, wrong = case_of(report, grader), np.full(len(report), np.nan)
    if report.labels is not None:
        labels = case.labels[case.rows]
        wrong[case.rows] = np.where(labels < 0, np.nan, case.accepted != (labels == 1))
    return wrong


ORDERS = (RANDOM, UNLABELLED, BALANCED, DISAGREEING, NEAREST, CHOSEN, GIVEN)
"""Orders of a label queue; all are the same for the same report."""
