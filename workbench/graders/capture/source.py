"""`Source`: a grader's source text, which is run, saved and exported, and the search for credentials in it."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from workbench.core.errors import CaptureError

_SECRET_NAME = re.compile(
    r"(?:^|_)(api_?keys?|secret_?keys?|client_?secrets?|(?:db|my|user|admin|root)?passwords?|passwd|pwd|pw|pass_?phrases?"
    r"|private_?keys?|(?:openai|azure|anthropic|google|gemini|mistral|groq|cohere|deepseek|aws|stripe|hf|github)_?keys?"
    r"|(?:auth|access|api|bearer|refresh|hf|hub|github|gitlab|npm|slack|openai|session)_?tokens?)(?:$|_)",
    re.IGNORECASE,
)
_MAYBE_SECRET_NAME = re.compile(
    r"(?:^|_)(secrets?|credentials?|access_?keys?|id_?tokens?|authorization|tokens?)(?:$|_)", re.IGNORECASE
)
"""Names of secrets, and of words and marks of tasks ("secret_word", "pad_token"): only mixed characters count."""
_ABOUT_SECRETS = re.compile(
    r"_(?:hash|sha\d*|md5|digest|column|field|name|header|re|regex|pattern|prompt|question|label|message|error|file|path|env"
    r"|var|variable|policy|rule|type|kind|format|length|prefix|hint|id|arn|source|status|present)s?$|^(?:pad|end|start|stop|fail|pass|eos|bos|unk|sep|mask|special)_tokens?$",
    re.IGNORECASE,
)
"""Names of properties of a secret: a hash for a request, the name of a column, a pattern."""
# In grading a token is often a text token or a mark such as "<eos>"; a key is one long run of mixed characters.
_OPAQUE = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9_\-.+/=]{8,}")
_SHAPES = re.compile(
    r"(?<![\w-])(?P<dashed>(?:sk|pk|rk|xai|tvly|pplx|nvapi)-[\w-]{16,300})|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}"
    r"|\bglpat-[\w-]{16,}|\bnpm_[A-Za-z0-9]{36}|\bpypi-AgEI[\w-]{16,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,}"
    r"|\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}|\bxox[abeprs]-[\w-]{10,}|\bxapp-\d-[\w-]{16,}|\b(?:hf|gsk|r8|fw)_[A-Za-z0-9]{20,}"
    r"|\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9+/=]{20,}|(?<![\w.-])SG\.[\w-]{16,}\.[\w-]{16,}"
    r"|\bdapi[0-9a-f]{32}\b|\bdo[opr]_v1_[0-9a-f]{40,}|\blsv2_[a-z]{2}_[0-9a-f]{32}|\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"
    r"|\b\d{8,10}:AA[\w-]{33}|\bAccountKey=[A-Za-z0-9+/]{40,}|-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----(?:\s|\\n|[\"'+]){0,16}[\w+/=]{16}"
    r"|(?<![\w-])eyJ[\w-]{8,2000}\.eyJ[\w-]{8,2000}\.[\w-]+"
    r"|://[^/\s:@'\"{}<>*\\]{1,200}:(?!pass(?:word|wd)?@)[^/\s:@'\"{}<>*\\]{3,200}@"
    r"|\bauth ?= ?\( ?[\"'][^\"'\s]{1,100}[\"'], ?[\"'][^\"'\s<>{}]{4,100}[\"']"
    # Webhook addresses: everyone who knows one can write to it.
    r"|\bhooks\.slack\.com/(?:services|workflows|triggers)/[\w/]{16,}|\bdiscord(?:app)?\.com/api/webhooks/\d+/[\w-]{16,}"
    r"|\.webhook\.office\.com/webhookb2/[\w@/-]{16,}|\bhooks\.zapier\.com/hooks/catch/\w+/\w+"
    r"|\bchat\.googleapis\.com/v1/spaces/[\w/]+\?key=[\w-]+"
    r"|[?&](?:api_?key|access_token|auth|key|sig|signature|token|secret|password)=(?=[\w%.~+/-]*\d)(?=[\w%.~+/-]*[A-Za-z])[\w%.~+/-]{16,}"
    r"|\bBearer +(?=[\w.~+/-]*\d)[\w.~+/-]{20,}|\bBasic +(?P<basic>[A-Za-z0-9+/]{12,300}={0,2})",
    re.ASCII,
)
_NAMED = re.compile(
    r"""(?<![\w-])(?P<name>[A-Za-z_$][\w-]{0,80})["']?\]?[ \t]{0,8}(?::[ \t]{0,8}(?:str|bytes|string)[ \t]{0,8})?[=:](?:\s|\\\n){0,8}"""
    r"""\(?\s{0,8}[bBrRuUfF]{0,2}(?P<quote>["']{3}|["'`])(?P<value>[^"'`\\\s]{4,500})(?P=quote)"""
)
"""A short text assigned to a name: an assignment, an argument, a key of a dict or object, in Python and JavaScript."""
_NO_VALUE = re.compile(
    r"[^A-Za-z0-9]*|.*(?:[<>{}()\[\]|^*]|%[sdr]|EXAMPLE).*|[A-Z_-]*(?:key|secret|password|passwd|token|credential|authorization)[A-Z_-]*|(?:your|my|the|some|an?|example|sample|dummy|fake|test|mock|wrong|invalid)[-_].*"
    r"|change-?me|dummy|empty|example|fake|invalid|letters|missing|mock|none|null|placeholder|required|secret|strong|string|test"
    r"|true|false|undefined|unknown|wrong|weak|x+|\*+|(?-i:\$?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)",
    re.IGNORECASE,
)
"""Placeholders of documentation: a template's field, the name of an environment variable."""
_LOOKS = "the value is not shown here"
_MIN_ENVIRONMENT = 8
"""Minimum characters of a variable's value to search for: "test" and "1" are in many harmless texts."""


def refuse_credentials(name: str, value: Any) -> None:
    """Refuse a plain value, about to be written out, that looks like a credential.

    Raises:
        CaptureError: By its name, its shape, or because the environment has it under a secret name.
    """
    for label, text in _texts(name, value):
        if _is_secret(label, text):
            raise _error(name, f"a text called {label.strip()}" if label != name else _LOOKS)


def refuse_credentials_in(text: str, where: str) -> None:
    """Refuse source text that contains a credential: by shape, by the assigned name, or by the environment.

    The text is searched without parsing it, because it may be untrusted.

    Raises:
        CaptureError: With the line number, never the text.
    """
    position = _position(text)
    if position is None:
        found = (_contained(value, text) for value in _environment_secrets())
        position = next((place for place in found if place is not None), None)
    if position is not None:
        raise _error(f"a text in line {text.count(chr(10), 0, position) + 1}", _LOOKS, where)


@lru_cache(maxsize=256)
def _position(text: str) -> int | None:
    """Start of the first text with the shape or the name of a credential; None if there is none."""
    match = _shaped_like_one(text) or next(filter(_is_named_secret, _NAMED.finditer(text)), None)
    return None if match is None else match.start()


def _is_named_secret(match: re.Match[str]) -> bool:
    name, value = _words(match["name"]), match["value"]
    if _ABOUT_SECRETS.search(name) or _NO_VALUE.fullmatch(value) or _words(value).lower() == name.lower():
        return False
    return bool(_SECRET_NAME.search(name) or (_MAYBE_SECRET_NAME.search(name) and _OPAQUE.fullmatch(value)))


def _words(name: str) -> str:
    """A name with underscores between its words: `apiKey` and `X-Api-Key` as `api_key` has them."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_")


def _texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every text inside a plain value with the innermost name it has."""
    if isinstance(value, bytes | bytearray):
        # latin-1 reads any bytes, and leaves a key in them readable.
        yield name, bytes(value).decode("latin-1")
    elif isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(name, key)
            yield from _texts(key if isinstance(key, str) else name, item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _texts(name, item)


def _shaped_like_one(text: str) -> re.Match[str] | None:
    """The first part of a text with the shape of a credential, except those of documentation: AKIAIOSFODNN7EXAMPLE."""
    return next(filter(_is_credential, _SHAPES.finditer(text)), None)


def _is_credential(match: re.Match[str]) -> bool:
    if "EXAMPLE" in match.group():
        return False
    if dashed := match["dashed"]:
        # With a long part that has a digit, as in every real one: neither "sk-learn-linear-models" nor "sk-ecdsa-sha2-nistp256".
        return any(len(part) >= 10 and any(map(str.isdigit, part)) for part in dashed.split("-")[1:])
    if basic := match["basic"]:
        return _is_name_and_password(basic)
    return True


def _is_name_and_password(text: str) -> bool:
    """Whether a text is base64 of `name:password`, as after "Basic" in a header."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return decoded.isascii() and b":" in decoded[1:-1] and decoded.decode("ascii").isprintable()


def _is_secret(name: str, text: str) -> bool:
    if not text.strip():
        return False
    if _shaped_like_one(text):
        return True
    if _SECRET_NAME.search(_words(name)):
        # With blanks it is a sentence about passwords, such as a prompt.
        return not any(char.isspace() for char in text)
    if _MAYBE_SECRET_NAME.search(_words(name)) and _OPAQUE.fullmatch(text):
        return True
    return any(value == text or _contained(value, text) is not None for value in _environment_secrets())


def _environment_secrets() -> list[str]:
    """The values of at least `_MIN_ENVIRONMENT` characters that the environment has under a secret name."""
    variables = {**os.environ}.items()
    named = {
        value for name, value in variables if _SECRET_NAME.search(name) or _MAYBE_SECRET_NAME.search(name)
    }
    return sorted(value for value in named if len(value) >= _MIN_ENVIRONMENT)


def _contained(value: str, text: str) -> int | None:
    """Where a text contains a secret, literally or URL-encoded: not inside a longer word, and not a plain word or number."""
    if re.fullmatch(r"[a-z]+|[A-Z]+|\d+", value):
        return None
    for spelled in dict.fromkeys((value, quote(value, safe=""), value.encode("unicode_escape").decode())):
        if spelled in text and (
            match := re.search(rf"(?<![A-Za-z0-9]){re.escape(spelled)}(?![A-Za-z0-9])", text)
        ):
            return match.start()
    return None


def _error(name: str, found: str, where: str = "") -> CaptureError:
    return CaptureError(
        f"{name} looks like a credential",
        where=where,
        found=found,
        expected="a source without secrets: it is saved and exported as text",
        hint="graders have no network and need no key: remove it; if it is not a credential, rename the constant or split the text",
    )


MAX_BYTES = 65536
"""Maximum source in UTF-8 bytes, inclusive: the limit of Adaptive's grade function contract."""


@dataclass(frozen=True)
class Source:
    r"""One self-contained module whose function is called `grade`.

    Attributes:
        text: The module as exported, with `\n` as line end.
        function: The name the author gave the function.
        origin: Its location: "cell 3", "graders.py:12", "text".
        imports: Captured import lines.
        helpers: Names of captured functions, classes and objects.
        constants: Names of captured plain values.
        imported: True if the text is from an untrusted file, False if the user wrote it in this session.

    Raises:
        CaptureError: The text is larger than `MAX_BYTES`, contains a credential, or cannot be encoded as UTF-8.

    Example:
        >>> source = Source("async def grade(thread):\n    return 1.0\n")
        >>> source.function, source.sha256[:8]
        ('grade', 'f25c9e7b')
    """

    text: str
    function: str = "grade"
    origin: str = field(default="text", compare=False)  # a cell that runs again has another number
    imports: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    imported: bool = field(default=False, kw_only=True, compare=False)

    def __post_init__(self) -> None:
        size = len(_encoded(self.text, self.origin))
        if size > MAX_BYTES:
            raise CaptureError(
                "the source is too large",
                where=self.origin,
                found=f"{size:,} bytes",
                expected=f"at most {MAX_BYTES:,} bytes (64 KiB)",
                hint="move large tables into a column of the data; graders read it from thread.metadata",
            )
        refuse_credentials_in(self.text, self.origin)

    @property
    def sha256(self) -> str:
        """Hexadecimal SHA-256 of the text's UTF-8 bytes, to which trust and validation are bound."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def __repr__(self) -> str:
        lines = self.text.count("\n")
        return f"Source({self.function!r} from {self.origin}, {lines} lines, sha256 {self.sha256[:12]})"


def _encoded(text: str, origin: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise CaptureError(
            "the source is not valid Unicode text",
            where=origin,
            found=f"a lone surrogate at character {error.start}",
            hint="write the character as an escape, such as '\\ud800', inside a string",
        ) from None
