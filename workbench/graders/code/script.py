"""The script grader: a JavaScript function, validated and run in the same confined workers as Python graders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from workbench.core.errors import CaptureError
from workbench.graders.arguments import HANDLING, LIMIT
from workbench.graders.base import kind
from workbench.graders.capture.source import Source
from workbench.graders.code import SandboxedGrader
from workbench.sandbox.host.zygote import require_engine

_DECLARED = r"^(?:async\s+)?(?:function\s*\*?|const|let|var)\s+{}\b"


@kind("script", family="code")
@dataclass(frozen=True, kw_only=True)
class ScriptGrader(SandboxedGrader):
    """A JavaScript `function grade(input)` that returns a number, as vLLora's script graders do.

    `input` contains `messages` (the conversation without the final assistant turn, as `{role, content}` with
    `tool_calls` and `tool_call_id` if there are any), `response` (that turn's text, "" if there is none),
    `toolCalls` (made since the last user turn, in OpenAI's shape), `metadata` (the row's), and for convenience
    `history` (the same as `messages`), `lastUserMessage`, `systemPrompt` and `tools`. A function called
    `evaluate` is accepted too; it may return `{score, reason}`, with a verdict in `passed` (true or false), and other keys
    are stored as metadata. Both may be async.

    The score is any finite number; a boolean, text, null or undefined fails the row. The engine is QuickJS:
    the language's built-in globals and a `console` whose lines are stored like a Python grader's prints; no `require`,
    `process`, `fetch`, timers or `Intl`. `JSON.parse`
    is strict and lengths count UTF-16 units, as everywhere in JavaScript. Top-level variables keep their values
    between rows of one worker. Rows are distributed over workers, and a row that runs out of time or memory resets
    the variables, so scores must not depend on them.

    Attributes:
        script: The text, at most 64 KiB.
        timeout: Seconds per row, 1.0 by default.
        memory_mb: MiB for the script, 64 by default.
        imported: The text is from an untrusted source: it runs only with kernel confinement, or when trusted.
        trusted_sha256: Hash of the text that may run even if the machine cannot confine it; "" for none.

    Error kinds: timeout, memory, crash, load, runtime (with the thrown error and its line), return_type,
    not_finite, sandbox, sample.

    Source: vLLora's grader setup document (script type); `evaluate` and `{score, reason}` are its product's.

    Example:
        >>> import workbench as wb
        >>> short = ScriptGrader.from_source("function grade(input) { return input.response.length < 9 ? 1 : 0; }")
        >>> short(wb.StringThread([("user", "Hi"), ("assistant", "Hello")])).score
        1.0
    """

    script: str
    timeout: float = field(default=1.0, metadata=LIMIT)
    memory_mb: int = field(default=64, metadata=LIMIT)
    imported: bool = field(default=False, metadata=HANDLING)
    trusted_sha256: str = field(default="", metadata=HANDLING)

    language: ClassVar[str] = "javascript"

    def __post_init__(self) -> None:
        if not isinstance(self.script, str):
            raise TypeError(f"script must be text, not {type(self.script).__name__}")
        # Trust and validation are bound to the text's hash, which must not depend on the line ends of a file.
        object.__setattr__(self, "script", _normal(self.script))
        _check_memory(self.memory_mb)
        self.source  # noqa: B018 (refuses a text that is too large)
        super().__post_init__()

    @classmethod
    def imported_sha256(cls, spec: Mapping[str, Any]) -> str:
        """SHA-256 of the script as `ScriptGrader.source` has it."""
        script = spec.get("script")
        return cls.from_source(script).source.sha256 if isinstance(script, str) else ""

    @classmethod
    def from_source(
        cls, text: str, *, name: str = "", imported: bool = False, **settings: Any
    ) -> ScriptGrader:
        """Create a grader from a script's text, unchanged. None of it runs in this process.

        Args:
            text: The script.
            name: Its name in reports; `grade` or `evaluate` by default.
            imported: The text is from an untrusted source.
            settings: Other fields.

        Raises:
            CaptureError: The text is too large.
        """
        return cls(script=text, name=name, imported=imported, **settings)

    @property
    def function(self) -> str:
        """The called function, as far as the text shows: `grade`, else `evaluate`."""
        declared = [
            name
            for name in ("grade", "evaluate")
            if re.search(_DECLARED.format(name), self.script, re.MULTILINE)
        ]
        return declared[0] if declared else "grade"

    @property
    def source(self) -> Source:
        """The script as a source, to which trust and validation are bound."""
        return Source(self.script, self.function, "script", imported=self.imported)

    def _options(self) -> Mapping[str, Any]:
        return {"memory_mb": self.memory_mb}

    def check_ready(self) -> None:
        """Require the engine, and confinement for an imported script.

        Raises:
            SandboxError: `quickjs-ng` is not installed; the hint explains how to install it.
            IsolationError: See `SandboxedGrader.check_ready`.
        """
        require_engine()
        super().check_ready()

    def require_engine(self) -> None:
        """Call `check_ready`, which a single sample would otherwise bypass."""
        require_engine()

    def _marked_imported(self) -> Self:
        return replace(self, imported=True)


def _normal(text: str) -> str:
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        raise CaptureError("the script contains a null character", hint="write it as \\0 inside a string")
    return text


def _check_memory(megabytes: Any) -> None:
    right = isinstance(megabytes, int) and not isinstance(megabytes, bool) and 1 <= megabytes <= 400
    if not right:
        raise ValueError(f"memory_mb must be above 0, at most 400, a whole number, not {megabytes!r}")
