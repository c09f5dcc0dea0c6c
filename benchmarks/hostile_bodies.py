"""A client that sends bodies of 1 to 31 MB that are deep, wide, long or not JSON at all; `serving.py` starts it.

python benchmarks/hostile_bodies.py PORT CONNECTIONS [body ...]
"""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import sys
import threading
from collections.abc import Iterator

VALUES = 240_000
"""A little less than the maximum size."""


def answer(inner: bytes) -> bytes:
    return b'{"turns": [{"role": "assistant", "content": %b}]}' % inner


def column(inner: bytes) -> bytes:
    return b'{"turns": [{"role": "assistant", "content": "4"}], "metadata": {"x": %b}}' % inner


def conversation(turns: int) -> bytes:
    return b'{"turns": [%b]}' % b",".join([b'{"role":"user","content":"x"}'] * turns)


def many(inner: bytes, count: int) -> bytes:
    return b"[%b]" % b",".join([inner] * count)


def echo(inner: bytes) -> bytes:
    return b'{"responses_create_params": {"input": "q"}, "response": {"output": []}, "x": %b}' % inner


BODIES = {
    "deep": ("/score", b"[" * 31_000_000),
    "deep in a row": ("/score", column(b"[" * 500_000 + b"]" * 500_000)),
    "as deep as may be": ("/score", column(many(b"[" * 95 + b"]" * 95, VALUES // 100))),
    "10 million lists": ("/score", column(many(b"[]", 10_000_000))),
    "lists": ("/score", column(many(b"[]", VALUES // 2))),
    "lists in rows": ("/batch_score", b'{"requests": %b}' % many(column(many(b"[]", 30_000)), 4)),
    "objects": ("/score", column(many(b'{"a":0}', VALUES // 2))),
    "labels": ("/slime", b'{"prompt": "q", "response": "a", "label": %b}' % many(b'{"a":0}', VALUES // 2)),
    "names": ("/score", column(json.dumps({str(name): name for name in range(VALUES - 10)}).encode())),
    "600,000 turns": ("/score", conversation(600_000)),
    "80,000 turns": ("/score", conversation(80_000)),
    "9,000 turns": ("/score", conversation(9_000)),
    "a text of 8 MB": ("/score", answer(b'"%b"' % (b"a" * 8_000_000))),
    "a text of 31 MB": ("/score", answer(b'"%b"' % (b"a" * 31_000_000))),
    "escapes": ("/score", answer(b'"%b"' % (b"\\n" * 15_000_000))),
    "space": ("/score", column(b" " * 30_000_000 + b"0")),
    "digits": ("/score", column(b"1" * 31_000_000)),
    "numbers": ("/score", column(many(b"1" * 399, 75_000))),
    "not JSON": ("/score", b'"' * 31_000_000),
    "an echo": ("/verify", echo(many(b'{"a":0}', VALUES // 2))),
}


def ask(port: int, order: Iterator[tuple[str, bytes]]) -> None:
    """Send one body after the other, each on a separate connection."""
    while True:
        path, body = next(order)
        head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(head.encode())
            connection.sendall(body)
            while connection.recv(2**20):
                pass


def main() -> None:
    port, connections, *names = sys.argv[1:]
    order = itertools.cycle([BODIES[name] for name in names or BODIES])
    for _ in range(int(connections)):
        threading.Thread(target=ask, args=(int(port), order), daemon=True).start()
    print("sending", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
