"""A local server with OpenAI's files and batches, whose batches end when a test says so; requests sent one by one work, too."""

import email.parser
import email.policy
import itertools
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from openai.types import Batch

from tests.judges.servers import served


class BatchServer:
    """What the server has.

    Attributes:
        answer: From a request's body to (status, body of the response), or to None for a request that expired.
        files: Uploaded files and files of results, as bytes, by id.
        batches: The batch objects, by id.
        requests: (method, path, headers) of every request.
        sent_alone: Bodies of requests that were not in a batch.
    """

    def __init__(self, answer):
        self.answer = answer
        self.files, self.batches, self.requests, self.sent_alone = {}, {}, [], []
        self._numbers = itertools.count(1)

    def lines(self, batch):
        """The requests of a batch, in order."""
        return [json.loads(line) for line in self.files[self.batches[batch]["input_file_id"]].splitlines()]

    def end(self, batch, status="completed", backwards=True):
        """End a batch: its files exist from now on, in another order than the requests."""
        good, bad = [], []
        for line in self.lines(batch):
            assert line["method"] == "POST"
            assert line["url"] == self.batches[batch]["endpoint"]
            answered = self.answer(line["body"])
            if answered is None:
                error = {"code": "batch_expired", "message": "This request could not be executed in time."}
                bad.append({"id": "r", "custom_id": line["custom_id"], "response": None, "error": error})
                continue
            code, body = answered
            response = {"status_code": code, "request_id": "q", "body": body}
            outcome = {"id": "r", "custom_id": line["custom_id"], "response": response, "error": None}
            (good if code == 200 else bad).append(outcome)
        counts = {"total": len(good) + len(bad), "completed": len(good), "failed": len(bad)}
        self.batches[batch] |= {"status": status, "request_counts": counts}
        for name, outcomes in (("output_file_id", good), ("error_file_id", bad)):
            if outcomes:
                data = "".join(json.dumps(one) + "\n" for one in outcomes[:: -1 if backwards else 1])
                self.batches[batch][name] = self._store(data.encode())

    def _store(self, data):
        name = f"file-{next(self._numbers)}"
        self.files[name] = data
        return name

    def reply(self, method, path, headers, data):
        path = path.partition("?")[0].removeprefix("/v1")
        if (method, path) == ("POST", "/files"):
            head = f"content-type: {headers['content-type']}\r\n\r\n".encode()
            form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + data)
            parts = {part.get_param("name", header="content-disposition"): part for part in form.iter_parts()}
            assert parts["purpose"].get_payload(decode=True) == b"batch"
            name = self._store(parts["file"].get_payload(decode=True))
            return {"id": name, "object": "file", "bytes": len(data), "created_at": 1, "filename": "f", "purpose": "batch", "status": "processed"}  # fmt: skip
        if (method, path) == ("POST", "/batches"):
            wanted = json.loads(data)
            name = f"batch_{next(self._numbers)}"
            counts = {
                "total": len(self.files[wanted["input_file_id"]].splitlines()),
                "completed": 0,
                "failed": 0,
            }
            self.batches[name] = {
                "id": name, "object": "batch", "created_at": 1, "status": "in_progress", "request_counts": counts, **wanted
            }  # fmt: skip
            Batch.model_validate(self.batches[name])
            return self.batches[name]
        if path.startswith("/batches/"):
            return self.batches.get(path.removeprefix("/batches/"))
        if path.startswith("/files/"):
            return self.files.get(path.removeprefix("/files/").removesuffix("/content"))
        self.sent_alone.append(json.loads(data))
        return self.answer(json.loads(data))[1]


@contextmanager
def batch_server(answer):
    """Serve; yields the address and the `BatchServer`."""
    state, lock = BatchServer(answer), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.reply("GET")

        def do_POST(self):
            self.reply("POST")

        def reply(self, method):
            headers = {name.lower(): value for name, value in self.headers.items()}
            data = self.rfile.read(int(headers.get("content-length", 0)))
            with lock:
                state.requests.append((method, self.path, headers))
                found = state.reply(method, self.path, headers, data)
            body = {"error": {"message": "not found"}} if found is None else found
            sent = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *args):
            pass

    with served(Handler) as address:
        yield f"{address}/v1", state
