"""Slices of our own source: complete, in order, and without annotations on request."""

import ast

from workbench.graders.portable.writers import sliced

VERDICTS = "workbench.judges.replies.verdicts"


def run(pieces, **how):
    imports, texts = sliced(pieces, **how)
    names = {}
    exec("\n".join([*imports, *texts]), names)
    return names


def test_plain_slices_do_the_same():
    """Without annotations and long docstrings a function computes what ours does, and needs no type of ours."""
    imports, texts = sliced([(VERDICTS, "verdict_object")], given={"ErrorKind"}, plain=True)
    tree = ast.parse("\n".join(texts))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert not any(node.returns or any(arg.annotation for arg in node.args.args) for node in functions)
    assert all("\n" not in (ast.get_docstring(node) or "") for node in functions)
    assert not any("workbench" in line or "collections.abc" in line for line in imports)
    names = {}
    exec("\n".join([*imports, *texts]), names)
    assert names["verdict_object"]('so: {"score": 1}', "score") == {"score": 1}


def test_methods_and_decorated_classes_are_pieces():
    """A method is a function by `Class.method`; a class keeps its decorators, an import of a submodule its name."""
    names = run(
        [
            ("workbench.judges.kinds.openai", "conclusions"),
            ("workbench.judges.capabilities", "Capabilities"),
        ]
    )
    assert names["Capabilities"]().adapt({"response_format": {"type": "json_object"}})
    labels = run(
        [("workbench.judges.kinds.openai", "LabelJudge.read")], given={"ErrorKind", "Grade", "Mapping"}, plain=True
    )  # fmt: skip
    assert labels["read"].__code__.co_varnames[:2] == ("self", "text")
    assert run([("workbench.judges.client.faults", "retry_after")], plain=True)["retry_after"](
        {"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}
    ) == 0.0  # fmt: skip


def test_names_bound_together_are_found():
    """`ONE, TWO = 1, 2` is a piece under both of its names."""
    assert run([("workbench.judges.redaction", "_MIN_LENGTH_IN_WORDS")])["_MIN_LENGTH"] == 3
