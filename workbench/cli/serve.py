"""`workbench serve`: graders as an HTTP server, in the wire formats of trainers and platforms."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from pathlib import Path
from typing import Any

import workbench as wb
from workbench.cli.options import Commands, add_reading, at_least_one, read_suite, say
from workbench.core.display_text import one_line

_TOKEN_ENV = "WORKBENCH_SERVE_TOKEN"  # noqa: S105 (the name of a variable)


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    serve = commands.add_parser("serve", help="serve rewards to trainers and platforms by HTTP")
    serve.add_argument(
        "graders", type=Path, help="a .py module with grade functions, or a grader file of any platform"
    )
    serve.add_argument("--host", default="127.0.0.1", help="address to bind to (default: this machine only)")
    serve.add_argument("--port", type=int, default=8000, help="0 for any free port (default 8000)")
    serve.add_argument(
        "--token-env", metavar="NAME", default=_TOKEN_ENV,
        help=f"environment variable with the token that clients must send (default {_TOKEN_ENV})",
    )  # fmt: skip
    serve.add_argument(
        "--no-token", action="store_true",
        help="serve other machines without a token: a proxy in front authenticates clients, as Cloud Run does",
    )  # fmt: skip
    serve.add_argument(
        "--workers", type=at_least_one, metavar="N", help="sandbox processes (default: cores - 1)"
    )
    _add_limits(serve)
    _add_hostile_limits(serve)
    serve.add_argument(
        "--on-error", type=float, metavar="NUMBER",
        help="value of a row without a score if the wire format cannot represent it (default: an error status)",
    )  # fmt: skip
    serve.add_argument(
        "--reference", default="", metavar="COLUMN",
        help="the column that graders read the label from, if it has an unusual name",
    )  # fmt: skip
    serve.add_argument(
        "--log-rows", action="store_true", help="log the request and response rows, including completions"
    )
    serve.add_argument("--trust", action="store_true", help="run the source even if it cannot be confined")
    add_reading(serve)
    serve.set_defaults(command=_serve)


def _add_limits(serve: argparse.ArgumentParser) -> None:
    serve.add_argument(
        "--max-rows", type=at_least_one, metavar="N", default=4096, help="rows of one request (default 4096)"
    )
    serve.add_argument(
        "--max-bytes",
        type=at_least_one,
        metavar="N",
        default=32 * 2**20,
        help="bytes of one request (default 32 MiB)",
    )
    serve.add_argument(
        "--timeout", type=float, metavar="S", default=100.0, help="seconds a request may take (default 100)"
    )
    serve.add_argument(
        "--queue", type=at_least_one, metavar="N", default=16_384,
        help="rows that wait or are graded concurrently; above it the response is 429 with Retry-After (default 16384)",
    )  # fmt: skip


def _add_hostile_limits(serve: argparse.ArgumentParser) -> None:
    serve.add_argument(
        "--max-row-bytes", type=at_least_one, metavar="N", default=8 * 2**20,
        help="bytes of one row (default 8 MiB)",
    )  # fmt: skip
    serve.add_argument(
        "--max-values", type=at_least_one, metavar="N", default=250_000,
        help="values of JSON in one request (default 250000)",
    )  # fmt: skip
    serve.add_argument(
        "--max-connections", type=at_least_one, metavar="N", default=2048,
        help="concurrent connections; above it the response is 503 with Retry-After (default 2048)",
    )  # fmt: skip
    serve.add_argument(
        "--max-connections-per-address", type=at_least_one, metavar="N", default=1024,
        help="concurrent connections per address (default 1024)",
    )  # fmt: skip


def _serve(options: argparse.Namespace) -> int:
    from workbench.deploy.reward.stats import columns_beside_label
    from workbench.deploy.serve import RequestLimits, address, bound, create_app, require_extra, serve
    from workbench.deploy.serve.middleware import check_binding

    require_extra()
    token = "" if options.no_token else os.environ.get(options.token_env, "")
    check_binding(options.host, token, token_env=options.token_env, open_to_all=options.no_token)
    limits = RequestLimits(
        max_rows=options.max_rows, max_bytes=options.max_bytes, timeout=options.timeout, queue=options.queue,
        max_row_bytes=options.max_row_bytes, max_values=options.max_values, max_connections=options.max_connections,
        max_connections_per_address=options.max_connections_per_address,
    )  # fmt: skip
    suite = read_suite(options.graders, options)
    _run_checks(suite)
    _log_to_stderr()
    for name, column in columns_beside_label(suite.entries, options.reference):
        say(
            f"note: {name} reads the column {column!r}: clients send it as metadata, or as the label with --reference {column}",
            error=True,
        )
    app = create_app(
        suite, workers=options.workers, limits=limits, on_error=options.on_error, reference=options.reference,
        token=token, log_rows=options.log_rows,
    )  # fmt: skip
    listening = bound(options.host, options.port)
    here, names = address(listening), one_line(", ".join(entry.name for entry in suite.entries))
    serve(
        app,
        listening,
        ready=lambda: say(f"serving {names} at {here}; forms and examples: {here}/docs"),
    )
    say("stopped")
    return 0


def _run_checks(suite: wb.Suite) -> None:
    """Run the five checks on sources that have not passed them, as a run does before its first row.

    Raises:
        ValidationError: A source failed.
    """
    from workbench.graders.serialization import parts

    for entry in suite.entries:
        code_graders: list[Any] = [part for part in parts(entry.grader) if hasattr(part, "require_validated")]
        for grader in code_graders:
            if grader.validation is None or not grader.validation.ok:
                grader.validate().raise_for_failure()


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("workbench.deploy.serve")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
