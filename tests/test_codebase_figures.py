"""The program that prints the figures of this codebase, `tools/figures.py`."""

from __future__ import annotations

from tools import figures

_MODULE = '''
"""A module."""

import os  # noqa: F401


class Twice:
    """A class."""

    def method(self):
        """The docstring does not count."""
        try:
            return 1
        # The reason.
        except (ValueError, Exception):
            return 2
'''


def test_the_static_figures_are_counted(tmp_path):
    """Files, repeated names, handlers, comments and the length of functions, in a package of three files."""
    for folder in ("a", "b", "c"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one.py").write_text(_MODULE, "utf-8")
    found = {figure.name: figure for figure in figures.static_figures(figures.modules(tmp_path))}
    values = {name: figure.value for name, figure in found.items()}
    assert values["files"] == values["packages"] == values["handlers of every exception"] == "3"
    assert values["files under 40 lines"] == "3 (100 %)"
    assert found["class names defined twice or more"].examples == "Twice 3"
    assert found["file names used more than 2 times"].examples == "one.py 3"
    assert values["median lines of a function's body"] == "5"
    assert values["comments per 100 lines"] == f"{100 / _MODULE.count(chr(10)):.1f}"


def test_every_line_has_a_goal(capsys):
    """The table of the package itself, without running it."""
    figures.main(["--static"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert all(" goal " in line for line in lines)


def test_handlers_of_every_exception_are_few_and_explained():
    """Code of others is called through `core/user_functions.attempt`; the handlers left have their reason as a comment."""
    found = {
        (module.path, handler.lineno): module.text.splitlines()[handler.lineno - 1 : handler.body[0].lineno]
        for module in figures.modules()
        for handler in figures.broad_handlers(module)
    }
    assert not [place for place, lines in found.items() if not any("#" in line for line in lines)]
    assert len(found) <= figures.MAX_HANDLERS
