"""Results of probes: reported holes named in the first three findings, fixed graders with findings, seconds of a probe.

Run it with `python benchmarks/probing.py [--sets FOLDER]`. The graders of `tests/probes/strangers.py` follow public bug reports;
those of `planted.py` and `healthy.py` were written for this package; those of `probe_sets/` by someone who had not seen it.
`--sets` is a folder with further sets, each with a script `measure.py` that prints its figures.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

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


_Score = Callable[[Mapping[str, Any], str], float]


def _scorer(source: str) -> _Score:
    """The score of a text in a row, -1 for an exception."""
    space: dict[str, Any] = {}
    exec(source, space)  # the graders of this folder

    def score(row: Mapping[str, Any], text: str) -> float:
        item = {name: value for name, value in row.items() if name not in {"completion", "label"}}
        try:
            return float(space["grade"]({"output_text": text}, item))
        except Exception:  # noqa: BLE001 (a text that breaks the grader)
            return -1.0

    return score


def _probed(source: str, rows: list[dict[str, Any]], seconds: list[float]) -> wb.Probe:
    lines = [{name: value for name, value in row.items() if name != "label"} for row in rows]
    probe = wb.probe(
        wb.FunctionGrader.from_source(source, name="graded"), wb.read_samples(lines), progress=False
    )
    seconds.append(probe.seconds)
    return probe


def _is_shown(case: Mapping[str, Any], probe: wb.Probe, kind: str) -> bool:
    """Whether grader and fixed grader differ on a text of a finding."""
    mended = case["source"]
    for old, new in case["fix"]:
        mended = mended.replace(old, new)
    before, after = _scorer(case["source"]), _scorer(mended)
    for line in _texts(probe, kind):
        for row in case["rows"]:
            prompt, text = row["prompt"], str(line["text"] or "")
            last = prompt if isinstance(prompt, str) else prompt[-1]["content"]
            if last in str(line["prompt"]) and abs(before(row, text) - after(row, text)) > 0.4:
                return True
    return False


def _texts(probe: wb.Probe, kind: str) -> list[dict[str, Any]]:
    """The texts of a finding; none of one that is a property of the whole, such as a failure."""
    try:
        return probe.texts(kind).head(80).to_dict("records")
    except wb.errors.ReportError:
        return []


def _made_elsewhere(seconds: list[float]) -> None:
    """Holes named with a text on which the fixed grader differs, and healthy graders with a finding, by set."""
    for path in sorted((Path(__file__).parent / "probe_sets").glob("*.json")):
        cases = json.loads(path.read_text(encoding="utf-8"))
        errors = questions = accused = asked = 0
        for case in cases["holes"]:
            probe = _probed(case["source"], case["rows"], seconds)
            shown = [one.severity for one in probe.findings[:_FIRST] if _is_shown(case, probe, one.kind)]
            errors += Severity.ERROR in shown
            questions += bool(shown) and Severity.ERROR not in shown
        for case in cases["healthy"]:
            probe = _probed(case["source"], case["rows"], seconds)
            accused += not probe.ok
            asked += probe.ok and bool(probe.findings)
        print(
            f"{path.stem:22} {errors} as an error, {questions} as a question, of {len(cases['holes'])}; "
            f"healthy: {accused} with an error, {asked} with a question, of {len(cases['healthy'])}"
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
    _made_elsewhere(seconds)
    print(
        f"seconds per probe      median {statistics.median(seconds):.2f}, worst {max(seconds):.2f}, of {len(seconds)}"
    )
    if options.sets is not None:
        _sets(options.sets)


if __name__ == "__main__":
    main()
