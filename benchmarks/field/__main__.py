"""Probe the field corpus again: precision of the signed findings, recall of the known holes, and seconds.

`python -m benchmarks.field [--only verl] [--slow] [--sign] [--out results.json]`. pip fetches each package version
once into the cache folder (`WORKBENCH_FIELD_CACHE`). Each version is probed in its own process. `--sign` adds unread findings
to `signed.json`, to be read and signed there; `python -m tests.docs_tables` writes `docs/field.md` from it. The exit code is 1 if the precision is
below 0.95 or a finding is unread.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.field.corpus import Hole, Package, packages
from benchmarks.field.signatures import (
    Comparison,
    Signature,
    compared,
    read_signatures,
    signature_of,
    write_signatures,
)
from benchmarks.field.wheels import cache_folder, fetch_all

PRECISION = 0.95
"""Lowest share of true findings among the errors."""
_STRENGTHS = {"error": "error", "warning": "question", "question": "question"}
"""The state of a known hole by the severity of the finding that names it."""
_STATES = ("error", "question", "missed")
_ROOT = Path(__file__).resolve().parents[2]


def run_version(package: Package, version: str, *, only: str, slow: bool) -> dict[str, Any]:
    """The results of one version, from its own process; if that ends early, from a process for each function."""
    fetch_all(package, version, cache_folder())
    done = _worker(package, version, only, slow=slow)
    if done.returncode == 0:
        return dict(json.loads(done.stdout))
    results: list[dict[str, Any]] = []
    for function in package.functions:
        if only in function.name:
            done = _worker(package, version, function.name, slow=slow, exact=True)
            ended = f"its process ended with {done.returncode}: {done.stderr[-300:]}"
            lost = {"name": function.name, "error": ended, "seconds": 0.0}
            results += json.loads(done.stdout)["functions"] if done.returncode == 0 else [lost]
    return {"package": package.name, "version": version, "functions": results}


def _worker(
    package: Package, version: str, only: str, *, slow: bool, exact: bool = False
) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "benchmarks.field.worker",
        package.name,
        version,
        "--only",
        only,
    ]
    flags = [flag for flag, is_set in (("--slow", slow), ("--exact", exact)) if is_set]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    return subprocess.run([*command, *flags], capture_output=True, text=True, check=False, env=environment)


def errors_of(results: Sequence[Mapping[str, Any]]) -> Iterator[Signature]:
    """Every error finding of a run."""
    for result in results:
        for function in result["functions"]:
            for finding in function.get("findings", ()):
                if finding["strength"] == "error":
                    yield signature_of(result, function["name"], finding)


def state_of(hole: Hole, function: Mapping[str, Any], checked: Mapping[str, Any]) -> str:
    """The severity of the strongest finding that names a known hole; missed without one, repaired if the version is right."""
    if not checked["exists"]:
        return "repaired"
    states = [
        _STRENGTHS.get(finding["strength"], "missed")
        for finding in function.get("findings", ())
        if _names(hole, finding)
    ]
    return min(states, key=_STATES.index, default="missed")


def _names(hole: Hole, finding: Mapping[str, Any]) -> bool:
    """Whether a finding's message, without its examples, names a hole, and both are about acceptance or about rejection."""
    claim = finding["message"].partition(", such as ")[0]
    rejects = claim.startswith(("rejects", "fails", "refuses"))
    words = " ".join((finding["kind"], claim, finding["advice"]))
    return rejects != hole.accepted and re.search(hole.names, words, re.IGNORECASE) is not None


def known_holes(results: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Hole, str]]:
    """Each known hole of the functions probed: where, the hole, and its state."""
    manifest = {
        (package.name, function.name): function for package in packages() for function in package.functions
    }
    for result in results:
        for function in result["functions"]:
            holes = manifest[result["package"], function["name"]].holes
            for hole, checked in zip(holes, function.get("holes", ()), strict=False):
                where = f"{result['package']} {result['version']} {function['name']}"
                yield where, hole, state_of(hole, function, checked)


def probed_functions(results: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Package, version and result of each function that was probed."""
    return [
        (result["package"], result["version"], function)
        for result in results
        for function in result["functions"]
        if "absent" not in function and "error" not in function
    ]


def report(results: Sequence[Mapping[str, Any]], comparison: Comparison) -> None:
    """Print the figures."""
    probes = probed_functions(results)
    seconds = {f"{package} {version} {one['name']}": one["seconds"] for package, version, one in probes}
    _print_exceptions(results, comparison)
    _compare_versions(results)
    holes = list(known_holes(results))
    states = Counter(state for _, _, state in holes)
    for where, hole, state in holes:
        print(f"hole {state}: {where}: {hole.claim}")
    n_versions = len({(package, version) for package, version, _ in probes})
    n_packages = len({package for package, _, _ in probes})
    print(f"functions probed       {len(probes)}, of {n_packages} packages in {n_versions} versions")
    print(
        f"errors named           {comparison.n_read + len(comparison.unsigned)}, {len(comparison.unsigned)} of them unread"
    )
    witnesses = [one for _, _, function in probes for one in function.get("witnesses", ())]
    n_same = sum(one["holds"] for one in witnesses)
    print(f"witnesses by a call    {n_same} of {len(witnesses)} get the score that was signed")
    print(
        f"precision              {comparison.precision:.3f}: {comparison.n_true} of {comparison.n_read} are true"
    )
    known = ", ".join(f"{states[name]} {name}" for name in _STATES)
    print(f"known holes            {sum(states[name] for name in _STATES)}: {known}")
    worst = max(seconds, key=lambda name: seconds[name], default="")
    if worst:
        print(
            f"seconds per probe      median {statistics.median(seconds.values()):.1f}, worst {seconds[worst]:.1f} ({worst})"
        )


def _print_exceptions(results: Sequence[Mapping[str, Any]], comparison: Comparison) -> None:
    """Print what was not probed, and findings that differ from the signatures."""
    for result in results:
        for one in result["functions"]:
            for witness in one.get("witnesses", ()):
                if not witness["holds"]:
                    told = f"{witness['kind']}, {witness['text']!r} scores {witness['scores']}"
                    print(f"not as signed: {result['package']} {result['version']} {one['name']}: {told}")
            for state in ("absent", "error"):
                if state in one:
                    print(f"{state}: {result['package']} {result['version']} {one['name']}: {one[state]}")
    for one in comparison.unsigned:
        print(f"unread: {_told(one)}")
    for old, new in comparison.moved:
        print(f"other witness: {_told(new)}; read was {old.text!r}")
    for one in comparison.gone:
        print(f"gone: {_told(one)} ({'true' if one.verdict else 'false'})")


def _told(one: Signature) -> str:
    return f"{one.package} {one.version} {one.function}: {one.kind}, {one.text!r} for {one.reference!r} scores {one.score}"


def _compare_versions(results: Sequence[Mapping[str, Any]]) -> None:
    """Print the findings and holes that a release closed or opened: the newest version against each earlier one."""
    found = {(one.package, one.version, one.function, one.kind) for one in errors_of(results)}
    holes = {(where, hole.claim): state for where, hole, state in known_holes(results)}
    for package in packages():
        new, *earlier = package.versions
        for old in earlier:
            both = _functions(results, package.name, new) & _functions(results, package.name, old)
            for function in sorted(both):
                for kind in sorted(
                    {key[3] for key in found if key[0] == package.name and key[2] == function}
                ):
                    was, is_now = ((package.name, version, function, kind) in found for version in (old, new))
                    if was != is_now:
                        print(
                            f"finding {'gone' if was else 'back'}: {package.name} {old} to {new} {function}: {kind}"
                        )
                for (where, claim), state in holes.items():
                    if where == f"{package.name} {new} {function}":
                        before = holes.get((f"{package.name} {old} {function}", claim), "absent")
                        if (before == "repaired") != (state == "repaired"):
                            told = "closed" if state == "repaired" else "opened"
                            print(f"hole {told}: {package.name} {old} to {new} {function}: {claim}")


def _functions(results: Sequence[Mapping[str, Any]], package: str, version: str) -> set[str]:
    return {
        one["name"] for name, number, one in probed_functions(results) if (name, number) == (package, version)
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="packages whose name contains this")
    parser.add_argument("--function", default="", help="functions whose name contains this")
    parser.add_argument("--slow", action="store_true", help="also the functions whose probe takes minutes")
    parser.add_argument("--sign", action="store_true", help="add unread findings to signed.json")
    parser.add_argument("--out", type=Path, help="where to write all results as JSON")
    parser.add_argument("--read", type=Path, help="results of an earlier run, instead of a new one")
    args = parser.parse_args()
    results = json.loads(args.read.read_text("utf-8")) if args.read else list(_run(args))
    if args.out:
        args.out.write_text(json.dumps(results, indent=1), "utf-8")
    signatures, found = read_signatures(), list(errors_of(results))
    probed = {(package, version, one["name"]) for package, version, one in probed_functions(results)}
    comparison = compared(found, signatures, probed)
    report(results, comparison)
    if args.sign:
        write_signatures([*signatures, *comparison.unsigned])
    sys.exit(comparison.precision < PRECISION or bool(comparison.unsigned))


def _run(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for package in packages():
        if args.only in package.name:
            for version in package.versions:
                print(f"{package.name} {version}", file=sys.stderr, flush=True)
                yield run_version(package, version, only=args.function, slow=args.slow)


if __name__ == "__main__":
    main()
