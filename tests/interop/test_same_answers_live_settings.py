"""Every setting of a broker, with values of all kinds: Apache Kafka takes and refuses the same."""

from functools import partial

import pytest

from odradek.controller.config_checks import declared
from odradek.metadata.image import ResourceType
from odradek.model.broker_config import BROKER_KEYS, THROTTLES
from odradek.model.error_code import ErrorCode
from odradek.model.settings import Kind
from odradek.wire.messages import incremental_alter_configs as some
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from support.same_answers import Asker, Case, Level, Side, differences

BROKER, SET, DELETE, APPEND, SUBTRACT = 4, 0, 1, 2, 3
NUMBERS = ("x", "", "-2", "-1", "0", "1", "2", "5", "3000000", "3000000000", "99999999999999999999", "1.5", "+5")
TEXTS: dict[Kind, tuple[str, ...]] = {
    Kind.BOOLEAN: ("true", "FALSE", "x", "", "1"),
    Kind.INT: NUMBERS,
    Kind.LONG: NUMBERS,
    Kind.SHORT: NUMBERS,
    Kind.DOUBLE: ("x", "", "-1", "0", "0.5", "1", "2.5", "1e3"),
    Kind.STRING: ("x", "", "lz4", "LogAppendTime", "127.0.0.1:5", "none"),
    Kind.LIST: ("x", "", "compact", "delete,compact", "compact,compact", "x,,y"),
    Kind.CLASS: ("x", ""),
    Kind.PASSWORD: ("x", ""),
}
OTHERWISE = frozenset({"listeners", "listener.security.protocol.map", "log.flush.interval.ms"})
"""What Kafka can change and we cannot; and what it takes at any value, and then cannot act on."""

LIVE = sorted(({name for name, key in BROKER_KEYS.items() if key.live is not None} | set(THROTTLES)) - OTHERWISE)
_PARTS = 8
FIXED = sorted(name for name, key in BROKER_KEYS.items() if key.live is None)


async def code(ask: Asker, where: str, *changes: tuple[str, int, str | None]) -> int:
    configs = tuple(some.AlterableConfig(name=name, config_operation=what, value=text) for name, what, text in changes)
    resource = some.AlterConfigsResource(resource_type=BROKER, resource_name=where, configs=configs)
    answer = await ask.quietly(some.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=True))
    return int(answer.responses[0].error_code)


async def values(ask: Asker, name: str) -> None:
    """Of a setting that can change."""
    key = declared(ResourceType.BROKER, name)
    assert key is not None
    for where in ("1", ""):
        for text in TEXTS[key.kind]:
            ask.keep({f"{name}={text!r} for {where or 'all'}": await code(ask, where, (name, SET, text))})


async def at_the_start_alone(ask: Asker, first: int) -> None:
    """Some of the settings that cannot change."""
    for name in FIXED[first::_PARTS]:
        ask.keep({name: [await code(ask, where, (name, SET, "1")) for where in ("1", "")]})
        ask.keep({name: await code(ask, "1", (name, DELETE, None))})


async def of_a_listener(ask: Asker) -> None:
    for name, text in (
        ("max.connections", "5"),
        ("max.connections", "x"),
        ("max.connections", "-1"),
        ("max.connection.creation.rate", "5"),
        ("num.network.threads", "4"),
        ("max.connections.per.ip", "5"),
        ("ssl.client.auth", "required"),
        ("ssl.client.auth", "maybe"),
        ("log.retention.ms", "5"),
        ("no.such", "5"),
        ("node.id", "5"),
    ):
        for listener in ("plaintext", "another"):
            for where in ("1", ""):
                full = f"listener.name.{listener}.{name}"
                ask.keep({f"{where}: {full}={text}": await code(ask, where, (full, SET, text))})


async def threads(ask: Asker) -> None:
    for name in ("num.io.threads", "num.network.threads", "background.threads", "num.recovery.threads.per.data.dir"):
        for text in ("3", "4", "6", "7", "10", "16", "17", "20", "21"):
            ask.keep({f"{name}={text}": [await code(ask, where, (name, SET, text)) for where in ("1", "")]})


async def together(ask: Asker) -> None:
    """Settings that contradict each other, and those that go together only."""
    for changes in (
        [("max.connections.per.ip", SET, "0")],
        [("max.connections.per.ip", SET, "0"), ("max.connections.per.ip.overrides", SET, "127.0.0.1:5")],
        [("log.cleaner.dedupe.buffer.size", SET, "1048576")],
        [("log.cleaner.dedupe.buffer.size", SET, "1048577")],
        [("log.cleaner.dedupe.buffer.size", SET, "2000000"), ("log.cleaner.threads", SET, "2")],
        [("log.local.retention.ms", SET, "172800000")],
        [("log.local.retention.ms", SET, "172800001")],
        [("log.local.retention.ms", SET, "5"), ("log.retention.ms", SET, "-1")],
        [("log.local.retention.ms", SET, "-1")],
        [("log.local.retention.bytes", SET, "5"), ("log.retention.bytes", SET, "4")],
        [("log.local.retention.bytes", SET, "5"), ("log.retention.bytes", SET, "5")],
        [("group.consumer.assignment.interval.ms", SET, "15000")],
        [("group.consumer.assignment.interval.ms", SET, "15001")],
        [("log.retention.ms", SET, "5"), ("node.id", SET, "5")],
        [("log.retention.ms", SET, "5"), ("log.segment.bytes", SET, "5")],
        [("log.cleanup.policy", APPEND, "compact"), ("log.retention.ms", DELETE, None)],
        [("log.cleanup.policy", APPEND, "shred")],
        [("log.cleanup.policy", SUBTRACT, "delete")],
        [("cordoned.log.dirs", APPEND, "/nowhere")],
        [("cordoned.log.dirs", SET, "/nowhere")],
        [("cordoned.log.dirs", SET, "*,/nowhere")],
        [("metric.reporters", APPEND, "no.such.Reporter")],
        [("metric.reporters", SET, "org.apache.kafka.common.metrics.JmxReporter")],
        [("principal.builder.class", SET, "no.such.Builder")],
        [("of.a.plugin", SET, "x"), ("log.retention.ms", SET, "5")],
    ):
        ask.keep({str(changes): [await code(ask, where, *changes) for where in ("1", "")]})


async def a_bad_resource_beside_good_ones(ask: Asker) -> None:
    """Each has its own outcome, and what is wrong with one keeps none of the others from being changed."""
    topic = await ask.create("beside")

    def resource(kind: int, name: str, *changes: tuple[str, str]) -> some.AlterConfigsResource:
        configs = tuple(some.AlterableConfig(name=key, config_operation=SET, value=value) for key, value in changes)
        return some.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)

    group, metrics = ask.name("beside-group"), ask.name("beside-metrics")
    resources = (
        resource(2, topic, ("retention.ms", "77")),
        resource(2, ask.name("nobody"), ("retention.ms", "77")),
        resource(4, "1", ("log.retention.ms", "soon")),
        resource(4, "", ("log.segment.bytes", "2000000"), ("log.cleaner.backoff.ms", "-1")),
        resource(4, "7", ("log.retention.ms", "5")),
        resource(8, "1", ("no.such.logger", "INFO")),
        resource(16, metrics, ("interval.ms", "5000")),
        resource(16, ask.name("bad-metrics"), ("interval.ms", "5")),
        resource(32, group, ("consumer.session.timeout.ms", "50000")),
        resource(32, ask.name("bad-group"), ("consumer.session.timeout.ms", "1")),
        resource(99, "x", ("y", "z")),
    )
    await ask(some.IncrementalAlterConfigsRequest(resources=resources, validate_only=False))
    await ask.settle()
    for kind, name in ((2, topic), (4, ""), (16, metrics), (32, group)):
        asked = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
        answer = await ask.quietly(DescribeConfigsRequest(resources=(asked,)))
        ask.keep(sorted((each.name, each.value) for each in answer.results[0].configs if each.config_source < 4))


async def cordons(ask: Asker) -> None:
    """Of all directories, as each has its own."""

    async def set_to(operation: int, value: str | None) -> None:
        configs = (some.AlterableConfig(name="cordoned.log.dirs", config_operation=operation, value=value),)
        resource = some.AlterConfigsResource(resource_type=BROKER, resource_name="1", configs=configs)
        await ask(some.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False))
        await ask.settle()

    async def create_until(code: ErrorCode) -> None:
        """The controller hears of cordons from the broker, in its own time."""
        name = ask.name("cordoned")
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=(), configs=())
        while True:
            answer = await ask.quietly(CreateTopicsRequest(topics=(topic,), validate_only=True))
            if answer.topics[0].error_code == code:
                return

    async def is_cordoned() -> None:
        answer = await ask.quietly(DescribeLogDirsRequest(topics=None), 5)
        ask.keep([each.is_cordoned for each in answer.results])

    await set_to(SET, "*")
    await is_cordoned()
    await create_until(ErrorCode.INVALID_REPLICATION_FACTOR)
    await set_to(DELETE, None)
    await is_cordoned()
    await create_until(ErrorCode.NONE)


CASES: list[Case] = [
    of_a_listener,
    threads,
    together,
    a_bad_resource_beside_good_ones,
    cordons,
]


@pytest.mark.parametrize("name", LIVE)
def test_kafka_takes_and_refuses_the_same(both: tuple[Side, Side], name: str) -> None:
    found = differences(partial(values, name=name), Level.HIGHEST, both)
    assert not found, found


@pytest.mark.parametrize("part", range(_PARTS))
def test_kafka_refuses_what_cannot_change(both: tuple[Side, Side], part: int) -> None:
    found = differences(partial(at_the_start_alone, first=part), Level.HIGHEST, both)
    assert not found, found


@pytest.mark.parametrize("level", [Level.LOWEST, Level.HIGHEST], ids=lambda level: level.value)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_kafka_answers_the_same(both: tuple[Side, Side], case: Case, level: Level) -> None:
    found = differences(case, level, both)
    assert not found, found
