"""The cost of a score over HTTP, against a bare Starlette route with the same rule in its own process.

Run it with `python benchmarks/serving.py [--rounds 5]`.

Both servers run for the whole time, each in a separate process, and get requests in turn (base, workbench, base, ...) from one
client over connections that stay open. Compare the ratios: machines differ and are shared, and the client takes its part of
them. The base has no sandbox: one endless loop blocks it for ever.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

GRADER = """
async def grade(thread: StringThread) -> float:
    while thread.completion() == "loop":
        pass
    return 1.0 if (thread.completion() or "").strip() == thread.metadata.get("expected", "4").strip() else 0.0
"""
BASE = """
import socket, sys
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route


def grade(row):
    reward = 1.0 if row["turns"][-1]["content"].strip() == row["metadata"]["expected"].strip() else 0.0
    return {"reward": reward, "metadata": {}, "id": row["id"]}


async def score(request):
    return JSONResponse(grade(await request.json()))


async def batch_score(request):
    return JSONResponse({"responses": [grade(row) for row in (await request.json())["requests"]]})


routes = [Route("/score", score, methods=["POST"]), Route("/batch_score", batch_score, methods=["POST"])]
listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
listening.bind(("127.0.0.1", 0))
listening.listen()
print("serving at http://127.0.0.1:%d;" % listening.getsockname()[1], flush=True)
config = uvicorn.Config(Starlette(routes=routes), log_config=None, access_log=False)
uvicorn.Server(config).run(sockets=[listening])
"""
BATCH, SMALL_BATCH, AT_ONCE = 512, 64, 50
HANGING = 4
MEMORY_ROWS = 200_000


def row(number: int) -> dict[str, object]:
    """A request of about 500 bytes: three turns, two metadata."""
    system, text = "You are a careful assistant. " * 4, "Filler text that makes this prompt longer. " * 5
    turns = [
        {"role": "system", "content": system},
        {"role": "user", "content": f"{number} {text}"},
        {"role": "assistant", "content": str(number % 97)},
    ]
    return {
        "turns": turns,
        "metadata": {"expected": str(number % 89), "topic": f"t{number % 9}"},
        "id": str(number),
    }


@contextlib.contextmanager
def serving(command: Sequence[str], log: Path) -> Iterator[tuple[int, psutil.Process]]:
    """A server's port and process."""
    with log.open("w") as errors, subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, stderr=errors, text=True
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            port = int(line.split("http://127.0.0.1:")[1].split(";")[0])
            yield port, psutil.Process(process.pid)
        finally:
            process.terminate()


async def ask(
    port: int, path: str, bodies: Sequence[bytes], connections: int, hanging: bytes = b""
) -> tuple[list[float], float]:
    """Seconds of each request, and of all, over a number of connections that each wait for their responses.

    Requests that are `hanging` get status 422, and their seconds are left out.
    """
    left, taken = iter(bodies), list[float]()

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
        for body in left:
            head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(body)}\r\n\r\n"
            start = time.perf_counter()
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 422" if body == hanging else b"HTTP/1.1 200"), answer
            await reader.readexactly(int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
            if body != hanging:
                taken.append(time.perf_counter() - start)
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(connections)))
    return taken, time.perf_counter() - start


def batches(port: int, count: int = 40, size: int = BATCH) -> float:
    """Rows per second, in batches over two connections."""
    return count * size / batch_seconds(port, count, size)[1]


def batch_seconds(port: int, count: int, size: int) -> tuple[list[float], float]:
    """Seconds of each batch, and of all, over two connections."""
    body = json.dumps({"requests": [row(number) for number in range(size)]}).encode()
    return asyncio.run(ask(port, "/batch_score", [body] * count, 2))


def small_batches(port: int, rounds: int, count: int = 400) -> Iterator[str]:
    """Throughput and latency of batches as trainers send them."""
    rates, values = list[float](), list[float]()
    for _ in range(rounds):
        taken, seconds = batch_seconds(port, count, SMALL_BATCH)
        rates.append(count * SMALL_BATCH / seconds)
        values += taken
    values.sort()
    p50, p99 = 1000 * values[len(values) // 2], 1000 * values[int(0.99 * len(values))]
    yield f"batches of {SMALL_BATCH}: workbench {statistics.median(rates):,.0f} rows/s, p50 {p50:.1f} ms, p99 {p99:.1f} ms"


def singles(port: int, at_once: int, count: int) -> tuple[float, float, float]:
    """Requests per second, median and 99th percentile in ms, of single rows."""
    taken, seconds = asyncio.run(
        ask(port, "/score", [json.dumps(row(number)).encode() for number in range(count)], at_once)
    )
    ordered = sorted(taken)
    return count / seconds, 1000 * ordered[len(ordered) // 2], 1000 * ordered[int(0.99 * len(ordered))]


def beside_hanging(port: int, rounds: int) -> Iterator[str]:
    """Latency of honest single rows while others hang for a second."""
    hanging = json.dumps({**row(0), "turns": [{"role": "assistant", "content": "loop"}]}).encode()
    bodies = [json.dumps(row(number)).encode() for number in range(1000)]
    for at in range(100, 100 + 50 * HANGING, 50):
        bodies[at] = hanging
    values = [sorted(asyncio.run(ask(port, "/score", bodies, AT_ONCE, hanging))[0]) for _ in range(rounds)]
    p50, p99, most = (1000 * statistics.median(one[at] for one in values) for at in (500, 985, -1))
    yield (
        f"single rows, {AT_ONCE} concurrent requests, with {HANGING} that hang, workbench: p50 {p50:.1f} ms, p99 {p99:.1f} ms, "
        f"longest {most:.1f} ms"
    )


def beside_hostile(port: int, rounds: int, *, at_once: int = 4, names: Sequence[str] = ()) -> Iterator[str]:
    """Latency of honest single rows while bodies of 1 to 31 MB arrive that are deep, wide, long or not JSON at all."""
    script = Path(__file__).with_name("hostile_bodies.py")
    words = [sys.executable, str(script), str(port), str(at_once), *names]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as hostile:
        assert hostile.stdout is not None
        assert hostile.stdin is not None
        hostile.stdout.readline()
        values = [sorted(asyncio.run(paced(port))) for _ in range(rounds)]
        hostile.stdin.close()
    p50, p99, most = (1000 * statistics.median(one[at] for one in values) for at in (500, 989, -1))
    yield (
        f"single rows, one every 10 ms, while {at_once} hostile clients send bodies, workbench: p50 {p50:.1f} ms, "
        f"p99 {p99:.1f} ms, longest {most:.1f} ms"
    )


async def paced(port: int, count: int = 1000) -> list[float]:
    """Seconds of each request, of which one starts every 10 ms."""
    bodies = [json.dumps(row(number)).encode() for number in range(count)]

    async def one(number: int) -> float:
        await asyncio.sleep(number / 100)
        return (await ask(port, "/score", [bodies[number]], 1))[0][0]

    return list(await asyncio.gather(*(one(number) for number in range(count))))


def megabytes(process: psutil.Process) -> float:
    """Memory of a process and of its children that is not shared."""
    family = [process, *process.children(recursive=True)]
    return float(sum(one.memory_full_info().uss for one in family)) / 2**20


def throughput(base: int, ours: int, rounds: int) -> Iterator[str]:
    found = {"base": list[float](), "ours": list[float]()}
    for _ in range(rounds):
        found["base"].append(batches(base))
        found["ours"].append(batches(ours))
    rates = {name: statistics.median(values) for name, values in found.items()}
    yield (
        f"batches of {BATCH}: base {rates['base']:,.0f} rows/s, workbench {rates['ours']:,.0f} rows/s, "
        + ratio(found)
    )


def ratio(found: dict[str, list[float]]) -> str:
    ratios = [ours / base for base, ours in zip(found["base"], found["ours"], strict=True)]
    return f"{statistics.median(ratios):.2f} x"


def latency(base: int, ours: int, rounds: int) -> Iterator[str]:
    for at_once, count in ((1, 1000), (AT_ONCE, 5000)):
        found: dict[str, list[tuple[float, float, float]]] = {"base": [], "ours": []}
        for _ in range(rounds):
            found["base"].append(singles(base, at_once, count))
            found["ours"].append(singles(ours, at_once, count))
        for name, values in found.items():
            rate, p50, p99 = (statistics.median(part) for part in zip(*values, strict=True))
            yield f"single rows, {at_once} concurrent requests, {name}: {rate:,.0f} requests/s, p50 {p50:.1f} ms, p99 {p99:.1f} ms"
        yield "  " + ratio({name: [one[0] for one in values] for name, values in found.items()})


def memory(port: int, process: psutil.Process) -> Iterator[str]:
    step = MEMORY_ROWS // BATCH // 4
    batches(port, step)
    seen = [megabytes(process)]
    for _ in range(4):
        batches(port, step)
        seen.append(megabytes(process))
    yield f"memory over {4 * step * BATCH:,} rows: {' '.join(f'{one:.1f}' for one in seen)} MiB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--hostile", nargs="*", metavar="BODY", help="only with hostile bodies, by default all"
    )
    settings = parser.parse_args()
    rounds = settings.rounds
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        graders, bare = Path(folder) / "graders.py", Path(folder) / "base.py"
        graders.write_text(GRADER, "utf-8")
        bare.write_text(BASE, "utf-8")
        command = ["-m", "workbench", "serve", str(graders), "--port", "0"]
        base, _ = stack.enter_context(serving([str(bare)], Path(folder) / "base.log"))
        start = time.perf_counter()
        ours, process = stack.enter_context(serving(command, Path(folder) / "ours.log"))
        print(f"workbench serve: ready after {time.perf_counter() - start:.2f} s")
        if settings.hostile is not None:
            print(*beside_hostile(ours, rounds, names=settings.hostile))
            return
        for lines in (
            throughput(base, ours, rounds), small_batches(ours, rounds), latency(base, ours, rounds),
            beside_hanging(ours, rounds), memory(ours, process), beside_hostile(ours, rounds),
        ):  # fmt: skip
            for line in lines:
                print(line, flush=True)


if __name__ == "__main__":
    main()
