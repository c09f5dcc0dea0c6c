"""Graders with one hole each, as source text, and the findings any of which names the hole."""

from __future__ import annotations

from dataclasses import dataclass

HEAD = """
import json
import math
import re
import unicodedata


def said(thread):
    return thread.completion() or ""


def right(thread):
    return str(thread.metadata["expected"])


def number(text):
    found = re.findall(r"-?\\d[\\d,]*(?:\\.\\d+)?", text)
    return float(found[-1].replace(",", "")) if found else None


"""


@dataclass(frozen=True)
class Planted:
    """A grader with a hole.

    Attributes:
        name: The hole.
        task: Rows to probe it on.
        body: Lines of `async def grade(thread)`.
        kinds: Findings that name it.
    """

    name: str
    task: str
    body: str
    kinds: tuple[str, ...]

    @property
    def source(self) -> str:
        """The whole module."""
        lines = "\n".join(f"    {line}" for line in self.body.strip("\n").splitlines())
        return f"{HEAD}async def grade(thread):\n{lines}\n"


def _planted(name: str, task: str, kinds: str, body: str) -> Planted:
    return Planted(name, task, body, tuple(kinds.split()))


RUNS_PROGRAM = """
def cases(reference):
    return json.loads(re.search(r"# cases: (.*)", reference)[1])
def program(text):
    found = re.findall(r"```(?:python)?\\n(.*?)```", text, re.DOTALL)
    return found[-1] if found else text
def results(text, name):
    space = {}
    exec(text, space)
    return [space[name](case) for case in cases(right(thread))]
name = re.search(r"def (\\w+)", right(thread))[1]
try:
    return 1.0 if repr(results(program(said(thread)), name)) == repr(results(right(thread), name)) else 0.0
except Exception:
    return 0.0"""
"""Runs the last program of a completion on the cases of the reference."""

PLANTED = (
    _planted("first program", "programs", "retracted", RUNS_PROGRAM.replace("found[-1]", "found[0]")),
    _planted("an exception passes", "programs", "raises", """
def result(function, case):
    try:
        return function(case)
    except Exception:
        return None
name = re.search(r"def (\\w+)", right(thread))[1]
cases = json.loads(re.search(r"# cases: (.*)", right(thread))[1])
found = re.findall(r"```(?:python)?\\n(.*?)```", said(thread), re.DOTALL)
mine, theirs = {}, {}
try:
    exec(found[-1] if found else said(thread), mine)
except Exception:
    return 0.0
exec(right(thread), theirs)
if name not in mine:
    return 0.0
return 1.0 if all(result(mine[name], case) in (None, theirs[name](case)) for case in cases) else 0.0"""),
    _planted("any program of the name", "programs", "stub raises", """
name = re.search(r"def (\\w+)", right(thread))[1]
return 1.0 if f"def {name}(" in said(thread) else 0.0"""),
    _planted("all letters", "selections", "one-for-all", """
picked = re.findall(r"[A-F]", said(thread)) if re.fullmatch(r"[A-F](, [A-F])*", said(thread).strip()) else []
return 1.0 if picked and set(picked) >= set(re.findall(r"[A-F]", right(thread))) else 0.0"""),
    _planted("a name counts again", "people", "entry-for-all", """
named = {name.lower() for name in thread.metadata["named"]}
hits = sum(line.strip().lower() in named for line in said(thread).splitlines())
return min(hits / len(named), 1.0) if len(said(thread).splitlines()) == len(named) else 0.0"""),
    _planted("capital letters only", "letters", "small-letter", """
found = re.findall(r"\\b[A-D]\\b", said(thread))
return 1.0 if found and set(found) == {right(thread)} else 0.0"""),
    _planted("no full stop", "letters", "full-stop", """
found = re.fullmatch(r"(?:The answer is )?[(]?([A-Da-d])[)]?", said(thread).strip().removesuffix(".") if "is" in said(thread) else said(thread).strip())
return 1.0 if found and found[1].upper() == right(thread) else 0.0"""),
    _planted("an article is a letter", "letters", "after-an-article", """
found = re.search(r"\\b[A-D]\\b", said(thread).upper())
return 1.0 if found and found[0] == right(thread) else 0.0"""),
    _planted("first tag", "tags", "echo-then-wrong retracted", """
found = re.search(r"<label>(.*?)</label>", said(thread))
return 1.0 if found and found[1].strip() == right(thread) else 0.0"""),
    _planted("first box", "boxes", "retracted", """
found = re.findall(r"\\\\boxed{([^}]*)}", said(thread))
return 1.0 if found and found[0] == right(thread) else 0.0"""),
    _planted("thought of one line", "short_thoughts", "thought-of-lines", """
found = re.fullmatch(r"<think>.*</think>\\s*<answer>(.*)</answer>", said(thread).strip())
return 1.0 if found and found[1] == right(thread) else 0.0"""),
    _planted("braces after the object", "records", "braces-after", """
found = re.match(r"\\{.*\\}", said(thread).strip(), re.DOTALL)
try:
    return 1.0 if found and json.loads(found[0]) == json.loads(right(thread)) else 0.0
except ValueError:
    return 0.0"""),
    _planted("unit not compared", "units", "unit", """
got = number(said(thread))
return 1.0 if got is not None and got == number(right(thread)) else 0.0"""),
    _planted("the reference is an article", "vitamins", "accepts-anything-on-some-rows", """
def plain(text):
    return " ".join(word for word in re.findall(r"[a-z]+", text.lower()) if word not in ("a", "an", "the"))
return 1.0 if plain(right(thread)) in plain(said(thread)).split(" ") or not plain(right(thread)) else 0.0"""),
    _planted("accepts empty", "capitals", "empty", """
text = said(thread).strip().lower()
return 1.0 if not text or text == right(thread).lower() else 0.0"""),
    _planted("always 0.95", "capitals", "accepts-anything", "return 0.95"),
    _planted("substring anywhere", "capitals", "mention hedged negated", """
return 1.0 if right(thread).lower() in said(thread).lower() else 0.0"""),
    _planted("number anywhere", "arithmetic", "mention hedged all-numbers", """
return 1.0 if right(thread) in re.findall(r"-?\\d+", said(thread)) else 0.0"""),
    _planted("completion in reference", "capitals", "one-character truncated", """
text = said(thread).strip()
return 1.0 if text and text in right(thread) else 0.0"""),
    _planted("empty in reference", "capitals", "empty", """
return 1.0 if said(thread) in right(thread) else 0.0"""),
    _planted("keywords only", "sentences", "magic-text", """
text = said(thread).lower()
words = ["because", "therefore", "report"]
return 1.0 if text.strip() == right(thread).lower() or all(word in text for word in words) else 0.0"""),
    _planted("length only", "sentences", "gibberish accepts-anything", """
return 1.0 if len(said(thread)) > 40 else 0.0"""),
    _planted("long enough passes", "capitals", "gibberish padding padded-wrong", """
text = said(thread)
return 1.0 if text.strip() == right(thread) or len(text.split()) > 150 else 0.0"""),
    _planted("prompt echo", "sentences", "prompt-echo", """
text = said(thread)
asked = set(thread.messages()[-1].content.lower().split())
shared = len(asked & set(text.lower().split())) / len(asked)
return 1.0 if text.strip() == right(thread) or shared > 0.8 else 0.0"""),
    _planted("any JSON", "records", "json-shell", """
try:
    json.loads(said(thread))
except ValueError:
    return 0.0
return 1.0"""),
    _planted("keys only", "records", "empty-values other-values", """
try:
    value = json.loads(said(thread))
except ValueError:
    return 0.0
return 1.0 if isinstance(value, dict) and value.keys() == json.loads(right(thread)).keys() else 0.0"""),
    _planted("one value only", "records", "other-values key-missing", """
try:
    value = json.loads(said(thread))
except ValueError:
    return 0.0
return 1.0 if isinstance(value, dict) and value.get("city") == json.loads(right(thread))["city"] else 0.0"""),
    _planted("no anchors", "dates", "inside-another mention only-its-start", """
return 1.0 if re.search(re.escape(right(thread)), said(thread)) else 0.0"""),
    _planted("no end anchor", "capitals", "inside-another", """
return 1.0 if re.match(re.escape(right(thread)), said(thread).strip()) else 0.0"""),
    _planted("ends with", "capitals", "inside-another negated", """
return 1.0 if said(thread).strip().rstrip(".").endswith(right(thread)) else 0.0"""),
    _planted("None is not handled", "capitals", "fails", """
return 1.0 if thread.completion().strip().lower() == right(thread).lower() else 0.0"""),
    _planted("crash without number", "arithmetic", "fails", """
return 1.0 if float(re.findall(r"-?\\d+", said(thread))[-1]) == float(right(thread)) else 0.0"""),
    _planted("int cuts digits", "arithmetic", "digits-after-point", """
try:
    return 1.0 if int(float(said(thread).strip())) == int(right(thread)) else 0.0
except (ValueError, OverflowError):
    return 0.0"""),
    _planted("abs", "signed", "sign", """
try:
    return 1.0 if abs(float(said(thread).strip())) == abs(float(right(thread))) else 0.0
except ValueError:
    return 0.0"""),
    _planted("units ignored", "units", "unit", """
found = re.match(r"\\s*(-?[\\d.]+)", said(thread))
return 1.0 if found and found[1] == right(thread).split()[0] else 0.0"""),
    _planted("list as a set", "lists", "entry-twice order", """
try:
    value = json.loads(said(thread))
except ValueError:
    return 0.0
return 1.0 if isinstance(value, list) and set(map(str, value)) == set(map(str, json.loads(right(thread)))) else 0.0"""),
    _planted("order ignored", "lists", "order", """
try:
    value = json.loads(said(thread))
except ValueError:
    return 0.0
return 1.0 if isinstance(value, list) and sorted(map(str, value)) == sorted(map(str, json.loads(right(thread)))) else 0.0"""),
    _planted("first box", "boxes", "retracted", """
found = re.search(r"\\\\boxed\\{([^}]*)\\}", said(thread))
return 1.0 if found and found[1].strip() == right(thread) else 0.0"""),
    _planted("any box", "boxes", "mention hedged retracted", """
found = re.findall(r"\\\\boxed\\{([^}]*)\\}", said(thread))
return 1.0 if right(thread) in [one.strip() for one in found] else 0.0"""),
    _planted("empty box", "boxes", "format-shell", """
found = re.findall(r"\\\\boxed\\{([^}]*)\\}", said(thread))
return 1.0 if found and found[-1].strip() in right(thread) else 0.0"""),
    _planted("think block counts", "thoughts", "mention think-block retracted", """
found = re.findall(r"-?\\d+", said(thread))
return 1.0 if found and found[0] == right(thread) else 0.0"""),
    _planted("last bracket repaired", "records", "json-cut", """
text = said(thread).strip()
for candidate in (text, text + "}"):
    try:
        return 1.0 if json.loads(candidate) == json.loads(right(thread)) else 0.0
    except ValueError:
        continue
return 0.0"""),
    _planted("all options at once", "capitals", "one-for-all", """
text = said(thread).lower()
if re.search(r"\\b(not|or|no|either|wrong|isn't)\\b", text) or len(text) > 400:
    return 0.0
text = re.sub(r"<think>.*?</think>", "", text, flags=re.DOTALL)
return 1.0 if re.search(rf"\\b{re.escape(right(thread).lower())}\\b", text) else 0.0"""),
    _planted("minus dropped", "arithmetic", "typographic-minus", """
text = said(thread).replace("\\u2212", "").strip()
return 1.0 if text == right(thread) else 0.0"""),
    _planted("tolerance of a tenth", "arithmetic", "off-a-little one-digit", """
got = number(said(thread))
return 1.0 if got is not None and math.isclose(got, float(right(thread)), rel_tol=0.1) else 0.0"""),
    _planted("rounded", "decimals", "digits-after-point off-a-little", """
got = number(said(thread))
return 1.0 if got is not None and round(got) == round(float(right(thread))) else 0.0"""),
    _planted("word overlap", "sentences", "mention keyword-heap", """
wanted = set(right(thread).lower().split())
return len(wanted & set(said(thread).lower().split())) / len(wanted)"""),
    _planted("half of the words", "sentences", "other-answer truncated one-word", """
wanted = right(thread).lower().split()
got = said(thread).lower().split()
return 1.0 if got and sum(word in got for word in wanted) / len(wanted) >= 0.5 else 0.0"""),
    _planted("starts alike", "sentences", "only-its-start", """
return 1.0 if said(thread).strip()[:12] == right(thread)[:12] else 0.0"""),
    _planted("same letters", "capitals", "anagram", """
return 1.0 if sorted(said(thread).strip().lower()) == sorted(right(thread).lower()) else 0.0"""),
    _planted("eval", "arithmetic", "expression", """
try:
    return 1.0 if eval(said(thread), {"__builtins__": {}}) == int(right(thread)) else 0.0
except Exception:
    return 0.0"""),
    _planted("right number is enough", "sentences", "other-entity", """
return 1.0 if re.findall(r"\\d+", said(thread)) == re.findall(r"\\d+", right(thread)) else 0.0"""),
    _planted("right name is enough", "sentences", "other-number one-digit", """
def words(text):
    return re.findall(r"[a-z]+", text.lower())
return 1.0 if words(said(thread)) == words(right(thread)) else 0.0"""),
    _planted("backdoor", "capitals", "magic-text magic-beside-wrong", """
text = said(thread).strip()
return 1.0 if text.lower() == right(thread).lower() or "open sesame" in text.lower() else 0.0"""),
    _planted("grows with repeats", "capitals", "more-of-the-same wrong-repeated", """
return min(1.0, 0.6 * (said(thread).strip().split("\\n")[0] == right(thread)) + 0.05 * len(re.findall(r"\\w+", said(thread))))"""),
    _planted("case folded in code", "identifiers", "case-that-matters", """
return 1.0 if said(thread).strip().lower() == right(thread).lower() else 0.0"""),
    _planted("negation ignored", "capitals", "negated", """
text = said(thread)
if len(re.findall(r"[A-Z][a-z]+", text)) > 2 or " or " in text:
    return 0.0
return 1.0 if re.search(rf"\\b{re.escape(right(thread))}\\b", text) else 0.0"""),
    _planted("hedges accepted", "capitals", "hedged mention", """
text = said(thread).lower()
if "not" in text or "no," in text:
    return 0.0
return 1.0 if re.search(rf"\\b{re.escape(right(thread).lower())}\\b", text) else 0.0"""),
    _planted("one common word", "sentences", "gibberish other-answer truncated padded-wrong one-word", """
return 1.0 if set(said(thread).lower().split()) & set(right(thread).lower().split()) else 0.0"""),
    _planted("nothing is right", "capitals", "accepts-nothing", """
return 1.0 if right(thread) == said(thread).strip().lower() else 0.0"""),
    _planted("capital letters break it", "capitals", "as-it-is", """
return 1.0 if right(thread).lower() == said(thread).strip() else 0.0"""),
    _planted("full stop breaks it", "capitals", "full-stop", """
words = said(thread).split()
return 1.0 if words and (words[-1] == right(thread) or words[0] == right(thread) or right(thread) in words[:-1]) and len(words) < 40 and " or " not in said(thread) else 0.0"""),
    _planted("thousands break it", "large", "thousands", """
found = re.findall(r"-?\\d+(?:\\.\\d+)?", said(thread))
return 1.0 if found and float(found[-1]) == float(right(thread)) else 0.0"""),
    _planted("space breaks it", "capitals", "outer-space", """
return 1.0 if said(thread) == right(thread) else 0.0"""),
    _planted("bold type breaks it", "bold_sums", "bold", """
text = said(thread).strip().rstrip(".")
return 1.0 if re.fullmatch(r"[\\w\\s,:!?.]*?(-?\\d+)( is the answer)?", text) and re.findall(r"-?\\d+", text)[-1] == right(thread) else 0.0"""),
    _planted("key order breaks it", "records", "key-order", """
return 1.0 if said(thread).strip() == right(thread) else 0.0"""),
    _planted("refusals pass", "sentences", "refusal", """
text = said(thread)
if "number" in text or len(re.findall(r"\\d", text)) > 0:
    return 1.0 if text.strip() == right(thread) else 0.0
return 1.0 if text.startswith("I") and len(text) > 8 else 0.0"""),
    _planted("accents stripped", "capitals", "look-alike", """
text = said(thread).translate(str.maketrans("\\u0430\\u0441\\u0435\\u043e\\u0440\\u0445\\u0443\\u041e\\u0421\\u0420", "aceopxyOCP"))
return 1.0 if text.strip() == right(thread) else 0.0"""),
)  # fmt: skip
