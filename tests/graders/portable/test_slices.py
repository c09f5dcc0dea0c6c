"""Slices of the package's source: complete, and in order."""

from workbench.graders.portable import sliced


def run(pieces):
    imports, texts = sliced(pieces)
    names = {}
    exec("\n".join([*imports, *texts]), names)
    return names


def test_decorated_classes_are_pieces():
    """A class keeps its decorators, an import of a submodule its name."""
    names = run(
        [
            ("workbench.judges.kinds.openai", "conclusions"),
            ("workbench.judges.server", "Capabilities"),
        ]
    )
    assert names["Capabilities"]().adapt({"response_format": {"type": "json_object"}})


def test_names_bound_together_are_found():
    """`ONE, TWO = 1, 2` is a piece under both of its names."""
    assert run([("workbench.judges.response", "_MIN_LENGTH_IN_WORDS")])["_MIN_LENGTH"] == 3
