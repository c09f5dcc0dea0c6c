"""Whether a text is, or contains, HTML or XML, by promptfoo's rules. Standard library only.

Source: promptfoo 0.121.20, which parses HTML with parse5 and XML with saxes and fast-xml-parser.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from xml.parsers import expat

from workbench.graders.rules.promptfoo_assertions import SPACES

_MAX_CHARACTERS = 10 * 2**20
"""Characters beyond which promptfoo calls no text HTML."""

_MAX_STEPS = 30_000_000
"""Characters or open elements visited for tags of one text, about a second; pages that people write need far fewer."""

_ELEMENTS = frozenset({
    "html", "head", "title", "base", "link", "meta", "style", "body", "article", "section", "nav", "aside", "h1",
    "h2", "h3", "h4", "h5", "h6", "header", "footer", "address", "p", "hr", "pre", "blockquote", "ol", "ul", "li",
    "dl", "dt", "dd", "figure", "figcaption", "main", "div", "a", "em", "strong", "small", "s", "cite", "q", "dfn",
    "abbr", "ruby", "rt", "rp", "data", "time", "code", "var", "samp", "kbd", "sub", "sup", "i", "b", "u", "mark",
    "bdi", "bdo", "span", "br", "wbr", "img", "iframe", "embed", "object", "param", "picture", "source", "video",
    "audio", "track", "map", "area", "svg", "math", "script", "noscript", "canvas", "ins", "del", "table", "caption",
    "colgroup", "col", "tbody", "thead", "tfoot", "tr", "td", "th", "form", "label", "input", "button", "select",
    "datalist", "optgroup", "option", "textarea", "output", "progress", "meter", "fieldset", "legend", "details",
    "summary", "dialog", "menu", "slot", "template",
})  # fmt: skip
_VOID = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
})  # fmt: skip
_FORMATTING = frozenset(
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"]
)
_CLOSE_P = frozenset({
    "address", "article", "aside", "blockquote", "center", "details", "dialog", "dir", "div", "dl", "fieldset",
    "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "li",
    "dd", "dt", "main", "menu", "nav", "ol", "p", "pre", "section", "summary", "table", "ul",
})  # fmt: skip
_CLOSE_SAME = {
    "li": {"li"}, "dt": {"dt", "dd"}, "dd": {"dt", "dd"}, "option": {"option"}, "tr": {"tr", "td", "th"},
    "td": {"td", "th"}, "th": {"td", "th"}, "tbody": {"tbody", "thead", "tfoot", "tr", "td", "th"},
    "thead": {"tbody", "thead", "tfoot", "tr", "td", "th"}, "tfoot": {"tbody", "thead", "tfoot", "tr", "td", "th"},
}  # fmt: skip
_BARRIERS = frozenset(
    ["ul", "ol", "dl", "table", "td", "th", "caption", "select", "button", "object", "template", "body"]
)
"""Elements in which a start tag closes none outside."""
_TABLE_PARTS = frozenset(["table", "tbody", "thead", "tfoot", "tr"])
_WRAPPERS = frozenset({"html", "head", "body"})


class _Html(HTMLParser):
    """The elements of a text, and whether there is text outside of all of them, as a browser builds the tree."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: set[str] = set()
        self.has_loose_text = False
        self._open: list[str] = []
        self._steps = 0
        self._formatting: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.found.add(tag)
        if tag in _WRAPPERS:
            return
        if tag in _CLOSE_P:
            self._close({"p"}, _BARRIERS - {"ul", "ol", "dl"})
        self._close(
            _CLOSE_SAME.get(tag, set()), _BARRIERS - {"td", "th"} if tag in _CLOSE_SAME else _BARRIERS
        )
        if tag in _FORMATTING:
            self._formatting.append(tag)
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in {"p", "br"} and tag not in self._open:
            self.found.add(tag)  # such an end tag makes an empty element
        if tag in _FORMATTING and tag in self._formatting:
            del self._formatting[len(self._formatting) - 1 - self._formatting[::-1].index(tag)]
        if tag not in self._open:
            return
        at = len(self._open) - 1 - self._open[::-1].index(tag)
        inner = self._open[at + 1 :]
        # The end of a formatting element does not end the blocks inside.
        self._open[at:] = [one for one in inner if one in _CLOSE_P] if tag in _FORMATTING else []

    def handle_data(self, data: str) -> None:
        if not data.strip(SPACES):
            return
        for tag in self._formatting:
            if tag not in self._open:
                self._open.append(tag)
        holders = list(self._open)
        while holders and holders[-1] in _TABLE_PARTS:  # text between cells moves in front of the table
            holders.pop()
        self.has_loose_text |= not holders

    def _close(self, tags: set[str], barriers: frozenset[str]) -> None:
        self._steps += len(self._open)
        if self._steps > _MAX_STEPS:
            raise TimeoutError("the text has too many elements inside each other to read it as HTML")
        for at in range(len(self._open) - 1, -1, -1):
            if self._open[at] in tags:
                del self._open[at:]
                return
            if self._open[at] in barriers:
                return


def is_html(text: str) -> bool:
    """Whether the text is elements of HTML and nothing outside them, or a page with a body."""
    trimmed = text.strip(SPACES)
    if not trimmed or len(trimmed) > _MAX_CHARACTERS or re.match(r"<\?xml", trimmed, re.IGNORECASE):
        return False
    # The standard library's parser reads the rest of the text again for each tag that is not closed.
    if sum(part.count("<") * len(part) for part in trimmed.split(">")) > _MAX_STEPS:
        raise TimeoutError("the text has too many tags without an end to read it as HTML")
    parser = _Html()
    parser.feed(trimmed)
    parser.close()
    if parser.has_loose_text and "body" not in parser.found:
        return False
    return any(tag in _ELEMENTS or "-" in tag for tag in parser.found)


_COMMON = (
    r"<(?:html|head|body|div|span|p|a|img|h[1-6]|ul|ol|li|table|tr|td|th|form|input|button|script|style|link|meta|br|hr)"
    r"(?![A-Za-z0-9_])"
)
_SIGNS = (
    (r"<!DOCTYPE[\s\ufeff]+html", 2, re.IGNORECASE),
    (r"&(?:[a-zA-Z]+|#[0-9]+|#x[0-9a-fA-F]+);", 1, 0),
    (r"<!--[^-]*(?:-[^-]+)*-->", 1, 0),
    (r"""[\s\ufeff][a-zA-Z-]+=[\s\ufeff]*["'][^"']*["']""", 1, 0),
    (_COMMON, 2, re.IGNORECASE),
)
_STARTED = re.compile(r"<[a-zA-Z][a-zA-Z0-9-]*(?:[\s\ufeff]|\Z)")
"""A tag before its end: its name is followed by a space, or by the end."""
_CLOSING = re.compile(r"</[a-zA-Z][a-zA-Z0-9-]*[\s\ufeff]*>")


def contains_html(text: str) -> bool:
    """Whether the text has at least two signs of HTML, such as a common tag."""
    if len(text) > _MAX_CHARACTERS:
        return False
    # One search for each end of a tag, not for each start: a text may have many starts without an end.
    before_ends = text.split(">")[:-1]
    is_opened = any(_STARTED.search(part) for part in before_ends)
    is_empty = any(part.endswith("/") and _STARTED.search(part[:-1]) for part in before_ends)
    signs = is_opened + (_CLOSING.search(text) is not None) + is_empty
    return signs + sum(points for pattern, points, flags in _SIGNS if re.search(pattern, text, flags)) >= 2


_NAME = re.compile(
    r"[:A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    r"\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff]"
    r"[:A-Z_a-z0-9.\u00b7\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u037d\u037f-\u1fff\u200c\u200d\u203f\u2040\u2070-\u218f"
    r"\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff-]*"
)
_REST_OF_TAG = re.compile(r"""(?:[^"'<>]|"[^"]*"|'[^']*')*>""")

Tag = tuple[str, str, int]
"""Kind (opening, closing, empty, other), name, position after it."""


def _tag(text: str, start: int) -> Tag | None:
    """The tag at a position; None if it is none."""
    following = text[start + 1 : start + 2]
    if following == "!":
        return "other", "", _end_of_declaration(text, start)
    if following == "?":
        return "other", "", _after(text, "?>", start + 2)
    is_closing = following == "/"
    name = _NAME.match(text, start + 1 + is_closing)
    rest = _REST_OF_TAG.match(text, name.end()) if name else None
    if name is None or rest is None:
        return None
    if is_closing:
        return "closing", name[0], rest.end()
    is_empty = text[start : rest.end() - 1].rstrip(SPACES).endswith("/")
    return "empty" if is_empty else "opening", name[0], rest.end()


def _after(text: str, mark: str, start: int) -> int:
    end = text.find(mark, start)
    return len(text) if end < 0 else end + len(mark)


def _end_of_declaration(text: str, start: int) -> int:
    if text.startswith("<!--", start):
        return _after(text, "-->", start + 4)
    if text.startswith("<![CDATA[", start):
        return _after(text, "]]>", start + 9)
    quote, depth = "", 0
    for at in range(start + 2, len(text)):
        sign = text[at]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign == "[":
            depth += 1
        elif sign == "]" and depth:
            depth -= 1
        elif sign == ">" and not depth:
            return at + 1
    return len(text)


Part = tuple[int, int, int | None]
"""Start and end of an element, and the start of the one around it."""


def _parts(text: str) -> list[Part]:
    """The elements in a text, found by their tags: those next to each other together, then each."""
    opened: list[tuple[str, int]] = []
    parts: list[Part] = []
    at = text.find("<")
    while at >= 0:
        tag = _tag(text, at)
        if tag is not None:
            kind, name, end = tag
            if kind == "opening":
                opened.append((name, at))
            elif kind == "empty":
                parts.append((at, end, opened[-1][1] if opened else None))
            elif kind == "closing" and opened and opened[-1][0] == name:
                start = opened.pop()[1]
                parts.append((start, end, opened[-1][1] if opened else None))
            elif kind == "closing":
                opened.clear()
        at = text.find("<", at + 1 if tag is None else tag[2])
    return _ordered(parts)


def _ordered(parts: list[Part]) -> list[Part]:
    starts = {start for start, _, _ in parts}
    outer = [part for part in parts if part[2] is None or part[2] not in starts]
    siblings: dict[int | None, list[Part]] = {}
    for part in outer:
        siblings.setdefault(part[2], []).append(part)
    together = [
        (min(start for start, _, _ in group), max(group)[1], parent)
        for parent, group in siblings.items()
        if len(group) > 1
    ]
    return list(dict.fromkeys([*together, *sorted(outer, key=lambda part: (part[0], -part[1]))]))


def _tree(text: str) -> object:
    """The elements as nested dicts, as fast-xml-parser makes them: lists for repeated ones, texts for those without others."""
    root: dict[str, object] = {}
    stack: list[tuple[str, dict[str, object]]] = [("", root)]
    at = 0
    while at < len(text):
        tag = _tag(text, at) if text[at] == "<" else None
        if tag is None:
            at += 1
            continue
        kind, name, end = tag
        if kind in {"opening", "empty"}:
            stack.append((name, {f"@_{key}": "" for key in _attributes(text[at:end], name)}))
        if kind in {"closing", "empty"} and len(stack) > 1:
            name, made = stack.pop()
            _put(stack[-1][1], name, made or "")
        at = end
    while len(stack) > 1:
        name, made = stack.pop()
        _put(stack[-1][1], name, made or "")
    return root


_ATTRIBUTE = re.compile(r"""([^\s=/>"']+)(?:\s*=\s*(?:"[^"]*"|'[^']*'))?""")


def _attributes(tag: str, name: str) -> list[str]:
    return _ATTRIBUTE.findall(tag[1 + len(name) : -1].rstrip("/"))


def _put(parent: dict[str, object], name: str, made: object) -> None:
    if name not in parent:
        parent[name] = made
    elif isinstance(before := parent[name], list):
        before.append(made)
    else:
        parent[name] = [before, made]


def _has_path(value: object, path: list[str]) -> bool:
    for key in path:
        if isinstance(value, list):
            if not (re.fullmatch("0|[1-9][0-9]*", key) and int(key) < len(value)):
                return False
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return False
    return True


def _has_all(text: str, required: Sequence[str]) -> bool:
    if not required:
        return True
    tree = _tree(text)
    return all(_has_path(tree, path.split(".")) for path in required)


def is_xml(text: str, required: Sequence[str] = ()) -> bool:
    """Whether the whole text is one XML document without an internal DTD, with these elements (`a.b` is b in a)."""
    parser = expat.ParserCreate("utf-8", " ")
    problems: list[str] = []

    def doctype(_name: str, _system: str | None, _public: str | None, has_subset: int) -> None:
        if has_subset:
            problems.append("internal DTD")

    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(text.encode("utf-8", "surrogatepass"), True)
    except (expat.ExpatError, ValueError):
        return False
    return not problems and _has_all(text, required)


def contains_xml(text: str, required: Sequence[str] = ()) -> bool:
    """Whether an element, or several next to each other, are in the text and have these elements."""
    return any(_has_all(text[start:end], required) for start, end, _ in _parts(text))
