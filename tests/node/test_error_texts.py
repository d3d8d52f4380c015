"""The commonest errors come with a text, and in it are the words that scripts look for."""

from collections.abc import Iterator

import pytest

from odradek.testing.broker import running_broker
from support.error_texts import QUESTIONS, Question, answered, has
from support.same_answers import SETTINGS, Side


@pytest.fixture(scope="module")
def side() -> Iterator[Side]:
    with running_broker(SETTINGS) as broker:
        yield Side("odradek", broker.port, settles_late=False)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: f"{question.code.name}: {question.words}")
def test_words_that_scripts_look_for(side: Side, question: Question) -> None:
    code, text = answered(question, side)
    assert code == question.code, text
    assert text is not None
    assert has(text, question.words), text
