"""A local server that implements OpenAI's chat protocol: a fixed time per reply, and a limit on concurrent requests.

    python benchmarks/judge_server.py [--seconds 0.05] [--capacity 200] [--refuse 0.3]

It prints its address on one line. `GET /count` returns how many requests it completed and rejected, and the maximum of
concurrent ones. Written on asyncio streams, so that it costs little compared with the clients that are measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from dataclasses import dataclass, field

ANSWER = json.dumps(
    {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "local",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {
                    "role": "assistant",
                    "content": '{"reasoning": "It does all that the criterion needs, in clear English.", "score": "PASS"}',
                },
            }
        ],
        "usage": {"prompt_tokens": 420, "completion_tokens": 24, "total_tokens": 444},
    }
).encode()
FULL = json.dumps({"error": {"message": "no room", "type": "rate_limit", "code": "rate_limit"}}).encode()


@dataclass
class Server:
    """Counts its requests."""

    seconds: float
    capacity: int
    refuse: float
    answered: int = 0
    refused: int = 0
    busy: int = 0
    most: int = 0
    chance: random.Random = field(default_factory=lambda: random.Random(0))

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = _length(head)
                await reader.readexactly(length)
                status, body = await self._answer() if head.startswith(b"POST") else (200, self._count())
                writer.write(
                    b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
                    % (status, len(body), body)
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self) -> tuple[int, bytes]:
        if self.busy >= self.capacity or self.chance.random() < self.refuse:
            self.refused += 1
            return 429, FULL
        self.busy += 1
        self.most = max(self.most, self.busy)
        await asyncio.sleep(self.seconds)
        self.busy -= 1
        self.answered += 1
        return 200, ANSWER

    def _count(self) -> bytes:
        counts = {"answered": self.answered, "refused": self.refused, "most": self.most}
        self.answered = self.refused = self.most = 0
        return json.dumps(counts).encode()


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return int(line[15:])
    return 0


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--capacity", type=int, default=200)
    parser.add_argument("--refuse", type=float, default=0.0)
    settings = parser.parse_args()
    server = Server(settings.seconds, settings.capacity, settings.refuse)
    running = await asyncio.start_server(server.talk, "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{running.sockets[0].getsockname()[1]}/v1", flush=True)
    await running.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
