"""Memory stays flat: what is kept does not grow with the rows."""

import gc
import json
import tracemalloc

from tests.deploy.serve.servers import expected, served, thread_of, until


def test_memory_does_not_grow_with_rows():
    """After the first rows, twenty thousand more leave next to nothing behind in the server's process."""
    body = json.dumps({"requests": [thread_of(str(i % 7), expected="4") for i in range(500)]}).encode()
    with served(expected()) as running:

        def rows(batches):
            for _ in range(batches):
                assert running.post("/batch_score", body).status_code == 200
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        try:
            rows(4)
            before = rows(4)
            rows(40)
            until(
                lambda: rows(0) - before < 300_000
            )  # 15 bytes a row, once the last request has been let go of
        finally:
            tracemalloc.stop()
