"""Packages are installed from where pip is told to take them, whichever program installs them."""

from __future__ import annotations

import sys

import pytest

from tests import installing
from tests.installing import command, install, settings


def test_what_pip_is_set_to_reaches_uv():
    """Every place that pip takes packages from, in uv's own words, and the newest release of all of them."""
    listed = """
global.index-url='https://one.example/simple'
global.extra-index-url='file:///two https://three.example'
global.find-links='/four\\n/five'
global.constraint='/six.txt'
global.cert='/seven.pem'
global.trusted-host='eight.example'
global.timeout='9'
"""
    assert settings(listed) == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_DEFAULT_INDEX": "https://one.example/simple",
        "UV_INDEX": "file:///two https://three.example",
        "UV_FIND_LINKS": "/four,/five",
        "UV_CONSTRAINT": "/six.txt",
        "SSL_CERT_FILE": "/seven.pem",
        "UV_INSECURE_HOST": "eight.example",
    }


def test_the_nearest_setting_counts():
    """A variable of the environment comes before a file, and what is said of installing before what is said of all."""
    listed = (
        "global.cert='a'\ninstall.cert='b'\n:env:.cert='c'\nglobal.constraint='d'\ninstall.constraint='e'\n"
    )
    found = settings(listed)
    assert found is not None
    assert (found["SSL_CERT_FILE"], found["UV_CONSTRAINT"]) == ("c", "e")


def test_what_is_said_of_other_commands_does_not_count():
    """Sections of pip's other commands are left out; pip that is set to nothing needs nothing but the strategy."""
    assert settings("freeze.unknown='1'\nlist.format='columns'\n") == settings("")


@pytest.mark.parametrize("line", ["global.no-index='1'", "install.require-hashes='1'", ":env:.target='/x'"])
def test_pip_installs_where_uv_would_do_something_else(line, monkeypatch):
    """A setting that uv is not told leaves the work to pip."""
    assert settings(f"global.timeout='9'\n{line}\n") is None
    monkeypatch.setattr(installing, "settings", lambda _: None)
    words, _ = command("python", ["name"])
    assert words[1:6] == ["-m", "pip", "--python", "python", "install"]


def test_pip_installs_where_there_is_no_uv(monkeypatch):
    """Without it all is the same, only slower."""
    monkeypatch.setattr(installing.importlib.util, "find_spec", lambda _: None)
    assert command("python", ["name"])[0][2] == "pip"


def test_uv_installs_where_it_is():
    """The interpreter that is meant gets what is asked for."""
    words, variables = command("python", ["-r", "file"])
    assert words[words.index("--python") :] == ["--python", "python", "-r", "file"]
    if "uv" in words:
        assert variables["UV_INDEX_STRATEGY"] == "unsafe-best-match"


def test_a_failure_says_what_is_missing(tmp_path):
    """Whoever calls sees the return code and the message."""
    done = install(sys.executable, "--no-deps", "-r", str(tmp_path / "missing.txt"))
    assert done.returncode
    assert "missing.txt" in done.stderr
