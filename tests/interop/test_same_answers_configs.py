"""Settings: described and changed, of all kinds of resources, with the answers of Apache Kafka."""

from typing import Any

import pytest

from odradek.wire.messages import alter_configs as whole
from odradek.wire.messages import incremental_alter_configs as some
from odradek.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from odradek.wire.messages.list_config_resources import ListConfigResourcesRequest
from support.same_answers import Asker, Case, Level, Side, differences

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


async def describe(
    ask: Asker,
    *resources: tuple[int, str],
    keys: tuple[str, ...] | None = None,
    synonyms: bool = True,
    doc: bool = True,
) -> None:
    asked = tuple(
        DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
        for kind, name in resources
    )
    await ask.settle()
    more: dict[str, Any] = {} if ask.level is not Level.HIGHEST else {"include_documentation": doc}
    await ask(DescribeConfigsRequest(resources=asked, include_synonyms=synonyms, **more))


async def change(
    ask: Asker, kind: int, name: str, *changes: tuple[str, int, str | None], validate_only: bool = False
) -> None:
    configs = tuple(some.AlterableConfig(name=key, config_operation=what, value=value) for key, what, value in changes)
    resource = some.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    answer = await ask(some.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=validate_only))
    if kind == BROKER and answer.responses[0].error_code == 0:  # it has a say in the next change
        await ask.settle()


async def replace(
    ask: Asker, kind: int, name: str, *values: tuple[str, str | None], validate_only: bool = False
) -> None:
    configs = tuple(whole.AlterableConfig(name=key, value=value) for key, value in values)
    resource = whole.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    answer = await ask(whole.AlterConfigsRequest(resources=(resource,), validate_only=validate_only))
    if kind == BROKER and answer.responses[0].error_code == 0:
        await ask.settle()


# --- topics


async def topics_described(ask: Asker) -> None:
    name = await ask.create("described", retention_ms="5000", cleanup_policy="compact, delete", preallocate="TRUE")
    await describe(ask, (TOPIC, name))
    await describe(ask, (TOPIC, name), synonyms=False, doc=False)
    await describe(ask, (TOPIC, name), keys=("retention.ms", "cleanup.policy", "no.such"))
    await describe(ask, (TOPIC, name), keys=())
    await describe(ask, (TOPIC, ask.name("nobody")), (TOPIC, ""), (TOPIC, ".."), (TOPIC, name), (TOPIC, name))
    await describe(ask, (TOPIC, "__cluster_metadata"))
    await describe(ask)


async def topics_changed(ask: Asker) -> None:
    name = await ask.create("changed")
    for changes in (
        [("retention.ms", SET, "1000")],
        [("retention.ms", SET, "1000"), ("segment.ms", SET, "7")],
        [("retention.ms", DELETE, None)],
        [("retention.ms", DELETE, "5")],
        [("retention.ms", DELETE, None)],
        [("retention.ms", SET, None)],
        [("retention.ms", SET, "soon")],
        [("retention.ms", SET, "-7")],
        [("retention.ms", SET, "1"), ("retention.ms", SET, "2")],
        [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)],
        [("no.such", SET, "1")],
        [("no.such", DELETE, None)],
        [("", SET, "1")],
        [("cleanup.policy", APPEND, "compact")],
        [("cleanup.policy", APPEND, "compact")],
        [("cleanup.policy", SUBTRACT, "delete")],
        [("cleanup.policy", SUBTRACT, "shred")],
        [("cleanup.policy", APPEND, "shred")],
        [("cleanup.policy", APPEND, None)],
        [("cleanup.policy", SUBTRACT, None)],
        [("cleanup.policy", SUBTRACT, "compact")],
        [("cleanup.policy", APPEND, "delete,compact")],
        [("retention.ms", APPEND, "5")],
        [("retention.ms", SUBTRACT, "5")],
        [("no.such", APPEND, "5")],
        [("leader.replication.throttled.replicas", APPEND, "0:1")],
        [("leader.replication.throttled.replicas", APPEND, "1:1")],
        [("leader.replication.throttled.replicas", SUBTRACT, "0:1,1:1")],
        [("min.compaction.lag.ms", SET, "10"), ("max.compaction.lag.ms", SET, "5")],
        [("remote.storage.enable", SET, "true")],
        [],
    ):
        await change(ask, TOPIC, name, *changes)
    await change(ask, TOPIC, name, ("retention.ms", SET, "77"), validate_only=True)
    await describe(ask, (TOPIC, name), keys=("retention.ms", "cleanup.policy", "segment.ms"))
    for other in (ask.name("nobody"), "", "..", "a b"):
        await change(ask, TOPIC, other, ("retention.ms", SET, "1"))
        await replace(ask, TOPIC, other, ("retention.ms", "1"))


async def topics_replaced(ask: Asker) -> None:
    name = await ask.create("replaced", retention_ms="5000", segment_ms="9")
    await replace(ask, TOPIC, name, ("retention.ms", "6"), validate_only=True)
    for values in (
        [("retention.ms", "6")],
        [("retention.ms", None)],
        [("retention.ms", "6"), ("retention.ms", "7")],
        [("retention.ms", "soon")],
        [("no.such", "1")],
        [("cleanup.policy", "compact"), ("segment.ms", "8")],
    ):
        await replace(ask, TOPIC, name, *values)
        await describe(ask, (TOPIC, name), keys=("retention.ms", "cleanup.policy", "segment.ms"))
    await replace(ask, TOPIC, name)
    await describe(ask, (TOPIC, name))


async def resources_together(ask: Asker) -> None:
    name = await ask.create("together")
    setting = (some.AlterableConfig(name="retention.ms", config_operation=SET, value="5"),)
    bad = (some.AlterableConfig(name="retention.ms", config_operation=SET, value="x"),)

    def resource(kind: int, name: str, configs: tuple[some.AlterableConfig, ...]) -> some.AlterConfigsResource:
        return some.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)

    for resources in (
        [],
        [resource(TOPIC, name, setting), resource(TOPIC, ask.name("nobody"), setting)],
        [resource(TOPIC, name, bad), resource(TOPIC, name, setting)],
        [resource(TOPIC, name, bad)],
        [resource(0, name, setting)],
        [resource(1, name, setting)],
        [resource(3, name, setting)],
        [resource(127, name, setting)],
        [resource(-1, name, setting)],
    ):
        await ask(some.IncrementalAlterConfigsRequest(resources=tuple(resources), validate_only=False))
    for kind in (0, 1, 3, 7, 127, -1):
        await replace(ask, kind, name, ("retention.ms", "5"))
        await describe(ask, (kind, name))


# --- brokers


async def brokers_described(ask: Asker) -> None:
    await describe(ask, (BROKER, "1"))
    await describe(ask, (BROKER, "1"), synonyms=False, doc=False)
    await describe(ask, (BROKER, ""))
    await describe(ask, (BROKER, "1"), keys=("log.retention.ms", "log.retention.hours", "no.such", "ssl.key.password"))
    for name in ("7", "x", "-1", "01", "1.0"):
        await describe(ask, (BROKER, name))


async def brokers_changed(ask: Asker) -> None:
    keys = (
        "log.retention.ms",
        "num.io.threads",
        "log.cleaner.threads",
        "message.max.bytes",
        "no.such",
        "log.cleanup.policy",
        "num.partitions",
        "auto.create.topics.enable",
        "follower.replication.throttled.rate",
    )
    name = await ask.create("of-the-broker")
    for where in ("1", ""):
        for changes in (
            [("log.retention.ms", SET, "5000")],
            [("log.retention.ms", SET, "soon")],
            [("log.retention.ms", SET, None)],
            [("log.retention.hours", SET, "5")],
            [("log.retention.ms", APPEND, "5")],
            [("log.cleanup.policy", SET, "compact")],
            [("log.cleanup.policy", APPEND, "delete")],
            [("log.cleanup.policy", SUBTRACT, "compact")],
            [("num.io.threads", SET, "9")],
            [("num.io.threads", SET, "100")],
            [("num.io.threads", SET, "0")],
            [("log.cleaner.threads", SET, "2")],
            [("message.max.bytes", SET, "2000000")],
            [("no.such", SET, "5")],
            [("num.partitions", SET, "5")],
            [("default.replication.factor", SET, "1")],
            [("auto.create.topics.enable", SET, "true")],
            [("broker.id", SET, "5")],
            [("node.id", SET, "5")],
            [("log.dirs", SET, "/x")],
            [("follower.replication.throttled.rate", SET, "100")],
            [("listener.name.plaintext.ssl.keystore.location", SET, "/no/such/file")],
            [("ssl.keystore.location", SET, "/no/such/file")],
            [("max.connections", SET, "5000")],
            [("min.insync.replicas", SET, "1")],
            [("unclean.leader.election.enable", SET, "true")],
            [],
        ):
            await change(ask, BROKER, where, *changes)
        await describe(ask, (BROKER, where), keys=keys, doc=False)
        await describe(ask, (TOPIC, name), keys=("retention.ms", "cleanup.policy", "max.message.bytes"))
        await change(ask, BROKER, where, ("log.retention.ms", SET, "9"), validate_only=True)
    for where in ("1", ""):
        for key in (*keys, "max.connections", "unclean.leader.election.enable"):
            await change(ask, BROKER, where, (key, DELETE, None))
    await describe(ask, (BROKER, "1"))
    await describe(ask, (BROKER, ""))
    for where in ("7", "x", "-1"):
        await change(ask, BROKER, where, ("log.retention.ms", SET, "5"))


async def brokers_replaced(ask: Asker) -> None:
    for where in ("1", ""):
        await replace(ask, BROKER, where, ("log.retention.ms", "5"), ("message.max.bytes", "2000000"))
        await replace(ask, BROKER, where, ("log.retention.ms", "6"))
        await describe(ask, (BROKER, where), keys=("log.retention.ms", "message.max.bytes"))
        await replace(ask, BROKER, where, ("node.id", "6"))
        await replace(ask, BROKER, where, ("log.retention.ms", "x"))
        await replace(ask, BROKER, where)
        await describe(ask, (BROKER, where), keys=("log.retention.ms", "message.max.bytes"))


# --- loggers, groups, client metrics


async def loggers(ask: Asker) -> None:
    for name in ("7", "", "x"):
        await describe(ask, (LOGGER, name))
    for where in ("1", "7", ""):
        for changes in (
            [("no.such.logger", SET, "DEBUG")],
            [("root", SET, "LOUD")],
            [("root", APPEND, "DEBUG")],
            [("root", SUBTRACT, "DEBUG")],
            [("no.such.logger", DELETE, None)],
            [("root", SET, None)],
            [],
        ):
            await change(ask, LOGGER, where, *changes)
        await replace(ask, LOGGER, where, ("root", "WARN"))
    described = (DescribeConfigsResource(resource_type=LOGGER, resource_name="1", configuration_keys=("root",)),)
    for level in ("DEBUG", "info", "FATAL", "OFF", "WARN"):
        await change(ask, LOGGER, "1", ("root", SET, level))
        await ask(DescribeConfigsRequest(resources=described, include_synonyms=True))
    await change(ask, LOGGER, "1", ("root", SET, "ERROR"), validate_only=True)
    await change(ask, LOGGER, "1", ("root", DELETE, None))
    await ask(DescribeConfigsRequest(resources=described))


async def groups(ask: Asker) -> None:
    name = ask.name("group")
    await describe(ask, (GROUP, name))
    for changes in (
        [("consumer.session.timeout.ms", SET, "50000")],
        [("consumer.heartbeat.interval.ms", SET, "6000")],
        [("consumer.session.timeout.ms", SET, "1")],
        [("consumer.session.timeout.ms", SET, "9999999")],
        [("consumer.session.timeout.ms", SET, "soon")],
        [("consumer.session.timeout.ms", SET, None)],
        [("consumer.session.timeout.ms", APPEND, "5")],
        [("consumer.heartbeat.interval.ms", SET, "15000"), ("consumer.session.timeout.ms", SET, "45000")],
        [("share.isolation.level", SET, "read_committed")],
        [("share.isolation.level", SET, "read_nothing")],
        [("share.auto.offset.reset", SET, "earliest")],
        [("share.auto.offset.reset", SET, "by_duration:PT1H")],
        [("share.auto.offset.reset", SET, "by_duration:x")],
        [("share.record.lock.duration.ms", SET, "20000")],
        [("share.record.lock.duration.ms", SET, "1")],
        [("streams.num.standby.replicas", SET, "1")],
        [("streams.num.standby.replicas", SET, "99")],
        [("no.such", SET, "5")],
        [("no.such", DELETE, None)],
        [],
    ):
        await change(ask, GROUP, name, *changes)
    await describe(ask, (GROUP, name))
    await describe(ask, (GROUP, name), keys=("consumer.session.timeout.ms", "no.such"))
    await change(ask, GROUP, name, ("consumer.session.timeout.ms", DELETE, None))
    await change(ask, GROUP, "", ("consumer.session.timeout.ms", SET, "50000"))
    await describe(ask, (GROUP, ""))
    await replace(ask, GROUP, name, ("consumer.session.timeout.ms", "51000"))
    await replace(ask, GROUP, name, ("consumer.session.timeout.ms", "1"))
    await describe(ask, (GROUP, name), synonyms=False)
    await replace(ask, GROUP, name)


async def client_metrics(ask: Asker) -> None:
    name = ask.name("metrics")
    await describe(ask, (CLIENT_METRICS, name))
    for changes in (
        [("interval.ms", SET, "5000")],
        [("interval.ms", SET, "5")],
        [("interval.ms", SET, "3600001")],
        [("interval.ms", SET, "soon")],
        [("metrics", SET, "org.apache.kafka,*")],
        [("metrics", APPEND, "more")],
        [("metrics", SUBTRACT, "more")],
        [("metrics", SET, "")],
        [("match", SET, "client_id=x.*,client_source_port=90.*")],
        [("match", APPEND, "client_software_name=y")],
        [("match", SET, "no_such=5")],
        [("match", SET, "client_id")],
        [("match", SET, "client_id=((")],
        [("no.such", SET, "5")],
        [("interval.ms", SET, None)],
        [],
    ):
        await change(ask, CLIENT_METRICS, name, *changes)
    await describe(ask, (CLIENT_METRICS, name))
    await describe(ask, (CLIENT_METRICS, name), keys=("interval.ms", "no.such"), synonyms=False)
    await change(ask, CLIENT_METRICS, name, ("interval.ms", DELETE, None))
    await change(ask, CLIENT_METRICS, "", ("interval.ms", SET, "5000"))
    await describe(ask, (CLIENT_METRICS, ""))
    await replace(ask, CLIENT_METRICS, name, ("interval.ms", "6000"))
    await describe(ask, (CLIENT_METRICS, name))
    await replace(ask, CLIENT_METRICS, name)
    await describe(ask, (CLIENT_METRICS, name))


async def listed(ask: Asker) -> None:
    await change(ask, CLIENT_METRICS, "listed-metrics", ("interval.ms", SET, "5000"))
    await change(ask, GROUP, "listed-group", ("consumer.session.timeout.ms", SET, "50000"))
    await ask.settle()
    await ask(ListConfigResourcesRequest(), 0)
    for kinds in ([CLIENT_METRICS], [BROKER], [LOGGER], [BROKER, LOGGER], [99], [0], [CLIENT_METRICS, 99]):
        await ask(ListConfigResourcesRequest(resource_types=tuple(kinds)), 1)
    for kinds in ([], [TOPIC], [GROUP], [GROUP, TOPIC]):  # with those of other cases: only these
        answer = await ask.quietly(ListConfigResourcesRequest(resource_types=tuple(kinds)), 1)
        ask.keep(answer.error_code)
        found = {each.resource_type for each in answer.config_resources}
        ask.keep(sorted(found | ({TOPIC} if TOPIC in kinds or not kinds else set())))
        ask.keep("listed-group" in [each.resource_name for each in answer.config_resources])


CASES: list[Case] = [
    topics_described,
    topics_changed,
    topics_replaced,
    resources_together,
    brokers_described,
    brokers_changed,
    brokers_replaced,
    loggers,
    groups,
    client_metrics,
    listed,
]


@pytest.mark.parametrize("level", Level, ids=lambda level: level.value)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_kafka_answers_the_same(both: tuple[Side, Side], case: Case, level: Level) -> None:
    found = differences(case, level, both)
    assert not found, found
