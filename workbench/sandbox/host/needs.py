"""Static check whether a grader's text needs more of the standard library than a new worker has loaded.

A worker continues to load the library after it has started; a grader that needs none of it can start
immediately. The check is conservative: an unknown construct counts as a need and costs 0.1 s once per process.

A text is read as tokens, not as a tree: runs read it on separate threads, and older Pythons corrupt trees that two
threads, one of which may be the user's, build concurrently (see `python_text`).
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

__all__ = ["ALWAYS", "needs_full_stdlib"]

ALWAYS = frozenset({
    "__future__", "abc", "collections", "collections.abc", "dataclasses", "enum", "functools", "itertools", "json", "math", "re",
    "string", "typing", "workbench",
})  # fmt: skip
"""Modules that are loaded from the start, with all their late imports."""
_MODULES = sys.stdlib_module_names - ALWAYS
_REACHING = frozenset({
    "eval", "exec", "compile", "open", "input", "breakpoint", "help", "getattr", "vars", "globals", "locals", "dir",
    "bytes", "bytearray", "memoryview", "encode", "decode", "to_bytes", "fromhex", "modules", "format", "format_map",
    "get_type_hints", "ForwardRef",
})  # fmt: skip
"""Names of functions that import a module late, such as a codec, or that evaluate a text."""
_WAITING = frozenset({"await", "yield", "aiter", "anext"})
"""Names that can reveal which event loop runs a text: until asyncio is loaded, rows run without one."""
_WORD = re.compile(r"[^\W\d]\w*")
_PREFIX = re.compile(r"[A-Za-z]*")
_PLAIN = frozenset({
    tokenize.OP, tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.NUMBER,
    tokenize.ENDMARKER,
})  # fmt: skip
_PARTS_OF_TEXTS = frozenset(
    getattr(tokenize, name)
    for name in ("FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END")
    if hasattr(tokenize, name)
)
"""Python 3.12 and later, where replacement fields of f-strings are separate tokens."""
Token = tokenize.TokenInfo


@lru_cache(maxsize=64)  # called once per worker of a run
def needs_full_stdlib(text: str) -> bool:
    """Whether a Python text may import a module that is not loaded from the start, or detect whether asyncio is.

    Args:
        text: The module.
    """
    if "\0" in text:
        return True
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, ValueError, RecursionError):
        return True
    return any(map(_needs, tokens)) or _runs_beside(tokens) or not all(map(_imports_known, _lines(tokens)))


def _needs(token: Token) -> bool:
    if token.type == tokenize.NAME:
        return _reaches(token.string)
    if token.type == tokenize.STRING:
        found = _PREFIX.match(token.string)
        prefix = found[0].lower() if found else ""
        # Before Python 3.12 an f-string's replacement fields are inside its token.
        return (
            "b" in prefix
            or "__" in token.string
            or ("f" in prefix and any(map(_reaches, _WORD.findall(token.string))))
        )
    if token.type in _PARTS_OF_TEXTS:
        return "__" in token.string
    return token.type not in _PLAIN


def _reaches(name: str) -> bool:
    """Whether a name may give access to modules that are not loaded."""
    return (
        not name.isascii()
        or name.startswith("_")
        or name in _REACHING
        or name in _MODULES
        or name in _WAITING
    )


def _runs_beside(tokens: list[Token]) -> bool:
    """Whether the text contains an `async for` or an `async with`."""
    return any(one.string == "async" and following.string != "def" for one, following in pairwise(tokens))


def _lines(tokens: list[Token]) -> Iterator[list[str]]:
    """The words and operators of each logical line."""
    line: list[str] = []
    for token in tokens:
        if token.type == tokenize.NEWLINE or token.string == ";":
            yield line
            line = []
        elif token.type in (tokenize.NAME, tokenize.OP):
            line.append(token.string)
    yield line


def _imports_known(line: list[str]) -> bool:
    """Whether a line imports nothing, or only loaded modules."""
    if "import" not in line:
        return True
    at = line.index("import")
    if line[0] == "from":
        return "".join(line[1:at]) in ALWAYS
    if at:
        return False  # after a colon
    modules = "".join(" as " if word == "as" else word for word in line[1:]).split(",")
    return all(module.partition(" as ")[0] in ALWAYS for module in modules)
