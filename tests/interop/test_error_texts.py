"""The commonest errors: the words that scripts look for are in what Apache Kafka says, and in what odradek says."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.apache_kafka import ApacheKafka
from support.error_texts import QUESTIONS, Question, answered, has
from support.same_answers import Side


@pytest.fixture(scope="module")
def of_clients(kafka: ApacheKafka, programs: Path) -> Mapping[int, str]:
    """What Kafka's clients show for a code that comes without a text."""
    command = kafka.command("ErrorTexts", classes=[programs])
    printed = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    lines = (line.partition("\t") for line in printed.splitlines())
    return {int(code): text for code, _, text in lines}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: f"{question.code.name}: {question.words}")
def test_the_same_words(both: tuple[Side, Side], of_clients: Mapping[int, str], question: Question) -> None:
    for side in both:
        code, text = answered(question, side)
        assert code == question.code, (side.name, text)
        shown = text or of_clients[code]
        assert has(shown, question.words), (side.name, shown)
