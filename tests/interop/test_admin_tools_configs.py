"""Apache Kafka's scripts for settings and quotas: what they print of our broker and of Kafka's, and how they end.

kafka-configs with every type of entity, kafka-client-metrics.
"""

import re

import pytest

from support.group_tools import differences
from support.script_stage import WORDS, Mask, ScriptStage

Stages = list[ScriptStage]

OWN = (
    *("advertised.listeners", "controller.listener.names", "controller.quorum.voters", "listeners", "log.dirs"),
    *("node.id", "process.roles", "listener.security.protocol.map", "early.start.listeners"),
)
"""Settings that each broker was started with: addresses and paths."""
BOTH_MECHANISMS: Mask = (r"SCRAM-SHA-512=(\S+), SCRAM-SHA-256=(\S+)", r"SCRAM-SHA-256=\2, SCRAM-SHA-512=\1")
"""In one order: there it is that of a hash table."""
MASKS: list[Mask] = [*WORDS, BOTH_MECHANISMS, (rf"(?m)^  ({'|'.join(map(re.escape, OWN))})=.*$", r"\1")]


def configs(stage: ScriptStage, *arguments: str) -> str:
    return stage.play("kafka-configs", *arguments, masks=MASKS)


def set_and_show(stage: ScriptStage, entity: list[str], added: str, taken: str) -> None:
    """A change, what it gives, and the way back."""
    configs(stage, "--alter", *entity, "--add-config", added)
    configs(stage, "--describe", *entity)
    configs(stage, "--alter", *entity, "--delete-config", taken)
    configs(stage, "--describe", *entity)


# --- topics, brokers


def test_topics(scripts: Stages) -> None:
    entity = ["--entity-type", "topics", "--entity-name", "set"]

    def case(stage: ScriptStage) -> None:
        stage.quietly("kafka-topics", "--create", "--topic", "set")
        set_and_show(stage, entity, "max.message.bytes=2000,cleanup.policy=[compact,delete]", "cleanup.policy")
        configs(stage, "--describe", *entity, "--all")
        configs(stage, "--describe", "--topic", "set")
        for added in ("retention.ms=soon", "nonsense=1", "segment.bytes=1", "cleanup.policy=[compact", "novalue"):
            configs(stage, "--alter", *entity, "--add-config", added)
        configs(stage, "--alter", *entity, "--delete-config", "nonsense")
        configs(stage, "--alter", *entity, "--delete-config", "flush.ms")
        configs(stage, "--alter", *entity, "--add-config-file", stage.file("flush.ms=77\nretention.ms=88000\n"))
        configs(stage, "--describe", *entity)
        configs(stage, "--describe", "--entity-type", "topics", "--entity-name", "unknown")
        configs(stage, "--alter", "--entity-type", "topics", "--entity-name", "unknown", "--add-config", "flush.ms=1")
        configs(stage, "--alter", "--entity-type", "topics", "--entity-default", "--add-config", "flush.ms=1")
        stage.quietly("kafka-topics", "--delete", "--topic", "set")

    assert differences(case, scripts) == ""


@pytest.mark.parametrize("entity", [["--entity-name", "1"], ["--entity-default"]], ids=["one", "all"])
def test_brokers(scripts: Stages, entity: list[str]) -> None:
    broker = ["--entity-type", "brokers", *entity]

    def case(stage: ScriptStage) -> None:
        configs(stage, "--describe", *broker)
        set_and_show(stage, broker, "log.cleaner.threads=2,log.retention.ms=777000", "log.retention.ms")
        configs(stage, "--alter", *broker, "--delete-config", "log.cleaner.threads")
        for added in ("log.cleaner.threads=0", "log.cleaner.threads=x", "node.id=5", "nonsense=1", "num.io.threads=99"):
            configs(stage, "--alter", *broker, "--add-config", added)
        configs(stage, "--describe", *broker)

    assert differences(case, scripts) == ""


def test_all_settings_of_a_broker(scripts: Stages) -> None:
    def case(stage: ScriptStage) -> None:
        configs(stage, "--describe", "--entity-type", "brokers", "--entity-name", "1", "--all")
        configs(stage, "--describe", "--entity-type", "brokers", "--all")
        configs(stage, "--describe", "--broker", "7")
        configs(stage, "--describe", "--broker", "seven")

    assert differences(case, scripts) == ""


def test_loggers(scripts: Stages) -> None:
    """Their names are Java's there and Python's here: only the root has the same one."""
    loggers = ["--entity-type", "broker-loggers", "--entity-name", "1"]

    def root(stage: ScriptStage) -> None:
        told = stage.quietly("kafka-configs", "--describe", *loggers).splitlines()
        stage.keep("\n".join(line for line in told if line.startswith((" root=", "  root=", "status"))))

    def case(stage: ScriptStage) -> None:
        configs(stage, "--alter", *loggers, "--add-config", "root=DEBUG")
        root(stage)
        configs(stage, "--alter", *loggers, "--add-config", "root=LOUD")
        configs(stage, "--alter", *loggers, "--add-config", "no.such.logger=INFO")
        configs(stage, "--alter", *loggers, "--add-config", "root=WARN")
        configs(stage, "--alter", *loggers, "--delete-config", "root")
        configs(stage, "--describe", "--entity-type", "broker-loggers", "--entity-default")
        root(stage)

    assert differences(case, scripts) == ""


# --- groups, client metrics


def test_groups(scripts: Stages) -> None:
    group = ["--entity-type", "groups", "--entity-name", "set-group"]

    def case(stage: ScriptStage) -> None:
        set_and_show(stage, group, "consumer.session.timeout.ms=50000,share.record.lock.duration.ms=20000", "nonsense")
        configs(stage, "--describe", "--group", "set-group", "--all")
        configs(stage, "--alter", *group, "--delete-config", "consumer.session.timeout.ms")
        configs(stage, "--alter", *group, "--delete-config", "share.record.lock.duration.ms")
        for added in ("consumer.session.timeout.ms=1", "consumer.session.timeout.ms=x", "nonsense=1"):
            configs(stage, "--alter", *group, "--add-config", added)
        configs(stage, "--describe", *group)
        every = stage.quietly("kafka-configs", "--describe", "--entity-type", "groups").splitlines()
        stage.keep("\n".join(line for line in every if "set-group" in line))  # others have names drawn by chance

    assert differences(case, scripts) == ""


def test_client_metrics(scripts: Stages) -> None:
    metrics = ["--entity-type", "client-metrics", "--entity-name", "set-metrics"]

    def tool(stage: ScriptStage, *arguments: str) -> None:
        stage.play("kafka-client-metrics", *arguments, masks=WORDS)

    def case(stage: ScriptStage) -> None:
        set_and_show(stage, metrics, "interval.ms=1000,metrics=[org.apache.kafka.,x],match=[client_id=a]", "match")
        configs(stage, "--describe", "--client-metrics", "set-metrics", "--all")
        for added in ("interval.ms=1", "interval.ms=x", "match=[nonsense=a]", "nonsense=1"):
            configs(stage, "--alter", *metrics, "--add-config", added)
        tool(stage, "--list")
        tool(stage, "--describe", "--name", "set-metrics")
        tool(stage, "--alter", "--name", "by-tool", "--interval", "5000", "--metrics", "a,b", "--match", "client_id=x")
        tool(stage, "--alter", "--name", "by-tool", "--match", "nonsense=x")
        tool(stage, "--describe")
        tool(stage, "--describe", "--name", "unknown")
        tool(stage, "--delete", "--name", "by-tool")
        tool(stage, "--delete", "--name", "unknown")
        tool(stage, "--delete", "--name", "set-metrics")
        tool(stage, "--list")
        tool(stage, "--alter")
        tool(stage)

    assert differences(case, scripts) == ""


# --- quotas and credentials

QUOTAS = "producer_byte_rate=1000000,consumer_byte_rate=2000000,request_percentage=55.5"
ENTITIES = {
    "user": ["--entity-type", "users", "--entity-name", "alice"],
    "all users": ["--entity-type", "users", "--entity-default"],
    "client": ["--entity-type", "clients", "--entity-name", "app 7/x"],
    "all clients": ["--entity-type", "clients", "--entity-default"],
    "both": ["--entity-type", "users", "--entity-name", "alice", "--entity-type", "clients", "--entity-name", "app"],
    "user, all clients": [
        "--entity-type",
        "users",
        "--entity-name",
        "a",
        "--entity-type",
        "clients",
        "--entity-default",
    ],
    "all of both": ["--entity-type", "users", "--entity-default", "--entity-type", "clients", "--entity-default"],
}


@pytest.mark.parametrize("entity", ENTITIES.values(), ids=ENTITIES)
def test_quotas(scripts: Stages, entity: list[str]) -> None:
    def case(stage: ScriptStage) -> None:
        configs(stage, "--describe", *entity)
        set_and_show(stage, entity, QUOTAS, "consumer_byte_rate")
        configs(stage, "--alter", *entity, "--add-config", "controller_mutation_rate=2.5")
        for kind in ("users", "clients"):
            configs(stage, "--describe", "--entity-type", kind)
        configs(stage, "--describe", "--entity-type", "users", "--entity-type", "clients")
        names = "producer_byte_rate,request_percentage,controller_mutation_rate"
        configs(stage, "--alter", *entity, "--delete-config", names)
        configs(stage, "--describe", *entity)

    assert differences(case, scripts) == ""


def test_limits_of_addresses(scripts: Stages) -> None:
    address = ["--entity-type", "ips", "--entity-name", "127.0.0.9"]
    default = ["--entity-type", "ips", "--entity-default"]

    def case(stage: ScriptStage) -> None:
        set_and_show(stage, address, "connection_creation_rate=500", "connection_creation_rate")
        set_and_show(stage, default, "connection_creation_rate=700", "connection_creation_rate")
        configs(stage, "--describe", "--ip", "127.0.0.9")
        configs(stage, "--describe", "--ip-defaults")
        for added in ("connection_creation_rate=0", "connection_creation_rate=-1", "producer_byte_rate=1"):
            configs(stage, "--alter", *address, "--add-config", added)
        configs(stage, "--alter", "--entity-type", "ips", "--entity-name", "no host", "--add-config", QUOTAS)
        configs(stage, "--describe", "--entity-type", "ips")

    assert differences(case, scripts) == ""


REFUSED_QUOTAS = (
    "producer_byte_rate=-1",
    "producer_byte_rate=0",
    "producer_byte_rate=x",
    "producer_byte_rate=1.5",
    "request_percentage=-3",
    "nonsense=1",
    "connection_creation_rate=5",
    "producer_byte_rate=1,nonsense=2",
)


def test_quotas_that_are_refused(scripts: Stages) -> None:
    user = ["--entity-type", "users", "--entity-name", "refused"]

    def case(stage: ScriptStage) -> None:
        for added in REFUSED_QUOTAS:
            configs(stage, "--alter", *user, "--add-config", added)
        configs(stage, "--alter", *user, "--delete-config", "producer_byte_rate")
        configs(stage, "--alter", *user, "--delete-config", "nonsense")
        configs(stage, "--describe", *user)
        configs(stage, "--alter", "--entity-type", "users", "--add-config", "producer_byte_rate=1")

    assert differences(case, scripts) == ""


def test_credentials(scripts: Stages) -> None:
    bob = ["--entity-type", "users", "--entity-name", "bob"]

    def case(stage: ScriptStage) -> None:
        configs(stage, "--alter", *bob, "--add-config", "SCRAM-SHA-256=[iterations=8192,password=secret]")
        configs(stage, "--alter", *bob, "--add-config", "SCRAM-SHA-512=[password=secret]")
        configs(stage, "--alter", *bob, "--add-config", "producer_byte_rate=1234567")
        configs(stage, "--describe", *bob)
        configs(stage, "--describe", "--entity-type", "users")
        for added in (
            "SCRAM-SHA-256=[iterations=1,password=x]",
            "SCRAM-SHA-256=[password=]",
            "SCRAM-SHA-1=[password=x]",
        ):
            configs(stage, "--alter", *bob, "--add-config", added)
        configs(stage, "--alter", *bob, "--delete-config", "SCRAM-SHA-256")
        configs(stage, "--alter", *bob, "--delete-config", "SCRAM-SHA-256")
        configs(stage, "--alter", *bob, "--delete-config", "SCRAM-SHA-512,producer_byte_rate")
        configs(stage, "--describe", *bob)
        both = [*bob, "--entity-type", "clients", "--entity-name", "app"]
        configs(stage, "--alter", *both, "--add-config", "SCRAM-SHA-256=[password=x]")

    assert differences(case, scripts) == ""


# --- calls that cannot work

MISUSED: tuple[list[str], ...] = (
    [],
    ["--describe"],
    ["--alter", "--entity-type", "topics", "--entity-name", "x"],
    ["--describe", "--alter", "--entity-type", "topics"],
    ["--describe", "--entity-type", "nonsense"],
    ["--describe", "--entity-type", "topics", "--entity-type", "brokers"],
    ["--describe", "--entity-type", "ips", "--entity-name", "1.2.3.4", "--entity-type", "users"],
    ["--alter", "--entity-type", "brokers", "--entity-name", "x", "--add-config", "a=b"],
    ["--alter", "--entity-type", "topics", "--entity-name", "x", "--add-config-file", "/nowhere/at/all"],
)


def test_calls_that_cannot_work(scripts: Stages) -> None:
    def case(stage: ScriptStage) -> None:
        for arguments in MISUSED:
            configs(stage, *arguments)

    assert differences(case, scripts) == ""
