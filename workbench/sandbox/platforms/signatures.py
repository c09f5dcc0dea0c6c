"""Grade functions of other platforms, called as those platforms call them. Loaded by its path in the sandbox.

`(sample, submission)` is Letta Evals', `(sample, item)` OpenAI's, `(solution_str, ground_truth, extra_info)`
Osmosis' older one. Sync and async both work. A row's data are converted to what the platform would pass.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from typing import Any

_checks = sys.modules["_wb_checks"]
_drive = sys.modules["_wb_drive"]
_letta = sys.modules["_wb_letta"]
_thread = sys.modules["_wb_thread"]
CheckFailed = _checks.CheckFailed

_LETTA_OWN = ("rubric_vars", "agent_args", "agent_state")


class Row:
    """A thread with the reference and the id of its row."""

    __slots__ = ("id", "key", "reference", "thread")

    thread: Any
    reference: Any
    key: str
    id: str

    @classmethod
    def from_wire(cls, wire: Any) -> Row:
        """The row of a wire tuple, unchecked: it was sent by the host."""
        row = cls.__new__(cls)
        *thread, row.reference, row.key, row.id = wire
        row.thread = _thread.StringThread.from_wire(thread)
        return row

    @property
    def metadata(self) -> Any:
        """The row's metadata without the reference; a new dict."""
        metadata = self.thread.metadata
        if not isinstance(metadata, dict):
            return metadata
        return {key: value for key, value in metadata.items() if not self.key or key != self.key}

    def answer(self) -> str:
        """The last assistant turn's text, "" if there is none."""
        turns = self.thread.get_turns()
        return next((turn.content for turn in reversed(turns) if turn.role == "assistant"), "")

    def calls(self) -> list[dict[str, Any]]:
        """Tool calls of the completion: those made since the last user turn, in OpenAI's shape."""
        return answer_calls(self.thread)


def answer_calls(thread: Any) -> list[dict[str, Any]]:
    """Tool calls made since the last user turn, in OpenAI's shape."""
    if not thread.tool_calls():
        return []
    turns = thread.get_turns()
    users = [index for index, turn in enumerate(turns) if turn.role == "user"]
    first = users[-1] + 1 if users else 0
    calls = [call for index in range(first, len(turns)) for call in thread.turn_calls(index)]
    return [{key: value for key, value in call.items() if key != "toolUse"} for call in calls]


class CalledLoading(_checks.Loading):  # type: ignore[misc, name-defined]  # loaded by path
    """Checks of a grade function with two or three parameters; a subclass defines them and makes the call."""

    noted = True
    usage = ""
    allowed: tuple[tuple[str, ...], ...] = ()

    def row(self, wire: Any) -> Any:
        """The row of a wire tuple: see `Loading.row`."""
        return Row.from_wire(wire)

    def mock_row(self, wire: Any) -> tuple[Any, dict[str, str]]:
        """The mock row, in which every column that the function requires has the reference as its value."""
        row = self.row(wire)
        metadata = row.thread.metadata
        made_up = {name: row.reference for name in self._required_columns() if name not in metadata}
        row.thread.metadata = {**metadata, **made_up}
        return row, made_up

    def _required_columns(self) -> list[str]:
        """Columns without which the function cannot be called, or fails when it reads them."""
        return []

    def _keys_read(self, name: str) -> list[str]:
        """The keys with which the function reads a dict parameter of this name: `item["river"]`."""
        return [
            node.slice.value
            for node in ast.walk(self._definition)
            if isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and node.value.id == name
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str)
        ]

    def _structure(self) -> str:
        function = ast.FunctionDef, ast.AsyncFunctionDef
        definitions = [node for node in self._tree.body if getattr(node, "name", None) == "grade"]
        if not definitions or not isinstance(definitions[-1], function):
            functions = ", ".join(node.name for node in self._tree.body if isinstance(node, function))
            raise CheckFailed(
                f"no top-level `def {self.usage}`" + (f"; functions there: {functions}" if functions else "")
            )
        self._definition = definitions[-1]
        return f"def grade at line {definitions[-1].lineno}"

    def _signature(self) -> str:
        names, extra = parameters(self._definition)
        if names not in self.allowed or extra:
            listed = ", ".join((*names, *extra)) or "none"
            raise CheckFailed(f"grade must take exactly the parameters of {self.usage}; it takes ({listed})")
        return f"parameters {', '.join(names)}"

    def _loaded(self) -> str:
        message: str = super()._loaded()
        function = self.namespace["grade"]

        async def grade(row: Row) -> Any:
            value = self._call(function, row)
            return self._read(await value if inspect.isawaitable(value) else value)

        self.grade = grade
        return message

    def _call(self, function: Any, row: Row) -> Any:
        raise NotImplementedError

    def _read(self, value: Any) -> Any:
        return value


def parameters(node: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A definition's positional parameters, and those that are keyword-only or starred."""
    args = node.args
    names = tuple(arg.arg for arg in [*args.posonlyargs, *args.args])
    return names, tuple(arg.arg for arg in [*args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))])


class LettaLoading(CalledLoading):
    """`@grader def f(sample, submission) -> GradeResult`, with an extractor of the module if one is named."""

    usage = "grade(sample, submission)"
    allowed = (("sample", "submission"),)

    def _signature(self) -> str:
        message = super()._signature()
        returns = self._definition.returns
        if returns is not None and _last_name(returns) != "GradeResult":
            raise CheckFailed(f"grade must return GradeResult; it is annotated {ast.unparse(returns)}")
        return message

    def _loaded(self) -> str:
        message = super()._loaded()
        name = self.options.get("extractor") or ""
        self._extractor: Any = self.namespace.get(name) if name else None
        if name and not callable(self._extractor):
            raise CheckFailed(f"the extractor {name} is not a function of this module")
        if not name:
            self._warn_of_extractors()
        return message + (f"; {name} extracts the submission" if name else "")

    def _warn_of_extractors(self) -> None:
        """Warn that an unnamed extractor is not used, as upstream: the suite may have chosen another."""
        extractors = [name for name, value in self.namespace.items() if _is_extractor(value)]
        if extractors:
            message = f"the module's extractor{'s' if len(extractors) > 1 else ''} {', '.join(extractors)} is not used"
            self.warnings.append(f"{message}: to use one, name it, as in extractor={extractors[0]!r}")

    def _call(self, function: Any, row: Row) -> Any:
        return self._graded(function, letta_sample(row), row)

    async def _graded(self, function: Any, sample: Any, row: Row) -> Any:
        submission = row.answer() if self._extractor is None else await self._extracted(row)
        try:
            value = function(sample, submission)
            return await value if inspect.isawaitable(value) else value
        except _letta.ScoreError as error:
            raise _drive.Refused("out_of_range", _checks.describe(error)) from None

    async def _extracted(self, row: Row) -> str:
        metadata = row.metadata if isinstance(row.metadata, dict) else {}
        arguments: list[Any] = [trajectory(row.thread), dict(self.options.get("extractor_config") or {})]
        if len(inspect.signature(self._extractor).parameters) > 2:
            arguments.append(metadata.get("agent_state"))
        text = self._extractor(*arguments)
        text = await text if inspect.isawaitable(text) else text
        if not isinstance(text, str):
            raise _drive.Refused("return_type", f"the extractor must return text, not {type(text).__name__}")
        return text

    def _read(self, value: Any) -> Any:
        if not isinstance(value, _letta.GradeResult):
            description = repr(value)[:80]
            raise _drive.Refused(
                "return_type", f"grade must return a GradeResult, not {description} ({type(value).__name__})"
            )
        score = _letta_score(value.score)
        note = {"reasoning": value.rationale if isinstance(value.rationale, str) else None}
        metadata = dict(value.metadata) if isinstance(value.metadata, dict) else {}
        if value.per_turn_grades:
            metadata["per_turn_grades"] = value.per_turn_grades
        return _drive.Noted(score, {k: v for k, v in {**note, "metadata": metadata}.items() if v})


def _is_extractor(value: Any) -> bool:
    return getattr(value, "_letta", "") == "extractor"


def _letta_score(score: Any) -> Any:
    """The score of a result: it may have been changed after the result was created."""
    if type(score) not in (int, float):
        message = f"the score of a GradeResult must be a number, not {type(score).__name__}"
        raise _drive.Refused("return_type", message)
    if not 0 <= score <= 1:
        message = f"the score of a GradeResult must be between 0.0 and 1.0, not {score!r}"
        raise _drive.Refused("out_of_range", message)
    return score


def _last_name(node: ast.expr) -> str:
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)
    return text.strip().rpartition(".")[2]


def letta_sample(row: Row) -> Any:
    """A row as Letta's `Sample`: several user turns make a list of inputs."""
    metadata = row.metadata if isinstance(row.metadata, dict) else {}
    inputs = [turn.content for turn in row.thread.get_turns() if turn.role == "user"]
    own = {key: metadata.pop(key) for key in _LETTA_OWN if key in metadata}
    return _letta.Sample(
        id=row.id,
        input=inputs if len(inputs) > 1 else "".join(inputs),
        ground_truth=row.reference,
        metadata=metadata,
        rubric_vars=own.get("rubric_vars"),
        agent_args=own.get("agent_args"),
    )


def trajectory(thread: Any) -> list[list[Any]]:
    """The agent's messages, one list per turn: what followed each user turn."""
    turns: list[list[Any]] = []
    names: dict[str, str] = {}
    for index, turn in enumerate(thread.get_turns()):
        if turn.role == "user" or not turns:
            turns.append([])
        if turn.role not in {"user", "system"}:
            turns[-1] += _messages(thread, index, turn, names)
    return [turn for turn in turns if turn]


def _messages(thread: Any, index: int, turn: Any, names: dict[str, str]) -> list[Any]:
    if turn.role == "tool":
        call = thread.turn_answers(index)
        fields = {"tool_return": turn.content, "tool_call_id": call, "name": names.get(call or "")}
        return [_letta.Message(message_type="tool_return_message", status="success", **fields)]
    messages = []
    if turn.content or not thread.turn_calls(index):
        messages.append(_letta.Message(message_type=f"{turn.role}_message", content=turn.content))
    for call in thread.turn_calls(index):
        function = call.get("function") or {}
        names[str(call.get("id"))] = str(function.get("name"))
        tool_call = _letta.ToolCall(
            name=function.get("name"), arguments=function.get("arguments"), tool_call_id=call.get("id")
        )
        messages.append(_letta.Message(message_type="tool_call_message", tool_call=tool_call))
    return messages


class OpenAILoading(CalledLoading):
    """`def grade(sample, item)`: the model's completion and the dataset's row, both as dicts."""

    usage = "grade(sample, item)"

    def _signature(self) -> str:
        names, extra = parameters(self._definition)
        if len(names) != 2 or extra:
            listed = ", ".join((*names, *extra)) or "none"
            raise CheckFailed(f"grade must take exactly two parameters, as {self.usage}; it takes ({listed})")
        return f"parameters {', '.join(names)}"

    def _required_columns(self) -> list[str]:
        (_, item), _ = parameters(self._definition)
        return self._keys_read(item)

    def _call(self, function: Any, row: Row) -> Any:
        return function(openai_sample(row), openai_item(row))


def openai_sample(row: Row) -> dict[str, Any]:
    """`output_text`, `output_tools`, `choices`, and `output_json` if the text is valid JSON."""
    text, calls = row.answer(), row.calls()
    message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    reason = "tool_calls" if calls and not text else "stop"
    choices = [{"index": 0, "message": message, "finish_reason": reason}]
    sample = {"output_text": text, "output_tools": calls, "choices": choices}
    try:
        # NaN and Infinity are refused: Python's parser accepts them, but they are not JSON.
        return {**sample, "output_json": json.loads(text, parse_constant=_refuse_constant)}
    except (ValueError, RecursionError):
        return sample


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def openai_item(row: Row) -> dict[str, Any]:
    """The row's metadata, with prompt and reference under these names unless a column has them.

    The prompt is the text of the last user turn: OpenAI's item is the whole row of the dataset.
    """
    metadata, turns = row.thread.metadata, row.thread.get_turns()
    prompts = [turn.content for turn in turns if turn.role == "user"][-1:]
    item: dict[str, Any] = {"prompt": prompts[0]} if prompts else {}
    if row.reference is not None:
        item["reference"] = row.reference
    return item | (metadata if isinstance(metadata, dict) else {})


class OsmosisLoading(CalledLoading):
    """`@osmosis_reward` or `@osmosis_rubric` over `(solution_str, ground_truth, extra_info)`."""

    usage = "grade(solution_str, ground_truth, extra_info=None)"

    def _signature(self) -> str:
        names, _ = parameters(self._definition)
        if names[:1] != ("solution_str",) or names[1:2] != ("ground_truth",):
            raise CheckFailed(
                f"grade must take the parameters of {self.usage}; it takes ({', '.join(names)})"
            )
        return f"parameters {', '.join(names)}"

    def _call(self, function: Any, row: Row) -> Any:
        truth = row.reference
        truth = truth if truth is None or isinstance(truth, str) else json.dumps(truth, ensure_ascii=False)
        names, extra = parameters(self._definition)
        takes = "extra_info" in names or bool(extra)
        return function(row.answer(), truth, **({"extra_info": row.metadata} if takes else {}))

    def _required_columns(self) -> list[str]:
        return self._keys_read("extra_info")

    def _read(self, value: Any) -> Any:
        # verl's own functions have these parameters, too, and many of them return a dict.
        return scored_dict(value) if isinstance(value, dict) else value


def scored_dict(value: dict[Any, Any]) -> Any:
    """The `score` of verl's dict, with the other entries as metadata of the grade."""
    if "score" not in value:
        keys = ", ".join(map(str, value))[:80]
        raise _drive.Refused("return_type", f"the dict has no score; its keys are {keys}")
    score, parts = value["score"], {key: part for key, part in value.items() if key != "score"}
    # As trainers do, True is 1.0.
    score = float(score) if type(score) is bool else score
    return _drive.Noted(score, {"metadata": parts} if parts else {})
