"""Topics of jobs on a broker: made, found unfit, missing."""

from pathlib import Path

import pytest

from odradek.cli.main import main
from odradek.pipelines.registry import JOBS, Job
from odradek.pipelines.topics import WrongTopic, make_topics, missing_inputs
from odradek.testing import RunningBroker

POSITIONS, ALERTS, TRENDS, PLANS = (
    JOBS[name] for name in ("truck-positions", "driver-alerts", "latency-trends", "operations-with-plan")
)


def test_result_topics_are_made_once(odradek_broker: RunningBroker) -> None:
    for _ in range(2):
        make_topics(list(JOBS.values()), odradek_broker.bootstrap)


@pytest.mark.parametrize(
    ("job", "policy", "needed"),
    [
        (POSITIONS, "delete", "compact"),
        (POSITIONS, "compact,delete", "compact"),
        (ALERTS, "compact", "delete"),
        (TRENDS, "delete", "compact,delete"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_topic_that_would_lose_results_is_refused(
    odradek_broker: RunningBroker, job: Job, policy: str, needed: str
) -> None:
    odradek_broker.create_topic(job.result, 1, {"cleanup.policy": policy})
    with pytest.raises(WrongTopic, match=f"has cleanup.policy={policy}, .* cleanup.policy={needed}\\)"):
        make_topics([job], odradek_broker.bootstrap)


def test_a_topic_of_dead_letters_takes_large_ones(odradek_broker: RunningBroker) -> None:
    letters = JOBS["dead-letters"]
    odradek_broker.create_topic(letters.result)
    with pytest.raises(WrongTopic, match=r"has max.message.bytes=1048588, .* max.message.bytes=3145728"):
        make_topics([letters], odradek_broker.bootstrap)


def test_a_table_whose_old_rows_may_go_may_keep_them(odradek_broker: RunningBroker) -> None:
    odradek_broker.create_topic(TRENDS.result, 5, {"cleanup.policy": "compact"})
    make_topics([TRENDS], odradek_broker.bootstrap)


def test_what_is_missing_is_named(odradek_broker: RunningBroker) -> None:
    bootstrap = odradek_broker.bootstrap
    assert missing_inputs(POSITIONS, bootstrap) == ["topic trucks_gps"]
    pattern = "topic that matches ^operations_[a-z]+_g[0-9]+$"
    assert missing_inputs(PLANS, bootstrap) == ["topic tenant_plans", pattern]
    odradek_broker.create_topic("operations_compute_g1")
    assert missing_inputs(PLANS, bootstrap) == ["topic tenant_plans"]
    odradek_broker.create_topic("tenant_plans")
    assert missing_inputs(PLANS, bootstrap) == []


def test_what_is_missing_is_told_before_spark_starts(
    odradek_broker: RunningBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["pipeline", "run", POSITIONS.name, ALERTS.name, "--once", "--bootstrap", odradek_broker.bootstrap]
    assert main([*command, "--checkpoint", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "odradek: there is no topic trucks_gps; create it, or mend --bootstrap\n"
