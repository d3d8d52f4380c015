"""Kafka's own producer, which has several batches on the way at the same time."""

import os
import signal
import subprocess
from pathlib import Path

from odradek.testing import running_broker
from support.apache_kafka import ApacheKafka

LIMIT_S = 240


def test_a_batch_behind_one_that_is_refused_does_not_take_its_place(kafka: ApacheKafka, programs: Path) -> None:
    """The first is too large for the topic, so it is split and comes again. The second would fit, too soon."""
    with running_broker() as broker:
        broker.create_topic("split", partitions=2, configs={"max.message.bytes": "2000"})
        command = kafka.command("InFlight", broker.bootstrap, "split", "30", "1", classes=[programs])
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as producer:
            assert producer.stdout is not None
            assert producer.stdout.readline() == "ready\n"
            os.kill(broker.pid, signal.SIGSTOP)
            try:
                assert producer.stdin is not None
                producer.stdin.write("\n")
                producer.stdin.flush()
                assert producer.stdout.readline() == "sent\n"
            finally:
                os.kill(broker.pid, signal.SIGCONT)
            offsets, _ = producer.communicate(timeout=LIMIT_S)
    assert offsets.split(",") == [*map(str, range(30)), "30\n"]
