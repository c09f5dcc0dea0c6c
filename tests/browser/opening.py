"""Files that somebody has on the disk, and what a person does with them in the app, the same in every environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from tests.browser.walk import Walk

GRADER = {
    "type": "string_check", "name": "same_as_gold", "input": "{{sample.output_text}}", "reference": "{{item.expected}}",
    "operation": "ilike",
}  # fmt: skip
MORE = 40


def write_files(folder: Path) -> dict[str, Path]:
    """Rows as Parquet and as a table without known columns, graders of a platform, and a file of neither."""
    rows = [
        {
            "question": f"Which river flows through city {n}?",
            "response": f"It is river {n}.",
            "target": f"river {n % 7}",
        }
        for n in range(MORE)
    ]
    files = {
        "rows": folder / "more_rows.parquet", "table": folder / "eigene.csv", "graders": folder / "check.json",
        "code": folder / "reward.py", "neither": folder / "notes.txt",
    }  # fmt: skip
    pd.DataFrame(rows).to_parquet(files["rows"])
    files["table"].write_text(
        "frage,antwort\n" + "".join(f"Was ist {n}?,Es ist {n}.\n" for n in range(12)), "utf-8"
    )
    files["graders"].write_text(json.dumps(GRADER), "utf-8")
    files["code"].write_text(
        "def is_long(completion: str) -> float:\n    return float(len(completion) > 14)\n", "utf-8"
    )
    files["neither"].write_text("Remember the milk.", "utf-8")
    return files


def dropped(walk: Walk, files: dict[str, Path], rows: int) -> None:
    """Drop graders, then rows: added to the present ones, which an undo restores, then in their place.

    Args:
        walk: An open app, graded.
        files: As from `write_files`.
        rows: How many rows the app has.
    """
    app, expect = walk.app, walk.view.expect
    before = app.locator(".g").count()
    walk.drop(files["graders"], files["neither"])
    expect(app.locator(".opened .file")).to_have_count(2)
    expect(app.locator(".opened")).to_contain_text("check.json: OpenAI grader JSON")
    expect(app.locator(".opened .file").nth(1)).to_contain_text(
        "notes.txt: neither graders nor rows can be read"
    )
    expect(app.locator(".g")).to_have_count(before + 1)
    walk.graded()
    expect(walk.at(".mid h2.name")).to_have_text("same_as_gold")
    app.get_by_role("button", name="dismiss the opened files").click()
    walk.drop(files["rows"])
    expect(app.get_by_role("button", name="Replace the rows")).to_be_focused()
    walk.press("Enter")
    walk.wait_shown(MORE)
    walk.graded()
    expect(app.locator(".opened")).to_contain_text("The app shows these rows.")
    app.get_by_role("button", name="Undo", exact=True).click()
    app.locator(".opened").wait_for(state="detached")
    walk.wait_shown(rows)
    walk.graded()
    expect(app.locator(".g")).to_have_count(before + 1)
