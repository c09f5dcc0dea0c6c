"""The batches of a run: replies of earlier ones are collected before it, and its requests are submitted as one after it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from workbench.core import background
from workbench.core.display_text import counted
from workbench.core.errors import ReportError, WorkbenchError
from workbench.core.system_limits import undo_on_error
from workbench.graders.combine import Entry
from workbench.graders.serialization import parts
from workbench.judges.batch_api import MAX_BYTES, MAX_REQUESTS, BatchApi, BatchState
from workbench.judges.cache import BatchQueue, QueuedRequest
from workbench.judges.kinds import Judge
from workbench.judges.openai_client import OpenAIClient
from workbench.judges.protocol import JudgeServerError

if TYPE_CHECKING:
    from workbench.store import Store
    from workbench.store.stored_batches import StoredBatch

_PUT_AT_ONCE = 1_000


class BatchRun:
    """Collects and submits the batches of a run.

    Args:
        entries: The graders.
        store: Where replies and the names of batches are.

    Attributes:
        queue: The requests that the run needs and the store lacks.
        notes: Sentences for the user.

    Raises:
        ReportError: No judge of the run calls a server with a batch API.
    """

    def __init__(self, entries: Iterable[Entry], store: Store) -> None:
        judges = [part for entry in entries for part in parts(entry.grader) if isinstance(part, Judge)]
        clients = [client for judge in judges if isinstance(client := judge.chat_client(), OpenAIClient)]
        if not clients:
            raise ReportError(
                "batch=True needs a judge that calls a server", found="no judge with an OpenAIClient",
                hint="leave it out, or give the judge model= and, for your own server, base_url=",
            )  # fmt: skip
        self._clients, self._store = clients, store
        self.queue = BatchQueue()
        self.notes: list[str] = []

    def collect(self) -> None:
        """Store the replies of all batches that have ended, and learn which requests are in the others.

        Raises:
            JudgeServerError: A server cannot be reached, or does not know the batch.
        """
        for batch in self._store.batches.list(status="open"):
            client = next((one for one in self._clients if one.address == batch.address), None)
            if client is not None:
                self._collect(batch, BatchApi(client))
        self.queue.pending = self._store.batches.pending()

    def _collect(self, batch: StoredBatch, api: BatchApi) -> None:
        try:
            state = background.run(api.state(batch.batch))
        except JudgeServerError as error:
            raise type(error)(
                f"batch {batch.batch} cannot be looked up: {error.what}", where=error.where, found=error.found,
                hint=f"if it no longer exists, free its requests: store.batches.abandon({batch.number})",
            ) from None  # fmt: skip
        if not state.has_ended:
            done = f"{state.done:,} of {counted(state.total or batch.requests, 'request')} done"
            self.notes.append(f"Batch {batch.batch} at {batch.address}: {state.status}, {done}.")
            return
        replies, failures, cost = background.run(self._stored(batch, api, state))
        self._store.batches.end(batch.number, state.status, replies, cost)
        self.notes += _outcome_notes(batch, state, replies, failures, cost)

    async def _stored(
        self, batch: StoredBatch, api: BatchApi, state: BatchState
    ) -> tuple[int, list[str], float]:
        """Store the replies; returns their number, the errors of the others, and the cost in US dollars."""
        wanted, replies, failures, cost = self._store.batches.requests_of(batch.number), [], [], 0.0
        for outcome in await api.outcomes(state, batch.model):
            if outcome.reply is None:
                failures.append(outcome.error)
            elif outcome.key in wanted:  # the server's file may not replace other replies
                replies.append((outcome.key, outcome.reply))
                usage = outcome.reply.usage
                cost += (usage.cost or 0.0) if usage is not None else 0.0
        for start in range(0, len(replies), _PUT_AT_ONCE):
            chunk = replies[start : start + _PUT_AT_ONCE]
            puts = (self._store.replies.put(key, reply, model=batch.model) for key, reply in chunk)
            await asyncio.gather(*puts)
        return len(replies), failures, cost

    def submit(self) -> None:
        """Submit the requests of the queue, one batch or more per client and model. A failure becomes a note."""
        for requests in _batches_of(list(self.queue.requests.values())):
            client = requests[0].client
            assert isinstance(client, OpenAIClient)
            model = requests[0].model
            number, own = self._store.batches.start(client.address, model, [one.key for one in requests])
            wanted = set(own)
            requests = [one for one in requests if one.key in wanted]  # noqa: PLW2901 (without those of others)
            if not requests:
                self._store.batches.abandon(number, "empty")
                continue
            try:
                # Also an interrupt must not leave a batch that other processes would wait for.
                with undo_on_error(self._store.batches.abandon, number):
                    state = background.run(BatchApi(client).submit(requests))
            except WorkbenchError as error:
                self.notes.append(
                    f"The batch of {counted(len(requests), 'request')} was not submitted: {error}"
                )
            else:
                self._store.batches.submitted(number, state.id)
                self.notes.append(
                    f"{counted(len(requests), 'request')} to {model!r} were submitted as batch {state.id} at {client.address}. "
                    "Run the same line again, in any process with this store, to collect the replies."
                )
        if self.queue.waiting:
            self.notes.append(
                f"{counted(len(self.queue.waiting), 'request')} of this run are in an earlier batch."
            )


def _outcome_notes(
    batch: StoredBatch, state: BatchState, replies: int, failures: Sequence[str], cost: float
) -> Iterator[str]:
    spent = f", ${cost:.4f}" if cost else ""
    yield f"Batch {batch.batch} ({state.status}): collected the replies of {replies:,} of {counted(batch.requests, 'request')}{spent}."
    if failures:
        yield f"{counted(len(failures), 'request')} of batch {batch.batch} failed, and are submitted again: {failures[0]}"
    if state.problem:
        yield f"The server rejected batch {batch.batch}: {state.problem}"


def _batches_of(requests: Sequence[QueuedRequest]) -> Iterator[list[QueuedRequest]]:
    """Requests of one client and model, within the limits of one batch."""
    groups: list[list[QueuedRequest]] = []
    for request in requests:
        own = next((g for g in groups if (g[0].client, g[0].model) == (request.client, request.model)), None)
        if own is None:
            groups.append([request])
        else:
            own.append(request)
    for group in groups:
        part: list[QueuedRequest] = []
        size = 0
        for request in group:
            length = len(request.body.encode()) + 200  # of its line, with key and path
            if part and (len(part) >= MAX_REQUESTS or size + length > MAX_BYTES):
                yield part
                part, size = [], 0
            part.append(request)
            size += length
        yield part
