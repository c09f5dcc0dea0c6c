"""What a person would complain of when looking at the app: texts cut off to nothing, parts too wide, weak contrast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.browser import look

if TYPE_CHECKING:
    from tests.browser.walk import Walk

TOO_WIDE = """() => ['', 'main', '.top', '.rail', '.mid', '.mid > .scroll', '.part-rows', '.reader', '.foot', '.mode > section']
  .flatMap(part => [...document.querySelectorAll('.gwb ' + part)])
  .concat(document.querySelector('.gwb'))
  .filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1)
  .map(e => {
    const right = e.getBoundingClientRect().right;
    const wide = [...e.querySelectorAll('*')].filter(each => each.getBoundingClientRect().right > right + 1);
    const names = wide.slice(0, 3).map(each => each.tagName.toLowerCase() + '.' + each.getAttribute('class'));
    return `${e.tagName}.${e.className} ${e.ariaLabel ?? ''}: ${e.scrollWidth} in ${e.clientWidth}, by ${names}`;
  })"""

CLIPPED = """() => {
  const found = [], app = document.querySelector('.gwb main');
  const cuts = e => getComputedStyle(e).textOverflow === 'ellipsis' || getComputedStyle(e).webkitLineClamp !== 'none';
  const holders = new Set();
  const walker = document.createTreeWalker(app, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    if (!text.data.trim() || text.parentElement.closest('svg, .unseen, option, style')) continue;
    let holder = text.parentElement;
    for (let at = holder; at !== app; at = at.parentElement) if (cuts(at)) holder = at;  // cut at its end, as a whole
    if (holder.checkVisibility()) holders.add(holder);
  }
  for (const holder of holders) {
    const range = document.createRange();
    range.selectNodeContents(holder);
    const box = range.getBoundingClientRect();
    let [left, right, top, bottom] = [box.left, box.right, box.top, box.bottom];
    for (let at = holder; at !== app; at = at.parentElement) {
      const style = getComputedStyle(at), clip = at.getBoundingClientRect();
      if (/auto|scroll/.test(style.overflowX + style.overflowY)) break;  // the rest is a scroll away
      if (!/hidden|clip/.test(style.overflowX + style.overflowY)) continue;
      [left, right] = [Math.max(left, clip.left), Math.min(right, clip.right)];
      [top, bottom] = [Math.max(top, clip.top), Math.min(bottom, clip.bottom)];
    }
    if (right - left < Math.min(box.width, 12) - 1 || bottom - top < Math.min(box.height, 8) - 1) {
      found.push(`${holder.tagName}.${holder.className}: ${holder.textContent.trim().slice(0, 40)}`);
    }
  }
  return found;
}"""

VIOLATIONS = """() => axe.run('.gwb', {runOnly: ['wcag2a', 'wcag2aa']}).then(result => result.violations.flatMap(({id, nodes}) =>
  nodes.map(node => `${id}: ${node.html.slice(0, 160)} ${[...node.any, ...node.all, ...node.none].map(each => each.message).join('; ')}`)))"""

LONGEST = """() => {
  const walker = document.createTreeWalker(document.querySelector('.gwb'), NodeFilter.SHOW_TEXT);
  let longest = 0;
  for (let text = walker.nextNode(); text; text = walker.nextNode()) longest = Math.max(longest, text.data.length);
  return longest;
}"""


def assert_fits(walk: Walk) -> None:
    """No part is wider than its room, and of every text in sight something can be read."""
    walk.view.page.evaluate(look.FRAMES)
    wide, clipped = walk.view.page.evaluate(TOO_WIDE), walk.view.page.evaluate(CLIPPED)
    assert wide == [], f"too wide: {wide}"
    assert clipped == [], f"cut off: {clipped}"


def violations(walk: Walk, axe: str) -> list[str]:
    """What axe-core finds in the app against WCAG 2 A and AA, once nothing moves any more."""
    page = walk.view.page
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(axe)
    look.wait_still(page, [walk.app])
    return list(page.evaluate(VIOLATIONS))


def longest_text(walk: Walk) -> int:
    """Characters of the longest node of text in the app."""
    return int(walk.view.page.evaluate(LONGEST))
