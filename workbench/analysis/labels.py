"""Labels of rows (known good, known bad, unknown), of one annotator or of several."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.analysis.statistics import Estimate, compact
from workbench.analysis.statistics.agreement import among_raters, ceiling_gap, with_raters
from workbench.core.errors import ReportError


def drawn(rows: NDArray[np.bool_], most: int) -> NDArray[np.intp]:
    """Indices of these rows; of very many a random subset, since sorting all of them takes seconds without adding precision.

    Args:
        rows: Which rows, (n,).
        most: Maximum number of rows.

    Returns:
        Ascending, at most `most`; the same ones each time.
    """
    at = np.flatnonzero(rows)
    if len(at) <= most:
        return at
    return np.sort(np.random.default_rng(0).choice(at, most, replace=False))


_MAX_ROWS = 20_000  # they determine kappa within 0.02; reading the texts of more would take seconds
_MAX_RATERS = 6  # those with the most labels: 15 pairs


@dataclass(frozen=True, eq=False, repr=False)
class Votes(Sequence[bool | None]):
    """One label per row, by majority of several annotators: True, False, or None for a tie or no vote.

    Attributes:
        names: The annotators, (m,).
        codes: 1 good, 0 bad, -1 no label, int8 (n, m).
    """

    names: tuple[str, ...]
    codes: NDArray[np.int8]

    @cached_property
    def majority(self) -> NDArray[np.int8]:
        """1 if more annotators vote good than bad, 0 if more vote bad, -1 otherwise, (n,)."""
        balance = (self.codes == 1).sum(1) - (self.codes == 0).sum(1)
        return np.where(balance > 0, 1, np.where(balance < 0, 0, -1)).astype(np.int8)

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, row: int) -> bool | None: ...
    @overload
    def __getitem__(self, row: slice) -> list[bool | None]: ...
    def __getitem__(self, row: int | slice) -> bool | list[bool | None] | None:
        if isinstance(row, slice):
            return [_label(code) for code in self.majority[row].tolist()]
        return _label(int(self.majority[row]))

    def __repr__(self) -> str:
        return f"Votes({', '.join(self.names)}: {len(self):,} rows)"


def _label(code: int) -> bool | None:
    return None if code < 0 else bool(code)


@dataclass(frozen=True, eq=False)
class Scored:
    """The scored rows of a grader, m of them.

    Attributes:
        rows: Number of each row in the report, (m,).
        verdicts: Whether the grader accepts the row, (m,).
        labels: 1 known good, 0 known bad, -1 unknown, (m,).
        groups: Prompt of each row, integer codes (m,).
    """

    rows: NDArray[np.intp]
    verdicts: NDArray[np.bool_]
    labels: NDArray[np.int8]
    groups: NDArray[np.intp]

    def take(self, at: NDArray[np.intp]) -> Scored:
        """Some of them, by their indices."""
        return Scored(self.rows[at], self.verdicts[at], self.labels[at], self.groups[at])


@dataclass(frozen=True, eq=False)
class Raters:
    """Rows that several annotators labelled, with the grader's verdicts.

    Attributes:
        names: The annotators, (m,).
        votes: 1 good, 0 bad, -1 no label, int8 (n, m).
        verdicts: The grader's, 1 accepted, 0 refused, int8 (n,).
        groups: Prompt of each row, integer codes (n,) from 0 on.
        rows: Index of each row in the report, (n,).
    """

    names: tuple[str, ...]
    votes: NDArray[np.int8]
    verdicts: NDArray[np.int8]
    groups: NDArray[np.intp]
    rows: NDArray[np.intp]

    @cached_property
    def among(self) -> Estimate:
        """Their agreement with each other: mean kappa of all pairs."""
        return among_raters(self.votes, self.groups)

    @cached_property
    def with_grader(self) -> Estimate:
        """The grader's agreement with one of them: mean kappa."""
        return with_raters(self.verdicts, self.votes, self.groups)

    @cached_property
    def gap(self) -> Estimate:
        """How much better the grader agrees with them than they do with each other."""
        return ceiling_gap(self.verdicts, self.votes, self.groups)


def raters_by_columns(votes: Votes, scored: Scored) -> Raters | None:
    """The scored rows that two or more annotators labelled, each in a column; None if there are none."""
    return _several(votes.names, votes.codes[scored.rows], scored)


def raters_by_repeats(
    people: Sequence[Hashable | None],
    hashes_of: Callable[[NDArray[np.intp]], NDArray[np.int64]],
    scored: Scored,
) -> Raters | None:
    """The completions that two or more annotators labelled, each in a separate row; None if there are none.

    Rows with the same prompt and completion are one row; the first of an annotator's labels of it counts.

    Args:
        people: Annotator of each row of the report, None if not named.
        hashes_of: Function from row indices to an integer per completion, equal for equal completions.
        scored: The scored rows.
    """
    labelled = _of_some_prompts(np.flatnonzero(scored.labels >= 0), scored.groups)
    named = [at for at in labelled if people[scored.rows[at]] is not None]
    scored = scored.take(np.array(named, dtype=np.intp))
    names = list(dict.fromkeys(people[row] for row in scored.rows))
    if len(names) < 2 or len(np.unique(scored.groups)) == len(named):
        return None
    answers = np.column_stack([scored.groups, hashes_of(scored.rows)])
    _, first, answer = np.unique(answers, axis=0, return_index=True, return_inverse=True)
    votes = np.full((len(first), len(names)), -1, np.int8)
    place = {name: at for at, name in enumerate(names)}
    # In reverse, so that the first label of an annotator is used.
    for at in reversed(range(len(named))):
        votes[answer.ravel()[at], place[people[scored.rows[at]]]] = scored.labels[at]
    return _several(tuple(map(str, names)), votes, scored.take(first))


def _of_some_prompts(at: NDArray[np.intp], groups: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows of a random subset of prompts below the maximum number: all labels of a completion stay together."""
    if len(at) <= _MAX_ROWS:
        return at
    places = np.random.default_rng(0).permutation(int(groups.max()) + 1)[groups[at]]
    # The first prompts of a random order, as many as fit.
    kept: NDArray[np.intp] = at[places <= np.partition(places, _MAX_ROWS)[_MAX_ROWS]]
    return kept


def _several(names: tuple[str, ...], votes: NDArray[np.int8], scored: Scored) -> Raters | None:
    """The rows with labels of two or more annotators, and the annotators with the most labels of them."""
    kept = drawn((votes >= 0).sum(1) > 1, _MAX_ROWS)
    if not len(kept):
        return None
    busiest = np.sort(np.argsort(-(votes[kept] >= 0).sum(0), kind="stable")[:_MAX_RATERS])
    scored = scored.take(kept)
    return Raters(
        tuple(names[rater] for rater in busiest), votes[np.ix_(kept, busiest)], scored.verdicts.astype(np.int8),
        compact(scored.groups), scored.rows,
    )  # fmt: skip


_UNREAD = 9  # marks an entry that `_label` must parse
_GOOD_WORDS = (
    "true t yes y good pass passed correct right accept accepted approved ok okay valid positive 1 1.0 ✓ ✔ ✅ 👍"
    " thumbs_up thumbs-up"
    " ja wahr richtig gut korrekt bestanden"  # German; Dutch shares some
    " oui vrai vraie bon bonne juste correcte réussi"  # French
    " sí si verdadero correcto correcta bueno buena bien aprobado"  # Spanish
    " sì vero giusto giusta corretto corretta buono"  # Italian
    " sim verdadeiro certo correto correta bom"  # Portuguese
    " waar goed juist geslaagd tak prawda dobrze poprawny poprawna ano správně"  # Dutch, Polish, Czech
    " да верно правильно хорошо evet doğru iyi"  # Russian, Turkish
    " 是 对 對 正确 正確 好 はい 正しい 正解 良い 예 맞음 정답"  # Chinese, Japanese, Korean
)
_BAD_WORDS = (
    "false f no n bad fail failed incorrect wrong reject rejected invalid negative 0 0.0 ✗ ✘ ❌ 👎"
    " thumbs_down thumbs-down"
    " nein falsch schlecht inkorrekt"
    " non faux fausse mauvais mauvaise"
    " falso incorrecto incorrecta malo mala mal suspenso"
    " sbagliato sbagliata scorretto cattivo"
    " não nao errado errada incorreto ruim"
    " nee onwaar slecht onjuist gezakt nie fałsz źle niepoprawny ne špatně nesprávně"
    " нет неверно неправильно плохо hayır yanlış kötü"  # noqa: RUF001
    " 否 错 錯 错误 錯誤 不好 いいえ 間違い 不正解 悪い 아니요 틀림 오답"
)
_UNLABELLED_WORDS = "na n/a none null unknown unlabelled unlabeled unsure ?"
_WORDS = {
    **dict.fromkeys(_GOOD_WORDS.split(), 1),
    **dict.fromkeys(_BAD_WORDS.split(), 0),
    **dict.fromkeys(["", *_UNLABELLED_WORDS.split()], -1),
}
"""Labels in files or typed by users, case-insensitive, to their code."""

_READ = (
    "True, False or None; or words such as good/bad, correct/incorrect, right/wrong, pass/fail, accept/reject, yes/no, "
    'true/false, 1/0 (in any case, also in other languages), and "", "n/a" or "unknown" for no label'
)


def is_label(text: str) -> bool:
    """Whether a text is a label as parsed by `read_labels`, such as "good" or "0"."""
    return text.strip().casefold() in _WORDS


def read_labels(labels: Any, n: int) -> NDArray[np.int8]:
    """Labels as 1 good, 0 bad, -1 unknown, (n,).

    Args:
        labels: True, False, None, or words such as good/bad, correct/incorrect, pass/fail, yes/no, 1/0 and "" for
            each row, or `Votes`, of which the majority counts; None for no labels at all.
        n: Number of rows.

    Raises:
        ReportError: The number of entries is not n, they have no fixed order, or an entry is none of these.
    """
    if labels is None:
        return np.full(n, -1, np.int8)
    values = labels if isinstance(labels, Votes) else _values(labels)
    if len(values) != n:
        raise ReportError(
            "labels must have one entry per row", found=f"{len(values):,} entries", expected=f"{n:,} entries"
        )
    if isinstance(labels, Votes):
        return labels.majority
    # By identity first, which is fast: all labels are parsed again whenever one of a hundred thousand changes.
    codes = np.array(
        [
            1 if label is True else 0 if label is False else -1 if label is None else _UNREAD
            for label in values
        ],
        np.int8,
    )
    unread: dict[int, Any] = {}
    for row in np.flatnonzero(codes == _UNREAD).tolist():
        code = _label_code(values[row])
        if code is None:
            unread[row] = values[row]
        else:
            codes[row] = code
    if unread:
        raise _unread_labels(unread)
    return codes


def _values(labels: Any) -> list[Any]:
    if isinstance(labels, pd.Series) and not labels.index.equals(pd.RangeIndex(len(labels))):
        raise ReportError(
            "the labels are a Series with a separate index, so the assignment to rows is ambiguous",
            found=f"index {list(labels.index[:4])}",
            expected="one label per row, in the rows' order",
            hint="name a column of the samples instead (labels='good'), or pass labels.tolist()",
        )
    if not _is_column(labels):
        raise ReportError(
            "labels must be one entry per row",
            found=f"{type(labels).__name__} {labels!r:.60}",
            expected="a list of True (known good), False (known bad) and None, or a column of the samples",
        )
    return list(labels)


def _is_column(labels: Any) -> bool:
    # A frame and a mapping iterate over names, a set in no fixed order, an iterator only once.
    refused_types = (str, bytes, Mapping, AbstractSet, Iterator, pd.DataFrame)
    if isinstance(labels, refused_types) or not isinstance(labels, Iterable):
        return False
    return bool(getattr(labels, "ndim", 1) == 1)


def _label_code(label: Any) -> int | None:
    """The code of a label; None if it cannot be read."""
    if label is None or label is pd.NA or _is_nan(label):
        return -1
    if isinstance(label, str):
        return _WORDS.get(label.strip().casefold())
    if isinstance(label, bool | np.bool_ | int | float | np.number) and label in (0, 1):
        return int(label)
    return None


def _unread_labels(unread: dict[int, Any]) -> ReportError:
    first = next(iter(unread))
    different = list(dict.fromkeys(f"{label!r:.80}" for label in unread.values()))
    more = f" and {len(different) - 3} more" if len(different) > 3 else ""
    return ReportError(
        "a label is neither good, bad nor unknown",
        where=f"row {first} of labels" + (f", and {len(unread) - 1:,} more" if len(unread) > 1 else ""),
        found=", ".join(different[:3]) + more,
        expected=_READ,
        hint="map them: labels=[{'...': True, '...': False}.get(value) for value in column]",
    )


def _is_nan(label: Any) -> bool:
    return label is pd.NaT or (isinstance(label, float | np.floating) and bool(np.isnan(label)))
