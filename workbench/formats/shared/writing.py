"""Documents of any format: which platform wrote a text, what a Python file without a grader contains, and how files are written.

Trainers and evaluators use functions with other parameters. Such a file is refused with the function's name,
because the imported grader would fail on every row. All files of a document are written, or none, and an unrelated file is
not overwritten.

Source: the signatures of TRL 1.16 (GRPO), verl 0.9, inspect_ai 0.3, LangSmith 0.15, MLflow 3.18, promptfoo 0.121,
OpenRLHF 0.11, verifiers 0.4, and Braintrust autoevals 0.4.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workbench.core.errors import FormatError
from workbench.core.files import check_writable, write_atomically
from workbench.formats.shared import FORMATS, MAX_FILE_BYTES, Document, Format, Loss, Losses, read_text
from workbench.formats.shared.known_tools import foreign_text, tool_error
from workbench.formats.shared.parsing import MAX_PYTHON, parse_json, parse_python, to_json
from workbench.formats.shared.yaml_text import parse_yaml
from workbench.graders.capture.analysis import candidates
from workbench.graders.capture.module_text import grade_function
from workbench.graders.capture.source_edit import Function, parsed, statements

WHAT_IS_READ = (
    "a function grade(thread), functions under @wb.grader, a function of Letta's, OpenAI's or Osmosis' parameters, "
    "adaptive.graders.create calls, or an Osmosis Grader class"
)

_MAX_NAMES = 3

_BY_PARAMETERS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"data_source", "solution_str"}), "a compute_score function of verl"),
    (frozenset({"state", "target"}), "the score function of an inspect_ai scorer"),
    (frozenset({"queries", "prompts", "labels"}), "a reward function of OpenRLHF"),
    (frozenset({"outputs", "reference_outputs"}), "an evaluator of LangSmith"),
    (frozenset({"outputs", "expectations"}), "a scorer of MLflow"),
    (frozenset({"inputs", "outputs"}), "an evaluator of LangSmith, or a scorer of MLflow"),
    (frozenset({"run", "example"}), "an evaluator of LangSmith"),
    (frozenset({"output", "context"}), "an assertion of promptfoo"),
    (frozenset({"task", "trace"}), "a reward of verifiers"),
    (frozenset({"output", "expected"}), "a scorer of Braintrust"),
)
"""Parameters that identify a function's system, in the order they are looked for."""


def check_grader(text: str, where: str) -> None:
    """Refuse Python text that has no grade function, or several candidates.

    Raises:
        FormatError: Names what was found, what it resembles, and what is supported.
    """
    tree = parsed(text)
    if tree is None:
        return  # the syntax check reports the error
    meant = grade_function(tree, None)
    functions = [node for node in statements(tree.body) if isinstance(node, Function)]
    several = [node.name for node in candidates(functions)] if meant is None else []
    if len(several) > 1:
        raise FormatError(
            f"several functions of this Python {_kind(where)} could be the grader", where=where,
            found=", ".join(several), hint="call one of them grade, or put @wb.grader over each grader",
        )  # fmt: skip
    if meant is None or _looks_like(meant):
        raise no_grader(text, where)


def no_grader(text: str, where: str, hint: str = "") -> FormatError:
    """The error of Python without a grade function.

    Args:
        text: What was read; it parses.
        where: Its name.
        hint: What else to do.
    """
    known = tool_error(None, text, where)
    tree = parsed(text) or ast.Module([], [])
    functions = [node for node in tree.body if isinstance(node, Function)]
    classes = [f"class {node.name}" for node in tree.body if isinstance(node, ast.ClassDef)]
    names = [_signature(node, known.what if known else "") for node in functions] or classes
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    advice = "write async def grade(thread) around it that returns one number per conversation"
    if known is not None:
        advice, hint = known.hint, ""
    return FormatError(
        f"this Python {_kind(where)} contains no grader" + (f": {known.what}" if known else ""), where=where,
        found=", ".join(names[:_MAX_NAMES]) + more or "no function at its top level", expected=WHAT_IS_READ,
        hint="; ".join(filter(None, [advice, hint])),
    )  # fmt: skip


def _kind(where: str) -> str:
    return "file" if where.lower().endswith(".py") else "text"


def _signature(node: Function, known: str) -> str:
    """A function with its parameters, and the system it looks like, unless another one is known."""
    like = _looks_like(node)
    like = like if not known or like.rpartition(" ")[2] in known else ""
    return f"{node.name}({_parameters(node)})" + (f", which looks like {like}" if like else "")


def _parameters(node: Function) -> str:
    parameters = ast.unparse(node.args)
    return parameters if len(parameters) <= 80 else f"{parameters[:79]}…"


def _looks_like(node: Function) -> str:
    """The system a function was written for, "" if unknown."""
    args = node.args
    names = {arg.arg for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs]}
    marks = {ast.unparse(mark).partition("(")[0].rpartition(".")[2] for mark in node.decorator_list}
    if "scorer" in marks:
        has_metrics = any("metrics" in ast.unparse(mark) for mark in node.decorator_list)
        return "a scorer of inspect_ai" if has_metrics or not names else "a scorer of MLflow"
    if "completions" in names and (len(names) > 1 or args.kwarg):
        return "a reward function of TRL"
    return next((system for parameters, system in _BY_PARAMETERS if parameters <= names), "")


def detect(text: str, where: str = "text") -> Format:
    """The format with the highest confidence for a text.

    Raises:
        FormatError: No format fits, or two fit equally well; the formats tried are listed.
    """
    if (foreign := foreign_text(text, where)) is not None:
        raise foreign
    document, complaint = _parsed(text, where)
    sure = {name: chosen.detect(document, text) for name, chosen in FORMATS.items()}
    best = max(sure.values())
    names = [name for name, degree in sure.items() if degree == best and best > 0]
    if len(names) == 1:
        return FORMATS[names[0]]
    if document is not None and not names and (known := tool_error(document, text, where)) is not None:
        raise known
    if not names and where.lower().endswith(".js"):
        return FORMATS["javascript"]
    if not names and (where.lower().endswith(".py") or _is_python(text)):
        raise _no_python(text, where)
    if complaint is not None and not names:
        raise complaint
    raise FormatError(
        "cannot detect the platform of this document",
        where=where,
        found=_looks(document, text) + (f"; it could be {' or '.join(names)}" if names else ""),
        expected="one of " + ", ".join(FORMATS),
        hint=_NAME_IT
        if names
        else f"rows are read with wb.read_samples; if it has graders of one of these, {_NAME_IT}",
    )


_NAME_IT = "name it: format=..., or --from on the command line"


def _no_python(text: str, where: str) -> FormatError:
    try:
        parse_python(text, where)
    except FormatError as error:
        return error
    return no_grader(text, where)


def _is_python(text: str) -> bool:
    """Whether a text that no format reads is meant as Python; a line such as `name: value` is YAML as well."""
    if _looks_like_python(text):
        return True
    tree = parsed(text) if len(text) <= MAX_PYTHON else None
    called = (
        getattr(node, "value", None) if isinstance(node, ast.Expr) else node
        for node in (tree.body if tree else ())
    )
    return any(
        not isinstance(node, ast.AnnAssign) and isinstance(node, ast.stmt | ast.Call) for node in called
    )


def _parsed(text: str, where: str) -> tuple[Any, FormatError | None]:
    """The document as JSON or YAML, None if it is neither, with the error if it looks like one of them."""
    if text.lstrip()[:1] in {"{", "["}:
        return _or_complaint(parse_json, text, where)
    if _looks_like_python(text):
        return None, None
    document, complaint = _or_complaint(parse_yaml, text, where)
    return (document if isinstance(document, dict | list) else None), complaint


_SURELY = re.compile(r"\s*(?:[{\[]\s*[\"\[{]|(?:[#-].*\n\s*)*[\w\"']+\s*:(?:\s|$))")
"""Text that starts like this is JSON or YAML, so its parse error is the message to show."""


def _or_complaint(parse: Callable[[str, str], Any], text: str, where: str) -> tuple[Any, FormatError | None]:
    try:
        return parse(text, where), None
    except FormatError as error:
        # "Extra data": the text starts with a JSON value and continues, so it may not be JSON.
        if error.found != "Extra data" and _SURELY.match(text[:2000]):
            return None, error
        platforms = f"if it is another kind of file, {_NAME_IT}; there are {', '.join(FORMATS)}"
        hint = "; ".join(filter(None, [error.hint, platforms]))
        return None, FormatError(
            error.what, where=error.where, found=error.found, expected=error.expected, hint=hint
        )


def _looks_like_python(text: str) -> bool:
    """Whether some line can only be Python."""
    return (
        re.search(r"^(import |from \S+ import |def |async def |class |@\w|#!|\"\"\")", text, re.MULTILINE)
        is not None
    )


def _looks(document: Any, text: str) -> str:
    if isinstance(document, dict):
        return "an object with the keys " + ", ".join(map(repr, list(document)[:8]))
    if not text.strip():
        return "an empty file"
    return "a list" if isinstance(document, list) else "neither JSON nor YAML with a known key"


@dataclass(frozen=True)
class Converted:
    """Result of an export.

    Attributes:
        paths: Files written, the main one first, the loss report last if there is one.
        losses: What the platform does not support and was dropped.
        notes: Omissions that change no score (titles, limits, changed names), and what the platform must provide,
            such as a column.
    """

    paths: tuple[Path, ...]
    losses: tuple[Loss, ...] = ()
    notes: tuple[Loss, ...] = ()

    def __str__(self) -> str:
        dropped = [f"\n  {'changed' if loss.instead else 'dropped'}: {loss}" for loss in self.losses]
        left_out = [f"\n  note: {note}" for note in self.notes]
        return f"wrote {', '.join(map(str, self.paths))}{''.join(dropped + left_out)}"


def write_document(target: Path, document: Document, losses: Losses) -> Converted:
    """Write all files or none: every path is checked first, the main file is written last."""
    files = {target.parent / name: text for name, text in document.files.items()}
    written = _written_before(target, losses.platform)
    for place, text in files.items():
        _check_companion(place, text, target, written)
    if len(losses):
        files[target.with_name(target.name + ".losses.json")] = _loss_report(losses)
    for place, text in (*files.items(), (target, document.text)):
        _check_place(place, text)
    _write_all(files, target, document.text)
    if not len(losses):
        _remove_report(target.with_name(target.name + ".losses.json"))
    for place in written.keys() - files.keys():  # of a grader that was removed
        place.unlink()
    return Converted((target, *files), tuple(losses), tuple(losses.notes))


def _write_all(files: Mapping[Path, str], target: Path, text: str) -> None:
    """Write the files, the target last; if one cannot be written, restore those before it."""
    before = {place: read_text(place) if place.exists() else None for place in files}
    written: list[Path] = []
    try:
        for place, part in (*files.items(), (target, text)):
            write_atomically(place, part)
            written.append(place)
    except FormatError:
        for place in written:
            old = before[place]
            place.unlink() if old is None else write_atomically(place, old)
        raise


def _remove_report(path: Path) -> None:
    """Remove the report of an earlier export, which is out of date."""
    if path.is_file() and path.stat().st_size <= MAX_FILE_BYTES and '"dropped"' in read_text(path):
        path.unlink()


def _loss_report(losses: Losses) -> str:
    """The report of what was dropped, and of the notes."""
    return to_json(
        {"platform": losses.platform, "dropped": list(map(asdict, losses)), "left_out": list(map(asdict, losses.notes))}
    )  # fmt: skip


def _check_place(place: Path, text: str) -> None:
    check_writable(place)
    check_encodable(text, str(place))
    if place.is_dir():
        raise FormatError(
            "the file cannot be written", where=str(place), found="a folder of that name", hint="name a file"
        )


def check_encodable(text: str, where: str) -> None:
    """Refuse a text that cannot be encoded.

    Raises:
        FormatError: A lone surrogate.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise FormatError(
            "a grader contains text that cannot be written to a file: a lone surrogate", where=where
        ) from None


def _written_before(target: Path, platform: str) -> dict[Path, str]:
    """The companions of an earlier main file that are unchanged since they were written with it."""
    main = read_text(target) if target.is_file() else ""
    known = FORMATS[platform].companions(main, target.stem) if MARK in main else {}
    places = {target.parent / name: text for name, text in known.items()}
    return {place: text for place, text in places.items() if place.is_file() and read_text(place) == text}


def _check_companion(place: Path, text: str, target: Path, written: Mapping[Path, str]) -> None:
    """Refuse to overwrite an unrelated file with a companion's name, or a companion that was edited."""
    if not place.exists():
        return
    existing = read_text(place)
    # JSON cannot carry a mark; a companion in JSON is recognised by the main file's text, which it contains.
    is_ours = place in written or (MARK in existing and place.suffix != ".json")
    if existing != text and not is_ours:
        raise FormatError(
            "the file to write exists and was not written by the workbench, or was changed since", where=str(place),
            hint="move it, or write to another folder",
        )  # fmt: skip
    if existing != text and (other := _owner(place, target)):
        raise FormatError(
            "the file to write exists and belongs to another suite", where=str(place), found=f"{other} names it",
            hint="write to another name or folder",
        )  # fmt: skip


def _owner(place: Path, target: Path) -> str:
    """Another suite in the folder that names this companion."""
    named = re.compile(rf"(?<![\w./-]){re.escape(place.name)}(?![\w.])")
    for other in sorted(place.parent.glob("*.y*ml")):
        if other == target or not other.is_file() or other.stat().st_size > MAX_FILE_BYTES:
            continue
        if named.search(other.read_text("utf-8", errors="replace")):
            return other.name
    return ""


def check_target(target: Path, chosen: Format) -> None:
    """Refuse another format's ending, and overwriting a file that does not contain graders.

    Raises:
        FormatError: Either; also for handwritten Python or JavaScript.
    """
    endings = _endings(chosen)
    # An ending that no format uses is the user's choice; only another format's ending is refused.
    # Code is imported by name, so that it needs its own ending.
    is_others = any(target.suffix in _endings(other) for other in FORMATS.values())
    if target.suffix not in endings and (is_others or (target.suffix and chosen.suffix == ".py")):
        raise FormatError(
            f"{chosen.name} is not written to {target.suffix} files", where=str(target),
            expected=" or ".join(sorted(endings)), hint="use that ending, or another format",
        )  # fmt: skip
    if not target.is_file() or not target.stat().st_size:
        return
    try:
        existing = detect(read_text(target), str(target)).name
    except FormatError:
        existing = ""
    # Overwriting a Python grader with Python is a save; another format would destroy the only copy of the code.
    if not existing or (FORMATS[existing].handwritten and existing != chosen.name):
        raise FormatError(
            "the file to write exists and is not a grader file", where=str(target),
            found=f"a handwritten {existing} file" if existing else "", hint="move it, or write to another name",
        )  # fmt: skip


def _endings(chosen: Format) -> set[str]:
    return {chosen.suffix, *chosen.variants} | ({".yml"} if chosen.suffix == ".yaml" else set())


MARK = "Written by grader workbench"
"""Part of the first line of every exported module."""
