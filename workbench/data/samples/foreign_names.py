"""Names of columns in other languages: the English names of prompts, completions, references and scores that they mean."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

import pandas as pd

from workbench.core.errors import SamplesError
from workbench.data.samples.columns import recognise
from workbench.data.samples.old_grades import are_numbers
from workbench.data.samples.proposals import Peek

_QUESTION, _ANSWER, _MODEL, _EXPECTED, _SCORE = "question", "answer", "model", "expected", "score"
_OF = ""
"""The meaning of articles and prepositions, which is ignored."""

_WORDS: Mapping[str, tuple[str, ...]] = {
    _QUESTION: (
        "frage", "eingabe", "anfrage", "aufgabe", "pregunta", "consulta", "entrada", "pergunta", "domanda", "richiesta", "questione", "vraag",
        "requete", "consigne", "invite", "pytanie", "zapytanie", "вопрос", "запрос", "задание", "промпт", "soru", "питання",
        "fraga", "sporgsmal", "sporsmal", "kysymys", "otazka", "dotaz", "السؤال", "سؤال", "ερωτηση", "запитання", "въпрос", "پرسش", "سوال", "שאלה", "השאלה", "pertanyaan", "intrebare", "kerdes", "问题", "提示词", "提示", "输入", "指令", "問題", "質問", "入力", "指示", "질문", "입력",
    ),
    _ANSWER: (
        "antwort", "ausgabe", "respuesta", "salida", "resposta", "saida", "risposta", "antwoord", "reponse", "sortie", "odpowiedz",
        "svar", "vastaus", "odpoved", "απαντηση", "отговор", "پاسخ", "جواب", "תשובה", "תשובת", "jawaban", "raspuns", "raspunsul", "valasz", "valasza", "الإجابة", "إجابة", "الجواب", "ответ", "вывод", "cevap", "cevabi", "yaniti", "yanit", "відповідь", "回答", "答案", "输出", "回复", "出力", "応答", "답변", "응답", "출력",
    ),
    _MODEL: (
        "model", "ai", "bot", "chatbot", "gpt", "llm", "النموذج", "μοντελου", "моделі", "модела", "mallin", "مدل", "μοντελο", "המודל", "מודל", "modelului", "modell", "modells", "modellens",  "modelo", "modele", "modello", "modelu", "модели", "модель", "нейросети", "generada", "generado", "generee", "generata",
        "generiert", "generierte", "gerada", "模型", "生成", "モデル", "모델", "ki", "ia",
    ),
    _EXPECTED: (
        "facit", "reference", "spravna", "prawidlowa", "oikea", "rigtigt", "правильна", "правилен", "صحیح", "درست", "σωστη", "αναμενομενη", "נכונה", "צפויה", "benar", "diharapkan", "corect", "asteptat", "helyes", "elvart", "erwartet", "erwartete", "richtige", "korrekte", "referenz", "musterantwort", "musterlosung", "esperada", "esperado", "correcta", "correcto", "referencia",
        "correta", "attendue", "attendu", "correcte", "attesa", "corretta", "forventet", "forvantat", "ocekavana", "odotettu", "الصحيحة", "المتوقعة", "المرجعية", "verwacht", "verwachte", "juiste", "oczekiwana", "poprawna",
        "ожидаемый", "правильный", "эталонный", "эталон", "beklenen", "dogru", "очікувана", "参考", "标准", "正确", "期望", "期待", "正解", "模範",
        "정답", "기대", "예상",
    ),
    _SCORE: (
        "poang", "βαθμολογια", "ציון", "nilai", "skor", "scor", "pontszam", "bewertung", "punkte", "punktzahl", "puntuacion", "puntaje", "calificacion", "pontuacao", "nota", "punteggio", "voto", "beoordeling",
        "note", "ocena", "wynik", "оценка", "балл", "puan", "得分", "评分", "分数", "スコア", "評価", "점수", "평가",
    ),
    _OF: (
        "kunden", "nutzer", "benutzer", "der", "die", "das", "des", "vom", "von", "el", "la", "lo", "del", "de", "da", "do", "du", "le", "il", "di", "della", "van", "het", "の",
        "的", "의",
    ),
}  # fmt: skip


def _bare(word: str) -> str:
    """A text in lower case without accents, in composed characters."""
    apart = unicodedata.normalize("NFKD", word.casefold())
    bare = "".join(one for one in apart if not unicodedata.combining(one))
    return unicodedata.normalize("NFKC", bare.replace("ł", "l").replace("\u0131", "i"))


_MEANINGS = {_bare(word): meaning for meaning, words in _WORDS.items() for word in words}
_MAX_WORDS = 4
"""Maximum terms of a name; longer ones are questions of a form."""

_NAMES: Mapping[frozenset[str], str] = {
    frozenset({_QUESTION}): "question",
    frozenset({_ANSWER}): "answer",
    frozenset({_MODEL, _ANSWER}): "model_answer",
    frozenset({_EXPECTED, _ANSWER}): "expected_answer",
    frozenset({_EXPECTED}): "expected_answer",
    frozenset({_SCORE}): "score",
}
"""English name of a column by the meanings of its words."""


_AMBIGUOUS = (["referenz"], ["referencia"], ["reference"])
"""Names that alone are often another thing: the number of a ticket, or a link."""


def english_name(name: str) -> str:
    """The English name of a column in another language; "" for any other name.

    >>> english_name("Antwort des Modells"), english_name("参考答案"), english_name("Anmerkung")
    ('model_answer', 'expected_answer', '')
    """
    words = [part for word in re.findall(r"[^\W\d_]+", _bare(name)) for part in _parts(word)]
    meanings = [_MEANINGS.get(word) for word in words]
    if not words or len(words) > _MAX_WORDS or None in meanings or words in _AMBIGUOUS:
        return ""
    return _NAMES.get(frozenset(filter(None, meanings)), "")


def _parts(word: str) -> list[str]:
    """The terms in a text without blanks, as in Chinese, or in Swedish `modellsvar`; the text itself if they do not cover it."""
    return [word] if word in _MEANINGS else (_terms_in(word) if len(word) <= _MAX_NAME else []) or [word]


def _terms_in(word: str) -> list[str]:
    """The terms that cover a text, the longest first; none if they do not."""
    fitting = [
        term for term in _MEANINGS if word.startswith(term) and not (term.isascii() and len(term) < _MIN_TERM)
    ]
    for term in sorted(fitting, key=len, reverse=True):
        rest = word[len(term) :]
        if not rest:
            return [term]
        if found := _terms_in(rest):
            return [term, *found]
    return []


_MAX_NAME = 40
"""Maximum characters of a name that are searched for terms."""
_MIN_TERM = 4
"""Minimum Latin letters of a term inside another one."""


def with_english_names(
    frame: pd.DataFrame, names: Sequence[str], peek: Peek
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The rows with English names for the prompt, the completion, the reference and scores, and a note; unchanged if they lack none of these, or if no column has completions.

    Args:
        frame: The rows.
        names: The names of its columns, as text.
        peek: Returns a column's first cells.
    """
    renamed = {
        name: english
        for name in names
        if (english := english_name(name)) and english not in names
        if english != "score" or are_numbers(peek(name))  # "note" may be a remark
    }
    if not renamed or len(set(renamed.values())) < len(renamed):
        return frame, ()
    before, after = (
        _roles(names, peek),
        _roles([renamed.get(name, name) for name in names], lambda name: peek(_key_of(renamed, name))),
    )
    if "completion" not in after or not {"prompt", "completion", "reference"} & (after - before):
        return frame, ()
    listed = ", ".join(f"{name!r} as {english!r}" for name, english in renamed.items())
    return frame.rename(columns=renamed), (f"names of columns in another language: read {listed}",)


def _key_of(renamed: Mapping[str, str], english: str) -> str:
    return next((name for name, own in renamed.items() if own == english), english)


def _roles(names: Sequence[str], peek: Peek) -> set[str]:
    try:
        return set(recognise(names, peek=peek))
    except SamplesError:
        return set()
