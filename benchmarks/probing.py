"""Results of probes: planted holes that are found, findings about sound graders, and seconds for all of them.

Run it with `python benchmarks/probing.py [--rows 40] [--tries 400]`. The graders are those of `tests/probes`; a hole
counts as found if a finding (not a note) of one of the kinds that name it is among the findings.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import workbench as wb
from tests.probes.healthy import ALL_HEALTHY, probe_healthy
from tests.probes.planted import PLANTED
from tests.probes.tasks import samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--tries", type=int, default=400)
    settings = vars(parser.parse_args())
    start, texts, found, first = time.perf_counter(), 0, 0, 0
    for planted in PLANTED:
        grader = wb.FunctionGrader.from_source(planted.source)
        probe = wb.probe(grader, samples(planted.task), progress=False, **settings)
        kinds = [finding.kind for finding in probe.findings]
        texts, found = texts + probe.tries, found + bool({*kinds} & {*planted.kinds})
        first += bool(kinds and kinds[0] in planted.kinds)
        if not {*kinds} & {*planted.kinds}:
            print(f"missed: {planted.name}; reported: {', '.join(kinds) or 'nothing'}")
    middle, alarms = time.perf_counter(), 0
    for name in ALL_HEALTHY:
        probe = probe_healthy(name, **settings)
        texts, alarms = texts + probe.tries, alarms + bool(probe.findings)
        if probe.findings:
            print(f"alarm: {name}; reported: {', '.join(finding.kind for finding in probe.findings)}")
    end = time.perf_counter()
    print(
        f"planted holes named    {found} of {len(PLANTED)}, {first} of them by the leading finding, in {middle - start:.1f} s"
    )
    print(f"alarms, sound graders  {alarms} of {len(ALL_HEALTHY)}, in {end - middle:.1f} s")
    print(f"texts graded           {texts:,}, {texts / (end - start):,.0f} per second")


if __name__ == "__main__":
    main()
