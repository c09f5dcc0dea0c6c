"""Constructs in a script's text that make a row's score depend on more than the row.

Standard library only; loaded by its path. Nothing here parses JavaScript: comments and texts are blanked, braces are
counted, and only top-level `let` and `var` that are written inside braces are reported. The determinism check finds others.
"""

from __future__ import annotations

import re

_BLANK = re.compile(
    r"//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|[^`\\])*`", re.DOTALL
)
_CHANCE = re.compile(r"\bMath\.random\s*\(|\bDate\.now\s*\(|\bnew\s+Date\s*\(\s*\)")
_TOP = re.compile(r"\b(?:let|var)\s+([A-Za-z_$][\w$]*)")
_WRITTEN = r"(?<![\w$.])(?:{0}\s*(?:[-+*/%&|^]=|\+\+|--|=(?!=))|(?:\+\+|--)\s*{0})(?![\w$])?"
_LOCAL = r"\b(?:let|var|const)\s+{0}\b|[(,]\s*{0}\s*[,)]"
_MAX_WARNINGS = 3


def warnings(text: str) -> list[str]:
    """Sentences with their lines; none for a script without state or randomness."""
    code = _BLANK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    found = []
    for match in list(_CHANCE.finditer(code))[:1]:
        what = "draws random values (Math.random)" if "random" in match[0] else "reads the clock"
        found.append(
            f"line {_line(code, match.start())}: the script {what}, so that a row's score may differ from run to run"
        )
    for name, at in _written_globals(code):
        found.append(
            f"line {_line(code, at)}: the script writes the top-level variable {name}, which persists between rows of one "
            f"worker: a score may depend on the rows before it, and on the number of workers"
        )
    return found[:_MAX_WARNINGS]


def _written_globals(code: str) -> list[tuple[str, int]]:
    depths = _depths(code)
    top = {match[1] for match in _TOP.finditer(code) if depths[match.start()] == 0}
    found = []
    for name in sorted(top):
        escaped = re.escape(name)
        # Declared again inside, or a parameter: the text does not show which of the two is written.
        if any(
            depths[match.start()] > 0 or match[0][0] in "(,"
            for match in re.finditer(_LOCAL.format(escaped), code)
        ):
            continue
        written = (match.start() for match in re.finditer(_WRITTEN.format(escaped), code))
        first = next((at for at in written if depths[at] > 0), None)
        if first is not None:
            found.append((name, first))
    return found


def _depths(code: str) -> list[int]:
    """Number of open braces at each character."""
    depth, depths = 0, []
    for character in code:
        depth -= character == "}"
        depths.append(depth)
        depth += character == "{"
    return depths


def _line(code: str, at: int) -> int:
    return code.count("\n", 0, at) + 1
