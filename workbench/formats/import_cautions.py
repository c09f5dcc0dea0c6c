"""What a user should know about a suite that was read although nothing in it is wrong, by grader and setting."""

from __future__ import annotations

from workbench.formats.shared import Loss
from workbench.formats.shared.named_functions import CALLED_BY_NAMES
from workbench.formats.shared.training_code import foreign_imports
from workbench.graders import FunctionGrader
from workbench.graders.serialization import parts
from workbench.run.suite import Suite

_FILLING = 'from release 0.17 on Letta substitutes them: set release="0.17" if the file is of such a release'


def cautions(suite: Suite) -> list[Loss]:
    """Placeholders that look effective but are not substituted, packages that the sandbox lacks, and transforms of promptfoo's tests."""
    judges = {judge.name: judge for grader in suite.graders for judge in parts(grader)}
    holes = {name: getattr(judge, "unfilled_placeholders", ()) for name, judge in judges.items()}
    effect = (
        "is sent literally: this release does not substitute placeholders in rubrics, and appends the prompt, "
        "the reference and the completion in separate sections"
    )
    sources = {
        part.name: part.source.text
        for grader in suite.graders
        for part in parts(grader)
        if isinstance(part, FunctionGrader)
    }
    called = {
        one.name: one.description for one in suite.graders if one.description.startswith(CALLED_BY_NAMES)
    }
    missing = {name: foreign_imports(text) for name, text in sources.items()}
    changing = [
        part.name for one in suite.graders for part in parts(one) if getattr(part, "is_of_test", False)
    ]
    return [
        *(Loss(name, "transform", _CHANGED, _FROM_RESULTS) for name in dict.fromkeys(changing)),
        *(Loss(name, "parameters", text) for name, text in called.items()),
        *(
            Loss(name, "prompt", f"{', '.join(names)} {effect}", _FILLING)
            for name, names in holes.items()
            if names
        ),
        *(
            Loss(
                name,
                "imports",
                f"the sandbox does not have {', '.join(names)}",
                f"{_OUTSIDE}wb.read_graders('MODULE:{name}')",
            )
            for name, names in missing.items()
            if names
        ),
    ]


_CHANGED = "of a test changes the rows' completions, which in results of promptfoo are changed already"
_FROM_RESULTS = "load the graders from the results, too: wb.load('results.json')"
_OUTSIDE = (
    "rows fail unless the import is optional; to run the function in this process with your packages, name it by its module "
    "instead of its file: "
)
