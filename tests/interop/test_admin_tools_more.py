"""Apache Kafka's other scripts: one that needs nothing of its own from a broker, and those that need what is not there.

kafka-streams-application-reset; kafka-acls, kafka-delegation-tokens, kafka-share-groups, kafka-streams-groups.
"""

import pytest

from support.group_tools import differences
from support.script_stage import MOMENTS, ONE_BY_ONE, WORDS, ScriptStage

Stages = list[ScriptStage]


def test_an_application_of_streams_is_reset(scripts: Stages) -> None:
    application = ("--application-id", "counting", "--input-topics", "counted")

    def reset(stage: ScriptStage, *options: str) -> None:
        stage.play("kafka-streams-application-reset", *application, *options, masks=[*MOMENTS, *WORDS])

    def case(stage: ScriptStage) -> None:
        for topic in ("counted", "counting-store-changelog", "counting-by-key-repartition"):
            stage.quietly("kafka-topics", "--create", "--topic", topic)
        stage.quietly("kafka-console-producer", "--topic", "counted", *ONE_BY_ONE, given="a\nb\nc\n")
        group = ("--group", "counting", "--from-beginning", "--max-messages", "3")
        stage.quietly("kafka-console-consumer", "--topic", "counted", *group)
        reset(stage, "--dry-run")
        reset(stage, "--to-offset", "1", "--force")
        reset(stage, "--input-topics", "unknown")
        stage.play("kafka-topics", "--list", "--topic", "count.*")
        stage.quietly("kafka-topics", "--delete", "--topic", "counted")

    assert differences(case, scripts) == ""


@pytest.mark.parametrize(
    "call",
    [
        ["kafka-acls", "--list"],
        ["kafka-delegation-tokens", "--describe"],
        ["kafka-share-groups", "--describe", "--group", "sharing"],
        ["kafka-streams-groups", "--describe", "--group", "streaming"],
    ],
    ids=lambda call: call[0],
)
def test_what_is_not_served_is_told(scripts: Stages, call: list[str]) -> None:
    _, odradek = scripts
    printed = odradek.quietly(*call, "--command-config", odradek.file(""))
    assert "UnsupportedVersionException" in f"{printed} {odradek.errors}"
