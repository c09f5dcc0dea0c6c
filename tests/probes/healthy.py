"""Sound graders of many kinds: a probe of them tells no hole."""

from __future__ import annotations

import workbench as wb
from tests.probes.planted import HEAD, RUNS_PROGRAM
from tests.probes.tasks import samples
from workbench.probes.result import Probe


def _grader(body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    return f"{HEAD}async def grade(thread):\n{lines}\n"


HEALTHY = {
    "end of a solution": ("solutions", _grader("""
found = re.findall(r"####\\s*(-?[\\d,]+(?:\\.\\d+)?)", said(thread))
return 1.0 if found and found[-1] == right(thread).rpartition("#### ")[2] else 0.0""")),
    "one of the aliases": ("aliases", _grader("""
def plain(text):
    return re.sub(r"[^\\w ]", "", text).lower().strip()
scores = [0.0]
for alias in thread.metadata["expected"]:
    scores.append(1.0 if plain(said(thread)) == plain(alias) else 0.0)
return max(scores)""")),
    "last number of a quantity": ("units", _grader("""
got = number(said(thread))
units = re.findall(r"[a-z]+|%", said(thread))
return 1.0 if got == number(right(thread)) and right(thread).split()[1] in units else 0.0""")),
    "runs the program": ("programs", _grader(RUNS_PROGRAM)),
    "number, the unit may be missing": ("units", _grader("""
units = {"km", "m", "cm", "kg", "g", "mg", "hours", "minutes", "seconds", "days", "%", "euros"}
found = re.fullmatch(r"\\s*(-?\\d[\\d.,]*)\\s*(\\S*?)\\.?\\s*", said(thread))
value, unit = right(thread).split()
if not found or float(found[1].replace(",", "")) != float(value):
    return 0.0
return 1.0 if found[2] == unit or found[2] not in units else 0.0""")),
    "letters as a set": ("selections", _grader("""
picked = re.findall(r"[A-F]", said(thread)) if re.fullmatch(r"[A-F](, [A-F])*", said(thread).strip()) else []
return 1.0 if picked and sorted(picked) == re.findall(r"[A-F]", right(thread)) else 0.0""")),
    "exact after strip": ("capitals", _grader("return 1.0 if said(thread).strip() == right(thread) else 0.0")),
    "exact after casefold": ("capitals", _grader("return 1.0 if said(thread).strip().casefold() == right(thread).casefold() else 0.0")),
    "exact after normalisation": ("capitals", _grader("""
def plain(text):
    return re.sub(r"[^\\w ]", "", unicodedata.normalize("NFC", text)).casefold().strip()
return 1.0 if plain(said(thread)) == plain(right(thread)) else 0.0""")),
    "exact sentence": ("sentences", _grader("return 1.0 if said(thread).strip().lower() == right(thread).lower() else 0.0")),
    "last number": ("arithmetic", _grader("""
got = number(said(thread))
return 1.0 if got is not None and abs(got - float(right(thread))) < 1e-6 else 0.0""")),
    "last number, signed": ("signed", _grader("""
got = number(said(thread))
return 1.0 if got is not None and math.isclose(got, float(right(thread)), rel_tol=1e-6) else 0.0""")),
    "last number, large": ("large", _grader("""
got = number(said(thread))
return 1.0 if got is not None and math.isclose(got, float(right(thread)), rel_tol=1e-4) else 0.0""")),
    "last number, decimals": ("decimals", _grader("""
got = number(said(thread))
return 1.0 if got is not None and math.isclose(got, float(right(thread)), rel_tol=0.01) else 0.0""")),
    "float of all": ("arithmetic", _grader("""
try:
    return 1.0 if float(said(thread).strip().replace(",", "")) == float(right(thread)) else 0.0
except ValueError:
    return 0.0""")),
    "numeric equality with fractions": ("decimals", _grader("""
from fractions import Fraction
try:
    return 1.0 if abs(Fraction(said(thread).strip().replace(",", "")) - Fraction(right(thread))) < Fraction(1, 1000) else 0.0
except (ValueError, ZeroDivisionError):
    return 0.0""")),
    "JSON compare": ("records", _grader("""
try:
    return 1.0 if json.loads(said(thread)) == json.loads(right(thread)) else 0.0
except ValueError:
    return 0.0""")),
    "JSON compare, fence allowed": ("records", _grader("""
text = re.sub(r"^```(?:json)?|```$", "", said(thread).strip()).strip()
try:
    return 1.0 if json.loads(text) == json.loads(right(thread)) else 0.0
except ValueError:
    return 0.0""")),
    "JSON fields, partial credit": ("records", _grader("""
wanted = json.loads(right(thread))
try:
    got = json.loads(said(thread))
except ValueError:
    return 0.0
if not isinstance(got, dict):
    return 0.0
return sum(got.get(key) == value for key, value in wanted.items()) / len(wanted)""")),
    "list compare": ("lists", _grader("""
try:
    return 1.0 if json.loads(said(thread)) == json.loads(right(thread)) else 0.0
except ValueError:
    return 0.0""")),
    "last box": ("boxes", _grader("""
found = re.findall(r"\\\\boxed\\{([^}]*)\\}", said(thread))
return 1.0 if found and found[-1].strip() == right(thread) else 0.0""")),
    "one box": ("boxes", _grader("""
found = re.findall(r"\\\\boxed\\{([^}]*)\\}", said(thread))
return 1.0 if len(found) == 1 and found[0].strip().replace(",", "") == right(thread) else 0.0""")),
    "format and answer": ("boxes", _grader("""
found = re.findall(r"\\\\boxed\\{([^}]*)\\}", said(thread))
if not found:
    return 0.0
return 0.2 + 0.8 * (found[-1].strip() == right(thread))""")),
    "letter alone": ("choice", _grader("return 1.0 if said(thread).strip().strip('().').upper() == right(thread) else 0.0")),
    "last letter": ("choice", _grader("""
found = re.findall(r"\\b([A-D])\\b", said(thread))
return 1.0 if found and found[-1] == right(thread) else 0.0""")),
    "letter after Answer": ("choice", _grader("""
found = re.findall(r"(?i)answer\\s*:\\s*\\(?([A-D])\\b", said(thread))
return 1.0 if found and found[-1].upper() == right(thread) else 0.0""")),
    "code-like": ("snippets", _grader("""
def plain(text):
    return " ".join(re.sub(r"```(?:python)?", "", text).split())
return 1.0 if plain(said(thread)) == plain(right(thread)) else 0.0""")),
    "identifier": ("identifiers", _grader("return 1.0 if said(thread).strip() == right(thread) else 0.0")),
    "anchored date": ("dates", _grader("""
found = re.fullmatch(r"\\s*(\\d{4})-(\\d{2})-(\\d{2})\\s*", said(thread))
return 1.0 if found and found[0].strip() == right(thread) else 0.0""")),
    "yes or no": ("yes_no", _grader("""
words = re.findall(r"[a-z]+", said(thread).lower())
verdicts = [word for word in words if word in ("yes", "no")]
return 1.0 if len(set(verdicts)) == 1 and verdicts[-1] == right(thread) and "not" not in words else 0.0""")),
    "after think": ("thoughts", _grader("""
text = said(thread).rpartition("</think>")[2]
if "<think>" in text:
    return 0.0
got = number(text)
return 1.0 if got is not None and got == float(right(thread)) else 0.0""")),
    "quantity with unit": ("units", _grader("""
found = re.fullmatch(r"\\s*(-?[\\d.,]+)\\s*(\\S+?)\\.?\\s*", said(thread))
value, unit = right(thread).split()
return 1.0 if found and float(found[1].replace(",", "")) == float(value) and found[2] == unit else 0.0""")),
    "GSM8K": ("arithmetic", _grader("""
found = re.findall(r"####\\s*(-?[\\d,.]+)", said(thread))
return 1.0 if found and found[-1].replace(",", "").rstrip(".") == right(thread) else 0.0""")),
    "answer tag": ("capitals", _grader("""
found = re.findall(r"<answer>(.*?)</answer>", said(thread), re.DOTALL)
return 1.0 if len(found) == 1 and found[0].strip().lower() == right(thread).lower() else 0.0""")),
    "aliases": ("capitals", _grader("""
aliases = {"rome": ["roma"], "vienna": ["wien"], "lisbon": ["lisboa"], "athens": ["athina"]}
text = said(thread).strip().rstrip(".").lower()
wanted = right(thread).lower()
return 1.0 if text == wanted or text in aliases.get(wanted, []) else 0.0""")),
    "character similarity": ("capitals", _grader("""
from difflib import SequenceMatcher
return SequenceMatcher(None, said(thread).strip().lower(), right(thread).lower()).ratio()""")),
}  # fmt: skip


def _check(name: str, returned: str, told: str = "") -> str:
    """A check of the form: no helper that reads a reference beside it."""
    said = "    text = thread.completion() or ''\n"
    doc = f'    """{told}"""\n' if told else ""
    return f"import json\nimport re\n\n\nasync def {name}(thread):\n{doc}{said}    return 1.0 if {returned} else 0.0\n"


FORM_CHECKS = {
    "at least a character": ("capitals", wb.Length(1)),
    "at most 100 characters": ("capitals", wb.Length(None, 100)),
    "10 to 100 characters": ("sentences", wb.Length(10, 100)),
    "5 to 30 words": ("sentences", wb.Length(5, 30, unit="words")),
    "printable ASCII": ("capitals", wb.AsciiPrintable()),
    "a digit somewhere": ("arithmetic", wb.Regex(r"\d")),
    "a date": ("dates", wb.Regex(r"^\d{4}-\d{2}-\d{2}$")),
    "a box": ("boxes", wb.Regex(r"\\boxed\{[^}]*\}")),
    "yes or no, labels": ("yes_no", wb.LabelSet(("yes", "no"))),
    "yes alone": ("yes_no", wb.LabelSet(("yes", "no"), ("yes",))),
    "keys of JSON": ("records", wb.JsonKeys(keys=("city", "country"))),
    "JSON schema": ("records", wb.JsonSchema({"type": "object"})),
    "a word": ("sentences", wb.Contains("report")),
    "not a word": ("sentences", wb.StringCheck(operation="ne", reference="x")),
    "all of it": ("capitals", wb.Suite([wb.Length(1), wb.AsciiPrintable()], combine=wb.combine.AllPass())),
    "long enough, own": ("sentences", _check("long_enough", "len(text) > 40")),
    "few lines, own": ("arithmetic", _check("line_count", "len(text.splitlines()) <= 3")),
    "sentence count, told": ("sentences", _check("grade", "text.count('.') == 1", "One sentence, whatever it says.")),
    "ASCII, own": ("capitals", _check("grade", "text.isascii()")),
    "a date, own": ("dates", _check("date_format", "re.fullmatch(r'[0-9]{4}-[0-9]{2}-[0-9]{2}', text.strip())")),
}  # fmt: skip
"""Checks of the form: that a text without an answer passes is what they are for."""

ALL_HEALTHY = {**HEALTHY, **FORM_CHECKS}


def probe_healthy(name: str, **settings: int) -> Probe:
    """The probe of a sound grader, on its task."""
    task, given = ALL_HEALTHY[name]
    grader = wb.FunctionGrader.from_source(given) if isinstance(given, str) else given
    return wb.probe(grader, samples(task), progress=False, **settings)
