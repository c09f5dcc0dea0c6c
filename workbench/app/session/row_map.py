"""A map of rows: similar rows are near each other, by a column of embeddings or else by their words; and named clusters.

Words are weighted by TF-IDF (Spärck Jones 1972); a randomised SVD (Halko, Martinsson & Tropp 2011) reduces words or
embeddings to 16 dimensions; k-means finds clusters there; the map is the plane in which the clusters' centres differ
most. It is linear, so that distances on it are those of this plane.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.samples.plain import is_missing
from workbench.data.samples.row_drawing import row_words

MAX_ROWS = 20_000
"""Rows on a map; more are drawn at random. Workbench limit: 20,000 take about 3 s, and a page draws them in a frame."""

_CHARACTERS = 2_000  # of each text, in which words are read
_MAX_WORDS = 3_000  # the vocabulary: those in the most rows, except the ones in more than half of them
_WORD = re.compile(r"[^\W_]{3,24}")
_DIMENSIONS = 16
_MAX_CLUSTERS = 9
_ROWS_PER_CLUSTER = 15  # at least, on average
_STEPS = 20
_CELLS = 200  # of a column, in which its kind is seen
_SEED = 0  # the map of the same rows is the same

Points = NDArray[np.float64]


@dataclass(frozen=True)
class RowMap:
    """Places of rows in a plane.

    Attributes:
        rows: Numbers of the rows on the map, ascending, (m,).
        places: Each row's place, float64 (m, 2), 0 to 1.
        clusters: The cluster of each row, (m,).
        names: Of each cluster: the words that are more frequent in it than elsewhere.
        source: The column of embeddings; "" if the places are by words.
    """

    rows: NDArray[np.intp]
    places: Points
    clusters: NDArray[np.intp]
    names: list[str]
    source: str


def row_map(samples: Any) -> RowMap:
    """The map of a dataset's rows. Takes up to a few seconds: call it in a thread.

    Args:
        samples: The `Samples`.
    """
    n = len(samples)
    rng = np.random.default_rng(_SEED)
    rows = np.arange(n) if n <= MAX_ROWS else np.sort(rng.choice(n, MAX_ROWS, replace=False))
    words = row_words(samples)
    texts = [f"{words.questions[row]} {words.answers[row]}" for row in rows.tolist()]
    weights, vocabulary = _tf_idf(texts)
    source, vectors = _embeddings(samples, rows)
    features = weights if vectors is None else vectors
    reduced = (
        _principal(features, min(_DIMENSIONS, *features.shape), rng)
        if min(features.shape)
        else np.zeros((len(rows), 2))
    )
    clusters = _clusters(reduced, rng)
    names = _names(weights, vocabulary, clusters)
    return RowMap(rows.astype(np.intp), _plane(reduced, clusters, rng), clusters, names, source)


def _tf_idf(texts: Sequence[str]) -> tuple[Any, list[str]]:
    """Weights of the vocabulary in each text, a sparse (m, v) matrix with rows of length 1, and the vocabulary."""
    from scipy.sparse import csr_matrix  # 0.15 s, only for a map

    counts = [Counter(_WORD.findall(text[:_CHARACTERS].lower())) for text in texts]
    frequency = Counter(word for each in counts for word in each)
    most = max(2, len(texts) // 2)
    known = [word for word, count in frequency.most_common() if 2 <= count <= most][:_MAX_WORDS]
    places = {word: at for at, word in enumerate(known)}
    entries = [
        (row, places[word], 1 + np.log(count))
        for row, each in enumerate(counts)
        for word, count in each.items()
        if word in places
    ]
    lines, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    weights = csr_matrix((np.array(values, float), (lines, columns)), shape=(len(texts), len(known)))
    weights = weights.multiply(
        np.log(len(texts) / np.array([float(frequency[word]) for word in known] or [1.0])[None, : len(known)])
    ).tocsr()
    lengths = np.sqrt(np.asarray(weights.multiply(weights).sum(1)).ravel())
    return weights.multiply(1 / np.maximum(lengths, 1e-12)[:, None]).tocsr(), known


def _embeddings(samples: Any, rows: NDArray[Any]) -> tuple[str, Points | None]:
    """The first column whose cells are lists of numbers of one length, and its vectors, (m, d); None without one.

    A row without a vector gets the mean of the others.
    """
    frame = samples.frame
    for name in frame.columns:
        cells = frame[name]
        if cells.dtype != object:
            continue
        seen = [cell for cell in cells.iloc[:_CELLS] if isinstance(cell, str) or not is_missing(cell)]
        first = _vector(seen[0]) if seen else None
        if first is None or any(
            (vector := _vector(cell)) is None or len(vector) != len(first) for cell in seen
        ):
            continue
        vectors = [_vector(cells.iloc[row]) for row in rows.tolist()]
        known = [vector for vector in vectors if vector is not None and len(vector) == len(first)]
        mean = np.mean(known, axis=0)
        filled = [mean if vector is None or len(vector) != len(first) else vector for vector in vectors]
        return str(name), np.array(filled, dtype=np.float64)
    return "", None


def _vector(cell: Any) -> Points | None:
    """A cell as a vector of finite numbers, also if it is JSON; None for another one."""
    if isinstance(cell, str):
        if not cell.lstrip().startswith("["):
            return None
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            return None
    if not isinstance(cell, list | tuple | np.ndarray) or len(cell) < 2:
        return None
    if not all(isinstance(item, int | float | np.number) and not isinstance(item, bool) for item in cell):
        return None
    vector = np.array(cell, dtype=np.float64)
    return vector if vector.ndim == 1 and np.isfinite(vector).all() else None


def _principal(features: Any, dimensions: int, rng: np.random.Generator) -> Points:
    """The first principal components of the rows, (m, dimensions); columns are centred without making a sparse matrix dense."""
    n, width = features.shape
    mean = np.asarray(features.mean(0)).ravel()

    def times(matrix: Points) -> Points:
        return np.asarray(features @ matrix) - (mean @ matrix)[None, :]

    def transposed_times(matrix: Points) -> Points:
        return np.asarray(features.T @ matrix) - np.outer(mean, matrix.sum(0))

    basis = np.linalg.qr(times(rng.normal(size=(width, min(dimensions + 8, width)))))[0]
    for _ in range(3):
        basis = np.linalg.qr(times(np.linalg.qr(transposed_times(basis))[0]))[0]
    left, values, _ = np.linalg.svd(transposed_times(basis).T, full_matrices=False)
    components: Points = (basis @ left)[:, :dimensions] * values[:dimensions]
    return (
        components
        if components.shape[1] >= 2
        else np.column_stack([components, np.zeros((n, 2 - components.shape[1]))])
    )


def _clusters(points: Points, rng: np.random.Generator) -> NDArray[np.intp]:
    """k-means with the start of Arthur & Vassilvitskii 2007; the largest cluster first."""
    count = int(np.clip(len(points) // _ROWS_PER_CLUSTER, 1, _MAX_CLUSTERS))
    centres = points[[int(rng.integers(len(points)))]] if len(points) else np.zeros((1, points.shape[1]))
    for _ in range(count - 1):
        distances = _distances(points, centres).min(1)
        if distances.sum() <= 0:
            break
        centres = np.vstack([centres, points[rng.choice(len(points), p=distances / distances.sum())]])
    nearest = _distances(points, centres).argmin(1)
    for _ in range(_STEPS):
        means = [
            points[nearest == at].mean(0) if (nearest == at).any() else centre
            for at, centre in enumerate(centres)
        ]
        centres = np.array(means)
        before, nearest = nearest, _distances(points, centres).argmin(1)
        if (before == nearest).all():
            break
    order = np.argsort(-np.bincount(nearest, minlength=len(centres)), kind="stable")
    ranks = np.empty(len(centres), np.intp)
    ranks[order] = np.arange(len(centres))
    ranked: NDArray[np.intp] = ranks[nearest]
    return ranked


def _distances(points: Points, centres: Points) -> Points:
    """Squared distances, (m, k)."""
    squares = (points**2).sum(1)[:, None] + (centres**2).sum(1)[None, :] - 2 * points @ centres.T
    distances: Points = np.maximum(squares, 0.0)
    return distances


def _names(weights: Any, vocabulary: Sequence[str], clusters: NDArray[np.intp]) -> list[str]:
    """Up to three words per cluster: those whose mean weight exceeds the mean elsewhere most."""
    names = []
    for at in range(int(clusters.max(initial=-1)) + 1):
        inside = clusters == at
        if not vocabulary:
            names.append(f"cluster {at + 1}")
            continue
        here = np.asarray(weights[inside].mean(0)).ravel()
        elsewhere = np.asarray(weights[~inside].mean(0)).ravel() if (~inside).any() else np.zeros_like(here)
        best = np.argsort(elsewhere - here, kind="stable")[:3]
        words = [vocabulary[word] for word in best if here[word] > elsewhere[word]]
        names.append(" ".join(words) or f"cluster {at + 1}")
    return _distinct(names)


def _distinct(names: Iterable[str]) -> list[str]:
    seen = Counter[str]()
    distinct = []
    for name in names:
        seen[name] += 1
        distinct.append(f"{name} {seen[name]}" if seen[name] > 1 else name)
    return distinct


def _plane(points: Points, clusters: NDArray[np.intp], rng: np.random.Generator) -> Points:
    """Places from 0 to 1: the plane in which the clusters' centres differ most; equal rows lie next to each other."""
    if not len(points):
        return np.zeros((0, 2))
    centres = np.array([points[clusters == at].mean(0) for at in range(int(clusters.max()) + 1)])
    axes = (
        np.linalg.svd(centres[clusters] - points.mean(0), full_matrices=False)[2]
        if len(centres) > 2
        else np.eye(points.shape[1])
    )
    flat = (points - points.mean(0)) @ axes[:2].T
    spread = np.maximum(flat.std(0), 1e-9)
    flat = np.arcsinh(1.5 * flat / spread)  # rows far outside would leave no room for the others
    flat += rng.normal(scale=0.02, size=flat.shape)
    low, high = flat.min(0), flat.max(0)
    places: Points = (flat - low) / np.maximum(high - low, 1e-9)
    return places
