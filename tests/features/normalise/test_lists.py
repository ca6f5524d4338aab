"""The lists of written things are read right: those the rules were written with, and those that came after them."""

import pytest
import texts

LANGUAGES = sorted(path.stem for path in (texts.LISTS / "tuned").iterdir())


@pytest.mark.parametrize("kind", texts.BARS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_list_reaches_its_bar(language, kind):
    count, wrong = texts.judge(kind, language)
    shown = "\n".join(f"{written}\n  found    {normalised}\n  expected {said}" for written, normalised, said in wrong)
    assert len(wrong) <= count * (1 - texts.BARS[kind]), shown


@pytest.mark.parametrize("language", ["fa", "en", "de", "fr", "es", "ru", "ar", "zh"])
def test_lists_are_long_and_nothing_stands_in_both(language):
    tuned, fresh = ([written for written, _ in texts.read(kind, language)] for kind in ("tuned", "fresh"))
    assert len(tuned) + len(fresh) >= 60
    assert len(fresh) >= 30
    assert not set(tuned) & set(fresh)
