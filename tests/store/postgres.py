"""A private PostgreSQL server from the programs on this machine, on a free port, as a plain user."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.browser.lab import free_port


def folder() -> Path | None:
    """Where `initdb` and `postgres` are; None where they are not."""
    debian = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True
    )
    return next((one for one in [*debian, *_on_path()] if (one / "initdb").exists()), None)


def _on_path() -> list[Path]:
    found = shutil.which("initdb")
    return [Path(found).resolve().parent] if found else []


@dataclass
class Server:
    """A running server.

    Attributes:
        programs: Folder of its programs.
        home: Its own folder.
        port: Where it listens, on 127.0.0.1 alone.
    """

    programs: Path
    home: Path
    port: int
    user: str

    @property
    def url(self) -> str:
        return f"postgresql://workbench@127.0.0.1:{self.port}/postgres"

    def program(self, name: str, *words: str) -> str:
        """Run one of its programs as its user; what it printed."""
        command = [str(self.programs / name), *words]
        root = os.geteuid() == 0
        done = subprocess.run(
            command,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=600,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            **(
                {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []}
                if root
                else {}
            ),
        )
        assert done.returncode == 0, f"{name}: {done.stdout[-1000:]}{done.stderr[-2000:]}"
        return done.stdout

    def start(self) -> None:
        options = (
            f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.home}"
            " -c fsync=off -c max_connections=50"
        )
        log = str(self.home / "log")
        # pg_ctl's children keep its output open, so it gets none of ours.
        self.program("pg_ctl", "start", "-w", "-s", "-D", str(self.home / "data"), "-l", log, "-o", options)

    def stop(self) -> None:
        self.program("pg_ctl", "stop", "-w", "-s", "-D", str(self.home / "data"), "-m", "immediate")


@contextlib.contextmanager
def serve(programs: Path) -> Iterator[Server]:
    """A server that is there for the block; its folder is gone afterwards."""
    user = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    home = Path(tempfile.mkdtemp(prefix="workbench-pg-", dir="/tmp"))
    try:
        if os.geteuid() == 0:
            os.chown(home, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
        server = Server(programs, home, free_port(), user)
        options = ("-U", "workbench", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        server.program("initdb", "-D", str(home / "data"), *options)
        _ask_for_a_password(home / "data" / "pg_hba.conf")
        server.start()
        try:
            yield server
        finally:
            with contextlib.suppress(AssertionError):
                server.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _ask_for_a_password(rules: Path) -> None:
    """One user has to say one, all others are trusted on this machine."""
    text = rules.read_text()
    rules.write_text(f"host all careful 127.0.0.1/32 scram-sha-256\n{text}")
