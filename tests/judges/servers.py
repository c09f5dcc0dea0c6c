"""A real HTTP server on a thread of its own, that answers as a function says."""

import json
import sys
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class QuietServer(ThreadingHTTPServer):
    """Prints no traceback for a client that hung up, which some tests want; many may come at once."""

    request_queue_size = 128

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def served(handler):
    """Serve with a class of handlers on a thread of its own. Yields the address; the server is stopped at the end."""
    running = QuietServer(("127.0.0.1", 0), handler)
    running.daemon_threads = True
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_port}"
    finally:
        running.shutdown()
        running.server_close()
        thread.join()


@contextmanager
def server(answer):
    """Serve; `answer(path, body, headers)` gives (status, headers, bytes or data), or None to hang up.

    Yields the address and what was asked, as (path, body, headers); the body of a GET is None.
    """
    requests = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.reply(None)

        def do_POST(self):
            self.reply(json.loads(self.rfile.read(int(self.headers["content-length"]))))

        def reply(self, body):
            headers = {name.lower(): value for name, value in self.headers.items()}
            requests.append((self.path, body, headers))
            answered = answer(self.path, body, headers)
            if answered is None:
                self.close_connection = True
                return
            status, headers, data = answered
            sent = data if isinstance(data, bytes) else json.dumps(data).encode()
            self.send_response(status)
            for name, value in {
                "content-type": "application/json",
                "content-length": str(len(sent)),
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # the client hung up, which some tests want
                self.wfile.write(sent)

        def log_message(self, *args):
            pass

    with served(Handler) as address:
        yield address, requests
