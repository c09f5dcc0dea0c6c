"""Graders, rows and reports that these tests certify."""

import workbench as wb

TEXT = """\
async def grade(thread: StringThread) -> float:
    return 1.0 if "yes" in (thread.completion() or "") else 0.0
"""


def function(text=TEXT, name="says_yes", **settings):
    grader = wb.FunctionGrader.from_source(text, name=name, **settings)
    grader.validate()
    return grader


def rows(n=60, **columns):
    """Every third completion is no; odd rows are good, so both kinds of errors occur."""
    return [
        {"prompt": f"q{i}", "completion": "no" if i % 3 == 0 else "yes", "expected": "yes", "good": bool(i % 2), **columns}
        for i in range(n)
    ]  # fmt: skip


def ran(graders, data=None, labels="good", **settings):
    suite = graders if isinstance(graders, wb.Suite) else wb.Suite(graders)
    return suite.run(rows() if data is None else data, labels=labels, progress=False, **settings)


def certified(graders, **settings):
    return wb.certificate(graders, ran(graders), **settings)


def leaves(value, path=()):
    """The path of every value other than an object or list."""
    items = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    )
    if items is None or not value:
        return [path]
    return [leaf for key, item in items for leaf in leaves(item, (*path, key))]


def at(document, path):
    """The value at a path."""
    for key in path:
        document = document[key]
    return document
