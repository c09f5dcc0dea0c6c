"""The grader of a text's language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.probes.tasks import samples
from workbench.core.errors import FormatError
from workbench.graders.rules.measures import LANGUAGES, detected

TEXTS = {
    "en": "The weather is nice today and we will go to the park with our friends.",
    "de": "Das Wetter ist heute schön und wir gehen mit unseren Freunden in den Park.",
    "fr": "Il fait beau aujourd'hui et nous allons au parc avec nos amis.",
    "es": "Hoy hace buen tiempo y vamos al parque con nuestros amigos.",
    "it": "Oggi il tempo è bello e andiamo al parco con i nostri amici.",
    "pt": "Hoje o tempo está bom e vamos ao parque com os nossos amigos.",
    "nl": "Het weer is vandaag mooi en we gaan met onze vrienden naar het park.",
    "sv": "Vädret är fint idag och vi går till parken med våra vänner.",
    "da": "Vejret er dejligt i dag, og vi går i parken med vores venner.",
    "pl": "Pogoda jest dzisiaj ładna i idziemy do parku z przyjaciółmi.",
    "cs": "Počasí je dnes pěkné a my jdeme do parku s přáteli.",
    "tr": "Bugün hava çok güzel ve arkadaşlarımızla bir parka gidiyoruz.",
    "ro": "Vremea este frumoasă astăzi și mergem în parc cu prietenii.",
    "hu": "Az idő ma szép és a barátainkkal egy parkba megyünk.",
    "fi": "Sää on tänään kaunis ja me menemme puistoon, kun se on auki.",
    "id": "Cuaca hari ini bagus dan kita akan pergi ke taman dengan teman.",
    "vi": "Hôm nay thời tiết đẹp và chúng tôi đến công viên với những người bạn.",
    "ru": "Сегодня хорошая погода, и мы идём в парк с друзьями.",
    "uk": "Сьогодні гарна погода, і ми йдемо до парку з друзями.",
    "bg": "Днес времето е хубаво и ще отидем в парка с приятели.",
    "ar": "الطقس جميل اليوم ونحن نذهب إلى الحديقة مع الأصدقاء في المدينة",
    "fa": "هوا امروز خوب است و ما با دوستان به پارک می رویم",
    "ja": "今日は天気がいいので、友達と公園に行きます。",
    "zh": "今天天气很好，我们和朋友去公园。",
    "ko": "오늘은 날씨가 좋아서 친구들과 공원에 갑니다.",
    "el": "Ο καιρός είναι καλός σήμερα και πάμε στο πάρκο.",
    "he": "מזג האוויר נעים היום ואנחנו הולכים לפארק",
    "hi": "आज मौसम अच्छा है और हम पार्क जा रहे हैं",
    "th": "วันนี้อากาศดีและเราไปสวนสาธารณะกับเพื่อน",
}


def grade(text, *languages, **settings):
    """The grade of a text."""
    return wb.Language(languages, **settings)(wb.StringThread([("assistant", text)]))


@pytest.mark.parametrize("code", TEXTS)
def test_languages_are_distinguished(code):
    """One sentence is enough."""
    assert detected(TEXTS[code])[0] == code
    others = tuple(other for other in LANGUAGES if other != code)
    assert grade(TEXTS[code], *others).score == 0.0


@pytest.mark.parametrize(
    ("text", "score"),
    [
        (TEXTS["en"], 1.0),
        (f"<think>{TEXTS['zh']}</think>{TEXTS['en']}", 1.0),
        (f"{TEXTS['en']}\n```python\nfor der, die in das.items():\n    und = nicht\n```", 1.0),
        (f"{TEXTS['en']} $\\alpha + \\beta$ https://example.org/der/die/das", 1.0),
        (f"{TEXTS['en']} {TEXTS['zh']} {TEXTS['zh']} {TEXTS['zh']}", 0.0),  # a model that changes language
        (f"{TEXTS['en']} {TEXTS['de']}", 0.0),
        (TEXTS["de"], 0.0),
        ("42", 0.0),
        ("", 0.0),
        ("Paris", 0.0),
        ("zork blat fnord quux glim", 0.0),
        ("the the", 0.0),
    ],
)
def test_what_is_read(text, score):
    """Prose alone; a mixture and a name are not in a language."""
    assert grade(text, "en").score == score


def test_unclear_texts():
    """They score 0.0, pass or fail, as declared."""
    assert grade("42", "en", on_unclear="pass").score == 1.0
    assert grade("42", "en", on_unclear="fail").error.kind == "sample"
    assert grade(TEXTS["de"], "en", on_unclear="pass").score == 0.0
    assert grade(TEXTS["fr"], "en", "fr").metadata["language"] == "fr"


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: wb.Language("english"), "known languages"),
        (lambda: wb.Language(()), "at least 1"),
        (lambda: wb.Language("en", share=2), "share"),
        (lambda: wb.Language("en", on_unclear="skip"), "on_unclear"),
    ],
)
def test_bad_settings_are_refused(make, part):
    """Each is named."""
    with pytest.raises(FormatError, match=part):
        make()


@given(st.text(max_size=80))
def test_any_text_is_read(text):
    """No text raises; a share is one."""
    found, share = detected(text)
    assert found in {"", *LANGUAGES}
    assert 0.0 <= share <= 1.0


def test_its_probe_has_no_error():
    """It checks the form only."""
    probe = wb.probe(wb.Language("en"), samples("sentences"), progress=False)
    assert not [one for one in probe.findings if one.severity == "error"]
