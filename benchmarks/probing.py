"""Results of probes: reported holes named in the first three findings, fixed graders with findings, seconds of a probe.

Run it with `python benchmarks/probing.py [--sets FOLDER]`. The graders of `tests/probes/strangers.py` follow public bug reports;
those of `planted.py` and `healthy.py` were written for this package. `--sets` is a folder with sets of graders made by others,
each with a script `measure.py` that prints its figures.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import workbench as wb
from tests.probes.healthy import ALL_HEALTHY, probe_healthy
from tests.probes.planted import PLANTED
from tests.probes.strangers import STRANGERS
from tests.probes.tasks import samples
from tests.probes.test_strangers import probe_stranger, shows
from workbench.analysis.finding import Severity

_FIRST = 3
"""Findings that a person reads."""


def _strangers(seconds: list[float]) -> None:
    """Holes that are an error or a question, and fixed graders with one."""
    errors = questions = accused = asked = 0
    for name, case in STRANGERS.items():
        probe = probe_stranger(case["hole"], case["rows"])
        seconds.append(probe.seconds)
        named = [
            finding.severity
            for finding in probe.findings[:_FIRST]
            if re.search(case["names"], f"{finding.kind} {finding.message} {finding.advice}", re.IGNORECASE)
            and shows(case, probe, finding)
        ]
        errors += Severity.ERROR in named
        questions += bool(named) and Severity.ERROR not in named
        mended = probe_stranger(case["mended"], case["rows"])
        seconds.append(mended.seconds)
        accused += not mended.ok
        asked += mended.ok and bool(mended.findings)
        if not named or not mended.ok:
            print(f"{'missed' if not named else 'false error'}: {name}")
    n = len(STRANGERS)
    print(f"reported holes         {errors} as an error, {questions} as a question, of {n}")
    print(f"fixed graders          {accused} with an error, {asked} with a question, of {n}")


def _own(seconds: list[float]) -> None:
    """The same for planted holes and sound graders."""
    found = 0
    for planted in PLANTED:
        probe = wb.probe(wb.FunctionGrader.from_source(planted.source), samples(planted.task), progress=False)
        seconds.append(probe.seconds)
        found += bool({finding.kind for finding in probe.findings} & {*planted.kinds})
    alarms = sum(bool(probe_healthy(name).findings) for name in ALL_HEALTHY)
    print(
        f"planted holes          {found} of {len(PLANTED)} named; {alarms} of {len(ALL_HEALTHY)} sound graders with a finding"
    )


def _sets(folder: Path) -> None:
    """The last lines of every set's own script."""
    for script in sorted(folder.glob("*/measure.py")):
        done = subprocess.run(
            [sys.executable, script.name], cwd=script.parent, capture_output=True, text=True, check=False
        )
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        print(f"{script.parent.name}: " + "\n    ".join(lines[-3:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=Path)
    options = parser.parse_args()
    seconds: list[float] = []
    _strangers(seconds)
    _own(seconds)
    print(
        f"seconds per probe      median {statistics.median(seconds):.2f}, worst {max(seconds):.2f}, of {len(seconds)}"
    )
    if options.sets is not None:
        _sets(options.sets)


if __name__ == "__main__":
    main()
