"""Multiple choice: options in a prompt, and the option that a text chooses. Standard library only."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from workbench.graders.rules.numbers import after_thinking, boxed
from workbench.graders.rules.text import Verdict

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOOKALIKES = str.maketrans(
    "\u0410\u0412\u0421\u0415\u041d\u0406\u0408\u041a\u041c\u041e\u0420\u0422\u0425\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7\u0430\u0435\u0441\u043e\u0440",
    "ABCEHIJKMOPTXABEHIKMNOPTXaecop",
)
"""Cyrillic and Greek letters that look like Latin ones."""
_MAX_TEXT = 50_000
"""Characters read from the end of a text."""
_MARKS = r"[\s*_`\"'\u201c\u2018({\[$<]"
_CLOSE = r"[\s*_`\"'\u201d\u2019)}\]$>]"
_LABEL = (
    r"(?:answers?|choices?|options?|selection|antwort|respuesta|r\u00e9ponse|risposta|resposta|\u7b54\u6848|\u7b54\u3048|\u043e\u0442\u0432\u0435\u0442)"
    r"(?:\s+(?:letter|option|choice))?[*_]*"
    r"(?:\s+(?:is|are|would be|must be|should be|has to be|seems? to be|appears? to be|ist|es|est)|\u662f|\u4e3a|\u306f)?\s*[*_]*\s*[:\uff1a=]?"
    r"|(?:\bpick|\bchoose|\bselect|\bgo with|\bopt for|\btherefore|\bthus|\bhence|\bso)[,:]?(?:\s+(?:it is|it's|the))?"
)
_LETTER = rf"(?:\s+(?:option|choice|letter))?(?:{_MARKS}|\\(?:text|mathrm|textbf|boxed|mathbf))*([A-Za-z])(?![\w'\u2019])"
_LABELLED = re.compile(rf"(?:{_LABEL}){_LETTER}", re.IGNORECASE)
_CORRECT = re.compile(
    r"(?<![\w'\u2019])([A-Z])[)*_.]*\s+(?:is|are)\s+(?:the\s+)?(?:only\s+)?(?:correct|right|true|best|answer)\b"
)
_STRONG = re.compile(r"(?:(?<=[*_`\"'(\[{])|\boption\s+|\bchoice\s+|(?<![\w'\u2019]))([A-Z])(?![\w'\u2019])")
_ALONE = re.compile(
    rf"{_MARKS}*(?:option|choice)?\s*{_MARKS}*([A-Za-z])(?:{_CLOSE}*\Z|{_CLOSE}*[.):,;\-\u2013\u2014]+(?=\s|\Z|[*_])|{_CLOSE}*\n|{_CLOSE}*\s+(?:because|since)\b)",
    re.IGNORECASE,
)
_NOT_BEFORE = re.compile(
    r"(?:\bnot|n't|n\u2019t|\bnever|\bnor|\bneither|\brather than|\binstead of|\beliminate[sd]?|\bexclud\w+|\brules? out|\breject\w*|\bexcept|\bunlike)"
    r"(?:\s+(?:be|the|option|choice|answer|letter|it|is|a|to|choose|pick|equal|really|definitely))*[\s*_`\"'(\[:]*\Z",
    re.IGNORECASE,
)
_NOT_AFTER = re.compile(
    r"[\s*_`\"')\]:.]*\s*(?:is|are|was|would be|seems|looks|can be)?\s*(?:definitely |clearly |obviously |also )?"
    r"(?:n't|n\u2019t|not|wrong|incorrect|false|ruled out|eliminated|excluded|a (?:common )?distractor|a trap|implausible|impossible)\b",
    re.IGNORECASE,
)
_AFTER_ARTICLE = re.compile(
    r"[*_`\"')\]]*(?:\s*(?:[.,;:!?)\]}\n*]|\Z|[-\u2013\u2014])|\s+(?:because|as|since|for|and|or|but|which|due|given|is|was|seems|with|option|choice)\b)"
)
_ALSO = re.compile(
    rf"{_CLOSE}*(?:\s*(?P<link>,\s*(?:and|or)|and|or|/|,|&|\+|;)\s*|\s+)(?:(?:also|maybe|possibly|perhaps)\s+)?(?:option\s+|choice\s+)?{_MARKS}*([A-Z])(?![\w'\u2019])"
)


class Choices(NamedTuple):
    """What a text chooses: letters, how it was read, and whether they are alternatives (A or B)."""

    letters: tuple[str, ...]
    read: str
    alternatives: bool = False


def user_texts(thread: Any) -> list[str]:
    """The texts of the user's turns, newest first."""
    return [str(content or "") for role, content in reversed(list(thread.get_turns())) if role == "user"]


def options_in(texts: Sequence[str]) -> tuple[str, ...]:
    """The options A, B, ... of the newest text that lists at least two, in order; empty if none does."""
    for text in texts:
        for pattern in (_LINE_OPTION, _INLINE_OPTION):
            found = [(match[1].upper(), match[2].strip(" \t,;")) for match in pattern.finditer(text)]
            runs = [at for at, (letter, _) in enumerate(found) if letter == "A"]
            run = [option for letter, option in _in_order(found[runs[-1] :])] if runs else []
            if len(run) > 1:
                return tuple(run)
    return ()


_LINE_OPTION = re.compile(
    r"^[ \t]*[-*]?[ \t]*[\[(*]*([A-Za-z])[*]*[).:\]][*]*[ \t]+(\S[^\n]*?)[ \t]*$", re.MULTILINE
)
_INLINE_OPTION = re.compile(
    r"(?<![\w'])\(?([A-Z])[).:][ \t]*(\S[^\n]*?)(?=[ \t,;]*(?<![\w'])\(?[A-Z][).:][ \t]*\S|[ \t]*$)",
    re.MULTILINE,
)


def _in_order(found: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for at, (letter, option) in enumerate(found):
        if at >= len(_ALPHABET) or letter != _ALPHABET[at]:
            return
        yield letter, option


def as_options(value: Any) -> tuple[str, ...]:
    """A column's options: a list of texts, a dict of letters, or one of lists (`{"text": [...], "label": [...]}`)."""
    if isinstance(value, Mapping):
        inner = value.get("text", value.get("choices"))
        value = inner if isinstance(inner, list | tuple) else [value[key] for key in sorted(value)]
    if isinstance(value, str) or not isinstance(value, list | tuple):
        return ()
    return tuple(str(option) for option in value)


def choice(
    text: str,
    expected: str,
    *,
    options: Sequence[str] = (),
    several: bool = False,
    index: bool = False,
    texts: bool = True,
) -> Verdict:
    """Whether a text chooses the expected option.

    Args:
        text: The completion.
        expected: A letter, an option's text, several letters if `several`, or an index from 0 if `index`.
        options: The options' texts, in the order of their letters; empty if unknown.
        several: Whether all of several options must be chosen, and no others.
        index: Whether the expected one is an index.
        texts: Whether an option's text is read as its letter.

    Raises:
        ValueError: The expected option is not one of the options.
    """
    letters = _ALPHABET[: len(options)] if options else _ALPHABET
    wanted = _expected(expected, letters, options, several, index)
    found = chosen(text, options if texts else [""] * len(options), several)
    names = ", ".join(found.letters) or "none"
    details: dict[str, Any] = {
        "choice": list(found.letters) if several else (found.letters or (None,))[0],
        "read": found.read,
    }
    if not found.letters:
        return 0.0, "No option is chosen", {**details, "failure": "missing"}
    if found.alternatives or (len(set(found.letters)) > 1 and not several):
        return (
            0.0,
            f"Several options: {names}",
            {**details, "choice": list(found.letters), "failure": "ambiguous"},
        )
    passed = set(found.letters) == set(wanted)
    return (1.0 if passed else 0.0), f"Chose {names} ({found.read}), expected {', '.join(wanted)}", details


def _expected(
    expected: str, letters: str, options: Sequence[str], several: bool, index: bool
) -> tuple[str, ...]:
    text = expected.strip()
    if index:
        numbers = re.findall(r"\d+", text)
        if (
            not numbers
            or re.sub(r"[\s\d,\[\]]", "", text)
            or any(int(number) >= len(letters) for number in numbers)
        ):
            raise ValueError(f"the reference {text[:60]!r} is not an index from 0 to {len(letters) - 1}")
        return tuple(sorted({letters[int(number)] for number in numbers}))
    folded = {_folded(option): letters[at] for at, option in enumerate(options)}
    if _folded(text) in folded:
        return (folded[_folded(text)],)
    names = [name for name in re.split(r"[\s,;/&+()\[\]\"'.]+|\band\b", text) if name]
    if several and len(names) == 1 and names[0].isupper():
        names = list(names[0])
    if (
        names
        and all(len(name) == 1 and name.upper().translate(_LOOKALIKES) in letters for name in names)
        and (several or len(names) == 1)
    ):
        return tuple(sorted({name.upper().translate(_LOOKALIKES) for name in names}))
    parts = [_folded(part) for part in re.split(r"\s*[,;]\s*", text.strip("[]"))]
    if several and folded and all(part.strip("\"'") in folded for part in parts):
        return tuple(sorted({folded[part.strip("\"'")] for part in parts}))
    lead = _ALONE.match(text)
    if lead and lead[1].upper() in letters:
        return (lead[1].upper(),)
    raise ValueError(f"the reference {text[:60]!r} is not one of the options {', '.join(letters)}")


def _folded(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold().strip()
    return re.sub(r"\s+", " ", text).strip(" .*_`\"'")


def chosen(text: str, options: Sequence[str] = (), several: bool = False) -> Choices:
    """The options that a text chooses, and how they are stated: boxed, labelled, alone, text, or mentioned."""
    letters = _ALPHABET[: len(options)] if options else _ALPHABET
    text = re.sub(r"</?(?:final_)?(?:answer|choice|option)>", " ", after_thinking(text)[-_MAX_TEXT:])
    text = _latin(text).strip()
    if boxes := [_from_box(box, letters, options, several) for box in boxed(text)]:
        stated = [box for box in boxes if box.letters]
        if stated:
            names = tuple(dict.fromkeys(letter for box in stated for letter in box.letters))
            return Choices(
                names, "boxed", any(box.alternatives for box in stated) or (several and len(stated) > 1)
            )
    whole = _of_text(text, letters, options)
    if whole:
        return Choices((whole,), "text")
    if (listed := _last_lines(text, letters, several)) is not None:
        return listed
    for read, pattern in (("labelled", _LABELLED), ("labelled", _CORRECT), ("alone", _ALONE)):
        matches = [pattern.match(text)] if read == "alone" else list(pattern.finditer(text))
        good = [match for match in matches if match and _is_choice(text, match, letters)]
        if good:
            found, end = _with_more(text, good[-1], letters, options, read)
            # A list of letters that continues with something else is another list.
            is_cut = several and re.match(r"\s*,\s*(?!but|not|because|since|as\b)\w", text[end:]) is not None
            return found._replace(alternatives=found.alternatives or is_cut)
    return _mentioned(text, letters, options)


def _last_lines(text: str, letters: str, several: bool) -> Choices | None:
    """The letters of the last lines, if these contain nothing else; one line is one list, or one entry each."""
    found: list[str] = []
    for line in reversed(text.splitlines()):
        first = re.match(rf"{_MARKS}*([A-Za-z])(?![\w'\u2019])", line)
        joined = re.fullmatch(rf"{_MARKS}*([A-Z]+){_CLOSE}*[.]?{_CLOSE}*", line) if several else None
        if joined and set(joined[1]) <= set(letters):
            names, end, alternatives = tuple(joined[1]), len(line), False
        elif first and first[1].upper() in letters:
            (names, _, alternatives), end = _with_more(line, first, letters, (), "alone")
        elif re.search(r"\w", line):
            break
        else:
            continue
        if re.search(r"\w", line[end:]):
            break
        found[:0] = names
        if alternatives:
            return Choices(names, "alone", alternatives=True)
    return Choices(tuple(dict.fromkeys(found)), "alone") if found else None


def _latin(text: str) -> str:
    """Full-width and look-alike letters outside words as Latin ones."""
    text = re.sub(
        r"[\uff21-\uff3a\uff41-\uff5a\u24b6-\u24e9]", lambda one: unicodedata.normalize("NFKC", one[0]), text
    )
    return re.sub(r"(?<!\w)[\u0370-\u04ff](?!\w)", lambda one: one[0].translate(_LOOKALIKES), text)


def _from_box(box: str, letters: str, options: Sequence[str], several: bool) -> Choices:
    inner = re.sub(r"\\(?:text|mathrm|textbf|mathbf)|[{}$]", " ", box).strip()
    if len(inner) == 1 and inner.upper() in letters:
        return Choices((inner.upper(),), "boxed")
    if option := _of_text(inner, letters, options):
        return Choices((option,), "boxed")
    # In an expression such as \langle H \rangle letters are not options.
    return chosen(inner, options, several) if "\\" not in inner else Choices((), "boxed")


def _of_text(text: str, letters: str, options: Sequence[str]) -> str:
    """The option whose text is the whole text, or its beginning before a comma or a full stop."""
    whole = _folded(text)
    folded = {_folded(option): letters[at] for at, option in enumerate(options) if _folded(option)}
    if len(whole) == 1 and whole.upper() in letters and whole not in folded:
        return whole.upper()
    lead = _folded(re.split(r"[,.;:!\n]", text, maxsplit=1)[0])
    return folded.get(whole) or (folded.get(lead, "") if len(lead) > 1 else "")


def _is_choice(text: str, match: re.Match[str], letters: str) -> bool:
    """Whether a letter is an option: not negated, not an article or a pronoun."""
    letter, start, end = match[1], match.start(1), match.end(1)
    if letter.upper() not in letters or _is_negated(text, start, end):
        return False
    if letter in "AIaio" or letter.islower():
        return _AFTER_ARTICLE.match(text, end) is not None
    return True


def _is_negated(text: str, start: int, end: int) -> bool:
    return (
        _NOT_BEFORE.search(text, max(0, start - 60), start) is not None
        or _NOT_AFTER.match(text, end) is not None
    )


def _with_more(
    text: str, match: re.Match[str], letters: str, options: Sequence[str], read: str
) -> tuple[Choices, int]:
    """The letter of a match, and those joined to it: B and C, A or B; the text of another option contradicts it. And where they end."""
    names, end, alternatives = [match[1].upper()], match.end(1), False
    while (more := _ALSO.match(text, end)) and more[2] in letters:
        # "B, A is wrong", "B and I think so" name no second option.
        if _is_negated(text, more.start(2), more.end(2)) or not (
            more[2] not in "AI" or _AFTER_ARTICLE.match(text, more.end(2))
        ):
            break
        names.append(more[2])
        alternatives = alternatives or (more["link"] or "").strip(" ,") in {"or", "/"}
        end = more.end(2)
    if len(set(names)) == 1 and options:
        following = re.match(rf"{_CLOSE}*[.):\-\u2013\u2014]*{_CLOSE}*([^\n]*)", text[end:])
        other = _of_text(following[1], letters, options) if following and len(following[1]) > 1 else ""
        if other and other != names[0]:
            names.append(other)
    return Choices(tuple(dict.fromkeys(names)), read, alternatives and len(set(names)) > 1), end


def _mentioned(text: str, letters: str, options: Sequence[str]) -> Choices:
    """The only option that the text names by its text, else the letters of the last line that has some."""
    spans = [(one.start(), one.end(), letters[at]) for at, option in enumerate(options) if len(option.strip()) > 1
             for one in re.finditer(rf"(?<!\w){re.escape(option.strip())}(?!\w)", text, re.IGNORECASE)]  # fmt: skip
    outer = [
        one
        for one in spans
        if not any(other[0] <= one[0] and one[1] <= other[1] and other[:2] != one[:2] for other in spans)
    ]
    named = tuple(dict.fromkeys(letter for start, end, letter in outer if not _is_negated(text, start, end)))
    for line in reversed(text.splitlines()):
        found = [
            match
            for match in _STRONG.finditer(line)
            if _is_choice(line, match, letters) and _is_marked(line, match)
        ]
        if found:
            return Choices(tuple(dict.fromkeys([*(match[1] for match in found), *named])), "mentioned")
    return Choices(named, "text")


def _is_marked(line: str, match: re.Match[str]) -> bool:
    """Whether a letter is in brackets, in bold, named as an option, or at the end of its sentence."""
    before, after = line[: match.start(1)], line[match.end(1) :]
    is_named = re.search(r"(?:option|choice|[*_`\"'(\[{])\s*\Z", before, re.IGNORECASE) is not None
    return is_named or re.match(r"[).:\]]*\s*\Z|[)\]:]|[.,!?]", after) is not None
