"""What jobs tell of themselves reaches its topic, whatever becomes of the topic and the broker."""

import json

from confluent_kafka.admin import AdminClient

from odradek.pipelines.contract import PIPELINE_PROGRESS
from odradek.pipelines.job_progress import JobProgress, State
from odradek.pipelines.progress_topic import ProgressTopic
from odradek.testing import RunningBroker
from support.committed_values import committed_pairs

TIME = "2026-03-01T08:00:00.000Z"
LIMIT_S = 60


def states(broker: RunningBroker) -> dict[str, str]:
    pairs = committed_pairs(broker.bootstrap, PIPELINE_PROGRESS)
    return {key.decode(): json.loads(value)["state"] for key, value in pairs}


def tell_and_wait(topic: ProgressTopic, broker: RunningBroker, state: State) -> None:
    topic.tell(JobProgress("one", state, TIME))
    while states(broker).get("one") != state:
        pass  # each look takes a while by itself


def test_what_was_told_last_is_there_when_it_is_closed(odradek_broker: RunningBroker) -> None:
    topic = ProgressTopic(odradek_broker.bootstrap)
    for job in ("one", "other"):
        topic.tell(JobProgress(job, State.RUNNING, TIME))
    topic.tell(JobProgress("one", State.ENDED, TIME))
    topic.close(LIMIT_S)
    assert states(odradek_broker) == {"one": "ended", "other": "running"}


def test_a_topic_that_was_deleted_is_made_again(odradek_broker: RunningBroker) -> None:
    topic = ProgressTopic(odradek_broker.bootstrap)
    tell_and_wait(topic, odradek_broker, State.RUNNING)
    admin = AdminClient({"bootstrap.servers": odradek_broker.bootstrap})
    admin.delete_topics([PIPELINE_PROGRESS])[PIPELINE_PROGRESS].result(LIMIT_S)
    tell_and_wait(topic, odradek_broker, State.RESTARTING)
    topic.close(LIMIT_S)


def test_a_broker_that_is_away_holds_nobody_up(odradek_broker: RunningBroker) -> None:
    topic = ProgressTopic(odradek_broker.bootstrap)
    tell_and_wait(topic, odradek_broker, State.RUNNING)
    odradek_broker.stop()
    topic.tell(JobProgress("one", State.RESTARTING, TIME))
    odradek_broker.start()
    tell_and_wait(topic, odradek_broker, State.ENDED)
    odradek_broker.stop()
    topic.tell(JobProgress("one", State.FAILED, TIME))
    topic.close(timeout_s=0.1)
