"""Apache Kafka's scripts on two brokers in turn, each with two log directories; and what they print side by side."""

import asyncio
import contextlib
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from odradek.testing.broker import running_broker
from support.apache_kafka import ApacheKafka, format_new
from support.group_tools import Stage
from support.kafka_tools import KafkaTools
from support.same_answers import SETTINGS, Asker, Level, Side

_TOOLS = "org.apache.kafka.tools"
SCRIPTS = {
    "kafka-acls": f"{_TOOLS}.AclCommand",
    "kafka-broker-api-versions": f"{_TOOLS}.BrokerApiVersionsCommand",
    "kafka-client-metrics": f"{_TOOLS}.ClientMetricsCommand",
    "kafka-cluster": f"{_TOOLS}.ClusterTool",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": f"{_TOOLS}.consumer.ConsoleConsumer",
    "kafka-console-producer": f"{_TOOLS}.ConsoleProducer",
    "kafka-consumer-perf-test": f"{_TOOLS}.ConsumerPerformance",
    "kafka-delegation-tokens": f"{_TOOLS}.DelegationTokenCommand",
    "kafka-delete-records": f"{_TOOLS}.DeleteRecordsCommand",
    "kafka-e2e-latency": f"{_TOOLS}.EndToEndLatency",
    "kafka-features": f"{_TOOLS}.FeatureCommand",
    "kafka-get-offsets": f"{_TOOLS}.GetOffsetShell",
    "kafka-leader-election": f"{_TOOLS}.LeaderElectionCommand",
    "kafka-log-dirs": f"{_TOOLS}.LogDirsCommand",
    "kafka-metadata-quorum": f"{_TOOLS}.MetadataQuorumCommand",
    "kafka-producer-perf-test": f"{_TOOLS}.ProducerPerformance",
    "kafka-reassign-partitions": f"{_TOOLS}.reassign.ReassignPartitionsCommand",
    "kafka-share-groups": f"{_TOOLS}.consumer.group.ShareGroupCommand",
    "kafka-streams-application-reset": f"{_TOOLS}.StreamsResetter",
    "kafka-streams-groups": f"{_TOOLS}.streams.StreamsGroupCommand",
    "kafka-topics": f"{_TOOLS}.TopicCommand",
    "kafka-verifiable-consumer": f"{_TOOLS}.VerifiableConsumer",
    "kafka-verifiable-producer": f"{_TOOLS}.VerifiableProducer",
}
_BROKER_LAST = ("kafka-cluster",)
"""Those that want to hear of the broker behind their verb."""
_ALONE = ("kafka-verifiable-producer",)
"""Those that do a part of their work while their process ends, so each needs one of its own."""

Mask = tuple[str, str]
"""A regular expression, and what is to stand in its place."""

PATIENT = ("--request-timeout-ms", "60000")
"""For the console producer: it would send again, or give up, where a broker stands still for some seconds."""
ONE_BY_ONE = ("--sync", "--timeout", "0", *PATIENT)
"""For the console producer: each line in a batch of its own, and at once. So batches are the same on both."""
MOMENTS: Sequence[Mask] = ((r"(?<![\w.])1[6-9]\d{11}\b", "moment"),)
"""Milliseconds; not the digits behind the point of a rate, which can look like them."""
WORDS: Sequence[Mask] = ((r"(?m)(^Error[^:\n]*: ?).*(\n(?!status|\t|org\.|java\.|Caused).*)*", r"\1words"),)
"""What a broker says of an error is its own; a stack that follows has the name of it."""


class ScriptStage(Stage):
    """One of the two brokers while a case is played on it."""

    def __init__(self, side: Side, kafka: ApacheKafka, tools: KafkaTools, log_dirs: Sequence[Path]) -> None:
        super().__init__(side.name, side.port, tools)
        self.log_dirs = list(map(str, log_dirs))
        self._side = side
        self._kafka = kafka
        self._work = log_dirs[0].parent

    def play(
        self, script: str, *arguments: str, given: str = "", in_order: bool = False, masks: Sequence[Mask] = ()
    ) -> str:
        """What a script printed, which is compared, with what the masks hide replaced; and so is what it logged."""
        printed = self.quietly(script, *arguments, given=given)
        shown = f"{printed}logged: {self.errors}\n"
        for pattern, stands_for in (*((re.escape(each), "a directory") for each in self.log_dirs), *masks):
            shown = re.sub(pattern, stands_for, shown)
        self.keep(shown, in_order=in_order)
        return printed

    def quietly(self, script: str, *arguments: str, given: str = "") -> str:
        """What a script printed, which is not compared. The broker then knows of all that was changed."""
        broker = ("--bootstrap-server", self.bootstrap)
        words = (*arguments, *broker) if script in _BROKER_LAST else (*broker, *arguments)
        printed = (
            self._run_alone(script, *words) if script in _ALONE else self.run(SCRIPTS[script], *words, given=given)
        )
        self.settle()
        return printed

    def _run_alone(self, script: str, *arguments: str) -> str:
        """Without its standard error, in which log lines are."""
        ended = self._kafka.run(SCRIPTS[script], *arguments)
        self._tools.errors = []
        return f"{ended.out}status {ended.status}\n"

    def settle(self) -> None:
        """Wait until the broker knows of all that was changed."""
        asyncio.run(self._settle())

    def file(self, content: object) -> str:
        """The path of a file with this in it: text as it is, anything else as JSON."""
        with tempfile.NamedTemporaryFile("w", dir=self._work, delete=False, encoding="utf-8") as made:
            made.write(content if isinstance(content, str) else json.dumps(content))
        return made.name

    async def _settle(self) -> None:
        asker = Asker(self._side, Level.HIGHEST)
        try:
            await asker.settle()
        finally:
            await asker.close()


@contextlib.contextmanager
def script_stages(kafka: ApacheKafka, tools: KafkaTools, work: Path) -> Iterator[list[ScriptStage]]:
    """Both fresh and with the same settings, until the block is left, with all their files in `work`."""
    theirs, ours = ([work / f"{name}{number}" for number in (1, 2)] for name in ("theirs", "ours"))
    format_new(*theirs)
    options = ["--data", str(ours[1])]
    with (
        kafka.broker(work, theirs, SETTINGS) as apache,
        running_broker(SETTINGS, directory=ours[0], options=options) as odradek,
    ):
        yield [
            ScriptStage(Side("Kafka", apache.port, settles_late=True), kafka, tools, theirs),
            ScriptStage(Side("odradek", odradek.port, settles_late=False), kafka, tools, ours),
        ]
