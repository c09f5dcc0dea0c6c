"""Looking at a screenshot and at boxes on a page: is something there, and does nothing cover anything else?"""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

renews_pictures = pytest.mark.skipif(
    not os.environ.get("WORKBENCH_PICTURES"),
    reason="set WORKBENCH_PICTURES=1 to take the documentation's pictures anew: nothing else is checked by it",
)
"""For what only takes pictures of what other tests check."""

COLOURS = """async png => {
  const image = new Image();
  image.src = 'data:image/png;base64,' + png;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height), draw = canvas.getContext('2d');
  draw.drawImage(image, 0, 0);
  const pixels = new Uint32Array(draw.getImageData(0, 0, image.width, image.height).data.buffer);
  return new Set(pixels).size;
}"""

BOXES = """all => all.map(e => {
  const box = e.getBoundingClientRect();
  return {name: e.tagName.toLowerCase() + [...e.classList].map(c => '.' + c).join(''),
          left: box.left, top: box.top, right: box.right, bottom: box.bottom};
})"""

FRAMES = """() => new Promise(done => {
  const next = left => left ? requestAnimationFrame(() => next(left - 1)) : done();
  next(4);
})"""
"""Until the page has been drawn a few times."""

NESTED = "([one, other]) => one.contains(other) || other.contains(one)"

TOLERANCE = 1.5
"""Pixels by which neighbours may meet: rounding, and borders drawn over each other."""


def colours(page: Page, png: bytes) -> int:
    """How many different colours a screenshot has, counted by a page: an empty one has a handful."""
    return int(page.evaluate(COLOURS, base64.b64encode(png).decode()))


def wait_still(page: Page, elements: Sequence[Locator]) -> None:
    """Until nothing moves or changes its size any more: what is still being drawn may cover its neighbours.

    Raises:
        TimeoutError: It never stood still.
    """
    for _ in range(200):
        before = [locator.evaluate_all(BOXES) for locator in elements]
        page.evaluate(FRAMES)
        if before == [locator.evaluate_all(BOXES) for locator in elements]:
            return
    raise TimeoutError("parts of the page move on and on")


def assert_sized(elements: Sequence[Locator]) -> None:
    """Every locator finds something, and all it finds has a width and a height."""
    for locator in elements:
        boxes = locator.evaluate_all(BOXES)
        assert boxes, f"nothing there: {locator}"
        flat = [box for box in boxes if box["right"] - box["left"] < 1 or box["bottom"] - box["top"] < 1]
        assert flat == [], f"without size: {flat}"


def assert_apart(elements: Sequence[Locator]) -> None:
    """No element covers another; one inside the other is no cover."""
    found = [
        (handle, handle.evaluate(f"e => ({BOXES})([e])[0]"))
        for e in elements
        for handle in e.element_handles()
    ]
    for at, (one, box) in enumerate(found):
        for other, its in found[at + 1 :]:
            if _overlap(box, its) and not one.evaluate(f"(one, other) => ({NESTED})([one, other])", other):
                raise AssertionError(f"{box['name']} and {its['name']} overlap: {box}, {its}")


def _overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    wide = min(one["right"], other["right"]) - max(one["left"], other["left"])
    high = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
    return bool(wide > TOLERANCE and high > TOLERANCE)
