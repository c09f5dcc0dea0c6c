"""`workbench demo`: the main workflow on bundled data."""

from __future__ import annotations

import argparse
from pathlib import Path

import workbench as wb
from workbench.cli.options import Commands, make_folder, say


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    demo = commands.add_parser("demo", help="the main workflow on bundled data: no key, no server")
    demo.add_argument(
        "--out", type=Path, default=Path("workbench-demo"), help="folder for graders.json and report.html"
    )
    demo.set_defaults(command=_demo)


def _demo(options: argparse.Namespace) -> int:
    from workbench.data.demo import GRADERS, demo_samples

    make_folder(options.out)
    graders = [wb.grader(function) for function in GRADERS]
    for item in graders:
        validation = item.validate()
        say(f"\n{item.name}: {item.description}\n{validation}")
        validation.raise_for_failure()
    samples = demo_samples()
    say(f"\nGrading {len(samples):,} bundled samples with {len(graders)} graders ...")
    report = wb.Suite(graders).run(samples, labels="good")
    say(f"\n{report}\n")
    say(f"wrote {wb.save(graders, options.out / 'graders.json')}")
    say(f"wrote {report.to_html(options.out / 'report.html')}")
    say("next:  workbench lab   (opens the quickstart notebook; needs: pip install '.[lab]')")
    return 0
