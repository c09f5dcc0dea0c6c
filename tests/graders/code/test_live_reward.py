"""Live functions of trainers, in the forms that their packages have, called unchanged."""

import asyncio
import sys
from dataclasses import dataclass

import pytest

import workbench as wb
from workbench.cli import main
from workbench.graders.code.live_reward import form_of


def accuracy_reward(completions, solution, **kwargs):
    contents = [completion[0]["content"] for completion in completions]
    return [
        None if answer == "" else float(answer in content)
        for content, answer in zip(contents, solution, strict=True)
    ]


def think_format_reward(completions: list, **kwargs) -> list:
    return [float(completion[0]["content"].startswith("<think>")) for completion in completions]


def brevity(prompts, completions, log_metric=None, **kwargs):
    log_metric("n", 1)
    return [len(prompt) - len(completion) for prompt, completion in zip(prompts, completions, strict=True)]


async def slow(completions, **kwargs):
    await asyncio.sleep(0)
    return [1.0 for _ in completions]


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    return {
        "score": float(ground_truth["target"] in solution_str),
        "acc": True,
        "from": data_source,
        "n": extra_info["n"],
    }


def dataset_score(solution_str, ground_truth, method="strict", format_score=0.0, score=1.0):
    return score if ground_truth in solution_str else format_score


def prime_math(model_output, ground_truth):
    return ground_truth in model_output, True, model_output


def reward_func(queries, prompts, labels, **kwargs):
    return {
        "rewards": [float(label in query) for query, label in zip(queries, labels, strict=True)],
        "extra_logs": {},
    }


@dataclass
class EvaluateResult:
    score: float
    reason: str


def evaluate(messages, ground_truth=None, **kwargs):
    return EvaluateResult(float(ground_truth in messages[-1]["content"]), f"{len(messages)} messages")


def grade_answer(given_answer: str, ground_truth: str) -> bool:
    return given_answer == ground_truth


def thread(text, **columns):
    return wb.StringThread([("user", "Which?"), ("assistant", text)], columns)


@pytest.mark.parametrize(
    ("fn", "text", "columns", "score"),
    [
        (accuracy_reward, "the Elbe", {"solution": "Elbe"}, 1.0),
        (accuracy_reward, "the Elbe", {"reference": "Seine"}, 0.0),
        (accuracy_reward, "the Elbe", {"solution": ""}, None),
        (think_format_reward, "<think>x", {}, 1.0),
        (brevity, "abc", {}, 3.0),
        (slow, "x", {"a": 1}, 1.0),
        (
            compute_score,
            "the Elbe",
            {"ground_truth": {"target": "Elbe"}, "data_source": "d", "extra_info": {"n": 1}},
            1.0,
        ),
        (dataset_score, "the Elbe", {"ground_truth": "Elbe"}, 1.0),
        (prime_math, "the Elbe", {"answer": "Elbe"}, 1.0),
        (reward_func, "the Elbe", {"label": "Elbe"}, 1.0),
        (evaluate, "the Elbe", {"reference": "Elbe"}, 1.0),
        (grade_answer, "Elbe", {"reference": "Elbe"}, 1.0),
    ],
)
def test_a_function_is_called_as_its_trainer_calls_it(fn, text, columns, score):
    """Its columns, lists and results are those of its trainer; None is a skipped row."""
    grade = wb.CustomGrader(fn)(thread(text, **columns))
    assert grade.score == score, grade
    assert grade.error is None


def test_the_rest_of_a_dict_is_metadata():
    """Verl's dict has a score, and more."""
    columns = {"ground_truth": {"target": "Elbe"}, "data_source": "d", "extra_info": {"n": 1}}
    assert wb.CustomGrader(compute_score)(thread("Elbe", **columns)).metadata == {
        "acc": True,
        "from": "d",
        "n": 1,
    }
    assert wb.CustomGrader(evaluate)(thread("Elbe", reference="x")).reasoning == "2 messages"


@pytest.mark.parametrize(
    "fn",
    [
        lambda thread: 1.0,
        lambda sample: 1.0,
        lambda left, right: 1.0,
        lambda prompt, style: 1.0,
        lambda a, b=1: 1.0,
        len,
    ],
)
def test_other_functions_have_no_form(fn):
    """A function of a thread, or of other parameters, is not a trainer's."""
    assert form_of(fn) == ""


def cites(completion, sources):
    return any(f"[{source}]" in completion for source in sources)


def about_thread(response: wb.StringThread):
    return len(response.get_turns())


@pytest.mark.parametrize(
    ("fn", "score"),
    [
        (lambda response: float("Elbe" in response), 1.0),
        (lambda text: len(text) / 1, 8),
        (cites, 1.0),
        (lambda prompt, completion, rubric, limit=9: float(rubric in completion), 1.0),
        (about_thread, 2),
    ],
)
def test_a_parameter_of_another_name_is_a_column(fn, score):
    """With one for the completion, which is a text unless it is annotated as a thread."""
    assert wb.CustomGrader(fn)(thread("Elbe [a]", sources=["b", "a"], rubric="Elbe")).score == score


def test_a_column_that_the_row_does_not_have():
    """The row fails, with the columns it has."""
    grade = wb.CustomGrader(cites)(thread("Elbe [a]", rubric="Elbe"))
    assert grade.score is None
    assert "no column 'sources'" in grade.error.message
    assert "columns rubric" in grade.error.message


def test_a_function_of_unknown_parameters_is_refused():
    """As before, when it is given and not row by row."""
    with pytest.raises(TypeError, match="one parameter"):
        wb.CustomGrader(lambda left, right: 1.0)


def test_it_is_saved_by_its_import_path():
    """The path leads to the package's function, and back."""
    grader = wb.CustomGrader(dataset_score)
    assert grader.target == f"{__name__}:dataset_score"
    again = wb.loads(wb.dumps(grader), trust=True).grader
    assert again(thread("Elbe", ground_truth="Elbe")).score == 1.0
    processes = wb.CustomGrader(dataset_score, own_process=True)
    assert processes(thread("Elbe", ground_truth="Elbe")).score == 1.0


ROWS = [{"prompt": "Which?", "completion": text, "solution": "Elbe"} for text in ("the Elbe", "the Seine")]


def test_probe_takes_a_live_function():
    """`wb.probe(function, rows)`, without a grader around it."""
    probe = wb.probe(accuracy_reward, ROWS * 4, labels=[True, False] * 4, progress=False)
    assert "accuracy_reward" in str(probe)


def test_read_graders_takes_what_a_user_has(tmp_path):
    """A file, one grader of it, an import path, a function, graders."""
    text = "def near(completions, **kw):\n    return [1.0 for _ in completions]\n\n\ndef far(completions, **kw):\n    return [0.0 for _ in completions]\n"
    (tmp_path / "reward.py").write_text(text)
    assert [entry.name for entry in wb.read_graders(tmp_path / "reward.py").entries] == ["near", "far"]
    assert [entry.name for entry in wb.read_graders(f"{tmp_path / 'reward.py'}:far").entries] == ["far"]
    assert wb.read_graders(f"{__name__}:accuracy_reward").grader(thread("Elbe", solution="Elbe")).score == 1.0
    assert wb.read_graders(accuracy_reward).grader.name == "accuracy_reward"
    assert len(wb.read_graders([wb.Contains("a", name="a"), wb.Contains("b", name="b")])) == 2
    with pytest.raises(wb.errors.FormatError, match="'x'"):
        wb.read_graders(f"{tmp_path / 'reward.py'}:x")
    with pytest.raises(TypeError):
        wb.read_graders(1)


def test_the_command_line_takes_an_import_path(tmp_path, capsys):
    """`workbench run module:function rows.jsonl`."""
    wb.Samples(ROWS)
    (tmp_path / "rows.jsonl").write_text('{"prompt": "q", "completion": "the Elbe", "solution": "Elbe"}\n')
    assert main(["run", f"{__name__}:accuracy_reward", str(tmp_path / "rows.jsonl")]) == 0
    assert "accuracy_reward" in capsys.readouterr().out


class _Server:
    """A resources server of NeMo Gym, whose models are those of pydantic."""

    async def verify(self, body):
        text = body.response.output[-1].content[-1].text
        return _Verified(**body.model_dump(), reward=float(str(body.expected_answer) in text))


class _Verified:
    def __init__(self, **fields):
        self.__dict__ |= fields


class _Rubric:
    """A rubric of OpenEnv, which is called through `__call__`."""

    def __call__(self, action, observation):
        return self.forward(action, observation)

    def forward(self, action, observation):
        return float(observation.reference in action.message)


async def _of_a_rubric(prompt, completion, answer, state) -> float:
    return float(
        answer in completion[-1]["content"] and state["answer"] == answer and prompt[0]["role"] == "user"
    )


def _generic(prompt, completion, answer, **columns):
    return {"score": float(answer in completion and "2+2" in prompt and columns["topic"] == "sums")}


@pytest.mark.parametrize(
    "function",
    [_of_a_rubric, _generic, _Server().verify, _Rubric()],
    ids=["verifiers", "generic", "NeMo Gym", "OpenEnv"],
)
def test_a_function_is_called_by_the_names_of_its_parameters(function):
    """With messages if it reads them, else with texts; a server's `verify` and a rubric get objects with attributes."""
    rows = [
        {"prompt": "2+2?", "completion": said, "answer": "4", "topic": "sums"} for said in ("It is 4.", "5")
    ]
    report = wb.read_graders(function).run(rows, progress=False)
    assert not len(report.errors)
    assert report.scores.iloc[:, 0].tolist() == [1.0, 0.0]


def test_an_action_has_the_text_of_the_completion_only():
    """Another field of an environment's action fails the row, with the way out."""

    def rubric(action, observation):
        return float(action.board == "x")

    grade = wb.CustomGrader(rubric)(wb.StringThread([("user", "q"), ("assistant", "x")]))
    assert "board" in grade.error.message
    assert "function of a thread" in grade.error.message


class Counter:
    """An environment of TRL."""

    def reset(self, goal=0, **columns):
        self.goal, self.value = goal, 0

    def add(self, amount: int) -> str:
        self.value += amount
        return str(self.value)

    async def double(self) -> str:
        self.value *= 2
        return str(self.value)

    def get_reward(self) -> float:
        return self.value == self.goal


class Strict(Counter):
    def __init__(self, start):
        self.start = start

    def reset(self, goal):
        super().reset(goal)
        self.value = self.start

    async def get_reward(self) -> float:
        return self.value / self.goal


def calls(*made):
    return [{"role": "assistant", "content": "", "tool_calls": [
        {"id": str(at), "type": "function", "function": {"name": name, "arguments": arguments}} for at, (name, arguments) in enumerate(made)]}]  # fmt: skip


ADDED = {"prompt": "Reach 6.", "goal": 6, "completion": calls(("add", '{"amount": 3}'), ("double", "{}"))}
EPISODES = [
    ADDED,
    {**ADDED, "completion": calls(("add", '{"amount": 5}'))},
    {
        **ADDED,
        "completion": calls(
            ("add", '{"sum": 5}'), ("missing", "{}"), ("get_reward", "{}"), ("add", '{"amount": 6}')
        ),
    },
    {**ADDED, "completion": "6"},
]


def test_an_environment_grades_the_calls_of_a_row():
    """Its class, as TRL gets it: errors of tools and unknown ones change nothing; the text is not seen."""
    report = wb.read_graders(Counter).run(EPISODES, progress=False)
    assert report.scores.columns.tolist() == ["Counter"]
    assert report.scores["Counter"].tolist() == [1.0, 0.0, 1.0, 0.0]
    assert wb.CustomGrader(Counter).spec()["target"].endswith(":Counter")


def test_the_method_of_an_environment_grades_with_a_copy_of_it():
    """An instance that was made with arguments stays as it is."""
    environment = Strict(1)
    for form in (environment.get_reward, environment):
        report = wb.CustomGrader(form).run(EPISODES[1:], progress=False)
        assert report.scores.iloc[:, 0].tolist() == [1.0, 7 / 6, 1 / 6]
    assert not hasattr(environment, "value")


def test_a_reward_without_its_environment_is_refused():
    """It has no parameter, so that nothing of a row reaches it."""

    def get_reward():
        return 1.0

    with pytest.raises(TypeError, match="the environment's class"):
        wb.CustomGrader(get_reward)


def test_the_file_of_an_environment_is_refused_with_the_way(tmp_path, capsys):
    """By what it is."""
    (tmp_path / "env.py").write_text(
        "class Env:\n    def reset(self, **k):\n        pass\n\n    def get_reward(self):\n        return 1.0\n",
        "utf-8",
    )
    assert main(["validate", str(tmp_path / "env.py")]) != 0
    said = capsys.readouterr().err
    assert "environment of TRL" in said
    assert "CustomGrader(Class)" in said


def test_a_batch_function_of_verl_gets_lists_of_one():
    """As its batch manager calls it."""

    def compute_score_batched(data_sources, solution_strs, ground_truths, extra_infos):
        assert data_sources == ["x"]
        assert extra_infos[0]["data_source"] == "x"
        return [float(truth in said) for said, truth in zip(solution_strs, ground_truths, strict=True)]

    rows = [{"prompt": "2+2?", "completion": said, "answer": "4", "data_source": "x"} for said in ("4", "5")]
    assert wb.read_graders(compute_score_batched).run(rows, progress=False).scores.iloc[:, 0].tolist() == [
        1.0,
        0.0,
    ]


def test_an_import_path_may_name_a_file_of_the_current_folder(tmp_path, monkeypatch, capsys):
    """As for `python -m`, also for what the function imports when it is called."""
    (tmp_path / "neighbour_of_folder.py").write_text("REWARD = 1.0\n")
    (tmp_path / "own_reward_of_folder.py").write_text(
        "def near(completions, **kw):\n    import neighbour_of_folder\n    return [neighbour_of_folder.REWARD for _ in completions]\n"
    )
    (tmp_path / "rows.jsonl").write_text('{"prompt": "q", "completion": "the Elbe"}\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one])
    assert main(["run", "own_reward_of_folder:near", "rows.jsonl"]) == 0
    assert "near" in capsys.readouterr().out


def test_an_import_path_may_name_a_package_of_the_current_folder(tmp_path, monkeypatch, capsys):
    """A folder of that name is no file: it is the package."""
    (tmp_path / "own_package_of_folder").mkdir()
    (tmp_path / "own_package_of_folder" / "__init__.py").write_text(
        "def near(completions, **kw):\n    return [1.0 for _ in completions]\n"
    )
    (tmp_path / "rows.jsonl").write_text('{"prompt": "q", "completion": "the Elbe"}\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one])
    assert main(["run", "own_package_of_folder:near", "rows.jsonl"]) == 0
    assert "near" in capsys.readouterr().out


def test_a_file_that_is_read_makes_no_code_beside_it_importable(tmp_path, monkeypatch):
    """Packages try optional imports: a module of that name beside a file of graders must not run."""
    (tmp_path / "suite.json").write_text(wb.dumps(wb.Contains()))
    (tmp_path / "rows.jsonl").write_text('{"prompt": "q", "completion": "a", "reference": "a"}\n')
    monkeypatch.chdir(tmp_path)
    before = [one for one in sys.path if one]
    monkeypatch.setattr(sys, "path", list(before))
    main(["run", "suite.json", "rows.jsonl"])
    assert sys.path == before
