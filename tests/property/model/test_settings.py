"""Every setting: what a value is written as, reads as that value, and garbage raises InvalidConfig alone."""

import contextlib
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from odradek.model import properties
from odradek.model.broker_config import BROKER_KEYS, BrokerConfig, parse_setting
from odradek.model.errors import InvalidConfig
from odradek.model.settings import Key, Kind
from odradek.model.topic_config import TOPIC_KEYS

KEYS: list[Key[Any]] = [*BROKER_KEYS.values(), *TOPIC_KEYS.values()]
BITS = {Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}

WORDS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters=","), min_size=1).map(str.strip)
TEXTS = st.text(st.characters(blacklist_categories=["Cs"]))
ONE_OF_EACH_KIND = {kind: Key(f"some.{kind.name.lower()}", kind, None, "Something.") for kind in Kind}


def values(kind: Kind) -> st.SearchStrategy[Any]:
    if kind in BITS:
        bound = 1 << (BITS[kind] - 1)
        return st.integers(-bound, bound - 1)
    if kind is Kind.BOOLEAN:
        return st.booleans()
    if kind is Kind.DOUBLE:
        return st.floats(allow_nan=False, allow_infinity=False)
    if kind is Kind.LIST:
        return st.lists(WORDS.filter(bool)).map(tuple)
    return TEXTS.map(str.strip)


def complaint_on(parse: Callable[[str], object], text: str) -> str | None:
    try:
        parse(text)
    except InvalidConfig as error:
        return str(error)
    return None


@given(st.sampled_from(Kind), st.data())
def test_what_is_written_reads_the_same(kind: Kind, data: st.DataObject) -> None:
    key: Key[Any] = ONE_OF_EACH_KIND[kind]
    value = data.draw(values(kind))
    text = key.format(value)
    assert text is not None
    assert key.parse(text) == value


@given(st.sampled_from(KEYS), st.data())
def test_what_a_setting_takes_it_writes_and_takes_again(key: Key[Any], data: st.DataObject) -> None:
    text = data.draw(values(key.kind).map(ONE_OF_EACH_KIND[key.kind].format) | st.sampled_from(key.valid or ("",)))
    with contextlib.suppress(InvalidConfig):
        value = key.parse(text or "")
        written = key.format(value)
        assert written is not None
        assert key.parse(written) == value


@given(st.sampled_from(KEYS), TEXTS)
def test_garbage_raises_one_error_in_one_line(key: Key[Any], text: str) -> None:
    complaint = complaint_on(key.parse, text)
    assert complaint is None or f" for configuration {key.name}: " in complaint
    assert complaint is None or len(complaint.splitlines()) == 1


@given(st.dictionaries(TEXTS | st.sampled_from(list(BROKER_KEYS)), TEXTS, max_size=5))
def test_garbage_is_no_config(texts: dict[str, str]) -> None:
    with contextlib.suppress(InvalidConfig):
        BrokerConfig.parse(texts)
    for name, text in texts.items():
        with contextlib.suppress(InvalidConfig):
            parse_setting(name, text, texts)


@given(st.lists(st.tuples(TEXTS.filter(bool), TEXTS)))
def test_properties_read_as_they_were_written(pairs: list[tuple[str, str]]) -> None:
    text = "\n".join(properties.format_property(name, value) for name, value in pairs)
    assert [(each.name, each.value) for each in properties.parse(text)] == pairs


@given(TEXTS)
def test_any_text_is_a_file_or_refused_with_its_line(text: str) -> None:
    complaint = complaint_on(lambda text: list(properties.parse(text)), text)
    assert complaint is None or complaint.startswith("line ")
