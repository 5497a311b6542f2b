"""Which text layers are believed."""

from __future__ import annotations

import random

import pytest

from pagetrail.documents.quality import assess
from pagetrail.documents.raw import INVISIBLE, RawPage, RawWord

ENGLISH = (
    "The harbour authority measures how long each ferry waits before it may leave, and compares "
    "the waiting times with those of the year before."
)
GERMAN = (
    "Die Hafenbehörde misst, wie lange jede Fähre warten muss, bevor sie ablegen darf, und "
    "vergleicht die Wartezeiten mit denen des Vorjahres."
)
FRENCH = "Le port mesure combien de temps chaque navire attend avant de pouvoir partir du quai."
FINNISH = "Satamaviranomainen mittaa kuinka kauan jokainen lautta odottaa ennen lähtöään."
POLISH = "Zarząd portu mierzy, jak długo każdy prom czeka, zanim będzie mógł wypłynąć z portu."
RUSSIAN = "Управление порта измеряет, как долго каждый паром ждёт отправления от причала."
JAPANESE = "港湾局は各フェリーが出港するまでの待ち時間を測定し、前年と比較します。"
ARABIC = "تقيس سلطة الميناء المدة التي تنتظرها كل عبارة قبل المغادرة وتقارنها بالعام السابق"
NUMBERS = "1,204 $ 3,310 (15) 0.8% 2021 2020 2019 1,310 905 840 12.5 364 405 7.1 9.9 22"
CODE = "for (int i = 0; i < n; ++i) { sum += a[i] * b[i]; } return sum; // dot product"
FORMULA = "∫ f(x) dx = F(b) − F(a), ∑ xᵢ² ≤ ‖x‖², ∀ε > 0 ∃δ : |x − y| < δ ⇒ |f(x) − f(y)| < ε"


def page(
    text: str,
    *,
    flags: int = 0,
    cover: float | None = None,
    drawn: bool = True,
    unmapped: float = 0,
) -> RawPage:
    words = tuple(RawWord(t, 0.1, 0.1, 0.2, 0.12, 10.0, flags) for t in text.split())
    return RawPage(
        1,
        600,
        800,
        lines=(words,) if words else (),
        image_cover=cover,
        invisible_share=1.0 if flags & INVISIBLE else 0.0,
        unmapped_share=unmapped,
        has_paths=drawn,
    )


@pytest.mark.parametrize(
    "text",
    [ENGLISH, GERMAN, FRENCH, FINNISH, POLISH, RUSSIAN, JAPANESE, ARABIC, NUMBERS, CODE, FORMULA],
)
def test_real_text_is_trusted(text: str) -> None:
    verdict = assess(page(text))
    assert verdict.trusted, verdict.reason
    assert not verdict.needs_ocr


def test_a_shifted_alphabet_is_not() -> None:
    # Glyph numbers taken for characters: every letter 29 places too low.
    shifted = "".join(" " if c == " " else chr(max(33, ord(c) - 29)) for c in ENGLISH)
    verdict = assess(page(shifted))
    assert not verdict.trusted
    assert verdict.needs_ocr
    assert verdict.reason


def test_random_letters_are_not() -> None:
    draw = random.Random(1)
    text = " ".join("".join(draw.choices("bcdfghjklmnpqrstvwxzaeiou", k=6)) for _ in range(40))
    assert not assess(page(text)).trusted


def test_private_characters_are_not() -> None:
    assert not assess(page(" ".join("\ue123\ue321\ue222" for _ in range(30)))).trusted


def test_a_few_bullets_of_a_symbol_font_do_no_harm() -> None:
    assert assess(page("\uf0b7 " + ENGLISH)).trusted


def test_unmapped_fonts_are_not_trusted_unless_they_read_well() -> None:
    assert not assess(page(NUMBERS, unmapped=0.9)).trusted
    assert assess(page(ENGLISH, unmapped=0.9)).trusted


def test_an_empty_layer_asks_for_ocr_only_where_something_is_drawn() -> None:
    assert assess(page("", drawn=True)).needs_ocr
    assert assess(page("", cover=0.9, drawn=False)).needs_ocr
    assert not assess(page("", cover=0.0, drawn=False)).needs_ocr


def test_a_big_picture_with_little_text_is_read_as_well() -> None:
    verdict = assess(page("Figure 3 Waiting times", cover=0.8))
    assert verdict.trusted
    assert verdict.needs_ocr
    assert not assess(page("Figure 3 Waiting times", cover=0.2)).needs_ocr
    assert not assess(page(f"{ENGLISH} {ENGLISH}", cover=0.8)).needs_ocr


def test_a_good_invisible_layer_over_a_scan_is_trusted() -> None:
    verdict = assess(page(f"{ENGLISH} {ENGLISH}", flags=INVISIBLE, cover=1.0))
    assert verdict.trusted
    assert not verdict.needs_ocr


def test_a_hidden_layer_of_torn_words_is_not() -> None:
    torn = "U ARM~ NIC SC# [Sp F|GH r ey/1 /94:3? 1t~ w- n g} No_ i ^B m1A: q s= <k ||" * 2
    verdict = assess(page(torn, flags=INVISIBLE, cover=1.0))
    assert not verdict.trusted
    assert verdict.needs_ocr


def test_a_short_hidden_layer_under_a_picture_gives_way_to_ocr() -> None:
    verdict = assess(page("Waiting times 400 300 200", flags=INVISIBLE, cover=1.0))
    assert not verdict.trusted
    assert verdict.needs_ocr
