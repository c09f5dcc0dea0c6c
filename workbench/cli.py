"""The command line: `workbench demo | validate | run | convert | formats | lab | sandbox`."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.files import check_writable, write_atomically
from workbench.visible import one_line

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: Words after `workbench`; the process's own by default.

    Returns:
        0 when all went well, 1 when a check or a file failed, 2 for wrong usage, 130 when interrupted,
        141 when nobody reads the output.
    """
    options = _parser().parse_args(arguments)
    try:
        code = int(options.command(options))
        sys.stdout.flush()
        return code  # noqa: TRY300 (a flush may fail, too)
    except (WorkbenchError, ValueError) as error:
        print(f"workbench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("workbench: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, such as head, has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="workbench", description="Write, prove, run, diagnose and export graders."
    )
    parser.add_argument("--version", action="version", version=f"workbench {wb.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_demo(commands)
    _add_validate(commands)
    _add_run(commands)
    _add_convert(commands)
    lab = commands.add_parser("lab", help="open JupyterLab on the quickstart notebook")
    lab.add_argument("--folder", type=Path, default=None, help="copy the notebooks here first")
    lab.add_argument("rest", nargs="*", help="passed on to jupyter lab (after --)")
    lab.set_defaults(command=_lab)
    sandbox = commands.add_parser("sandbox", help="say how well this machine confines graders")
    sandbox.set_defaults(command=_sandbox)
    return parser


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    demo = commands.add_parser("demo", help="the main job on bundled data: no key, no server")
    demo.add_argument(
        "--out", type=Path, default=Path("workbench-demo"), help="folder for graders.json and report.html"
    )
    demo.set_defaults(command=_demo)


def _add_validate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    validate = commands.add_parser("validate", help="run the five checks on a grader file")
    validate.add_argument(
        "file", type=Path, help="a .py module with grade functions, or a grader file of any platform"
    )
    validate.add_argument("--out", type=Path, help="write the validated graders to this .json file")
    validate.add_argument(
        "--trust", action="store_true", help="run the source even where it cannot be confined"
    )
    _add_samples(validate)
    _add_reading(validate)
    validate.set_defaults(command=_validate)


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    run = commands.add_parser("run", help="grade samples and print summary and findings")
    run.add_argument(
        "graders", type=Path, help="a .py module with grade functions, or a grader file of any platform"
    )
    run.add_argument("samples", type=Path, help=".jsonl, .json, .csv or .parquet")
    run.add_argument("--draw", type=int, metavar="N", help="grade a random draw of N samples")
    run.add_argument("--seed", type=int, default=0, help="of the draw (default 0)")
    run.add_argument(
        "--columns",
        action="append",
        default=[],
        metavar="ROLE=NAME",
        help="which column plays a role, e.g. completion=out",
    )
    run.add_argument("--labels", metavar="COLUMN", help="column that says which rows are known good or bad")
    run.add_argument("--workers", type=int, help="sandbox processes (default: cores - 1)")
    run.add_argument("--report", type=Path, metavar="HTML", help="write a self-contained report")
    run.add_argument("--scores", type=Path, metavar="CSV", help="write one row a grade")
    run.add_argument("--store", metavar="URL", help="keep judges' answers there, and ask for nothing twice")
    run.add_argument("--budget", type=float, metavar="DOLLARS", help="the most that judges may spend")
    run.add_argument("--trust", action="store_true", help="run the source even where it cannot be confined")
    _add_reading(run)
    run.set_defaults(command=_run)


def _add_samples(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--samples",
        type=Path,
        metavar="FILE",
        help="rows of yours: sources are tried on the first five of them",
    )


def _add_reading(command: argparse.ArgumentParser) -> None:
    """How a file of a platform is read."""
    command.add_argument(
        "--from", dest="format", metavar="FORMAT", help="the file's platform (default: found out)"
    )
    command.add_argument(
        "--era",
        default="",
        metavar="RELEASE",
        help="release of that platform whose rules apply, such as 0.17",
    )


def _add_convert(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    convert = commands.add_parser("convert", help="write one platform's graders as another's")
    convert.add_argument("source", type=Path, metavar="IN", help="a grader file of any platform")
    convert.add_argument("--to", required=True, metavar="FORMAT", help="see `workbench formats`")
    _add_samples(convert)
    _add_reading(convert)
    convert.add_argument("--out", type=Path, help="the file to write (default: IN with the format's name)")
    convert.add_argument(
        "--on-loss",
        choices=("refuse", "report"),
        default="refuse",
        help="what FORMAT cannot say: refuse, or drop it and report",
    )
    convert.add_argument(
        "--allow-unvalidated", action="store_true", help="write sources that fail their checks"
    )
    convert.add_argument(
        "--trust", action="store_true", help="run the sources even where they cannot be confined"
    )
    convert.set_defaults(command=_convert)
    formats = commands.add_parser("formats", help="list the platforms that graders convert from and to")
    formats.set_defaults(command=_formats)


def _demo(options: argparse.Namespace) -> int:
    from workbench.demo import demo_samples
    from workbench.demo.graders import GRADERS

    _make_folder(options.out)
    graders = [wb.grader(function) for function in GRADERS]
    for item in graders:
        proof = item.validate()
        print(f"\n{item.name}: {item.description}\n{proof}")
        proof.raise_for_failure()
    samples = demo_samples()
    print(f"\nGrading {len(samples):,} bundled samples with {len(graders)} graders ...")
    report = wb.Suite(graders).run(samples, labels="good")
    print(f"\n{report}\n")
    print(f"wrote {wb.save(graders, options.out / 'graders.json')}")
    print(f"wrote {report.to_html(options.out / 'report.html')}")
    print("next:  workbench lab   (opens the quickstart notebook; needs: pip install '.[lab]')")
    return 0


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise wb.errors.FormatError(
            "the folder cannot be made",
            where=str(folder),
            found=error.strerror or str(error),
            hint="choose another: --out",
        ) from error


def _graders(path: Path, options: argparse.Namespace) -> wb.Suite:
    """A suite out of a platform's file, or out of a module with grade functions."""
    return wb.load(path, options.format, trust=options.trust, era=options.era)


def _test_rows(options: argparse.Namespace) -> wb.Samples | None:
    return None if options.samples is None else wb.read_samples(options.samples)


def _validate(options: argparse.Namespace) -> int:
    from workbench.formats.base import get_format
    from workbench.formats.files import check_target, first_rows
    from workbench.records import parts

    if options.out:
        check_writable(options.out)
        check_target(options.out, get_format("native"))
    graders, rows = _graders(options.file, options), _test_rows(options)
    tried = None if rows is None else first_rows(rows)
    functions: list[Any] = []
    for entry in graders.entries:
        inner: list[Any] = [one for one in parts(entry.grader) if hasattr(one, "require_proof")]
        for item in inner:
            print(f"{one_line(entry.name)}\n{item.validate(tried)}\n")
        if not inner:
            print(f"{one_line(entry.name)}\n  a {entry.grader.kind} grader: read, nothing to prove\n")
        functions += inner
    failed = [item for item in functions if item.validation is None or not item.validation.ok]
    if options.out and not failed:
        print(f"wrote {wb.save(graders, options.out)}")
    return 1 if failed else 0


def _run(options: argparse.Namespace) -> int:
    # Whatever could stop the end is looked at first: grading may have taken an hour by then.
    for path in filter(None, (options.report, options.scores)):
        check_writable(path)
    graders = _graders(options.graders, options)
    samples = wb.read_samples(options.samples, columns=_columns(options.columns))
    if options.draw is not None:
        samples = samples.draw(options.draw, seed=options.seed)
    report = graders.run(
        samples, workers=options.workers, labels=options.labels, budget=options.budget, store=options.store
    )
    print(report)
    if options.report:
        print(f"wrote {report.to_html(options.report)}")
    if options.scores:
        print(f"wrote {write_atomically(options.scores, report.frame.to_csv(index=False))}")
    unscored = [name for name, row in report.summary.iterrows() if len(samples) and not row["scored"]]
    unfinished = report.errors["error_kind"].isin(["budget", "cancelled"]).any()
    return 1 if unscored or unfinished else 0


def _columns(pairs: Sequence[str]) -> dict[str, str | None]:
    """ROLE=NAME words as a mapping; an empty name switches the role off."""
    if wrong := [pair for pair in pairs if "=" not in pair]:
        raise wb.errors.SamplesError(
            "--columns takes ROLE=NAME", found=wrong[0], expected="completion=model_out"
        )
    split = [pair.partition("=") for pair in pairs]
    return {role: name or None for role, _, name in split}


def _convert(options: argparse.Namespace) -> int:
    from workbench.formats.base import get_format, read_text

    if options.source.is_dir():
        read_text(options.source)  # refused, with its name
    suffix = get_format(options.to).suffix
    target = options.out or options.source.with_name(f"{options.source.stem}.{options.to}{suffix}")
    written = wb.convert(
        options.source,
        target,
        options.to,
        format=options.format,
        on_loss=options.on_loss,
        allow_unvalidated=options.allow_unvalidated,
        trust=options.trust,
        era=options.era,
        samples=_test_rows(options),
    )
    print(written)
    return 0


def _formats(_: argparse.Namespace) -> int:
    from workbench.formats import FORMATS

    rows = [("FORMAT", "FILES", "WHAT IT IS")]
    for one in FORMATS.values():
        endings = ", ".join([one.suffix, *one.variants])
        rows.append((one.name, endings, one.title + ("; --era chooses the release" if one.eras else "")))
    for name, endings, title in rows:
        print(f"{name:<12}{endings:<13}{title}")
    return 0


def _sandbox(_: argparse.Namespace) -> int:
    print(wb.sandbox_info())
    return 0


def _lab(options: argparse.Namespace) -> int:  # noqa: RET503 (execv does not return)
    if importlib.util.find_spec("jupyterlab") is None:
        print(
            "workbench: JupyterLab is not installed; run: pip install '.[lab]' in the clone", file=sys.stderr
        )
        return 1
    notebook = _notebooks(options.folder) / "01_quickstart.ipynb"
    print(f"opening {notebook}", flush=True)
    command = [sys.executable, "-m", "jupyter", "lab", str(notebook), *options.rest]
    if sys.platform == "win32":
        return subprocess.call(command)
    # In this process's place, so that a signal to it reaches the server.
    os.execv(command[0], command)  # noqa: S606 (a fixed argument list)


def _notebooks(folder: Path | None) -> Path:
    """The folder to open: the repository's own, or a copy that the reader may change."""
    here = Path(__file__).resolve().parent
    checkout, packaged = here.parent / "notebooks", here / "notebooks"
    if folder is None and (checkout / "01_quickstart.ipynb").exists():
        return checkout
    target = folder or Path("workbench-notebooks")
    _make_folder(target)
    for source in sorted((packaged if packaged.is_dir() else checkout).glob("*.ipynb")):
        if not (target / source.name).exists():
            shutil.copy(source, target / source.name)
    return target
