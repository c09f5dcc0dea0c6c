"""Suites as Letta Evals' YAML."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.core.errors import FormatError
from workbench.data.extractors import LETTA, Extractor
from workbench.formats.frame.wrapping import wrapped
from workbench.formats.platforms.letta.gates import Spec, written_gate
from workbench.formats.shared import Document, Losses
from workbench.formats.shared.parsing import to_json
from workbench.formats.shared.unsupported import (
    add_kind_loss,
    check_calls,
    check_entry,
    check_fields,
    check_reads,
    check_signature,
    identifier,
    names_model,
    note_limits,
    rule_text,
    settings_of_code,
    settings_without_effect,
    without_unused_settings,
)
from workbench.formats.shared.yaml_text import to_yaml
from workbench.graders import FunctionGrader, Grader
from workbench.graders.combine import Entry, Formula
from workbench.graders.combine.combined import PerTurn
from workbench.graders.portable import portable
from workbench.graders.rule_grader import RuleGrader
from workbench.graders.text import AsciiPrintable, Contains, ExactMatch, Regex
from workbench.graders.text.text_grader import TextGrader
from workbench.judges import AgentJudge, RubricJudge
from workbench.run.suite import Suite

_WAY_OUT = (
    "Letta has exact_match, contains, regex_match, ascii_printable_only, your own functions and rubric judges"
)
MODEL = "gpt-4o-mini"
"""The model of a rubric that names none, according to Letta's documents."""
RELEASE_LINE = "# Rules of Letta Evals"
"""Prefix of the line with the release whose rules a written suite follows; omitted for 0.4."""
_HEAD = "# Written by grader workbench. Add `dataset:` and `target:` to run it with Letta Evals.\n"
_RELEASES = ("0.4", "0.8", "0.9", "0.17", "0.21")


@dataclass
class _Files:
    """The companions written with the suite, named after it, and the release whose rules they follow."""

    release: str
    prefix: str = ""
    files: dict[str, str] = field(default_factory=dict)

    def since(self, release: str) -> bool:
        return _RELEASES.index(self.release) >= _RELEASES.index(release)

    def add(self, name: str, ending: str, text: str) -> str:
        """The file's name, without its ending."""
        full_name = f"{self.prefix}_{name}" if self.prefix else name
        stem = identifier(full_name, [file_name.rpartition(".")[0] for file_name in self.files])
        self.files[f"{stem}{ending}"] = text
        return stem


def write(suite: Suite, losses: Losses) -> Document:
    """A suite file with graders and gate; code and agents are written to companion files."""
    suite = without_unused_settings(suite, losses, keeps=("name", "description"))
    reward = _reward(suite)
    files = _Files(_release(suite, reward), losses.stem)
    graders = {
        entry.name: spec for entry in suite.entries if (spec := _spec(entry, losses, files)) is not None
    }
    if not graders:
        raise FormatError("no grader can be written", hint=_WAY_OUT)
    if suite.combine is not None and not reward:
        losses.add("", "combine", "it has no score of a sample from several graders, only gates over a run",
                   hint="use gate=WeightedGate(...), or export as umbraco, vllora or openai")  # fmt: skip
    elif reward and reward["reward"]["metric_key"] not in graders:
        losses.add("", "combine", f"it is the score of {suite.combine.text.strip()!r}, which is not written",  # type: ignore[union-attr]
                   hint="use the score of a grader that is written")  # fmt: skip
        reward = {}
    titles = {"name": suite.name, "description": suite.description}
    document = {key: value for key, value in titles.items() if value} | {"graders": graders} | reward
    if suite.gate is not None:
        document |= written_gate(suite, graders, losses)
    head = _HEAD if files.release == "0.4" else f"{_HEAD}{RELEASE_LINE} {files.release}\n"
    return Document(head + to_yaml(document), files.files)


def _reward(suite: Suite) -> Spec:
    """The later release's reward: one metric's score; other rules are not supported."""
    rule = suite.combine
    if rule is None:
        return {}
    if isinstance(rule, Formula) and rule.text.strip() in [entry.name for entry in suite.entries]:
        return {"reward": {"kind": "metric", "metric_key": rule.text.strip()}}
    return {}


def _release(suite: Suite, reward: Spec) -> str:
    """The earliest release that has what the suite uses, preferably the seed's."""
    graders = [entry.grader for entry in suite.entries]
    # The newest requirement decides, so it is checked first.
    if reward:
        return "0.21"
    if any(isinstance(grader, RubricJudge | AgentJudge) and grader.release == "0.17" for grader in graders):
        return "0.17"
    if any(isinstance(grader, PerTurn) for grader in graders):
        return "0.9"
    built_in = [grader for grader in graders if isinstance(grader, TextGrader) and _built_in(grader)]
    # One release for the suite: if some built-ins grade empty texts, the seed's rules apply, and those that
    # score them 0.0 are written as code.
    return "0.8" if built_in and all(grader.on_empty == "zero" for grader in built_in) else "0.4"


def _spec(entry: Entry, losses: Losses, files: _Files) -> Spec | None:
    grader: Any = entry.grader.grader if isinstance(entry.grader, PerTurn) else entry.grader
    writer = next((_WRITERS[cls] for cls in type(grader).__mro__ if cls in _WRITERS), None)
    if writer is None:
        add_kind_loss(entry, losses, hint=_WAY_OUT)
        return None
    if not check_entry(
        entry, losses, knows=("extractor", *settings_without_effect(entry), *settings_of_code(entry))
    ):
        return None
    if isinstance(entry.grader, PerTurn):
        return _per_turn(entry, grader, losses, files)
    spec = writer(entry, losses, files)
    return None if spec is None else _finished(entry, grader, spec, losses)


def _per_turn(entry: Entry, grader: Grader, losses: Losses, files: _Files) -> Spec | None:
    name = _built_in(grader)
    if name and files.since("0.9") and getattr(grader, "on_empty", "") == "zero":
        _tell_reference(grader, entry.name, losses)
        return _finished(entry, grader, {"kind": "tool", "function": name}, losses)
    losses.add(
        entry.name, "grader", "only the built-in functions are graded turn by turn, with empty texts as 0.0",
        hint="use ExactMatch, Contains or Regex without a constant, or AsciiPrintable, with on_empty='zero'",
    )  # fmt: skip
    return None


def _finished(entry: Entry, grader: Grader, spec: Spec, losses: Losses) -> Spec:
    description = entry.grader.description or grader.description
    title = {"display_name": description} if description else {}
    return {"kind": spec.pop("kind"), **title, **spec, **_extraction(entry, grader, losses)}


def _extraction(entry: Entry, grader: Grader, losses: Losses) -> Spec:
    own = getattr(grader, "extractor", None)
    if isinstance(own, str) and own:
        return {}  # a function of the grader's module, already reported
    inner = own if isinstance(own, Extractor) else Extractor()
    chosen = entry.extractor or inner
    if entry.extractor and inner != Extractor():
        losses.add(entry.name, "extractor", "it supports one extractor per grader, and this one has two",
                   hint="remove the entry's extractor")  # fmt: skip
    if chosen.name not in LETTA:
        losses.add(entry.name, "extractor", f"{chosen.name!r} is a custom extractor",
                   hint="put its code into the grade function")  # fmt: skip
        return {}
    return {"extractor": chosen.name, **({"extractor_config": dict(chosen.config)} if chosen.config else {})}


def _built_in(grader: Grader) -> str:
    """Letta's built-in function with the same result, "" if there is none."""
    if isinstance(grader, AsciiPrintable):
        return "ascii_printable_only"
    if isinstance(grader, ExactMatch | Contains) and not grader.is_plain:
        return ""
    if isinstance(grader, ExactMatch):
        return "exact_match" if grader.expected is None and grader.trim and not grader.ignore_case else ""
    if isinstance(grader, Contains):
        return "contains" if grader.expected is None and grader.ignore_case else ""
    plain = isinstance(grader, Regex) and grader == Regex(
        name=grader.name, description=grader.description, extractor=grader.extractor, on_empty=grader.on_empty,
        on_bad_pattern=grader.on_bad_pattern, on_no_reference=grader.on_no_reference, timeout=grader.timeout, wording=grader.wording,
    )  # fmt: skip
    # A bad pattern scores 0.0 there: not a loss of a failed row, but one of a skipped row.
    return "regex_match" if plain and getattr(grader, "on_bad_pattern", "") != "skip" else ""


def _text(entry: Entry, losses: Losses, files: _Files) -> Spec | None:
    """A code grader as the built-in with the same result in this release, else as a function in a file."""
    grader: Any = entry.grader
    name = _built_in(grader)
    empty_there = "zero" if files.since("0.8") else "grade"
    same = name and getattr(grader, "on_empty", "") == empty_there
    # From 0.9 built-ins grade lists turn by turn: a grader of the whole conversation is written as code.
    if same and not entry.negate and not files.since("0.9"):
        _tell_reference(grader, entry.name, losses)
        return {"kind": "tool", "function": name}
    return _portable(entry, losses, files)


def _tell_reference(grader: Grader, name: str, losses: Losses) -> None:
    """Report how Letta's functions score a missing reference: not a loss of a failed row, but one of a skipped row."""
    setting = getattr(grader, "on_no_reference", "zero")
    remark = "a row without a reference, or with an empty one, scores 0.0 there"
    if setting == "skip":
        losses.add(
            name, "on_no_reference", remark, hint="leave those rows out, or use on_no_reference='zero'"
        )
    elif setting != "zero":
        losses.note(name, "on_no_reference", remark)


def _portable(entry: Entry, losses: Losses, files: _Files) -> Spec | None:
    """A code grader without a built-in there, as a function in a file; the extractor stays in the YAML."""
    grader: Any = entry.grader
    bare = replace(grader, extractor=Extractor()) if hasattr(grader, "extractor") else grader
    text = rule_text(lambda: portable(bare, negate=entry.negate), entry, losses, hint=_WAY_OUT)
    if text is None or not check_calls(bare, "letta", losses, entry.name):
        return None
    # The thread consists only of the submission, which is all that such a rule reads.
    if not check_reads(text, "letta", losses, entry.name, allowed=("get_turns",)):
        return None
    return _wrapped(entry, text, files, losses)


def _function(entry: Entry, losses: Losses, files: _Files) -> Spec | None:
    grader = entry.grader
    assert isinstance(grader, FunctionGrader)
    note_limits(grader, losses, entry.name)
    if grader.signature == "letta":
        return _with_own_extractor(_file(entry, grader.source.text, files), grader)
    if not check_signature(entry, losses):
        return None
    if not check_reads(grader.source.text, "letta", losses, entry.name):
        return None
    return _wrapped(entry, grader.source.text, files, losses)


def _with_own_extractor(spec: Spec, grader: FunctionGrader) -> Spec:
    if not grader.extractor:
        return spec
    module = spec["function"].partition(":")[0]
    config = {"extractor_config": dict(grader.extractor_config)} if grader.extractor_config else {}
    return {**spec, "extractor": f"{module}:{grader.extractor}", **config}


def _file(entry: Entry, text: str, files: _Files) -> Spec:
    stem = files.add(entry.name, ".py", text)
    return {"kind": "tool", "function": f"{stem}.py:grade"}


def _wrapped(entry: Entry, text: str, files: _Files, losses: Losses) -> Spec | None:
    # The name is reserved before the module is made, since the function in it is named after its file.
    stem = files.add(entry.name, ".py", text)
    name = f"{stem}_score"
    module = wrapped(text, "letta", entry.name, losses, name=name)
    if module is None:
        del files.files[f"{stem}.py"]
        return None
    files.files[f"{stem}.py"] = module
    return {"kind": "tool", "function": f"{stem}.py:{name}"}


def _rubric(entry: Entry, losses: Losses, files: _Files) -> Spec | None:
    grader = entry.grader
    assert isinstance(grader, RubricJudge)
    known = (
        "prompt", "rubric_vars", "release", "provider", "max_retries", "model", "temperature", "platform", "extractor",
        "timeout",
    )  # fmt: skip
    check_fields(grader, losses, entry.name, knows=known)
    _check_release(grader, losses, entry, files)
    settings = {
        "rubric_vars": list(grader.rubric_vars) or None,
        "provider": None if grader.provider == "openai" else grader.provider,
    }
    limits = {"max_retries": grader.max_retries, "timeout": grader.timeout}
    named = names_model(grader.model, losses, entry.name, f"without one Letta uses {MODEL}")
    return {
        "kind": "model_judge" if files.since("0.17") else "rubric",
        "prompt": grader.prompt,
        **({"model": grader.model} if named else {}),
        "temperature": grader.temperature,
        **{key: value for key, value in limits.items() if value is not None},
        **{key: value for key, value in settings.items() if value},
    }


def _check_release(grader: RubricJudge | AgentJudge, losses: Losses, entry: Entry, files: _Files) -> None:
    if (grader.release == "0.17") != files.since("0.17"):
        losses.add(
            entry.name, "release", f"a suite follows the rules of one release, here {files.release}, and this judge follows "
            f"those of {grader.release}", hint="export the two kinds of judges to separate files",
        )  # fmt: skip


def _agent(entry: Entry, losses: Losses, files: _Files) -> Spec | None:
    grader = entry.grader
    assert isinstance(grader, AgentJudge)
    known = (
        "prompt", "agent", "judge_tool_name", "rubric_vars", "platform", "extractor", "model", "temperature", "release",
    )  # fmt: skip
    check_fields(grader, losses, entry.name, knows=known)
    _check_release(grader, losses, entry, files)
    plain = replace(grader, model="")
    for name in ("model", "temperature"):
        if getattr(grader, name) != getattr(plain, name) or (name == "temperature" and grader.temperature):
            losses.add(entry.name, name, "an agent has its own", hint="set it in the agent file")
    stem = files.add(entry.name, ".af", to_json(dict(grader.agent)))
    vars_ = {"rubric_vars": list(grader.rubric_vars)} if grader.rubric_vars else {}
    return {
        "kind": "letta_judge" if files.since("0.17") else "rubric",
        "agent_file": f"{stem}.af",
        "prompt": grader.prompt,
        "judge_tool_name": grader.judge_tool_name,
        **vars_,
    }


_WRITERS: dict[type[Any], Callable[[Entry, Losses, _Files], Spec | None]] = {
    RuleGrader: _text,
    FunctionGrader: _function,
    RubricJudge: _rubric,
    AgentJudge: _agent,
}
